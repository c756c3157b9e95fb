"""Iterations in IR: the arithmetic in which loops and rounds are written once each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hinge.targets.llvm.text import Writer


class Truth:
    """A comparison, in each lane."""

    __slots__ = ("text", "w")

    def __init__(self, w: Writer, text: str) -> None:
        self.w, self.text = w, text

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.w, self.w.let(f"and {self.w.lanes.truth} {self.text}, {other.text}"))


class Number:
    """A number in each lane."""

    __slots__ = ("text", "w")

    def __init__(self, w: Writer, text: str) -> None:
        self.w, self.text = w, text

    def _binary(self, op: str, x: Any, y: Any) -> Number:
        return Number(self.w, self.w.binary(op, operand(self.w, x), operand(self.w, y)))

    def __add__(self, other: Any) -> Number:
        return self if _is(other, 0.0) else self._binary("fadd", self, other)

    def __radd__(self, other: Any) -> Number:
        return self if _is(other, 0.0) else self._binary("fadd", other, self)

    def __sub__(self, other: Any) -> Number:
        return self if _is(other, 0.0) else self._binary("fsub", self, other)

    def __rsub__(self, other: Any) -> Number:
        return -self if _is(other, 0.0) else self._binary("fsub", other, self)

    def __mul__(self, other: Any) -> Any:
        return 0.0 if _is(other, 0.0) else self if _is(other, 1.0) else self._binary("fmul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Number:
        return self._binary("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Number:
        return self._binary("fdiv", other, self)

    def __neg__(self) -> Number:
        return Number(self.w, self.w.negative(self.text))

    def _compared(self, how: str, other: Any) -> Truth:
        return Truth(self.w, self.w.compare(how, self.text, operand(self.w, other)))

    def __lt__(self, other: Any) -> Truth:
        return self._compared("olt", other)

    def __le__(self, other: Any) -> Truth:
        return self._compared("ole", other)

    def __gt__(self, other: Any) -> Truth:
        return self._compared("ogt", other)

    def __ge__(self, other: Any) -> Truth:
        return self._compared("oge", other)

    def __eq__(self, other: object) -> Truth:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._compared("oeq", other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def _is(x: Any, c: float) -> bool:
    return isinstance(x, int | float) and x == c


def operand(w: Writer, x: Any) -> str:
    """Return a number or a constant as an operand."""
    return x.text if isinstance(x, Number) else w.lanes.constant(float(x))


class Counter:
    """An index that a loop counts."""

    __slots__ = ("text", "w")

    def __init__(self, w: Writer, text: str) -> None:
        self.w, self.text = w, text

    def __add__(self, other: Any) -> Counter:
        return self if other == 0 else Counter(self.w, self.w.let(f"add i64 {self.text}, {index(other)}"))

    __radd__ = __add__

    def __mul__(self, factor: int) -> Counter:
        return Counter(self.w, self.w.let(f"mul i64 {self.text}, {factor}"))


def index(i: Any) -> str | int:
    """Return an index as an operand."""
    return i.text if isinstance(i, Counter) else i


class Scratch:
    """Numbers at an address, one for each lane and index."""

    def __init__(self, w: Writer, address: str) -> None:
        self.w, self.address = w, address

    def __getitem__(self, i: Any) -> Number:
        return Number(self.w, self.w.load(self.address, index(i)))

    def __setitem__(self, i: Any, x: Any) -> None:
        self.w.store(operand(self.w, x), self.address, index(i))


def _no_room(size: int) -> str:
    raise AssertionError(f"room for {size} numbers inside of a shared function")


class Chosen:
    """Indices in scratch: so many of them, and their number after the last one that there may be."""

    def __init__(self, w: Writer, address: str, size: int) -> None:
        self.w, self.address, self.size = w, address, size

    def _load(self, k: Any) -> Counter:
        at = self.w.at(self.address, index(k), "i64")
        return Counter(self.w, self.w.let(f"load i64, ptr {at}, align {self.w.lanes.bits // 8}"))

    @property
    def count(self) -> Counter:
        """How many there are."""
        return self._load(self.size)

    def __getitem__(self, k: Any) -> Counter:
        return self._load(k)


class LlvmArithmetic:
    """Numbers in lanes, in a function that a writer writes; `room` finds room for so many numbers."""

    def __init__(self, w: Writer, room: Callable[[int], str]) -> None:
        self.w, self.room = w, room
        self.dtype = w.lanes.dtype

    def array(self, size: int) -> Scratch:
        """Return a new array in scratch."""
        return Scratch(self.w, self.room(size))

    def shared(self, name: str, body: Callable[..., None], *arrays: Scratch | Chosen) -> None:
        """Write a call of a function that is written once: the body with these arrays."""
        w = self.w
        if name not in w.functions:
            inner = Writer(w.lanes, declared=w.declared, globals=w.globals, functions=w.functions)
            w.functions[name] = ""  # its place comes first
            own = (
                Chosen(inner, f"%a{k}", x.size) if isinstance(x, Chosen) else Scratch(inner, f"%a{k}")
                for k, x in enumerate(arrays)
            )
            body(LlvmArithmetic(inner, _no_room), *own)
            given = ", ".join(f"ptr %a{k}" for k in range(len(arrays)))
            lines = "\n".join([*inner.lines, "  ret void"])
            w.functions[name] = f"define internal void @{name}({given}) nounwind {{\nentry:\n{lines}\n}}\n"
        w.do(f"call void @{name}({', '.join(f'ptr {x.address}' for x in arrays)})")

    def loop(self, start: Any, stop: Any) -> Iterator[Any]:
        """Write a loop over the indices; one of one turn is written out."""
        if isinstance(start, int) and isinstance(stop, int) and stop - start <= 1:
            yield from range(start, stop)
            return
        with self.w.loop(index(start), index(stop)) as i:
            yield Counter(self.w, i)

    def fold(
        self, start: Any, stop: Any, initial: list[Any], body: Callable[[Counter, list[Any]], list[Any]]
    ) -> list[Any]:
        """Write a loop that carries numbers in registers."""
        w = self.w
        head, inside, after = w.block("fold"), w.block("body"), w.block("after")
        before, counter, more = w.label, w.name("i"), w.name("n")
        carried = [Number(w, w.name("s")) for _ in initial]
        w.do(f"br label %{head}")
        w.start(head)
        spot = len(w.lines)
        w.do(f"br i1 {w.let(f'icmp slt i64 {counter}, {index(stop)}')}, label %{inside}, label %{after}")
        w.start(inside)
        found = body(Counter(w, counter), list(carried))
        w.do(f"{more} = add i64 {counter}, 1")
        w.do(f"br label %{head}")
        starts = [(counter, "i64", str(index(start)), more)]
        for x, first, last in zip(carried, initial, found, strict=True):
            starts.append((x.text, w.lanes.type, operand(w, first), operand(w, last)))
        for name, kind, first, last in starts:
            w.lines.insert(spot, f"  {name} = phi {kind} [ {first}, %{before} ], [ {last}, %{w.label} ]")
        w.start(after)
        return list(carried)

    def chosen(self, size: int, test: Callable[[Any], Truth]) -> Chosen:
        """Write the list of indices for which a test holds in some lane."""
        w = self.w
        unit = w.lanes.bits // 8  # one lane of single precision has half of an index
        found = Chosen(w, self.room((size + 1) * (8 // unit)), size)
        end = w.at(found.address, size, "i64")
        w.do(f"store i64 0, ptr {end}, align {unit}")
        for k in self.loop(0, size):
            holds = w.let(f"zext i1 {w.any(test(k).text)} to i64")
            count = found.count
            place = w.at(found.address, count.text, "i64")
            w.do(f"store i64 {index(k)}, ptr {place}, align {unit}")
            w.do(f"store i64 {(count + Counter(w, holds)).text}, ptr {end}, align {unit}")
        return found

    def rounds(self, most: int, live: Any) -> Iterator[None]:
        """Write a loop that ends when no lane is live."""
        w = self.w
        head, body, after = w.block("round"), w.block("body"), w.block("after")
        before, counter, more = w.label, w.name("i"), w.name("n")
        w.do(f"br label %{head}")
        w.start(head)
        spot = len(w.lines)
        left = w.let(f"icmp slt i64 {counter}, {most}")
        some = w.any((live[0] > 0.0).text)
        go = w.let(f"and i1 {left}, {some}")
        w.do(f"br i1 {go}, label %{body}, label %{after}")
        w.start(body)
        yield
        w.do(f"{more} = add i64 {counter}, 1")
        w.do(f"br label %{head}")
        w.lines.insert(spot, f"  {counter} = phi i64 [ 0, %{before} ], [ {more}, %{w.label} ]")
        w.start(after)

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        """Write x y + z, rounded once."""
        if _is(x, 0.0) or _is(y, 0.0):
            return z
        if not isinstance(z, Number) and _is(z, 0.0):
            return x * y
        return Number(self.w, self.w.fma(*(operand(self.w, v) for v in (x, y, z))))

    def where(self, truth: Truth, x: Any, y: Any) -> Number:
        """Write the choice of x or y."""
        return Number(self.w, self.w.select(truth.text, operand(self.w, x), operand(self.w, y)))

    def sqrt(self, x: Any) -> Number:
        """Write the square root."""
        return Number(self.w, self.w.intrinsic("sqrt", operand(self.w, x)))

    def abs(self, x: Any) -> Number:
        """Write the absolute value."""
        return Number(self.w, self.w.intrinsic("fabs", operand(self.w, x)))
