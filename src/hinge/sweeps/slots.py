"""The state of a trace: values in slots, and the calls so far.

An entry of a value is a float when it is known, or an int: twice the slot that holds it, one more when it
is read with the opposite sign.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

from hinge.algebra import Body, Expr, Inverse, Leaf, Space, World
from hinge.kernels import Kernel
from hinge.sweeps.code import Call, Column, DenseCall, KnownBlock, Slot
from hinge.sweeps.contract import Binding, block_of
from hinge.sweeps.program import Meet, Program
from hinge.tree import WORLD

Entry: TypeAlias = float | int
#: An entry of a layout: a literal below FIRST, a slot from there on, a number below zero; the last bit of a
#: slot or number is its sign.
LITERALS: dict[float, int] = {0.0: 0, 1.0: 1, -1.0: 2}
VALUES: dict[int, float] = {code: x for x, code in LITERALS.items()}
FIRST = 4


@dataclass(frozen=True, eq=False)
class Layout:
    """Which entries of a block are zero or one, and which are the same; equal layouts are one object."""

    shape: tuple[int, ...]
    codes: tuple[int, ...]

    @cached_property
    def unsigned(self) -> tuple[Any, ...]:
        """The layout but for the signs of slots."""
        codes = [c & ~1 if c >= FIRST else c for c in self.codes]
        return self.shape, *codes


class Stored(NamedTuple):
    """A value: its layout, and its different slots and numbers in the order of their first occurrence."""

    layout: Layout
    slots: Sequence[int]
    numbers: Sequence[float]

    def entries(self, slot: Callable[[int, bool], Any], number: Callable[[int, bool], Any]) -> list[Any]:
        """Return the entries row by row, given a function of the k-th slot or number and a sign."""
        found, codes = dict[int, Any](VALUES), self.layout.codes
        for code in dict.fromkeys(codes):
            if code >= FIRST:
                found[code] = slot((code - FIRST) >> 1, bool(code & 1))
            elif code < 0:
                found[code] = number((-1 - code) >> 1, not code & 1)
        return [found[code] for code in codes]

    def shown(self) -> KnownBlock:
        """Return an array of floats and slots."""
        entries = self.entries(
            lambda k, negative: Slot(self.slots[k], negative),
            lambda k, negative: float(-self.numbers[k] if negative else self.numbers[k]),
        )
        return block_of(entries, *self.layout.shape)


def as_entry(x: float | Slot) -> Entry:
    """Return what `shown` shows as an entry of a value."""
    return 2 * x.index + x.negative if isinstance(x, Slot) else x


class Layouts:
    """The layouts so far, each made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], Layout] = {}

    def stored(self, shape: tuple[int, ...], entries: Iterable[Entry]) -> Stored:
        """Return a block of entries as a value."""
        slots: dict[int, int] = {}
        numbers: dict[float, tuple[int, float]] = {}
        found: list[int] = []
        for x in entries:
            if type(x) is int:
                found.append(FIRST + 2 * slots.setdefault(x >> 1, len(slots)) + (x & 1))
            elif x in LITERALS:
                found.append(LITERALS[x])
            else:
                k, first = numbers.setdefault(abs(x), (len(numbers), x))
                found.append(-1 - 2 * k - (x != first))
        codes = tuple(found)
        layout = self._known.get((shape, codes))
        if layout is None:
            layout = self._known[shape, codes] = Layout(shape, codes)
        return Stored(layout, list(slots), [x for _, x in numbers.values()])


class Reading:
    """The key of the values that a kernel reads.

    Values with the same key lead to the same kernel: the same values present or absent, the same layouts, and
    the same slots and numbers equal.
    """

    __slots__ = ("_numbers", "_slots", "layouts")

    def __init__(self, blocks: Iterable[Stored | None] = ()) -> None:
        self.layouts: list[Any] = []
        self._slots: list[int] = []
        self._numbers: list[float] = []
        for block in blocks:
            self.add(block)

    def add(self, block: Stored | None) -> None:
        """Add the next value that is read, None if it is absent."""
        if block is None:
            self.layouts.append(None)
            return
        self.layouts.append(block[0])
        self._slots += block[1]
        self._numbers += block[2]

    def finish(self) -> tuple[tuple[Any, ...], list[int], list[float]]:
        """Return the key, and the different slots and numbers."""
        key, slots, numbers = self.layouts, list(dict.fromkeys(self._slots)), self._numbers
        if len(slots) < len(self._slots):
            order = self.slot_order()
            key = [*key, tuple([order[s] for s in self._slots])]
        if numbers:
            known = self.number_order()
            key = [*key, tuple([(known[abs(x)][0], x == known[abs(x)][1]) for x in numbers])]
            numbers = [x for _, x in known.values()]
        return tuple(key), slots, numbers

    def slot_order(self) -> dict[int, int]:
        """Return for each of the different slots its number."""
        return {s: k for k, s in enumerate(dict.fromkeys(self._slots))}

    def number_order(self) -> dict[float, tuple[int, float]]:
        """Return for each of the numbers that differ by more than sign its number, and how it came first."""
        found: dict[float, tuple[int, float]] = {}
        for x in self._numbers:
            found.setdefault(abs(x), (len(found), x))
        return found


class Open(Protocol):
    """A call whose live outputs are not known yet."""

    def close(self, live: bytearray, kernels: dict[Kernel, Kernel]) -> Call | None:
        """Return the call that stores the live slots, or None; its loads become live."""
        ...


class Room(Protocol):
    """Slots and calls under construction; `negated` maps slots to slots with the opposite sign."""

    negated: dict[int, int]
    calls: list[Open | DenseCall]

    def new_slots(self, count: int) -> range:
        """Return new slots."""
        ...


@dataclass
class Memory:
    """Values by variable, column and body, and the data that all bodies of a kind share.

    `sources` are the source spaces of variables that hold columns; `near` are the bodies that a body may read
    from: itself, its parent, its children. `kinds` numbers the kinds of bodies, which include the layouts of
    their numbers; `constants` are these numbers. `negated` maps slots to slots with the opposite sign;
    `inverted` are the variables that are inverses of symmetric blocks. `traced` counts the operations traced
    so far for columns.
    """

    program: Program
    binding: Binding
    sources: dict[Leaf, Space]
    slots: int = 0
    traced: int = 0
    negated: dict[int, int] = field(default_factory=dict[int, int])
    calls: list[Open | DenseCall] = field(default_factory=list[Any])
    tables: dict[tuple[Expr, Column | None], dict[int, Stored]] = field(default_factory=dict[Any, Any])
    near: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    kinds: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    constants: dict[int, Stored] = field(default_factory=dict[int, Stored])

    def __post_init__(self) -> None:
        statements = [s for p in self.program.passes for s in p.statements]
        self.inverted = {
            s.target for s in statements if isinstance(s.value, Inverse) and s.target.self_adjoint
        }
        self.layouts = Layouts()
        self._widths: dict[Column, int] = {}
        tree, binding = self.binding.tree, self.binding
        children = tree.children
        self.near = {i: (i, p, *children[i]) for i, p in enumerate(tree.parents)}
        self.near[WORLD] = (WORLD, WORLD, *tree.roots)
        known: dict[Hashable, int] = {}
        for i, parent in enumerate(tree.parents):
            numbers = binding.constants(i)
            self.constants[i] = found = self.layouts.stored((), numbers)
            kind = known.setdefault((binding.kind(i), found.layout), len(known))
            self.kinds[i] = kind, WORLD if parent == WORLD else binding.size(Body, parent)
        met = any(isinstance(s, Meet) for s in self.program.stages)
        self.constants[WORLD] = self.layouts.stored((), binding.constants(WORLD) if met else ())
        self.kinds[WORLD] = WORLD, WORLD

    def table(self, x: Expr, column: Column | None) -> dict[int, Stored]:
        """Return the values of a variable or edge by bodies."""
        return self.tables.setdefault((x, column), {})

    def put(
        self, x: Expr, body: int, column: Column | None, shape: Sequence[int], entries: Iterable[Entry]
    ) -> None:
        """Store a value by its entries."""
        self.table(x, column)[body] = self.layouts.stored(tuple(shape), entries)

    def get(self, x: Expr, body: int, column: Column | None = None) -> Stored | None:
        """Return a value that was stored, or None."""
        table = self.tables.get((x, column))
        return None if table is None else table.get(body)

    def new_slots(self, count: int) -> range:
        """Return new slots."""
        self.slots += count
        return range(self.slots - count, self.slots)

    def width(self, space: Space, column: Column | None) -> int:
        """Return the number of columns of a variable of a source space, the column's or World."""
        if space is World:
            return self.binding.size(World, WORLD)
        assert column is not None
        if column not in self._widths:
            self._widths[column] = self.binding.size(column.space, column.body)
        return self._widths[column]
