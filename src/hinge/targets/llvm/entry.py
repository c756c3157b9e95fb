# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""The way from Python into a compiled kernel for one state: a builtin function that checks, allocates, runs.

One native function serves all entries. An entry is a builtin function (a PyCFunction) whose `__self__` is a
tuple that owns what the native function needs; the first item of the tuple is a description, the words of

    run, fallback, scratch, number of inputs, number of outputs, index of the first output's words,
    the addresses of what it calls in Python and NumPy, the length of each input,
    (name, ndim, index of its dimensions) of each output, the dimensions.

No address is part of the machine code, so it can be kept on disk like all other.

Arguments that are not plain float64 vectors of the right lengths go to the fallback, a Python function.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache as remember
from importlib import import_module
from typing import Any, NoReturn

from hinge.targets.llvm.batch import aligned
from hinge.targets.llvm.gate import HEAD, MOST, SUBJECTS, gate

_FASTCALL_KEYWORDS = 0x80 | 0x02  # METH_FASTCALL | METH_KEYWORDS


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Compiled(tuple[Any, ...]):
    """The `__self__` of an entry: the description of the call, and the owner of all it points to."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<compiled code of {self[1]!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("compiled code cannot be pickled; pickle the model and compile again")


def make_entry(
    run: int,
    inputs: Sequence[int],
    outputs: Sequence[tuple[int, ...]],
    names: Sequence[str],
    scratch: int,
    fallback: Callable[..., Any],
    *,
    name: str,
    doc: str,
) -> Callable[..., Any]:
    """Return a builtin function that runs a kernel on one state, and calls the fallback for all else.

    The kernel is `void run(double **inputs, int64_t *strides, double **outputs, double *scratch,
    int64_t start, int64_t stop)`; the entry calls it with start 0 and stop 1, holding the GIL. Input k has
    inputs[k] numbers, output k the shape outputs[k], scratch is the number of doubles of work space. The
    function returns a new array, or a dictionary of new arrays by name if there is not just one output.

    The fallback gets the arguments as they came, unless they are as many plain ndarrays (no subclass) of
    native float64, one-dimensional, of the right lengths, contiguous and aligned. The entry holds the
    fallback, which in turn has to keep the kernel's code in memory. If doc begins with a line `name(a, b)`
    and a line `--`, `inspect.signature` finds the signature there.
    """
    assert len(names) == len(outputs)
    native = gate()
    if native is None or max(len(inputs), len(outputs)) > MOST:
        return _plain(fallback, name, doc)
    work = aligned(scratch, "float64")
    keys = tuple(sys.intern(n) for n in names)
    words = _describe((run, id(fallback), work.ctypes.data), native.addresses, inputs, outputs, keys)
    method = _method(native.entry, name, doc)
    return _builtin(method, Compiled((words, fallback, keys, work, method)))


def _method(function: int, name: str, doc: str) -> _MethodDef:
    return _MethodDef(name.encode(), function, _FASTCALL_KEYWORDS, doc.encode())


def _builtin(method: _MethodDef, owner: Compiled, module: str = __name__) -> Callable[..., Any]:
    """Return a builtin function whose `__self__` is the owner of all that it needs, the method too."""
    return _new_builtin()(ctypes.addressof(method), owner, module)


class Dispatching(Compiled):
    """The `__self__` of a dispatch: its last item is the name of the module where the function is found."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        """Pickle as the module, so that the function is looked up there."""
        return import_module, (self[-1],)


class Dispatch:
    """A function of a subject (such as a robot) and arrays that goes straight into the subject's entry.

    `function` is that function; subjects it does not know, and keywords, go to the fallback. It knows the
    last few subjects that were introduced, and keeps them alive. `doc` begins with the signature.
    """

    def __init__(self, fallback: Callable[..., Any], doc: str) -> None:
        self.function = fallback
        self._table = (ctypes.c_void_p * (2 * SUBJECTS))()
        self._kept: list[Any] = [None] * SUBJECTS
        self._next = 0
        native = gate()
        if native is not None:
            words = struct.pack("3q", ctypes.addressof(self._table), id(fallback), native.addresses[0])
            method = _method(native.dispatch, fallback.__name__, doc)
            owned = (words, fallback, self._table, self._kept, method, fallback.__module__)
            self.function = _builtin(method, Dispatching(owned), fallback.__module__)

    def introduce(self, subject: object, entry: Callable[..., Any]) -> None:
        """Take calls with a subject to its entry from now on; what is no entry is not taken."""
        owner = getattr(entry, "__self__", None)
        if isinstance(owner, Compiled):
            k, self._next = self._next, (self._next + 1) % SUBJECTS
            before = self._kept[k]
            self._table[2 * k] = None
            self._table[2 * k + 1] = id(owner)
            self._table[2 * k] = id(subject)
            self._kept[k] = (subject, owner)
            del before  # now that nothing points to it

    def forget(self) -> None:
        """Know no subject any more."""
        ctypes.memset(self._table, 0, ctypes.sizeof(self._table))
        self._kept[:] = [None] * SUBJECTS


def _plain(fallback: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    def entry(*args: Any, **kwargs: Any) -> Any:
        return fallback(*args, **kwargs)

    entry.__name__ = entry.__qualname__ = name
    entry.__doc__ = doc
    return entry


def _describe(
    head: tuple[int, int, int],
    addresses: Sequence[int],
    inputs: Sequence[int],
    outputs: Sequence[tuple[int, ...]],
    keys: Sequence[str],
) -> bytes:
    """Return the words that the native function reads (see the head of this module)."""
    records = HEAD + len(inputs)
    words = [*head, len(inputs), len(outputs), records, *addresses, *inputs]
    dimensions: list[int] = []
    for key, shape in zip(keys, outputs, strict=True):
        words += [id(key), len(shape), records + 3 * len(outputs) + len(dimensions)]
        dimensions += shape
    words += dimensions
    return struct.pack(f"{len(words)}q", *words)


@remember
def _new_builtin() -> Callable[[int, object, object], Callable[..., Any]]:
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))
