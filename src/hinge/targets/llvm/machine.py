"""From the text of a module to machine code, and from machine code to a callable address."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from ctypes import string_at
from dataclasses import dataclass
from functools import cache as remember
from functools import lru_cache
from threading import RLock
from time import perf_counter
from typing import Any

from llvmlite import binding as llvm

from hinge.forks import hold_in_forks
from hinge.targets.llvm import cache
from hinge.targets.llvm.host import Host, chosen_level, made_for, this_host

#: Held around compilation, in all programs.
COMPILING = RLock()


#: The lock that llvmlite takes around every call into LLVM, also when it frees an engine.
_LOCK_OF_LLVMLITE: AbstractContextManager[Any] = (
    getattr(getattr(llvm.ffi, "lib", None), "_lock", None) or nullcontext()
)

hold_in_forks(COMPILING)
hold_in_forks(_LOCK_OF_LLVMLITE)


def _new_machine(host: Host, level: int) -> Any:
    target = llvm.Target.from_triple(host.triple)
    return target.create_target_machine(
        cpu=host.cpu, features=host.features, opt=level, reloc="pic", codemodel="jitdefault"
    )


#: Cached, since creating one takes a millisecond; an execution engine owns the one it is given.
_kept_machine = remember(_new_machine)


def assembled(text: str, host: Host | None = None, level: int | None = None) -> tuple[bytes, float]:
    """Return a module as an object file, and the seconds that took."""
    started = perf_counter()
    with COMPILING:
        module, machine = _parsed(text, host or this_host(), level)
        return machine.emit_object(module), perf_counter() - started


def assembled_beside(text: str, level: int) -> tuple[bytes, float]:
    """Return what `assembled` returns, without holding up other threads: for one background thread.

    LLVM works in several threads if each has a context of its own; the lock of llvmlite, which would stop
    first calls elsewhere, is left out where that is possible.
    """
    _warmed_up(level)
    started, host = perf_counter(), this_host()
    machine = _new_machine(host, level)
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = host.triple
    module.data_layout = str(machine.target_data)
    return _emitted(machine, module), perf_counter() - started


@remember
def _warmed_up(level: int) -> None:
    """Let LLVM set up its passes: a fork meanwhile would leave them half set up in the child."""
    assembled("define void @nothing() { ret void }", level=level)


def _emitted(machine: Any, module: Any) -> bytes:
    """Return an object file, without llvmlite's lock."""
    lib = llvm.ffi.lib
    emit = getattr(lib.LLVMPY_TargetMachineEmitToMemory, "_cfn", None)
    if emit is None:
        return machine.emit_object(module)
    with llvm.ffi.OutputString() as message:
        buffer = emit(machine, module, 1, message)
        if not buffer:
            raise RuntimeError(str(message))
    try:
        return string_at(lib.LLVMPY_GetBufferStart(buffer), lib.LLVMPY_GetBufferSize(buffer))
    finally:
        lib.LLVMPY_DisposeMemoryBuffer(buffer)


def kept_or_assembled(text: str, label: str) -> bytes:
    """Return a module as an object file: from the cache, or compiled and stored under this label."""
    key = cache.key(text, *made_for())
    code = cache.load(key)
    if code is None:
        code, _ = assembled(text)
        cache.store(key, code, label)
    return code


@lru_cache(maxsize=64)
def common_object(text: str, label: str) -> bytes:
    """Return what `kept_or_assembled` returns, of a module that many programs share."""
    return kept_or_assembled(text, label)


def assembly(text: str, host: Host | None = None, level: int | None = None) -> str:
    """Return a module as assembly for people."""
    with COMPILING:
        module, machine = _parsed(text, host or this_host(), level)
        return machine.emit_assembly(module)


def _parsed(text: str, host: Host, level: int | None) -> tuple[Any, Any]:
    """Return the parsed module and the target machine."""
    machine = _kept_machine(host, chosen_level() if level is None else level)
    module = llvm.parse_assembly(text)
    module.triple = host.triple
    module.data_layout = str(machine.target_data)
    return module, machine


@dataclass(frozen=True, eq=False)
class Loaded:
    """Machine code in memory, freed with this object."""

    engine: Any
    address: int


def loaded(code: bytes, function: str = "run") -> Loaded:
    """Load an object file with this function into memory."""
    with COMPILING:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _new_machine(this_host(), 1))
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return Loaded(engine, engine.get_function_address(function))


_COMMON: dict[str, Loaded] = {}


def provide(function: str, code: bytes) -> None:
    """Let code that is loaded from now on call a function of this name, which stays in memory.

    Two object files in one engine would share what LLVM calls the global offset table, and mix it up.
    """
    with COMPILING:
        if function not in _COMMON:
            _COMMON[function] = found = loaded(code, function)
            llvm.add_symbol(function, found.address)
