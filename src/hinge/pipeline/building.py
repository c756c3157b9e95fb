"""The last passes: inputs in the order of a call, and the program of a target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hinge.errors import ArgumentError, MissingExtraError
from hinge.sweeps import Code, checked_code
from hinge.targets import TARGETS, Executable, Source, Target, best_target, checked_target, note_code

#: The order of inputs in a call; what is not here comes after them.
ORDER = ("q", "qd", "qdd", "tau", "x")


def build(source: Source, *, target: str | None = None, **options: Any) -> Executable:
    """Return the program of code on a target, by default the best one available.

    `options` are the target's own, such as `shape` and `lanes` of "llvm"; None leaves the choice to it.
    """
    note_code()
    found = TARGETS[checked_target("target", target) if target else best_target()]
    given = {name: x for name, x in options.items() if x is not None}
    _check(found, given)
    return found.build(source, **given)


def _check(target: Target, options: dict[str, Any]) -> None:
    """Refuse an unavailable target, and options that it does not have."""
    if not target.available():
        raise MissingExtraError(
            f"target {target.name!r} needs {target.needs}: pip install {target.needs}, or give another target"
        )
    for name, x in options.items():
        if name not in target.options:
            able = "".join(f", or give target {t.name!r}" for t in TARGETS.values() if name in t.options)
            raise ArgumentError(
                f"{name}: expected none for target {target.name!r}, got {x!r}; leave it out{able}"
            )


def in_order(code: Code) -> Code:
    """Return code with its inputs in the order of a call, without others that have no numbers."""
    place = {name: k for k, name in enumerate(ORDER)}
    filled = [name for name, slots in code.inputs.items() if slots or name in place]
    names = sorted(filled, key=lambda name: place.get(name, len(place)))
    return checked_code(replace(code, inputs={name: code.inputs[name] for name in names}))
