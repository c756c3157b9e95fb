"""Other independent rates for embedded loops, where those of a robot come to an end.

Which rates are taken at a configuration depends on the robot and on the configuration alone, so that a state
of a batch goes as it goes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from hinge.dynamics.charts import Chart
from hinge.model import Loop, LoopMotion, Robot, neutral, release_loops, units, with_loops
from hinge.spatial import Array

__all__ = ["Atlas", "Charted", "atlas_of"]

#: Rates at a configuration that samples have proposed are taken if they have this share of the best quality.
SHARE = 0.4

_ATLASES: WeakKeyDictionary[Robot, Atlas] = WeakKeyDictionary()


class Charted(NamedTuple):
    """A robot with other independent rates, and for each loop their quality before and now.

    `regular` is the smallest singular value of the closures' rows as a share of the largest one: zero where
    the loop itself is singular, whatever rates are taken.
    """

    robot: Robot
    before: Array
    quality: Array
    regular: Array


class Atlas:
    """The robots that move as one with embedded loops does, with other independent rates."""

    def __init__(self, robot: Robot) -> None:
        self.cut, self._own = release_loops(robot), ref(robot)
        self._robots: dict[tuple[int, ...], Robot] = {}
        self._of: WeakKeyDictionary[Robot, tuple[int, ...]] = WeakKeyDictionary()
        self._of[robot] = (0,) * len(robot.loops)
        self._closures = robot.closures
        self._loops = [_Charts(self.cut, loop, neutral(robot)) for loop in robot.loops]
        self._coordinates = {u.name: u.q for u in units(robot) if isinstance(u.type, LoopMotion)}

    def better(self, robot: Robot, q: Array, least: float) -> Charted:
        """Return the robot to go on with at q (nq,): loops of less quality than `least` have other rates."""
        chosen, before, after = list(self._of[robot]), list[float](), list[float]()
        regular = list[float]()
        for k, charts in enumerate(self._loops):
            here = q[list(self._coordinates[charts.loop.name])].astype(np.float64)
            jacobian = charts.jacobian(here)
            now = charts.quality(chosen[k], jacobian)
            before.append(now)
            regular.append(charts.regular(jacobian))
            if now < least:
                chosen[k], now = charts.best(chosen[k], jacobian)
            after.append(now)
        return Charted(self._made(tuple(chosen)), np.array(before), np.array(after), np.array(regular))

    def _made(self, chosen: tuple[int, ...]) -> Robot:
        """Return the robot with these charts of its loops, always the same one."""
        own = self._own()
        if own is not None and chosen == self._of[own]:
            return own
        if chosen not in self._robots:
            loops = [charts.loops[n] for charts, n in zip(self._loops, chosen, strict=True)]
            robot = with_loops(self.cut, loops, self._closures)
            self._robots[chosen], self._of[robot] = robot, chosen
        return self._robots[chosen]


class _Charts:
    """The charts of one loop that are known, its own first."""

    def __init__(self, cut: Robot, loop: Loop, near: Array) -> None:
        self.loop, self.loops = loop, [loop]
        self._chart = Chart(cut, loop.places, near)
        self._motions = [LoopMotion(loop, self._chart.geometry)]
        found = (self._number(x) for x in (loop, *self._chart.others()))
        self._sampled = list(dict.fromkeys(found))

    def jacobian(self, q: Array) -> Array:
        """Return the scaled Jacobian of all rows at a configuration of the loop."""
        with np.errstate(all="ignore"):
            return self._chart.geometry.scaled(q)

    def quality(self, number: int, jacobian: Array) -> float:
        """Return the quality of a chart by a Jacobian, zero where it is no number."""
        with np.errstate(all="ignore"):
            found = float(self._motions[number].quality_by(jacobian))
        return found if np.isfinite(found) else 0.0

    def regular(self, jacobian: Array) -> float:
        """Return the smallest singular value of the rows that count as a share of the largest, or zero."""
        if not np.isfinite(jacobian).all():
            return 0.0
        values = np.linalg.svd(jacobian[self._chart.given], compute_uv=False)
        return float(values[len(self.loop.rows) - 1] / values[0])

    def best(self, number: int, jacobian: Array) -> tuple[int, float]:
        """Return the chart to take in place of one, and its quality."""
        now = self.quality(number, jacobian)
        if not np.isfinite(jacobian).all():
            return number, now
        own = [(self.quality(n, jacobian), n) for n in map(self._number, self._chart.at(jacobian))]
        known = [(self.quality(n, jacobian), n) for n in self._sampled]
        most = max((x for x, _ in own), default=0.0)
        enough = [pair for pair in (max(known), *own) if pair[0] >= SHARE * most]
        found, there = enough[0] if enough else (now, number)
        return (there, found) if found > now else (number, now)

    def _number(self, loop: Loop) -> int:
        """Return the number of a chart, a new one if it is not known."""
        for n, known in enumerate(self.loops):
            if _order(known) == _order(loop):
                return n
        self.loops.append(loop)
        self._motions.append(LoopMotion(loop, self._chart.geometry))
        return len(self.loops) - 1


def _order(loop: Loop) -> tuple[Sequence[object], Sequence[object]]:
    return loop.pivots, loop.rows


def atlas_of(robot: Robot) -> Atlas:
    """Return the atlas of a robot with embedded loops, made once."""
    found = _ATLASES.get(robot)
    if found is None:
        _ATLASES[robot] = found = Atlas(robot)
    return found
