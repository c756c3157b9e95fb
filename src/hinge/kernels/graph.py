"""Traced scalars: arithmetic that records instructions.

A `Scalar` stands for a value that is known only when the kernel runs. What is known while tracing is
a plain float: results that fold to a constant are floats again, and the rules are

    x·0 = 0     x·1 = x     x + 0 = x     x − x = 0     0/x = 0     (x c₁) c₂ = x (c₁ c₂)     x/c = x (1/c)
    (y/x) x = y     ((y/x) z) x = y z

A sign is carried along and is never an instruction: (−x) y = −(x y), (−x) + (−y) = −(x + y),
sin(−x) = −sin x, cos(−x) = cos x; the table `OPS` says how it goes through a function. Equal instructions
are made once.

Between the two stand parameters, numbers that are known when a model is bound, before the kernel runs, but
not while it is traced. A value of parameters and constants alone is *uniform*; it is worked out at binding
time (see `split`), and so the rules for constants hold for it too, except that its number is not seen:

    (x u₁) u₂ = x (u₁ u₂)     x/u = x (1/u)

The rules x·0, x − x and 0/x assume finite inputs, (y/x) x assumes that x is not zero: an infinity or NaN
shows in those results only that really depend on it. Constants are combined before they meet x, so that a
result may differ from the plain formula's in its last bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np

from hinge.errors import ArgumentError
from hinge.kernels.ops import OPS

#: (op, index, …) with an op of `OPS`, ("const", float), ("param", key) or ("input", key).
Node: TypeAlias = tuple[Any, ...]

#: When a value is known: while it is traced, when the model is bound, when the kernel runs.
TRACED, BOUND, RUN = range(3)
_LEAVES = {"const": TRACED, "param": BOUND, "input": RUN}

#: Products of constants outside this range are not folded: they would lose digits or overflow.
SMALLEST, LARGEST = 1e-300, 1e300
MOST_POWER = 64
MIXED = "two scalars of different graphs: a kernel is traced in one graph from its inputs to its outputs"


class Graph:
    """One kernel under construction: its inputs, parameters, constants and instructions, each made once.

    `known` says of each node when its value is known: TRACED, BOUND or RUN. `divisors` are the nodes that
    something is divided by.
    """

    __slots__ = ("_index", "_inputs", "divisors", "known", "nodes")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.known: list[int] = []
        self.divisors: set[int] = set()
        self._index: dict[Node, int] = {}
        self._inputs: dict[Hashable, Scalar] = {}

    def input(self, key: Hashable) -> Scalar:
        """Return the scalar that stands for this input; the same key gives the same scalar."""
        found = self._inputs.get(key)
        if found is None:
            self._inputs[key] = found = Scalar(self, self._append(("input", key)), False)
        return found

    def param(self, key: Hashable) -> Scalar:
        """Return the scalar that stands for a number known at binding time; the same key, the same scalar."""
        return self.node(("param", key), False)

    def node(self, node: Node, negative: bool) -> Scalar:
        """Return the scalar of a node with a sign; equal nodes are made once."""
        index = self._index.get(node)
        if index is None:
            index = self._append(node)
        return Scalar(self, index, negative)

    def constant(self, c: float) -> int:
        """Return the index of a constant."""
        index = self._index.get(("const", c))
        if index is None:
            if not math.isfinite(c):
                raise ArgumentError(f"the constant {c} is not finite; a kernel takes it as an input only")
            index = self._append(("const", c))
        return index

    def scaled(self, index: int, c: float, negative: bool) -> Scalar:
        """Return ± the node times a constant c > 0."""
        base, inner = self._factors(index)
        if inner is not None and self.known[inner] == BOUND:
            return self.node(("mul", base, self.scaled(inner, c, False).index), negative)
        known = 1.0 if inner is None else self.nodes[inner][1]
        if SMALLEST < known * c < LARGEST:
            index, c = base, known * c
        if c == 1.0:
            return Scalar(self, index, negative)
        return self.node(("mul", index, self.constant(c)), negative)

    def divided(self, index: int, c: float, negative: bool) -> Scalar:
        """Return ± the node divided by a constant c > 0."""
        base, inner = self._factors(index)
        if inner is not None and self.known[inner] == BOUND:
            return self.node(("mul", base, self.divided(inner, c, False).index), negative)
        known = 1.0 if inner is None else self.nodes[inner][1]
        if SMALLEST < known / c < LARGEST:
            return self.scaled(base, known / c, negative)
        return self.node(("div", index, self.constant(c)), negative)

    def weighted(self, index: int, uniform: int, negative: bool) -> Scalar:
        """Return ± a node times a uniform one, which comes last."""
        base, inner = self._factors(index)
        if inner is None:
            return self.node(("mul", index, uniform), negative)
        if self.known[inner] == TRACED:
            return self.node(("mul", base, self.scaled(uniform, self.nodes[inner][1], False).index), negative)
        both = self.product(inner, uniform, False)
        if isinstance(both, Scalar):
            return self.node(("mul", base, both.index), negative)
        return self.scaled(base, both, negative)

    def product(self, a: int, b: int, negative: bool) -> Value:
        """Return ± the product of two nodes that are known at the same time."""
        divisors = self.divisors
        if a in divisors or b in divisors:
            for x, y in ((a, b), (b, a)):
                rest = self._cancelled(x, y)
                if rest is not None:
                    return -rest if negative else rest
        node = ("mul", a, b) if a <= b else ("mul", b, a)
        index = self._index.get(node)
        return Scalar(self, self._append(node) if index is None else index, negative)

    def _cancelled(self, a: int, b: int) -> Value | None:
        """Return a b where b is a divisor in a: y of (y/b) b, y z of ((y/b) z) b; else None."""
        op, *args = self.nodes[a]
        if op == "div" and args[1] == b:
            return self._value(args[0])
        for f, other in zip(args, reversed(args), strict=True) if op == "mul" else ():
            node = self.nodes[f]
            if node[0] == "div" and node[2] == b:
                return self._value(node[1]) * self._value(other)
        return None

    def _value(self, index: int) -> Value:
        node = self.nodes[index]
        return node[1] if node[0] == "const" else Scalar(self, index, False)

    def _append(self, node: Node) -> int:
        self._index[node] = index = len(self.nodes)
        self.nodes.append(node)
        op, known = node[0], self.known
        if op in _LEAVES:
            known.append(_LEAVES[op])
            return index
        end = node[-1]
        when, last = known[node[1]], known[end]
        if len(node) > 3:
            when = max(known[i] for i in node[1:])
        elif op == "div":
            self.divisors.add(end)
        known.append(last if last > when else when)
        return index

    def _factors(self, index: int) -> tuple[int, int | None]:
        """Return x and u of a node x u, where what is known before x comes last; else the node and None."""
        node = self.nodes[index]
        if node[0] == "mul" and self.known[node[2]] < self.known[index]:
            return node[1], node[2]
        return index, None


class Scalar:
    """A value of a graph with a sign. Arithmetic with scalars and numbers gives a scalar or a float.

    Scalars live in NumPy arrays of `dtype=object` too: `np.sin` and its like call the methods here.
    Two scalars are the same value if `index` and `negative` agree; `==` asks for the same object.
    """

    __slots__ = ("graph", "index", "negative")

    def __init__(self, graph: Graph, index: int, negative: bool) -> None:
        self.graph = graph
        self.index = index
        self.negative = negative

    def __repr__(self) -> str:
        op, *args = self.graph.nodes[self.index]
        return f"{'-' if self.negative else ''}{op}({', '.join(map(str, args))})"

    def __neg__(self) -> Scalar:
        return Scalar(self.graph, self.index, not self.negative)

    def __pos__(self) -> Scalar:
        return self

    def __mul__(self, other: Value) -> Value:
        if type(other) is not Scalar:
            return 0.0 if type(other) is float and not other else _times(self, other)
        graph, a, b = self.graph, self.index, other.index
        assert graph is other.graph, MIXED
        negative, when = self.negative is not other.negative, graph.known
        if when[a] == when[b]:
            return graph.product(a, b, negative)
        return graph.weighted(a, b, negative) if when[a] > when[b] else graph.weighted(b, a, negative)

    __rmul__ = __mul__

    def __add__(self, other: Value) -> Value:
        if type(other) is not Scalar:
            return _plus(self, other)
        return _sum(self, other, other.negative)

    __radd__ = __add__

    def __sub__(self, other: Value) -> Value:
        if type(other) is not Scalar:
            c = _number(other)
            return NotImplemented if c is None else _plus(self, -c)
        return _sum(self, other, not other.negative)

    def __rsub__(self, other: Value) -> Value:
        return _plus(-self, other)

    def __truediv__(self, other: Value) -> Value:
        if type(other) is Scalar:
            graph, negative = self.graph, self.negative is not other.negative
            assert graph is other.graph, MIXED
            if graph.known[self.index] > graph.known[other.index]:
                one = graph.node(("div", graph.constant(1.0), other.index), False)
                return graph.weighted(self.index, one.index, negative)
            return graph.node(("div", self.index, other.index), negative)
        c = _number(other)
        if c is None:
            return NotImplemented
        if not c:
            raise ZeroDivisionError(f"{self!r} is divided by the constant 0")
        return self.graph.divided(self.index, abs(c), self.negative is not (c < 0.0))

    def __rtruediv__(self, other: Value) -> Value:
        c = _number(other)
        if not c:
            return NotImplemented if c is None else 0.0
        numerator = self.graph.constant(abs(c))
        return self.graph.node(("div", numerator, self.index), self.negative is not (c < 0.0))

    def __pow__(self, exponent: float) -> Value:
        """Return x · x · …, by squaring; the exponent is a whole number."""
        c = _number(exponent)
        if c is None:
            return NotImplemented
        if c not in range(1, MOST_POWER + 1):
            wanted = f"1, 2, … {MOST_POWER}; write other powers with `/` and `sqrt()`"
            raise TypeError(f"a traced scalar to a power: expected {wanted}, got {exponent!r}")
        half, odd = divmod(int(c), 2)
        if half == 0:
            return self
        root = self**half
        return root * root * self if odd else root * root

    def _undecided(self, *_: object) -> NoReturn:
        raise TypeError(
            f"{self!r} has no value while it is traced, so it cannot decide a branch; write the formula "
            f"without `if`, comparison or `float()`, or branch before tracing"
        )

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __float__ = __int__ = _undecided


Value: TypeAlias = Scalar | float


def apply(name: str, *args: Value) -> Value:
    """Return an operation of the table on traced scalars and numbers; on numbers alone it is a number."""
    op = OPS[name]
    graph = next((x.graph for x in args if isinstance(x, Scalar)), None)
    if graph is None or op.symbol:
        return cast("Value", op.floats(*args))
    operands, negative = list[int](), False
    for x, parity in zip(args, op.parity, strict=True):
        signed = _negative(x) and parity != "none"
        negative ^= signed and parity == "odd"
        operands.append(_operand(graph, -x if signed else x))
    return graph.node((name, *(sorted(operands) if op.commutes else operands)), negative)


def _method(name: str) -> Callable[..., Value]:
    return lambda *args: apply(name, *args)


# NumPy's functions of object arrays call a method of each element: np.sin calls x.sin().
for _op in OPS.values():
    if _op.method:
        setattr(Scalar, _op.method, _method(_op.name))


def _negative(x: Value) -> bool:
    return x.negative if isinstance(x, Scalar) else bool(x < 0.0)  # NumPy's bool is not False


def _operand(graph: Graph, x: Value) -> int:
    """Return a node that is x with its sign; −(a − b) is b − a, other −x are 0 − x."""
    if not isinstance(x, Scalar):
        return graph.constant(float(x) + 0.0)  # −0.0 becomes 0.0
    assert graph is x.graph, MIXED
    if not x.negative:
        return x.index
    node = graph.nodes[x.index]
    if node[0] == "sub":
        return graph.node(("sub", node[2], node[1]), False).index
    return graph.node(("sub", graph.constant(0.0), x.index), False).index


def _number(x: object) -> float | None:
    """Return a real number as a float; None tells Python to ask the other operand, such as an array."""
    if type(x) is float:
        return x
    return float(x) if isinstance(x, float | int | np.floating | np.integer | np.bool_) else None


def _sum(x: Scalar, y: Scalar, minus: bool) -> Value:
    """Return x ± |y|, the sign of y given apart."""
    graph, a, b = x.graph, x.index, y.index
    assert graph is y.graph, MIXED
    if x.negative is minus:
        node = ("add", a, b) if a <= b else ("add", b, a)
    elif a == b:
        return 0.0
    elif a < b:
        node, minus = ("sub", a, b), x.negative
    else:
        node = ("sub", b, a)
    return graph.node(node, minus)


def _plus(x: Scalar, other: object) -> Value:
    """Return x plus a number: ±(|x| + |c|) or ±(|x| − |c|)."""
    c = _number(other)
    if not c:
        return NotImplemented if c is None else x
    op = "add" if x.negative is (c < 0.0) else "sub"
    return x.graph.node((op, x.index, x.graph.constant(abs(c))), x.negative)


def _times(x: Scalar, other: object) -> Value:
    c = _number(other)
    if not c:
        return NotImplemented if c is None else 0.0
    return x.graph.scaled(x.index, abs(c), x.negative is not (c < 0.0))
