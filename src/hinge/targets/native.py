"""The door to the native target, which needs llvmlite and loads it when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from hinge.errors import MissingExtraError
from hinge.sweeps import Code
from hinge.targets.signature import Executable


def has_llvm() -> bool:
    """Tell whether the native target can be used."""
    return find_spec("llvmlite") is not None


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
    from hinge.targets.llvm.program import NativeProgram  # noqa: PLC0415 (loads llvmlite)

    return NativeProgram(trace, identity=identity, label=label, shape=shape, lanes=lanes)
