"""A piece of a campaign: the results of consecutive samples, as columns, reasons and arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hinge.errors import ArgumentError
from hinge.spatial import Array


@dataclass
class Piece:
    """Results of samples first, first + 1, …: columns (count,), arrays (count, …), and why samples failed.

    `reasons` are "" for samples that did not fail. Columns and arrays of samples that raised are NaN.
    """

    first: int
    count: int
    columns: dict[str, Array] = field(default_factory=dict[str, Array])
    arrays: dict[str, Array] = field(default_factory=dict[str, Array])
    reasons: list[str] = field(default_factory=list[str])

    @property
    def failed(self) -> list[int]:
        """The samples that failed."""
        return [self.first + k for k, why in enumerate(self.reasons) if why]

    def aligned(self, names: Sequence[str], shapes: dict[str, tuple[int, ...]]) -> Piece:
        """Return the piece with these columns and arrays, NaN where it has none; refuse others."""
        more = [n for n in self.columns if n not in names]
        if more:
            raise ArgumentError(
                f"measure: expected the same names from every sample, got {more[0]!r}, which the first "
                "samples did not have"
            )
        nothing = np.full(self.count, np.nan)
        columns = {n: self.columns.get(n, nothing) for n in names}
        arrays = {n: self.arrays.get(n, np.full((self.count, *s), np.nan)) for n, s in shapes.items()}
        return Piece(self.first, self.count, columns, arrays, self.reasons)


def joined(pieces: Iterable[Piece]) -> Piece:
    """Return consecutive pieces as one; what some of them lack is NaN there."""
    given = list(pieces)
    columns = dict.fromkeys(n for p in given for n in p.columns)
    shapes = {n: x.shape[1:] for p in given for n, x in p.arrays.items()}
    parts = [p.aligned(list(columns), shapes) for p in given]
    return Piece(
        given[0].first,
        sum(p.count for p in given),
        {n: np.concatenate([p.columns[n] for p in parts]) for n in columns},
        {n: np.concatenate([p.arrays[n] for p in parts]) for n in shapes},
        [why for p in given for why in p.reasons],
    )
