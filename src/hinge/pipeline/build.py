"""Programs to code: traced for a bound model, and made to run by a target."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

from hinge.errors import ArgumentError
from hinge.sweeps import Code, checked_code
from hinge.targets import Executable, NumpyProgram, has_llvm, native_program, note_code

Target: TypeAlias = Literal["llvm", "numpy"]

#: Targets that `build` knows, the best first.
TARGETS: tuple[Target, ...] = ("llvm", "numpy")
#: The environment variable that names the target where a call does not.
VARIABLE = "HINGE_TARGET"
#: The order of inputs in a call; what is not here comes after them.
ORDER = ("q", "qd", "qdd", "tau", "x")


def best_target() -> Target:
    """Return the target that the environment names, else the best that is there."""
    named = os.environ.get(VARIABLE)
    if named:
        return checked_target(VARIABLE, named)
    return "llvm" if has_llvm() else "numpy"


def checked_target(argument: str, name: str) -> Target:
    """Return a target's name, or raise an ArgumentError that says what there is."""
    for target in TARGETS:
        if name == target:
            return target
    raise ArgumentError(f"{argument}: {name!r} is unknown; there is {', '.join(map(repr, TARGETS))}")


def build(
    trace: Callable[[], Code],
    *,
    target: Target | None = None,
    identity: Callable[[], str] | None = None,
    label: str = "",
    shape: str | None = None,
    lanes: int | None = None,
) -> Executable:
    """Return what runs a program on a target.

    `trace` gives its code; it is called when that is needed, which it is not where the cache has what came
    out of it. `identity` tells the code apart from all other code, for the native target's cache; `shape`
    and `lanes` override what that target chooses.
    """
    note_code()
    target = checked_target("target", target) if target else best_target()
    if target == "llvm":
        return native_program(
            lambda: in_order(trace()), identity=identity, label=label, shape=shape, lanes=lanes
        )
    if shape is not None or lanes is not None:
        raise ArgumentError("shape, lanes: are choices of target 'llvm'; leave them out for 'numpy'")
    return NumpyProgram(in_order(trace()))


def in_order(code: Code) -> Code:
    """Return code with its inputs in the order of a call, without others that have no numbers."""
    place = {name: k for k, name in enumerate(ORDER)}
    filled = [name for name, slots in code.inputs.items() if slots or name in place]
    names = sorted(filled, key=lambda name: place.get(name, len(place)))
    return checked_code(replace(code, inputs={name: code.inputs[name] for name in names}))
