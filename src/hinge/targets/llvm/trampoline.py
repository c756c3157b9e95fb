# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""The native functions behind entries and dispatches, and their addresses in Python and NumPy.

They read fields of tuples and arrays directly. The layout is checked once at start-up; if it differs, calls
take the Python path.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache as remember
from importlib import import_module
from string import Template
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from hinge.targets.llvm import (
    trampoline_batch,
    trampoline_dispatch,
    trampoline_entry,
    trampoline_front,
    trampoline_kept,
    trampoline_out,
)
from hinge.targets.llvm.machine import kept_or_assembled, loaded

_PARTS = (
    trampoline_entry,
    trampoline_kept,
    trampoline_batch,
    trampoline_out,
    trampoline_dispatch,
    trampoline_front,
)
_PLAIN = 0x1 | 0x100  # NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED
_WRITABLE = _PLAIN | 0x400  # NPY_ARRAY_WRITEABLE
_OWNDATA = 0x4  # NPY_ARRAY_OWNDATA
_NDARRAY, _NEW_FROM_DESCR = 2, 94  # places in NumPy's table of functions, the same in all its versions
_SIZE = tuple.__basicsize__ - ctypes.sizeof(ctypes.c_ssize_t)  # where a tuple has its length

#: The words of an owner, in an array that is the first item of the tuple.
_WORDS = """
  %owned.at = getelementptr i8, ptr %self, i64 $item
  %owned = load ptr, ptr %owned.at
  %words.at = getelementptr i8, ptr %owned, i64 $data
  %words = load ptr, ptr %words.at
"""


class _ArrayFields(ctypes.Structure):
    """The C fields of an ndarray, the same in all versions of NumPy so far."""

    _fields_ = (
        ("refcount", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("nd", ctypes.c_int),
        ("dimensions", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("base", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("weakrefs", ctypes.c_void_p),
    )


class _Owner(tuple[Any, ...]):
    """A tuple like those that own entries."""

    __slots__ = ()


class Trampoline(NamedTuple):
    """The native functions, the addresses that a description holds for them, and those of a dispatch."""

    entry: int
    dispatch: int
    front: int
    addresses: tuple[int, ...]
    choosing: tuple[int, ...]


@remember
def trampoline() -> Trampoline | None:
    """Return the native function, made or read from the cache on first use; None if it is not safe here."""
    table = _numpy_table() if layout_is_known() else None
    if table is None or table[_NDARRAY] != id(np.ndarray):
        return None
    python = map(_address, trampoline_entry.PYTHON)
    addresses = (*python, table[_NEW_FROM_DESCR] or 0, id(np.ndarray), id(np.dtype(np.float64)), id(dict))
    choosing = (_address("PyObject_Vectorcall"), _address("PyUnicode_Compare"), id(str))
    return Trampoline(*_compile(_text()), addresses, choosing)


def _address(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def layout_is_known() -> bool:
    """Return whether the memory layout of this interpreter and NumPy is the expected one."""
    gil: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    if sys.implementation.name != "cpython" or not gil():
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != _ArrayFields.data.offset:
        return False
    pair = _Owner(("first", "second"))
    item = ctypes.c_void_p.from_address(id(pair) + tuple.__basicsize__).value
    size = ctypes.c_ssize_t.from_address(id(pair) + _SIZE).value
    known = item == id(pair[0]) and size == len(pair) and _counts_references()
    return known and all(map(_reads_well, _samples()))


def _counts_references() -> bool:
    """Return whether an array that only an array of objects has is known by its count, as `take` reads it."""
    owner = np.full(1, None, object)
    owner[0] = np.empty(3)
    count = ctypes.c_int32.from_address(ctypes.c_void_p.from_address(owner.ctypes.data).value or 0)
    alone = count.value
    also = owner[0]
    return alone == 1 and count.value == 2 and _sees_weak_references(also)


def _sees_weak_references(x: NDArray[Any]) -> bool:
    fields = _ArrayFields.from_address(id(x))
    before, seen = fields.weakrefs, ref(x)
    return before is None and fields.weakrefs == id(seen)


def _samples() -> list[NDArray[Any]]:
    """Return arrays that differ in each of the fields that the native function reads."""
    x = np.arange(24.0)
    odd = np.zeros(57, np.uint8)[1:].view(np.float64)
    fixed = np.ones(3)
    fixed.flags.writeable = False
    grid = x.reshape(2, 3, 4)
    return [x, x[3:7], x[::-2], grid, grid.T, odd, fixed, np.array(1.0), np.empty(0), x.astype(np.float32)]


def _reads_well(x: NDArray[Any]) -> bool:
    f = _ArrayFields.from_address(id(x))
    base = None if x.base is None else id(x.base)
    found = (f.type, f.data, f.nd, f.base, f.descr, f.flags)
    wanted = (id(type(x)), x.ctypes.data, x.ndim, base, id(x.dtype), x.flags.num)
    if found != wanted:
        return False
    return tuple(f.dimensions[: x.ndim]) == x.shape and tuple(f.strides[: x.ndim]) == x.strides


def _numpy_table() -> Any:
    """Return NumPy's table of C functions and types, as an array of addresses."""
    try:
        core = import_module("numpy._core._multiarray_umath")
    except ImportError:  # NumPy 1
        core = import_module("numpy.core._multiarray_umath")
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    address = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))(core._ARRAY_API, None)
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))


def _text() -> str:
    """Return the native functions as LLVM IR, with the offsets of this interpreter and NumPy filled in."""
    fields = ("type", "data", "nd", "dimensions", "descr", "flags", "weakrefs")
    offsets = {n: getattr(_ArrayFields, n).offset for n in fields} | {"item": tuple.__basicsize__}
    text = "\n".join(part.TEXT for part in _PARTS)
    return Template(text).substitute(
        offsets,
        words=Template(_WORDS).substitute(offsets),
        size=_SIZE,
        head=trampoline_entry.HEAD,
        plain=_PLAIN,
        writable=_WRITABLE,
        owndata=_OWNDATA,
        own=_WRITABLE | _OWNDATA,
        most=trampoline_entry.MOST,
        twice=2 * trampoline_entry.MOST,
        rows=trampoline_dispatch.ROWS,
        columns=trampoline_dispatch.COLUMNS,
    )


def _compile(text: str) -> tuple[int, int, int]:
    """Return the addresses of the functions; their code is never freed, as it may run until exit."""
    found = loaded(kept_or_assembled(text, "the way in from Python"), "entry")
    dispatch, front = map(found.engine.get_function_address, ("dispatch", "front"))
    found.engine.detach()
    return found.address, dispatch, front
