"""Results as sparse matrices by columns: what is always zero has no place."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from hinge.sweeps import KnownBlock, Slot


@dataclass(frozen=True)
class Pattern:
    """The places of a matrix that are not always zero, column by column.

    `starts` has for each column, and the end, the number of the first place; `rows` the row of each, and
    `places` where it stands in the result, row by row.
    """

    shape: tuple[int, int]
    starts: tuple[int, ...]
    rows: tuple[int, ...]
    places: tuple[int, ...]

    @classmethod
    def of(cls, values: KnownBlock) -> Pattern:
        """Return the pattern of a result; a vector is a column, dimensions before the last are rows."""
        matrix = as_matrix(values)
        n, m = matrix.shape
        there = [[i for i in range(n) if isinstance(matrix[i, j], Slot) or matrix[i, j]] for j in range(m)]
        return cls(
            (n, m),
            tuple(accumulate(map(len, there), initial=0)),
            tuple(i for column in there for i in column),
            tuple(i * m + j for j, column in enumerate(there) for i in column),
        )

    @property
    def is_dense(self) -> bool:
        """Whether no place is always zero."""
        return len(self.rows) == self.shape[0] * self.shape[1]


def as_matrix(values: KnownBlock) -> KnownBlock:
    """Return a result as a matrix."""
    return values.reshape(-1, 1) if values.ndim < 2 else values.reshape(-1, values.shape[-1])
