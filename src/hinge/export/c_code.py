"""Traced code as a function of C99: written out, every value a variable, or rolled, every kernel once.

Written out it is quickest while it fits into the instruction cache. Rolled it is small: each kernel is a
static function that reads and writes a work array at places which a table lists, and the function calls one
after the other. Places of values that nobody reads any more are used again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hinge.export.dialect import Dialect
from hinge.kernels import TABLES, FusedStep, Kernel, fused
from hinge.sweeps import Call, Code, DenseCall, Slot

#: Numbers in a line of a table.
ACROSS = 16


@dataclass
class Body:
    """A function under construction: its lines, the helpers that it asks for, the kernels before it."""

    dialect: Dialect
    lines: list[str] = field(default_factory=list[str])
    before: list[str] = field(default_factory=list[str])
    asked: set[str] = field(default_factory=set[str])
    kernels: tuple[str, ...] = ()
    work: int = 0
    _count: int = 0

    def let(self, text: str) -> str:
        """Write a constant variable, and return its name."""
        self._count += 1
        name = f"t_{self._count}"
        self.lines.append(f"    const {self.dialect.type} {name} = {text};")
        return name

    def name(self, what: str) -> str:
        """Return a new name."""
        self._count += 1
        return f"{what}_{self._count}"

    def kernel(self, kernel: Kernel, inputs: Sequence[str], circles: dict[str, tuple[str, str]]) -> list[str]:
        """Write a kernel for these inputs, and return its outputs as operands."""
        values = [*inputs, *[""] * len(kernel.instructions)]
        for step in _steps(kernel, self.dialect):
            values[step.value] = self._step(step, values, circles)
        found: list[str] = []
        for o in kernel.outputs:
            if o.value is None:
                assert o.constant is not None
                found.append(self.dialect.number(o.constant))
            else:
                found.append(_negative(values[o.value]) if o.negative else values[o.value])
        return found

    def _step(self, step: FusedStep, values: Sequence[str], circles: dict[str, tuple[str, str]]) -> str:
        if step.constant is not None:
            return self.dialect.number(step.constant)
        x = [values[k] for k in step.operands]
        if step.op in ("sin", "cos"):
            if x[0] not in circles:
                circles[x[0]] = self._circle(x[0])
            return circles[x[0]][step.op == "cos"]
        if step.op in TABLES:
            self.asked.add(step.op)
        return self.let(self.dialect.operation(step.op, x))

    def _circle(self, x: str) -> tuple[str, str]:
        self.asked.add("circle")
        s, c = self.name("s"), self.name("c")
        self.lines.append(f"    {self.dialect.type} {s}, {c};")
        self.calls.append(f"    {self.dialect.helper('circle')}({x}, &{s}, &{c});")
        return s, c

    @property
    def calls(self) -> list[str]:
        """The lines, for statements without a value."""
        return self.lines

    def solve(self, call: DenseCall, value: Any) -> str:
        """Write a dense solve, and return the name of the array with the solution in its last columns."""
        n, m = call.right.shape
        a = self.name("a")
        kind = "solve_floored" if call.floored else "solve_positive" if call.positive else "solve"
        self.asked.add(kind)
        self.lines.append(f"    {self.dialect.type} {a}[{n * (n + m)}];")
        copy = f"{a}_copy" if call.floored else ""
        if copy:
            self.lines.append(f"    {self.dialect.type} {copy}[{n * (n + m)}];")
        for i in range(n):
            for k, x in enumerate([*call.matrix[i], *call.right[i]]):
                self.lines.append(f"    {a}[{i * (n + m) + k}] = {value(x)};")
        given = f"{a}, {copy}" if copy else a
        self.lines.append(f"    {self.dialect.helper(kind)}({given}, {n}, {m});")
        return a


def _steps(kernel: Kernel, dialect: Dialect) -> Iterable[FusedStep]:
    """Return the steps of a kernel, with fused products or without."""
    if dialect.fused:
        return fused(kernel)
    start = len(kernel.inputs)
    return [FusedStep(start + k, i.op, i.operands, i.constant) for k, i in enumerate(kernel.instructions)]


def _negative(x: str) -> str:
    return f"(-{x})"


def written_out(code: Code, dialect: Dialect, shown: dict[str, str]) -> Body:
    """Return a function with every value a variable; `shown` are the names of its results."""
    body = Body(dialect)
    slots: dict[int, str] = {}
    for name, members in code.inputs.items():
        slots |= {s: f"{name}[{k}]" for k, s in enumerate(members)}
    circles: dict[str, tuple[str, str]] = {}

    def value(x: Slot | float) -> str:
        if not isinstance(x, Slot):
            return dialect.number(float(x))
        return _negative(slots[x.index]) if x.negative else slots[x.index]

    for call in code.calls:
        if isinstance(call, DenseCall):
            a, width = body.solve(call, value), sum(call.right.shape)
            for (i, c), x in _entries(call):
                slots[x.index] = f"{a}[{i * width + call.right.shape[0] + c}]"
            continue
        inputs = [slots[s] for s in call.loads] + [dialect.number(p) for p in call.params]
        slots |= zip(call.stores, body.kernel(call.kernel, inputs, circles), strict=True)
    for result in code.results:
        for k, x in enumerate(result.values.ravel().tolist()):
            body.lines.append(f"    {shown[result.name]}[{k}] = {value(x)};")
    return body


def _entries(call: DenseCall) -> Iterator[tuple[tuple[int, int], Slot]]:
    n, m = call.result.shape
    yield from (((i, c), call.result[i, c]) for i in range(n) for c in range(m))


# Rolled.


class _Places:
    """Places in a work array, those of dead slots used again."""

    def __init__(self, code: Code) -> None:
        self.of: dict[int, int] = {}
        self.size = 0
        self._free: list[int] = []
        self.last: dict[int, int] = {}
        for k, call in enumerate(code.calls):
            self.last |= dict.fromkeys(_read(call), k)
        for result in code.results:
            self.last |= {x.index: len(code.calls) for x in result.values.flat if isinstance(x, Slot)}

    def put(self, slot: int) -> None:
        """Give a slot a place."""
        if slot not in self.of:
            self.of[slot] = self._free.pop() if self._free else self.size
            self.size = max(self.size, self.of[slot] + 1)

    def release(self, slots: Iterable[int], k: int) -> None:
        """Take back the places of slots that nothing reads after call k."""
        for s in set(slots):
            if self.last.get(s, -1) <= k:
                self._free.append(self.of.pop(s))


def _read(call: Call | DenseCall) -> tuple[int, ...]:
    if isinstance(call, Call):
        return call.loads
    return tuple(x.index for part in (call.matrix, call.right) for x in part.flat if isinstance(x, Slot))


def rolled(code: Code, dialect: Dialect, shown: dict[str, str], name: str) -> Body:
    """Return the body of a function that calls each kernel, written once, on a work array."""
    body, places = Body(dialect), _Places(code)
    kernels: dict[tuple[Kernel, int], str] = {}  # a kernel may take the same input from memory or as a number
    at: list[int] = []
    numbers: list[float] = []
    for input_, members in code.inputs.items():
        for k, s in enumerate(members):
            places.put(s)
            body.lines.append(f"    w_[{places.of[s]}] = {input_}[{k}];")

    def value(x: Slot | float) -> str:
        if not isinstance(x, Slot):
            return dialect.number(float(x))
        return f"{'-' if x.negative else ''}w_[{places.of[x.index]}]"

    for k, call in enumerate(code.calls):
        if isinstance(call, DenseCall):
            _rolled_solve(body, call, places, value)
            places.release(_read(call), k)
            continue
        key = call.kernel, len(call.loads)
        if key not in kernels:
            kernels[key] = f"{dialect.prefix}_{name}_{len(kernels)}"
            body.before.append(_static(kernels[key], call, body))
        loads = [places.of[s] for s in call.loads]
        places.release(call.loads, k)
        for s in call.stores:
            places.put(s)
        given = f"w_, at_ + {len(at)}, p_ + {len(numbers)}" if call.params else f"w_, at_ + {len(at)}, p_"
        body.lines.append(f"    {kernels[key]}({given});")
        at += loads + [places.of[s] for s in call.stores]
        numbers += call.params
        places.release(call.stores, k)
    for result in code.results:
        for n, x in enumerate(result.values.ravel().tolist()):
            body.lines.append(f"    {shown[result.name]}[{n}] = {value(x)};")
    body.work, body.kernels = places.size, tuple(kernels.values())
    kind = "unsigned short" if places.size < 1 << 16 else "unsigned long"
    body.before = [text.replace("@INDEX", kind) for text in body.before]
    body.lines[:0] = [
        *_table(f"static const {kind} at_", [str(x) for x in at] or ["0"]),
        *_table(
            f"static const {dialect.type} p_", [dialect.number(x) for x in numbers] or [dialect.number(0)]
        ),
        f"    {dialect.type} w_[{max(1, places.size)}];",
    ]
    return body


def _rolled_solve(body: Body, call: DenseCall, places: _Places, value: Any) -> None:
    body.lines.append("    {")
    a, (n, m) = body.solve(call, value), call.right.shape
    for (i, c), x in _entries(call):
        places.put(x.index)
        body.lines.append(f"    w_[{places.of[x.index]}] = {a}[{i * (n + m) + n + c}];")
    body.lines.append("    }")


def _static(name: str, call: Call, body: Body) -> str:
    """Return a kernel as a static function of a work array, places and parameters."""
    own = Body(body.dialect)
    loads = [own.let(f"w[at[{k}]]") for k in range(len(call.loads))]
    inputs = [*loads, *(f"p[{k}]" for k in range(len(call.params)))]
    found = own.kernel(call.kernel, inputs, {})
    for k, x in enumerate(found, len(loads)):
        own.lines.append(f"    w[at[{k}]] = {x};")
    body.asked |= own.asked
    unused = [] if call.params else ["    (void)p;"]
    return "\n".join(
        [
            f"static void {name}({own.dialect.type} *w, const @INDEX *at, const {own.dialect.type} *p)",
            "{",
            *own.lines,
            *unused,
            "}",
            "",
        ]
    )


def _table(head: str, entries: Sequence[str]) -> list[str]:
    lines = [f"    {head}[{len(entries)}] = {{"]
    for k in range(0, len(entries), ACROSS):
        lines.append(f"        {', '.join(entries[k : k + ACROSS])},")
    return [*lines, "    };"]
