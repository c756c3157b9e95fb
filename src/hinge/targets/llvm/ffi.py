# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""Handlers for XLA's foreign functions: a program's machine code, called from compiled code of XLA.

A handler is a few instructions that call one function, `serve`, with words of the program. That takes the
program's code where it is made and one thread is enough, and asks Python for all else: for code that is not
made yet, for better code in place of quick code, and to share a batch among threads. XLA keeps handlers for
ever, and so are their programs.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from functools import cache as remember
from threading import Lock
from time import sleep
from typing import Any

import numpy as np

from hinge.forks import hold_in_forks
from hinge.targets.llvm.ffi_text import BLOCK, DTYPES, LENGTHS, MINOR, MOST, STATE, TEXT, WORDS
from hinge.targets.llvm.machine import assembled, kept_or_assembled, loaded
from hinge.targets.llvm.native_program import LEAST_WORK, NativeProgram
from hinge.targets.llvm.pieces import Piece
from hinge.targets.llvm.text import Dtype
from hinge.targets.llvm.threads import ALONE, split

_PRECISIONS: tuple[Dtype, ...] = ("float64", "float32")
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
)
_HANDLERS: list[Handler] = []
_MAKING = Lock()
hold_in_forks(_MAKING)
#: The state of all handlers, which native code reads and counts in.
_STATE = np.zeros(len(STATE), np.int64)


class Handler:
    """A program as a function that XLA calls; `address` is that of an XLA_FFI_Handler.

    Arrays are (…, length) of one batch or (length,), inputs in the program's order, results flat.
    """

    def __init__(self, program: NativeProgram) -> None:
        s = program.signature
        self.program, self.message = program, b""
        self.lengths = [*s.inputs.values(), *(int(np.prod(shape, dtype=int)) for shape in s.results.values())]
        self.inputs = len(s.inputs)
        self.least = LEAST_WORK // max(1, s.operations)
        self.words = np.zeros(LENGTHS + len(self.lengths), np.int64)
        self.words[LENGTHS:] = self.lengths
        with _MAKING:
            number = len(_HANDLERS)
            _HANDLERS.append(self)
        self._put(WORDS, 0, inputs=self.inputs, outputs=len(s.results), number=number)
        self._put(WORDS, 0, alone=ALONE.ctypes.data, callback=_callback(), minor=MINOR)
        self._put(WORDS, 0, state=_STATE.ctypes.data)
        self._put(WORDS, 0, malloc=_raw("Malloc"), free=_raw("Free"))
        for dtype in _PRECISIONS:
            width = program.width(dtype)
            self._put(BLOCK, _block(dtype), width=width, most=2 * max(self.least, width))
        self._code = loaded(assembled(_stub(self.words.ctypes.data), level=0)[0], "handler")
        self.address: int = self._code.address

    def _put(self, names: tuple[str, ...], start: int, **words: int) -> None:
        for name, value in words.items():
            self.words[start + names.index(name)] = value

    def says(self, minor: int) -> None:
        """Let the handler say that it is for this minor version of the interface."""
        self._put(WORDS, 0, minor=minor)

    def prepare(self, dtype: str, states: int) -> None:
        """Make the code for so many states, so that the first call finds it."""
        self._take(next(d for d in _PRECISIONS if d == dtype), states, 0)

    def _take(self, dtype: Dtype, states: int, used: int) -> Piece:
        """Return the code for so many states, `used` of which count as a use, and show it to XLA."""
        wide = states >= self.program.width(dtype)
        piece = self.program.piece(dtype, self.program.width(dtype) if wide else 1, used)
        name, at = ("wide" if wide else "one"), _block(dtype)
        self._put(BLOCK, at, **{f"{name}_bytes": self._bytes(piece)})
        self._put(BLOCK, at, **{name: 0 if piece.facts.quick else piece.code.address})
        return piece

    def show_what_is_there(self) -> None:
        """Let XLA run all code that is made, quick code too, which is final from now on."""
        for (dtype, width), piece in self.program.pieces().items():
            name = "one" if width == 1 else "wide"
            self._put(BLOCK, _block(dtype), **{f"{name}_bytes": self._bytes(piece)})
            self._put(BLOCK, _block(dtype), **{name: piece.code.address})

    @staticmethod
    def _bytes(piece: Piece) -> int:
        """Return the bytes of work space, with room to align it."""
        return piece.facts.scratch * piece.facts.width * piece.itemsize + 64

    def run(self, dtype: Dtype, sources: int, strides: int, targets: int, states: int) -> None:
        """Run over arrays at addresses, in threads where there is enough to do."""
        piece = self._take(dtype, states, states)
        count = len(self.lengths)
        places = [*_addresses(sources, self.inputs), *_addresses(targets, count - self.inputs)]
        parts = list(split(states, piece.facts.width, self.least))
        steps = (ctypes.c_int64 * count).from_address(strides)
        piece.run_over((ctypes.c_void_p * count)(*places), steps, self.inputs, parts, ())


def _addresses(at: int, count: int) -> list[int]:
    return [x or 0 for x in (ctypes.c_void_p * count).from_address(at)] if count else []


def _block(dtype: Dtype) -> int:
    """Return where the words of a precision begin."""
    return len(WORDS) + len(BLOCK) * list(DTYPES).index(dtype)


@remember
def handler_of(program: Any) -> Handler | None:
    """Return the handler of a program, made once; None if XLA cannot call it directly."""
    if not isinstance(program, NativeProgram) or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    s = program.signature
    if max(len(s.inputs), len(s.results)) > MOST or not s.results:
        return None
    return Handler(program)


def _from_xla(number: int, single: int, sources: int, strides: int, targets: int, states: int) -> int:
    """Run a program from a thread of XLA; return the address of a message, 0 if all is well."""
    handler = _HANDLERS[number]
    try:
        handler.run(_PRECISIONS[single], sources, strides, targets, states)
    except BaseException as error:  # XLA passes it on
        handler.message = f"hinge: {type(error).__name__}: {error}".encode() + b"\0"
        return ctypes.cast(ctypes.c_char_p(handler.message), ctypes.c_void_p).value or 0
    return 0


@remember
def _kept_callback() -> Any:
    atexit.register(_end)
    return _CALLBACK(_from_xla)


def _end() -> None:
    """Let XLA's threads do without Python, and wait for those that call it: it is about to end.

    They would wait for an interpreter that waits for them.
    """
    for handler in _HANDLERS:
        handler.show_what_is_there()
    _STATE[STATE.index("ending")] = 1
    while _STATE[STATE.index("under_way")] > 0:
        sleep(1e-3)


def _forget_calls() -> None:
    """Forget calls under way in the child of a fork, which has none of its parent's threads."""
    _STATE[:] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_calls)


def _callback() -> int:
    return ctypes.cast(_kept_callback(), ctypes.c_void_p).value or 0


def _raw(name: str) -> int:
    """Return the address of Python's function of raw memory, which needs no GIL."""
    return ctypes.cast(getattr(ctypes.pythonapi, f"PyMem_Raw{name}"), ctypes.c_void_p).value or 0


@remember
def _serve() -> int:
    """Return the address of `serve`; its code is never freed."""
    found = loaded(kept_or_assembled(TEXT, "the way in from XLA"), "serve")
    found.engine.detach()
    return found.address


def _stub(words: int) -> str:
    return f"""
define ptr @handler(ptr %frame) {{
  %serve = inttoptr i64 {_serve()} to ptr
  %words = inttoptr i64 {words} to ptr
  %found = tail call ptr %serve(ptr %frame, ptr %words)
  ret ptr %found
}}
"""
