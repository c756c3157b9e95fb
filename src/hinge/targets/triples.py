"""Symmetric matrices in blocks of three rows, in the arithmetic of a target: L D Lᵀ and products.

Loops run over blocks, and what is done within a block is written out: a number that is loaded meets three
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hinge.targets.arithmetic import Arithmetic, Index, Listed, Numbers, Value

#: The entries of a symmetric block that are kept.
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
#: Pivots below this count as zero, and so does their unknown.
LEAST_PIVOT = {"float64": 1e-15, "float32": 1e-8}

Block = list[list[Value]]


@dataclass
class Matrix:
    """A matrix of (3 triples)² numbers, row by row."""

    numbers: Numbers
    triples: int

    def _at(self, t: Index, v: Index, i: int, j: int) -> Index:
        return t * (9 * self.triples) + (v * 3 + (3 * self.triples * i + j))

    def __getitem__(self, at: tuple[Index, Index, int, int]) -> Value:
        return self.numbers[self._at(*at)]

    def __setitem__(self, at: tuple[Index, Index, int, int], x: Value) -> None:
        self.numbers[self._at(*at)] = x

    def block(self, t: Index, v: Index) -> Block:
        """Return the block of two triples."""
        return [[self[t, v, i, j] for j in range(3)] for i in range(3)]

    def set_block(self, t: Index, v: Index, block: Block) -> None:
        """Set the block of two triples."""
        for i in range(3):
            for j in range(3):
                self[t, v, i, j] = block[i][j]


def symmetric(upper: Sequence[Value]) -> Block:
    """Return a block from its entries above the diagonal."""
    a, b, c, d, e, f = upper
    return [[a, b, c], [b, d, e], [c, e, f]]


def product(m: Arithmetic, a: Block, x: Sequence[Value]) -> list[Value]:
    """Return the product of a block and three numbers."""
    return [m.fma(row[0], x[0], m.fma(row[1], x[1], row[2] * x[2])) for row in a]


def matrix_product(m: Arithmetic, a: Block, b: Block) -> Block:
    """Return the product of two blocks."""
    columns = [[b[k][j] for k in range(3)] for j in range(3)]
    return [[product(m, [row], column)[0] for column in columns] for row in a]


def times(m: Arithmetic, a: Matrix, x: Numbers, result: Numbers, among: Listed) -> None:
    """Set the result to a x in the listed triples and with them alone; the upper half of a is read."""
    n = a.triples

    def body(m: Arithmetic, a: Numbers, x: Numbers, result: Numbers, among: Listed) -> None:
        _times(m, Matrix(a, n), x, result, among)

    m.shared(f"times_{n}", body, a.numbers, x, result, among)


def _times(m: Arithmetic, a: Matrix, x: Numbers, result: Numbers, among: Listed) -> None:
    """Blocks above the diagonal serve twice; nine sums for each triple, so that none waits for another."""
    for k in m.loop(0, among.count):
        t = among[k]
        for i, y in enumerate(product(m, a.block(t, t), [x[t * 3 + j] for j in range(3)])):
            result[t * 3 + i] = y
    for k in m.loop(0, among.count):
        t = among[k]
        mine = [x[t * 3 + j] for j in range(3)]

        def add(p: Index, sums: list[Value], t: Index = t, mine: list[Value] = mine) -> list[Value]:
            v = among[p]
            block, other = a.block(t, v), [x[v * 3 + j] for j in range(3)]
            spread(m, block, mine, result, v)
            return [m.fma(block[n // 3][n % 3], other[n % 3], y) for n, y in enumerate(sums)]

        found = m.fold(k + 1, among.count, [0.0] * 9, add)
        for i in range(3):
            result[t * 3 + i] = result[t * 3 + i] + (found[3 * i] + found[3 * i + 1] + found[3 * i + 2])


def spread(m: Arithmetic, block: Block, x: Sequence[Value], result: Numbers, v: Index) -> None:
    """Add the transpose of a block times x to a triple of the result."""
    for j in range(3):
        y = result[v * 3 + j]
        for i in range(3):
            y = m.fma(block[i][j], x[i], y)
        result[v * 3 + j] = y


def factor(m: Arithmetic, s: Matrix, pivots: Numbers, among: Listed) -> None:
    """Factor the upper triangle in place as Uᵀ D⁻¹ U with the rows of U in it; set the inverse pivots.

    The matrix has as many triples as there are listed ones.
    """
    n = s.triples

    def body(m: Arithmetic, s: Numbers, pivots: Numbers, among: Listed) -> None:
        _factor(m, Matrix(s, n), pivots, among.count)

    m.shared(f"factor_{n}", body, s.numbers, pivots, among)


def _factor(m: Arithmetic, s: Matrix, pivots: Numbers, count: Index) -> None:
    least = LEAST_PIVOT[m.dtype]
    for t in m.loop(0, count):
        own = s.block(t, t)
        inverse: list[Value] = []
        for k in range(3):
            inverse.append(m.where(own[k][k] > least, 1.0 / own[k][k], 0.0))
            for i in range(k + 1, 3):
                share = -(own[k][i] * inverse[k])
                for j in range(i, 3):
                    own[i][j] = m.fma(share, own[k][j], own[i][j])
        for i in range(3):
            pivots[t * 3 + i] = inverse[i]
            for j in range(i, 3):
                s[t, t, i, j] = own[i][j]
        _eliminate(m, s, t, count, own, inverse)


def _eliminate(m: Arithmetic, s: Matrix, t: Index, count: Index, own: Block, inverse: list[Value]) -> None:
    """Make the rows of U of a triple, and take what they say from the rows below."""
    for v in m.loop(t + 1, count):  # the rows of U: L⁻¹ from the left
        rows = s.block(t, v)
        for k in range(3):
            for i in range(k + 1, 3):
                share = -(own[k][i] * inverse[k])
                rows[i] = [m.fma(share, x, y) for x, y in zip(rows[k], rows[i], strict=True)]
        s.set_block(t, v, rows)
    for v in m.loop(t + 1, count):
        rows = s.block(t, v)
        shares = [[-(rows[k][i] * inverse[k]) for k in range(3)] for i in range(3)]
        for c in m.loop(v, count):
            across, here = s.block(t, c), s.block(v, c)
            for i in range(3):
                for k in range(3):
                    here[i] = [m.fma(shares[i][k], x, y) for x, y in zip(across[k], here[i], strict=True)]
            s.set_block(v, c, here)


def solved(m: Arithmetic, s: Matrix, pivots: Numbers, x: Numbers, among: Listed) -> None:
    """Replace x by the solution of a factored system."""
    n = s.triples

    def body(m: Arithmetic, s: Numbers, pivots: Numbers, x: Numbers, among: Listed) -> None:
        _solved(m, Matrix(s, n), pivots, x, among.count)

    m.shared(f"solved_{n}", body, s.numbers, pivots, x, among)


def _solved(m: Arithmetic, s: Matrix, pivots: Numbers, x: Numbers, count: Index) -> None:
    for t in m.loop(0, count):
        mine = _solved_below(m, s, pivots, x, t)
        for v in m.loop(t + 1, count):
            rows, now = s.block(t, v), [x[v * 3 + j] for j in range(3)]
            for k in range(3):
                now = [m.fma(-mine[k], y, z) for y, z in zip(rows[k], now, strict=True)]
            for j in range(3):
                x[v * 3 + j] = now[j]
    for back in m.loop(0, count):
        t = back * -1 + (count + -1)

        def add(v: Index, sums: list[Value], t: Index = t) -> list[Value]:
            rows, other = s.block(t, v), [x[v * 3 + j] for j in range(3)]
            return [m.fma(rows[n // 3][n % 3], other[n % 3], y) for n, y in enumerate(sums)]

        found = m.fold(t + 1, count, [0.0] * 9, add)
        own = s.block(t, t)
        now = [x[t * 3 + k] - (found[3 * k] + found[3 * k + 1] + found[3 * k + 2]) for k in range(3)]
        for k in (2, 1, 0):
            for j in range(k + 1, 3):
                now[k] = m.fma(-own[k][j], now[j], now[k])
            now[k] = now[k] * pivots[t * 3 + k]
            x[t * 3 + k] = now[k]


def _solved_below(m: Arithmetic, s: Matrix, pivots: Numbers, x: Numbers, t: Index) -> list[Value]:
    """Substitute within a triple, and return what the rows of U below are multiplied by."""
    own, now = s.block(t, t), [x[t * 3 + k] for k in range(3)]
    shares: list[Value] = []
    for k in range(3):
        shares.append(now[k] * pivots[t * 3 + k])
        for i in range(k + 1, 3):
            now[i] = m.fma(-shares[k], own[k][i], now[i])
        x[t * 3 + k] = now[k]
    return shares
