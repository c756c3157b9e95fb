"""Where the numbers of a law of contact stand: rows in triples, and W, of which Ω = Wᵀ W, in shares.

A row of W is a freedom of the robot, and is zero for the contacts that it does not move. Rows that move the
same triples are a share. Triples of contacts that move together stand next to each other, so that the triples
of a share are a range: few, if it is a limb, all of them, if it is a base that floats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge.sweeps import ForceLaw, KnownBlock, Slot


@dataclass(frozen=True)
class Share:
    """Rows of W that are not zero in the triples from `first` to `end` − 1."""

    first: int
    end: int
    rows: tuple[int, ...]

    def entries(self) -> list[tuple[int, int]]:
        """Return the row of W and the place of each number, those of a triple side by side."""
        triples = range(self.first, self.end)
        return [(row, 3 * t + j) for t in triples for row in self.rows for j in range(3)]


@dataclass(frozen=True)
class Arranged:
    """`places` has the row of the law at each place, −1 where a triple is filled."""

    places: tuple[int, ...]
    shares: tuple[Share, ...]

    @property
    def triples(self) -> int:
        """The number of triples."""
        return len(self.places) // 3

    def values(self, matrix: KnownBlock, share: Share) -> list[Slot | float]:
        """Return the numbers of a share in order; zeros at places that fill a triple."""
        at = ((row, self.places[place]) for row, place in share.entries())
        return [matrix[row, k] if k >= 0 else 0.0 for row, k in at]


def arranged(law: ForceLaw, matrix: KnownBlock) -> Arranged:
    """Return where the rows of a law and those of W (r, rows) stand; zeros of W that are known are floats."""
    filled = np.array([[not (isinstance(x, int | float) and x == 0) for x in row] for row in matrix], bool)
    filled = filled.reshape(-1, law.rows)
    first = law.rows - 3 * law.cone
    cones = sorted(range(law.cone), key=lambda c: _rows(filled[:, first + 3 * c : first + 3 * c + 3]))
    plain = law.places[: len(law.places) - 3 * law.cone]
    places = (*plain, *(first + 3 * c + j for c in cones for j in range(3)))
    spans: dict[tuple[int, int], list[int]] = {}
    at = np.array([k for k in range(len(places)) if places[k] >= 0], int)
    for row, moves in enumerate(filled):
        touched = at[moves[[places[k] for k in at]]] // 3 if len(at) else at
        if len(touched):
            spans.setdefault((int(touched.min()), int(touched.max()) + 1), []).append(row)
    widest_first = sorted(spans.items(), key=lambda item: (item[0][0] - item[0][1], item[0]))
    return Arranged(places, tuple(Share(*span, tuple(rows)) for span, rows in widest_first))


def _rows(filled: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the rows of W that move a contact."""
    return tuple(np.flatnonzero(filled.any(axis=1)).tolist())
