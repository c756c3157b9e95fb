"""Relative differences, and the rows and tables of a sweep over robots."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

#: A sweep fails when a difference is larger than this.
BOUND = 1e-9

Differences = dict[str, float]


def relative(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest |ours − theirs| relative to the size of its own entry over the batch.

    An entry that is small in every state, next to the others, is not hidden by them; below a
    millionth of the largest it counts as that, since rounding of the large ones reaches it.
    """
    size = np.abs(theirs).max(axis=0)
    floor = max(1e-6 * float(size.max(initial=0.0)), 1e-12)
    return float(np.max(np.abs(ours - theirs) / np.maximum(size, floor), initial=0.0))


def relative_jacobian(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference of Jacobians, relative to the largest entry of each.

    Their entries are unit axes and lever arms, and many are zero but for rounding.
    """
    size = np.maximum(np.abs(theirs).max(axis=(-1, -2), initial=0.0), 1e-12)
    return float(np.max(np.abs(ours - theirs).max(axis=(-1, -2), initial=0.0) / size, initial=0.0))


def relative_mass(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference of mass matrices, entry ij relative to √(M_ii M_jj)."""
    diagonal = np.sqrt(np.abs(np.diagonal(theirs, axis1=-2, axis2=-1)))
    size = diagonal[..., :, None] * diagonal[..., None, :]
    return float(np.max(np.abs(ours - theirs) / np.maximum(size, 1e-300), initial=0.0))


@dataclass
class Row:
    """What a sweep found for one robot: differences, or why it was refused."""

    robot: str
    base: str
    nv: int = 0
    found: Differences = field(default_factory=dict)
    refused: str = ""
    note: str = ""
    condition: float = 1.0

    def __post_init__(self) -> None:
        if self.excused and not self.note:
            self.note = f"cond(M) = {self.condition:.0e}: float64 cannot hold forward better"

    @property
    def excused(self) -> bool:
        """Whether the mass matrix is too ill-conditioned for `forward` to meet the bound.

        Then only the residual counts: the forces that make up for the difference.
        """
        reach = 100 * np.finfo(float).eps * self.condition
        return BOUND < self.found.get("forward", 0.0) <= reach

    @property
    def passed(self) -> bool:
        """Whether it was loaded and every difference is within the bound."""
        judged = {k: v for k, v in self.found.items() if k != "forward" or not self.excused}
        return not self.refused and all(v <= BOUND for v in judged.values())


def table(rows: list[Row], columns: list[str]) -> str:
    """Return the rows as text, one line each, with the count of robots below."""
    lines = [f"{'robot':44} {'base':8} {'nv':>4}  " + "  ".join(f"{c:>9}" for c in columns)]
    for r in rows:
        if r.refused:
            lines.append(f"{r.robot:44.44} {r.base:8} refused: {r.refused:.120}")
            continue
        cells = "  ".join(f"{r.found[c]:9.1e}" if c in r.found else f"{'–':>9}" for c in columns)
        mark = "" if r.passed else "  ← too large"
        lines.append(f"{r.robot:44.44} {r.base:8} {r.nv:4}  {cells}{mark}  {r.note}".rstrip())
    loaded = [r for r in rows if not r.refused]
    good = sum(r.passed for r in loaded)
    excused = sum(r.passed and r.excused for r in loaded)
    lines.append("")
    for c in columns:
        worst = max((r.found[c] for r in loaded if c in r.found), default=0.0)
        lines.append(f"largest difference, {c}: {worst:.1e}")
    files = len({r.robot for r in rows})
    lines.append(
        f"{files} files, {len(rows)} loads: {len(loaded)} loaded, {good} of them within {BOUND:g} "
        f"({excused} by the residual of forward, see their notes), {len(rows) - len(loaded)} refused"
    )
    return "\n".join(lines)


def report(rows: list[Row], columns: list[str], *, at_least: int) -> int:
    """Print the table; return exit code 1 when a loaded robot differs too much or too few loaded."""
    print(table(rows, columns))
    loaded = [r for r in rows if not r.refused]
    return 0 if len(loaded) >= at_least and all(r.passed for r in loaded) else 1
