"""Code without dense solves: each one a kernel, for homes that have straight-line code alone.

The elimination is that of the other targets; a pivot of zero gives infinities where theirs gives NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hinge.errors import ArgumentError
from hinge.kernels import Graph, Scalar, Value, apply, finish
from hinge.sweeps import Call, Code, DenseCall, Joined, Slot
from hinge.targets.floored import FLOORS

Rows = list[list[Value]]


def without_solves(code: Code) -> Code:
    """Return code whose dense solves are kernels; those that answer a law of contact are refused."""
    if not any(isinstance(c, DenseCall) for c in code.calls):
        return code
    calls = tuple(_expanded(c) if isinstance(c, DenseCall) else c for c in code.calls)
    whole = Joined()  # leaves out what no result needs, such as the lower half of a symmetric one
    given = {name: whole.input(name, len(slots)) for name, slots in code.inputs.items()}
    return whole.code(whole.add(replace(code, calls=calls), given))


def _expanded(c: DenseCall) -> Call:
    if c.law is not None:
        raise ArgumentError("code: expected straight-line code, got a law of contact, which iterates")
    graph = Graph()
    matrix, right = ([[_value(graph, x) for x in row] for row in part] for part in (c.matrix, c.right))
    found = _floored(matrix, right) if c.floored else _solved(matrix, right, positive=c.positive)
    kernel = finish(graph, {(i, k): x for i, row in enumerate(found) for k, x in enumerate(row)})
    loads = tuple(int(str(s)) for s in kernel.inputs)
    return Call(kernel, loads, (), tuple(x.index for x in c.result.flat), c.stage, 0)


def _value(graph: Graph, x: Any) -> Value:
    if not isinstance(x, Slot):
        return float(x)
    found = graph.input(x.index)
    return -found if x.negative else found


def _inverse(x: Value) -> Value:
    """Return 1/x; of a pivot that is known to be zero, a number that shows."""
    return 1.0 / x if isinstance(x, Scalar) or x else 1e300


def _solved(matrix: Rows, right: Rows, *, positive: bool) -> Rows:
    """Return matrix⁻¹ right by elimination; rows change places for large pivots unless it is positive."""
    rows: Rows = [[*a, *b] for a, b in zip(matrix, right, strict=True)]
    n, width = len(rows), len(rows[0]) if rows else 0
    pivots: list[Value] = []
    for j in range(n):
        for i in range(j + 1, n):
            if not positive:
                _exchange(rows, i, j)
        pivots.append(_inverse(rows[j][j]))
        for i in range(j + 1, n):
            factor = (rows[j][i] if positive else rows[i][j]) * pivots[j]
            for c in range(i if positive else j + 1, width):
                rows[i][c] = rows[i][c] - factor * rows[j][c]
    for j in reversed(range(n)):
        for c in range(n, width):
            for k in reversed(range(j + 1, n)):
                rows[j][c] = rows[j][c] - rows[j][k] * rows[k][c]
            rows[j][c] = rows[j][c] * pivots[j]
    return [row[n:] for row in rows]


def _exchange(rows: Rows, i: int, j: int) -> None:
    """Exchange two rows where the lower one has the larger entry in column j."""
    above, below = apply("abs", rows[j][j]), apply("abs", rows[i][j])
    for c in range(j, len(rows[j])):
        x, y = rows[j][c], rows[i][c]
        rows[j][c], rows[i][c] = apply("choose", above, below, y, x), apply("choose", above, below, x, y)


def _floored(matrix: Rows, right: Rows) -> Rows:
    """Return matrix⁻¹ right for a symmetric matrix that may be singular, as `floored_solve`."""
    n, upper = len(matrix), [[*row] for row in matrix]
    floor = FLOORS["float64"]
    largest: Value = 0.0
    for i in range(n):
        largest = apply("max", matrix[i][i], largest)
    least = largest * floor**2
    low: Rows = [[0.0] * n for _ in range(n)]
    pivots: list[Value] = []
    for i in range(n):
        for j in range(i):
            low[i][j] = -(upper[j][i] * pivots[j])
            for c in range(i, n):
                upper[i][c] = upper[i][c] + low[i][j] * upper[j][c]
        own, pivot = matrix[i][i], upper[i][i]
        bound = apply("choose", least, own, own * floor, own)
        pivots.append(apply("choose", bound, pivot, _inverse(pivot), 0.0))
    first = _substituted(low, pivots, right)
    rest: Rows = [
        [
            right[i][c] - sum(matrix[min(i, j)][max(i, j)] * first[j][c] for j in range(n))
            for c in range(len(right[i]))
        ]
        for i in range(n)
    ]
    more = _substituted(low, pivots, rest)
    return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(first, more, strict=True)]


def _substituted(low: Rows, pivots: Sequence[Value], right: Rows) -> Rows:
    """Return (L D Lᵀ)⁻¹ right, given I − L and the inverse of D."""
    n, found = len(low), [[*row] for row in right]
    for c in range(len(found[0]) if found else 0):
        for j in range(n):
            for i in range(j + 1, n):
                found[i][c] = found[i][c] + low[i][j] * found[j][c]
        for j in reversed(range(n)):
            found[j][c] = found[j][c] * pivots[j]
            for k in reversed(range(j + 1, n)):
                found[j][c] = found[j][c] + low[k][j] * found[k][c]
    return found
