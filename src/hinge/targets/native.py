"""The native target, which loads llvmlite on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from inspect import Parameter, Signature, getdoc, signature
from types import ModuleType
from typing import Any

from hinge.errors import MissingExtraError
from hinge.forks import LOADING
from hinge.sweeps import Code
from hinge.targets.signature import Executable, Source
from hinge.targets.step_schedule import Runner, StepSchedule
from hinge.targets.target import Dispatcher, Target, Way


@cache
def has_llvm() -> bool:
    """Tell whether the native target is available."""
    return find_spec("llvmlite") is not None


def _dispatcher(fallback: Callable[..., Any], choices: Sequence[str]) -> Dispatcher:
    entry, _ = _loaded()
    parameters = signature(fallback).parameters.values()
    bare = Signature([p.replace(annotation=Parameter.empty) for p in parameters])
    return entry.Dispatch(fallback, f"{fallback.__name__}{bare}\n--\n\n{getdoc(fallback)}", choices)


def _front(entry: Callable[..., Any], fallback: Callable[..., Any], way: Way) -> Callable[..., Any]:
    return _loaded()[0].front(entry, fallback, way)


def _program(source: Source, **options: Any) -> Executable:
    _, program = _loaded()
    return program.NativeProgram(source, **options)


def _runner(schedule: StepSchedule) -> Runner:
    with LOADING:
        from hinge.targets.llvm.native_steps import NativeRunner  # noqa: PLC0415 (loads llvmlite)

    return NativeRunner(schedule)


def _loaded() -> tuple[ModuleType, ModuleType]:
    """Load the whole native target, so that no first call has to."""
    with LOADING:
        from hinge.targets.llvm import entry, native_program  # noqa: PLC0415 (loads llvmlite)

    return entry, native_program


def object_file(functions: Iterable[tuple[str, Code, Sequence[str]]], triple: str, **how: Any) -> bytes:
    """Return functions as an object file for a processor: names, code, and the order of inputs.

    `how` is what `hinge.targets.llvm.objects.object_file` takes.
    """
    if not has_llvm():
        raise MissingExtraError("object files need llvmlite: pip install llvmlite, or export C")
    with LOADING:
        from hinge.targets.llvm import objects  # noqa: PLC0415 (loads llvmlite)

    return objects.object_file([objects.ObjectFunction(*f) for f in functions], triple, **how)


def xla_handler(program: Executable) -> Any:
    """Return the handler of a program for XLA's foreign functions; None if XLA cannot call it itself."""
    if program.target != "llvm":
        return None
    with LOADING:
        from hinge.targets.llvm import ffi  # noqa: PLC0415 (loads llvmlite)

    return ffi.handler_of(program)


#: See `hinge.targets.llvm.program` for the options.
LLVM = Target(
    "llvm",
    _program,
    has_llvm,
    needs="llvmlite",
    options=("shape", "lanes", "wait"),
    listings={"llvm": "LLVM's text", "asm": "assembly of this machine"},
    dispatcher=_dispatcher,
    runner=_runner,
    front=_front,
)
