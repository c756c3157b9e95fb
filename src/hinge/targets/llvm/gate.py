# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""The native functions behind entries and dispatches: their IR, and what they need of Python and NumPy.

They read tuples, bytes and arrays where these have their fields in memory. That this interpreter and this
NumPy keep them so is looked at before the functions are used; where it is not so there is no gate.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache as remember
from importlib import import_module
from string import Template
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.targets.llvm import cache
from hinge.targets.llvm.host import made_for
from hinge.targets.llvm.machine import assembled, loaded

MOST = 64  # the inputs, and the outputs, that the native function has room for
SUBJECTS = 8  # what a dispatch knows at a time
_PLAIN = 0x1 | 0x100  # NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED
_NDARRAY, _NEW_FROM_DESCR = 2, 94  # places in NumPy's table of functions, the same in all its versions
_ADDRESSES = (
    "PyObject_Vectorcall", "Py_IncRef", "Py_DecRef", "PyDict_New", "PyDict_SetItem", "PyArray_NewFromDescr",
    "ndarray", "float64",
)  # fmt: skip
_FIRST_ADDRESS = 6
HEAD = _FIRST_ADDRESS + len(_ADDRESSES)  # words of a description before the lengths

# Nothing between the checks of the inputs and the run may call Python code, which could change the inputs:
# arrays are allocated before the run (they take no part in garbage collection), the dictionary after it.
_TEXT = Template("""
define ptr @entry(ptr %self, ptr %arguments, i64 %count, ptr %keywords) {
start:
  %inputs = alloca [$most x ptr]
  %outputs = alloca [$most x ptr]
  %arrays = alloca [$most x ptr]
  %first = getelementptr i8, ptr %self, i64 $item
  %owned = load ptr, ptr %first
  %words = getelementptr i8, ptr %owned, i64 $content
$addresses
  %fallback.at = getelementptr ptr, ptr %words, i64 1
  %scratch.at = getelementptr ptr, ptr %words, i64 2
  %wanted.at = getelementptr i64, ptr %words, i64 3
  %results.at = getelementptr i64, ptr %words, i64 4
  %records.at = getelementptr i64, ptr %words, i64 5
  %lengths = getelementptr i64, ptr %words, i64 $head
  %wanted = load i64, ptr %wanted.at
  %right = icmp eq i64 %count, %wanted
  %bare = icmp eq ptr %keywords, null
  %fits = and i1 %right, %bare
  br i1 %fits, label %check, label %other

other:
  %fallback = load ptr, ptr %fallback.at
  %found = tail call ptr %PyObject_Vectorcall(ptr %fallback, ptr %arguments, i64 %count, ptr %keywords)
  ret ptr %found

check:
  %i = phi i64 [0, %start], [%i.next, %accept]
  %checked = icmp eq i64 %i, %wanted
  br i1 %checked, label %prepare, label %type

type:
  %x.at = getelementptr ptr, ptr %arguments, i64 %i
  %x = load ptr, ptr %x.at
  %type.at = getelementptr i8, ptr %x, i64 $type
  %x.type = load ptr, ptr %type.at
  %is.array = icmp eq ptr %x.type, %ndarray
  br i1 %is.array, label %fields, label %other

fields:
  %descr.at = getelementptr i8, ptr %x, i64 $descr
  %x.descr = load ptr, ptr %descr.at
  %is.double = icmp eq ptr %x.descr, %float64
  %nd.at = getelementptr i8, ptr %x, i64 $nd
  %nd = load i32, ptr %nd.at
  %is.vector = icmp eq i32 %nd, 1
  %flags.at = getelementptr i8, ptr %x, i64 $flags
  %flags = load i32, ptr %flags.at
  %layout = and i32 %flags, $plain
  %is.plain = icmp eq i32 %layout, $plain
  %good.0 = and i1 %is.double, %is.vector
  %good = and i1 %good.0, %is.plain
  br i1 %good, label %length, label %other

length:
  %dimensions.at = getelementptr i8, ptr %x, i64 $dimensions
  %dimensions = load ptr, ptr %dimensions.at
  %size = load i64, ptr %dimensions
  %length.at = getelementptr i64, ptr %lengths, i64 %i
  %x.length = load i64, ptr %length.at
  %same = icmp eq i64 %size, %x.length
  br i1 %same, label %accept, label %other

accept:
  %data.at = getelementptr i8, ptr %x, i64 $data
  %x.data = load ptr, ptr %data.at
  %input.at = getelementptr ptr, ptr %inputs, i64 %i
  store ptr %x.data, ptr %input.at
  %i.next = add i64 %i, 1
  br label %check

prepare:
  %results = load i64, ptr %results.at
  %records.index = load i64, ptr %records.at
  %records = getelementptr i64, ptr %words, i64 %records.index
  br label %more

more:
  %k = phi i64 [0, %prepare], [%k.next, %keep]
  %made = icmp eq i64 %k, %results
  br i1 %made, label %run, label %make

make:
  %record = getelementptr [3 x i64], ptr %records, i64 %k
  %ndim.at = getelementptr i64, ptr %record, i64 1
  %ndim.wide = load i64, ptr %ndim.at
  %ndim = trunc i64 %ndim.wide to i32
  %shape.at = getelementptr i64, ptr %record, i64 2
  %shape.index = load i64, ptr %shape.at
  %shape = getelementptr i64, ptr %words, i64 %shape.index
  call void %Py_IncRef(ptr %float64)
  %array = call ptr %PyArray_NewFromDescr(ptr %ndarray, ptr %float64, i32 %ndim, ptr %shape,
                                          ptr null, ptr null, i32 0, ptr null)
  %no.array = icmp eq ptr %array, null
  br i1 %no.array, label %drop, label %keep

keep:
  %array.at = getelementptr ptr, ptr %arrays, i64 %k
  store ptr %array, ptr %array.at
  %room.at = getelementptr i8, ptr %array, i64 $data
  %room = load ptr, ptr %room.at
  %output.at = getelementptr ptr, ptr %outputs, i64 %k
  store ptr %room, ptr %output.at
  %k.next = add i64 %k, 1
  br label %more

run:
  %kernel = load ptr, ptr %words
  %scratch = load ptr, ptr %scratch.at
  call void %kernel(ptr %inputs, ptr %lengths, ptr %outputs, ptr %scratch, i64 0, i64 1)
  %alone = icmp eq i64 %results, 1
  br i1 %alone, label %single, label %several

single:
  %result = load ptr, ptr %arrays
  ret ptr %result

several:
  %dictionary = call ptr %PyDict_New()
  %no.dictionary = icmp eq ptr %dictionary, null
  br i1 %no.dictionary, label %drop, label %fill

fill:
  %j = phi i64 [0, %several], [%j.next, %put]
  %filled = icmp eq i64 %j, %results
  br i1 %filled, label %return, label %put

put:
  %entry.at = getelementptr [3 x i64], ptr %records, i64 %j
  %name = load ptr, ptr %entry.at
  %value.at = getelementptr ptr, ptr %arrays, i64 %j
  %value = load ptr, ptr %value.at
  %status = call i32 %PyDict_SetItem(ptr %dictionary, ptr %name, ptr %value)
  call void %Py_DecRef(ptr %value)
  %j.next = add i64 %j, 1
  %refused = icmp ne i32 %status, 0
  br i1 %refused, label %undo, label %fill

return:
  ret ptr %dictionary

undo:
  call void %Py_DecRef(ptr %dictionary)
  br label %drop

drop:
  %from = phi i64 [0, %make], [0, %several], [%j.next, %undo]
  %to = phi i64 [%k, %make], [%results, %several], [%results, %undo]
  br label %drop.more

drop.more:
  %d = phi i64 [%from, %drop], [%d.next, %drop.one]
  %dropped = icmp eq i64 %d, %to
  br i1 %dropped, label %fail, label %drop.one

drop.one:
  %lost.at = getelementptr ptr, ptr %arrays, i64 %d
  %lost = load ptr, ptr %lost.at
  call void %Py_DecRef(ptr %lost)
  %d.next = add i64 %d, 1
  br label %drop.more

fail:
  ret ptr null
}

; Where a table knows the first argument, the rest goes to the entry beside it, else all to the fallback.
define ptr @dispatch(ptr %self, ptr %arguments, i64 %count, ptr %keywords) {
start:
  %first = getelementptr i8, ptr %self, i64 $item
  %owned = load ptr, ptr %first
  %words = getelementptr i8, ptr %owned, i64 $content
  %table = load ptr, ptr %words
  %fallback.at = getelementptr ptr, ptr %words, i64 1
  %call.at = getelementptr ptr, ptr %words, i64 2
  %some = icmp sgt i64 %count, 0
  %bare = icmp eq ptr %keywords, null
  %fits = and i1 %some, %bare
  br i1 %fits, label %search, label %other

search:
  %subject = load ptr, ptr %arguments
  br label %more

more:
  %i = phi i64 [0, %search], [%i.next, %next]
  %row = getelementptr [2 x ptr], ptr %table, i64 %i
  %known = load ptr, ptr %row
  %same = icmp eq ptr %known, %subject
  br i1 %same, label %enter, label %next

next:
  %i.next = add i64 %i, 1
  %end = icmp eq i64 %i.next, $rows
  br i1 %end, label %other, label %more

enter:
  %entry.at = getelementptr ptr, ptr %row, i64 1
  %entry = load ptr, ptr %entry.at
  %rest = getelementptr ptr, ptr %arguments, i64 1
  %fewer = sub i64 %count, 1
  %result = tail call ptr @entry(ptr %entry, ptr %rest, i64 %fewer, ptr null)
  ret ptr %result

other:
  %fallback = load ptr, ptr %fallback.at
  %call = load ptr, ptr %call.at
  %found = tail call ptr %call(ptr %fallback, ptr %arguments, i64 %count, ptr %keywords)
  ret ptr %found
}
""")


class _ArrayFields(ctypes.Structure):
    """The C fields of an ndarray, as all versions of NumPy so far have them."""

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
    )


class _Owner(tuple[Any, ...]):
    """A tuple like those that own entries."""

    __slots__ = ()


class Gate(NamedTuple):
    """The native functions, and the addresses that a description holds for them."""

    entry: int
    dispatch: int
    addresses: tuple[int, ...]


@remember
def gate() -> Gate | None:
    """Return the native function, made or read from the cache on first use; None if it is not safe here."""
    table = _numpy_table() if layout_is_known() else None
    if table is None or table[_NDARRAY] != id(np.ndarray):
        return None
    python = [ctypes.cast(getattr(ctypes.pythonapi, n), ctypes.c_void_p).value for n in _ADDRESSES[:5]]
    addresses = (*python, table[_NEW_FROM_DESCR], id(np.ndarray), id(np.dtype(np.float64)))
    return Gate(*_compile(_text()), tuple(a or 0 for a in addresses))


def layout_is_known() -> bool:
    """Return whether this interpreter and this NumPy keep objects as the native function reads them."""
    gil: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    if sys.implementation.name != "cpython" or not gil():
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != _ArrayFields.data.offset:
        return False
    pair, text = _Owner(("first", "second")), b"some bytes"
    item = ctypes.c_void_p.from_address(id(pair) + tuple.__basicsize__).value
    content = ctypes.string_at(id(text) + bytes.__basicsize__ - 1, len(text))
    return item == id(pair[0]) and content == text and all(map(_reads_well, _samples()))


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
    """Return the native function as LLVM IR, with the offsets of this interpreter and NumPy filled in."""
    fields = ("type", "data", "nd", "dimensions", "descr", "flags")
    loads = [
        f"  %{n}.at = getelementptr ptr, ptr %words, i64 {k}\n  %{n} = load ptr, ptr %{n}.at"
        for k, n in enumerate(_ADDRESSES, _FIRST_ADDRESS)
    ]
    return _TEXT.substitute(
        {n: getattr(_ArrayFields, n).offset for n in fields},
        addresses="\n".join(loads),
        item=tuple.__basicsize__,
        content=bytes.__basicsize__ - 1,
        head=HEAD,
        plain=_PLAIN,
        most=MOST,
        rows=SUBJECTS,
    )


def _compile(text: str) -> tuple[int, int]:
    """Return the addresses of the functions; their code is never freed: it is run until the very end."""
    key = cache.key(text, *made_for())
    code = cache.load(key)
    if code is None:
        code, _ = assembled(text)
        cache.store(key, code, "the way in from Python")
    found = loaded(code, "entry")
    addresses = found.address, found.engine.get_function_address("dispatch")
    found.engine.detach()
    return addresses
