"""Random expressions against explicit matrices: python -m tests.targets.sweep_expressions [--draws N].

Draw k asks for one to four expressions and blocks over all letters of `hinge.algebra` and some of the user's
own, on a small robot, compiled for both targets. What is printed: how draws end, refusals by message, how
often each letter was drawn and judged, and for each failure a line of Python. `--seed S` draws others,
`--only K` repeats one draw.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from multiprocessing import get_context
from typing import Any

from hinge.algebra import Sum, linear
from tests.targets.draws import Draw, draw
from tests.targets.grammar import LETTERS
from tests.targets.judging import BOUND, TARGETS, Question, Verdict, empty_cache, judged, pattern, told_apart

DRAWS, SEED = 3000, 1
#: Of so many failures a smaller draw is looked for.
REDUCED = 20
#: Of so many draws one is compiled beside other bindings of its robot.
APART = 50
#: Each letter must be in at least so many draws of a full sweep that were judged.
LEAST = 20
#: How many draws a process judges before another one goes on.
PART = 50


def sound_draw(seed: int, k: int) -> Draw:
    """Return draw k, drawn again until what it inverts can be inverted."""
    for attempt in count():
        found = draw(seed, k, attempt)
        if Question(found).is_sound:
            return found
    raise AssertionError


@dataclass
class Report:
    """What a sweep found."""

    kinds: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[str] = field(default_factory=Counter[str])
    first: dict[str, int] = field(default_factory=dict[str, int])
    drawn: Counter[str] = field(default_factory=Counter[str])
    judged: Counter[str] = field(default_factory=Counter[str])
    wrong: list[tuple[int, Draw, Verdict]] = field(default_factory=list[tuple[int, Draw, Verdict]])
    worst: float = 0.0
    slowest: tuple[float, int] = (0.0, 0)

    def add(self, k: int, d: Draw, v: Verdict, seconds: float) -> None:
        """Count a draw."""
        self.kinds[v.kind] += 1
        self.slowest = max(self.slowest, (seconds, k))
        names = [x.name for x in d.letters]
        self.drawn.update(names)
        if v.kind == "right":
            self.judged.update(names)
            self.worst = max(self.worst, v.error)
        elif v.kind == "wrong":
            self.wrong.append((k, d, v))
        else:
            self.refusals[pattern(v.said)] += 1
            self.first.setdefault(pattern(v.said), k)

    @property
    def ends(self) -> str:
        """How draws ended."""
        return ", ".join(f"{n} {kind}" for kind, n in self.kinds.most_common())

    def lines(self) -> Iterator[str]:
        """Yield the report."""
        for said, n in self.refusals.most_common():
            yield f"{n:6}  {said} (first: draw {self.first[said]})"
        yield "letter: judged / drawn"
        cells = [f"{x.name}: {self.judged[x.name]} / {self.drawn[x.name]}" for x in LETTERS]
        for at in range(0, len(cells), 5):
            yield "  " + "".join(f"{c:26}" for c in cells[at : at + 5]).rstrip()
        yield self.ends
        few = min(LETTERS, key=lambda x: self.judged[x.name])
        yield f"fewest judged: {few.name}, {self.judged[few.name]}; largest error {self.worst:.1e}"
        seconds, k = self.slowest
        yield f"slowest: draw {k}, {seconds:.1f} s"


def smaller(d: Draw) -> Iterator[Draw]:
    """Yield draws with less in them."""
    for part in ("expressions", "blocks"):
        group = dict(getattr(d, part))
        for name in group:
            rest = {n: e for n, e in group.items() if n != name}
            if rest or part == "blocks":
                yield replace(d, **{part: rest})
        for name, e in group.items():
            if isinstance(e, Sum):
                for skip in range(len(e.terms) if len(e.terms) > 1 else 0):
                    yield replace(d, **{part: group | {name: linear(*e.terms[:skip], *e.terms[skip + 1 :])}})
    for name, usual in (
        ("searched", False),
        ("parameters", ()),
        ("prescribed", ()),
        ("batch", ()),
        ("native", {}),
        ("gravity", False),
    ):
        if getattr(d, name) != usual:
            yield replace(d, **{name: usual})


def reduced(d: Draw, v: Verdict) -> tuple[Draw, Verdict]:
    """Return a smaller draw that is wrong too."""
    for other in smaller(d):
        try:
            found = judged(other, TARGETS[-1:])
        except Exception:  # a draw without what it needs is no failure
            continue
        if found.kind == "wrong":
            return reduced(other, found)
    return d, v


def sweep(
    draws: range,
    seed: int,
    *,
    targets: Sequence[str] = TARGETS,
    skip: Collection[str] = (),
    progress: bool = False,
) -> Report:
    """Judge some draws, without those that have some letters."""
    report, start = Report(), time.perf_counter()
    for k in draws:
        began = time.perf_counter()
        d = sound_draw(seed, k)
        if any(x.name in skip for x in d.letters):
            continue
        v = judged(d, targets)
        if k % APART == 0 and v.kind == "right":
            v = told_apart(d)
        report.add(k, d, v, time.perf_counter() - began)
        if progress and v.kind == "wrong" and len(report.wrong) <= REDUCED:
            e, w = reduced(d, v)
            print(f"{k}: {v.said}\n    {w.said}\n    judged({e!r})", flush=True)
        if progress and k % 100 == 99:
            seconds = time.perf_counter() - start
            print(f"draw {k + 1}, {seconds:.0f} s: {report.ends}", file=sys.stderr, flush=True)
    return report


def in_parts(draws: range, seed: int, jobs: int, **options: Any) -> Report:
    """Judge draws in several processes, some at a time; expressions stay where they were drawn."""
    found, start = Report(), time.perf_counter()
    parts = [draws[at : at + PART] for at in range(0, len(draws), PART)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for n, part in enumerate(pool.map(partial(_part, seed=seed, **options), parts)):
            for mine, more in zip(
                (found.kinds, found.refusals, found.drawn, found.judged), part[:4], strict=True
            ):
                mine.update(more)
            found.first = {**part[4], **found.first}
            found.wrong += [(k, sound_draw(seed, k), v) for k, v in part[5]]
            found.worst = max(found.worst, part[6])
            found.slowest = max(found.slowest, part[7])
            seconds = time.perf_counter() - start
            print(f"part {n + 1} of {len(parts)}, {seconds:.0f} s: {found.ends}", file=sys.stderr, flush=True)
    return found


def _part(draws: range, *, seed: int, **options: Any) -> tuple[Any, ...]:
    with empty_cache():
        r = sweep(draws, seed, progress=True, **options)
    wrong = [(k, v) for k, _, v in r.wrong]
    return r.kinds, r.refusals, r.drawn, r.judged, r.first, wrong, r.worst, r.slowest


def main() -> int:
    """Sweep, and print what was found."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--draws", type=int, default=DRAWS)
    options.add_argument("--seed", type=int, default=SEED)
    options.add_argument("--only", type=int)
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--targets", nargs="*", default=TARGETS)
    options.add_argument("--skip", nargs="*", default=[], help="letters; draws with them are left out")
    told = options.parse_args()
    start = time.perf_counter()
    draws = range(told.draws) if told.only is None else range(told.only, told.only + 1)
    if told.only is not None:
        print(sound_draw(told.seed, told.only))
    report = in_parts(draws, told.seed, told.jobs, targets=told.targets, skip=told.skip)
    print("\n".join(report.lines()))
    few = [x.name for x in LETTERS if report.judged[x.name] < LEAST] if told.draws >= DRAWS else []
    print(f"{len(draws)} draws, {len(report.wrong)} above {BOUND:.0e}, {time.perf_counter() - start:.0f} s")
    if few and told.only is None:
        print(f"judged too rarely: {', '.join(few)}")
    return 1 if report.wrong or (few and told.only is None) else 0


if __name__ == "__main__":
    sys.exit(main())
