"""LLVM IR as text: one function under construction, whose values are W lanes wide.

Text is made rather than objects of a builder: it is ten times faster, and it is what `.llvm` shows.
A value is the text of an operand: a name such as %7, or a constant.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

#: Vectors that are spilled lie on the stack: aligned to cache lines, none of them straddles two, whatever the
#: stack's position at the call.
ALIGNED = "alignstack(64)"

Dtype: TypeAlias = Literal["float64", "float32"]
SCALAR: dict[Dtype, str] = {"float64": "double", "float32": "float"}
BITS: dict[Dtype, int] = {"float64": 64, "float32": 32}


@dataclass(frozen=True)
class Lanes:
    """The number of states in a value and their precision: the type of every value.

    With `fused` x y + z is rounded once; without, for processors that have no such instruction, twice.
    """

    width: int
    dtype: Dtype = "float64"
    fused: bool = True

    @property
    def scalar(self) -> str:
        """The type of one lane."""
        return SCALAR[self.dtype]

    @property
    def type(self) -> str:
        """The type of a value."""
        return self.of(self.scalar)

    @property
    def bits(self) -> int:
        """The bits of one lane."""
        return BITS[self.dtype]

    @property
    def integer(self) -> str:
        """The type of integers as wide as a value."""
        return self.of(f"i{self.bits}")

    @property
    def truth(self) -> str:
        """The type of a comparison."""
        return self.of("i1")

    @property
    def suffix(self) -> str:
        """The suffix of LLVM's overloaded intrinsics."""
        one = f"f{self.bits}"
        return one if self.width == 1 else f"v{self.width}{one}"

    def of(self, scalar: str) -> str:
        """Return the type of W values of a scalar type."""
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def splat(self, scalar: str, value: str) -> str:
        """Return a constant that is the same in all lanes."""
        return value if self.width == 1 else f"<{', '.join([f'{scalar} {value}'] * self.width)}>"

    def constant(self, c: float) -> str:
        """Return a number as a constant in all lanes."""
        return _constant(self, number(c, self.dtype))


@lru_cache(maxsize=1 << 14)
def _constant(lanes: Lanes, text: str) -> str:
    return lanes.splat(lanes.scalar, text)


def number(c: float, dtype: Dtype) -> str:
    """Return a number as LLVM writes it exactly: the bits of a double."""
    if dtype == "float32":
        with np.errstate(over="ignore"):
            c = float(np.float32(c))
    return f"0x{struct.unpack('<Q', struct.pack('<d', c))[0]:016X}"


@dataclass
class Writer:
    """A function body under construction, line by line.

    `circles` are sines and cosines written so far, `tables` the addresses of tables by name, `functions` the
    texts of other functions that it calls.
    """

    lanes: Lanes
    lines: list[str] = field(default_factory=list[str])
    label: str = "entry"
    declared: dict[str, None] = field(default_factory=dict[str, None])
    globals: list[str] = field(default_factory=list[str])
    functions: dict[str, str] = field(default_factory=dict[str, str])
    loop_start: int = 0
    _count: int = 0
    _values: int = 0
    _calls: dict[str, str] = field(default_factory=dict[str, str])
    tables: dict[str, str] = field(default_factory=dict[str, str])
    circles: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    def __post_init__(self) -> None:
        self._type = self.lanes.type

    def name(self, hint: str = "") -> str:
        """Return a new name."""
        self._count += 1
        return f"%{hint or 't'}{self._count}"

    def let(self, text: str) -> str:
        """Write an instruction with a result, and return its name.

        Results are numbered in the order of their lines, without gaps: LLVM then takes the numbers for its
        own, and keeps no table of names.
        """
        name = f"%{self._values}"
        self._values += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Write an instruction without a result."""
        self.lines.append(f"  {text}")

    def block(self, hint: str) -> str:
        """Return a new label."""
        return self.name(hint)[1:]

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.label = label

    @contextmanager
    def loop(self, first: str | int, end: str | int) -> Generator[str]:
        """Write a loop over first … end − 1, possibly none, around what is written inside."""
        head, body, after = self.block("loop"), self.block("body"), self.block("after")
        before, counter, more = self.label, self.name("i"), self.name("n")
        self.do(f"br label %{head}")
        self.start(head)
        spot = self.loop_start = len(self.lines)
        inside = self.let(f"icmp slt i64 {counter}, {end}")
        self.do(f"br i1 {inside}, label %{body}, label %{after}")
        self.start(body)
        yield counter
        self.do(f"{more} = add i64 {counter}, 1")
        self.do(f"br label %{head}")
        self.lines.insert(spot, f"  {counter} = phi i64 [ {first}, %{before} ], [ {more}, %{self.label} ]")
        self.start(after)

    @contextmanager
    def repeat(self, times: int) -> Generator[str]:
        """Write a loop over 0 … times − 1, at least one: what is made inside is there after it."""
        body, after = self.block("body"), self.block("after")
        before, counter, more = self.label, self.name("i"), self.name("n")
        self.do(f"br label %{body}")
        self.start(body)
        spot = self.loop_start = len(self.lines)
        yield counter
        self.do(f"{more} = add i64 {counter}, 1")
        again = self.let(f"icmp slt i64 {more}, {times}")
        self.do(f"br i1 {again}, label %{body}, label %{after}")
        self.lines.insert(spot, f"  {counter} = phi i64 [ 0, %{before} ], [ {more}, %{self.label} ]")
        self.start(after)

    @contextmanager
    def squares(self, size: int, width: int = 0) -> Generator[str]:
        """Write a loop over the starts of W numbers of a row, or so many; the last may overlap others."""
        width = width or self.lanes.width
        with self.loop(0, -(-size // width)) as n:
            start = self.let(f"mul i64 {n}, {width}")
            early = self.let(f"icmp slt i64 {start}, {size - width}")
            yield self.let(f"select i1 {early}, i64 {start}, i64 {size - width}")

    @contextmanager
    def packed(self, width: int) -> Generator[None]:
        """Write with this many lanes for a while, beside what has other ones."""
        kept = self.lanes, self._type, self._calls
        self.lanes = replace(self.lanes, width=width)
        self._type, self._calls = self.lanes.type, {}
        yield
        self.lanes, self._type, self._calls = kept

    @contextmanager
    def own_circles(self) -> Generator[None]:
        """Forget afterwards the sines and cosines that are written inside."""
        kept = self.circles
        self.circles = dict(kept)
        yield
        self.circles = kept

    # Arithmetic of values.

    def binary(self, op: str, x: str, y: str) -> str:
        """Write fadd, fsub, fmul or fdiv."""
        return self.let(f"{op} {self._type} {x}, {y}")

    def negative(self, x: str) -> str:
        """Write −x."""
        return self.let(f"fneg {self._type} {x}")

    def fma(self, x: str, y: str, z: str) -> str:
        """Write x y + z, rounded once if products are fused."""
        if not self.lanes.fused:
            return self.binary("fadd", self.binary("fmul", x, y), z)
        return self.intrinsic("fma", x, y, z)

    def intrinsic(self, name: str, *args: str) -> str:
        """Write a call of one of LLVM's functions of values."""
        t = self._type
        call = self._calls.get(name)
        if call is None:
            full = f"@llvm.{name}.{self.lanes.suffix}"
            self.declared[f"declare {t} {full}({', '.join([t] * len(args))})"] = None
            call = self._calls[name] = f"call {t} {full}({t} "
        return self.let(f"{call}{f', {t} '.join(args)})")

    def integer(self, op: str, x: str, y: str) -> str:
        """Write an operation of integers as wide as values."""
        return self.let(f"{op} {self.lanes.integer} {x}, {y}")

    def whole(self, n: int) -> str:
        """Return an integer constant in all lanes."""
        return self.lanes.splat(f"i{self.lanes.bits}", str(n))

    def as_integer(self, x: str) -> str:
        """Write the bits of a value."""
        return self.let(f"bitcast {self.lanes.type} {x} to {self.lanes.integer}")

    def as_value(self, x: str) -> str:
        """Write the value of bits."""
        return self.let(f"bitcast {self.lanes.integer} {x} to {self.lanes.type}")

    def compare(self, how: str, x: str, y: str) -> str:
        """Write a comparison of values."""
        return self.let(f"fcmp {how} {self.lanes.type} {x}, {y}")

    def select(self, truth: str, x: str, y: str) -> str:
        """Write: x where it is true, else y."""
        t = self.lanes.type
        return self.let(f"select {self.lanes.truth} {truth}, {t} {x}, {t} {y}")

    def any(self, truth: str) -> str:
        """Write whether a comparison holds in some lane."""
        if self.lanes.width == 1:
            return truth
        mask = self.let(f"bitcast {self.lanes.truth} {truth} to i{self.lanes.width}")
        return self.let(f"icmp ne i{self.lanes.width} {mask}, 0")

    # Memory: values at an address, counted in values.

    def load(self, base: str, index: str | int = 0) -> str:
        """Write the load of a value."""
        return self.let(f"load {self.lanes.type}, ptr {self.at(base, index)}, align {self.lanes.bits // 8}")

    def store(self, x: str, base: str, index: str | int = 0) -> None:
        """Write the store of a value."""
        place = self.at(base, index)
        self.do(f"store {self.lanes.type} {x}, ptr {place}, align {self.lanes.bits // 8}")

    def at(self, base: str, index: str | int, unit: str = "") -> str:
        """Write the address of the element of this number."""
        if index == 0:
            return base
        return self.let(f"getelementptr {unit or self.lanes.type}, ptr {base}, i64 {index}")

    def constant_bytes(self, data: bytes, unit: int) -> str:
        """Return the address of constant bytes, aligned to units of this many."""
        name = f"@table{len(self.globals)}"
        text = data.hex("\\").upper()
        kind = f"[{len(data)} x i8]"
        self.globals.append(f'{name} = private unnamed_addr constant {kind} c"\\{text}", align {unit}')
        return name

    # Lanes.

    def spread(self, x: str) -> str:
        """Write one number into all lanes."""
        t = self.lanes
        if t.width == 1:
            return x
        one = self.let(f"insertelement {t.type} poison, {t.scalar} {x}, i32 0")
        return self.let(f"shufflevector {t.type} {one}, {t.type} poison, <{t.width} x i32> zeroinitializer")

    def gather(self, places: Sequence[str]) -> str:
        """Write the load of one number for each lane."""
        t = self.lanes
        return self.pack([self.let(f"load {t.scalar}, ptr {p}, align {t.bits // 8}") for p in places])

    def pack(self, numbers: Sequence[str]) -> str:
        """Write W numbers as one value."""
        t = self.lanes
        if t.width == 1:
            return numbers[0]
        found = "poison"
        for k, x in enumerate(numbers):
            found = self.let(f"insertelement {t.type} {found}, {t.scalar} {x}, i32 {k}")
        return found

    def lane(self, x: str, k: int) -> str:
        """Write the number in one lane."""
        return x if self.lanes.width == 1 else self.let(f"extractelement {self.lanes.type} {x}, i32 {k}")

    def scatter(self, x: str, places: Sequence[str]) -> None:
        """Write the store of one number for each lane."""
        t = self.lanes
        for k, p in enumerate(places):
            self.do(f"store {t.scalar} {self.lane(x, k)}, ptr {p}, align {t.bits // 8}")

    def transposed(self, rows: Sequence[str]) -> list[str]:
        """Write the transpose of W values as a square: blocks beside the diagonal change places."""
        found, w = list(rows), self.lanes.width
        d = w // 2
        while d:
            for i in (i for i in range(w) if not i & d):
                upper = [k if not k & d else w + k - d for k in range(w)]
                lower = [k + d if not k & d else w + k for k in range(w)]
                x, y = found[i], found[i + d]
                found[i], found[i + d] = self._shuffled(x, y, upper), self._shuffled(x, y, lower)
            d //= 2
        return found

    def _shuffled(self, x: str, y: str, order: Sequence[int]) -> str:
        t = self.lanes.type
        mask = ", ".join(f"i32 {k}" for k in order)
        return self.let(f"shufflevector {t} {x}, {t} {y}, <{self.lanes.width} x i32> <{mask}>")


def whole_text(w: Writer, head: str, start: str = "") -> str:
    """Return the text of a module with one function of its own: its head, `start`, and what is written."""
    vector = w.lanes.width * w.lanes.bits
    widths = f'"prefer-vector-width"="{vector}" "min-legal-vector-width"="{vector}"' if vector > 256 else ""
    body = start + "\n".join(w.lines)
    function = f"{head} nounwind {ALIGNED} {widths} {{\nentry:\n{body}\n}}\n"
    return "\n".join([*w.globals, *w.declared, *w.functions.values(), function])
