"""Dense solves in IR: Gaussian elimination with partial pivoting, each lane with its own order of rows.

In column j every row below is compared with row j and changes places with it in the lanes where its entry
is larger; row j then holds the largest. A pivot of zero makes all results of its lane NaN. A symmetric and
positive matrix needs no exchange, and only its upper triangle is read. Small systems are unrolled; others are
loops over a matrix in memory.

A floored solve is for symmetric matrices that may be singular in some states: the matrix is scaled to a unit
diagonal, a pivot below the floor counts as dependent on those before it and its unknown is zero, as is that
of a row of which nothing is left, and one step of refinement follows. Nothing branches.
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
    n, width = call.right.shape
    if call.law is not None:
        return False
    operations = n**3 // 6 + 2 * n * n + 3 * n * n * width
    return n <= WRITTEN_OUT or (call.floored and operations <= FLOORED_OPERATIONS)


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
    n = len(matrix)

    def times(x: str, y: str) -> str:
        return w.binary("fmul", x, y)

    largest = w.lanes.constant(0.0)
    for i in range(n):
        largest = _larger(w, matrix[i][i], largest)
    least = _least(w, largest)
    scales = [_root_inverse(w, matrix[i][i], least) for i in range(n)]
    a = [
        [times(times(matrix[i][j], scales[i]), scales[j]) if j >= i else "" for j in range(n)]
        for i in range(n)
    ]
    b = [[times(x, scales[i]) for x in row] for i, row in enumerate(right)]
    upper, pivots = [[*row] for row in a], list[str]()
    for i in range(n):  # row by row, so that the row stays in registers
        for j in range(i):
            factor = w.negative(times(upper[j][i], pivots[j]))
            for c in range(i, n):
                upper[i][c] = w.fma(factor, upper[j][c], upper[i][c])
        pivots.append(_floored_inverse(w, upper[i][i]))
    first = _substituted(w, upper, pivots, b)
    rest = [[_less_row(w, b[i][c], a, first, i, c) for c in range(len(b[i]))] for i in range(n)]
    more = _substituted(w, upper, pivots, rest)
    return [
        [times(w.binary("fadd", x, y), scales[i]) for x, y in zip(first[i], more[i], strict=True)]
        for i in range(n)
    ]


def _substituted(w: Writer, upper: Rows, pivots: list[str], right: Rows) -> Rows:
    """Write (Uᵀ D⁻¹ U)⁻¹ right for the rows U of an elimination with these inverse pivots."""
    n, found = len(upper), [[*row] for row in right]
    for c in range(len(found[0])):
        for j in range(n):
            y = w.negative(w.binary("fmul", found[j][c], pivots[j]))
            for i in range(j + 1, n):
                found[i][c] = w.fma(y, upper[j][i], found[i][c])
        for j in reversed(range(n)):
            for k in reversed(range(j + 1, n)):
                found[j][c] = w.fma(w.negative(upper[j][k]), found[k][c], found[j][c])
            found[j][c] = w.binary("fmul", found[j][c], pivots[j])
    return found


def _less_row(w: Writer, x: str, a: Rows, y: Rows, i: int, c: int) -> str:
    """Write x − Σ a(i, j) y(j, c) for a symmetric a, of which the upper triangle is there."""
    for j in range(len(a)):
        x = w.fma(w.negative(a[min(i, j)][max(i, j)]), y[j][c], x)
    return x


def _larger(w: Writer, x: str, y: str) -> str:
    """Write the larger of two numbers."""
    return w.select(w.compare("ogt", x, y), x, y)


def _least(w: Writer, largest: str) -> str:
    """Write what counts as zero on the diagonal: scaled, it would be rounding."""
    return w.binary("fmul", largest, w.lanes.constant(FLOORS[w.lanes.dtype] ** 2))


def _root_inverse(w: Writer, x: str, least: str) -> str:
    """Write 1/√x, zero where x is not above the least."""
    inverse = w.binary("fdiv", w.lanes.constant(1.0), w.intrinsic("sqrt", x))
    return w.select(w.compare("ole", x, least), w.lanes.constant(0.0), inverse)


def _floored_inverse(w: Writer, x: str) -> str:
    """Write 1/x, zero where x is below the floor; NaN stays."""
    low = w.compare("ole", x, w.lanes.constant(FLOORS[w.lanes.dtype]))
    return w.select(low, w.lanes.constant(0.0), w.binary("fdiv", w.lanes.constant(1.0), x))


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
    _back_rolled(w, base, base, n, across)


def _back_rolled(w: Writer, base: str, right: str, n: int, across: int) -> None:
    """Write the back-substitution for the right sides in `right`; `base` has inverse pivots."""
    with w.loop(0, n) as back:
        j = w.let(f"sub i64 {n - 1}, {back}")
        pivot = w.load(base, _index(w, j, j, across))
        with w.loop(0, back) as last:
            k = w.let(f"sub i64 {n - 1}, {last}")
            less = w.negative(w.load(base, _index(w, j, k, across)))
            with w.loop(n, across) as c:
                at_j = _index(w, j, c, across)
                more = w.fma(less, w.load(right, _index(w, k, c, across)), w.load(right, at_j))
                w.store(more, right, at_j)
        with w.loop(n, across) as c:
            at_j = _index(w, j, c, across)
            w.store(w.binary("fmul", w.load(right, at_j), pivot), right, at_j)


def write_rolled_floored_solve(w: Writer, base: str, copy: str, scales: str, n: int, width: int) -> None:
    """Write the floored solve of a system in memory, as `write_rolled_solve`.

    `copy` has room for as many values as the system, `scales` for n.
    """
    across = n + width
    w.store(w.lanes.constant(0.0), scales)
    with w.loop(0, n) as i:
        w.store(_larger(w, w.load(base, _index(w, i, i, across)), w.load(scales)), scales)
    least = _least(w, w.load(scales))
    with w.loop(0, n) as i:
        w.store(_root_inverse(w, w.load(base, _index(w, i, i, across)), least), scales, i)
    with w.loop(0, n) as i:
        own = w.load(scales, i)
        with w.loop(i, n) as c:
            at = _index(w, i, c, across)
            x = w.binary("fmul", w.binary("fmul", w.load(base, at), own), w.load(scales, c))
            w.store(x, base, at)
            w.store(x, copy, at)
        with w.loop(n, across) as c:
            at = _index(w, i, c, across)
            x = w.binary("fmul", w.load(base, at), own)
            w.store(x, base, at)
            w.store(x, copy, at)
    with w.loop(0, n) as j:
        pivot = _floored_inverse(w, w.load(base, _index(w, j, j, across)))
        with w.loop(w.let(f"add i64 {j}, 1"), n) as i:
            factor = w.negative(w.binary("fmul", w.load(base, _index(w, j, i, across)), pivot))
            with w.loop(i, n) as c:
                at = _index(w, i, c, across)
                w.store(w.fma(factor, w.load(base, _index(w, j, c, across)), w.load(base, at)), base, at)
        w.store(pivot, base, _index(w, j, j, across))
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
        x = w.binary("fadd", w.load(base, at), w.load(copy, at))
        w.store(w.binary("fmul", x, w.load(scales, i)), base, at)


def _substitute_rolled(w: Writer, base: str, right: str, n: int, across: int) -> None:
    """Write the substitutions of a factored system in `base` for the right sides in `right`."""
    with w.loop(0, n) as j:
        pivot = w.load(base, _index(w, j, j, across))
        with w.loop(n, across) as c:
            y = w.negative(w.binary("fmul", w.load(right, _index(w, j, c, across)), pivot))
            with w.loop(w.let(f"add i64 {j}, 1"), n) as i:
                at = _index(w, i, c, across)
                w.store(w.fma(y, w.load(base, _index(w, j, i, across)), w.load(right, at)), right, at)
    _back_rolled(w, base, right, n, across)


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
