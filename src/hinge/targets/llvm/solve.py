"""Dense solves in IR: Gaussian elimination with partial pivoting, each lane with its own order of rows.

In column j every row below is compared with row j and changes places with it in the lanes where its entry
is larger; row j then holds the largest. A pivot of zero makes all results of its lane NaN. A symmetric and
positive matrix needs no exchange, and only its upper triangle is read. Small systems are unrolled; others are
loops over a matrix in memory.

A floored solve is for symmetric matrices that may be singular in some states: a pivot below the floor, a part
of its entry on the diagonal, counts as dependent on those before it and its unknown is zero, as is that of a
row of which nothing is left, and one step of refinement follows. Nothing branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from hinge.sweeps import DenseCall
from hinge.targets.floored import FLOORS
from hinge.targets.llvm.text import Writer

#: Systems of at most this size are written out, and floored ones of at most this many operations: one of 18
#: unknowns and one right side has some 2400.
WRITTEN_OUT, FLOORED_OPERATIONS = 6, 3000

Rows = list[list[str]]


def is_written_out(call: DenseCall) -> bool:
    """Tell whether a solve is written out; else its numbers are in memory, as those of a law always are."""
    if call.law is not None:
        return False
    return len(call.right) <= WRITTEN_OUT or (call.floored and operations_of(call) <= FLOORED_OPERATIONS)


def operations_of(call: DenseCall) -> int:
    """Return about how many operations a solve takes."""
    n, width = call.right.shape
    return n**3 // 6 + 2 * n * n + 3 * n * n * width


def write_solve(
    w: Writer, matrix: Sequence[Sequence[str]], right: Sequence[Sequence[str]], *, positive: bool = False
) -> Rows:
    """Write matrix⁻¹ right, and return it row by row."""
    rows = [[*a, *b] for a, b in zip(matrix, right, strict=True)]
    n = len(rows)
    pivots = [(_reduce if positive else _eliminate)(w, rows, j) for j in range(n)]
    for j in reversed(range(n)):
        for c in range(n, len(rows[j])):
            x = rows[j][c]
            for k in reversed(range(j + 1, n)):  # the newest last, since it is waited for
                x = w.fma(w.negative(rows[j][k]), rows[k][c], x)
            rows[j][c] = w.binary("fmul", x, pivots[j])
    return [row[n:] for row in rows]


def write_floored_solve(w: Writer, matrix: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> Rows:
    """Write matrix⁻¹ right for a symmetric matrix of which the upper triangle is read; see above."""
    n, largest = len(matrix), w.lanes.constant(0.0)
    for i in range(n):
        largest = _larger(w, matrix[i][i], largest)
    least = _least(w, largest)
    upper, low, pivots = [[*row] for row in matrix], [[""] * n for _ in range(n)], list[str]()
    for i in range(n):  # row by row, so that the row stays in registers
        for j in range(i):
            low[i][j] = w.negative(w.binary("fmul", upper[j][i], pivots[j]))
            for c in range(i, n):
                upper[i][c] = w.fma(low[i][j], upper[j][c], upper[i][c])
        pivots.append(_floored_inverse(w, upper[i][i], matrix[i][i], least))
    first = _substituted(w, low, pivots, right)
    rest = [[_less_row(w, right[i][c], matrix, first, i, c) for c in range(len(right[i]))] for i in range(n)]
    more = _substituted(w, low, pivots, rest)
    return [
        [w.binary("fadd", x, y) for x, y in zip(*both, strict=True)] for both in zip(first, more, strict=True)
    ]


def _substituted(w: Writer, low: Rows, pivots: list[str], right: Sequence[Sequence[str]]) -> Rows:
    """Write (L D Lᵀ)⁻¹ right, given I − L and the inverse of D."""
    n, found = len(low), [[*row] for row in right]
    for c in range(len(found[0])):
        for j in range(n):
            for i in range(j + 1, n):
                found[i][c] = w.fma(low[i][j], found[j][c], found[i][c])
        for j in reversed(range(n)):
            found[j][c] = w.binary("fmul", found[j][c], pivots[j])
            for k in reversed(range(j + 1, n)):
                found[j][c] = w.fma(low[k][j], found[k][c], found[j][c])
    return found


def _less_row(w: Writer, x: str, a: Sequence[Sequence[str]], y: Rows, i: int, c: int) -> str:
    """Write x − Σ a(i, j) y(j, c) for a symmetric a, of which the upper triangle is there."""
    for j in range(len(a)):
        x = w.fma(w.negative(a[min(i, j)][max(i, j)]), y[j][c], x)
    return x


def _larger(w: Writer, x: str, y: str) -> str:
    """Write the larger of two numbers."""
    return w.select(w.compare("ogt", x, y), x, y)


def _least(w: Writer, largest: str) -> str:
    """Write what counts as zero on the diagonal: it would be rounding."""
    return w.binary("fmul", largest, w.lanes.constant(FLOORS[w.lanes.dtype] ** 2))


def _floored_inverse(w: Writer, pivot: str, diagonal: str, least: str) -> str:
    """Write the inverse of a pivot, zero where it is below the floor or nothing was left; NaN stays."""
    floor = w.binary("fmul", diagonal, w.lanes.constant(FLOORS[w.lanes.dtype]))
    bound = w.select(w.compare("ole", diagonal, least), diagonal, floor)  # no pivot is above its diagonal
    low = w.compare("ole", pivot, bound)
    return w.select(low, w.lanes.constant(0.0), w.binary("fdiv", w.lanes.constant(1.0), pivot))


def _eliminate(w: Writer, rows: Rows, j: int) -> str:
    """Move the largest entry of column j to row j, eliminate below it, and return its inverse."""
    for i in range(j + 1, len(rows)):
        _exchange(w, rows, i, j)
    pivot = _inverse(w, rows[j][j])
    for i in range(j + 1, len(rows)):
        factor = w.negative(w.binary("fmul", rows[i][j], pivot))
        for c in range(j + 1, len(rows[i])):
            rows[i][c] = w.fma(factor, rows[j][c], rows[i][c])
    return pivot


def _reduce(w: Writer, rows: Rows, j: int) -> str:
    """Eliminate column j of a symmetric matrix below the diagonal, and return the pivot's inverse."""
    pivot = _inverse(w, rows[j][j])
    for i in range(j + 1, len(rows)):
        factor = w.negative(w.binary("fmul", rows[j][i], pivot))
        for c in range(i, len(rows[i])):
            rows[i][c] = w.fma(factor, rows[j][c], rows[i][c])
    return pivot


def _exchange(w: Writer, rows: Rows, i: int, j: int) -> None:
    larger = _is_larger(w, rows[i][j], rows[j][j])
    for c in range(j, len(rows[j])):
        x, y = rows[i][c], rows[j][c]
        rows[j][c], rows[i][c] = w.select(larger, x, y), w.select(larger, y, x)


def _is_larger(w: Writer, x: str, y: str) -> str:
    return w.compare("ogt", w.intrinsic("fabs", x), w.intrinsic("fabs", y))


def _inverse(w: Writer, x: str) -> str:
    zero = w.compare("oeq", x, w.lanes.constant(0.0))
    return w.select(zero, w.lanes.constant(nan), w.binary("fdiv", w.lanes.constant(1.0), x))


def write_rolled_solve(w: Writer, base: str, n: int, width: int, *, positive: bool = False) -> None:
    """Write the solve of a system in memory: n rows of n + width values, the last ones become the result."""
    across = n + width
    with w.loop(0, n) as j:
        diagonal = _index(w, j, j, across)
        below = w.let(f"add i64 {j}, 1")
        if not positive:
            _exchange_rolled(w, base, n, across, j)
        pivot = _inverse(w, w.load(base, diagonal))
        with w.loop(below, n) as i:
            known = _index(w, *((j, i) if positive else (i, j)), across)
            factor = w.negative(w.binary("fmul", w.load(base, known), pivot))
            with w.loop(i if positive else below, across) as c:
                at_i = _index(w, i, c, across)
                x = w.load(base, _index(w, j, c, across))
                w.store(w.fma(factor, x, w.load(base, at_i)), base, at_i)
        w.store(pivot, base, diagonal)
    with w.loop(0, n) as back:
        j = w.let(f"sub i64 {n - 1}, {back}")
        pivot = w.load(base, _index(w, j, j, across))
        with w.loop(0, back) as last:
            k = w.let(f"sub i64 {n - 1}, {last}")
            less = w.negative(w.load(base, _index(w, j, k, across)))
            with w.loop(n, across) as c:
                at_j = _index(w, j, c, across)
                more = w.fma(less, w.load(base, _index(w, k, c, across)), w.load(base, at_j))
                w.store(more, base, at_j)
        with w.loop(n, across) as c:
            at_j = _index(w, j, c, across)
            w.store(w.binary("fmul", w.load(base, at_j), pivot), base, at_j)


def write_rolled_floored_solve(w: Writer, base: str, copy: str, largest: str, n: int, width: int) -> None:
    """Write the floored solve of a system in memory, as `write_rolled_solve`.

    `copy` has room for as many values as the system, `largest` for one.
    """
    across = n + width
    with w.loop(0, n * across) as at:
        w.store(w.load(base, at), copy, at)
    w.store(w.lanes.constant(0.0), largest)
    with w.loop(0, n) as i:
        w.store(_larger(w, w.load(base, _index(w, i, i, across)), w.load(largest)), largest)
    least = _least(w, w.load(largest))
    with w.loop(0, n) as j:
        diagonal = _index(w, j, j, across)
        pivot = _floored_inverse(w, w.load(base, diagonal), w.load(copy, diagonal), least)
        with w.loop(w.let(f"add i64 {j}, 1"), n) as i:
            low = w.negative(w.binary("fmul", w.load(base, _index(w, j, i, across)), pivot))
            w.store(low, base, _index(w, i, j, across))
            with w.loop(i, n) as c:
                at = _index(w, i, c, across)
                w.store(w.fma(low, w.load(base, _index(w, j, c, across)), w.load(base, at)), base, at)
        w.store(pivot, base, diagonal)
    _substitute_rolled(w, base, base, n, across)
    with w.loop(0, n) as i, w.loop(0, n) as j:
        known = _index(w, *_ordered(w, i, j), across)
        less = w.negative(w.load(copy, known))
        with w.loop(n, across) as c:
            at = _index(w, i, c, across)
            x = w.load(base, _index(w, j, c, across))
            w.store(w.fma(less, x, w.load(copy, at)), copy, at)
    _substitute_rolled(w, base, copy, n, across)
    with w.loop(0, n) as i, w.loop(n, across) as c:
        at = _index(w, i, c, across)
        w.store(w.binary("fadd", w.load(base, at), w.load(copy, at)), base, at)


def _substitute_rolled(w: Writer, base: str, right: str, n: int, across: int) -> None:
    """Write (L D Lᵀ)⁻¹ of the right sides in `right`; `base` has I − L and the inverse of D."""

    def add(i: str, j: str, low: str) -> None:
        with w.loop(n, across) as c:
            at = _index(w, i, c, across)
            w.store(w.fma(low, w.load(right, _index(w, j, c, across)), w.load(right, at)), right, at)

    with w.loop(0, n) as j, w.loop(w.let(f"add i64 {j}, 1"), n) as i:
        add(i, j, w.load(base, _index(w, i, j, across)))
    with w.loop(0, n) as back:
        j = w.let(f"sub i64 {n - 1}, {back}")
        pivot = w.load(base, _index(w, j, j, across))
        with w.loop(n, across) as c:
            at = _index(w, j, c, across)
            w.store(w.binary("fmul", w.load(right, at), pivot), right, at)
        with w.loop(0, back) as last:
            k = w.let(f"sub i64 {n - 1}, {last}")
            add(j, k, w.load(base, _index(w, k, j, across)))


def _ordered(w: Writer, i: str, j: str) -> tuple[str, str]:
    """Write the smaller and the larger of two numbers."""
    first = w.let(f"icmp slt i64 {i}, {j}")
    return w.let(f"select i1 {first}, i64 {i}, i64 {j}"), w.let(f"select i1 {first}, i64 {j}, i64 {i}")


def _exchange_rolled(w: Writer, base: str, n: int, across: int, j: str) -> None:
    """Move the largest entry of column j to row j."""
    diagonal = _index(w, j, j, across)
    with w.loop(w.let(f"add i64 {j}, 1"), n) as i:
        larger = _is_larger(w, w.load(base, _index(w, i, j, across)), w.load(base, diagonal))
        with w.loop(j, across) as c:
            at_i, at_j = _index(w, i, c, across), _index(w, j, c, across)
            x, y = w.load(base, at_i), w.load(base, at_j)
            w.store(w.select(larger, x, y), base, at_j)
            w.store(w.select(larger, y, x), base, at_i)


def _index(w: Writer, row: str, column: str, across: int) -> str:
    return w.let(f"add i64 {w.let(f'mul i64 {row}, {across}')}, {column}")
