"""Pieces of machine code: for W states at once in one precision, in memory and in the cache."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.targets.llvm import cache
from hinge.targets.llvm.background import Job
from hinge.targets.llvm.batch import aligned
from hinge.targets.llvm.machine import Loaded, assembled, assembled_beside, common_object, loaded, provide
from hinge.targets.llvm.module import Module, Shape
from hinge.targets.llvm.text import Dtype
from hinge.targets.llvm.threads import run_parts
from hinge.targets.llvm.tiers import QUICK_LEVEL, in_short_blocks
from hinge.targets.signature import Signature

Array = NDArray[Any]

RUN = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)


@dataclass(frozen=True)
class Facts:
    """Metadata of a piece of machine code; `quick` if better code is to come, in so many seconds.

    `calls` is the name of a function that it calls.
    """

    shape: Shape
    width: int
    dtype: Dtype
    scratch: int
    seconds: float
    signature: Signature
    quick: bool = False
    to_come: float = 0.0
    calls: str = ""


@dataclass(frozen=True, eq=False)
class Piece:
    """Machine code for W states at once in one precision; `job` makes the final code of a quick piece."""

    facts: Facts
    size: int
    from_cache: bool
    code: Loaded
    spare: list[Array]
    job: Job | None = None

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

    def described(self) -> str:
        """Return a line about the code."""
        f = self.facts
        made = "from the cache" if self.from_cache else f"compiled in {f.seconds:.3f} s"
        tier = ", quick code until the final code is made" if f.quick else ""
        return (
            f"{f.dtype} × {f.width}: shape {f.shape}, {f.signature.operations} operations, "
            f"{self.size} bytes, {f.scratch} values of work space, {made}{tier}"
        )


class Entry(NamedTuple):
    """What the cache has of a piece: its object file, and that of the function that it calls, if any."""

    facts: Facts
    code: bytes
    common: bytes = b""


def read_entry(key: str | None) -> Entry | None:
    """Return the entry of a key, or None."""
    payload = cache.load(key) if key else None
    if not payload:
        return None
    head, _, code = payload.partition(b"\n")
    facts = json.loads(head)
    signature, length = facts.pop("signature"), facts.pop("length")
    signature["results"] = {name: tuple(shape) for name, shape in signature["results"].items()}
    return Entry(Facts(**facts, signature=Signature(**signature)), code[:length], code[length:])


def write_entry(key: str | None, entry: Entry, label: str) -> None:
    """Store an entry, in the place of one that was there."""
    if key is not None:
        head = json.dumps({**asdict(entry.facts), "length": len(entry.code)}).encode()
        cache.store(key, b"".join((head, b"\n", entry.code, entry.common)), label)


def quick_entry(module: Module, facts: Facts) -> Entry:
    """Return quick code: the module itself at level 0, and what runs its rows, which programs share."""
    assert module.common is not None
    common = common_object(module.common.text, "steps of quick code")
    code, seconds = assembled(in_short_blocks(module.text), level=QUICK_LEVEL)
    return Entry(replace(facts, seconds=seconds, calls=module.common.name), code, common)


def final_piece(
    quick: Facts, write: Callable[[Facts], Module], level: int, key: str | None, label: str
) -> Piece:
    """Return the final code of a program: that of another process, or made now beside other threads."""
    entry = read_entry(key)
    is_there = entry is not None and not entry.facts.quick
    if entry is None or not is_there:
        module = write(quick)
        code, seconds = assembled_beside(module.text, level)
        made = {"shape": module.shape, "scratch": module.scratch, "seconds": seconds}
        entry = Entry(replace(quick, **made, quick=False, to_come=0.0, calls=""), code)
        write_entry(key, entry, label)
    return piece_of(entry, from_cache=is_there)


def piece_of(entry: Entry, job: Job | None = None, *, from_cache: bool) -> Piece:
    """Return the code of an entry in memory."""
    facts, code, common = entry
    if facts.calls:
        provide(facts.calls, common)
    return Piece(facts, len(code), from_cache, loaded(code), [], job)
