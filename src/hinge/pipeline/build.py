"""Programs to code: traced for a bound model, and made to run by a target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

from hinge.errors import ArgumentError
from hinge.sweeps import Code
from hinge.targets import Executable, NumpyProgram, has_llvm, native_program

Target: TypeAlias = Literal["llvm", "numpy"]

#: Targets that `build` knows, the best first.
TARGETS: tuple[Target, ...] = ("llvm", "numpy")
#: The order of inputs in a call; what is not here comes after them.
ORDER = ("q", "qd", "qdd", "tau")


def best_target() -> Target:
    """Return the best target that is there."""
    return "llvm" if has_llvm() else "numpy"


def build(
    trace: Callable[[bool], Code],
    *,
    target: Target | None = None,
    identity: str | None = None,
    label: str = "",
    shape: str | None = None,
    lanes: int | None = None,
) -> Executable:
    """Return what runs a program on a target.

    `trace` gives its code, with the model's constants kept apart from the kernels if it is asked to.
    `identity` tells the code apart from all other code, for the native target's cache; `shape` and `lanes`
    override what that target chooses.
    """
    target = target or best_target()
    if target not in TARGETS:
        raise ArgumentError(f"target: {target!r} is unknown; there is {', '.join(map(repr, TARGETS))}")
    if target == "llvm":
        return native_program(
            lambda generic: in_order(trace(generic)), identity=identity, label=label, shape=shape, lanes=lanes
        )
    if shape is not None or lanes is not None:
        raise ArgumentError("shape, lanes: are choices of target 'llvm'; leave them out for 'numpy'")
    return NumpyProgram(in_order(trace(False)))


def in_order(code: Code) -> Code:
    """Return code with its inputs in the order of a call, without others that have no numbers."""
    place = {name: k for k, name in enumerate(ORDER)}
    filled = [name for name, slots in code.inputs.items() if slots or name in place]
    names = sorted(filled, key=lambda name: place.get(name, len(place)))
    return replace(code, inputs={name: code.inputs[name] for name in names})
