"""The catalogue as one table: python -m tests.dynamics.sweep_catalogue [--quick] [--write].

For each verb its expression, the cost of what is derived from it, and the largest relative error over robots
that are built in, from files, and random trees with every joint type; verbs of closures are judged on the
closed robots. `--quick` takes a few robots; `--write` puts the table of a full run into docs/catalogue.md.
"""

from __future__ import annotations

import argparse
import sys
import time
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hinge import dynamics
from tests.dynamics.catalogue import CLOSED, ITEMS, ROWS, Row
from tests.dynamics.subjects import Subject, subjects
from tests.dynamics.sweep_fuzz import target

BOUND = 1e-9
PAGE = Path(__file__).parents[2] / "docs" / "catalogue.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
HEAD = ("item", "verb", "expression", "derived", "mul + add", "largest error", "worst robot")


@dataclass
class Found:
    """What the judges of a row said: by oracle the largest error, the robot that has it, and a count."""

    worst: dict[str, tuple[float, str]] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)
    above: int = 0

    def add(self, oracle: str, error: float, where: str) -> None:
        """Take in one comparison; what is not a number is larger than any."""
        error = float("inf") if np.isnan(error) else error
        self.above += error > BOUND
        self.count[oracle] = self.count.get(oracle, 0) + 1
        self.worst[oracle] = max(self.worst.get(oracle, (-1.0, "")), (error, where))

    @property
    def errors(self) -> str:
        """The largest error by each oracle, and how many comparisons there were."""
        shown = [f"{e:.0e} {oracle} ({self.count[oracle]})" for oracle, (e, _) in self.worst.items()]
        return "; ".join(shown) or "not judged"

    @property
    def where(self) -> str:
        """The robot with the largest error of all."""
        return max(self.worst.values(), default=(0.0, "–"))[1]


def judged(rows: Sequence[Row], robots: Iterable[Subject]) -> list[Found]:
    """Return what the judges of all rows say of all robots."""
    found = [Found() for _ in rows]
    for x in robots:
        start = time.process_time()
        with target(x.target):
            for row, result in zip(rows, found, strict=True):
                if (row.item == CLOSED) != bool(x.robot.closures):
                    continue
                for oracle, judge in row.judges.items():
                    error = judge(x)
                    if error is None:
                        continue
                    result.add(oracle, error, x.name)
                    if not error <= BOUND:
                        print(f"{x.name}, {row.verb}, {oracle}: {error:.1e}", file=sys.stderr, flush=True)
        dynamics.forget()
        print(f"{x.name}, {x.target}: {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)
    return found


def table(rows: Sequence[Row], found: Sequence[Found]) -> str:
    """Return the table as Markdown."""
    cells = [HEAD, tuple("---" for _ in HEAD)]
    for row, f in zip(rows, found, strict=True):
        item = f"{row.item} {ITEMS[row.item]}".removeprefix("0 ")
        cells.append((item, row.verb, row.expression, row.sweeps, row.operations, f.errors, f.where))
    widths = [max(width(line[k]) for line in cells) for k in range(len(HEAD))]
    cells[1] = tuple("-" * w for w in widths)
    padded = [[c + " " * (w - width(c)) for c, w in zip(line, widths, strict=True)] for line in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)


def width(text: str) -> int:
    """Return how many places a text takes: dots above letters take none."""
    return sum(not unicodedata.combining(c) for c in text)


def robots_line(robots: Sequence[Subject]) -> str:
    """Return which robots and which joint types there were."""
    kinds = sorted({j.type.kind for x in robots for j in x.robot.joints})
    native = ", ".join(x.name for x in robots if x.target == "llvm")
    others = ", ".join(x.name for x in robots if x.target != "llvm")
    return (
        f"{len(robots)} robots; as machine code: {native}; by NumPy: {others}.\n"
        f"{len(kinds)} joint types: {', '.join(kinds)}."
    )


def write(text: str, page: Path = PAGE) -> None:
    """Put a text between the markers of the page."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit code is 1 when an error is too large."""
    parser = argparse.ArgumentParser(prog="python -m tests.dynamics.sweep_catalogue")
    parser.add_argument("--quick", action="store_true", help="a few robots")
    parser.add_argument("--write", action="store_true", help="put the table into docs/catalogue.md")
    asked = parser.parse_args(arguments)
    if asked.quick and asked.write:
        parser.error("--write: came with --quick; the page shows a full run")
    start, robots = time.perf_counter(), subjects(quick=asked.quick)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = judged(ROWS, robots)
        text = f"{table(ROWS, found)}\n\n{robots_line(robots)}"
    count, above = sum(sum(f.count.values()) for f in found), sum(f.above for f in found)
    last = f"{count} comparisons, {above} above {BOUND:g}, {time.perf_counter() - start:.0f} s"
    print(f"{text}\n\n{last}")
    if asked.write:
        write(f"{text}\n\n{last}")
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main())
