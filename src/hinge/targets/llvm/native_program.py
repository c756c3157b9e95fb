"""The native target: a program as machine code, compiled on first call.

There is one piece of machine code for one state and one for W states at once, each in double and in single
precision, compiled on first use and cached on disk. Any number of lanes gives the same bits.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.errors import ArgumentError
from hinge.sweeps import Code
from hinge.targets.llvm import cache
from hinge.targets.llvm.batch import aligned, apart, as_rows, layout, writable_rows
from hinge.targets.llvm.entry import Kernels, make_entry
from hinge.targets.llvm.host import made_for, this_host
from hinge.targets.llvm.machine import COMPILING, Loaded, assembled, assembly, loaded
from hinge.targets.llvm.module import SHAPES, Module, Shape, choose_shape, write_module
from hinge.targets.llvm.text import Dtype, Lanes
from hinge.targets.llvm.threads import run_parts, split, threads
from hinge.targets.signature import Signature, Source
from hinge.targets.tally import note_code

Array = NDArray[Any]

#: A thread gets at least this many floating-point operations, some 300 µs of work: to get to the threads
#: through Python, to wake them and to wait for them takes 50 to 250 µs.
LEAST_WORK = 6_000_000
#: The GIL is released from so many operations on: to reacquire it may take long if other threads wait for it.
LONG_WORK = 100_000
RUN = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)


@dataclass(frozen=True)
class Facts:
    """Metadata of a piece of machine code."""

    shape: Shape
    width: int
    dtype: Dtype
    scratch: int
    seconds: float
    signature: Signature


@dataclass(frozen=True, eq=False)
class Piece:
    """Machine code for W states at once in one precision."""

    facts: Facts
    size: int
    from_cache: bool
    code: Loaded
    spare: list[Array]

    @cached_property
    def run(self) -> Any:
        """The function as ctypes calls it; the GIL is released meanwhile."""
        return RUN(self.code.address)

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        return np.dtype(self.facts.dtype).itemsize

    def run_over(
        self, arrays: Any, strides: Any, inputs: int, parts: list[tuple[int, int]], owners: Sequence[Array]
    ) -> None:
        """Run over parts of a batch, each in a thread of its own; `arrays` are addresses, inputs first.

        The owners of the arrays stay alive as long as any thread runs.
        """
        outputs = ctypes.byref(arrays, inputs * ctypes.sizeof(ctypes.c_void_p))

        def work(start: int, stop: int, _alive: Sequence[Array] = owners) -> None:
            space = self.work_space()
            self.run(arrays, strides, outputs, space.ctypes.data, start, stop)
            self.spare.append(space)

        run_parts(work, parts)

    def work_space(self) -> Array:
        """Return unused scratch memory; give it back to `spare`."""
        try:
            return self.spare.pop()
        except IndexError:
            return aligned(self.facts.scratch * self.facts.width, self.facts.dtype)


class NativeProgram:
    """Traced code as machine code, called with arrays by name.

    The code is requested from `source` on first use, and not at all after a hit in the cache. `shape` and
    `lanes` override what is chosen.
    """

    target = "llvm"

    def __init__(
        self,
        source: Source,
        *,
        shape: str | None = None,
        lanes: int | None = None,
    ) -> None:
        if shape is not None and shape not in SHAPES:
            raise ArgumentError(f"shape: expected one of {', '.join(map(repr, SHAPES))}, got {shape!r}")
        if lanes is not None and (type(lanes) is not int or lanes not in (1, 2, 4, 8, 16)):
            raise ArgumentError(
                f"lanes: expected 1, 2, 4, 8, 16, or None for the machine's own, got {lanes!r}"
            )
        self.source = source
        self.shape: Shape | None = next((s for s in SHAPES if s == shape), None)
        self.lanes = lanes
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

    def piece(self, dtype: Dtype, width: int) -> Piece:
        """Return the machine code for W states at once: from memory, from the cache, or compiled now."""
        found = self._pieces.get((dtype, width))
        if found is None:
            with COMPILING:
                found = self._pieces.get((dtype, width)) or self._load(dtype, width)
                found = found or self._make(dtype, width)
                self._keep(found)
        return found

    def _keep(self, piece: Piece) -> None:
        """Store a piece for later calls."""
        note_code()
        facts = piece.facts
        self._pieces[facts.dtype, facts.width] = piece
        if self._kernels is not None:
            self._show(self._kernels, piece)

    def _show(self, kernels: Kernels, piece: Piece) -> None:
        """Make a piece available to entries."""
        facts = piece.facts
        if facts.dtype == "float64" and facts.width == 1:
            kernels.set_one(piece.code.address, facts.scratch)
        if facts.dtype == "float64" and facts.width == self.width("float64"):
            kernels.set_wide(piece.code.address, facts.scratch * facts.width)

    def _key(self, dtype: Dtype, width: int) -> str | None:
        if self.identity is None or cache.why_off() is not None:
            return None
        return cache.key(self.identity, dtype, str(width), str(self.shape), *made_for())

    def _load(self, dtype: Dtype, width: int) -> Piece | None:
        key = self._key(dtype, width)
        payload = key and cache.load(key)
        if not payload:
            return None
        head, _, code = payload.partition(b"\n")
        facts = json.loads(head)
        signature = facts.pop("signature")
        signature["results"] = {name: tuple(shape) for name, shape in signature["results"].items()}
        return Piece(Facts(**facts, signature=Signature(**signature)), len(code), True, loaded(code), [])

    def _make(self, dtype: Dtype, width: int) -> Piece:
        module = self.module(dtype, width)
        code, seconds = assembled(module.text)
        facts = Facts(module.shape, width, dtype, module.scratch, seconds, self.signature)
        key = self._key(dtype, width)
        if key is not None:
            head = json.dumps(asdict(facts)).encode()
            cache.store(key, head + b"\n" + code, f"{self.source.label}, {dtype} × {width}")
        return Piece(facts, len(code), False, loaded(code), [])

    # Calls.

    def entry(
        self,
        fallback: Callable[..., Any],
        shapes: Sequence[tuple[int, ...]],
        *,
        name: str,
        doc: str,
        finish: Callable[[Any], Any] | None = None,
    ) -> Callable[..., Any]:
        """Return a builtin function of arrays, in the inputs' order; other arguments go to the fallback."""
        s = self.signature
        return make_entry(
            self._shown(),
            list(s.inputs.values()),
            list(shapes),
            list(s.results),
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
        piece = self.piece(dtype, width if over.axis.size >= width else 1)
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
        for piece in self._pieces.values():
            f = piece.facts
            made = "from the cache" if piece.from_cache else f"compiled in {f.seconds:.3f} s"
            lines.append(
                f"    {f.dtype} × {f.width}: shape {f.shape}, {f.signature.operations} operations, "
                f"{piece.size} bytes, {f.scratch} values of work space, {made}"
            )
        return lines
