"""Dense solves in IR: Gaussian elimination with partial pivoting, each lane with its own order of rows.

In column j every row below is compared with row j and changes places with it in the lanes where its entry
is larger; row j then holds the largest. A pivot of zero makes all results of its lane NaN. A symmetric and
positive matrix needs no exchange, and only its upper triangle is read. Small systems are unrolled; others are
loops over a matrix in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from hinge.targets.llvm.text import Writer

#: Systems of at most this size are written out.
WRITTEN_OUT = 6

Rows = list[list[str]]


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
            for k in range(j + 1, n):
                x = w.fma(w.negative(rows[j][k]), rows[k][c], x)
            rows[j][c] = w.binary("fmul", x, pivots[j])
    return [row[n:] for row in rows]


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
        below = w.let(f"add i64 {j}, 1")
        pivot = w.load(base, _index(w, j, j, across))
        with w.loop(below, n) as k:
            less = w.negative(w.load(base, _index(w, j, k, across)))
            with w.loop(n, across) as c:
                at_j = _index(w, j, c, across)
                more = w.fma(less, w.load(base, _index(w, k, c, across)), w.load(base, at_j))
                w.store(more, base, at_j)
        with w.loop(n, across) as c:
            at_j = _index(w, j, c, across)
            w.store(w.binary("fmul", w.load(base, at_j), pivot), base, at_j)


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
