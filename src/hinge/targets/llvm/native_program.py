"""The native target: a program as machine code, compiled on first call.

There is one piece of machine code for one state and one for W states at once, each in double and in single
precision, compiled on first use and cached on disk. Any number of lanes gives the same bits. A large program
begins with quick code, which reads tables; from its second call on the final code is made in the background,
put in its place between calls, and stored.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from hinge.errors import ArgumentError
from hinge.sweeps import Code, without_garbage
from hinge.targets.llvm import cache
from hinge.targets.llvm.background import BACKGROUND, Job
from hinge.targets.llvm.batch import apart, as_rows, layout, writable_rows
from hinge.targets.llvm.entry import Kernels, make_entry
from hinge.targets.llvm.host import chosen_level, made_for, this_host
from hinge.targets.llvm.machine import COMPILING, Loaded, assembled, assembly
from hinge.targets.llvm.module import SHAPES, Module, Shape, choose_shape, lines_of, write_module
from hinge.targets.llvm.pieces import (
    Entry,
    Facts,
    Piece,
    final_piece,
    piece_of,
    quick_entry,
    read_entry,
    write_entry,
)
from hinge.targets.llvm.text import Dtype, Lanes
from hinge.targets.llvm.threads import split, threads
from hinge.targets.llvm.tiers import QUICK_SHAPE, begins_quickly, loses_too_much, seconds_for, waits
from hinge.targets.signature import Signature, Source
from hinge.targets.tally import note_code

Array = NDArray[Any]

#: A thread gets at least this many floating-point operations, some 500 µs of work: to get to the threads
#: through Python, to wake them and to wait for them takes 50 to 250 µs.
LEAST_WORK = 10_000_000
#: The GIL is released from so many operations on: to reacquire it may take long if other threads wait for it.
LONG_WORK = 100_000


class NativeProgram:
    """Traced code as machine code, called with arrays by name.

    The code is requested from `source` on first use, and not at all after a hit in the cache. `shape` and
    `lanes` override what is chosen. With `wait` the first call waits for final code.
    """

    target = "llvm"

    def __init__(
        self,
        source: Source,
        *,
        shape: str | None = None,
        lanes: int | None = None,
        wait: bool = False,
    ) -> None:
        if shape is not None and shape not in SHAPES:
            raise ArgumentError(f"shape: expected one of {', '.join(map(repr, SHAPES))}, got {shape!r}")
        if lanes is not None and (type(lanes) is not int or lanes not in (1, 2, 4, 8, 16)):
            raise ArgumentError(
                f"lanes: expected 1, 2, 4, 8, 16, or None for the machine's own, got {lanes!r}"
            )
        self.source = source
        self.shape: Shape | None = next((s for s in SHAPES if s == shape), None)
        if not isinstance(wait, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"wait: expected True or False, got {wait!r}")
        self.lanes, self.wait = lanes, wait
        self._retired: list[Loaded] = []  # quick code that other threads may still be in
        self._pieces: dict[tuple[Dtype, int], Piece] = {}
        self._signature: Signature | None = None
        self._kernels: Kernels | None = None

    # Code.

    @cached_property
    def identity(self) -> str | None:
        """The cache key of the program; None if it is not cached."""
        return self.source.identity

    @property
    def code(self) -> Code:
        """The traced code."""
        return self.source.code

    @property
    def signature(self) -> Signature:
        """The shapes of inputs and results."""
        if self._signature is None:
            self._signature = self._known_signature() or Signature.of(self.code)
        return self._signature

    def _known_signature(self) -> Signature | None:
        """Return the signature from machine code in memory or in the cache, or None."""
        with COMPILING:
            for width in (self.width("float64"), 1):
                piece = self._pieces.get(("float64", width)) or self._load("float64", width)
                if piece is not None:
                    self._keep(piece)
                    return piece.facts.signature
        return None

    def width(self, dtype: Dtype) -> int:
        """Return the number of states that are evaluated at once."""
        return self.lanes or this_host().lanes(dtype)

    def module(self, dtype: Dtype, width: int) -> Module:
        """Return the program as LLVM's text."""
        return write_module(self.code, Lanes(width, dtype), self._chosen_shape)

    @cached_property
    def _chosen_shape(self) -> Shape:
        return self.shape or choose_shape(self.code)

    def listing(self, language: str) -> str:
        """Return the program as text for W states in double precision: "llvm" or "asm"."""
        assert language in ("llvm", "asm"), language
        text = self.module("float64", self.width("float64")).text
        return text if language == "llvm" else assembly(text)

    def piece(self, dtype: Dtype, width: int, states: int = 0) -> Piece:
        """Return the machine code for W states at once: from memory, from the cache, or compiled now.

        `states` is the number that it is about to run over, which counts as a use: the second use starts
        to make the final code of a quick piece, and a long one waits for it.
        """
        found = self._pieces.get((dtype, width))
        if found is None:
            with COMPILING:
                found = self._pieces.get((dtype, width)) or self._load(dtype, width)
                found = found or self._make(dtype, width, states)
                self._keep(found)
        return found if found.job is None else self._used(found, found.job, states)

    def pieces(self) -> dict[tuple[Dtype, int], Piece]:
        """Return the machine code that is there."""
        return dict(self._pieces)

    def _used(self, piece: Piece, job: Job, states: int) -> Piece:
        """Return a quick piece, or its final code if that is waited for."""
        facts = piece.facts
        if self._waits_for(facts.to_come, facts.width, states):
            BACKGROUND.wait_for(job)
            return self._pieces[facts.dtype, facts.width]
        job.uses += 1 if states else 0
        if job.uses > 1:
            BACKGROUND.submit(job)
            if self._kernels is not None:
                self._show(self._kernels, piece)
                self._show(self._kernels, self._pieces[facts.dtype, facts.width])  # in case it just came
        return piece

    def _waits_for(self, seconds: float, width: int, states: int) -> bool:
        """Tell whether a call over so many states waits for final code that takes so long to make."""
        return self.wait or waits() or loses_too_much(states, self.signature.operations, width, seconds)

    def _keep(self, piece: Piece) -> None:
        """Store a piece for later calls."""
        note_code()
        facts = piece.facts
        self._pieces[facts.dtype, facts.width] = piece
        if self._kernels is not None:
            self._show(self._kernels, piece)

    def _replace(self, piece: Piece) -> None:
        """Put final code in the place of quick code, which stays in memory as long as this program."""
        with COMPILING:
            facts = piece.facts
            self._retired.append(self._pieces[facts.dtype, facts.width].code)
            self._pieces[facts.dtype, facts.width] = piece
            if self._kernels is not None:
                self._show(self._kernels, piece)

    def _show(self, kernels: Kernels, piece: Piece) -> None:
        """Make a piece available to entries, a quick one from its second use on: entries do not count."""
        if piece.job is not None and piece.job.uses < 2:
            return
        facts = piece.facts
        if facts.dtype == "float64" and facts.width == 1:
            kernels.set_one(piece.code.address, facts.scratch)
        if facts.dtype == "float64" and facts.width == self.width("float64"):
            kernels.set_wide(piece.code.address, facts.scratch * facts.width)

    def _hide(self, facts: Facts) -> None:
        """Let the next call come to `piece` again."""
        if self._kernels is not None and facts.dtype == "float64":
            self._kernels.hide(one=facts.width == 1, wide=facts.width == self.width("float64"))

    def _key(self, dtype: Dtype, width: int) -> str | None:
        if self.identity is None or cache.why_off() is not None:
            return None
        return cache.key(self.identity, dtype, str(width), str(self.shape), *made_for())

    def _load(self, dtype: Dtype, width: int) -> Piece | None:
        key = self._key(dtype, width)
        entry = read_entry(key)
        return None if entry is None else self._piece(entry, key, from_cache=True)

    def _make(self, dtype: Dtype, width: int, states: int) -> Piece:
        with without_garbage():
            seconds = seconds_for(lines_of(self.code, self._chosen_shape))
            quick = begins_quickly(seconds) and not self._waits_for(seconds, width, states)
            shape = QUICK_SHAPE if quick else self._chosen_shape
            module = write_module(self.code, Lanes(width, dtype), shape)
        facts = Facts(shape, width, dtype, module.scratch, 0.0, self.signature, quick, quick * seconds)
        if quick:
            entry = quick_entry(module, facts)
        else:
            code, taken = assembled(module.text)
            entry = Entry(replace(facts, seconds=taken), code)
        key = self._key(dtype, width)
        write_entry(key, entry, self._label(facts))
        return self._piece(entry, key, from_cache=False)

    def _piece(self, entry: Entry, key: str | None, *, from_cache: bool) -> Piece:
        """Return the piece of an entry, with the job for its final code if it is a quick one."""
        job = self._job(entry.facts, key) if entry.facts.quick else None
        return piece_of(entry, job, from_cache=from_cache)

    def _job(self, facts: Facts, key: str | None) -> Job:
        """Return the job that makes the final code; nothing is made for a program that is gone."""
        program, level, label = ref(self), chosen_level(), self._label(facts)

        def make() -> None:
            if (there := program()) is not None:
                there._replace(final_piece(facts, there._final_module, level, key, label))

        def withdraw() -> None:
            if (there := program()) is not None:
                there._hide(facts)

        return Job(label, facts.to_come, make, withdraw)

    def _final_module(self, facts: Facts) -> Module:
        """Return the text of final code; a program whose quick code came from the cache is traced first."""
        with COMPILING:  # as locks of cached properties are not, this one is held in forks
            code, shape = self.code, self._chosen_shape
        return write_module(code, Lanes(facts.width, facts.dtype), shape)

    def _label(self, facts: Facts) -> str:
        return f"{self.source.label}, {facts.dtype} × {facts.width}"

    # Calls.

    def entry(
        self,
        fallback: Callable[..., Any],
        shapes: Sequence[tuple[int, ...]],
        *,
        name: str,
        doc: str,
        finish: Callable[[Any], Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> Callable[..., Any]:
        """Return a builtin function of arrays, in the inputs' order; other arguments go to the fallback.

        `names` are the names of results for `finish`, in the program's order, if they are not its own.
        """
        s = self.signature
        return make_entry(
            self._shown(),
            list(s.inputs.values()),
            list(shapes),
            list(names or s.results),
            fallback,
            name=name,
            doc=doc,
            finish=finish,
        )

    def _shown(self) -> Kernels:
        """Return the addresses of machine code that all entries share."""
        with COMPILING:
            if self._kernels is None:
                operations, width = max(1, self.signature.operations), self.width("float64")
                shared = 2 * max(LEAST_WORK // operations, width)  # the least that is split
                found = Kernels(width, long=LONG_WORK // operations, most=shared)
                for piece in self._pieces.values():
                    self._show(found, piece)
                self._kernels = found
            return self._kernels

    def __call__(
        self, inputs: Mapping[str, Array], out: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Return the results for inputs of shape (…, length), broadcast against each other.

        The precision is single if all inputs are, else double. `out` are arrays for the results, of the
        right shape and precision; one that shares memory with an input makes a copy of that input.
        """
        signature = self.signature
        dtype: Dtype = "float32" if all(x.dtype == np.float32 for x in inputs.values()) else "float64"
        given = [as_rows(inputs[name], np.dtype(dtype), 1) for name in signature.inputs]
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in given))
        if out is None:
            results = {n: np.empty((*batch, *shape), dtype) for n, shape in signature.results.items()}
        else:
            results = {n: writable_rows(out[n], len(shape)) for n, shape in signature.results.items()}
            given = [apart(x, results.values()) for x in given]
        if 0 not in batch and any(x.size for x in results.values()):
            self._fill(dtype, batch, given, list(results.values()))
        if out is None:
            return results
        for name, x in results.items():
            if x is not out[name]:
                out[name][...] = x
        return dict(out)

    def _fill(
        self, dtype: Dtype, batch: tuple[int, ...], given: Sequence[Array], results: Sequence[Array]
    ) -> None:
        inner = [len(shape) for shape in self.signature.results.values()]
        over = layout(batch, [*((x, 1) for x in given), *zip(results, inner, strict=True)])
        width = self.width(dtype)
        piece = self.piece(dtype, width if over.axis.size >= width else 1, prod(batch))
        addresses = [x.ctypes.data for x in (*given, *results)]
        strides = (ctypes.c_int64 * len(addresses))(*over.axis.strides)
        least = LEAST_WORK // max(1, self.signature.operations)
        parts = list(split(over.axis.size, piece.facts.width, least))
        for start in over.starts():
            at = [a + s * piece.itemsize for a, s in zip(addresses, start, strict=True)]
            arrays = (ctypes.c_void_p * len(at))(*at)
            piece.run_over(arrays, strides, len(given), parts, (*given, *results))

    # Text.

    def describe(self) -> list[str]:
        """Return lines about the machine code compiled so far, at least that for batches."""
        host = this_host()
        self.piece("float64", self.width("float64"))
        lines = [f"target llvm on {host.cpu}: {self.width('float64')} states at once, {threads()} threads"]
        return [*lines, *(f"    {piece.described()}" for piece in self._pieces.values())]
