"""Laws of contact: the sets in which forces lie, by their rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ForceLaw:
    """The sets of a problem in the order of their rows: free rows, half lines, boxes, cones of three rows.

    Cones have the associated law, in which what slides rises, or with `coulomb` his, in which it does not.
    """

    free: int = 0
    half: int = 0
    box: int = 0
    cone: int = 0
    coulomb: bool = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.free + self.half + self.box + 3 * self.cone

    @property
    def triples(self) -> list[tuple[str, int, int]]:
        """Kinds of triples with the first and the end of each."""
        found, start = list[tuple[str, int, int]](), 0
        for kind in ("free", "half", "box"):
            count = -(-getattr(self, kind) // 3)
            found += [(kind, start, start + count)] if count else []
            start += count
        return found + ([("cone", start, start + self.cone)] if self.cone else [])

    @property
    def places(self) -> list[int]:
        """The row of each place in the triples; −1 for places that fill a triple."""
        found, row = list[int](), 0
        for kind in ("free", "half", "box"):
            count = getattr(self, kind)
            found += [*range(row, row + count), *[-1] * (-count % 3)]
            row += count
        return found + list(range(row, row + 3 * self.cone))

    @property
    def degree(self) -> int:
        """The number of complementary pairs, those of filled places too."""
        counts = {kind: end - start for kind, start, end in self.triples}
        return 3 * counts.get("half", 0) + 6 * counts.get("box", 0) + counts.get("cone", 0)
