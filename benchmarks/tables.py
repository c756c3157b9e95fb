"""Tables of results: printed as text, written as Markdown, kept as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Cell = str | int | float | None


@dataclass
class Table:
    """Rows of cells under named columns; numbers stay numbers until they are shown."""

    title: str
    columns: tuple[str, ...]
    rows: list[Sequence[Cell]] = field(default_factory=list[Sequence[Cell]])
    notes: list[str] = field(default_factory=list[str])

    @property
    def is_wrong(self) -> bool:
        """Whether a result in it was found to be wrong."""
        return any(isinstance(x, str) and x.startswith("wrong") for row in self.rows for x in row)

    def text(self) -> str:
        """Return the table in aligned columns, words to the left and numbers to the right."""
        body = [[shown(x) for x in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(self.columns, *body, strict=True)]
        left = [all(isinstance(row[k], str) for row in self.rows) for k in range(len(self.columns))]
        lines = [self.title]
        for row in [list(self.columns), *body]:
            cells = [
                x.ljust(w) if words else x.rjust(w) for x, w, words in zip(row, widths, left, strict=True)
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def markdown(self) -> str:
        """Return the table as Markdown, with its title as a heading and its notes below."""
        right = [not all(isinstance(row[k], str) for row in self.rows) for k in range(len(self.columns))]
        lines = [
            f"### {self.title}",
            "",
            _piped(self.columns),
            _piped(["--:" if r else "---" for r in right]),
        ]
        lines += [_piped([shown(x) for x in row]) for row in self.rows]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)])

    def as_json(self) -> dict[str, Any]:
        """Return the table as plain data, each row by the names of its columns."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": self.notes}


def shown(x: Cell) -> str:
    """Return a cell as text: about three digits of a float, a dash for nothing."""
    if x is None:
        return "–"
    if not isinstance(x, float):
        return str(x)
    digits = 0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2
    return f"{x:.{digits}f}" if not 0.0 < abs(x) < 0.01 else f"{x:.1e}"


def ratio(of: Cell, to: Cell) -> float | None:
    """Return of / to if both are numbers."""
    if isinstance(of, str | None) or isinstance(to, str | None):
        return None
    return of / to


def nanoseconds(seconds: float | None) -> float | None:
    """Return seconds in ns."""
    return None if seconds is None else 1e9 * seconds


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
