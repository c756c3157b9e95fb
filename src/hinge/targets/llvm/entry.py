# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""Calls from Python into compiled kernels: a builtin function that checks, allocates and runs.

One native function serves all entries. An entry is a builtin function (a PyCFunction) whose `__self__` is a
tuple that owns what the native function needs; the first item of the tuple is a description, words in an
array (`trampoline_entry`). No address is part of the machine code, so it can be cached on disk as well.

Arguments that are not plain float64 arrays of the right lengths go to the fallback, a Python function.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache as remember
from importlib import import_module
from inspect import Parameter, signature
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hinge.targets.llvm.batch import aligned
from hinge.targets.llvm.threads import ALONE
from hinge.targets.llvm.trampoline import trampoline
from hinge.targets.llvm.trampoline_dispatch import CHOICES, COLUMNS, ROWS
from hinge.targets.llvm.trampoline_entry import HEAD, KERNELS, MOST
from hinge.targets.target import Way

Words = NDArray[np.int64]

#: The keyword for an array to write into.
_OUT = sys.intern("out")
#: What makes an object without a call of its class.
_NEW: Any = object.__new__
#: Numbers of the results of one state, if several, up to which their arrays are kept to be taken again.
_MOST_KEPT = 1 << 15
_FASTCALL_KEYWORDS = 0x80 | 0x02  # METH_FASTCALL | METH_KEYWORDS


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Owner(tuple[Any, ...]):
    """The `__self__` of an entry: the description of the call, and the owner of all it points to."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<compiled code of {self[1]!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("compiled code cannot be pickled; pickle the model and compile again")


class Kernels:
    """Addresses of a program's machine code, filled in as pieces are compiled.

    A kernel is `void run(double **inputs, int64_t *strides, double **outputs, double *scratch, int64_t start,
    int64_t stop)`. From `long` states on it runs without the GIL; from `most` states on threads share them.
    """

    def __init__(self, width: int, *, long: int, most: int) -> None:
        self.words = np.zeros(len(KERNELS), np.int64)
        self._put(width=width, long=long, most=most)
        self._spaces: list[NDArray[Any]] = []

    def _put(self, **words: int) -> None:
        for name, value in words.items():
            self.words[KERNELS.index(name)] = value

    def set_one(self, run: int, scratch: int) -> None:
        """Run single states and small batches with this kernel and scratch of so many doubles.

        Scratch that is large enough stays, and other scratch lives on: threads may be at work in it.
        """
        if not self._spaces or self._spaces[-1].size < scratch:
            self._spaces.append(aligned(scratch, "float64"))
            self._put(space=self._spaces[-1].ctypes.data)
        self._put(one=run)

    def set_wide(self, run: int, scratch: int) -> None:
        """Run batches with this kernel for W states at once and scratch of so many doubles."""
        self._put(bytes=8 * scratch + 64)
        self._put(wide=run)

    def hide(self, *, one: bool, wide: bool) -> None:
        """Let calls go to the fallback again."""
        self._put(**{name: 0 for name, chosen in (("one", one), ("wide", wide)) if chosen})


def make_entry(
    kernels: Kernels,
    inputs: Sequence[int],
    outputs: Sequence[tuple[int, ...]],
    names: Sequence[str],
    fallback: Callable[..., Any],
    *,
    name: str,
    doc: str,
    finish: Callable[[Any], Any] | None = None,
) -> Callable[..., Any]:
    """Return a builtin function that runs a kernel on one state or a batch, else the fallback.

    Input k has inputs[k] numbers, output k the shape outputs[k]. The function returns a new array, or a
    dictionary of new arrays by name if there is not just one output, or what `finish` makes of either. An
    array for the only output, or a dict of them by name, may come as keyword `out`.

    A finish with a class as `fills` is not called where there are several outputs: the dictionary becomes the
    namespace of a new object of that class, and with a class as `reused` an object of it may come as `out`.
    Nor is one with a number as `apart`: the results are a tuple of so many outputs and a dict of the others.

    The fallback gets the arguments unchanged, unless they are as many plain ndarrays (no subclass) of
    native float64, contiguous and aligned, either all one-dimensional and of the right lengths, or some of
    them with as many rows of that length. Calls without a kernel go to the fallback too. The entry
    holds the fallback, which in turn has to keep the kernels' code in memory. If doc begins with a line
    `name(a, b)` and a line `--`, `inspect.signature` finds the signature there.
    """
    assert len(names) == len(outputs)
    native = trampoline()
    if native is None or max(len(inputs), len(outputs)) > MOST:
        return _plain(fallback, name, doc)
    keys = tuple(sys.intern(n) for n in names)
    last = 0 if finish is None else id(finish)
    fills: type | None = getattr(finish, "fills", None) if len(names) > 1 else None
    apart: int = getattr(finish, "apart", 0) if len(names) > 1 else 0
    blank, kept = dict.fromkeys(keys[apart:]), _room(outputs)
    reused: type | None = fills and getattr(finish, "reused", None)
    made = (0 if fills is None else id(fills), 0 if reused is None else id(reused), id(_NEW))
    again = (id(blank), kept.ctypes.data if kept.size else 0)
    head = (id(fallback), last, *made, kernels.words.ctypes.data, ALONE.ctypes.data, id(_OUT), *again)
    words = _describe(head, native.addresses, inputs, outputs, keys, apart)
    method = _method(native.entry, name, doc)
    return _builtin(method, Owner((words, fallback, keys, kernels, method, finish, fills, blank, kept)))


def _room(outputs: Sequence[tuple[int, ...]]) -> NDArray[np.object_]:
    """Return room for the arrays of earlier results, two for each (see `trampoline_kept`)."""
    is_small = len(outputs) > 1 and sum(map(prod, outputs)) <= _MOST_KEPT
    return np.full(2 * len(outputs) if is_small else 0, None, object)


def _method(function: int, name: str, doc: str) -> _MethodDef:
    return _MethodDef(name.encode(), function, _FASTCALL_KEYWORDS, doc.encode())


def _builtin(method: _MethodDef, owner: Owner, module: str = __name__) -> Callable[..., Any]:
    """Return a builtin function whose `__self__` owns its data, the method included."""
    return _new_builtin()(ctypes.addressof(method), owner, module)


class Dispatching(Owner):
    """The `__self__` of a dispatch; its last item is the name of the function's module."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        """Pickle as the module, so that the function is looked up there."""
        return import_module, (self[-1],)


class Dispatch:
    """A function of a subject (such as a robot) and arrays that calls the subject's entry directly.

    `function` is that function; unknown subjects go to the fallback, and so do keywords other than `choices`
    and, if the fallback has it, `out`, which goes to the entry if that can write into it.
    These are arguments of the fallback, the first perhaps by position after the arrays, that select an entry
    together with the subject. The dispatch holds references to the last few entries introduced. `doc` begins
    with the signature.
    """

    def __init__(self, fallback: Callable[..., Any], doc: str, choices: Sequence[str] = ()) -> None:
        self.function = fallback
        self._table = (ctypes.c_void_p * (COLUMNS * ROWS))()
        self._kept: list[Any] = [None] * ROWS
        self._next = 0
        native = trampoline()
        if native is not None:
            names, defaults, counts = _choices(fallback, choices)
            head = (ctypes.addressof(self._table), id(fallback), *native.choosing, *counts)
            written = id(_OUT) if _OUT in signature(fallback).parameters else 0
            words = _words(*head, *map(_id, names), *map(_id, defaults), written, id(None))
            method = _method(native.dispatch, fallback.__name__, doc)
            owned = (words, fallback, self._table, self._kept, names, defaults, method, fallback.__module__)
            self.function = _builtin(method, Dispatching(owned), fallback.__module__)

    def introduce(self, subject: object, entry: Callable[..., Any], *chosen: str | bool | None) -> None:
        """Register the entry for calls with a subject and choices; other callables are ignored."""
        owner = getattr(entry, "__self__", None)
        if any(row and row[0] is subject and row[1] == chosen and row[2] is owner for row in self._kept):
            return
        if isinstance(owner, Owner) and all(c is None or type(c) in (str, bool) for c in chosen):
            k, self._next = self._next, (self._next + 1) % ROWS
            before, at = self._kept[k], COLUMNS * k
            self._table[at] = None
            for i in range(CHOICES):
                self._table[at + 1 + i] = id(chosen[i]) if i < len(chosen) else None
            self._table[at + COLUMNS - 1] = id(owner)
            self._table[at] = id(subject)
            self._kept[k] = (subject, chosen, owner)
            del before  # now that nothing points to it

    def forget(self) -> None:
        """Remove all subjects."""
        ctypes.memset(self._table, 0, ctypes.sizeof(self._table))
        self._kept[:] = [None] * ROWS


def front(entry: Callable[..., Any], fallback: Callable[..., Any], way: Way) -> Callable[..., Any]:
    """Return a builtin function that takes arguments as `way` has them to the entry, else the fallback.

    The fallback gets the arguments unchanged. It is what is returned if the entry is no builtin function.
    """
    native, owner = trampoline(), getattr(entry, "__self__", None)
    if native is None or not isinstance(owner, Owner):
        return fallback
    rows = [(place, n if n is None else sys.intern(n), default) for place, n, default in way.inputs]
    choosing = (native.choosing[0], id(None), way.least, way.most, len(rows), id(_OUT) if way.out else 0)
    filled = ((place, *(0 if x is None else id(x) for x in row)) for place, *row in rows)
    words = _words(id(owner), id(fallback), *choosing, *(word for row in filled for word in row))
    method = _method(native.front, owner[4].name.decode(), "")
    return _builtin(method, Owner((words, fallback, rows, owner, method)))


_ABSENT = Parameter.empty


def _choices(f: Callable[..., Any], names: Sequence[str]) -> tuple[list[Any], list[Any], tuple[int, int]]:
    """Return names and defaults of choices, the number of arrays, and the number of positional choices."""
    parameters = signature(f).parameters
    positional = [p.name for p in parameters.values() if p.kind is not Parameter.KEYWORD_ONLY]
    arrays = [n for n in positional[1:] if n not in names]
    placed = positional[1 + len(arrays) :]
    assert len(names) <= CHOICES and placed == list(names[: len(placed)]) and len(placed) <= 1
    missing = [_ABSENT] * (CHOICES - len(names))
    found = [*(sys.intern(n) for n in names), *missing]
    return found, [*(parameters[n].default for n in names), *missing], (len(arrays), len(placed))


def _id(x: object) -> int:
    """Return the address of an object, null for None."""
    return 0 if x is _ABSENT else id(x)


def _plain(fallback: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    def entry(*args: Any, **kwargs: Any) -> Any:
        return fallback(*args, **kwargs)

    entry.__name__ = entry.__qualname__ = name
    entry.__doc__ = doc
    return entry


def _describe(
    head: tuple[int, ...],
    addresses: Sequence[int],
    inputs: Sequence[int],
    outputs: Sequence[tuple[int, ...]],
    keys: Sequence[str],
    apart: int,
) -> Words:
    """Return the words that the native function reads (see `trampoline_entry`)."""
    records = HEAD + len(inputs) + len(outputs)
    sizes = list(map(prod, outputs))
    words = [*head, len(inputs), len(outputs), records, sum(sizes), apart, *addresses, *inputs, *sizes]
    dimensions: list[int] = []
    for key, shape in zip(keys, outputs, strict=True):
        words += [id(key), len(shape), records + 3 * len(outputs) + len(dimensions) + 1]
        dimensions += (0, *shape)
    return _words(*words, *dimensions)


def _words(*words: int) -> Words:
    """Return words in an array that is read-only in Python."""
    found = np.array(words, np.int64)
    found.flags.writeable = False
    return found


@remember
def _new_builtin() -> Callable[[int, object, object], Callable[..., Any]]:
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))
