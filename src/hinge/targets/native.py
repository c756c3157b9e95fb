"""The door to the native target, which needs llvmlite and loads it when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from inspect import Parameter, Signature, getdoc, signature
from types import ModuleType
from typing import Any, Protocol

from hinge.errors import MissingExtraError
from hinge.sweeps import Code
from hinge.targets.signature import Executable
from hinge.targets.tape import PlainPlayer, Player, Tape


def has_llvm() -> bool:
    """Tell whether the native target can be used."""
    return find_spec("llvmlite") is not None


class Dispatcher(Protocol):
    """A function that goes straight into the code of the subjects that it knows, see `dispatcher`."""

    @property
    def function(self) -> Callable[..., Any]:
        """The function: of a subject and arrays."""
        ...

    def introduce(self, subject: object, entry: Callable[..., Any], *chosen: str | None) -> None:
        """Take calls with a subject and choices to an entry from now on."""
        ...

    def forget(self) -> None:
        """Know no subject any more."""
        ...


class _Plain:
    """The dispatcher that knows nobody: the fallback itself."""

    def __init__(self, fallback: Callable[..., Any]) -> None:
        self.function = fallback

    def introduce(self, subject: object, entry: Callable[..., Any], *chosen: str | None) -> None:
        """Stay ignorant."""

    def forget(self) -> None:
        """Have nothing to forget."""


def dispatcher(fallback: Callable[..., Any], choices: Sequence[str] = ()) -> Dispatcher:
    """Return a dispatcher around a Python function of a module, native where llvmlite is.

    `choices` are arguments of the function that choose an entry of the subject.
    """
    if not has_llvm():
        return _Plain(fallback)
    entry, _ = _loaded()
    parameters = signature(fallback).parameters.values()
    bare = Signature([p.replace(annotation=Parameter.empty) for p in parameters])
    return entry.Dispatch(fallback, f"{fallback.__name__}{bare}\n--\n\n{getdoc(fallback)}", choices)


def native_program(
    trace: Callable[[], Code],
    *,
    identity: Callable[[], str] | None,
    label: str,
    shape: str | None = None,
    lanes: int | None = None,
) -> Executable:
    """Return a program of the native target, see `hinge.targets.llvm.program`."""
    if not has_llvm():
        raise MissingExtraError("target 'llvm' needs llvmlite: pip install llvmlite, or give target='numpy'")
    _, program = _loaded()
    return program.NativeProgram(trace, identity=identity, label=label, shape=shape, lanes=lanes)


def player(tape: Tape) -> Player:
    """Return what runs a tape: native code from step to step if all its programs are native."""
    if has_llvm():
        _, program = _loaded()
        if all(isinstance(op.program, program.NativeProgram) for op in tape.ops):
            from hinge.targets.llvm.tape import NativePlayer  # noqa: PLC0415 (loads llvmlite)

            return NativePlayer(tape)
    return PlainPlayer(tape)


def _loaded() -> tuple[ModuleType, ModuleType]:
    """Load the native target, all of it at once: not a first call shall wait for it."""
    from hinge.targets.llvm import entry, program  # noqa: PLC0415 (loads llvmlite)

    return entry, program
