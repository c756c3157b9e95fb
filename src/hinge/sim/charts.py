"""Charts of simulations: the independent rates of embedded loops, which a state changes where they end.

All robots of an atlas have the same q; their rates are functions of each other's. What a user gives and gets
is in the rates of the robot given: forces of laws, states that functions and events see, recorded motions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import DTypeLike

from hinge.binding import FLOOR, carried_forces, qualities, shown_rates, watched_step
from hinge.dynamics import Atlas, atlas_of, code_program
from hinge.model import Robot
from hinge.sim.job import Job, Moving
from hinge.sim.laws import Law, Prescribed, Torque
from hinge.sim.plant import Plant, Stage
from hinge.sim.run import ChartChange, Run
from hinge.sim.signals import Signal
from hinge.spatial import Array
from hinge.sweeps import Code
from hinge.targets import Executable, StepCall

#: A change makes the quality GAIN times as good at least. Where no chart is better a state goes on in its
#: own, with a floor lowered to RELIEF of its quality, down to LAST. Above DOUBTFUL a chart is not why a step
#: failed.
GAIN, RELIEF, LAST, DOUBTFUL = 2.0, 1 / 3, 1e-3, 0.5
#: A loop is next to a singular configuration where its rows are as near to being dependent as this.
SINGULAR = 0.02

_PROGRAMS: WeakKeyDictionary[Robot, dict[tuple[str, ...], Executable]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Recharted(Law):
    """A law in the rates of one robot, for the plant of another that moves alike."""

    law: Law
    home: Plant
    chart: Chart

    def numbers(self, robot: Robot) -> dict[str, Array | Signal]:
        """Return those of the law."""
        return self.law.numbers(self.home.robot)

    def forces(self, plant: Plant, stage: Stage) -> tuple[list[StepCall], str]:
        """Return the forces of the law at the rates that it knows, carried to those of the plant."""
        shown = stage.own("shown")
        there = Stage(stage.index, stage.node, stage.q, shown, stage.signals)
        ops, tau = self.law.forces(self.home, there)
        if ops:
            seen = {"q": stage.q, "qd": stage.qd}
            ops = [StepCall(self.chart.shown, seen, {"rates": shown}), *ops]
        carried = StepCall(self.chart.carried, {"q": stage.q, "tau": tau}, {"tau": stage.own("carried")})
        return [*ops, carried], stage.own("carried")


class Chart:
    """The robot with some of its rates independent, and what moves it."""

    def __init__(self, robot: Robot, moving: Moving) -> None:
        home, law = moving.plant, moving.law
        self.robot, self.home = robot, home
        self.is_home = robot is home.robot
        self.plant = home if self.is_home else home.on(robot)
        free = isinstance(law, Torque) and not isinstance(law.tau, Signal) and not np.any(np.asarray(law.tau))
        given = moving.ask is not None or not free
        self.law = Recharted(law, home, self) if given and not self.is_home else law

    @property
    def cut(self) -> Robot:
        """The robot with the rates of all joints."""
        return atlas_of(self.home.robot).cut

    @cached_property
    def shown(self) -> Executable:
        """From q and qd to the rates of the robot given."""
        return self._program("shown", lambda: shown_rates(self.robot, self.home.robot))

    @cached_property
    def rates(self) -> Executable:
        """From q and qd to the rates of all joints, those of the cut robot."""
        return self._program("rates", lambda: shown_rates(self.robot, self.cut))

    @cached_property
    def carried(self) -> Executable:
        """From q and forces at the rates of the robot given to those at the rates of this one."""
        return self._program("carried", lambda: carried_forces(self.robot, self.home.robot))

    @cached_property
    def quality(self) -> Executable:
        """From q to the quality of each loop."""
        return self._program("quality", lambda: qualities(self.robot))

    @cached_property
    def watched(self) -> Executable:
        """The end of a step."""
        return self._program("watched", lambda: watched_step(self.robot))

    def _program(self, name: str, code: Callable[[], Code]) -> Executable:
        known = _PROGRAMS.setdefault(self.robot, {})
        key = (name, str(self.home.target))
        if key not in known:
            known[key] = code_program(code(), f"{name} of {self.robot.name}", target=self.home.target)
        return known[key]

    @cached_property
    def own(self) -> list[int]:
        """Where the rates of this robot stand among those of all joints."""
        return _places(self.robot, self.cut)

    @cached_property
    def home_places(self) -> list[int]:
        """Where the rates of the robot given stand among those of all joints."""
        return _places(self.home.robot, self.cut)

    def all_rates(self, q: Array, qd: Array) -> Array:
        """Return the rates (m, n) of all joints."""
        with np.errstate(all="ignore"):
            return self.rates({"q": q, "qd": qd})["rates"]

    def in_home(self, q: Array, qd: Array) -> Array:
        """Return the rates (m, nv) of the robot given."""
        return self.all_rates(q, qd)[:, self.home_places]

    def independent(self) -> tuple[str, ...]:
        """Return the joints whose rates are independent in loops."""
        return tuple(name for loop in self.robot.loops for name in loop.independent)


def _places(robot: Robot, cut: Robot) -> list[int]:
    slices = [cut.joint(j.name).qd_slice for j in robot.rated]
    return [k for s in slices for k in range(s.start, s.stop)]


class Charts:
    """The charts of a job, and which one each state is in."""

    def __init__(self, moving: Moving, states: int, dtype: DTypeLike = np.float64) -> None:
        self.moving, self.plant, self.law = moving, moving.plant, moving.law
        self.known = [Chart(self.plant.robot, moving)]
        self.of = np.zeros(states, np.int64)
        self.floor = np.full((states, len(self.plant.robot.loops)), FLOOR, dtype)
        self.changes: list[tuple[int, float, Chart]] = []
        self.rates: Array | None = None  # of all joints (states, T, n), NaN where the chart is that of home

    def kept_rates(self, job: Job) -> Array:
        """Return the recorded rates of all joints, with room from the first change on."""
        if self.rates is None:
            self.rates = np.full((*job.kept_q.shape[:2], self.home.cut.nv), np.nan, job.dtype)
        return self.rates

    @property
    def home(self) -> Chart:
        """The chart of the robot given."""
        return self.known[0]

    @cached_property
    def atlas(self) -> Atlas:
        """The charts that there are, looked for when the first state needs one."""
        return atlas_of(self.plant.robot)

    @property
    def refusal(self) -> str:
        """Return why charts cannot change, or nothing."""
        if isinstance(self.law, Prescribed):
            return "accelerations that are prescribed"
        if self.plant.held is not None:
            return "frozen joints of a Live robot"
        return ""

    def number(self, robot: Robot) -> int:
        """Return the number of a robot's chart."""
        for n, chart in enumerate(self.known):
            if chart.robot is robot:
                return n
        self.known.append(Chart(robot, self.moving))
        return len(self.known) - 1

    def change(self, state: int, q: Array, t: float, rates: Array) -> str | None:
        """Take a state to a better chart that cannot go on in its own, or be content with less there.

        Return None if it goes on, else why it ends; nothing if that is not for its chart.
        """
        here = int(self.of[state])
        found = self.atlas.better(self.known[here].robot, q, DOUBTFUL)
        before, after = found.before, found.quality
        low = before < DOUBTFUL
        if not low.any():
            return self._singular(found.regular)
        if self.refusal:
            return self._dead_centre(before, f"and {self.refusal} hold on to these")
        if (after >= GAIN * before).any():
            if not np.isfinite(rates).all():
                return self._dead_centre(before, "which do not tell how it moves")
            there = self.number(found.robot)
            self.of[state] = there
            self.floor[state] = np.minimum(FLOOR, RELIEF * after)
            self.changes.append((state, t, self.known[there]))
            return None
        self.floor[state][low] = RELIEF * np.minimum(self.floor[state], before)[low]
        if (self.floor[state] >= LAST).all():
            return None
        return self._singular(found.regular)

    def put_into(self, run: Run, job: Job) -> Run:
        """Return the run with the changes of charts, and with rates of all joints if there are some."""
        made = [(k, when, chart) for k, when, chart in self.changes if when <= job.ends[k]]
        changes = tuple(ChartChange(job.place(k), when, chart.independent()) for k, when, chart in made)
        if self.rates is None:
            return replace(run, changes=changes)
        rates, wide = self.rates[:, : len(run.t)], (-1, len(run.t))
        q, qd = (x.reshape(*wide, x.shape[-1]) for x in (run.q, run.qd))
        own = np.isnan(rates).any(-1) & np.isfinite(q).all(-1)
        rates[own] = self.home.all_rates(q[own], qd[own])
        rates[np.isnan(q).any(-1)] = np.nan
        return replace(run, changes=changes, rates=job.in_batch(rates))

    def _dead_centre(self, quality: Array, why: str) -> str:
        loop = self.plant.robot.loops[int(quality.argmin())]
        rates = ", ".join(map(repr, loop.independent))
        return (
            f"loop {loop.name!r} came to a dead centre of its independent rates, those of {rates}, {why}; "
            "choose others with hinge.embed_loops(robot, independent=…), or keep the loop cut"
        )

    def _singular(self, regular: Array) -> str:
        """Return that a loop is singular, nothing if none is."""
        if not (regular < SINGULAR).any():
            return ""
        loop = self.plant.robot.loops[int(regular.argmin())]
        return (
            f"loop {loop.name!r} came to a singular configuration, where the rates of no joints determine "
            "the others; keep it cut with hinge.release_loops(robot)"
        )
