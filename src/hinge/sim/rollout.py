"""`Rollout`: simulations of a fixed number of steps, with gradients."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Any, NamedTuple, cast

import numpy as np

from hinge.dynamics import External
from hinge.errors import ArgumentError, ModelWarning
from hinge.model import (
    Robot,
    as_configuration,
    as_tangent,
    as_vector,
    checked_robot,
    common_batch,
    neutral,
    refuse_rolling,
    units,
)
from hinge.sim.adaptive import Adaptive
from hinge.sim.adjoint import Reversal, Tape, given_weight, reversal, weight
from hinge.sim.backward import FEWEST, ROOM, Backward, ControlPull, part_of
from hinge.sim.charts import Chart
from hinge.sim.fixed import FixedLoop
from hinge.sim.integrators import CLOSED, NEXT, Integrator
from hinge.sim.job import Job, Moving
from hinge.sim.laws import Driven, Law, Prescribed
from hinge.sim.plant import Parameters, Plant
from hinge.sim.setting import Control, checked_flag, law_of, precision_of, rule_of
from hinge.spatial import Array, ArrayLike

#: The quality of a chart below which a roll-out warns.
POOR = 0.01
#: Gradients in rows: how many numbers they have for each body, or for each degree of freedom.
_ROWS = {"inertias": 10, "placements": 6, "friction": 3}


class Rolled(NamedTuple):
    """The states of a roll-out: q and qd (…, n) at the end, or (…, T, n) at its recorded times."""

    q: Array
    qd: Array


class Rollout:
    """A simulation over a fixed number of steps as a function of its start, its forces and its parameters.

        roll = hinge.Rollout(robot, dt=1e-3, steps=500)
        end = roll(q0, qd0, tau=U)                          # U (…, steps, nv)
        grads = roll.pull(q0, qd0, tau=U, q=cq, qd=cqd)     # of Σ cq · q + cqd · qd at the end

    A call gives the states that `hinge.simulate` gives: `integrator` is "rk4", "rk5", "semi-implicit" or
    "midpoint", `control` a law or a function of (t, q, qd), and `external`, `gravity`, `passive` and `start`
    are as there. `tau` are forces beside those of `control`, constant through each step. With `record` = n
    the states at every n-th step are results, the first and the last always; with 0 the last alone.

    `pull` gives gradients. It keeps every `keep`-th state, and runs the steps between once more, a few states
    of a batch at a time, with the results of their stages kept. A robot with closures starts closed, and
    steps end with its state taken back to where they hold, unless `project` is False, as in `simulate`;
    gradients go through that, by the implicit function theorem: those by q0 and qd0 are of the steps as
    they are computed, so multiply them with changes that the closures allow. Unless given, `keep` is all
    steps where that takes some 64 MB at most, so that nothing runs twice, else √steps. `memory` tells what it
    takes.

    The independent rates of embedded loops stay what they are; a ModelWarning tells of dead centres.

    A function that controls is pulled by its own method `pull(t, q, qd, c)`, which returns the gradients of
    cᵀ tau by q and qd, each (…, nv). Laws of the package need none.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        dt: float,
        steps: int,
        integrator: str | Integrator = "rk4",
        control: Control = None,
        external: External = None,
        gravity: ArrayLike | None = None,
        passive: bool = True,
        record: int = 0,
        keep: int | None = None,
        start: float = 0.0,
        project: bool = True,
    ) -> None:
        self.robot, self.dt, self.start = checked_robot(robot), dt, start
        self.steps, self.record = _whole("steps", steps, 1), _whole("record", record, 0)
        self.law, self.ask = law_of(control)
        self._is_free = control is None
        self.project = checked_flag("project", project) and bool(self.robot.closures)
        self.control = control
        self._around: dict[str, Any] = {"external": external, "gravity": gravity, "passive": passive}
        self._reversals: dict[Any, Reversal] = {}
        self._refuse(integrator)
        self.rule = rule_of(integrator, np.float64)
        self.keep = self._usual_keep() if keep is None else min(self.steps, _whole("keep", keep, 1))

    def __repr__(self) -> str:
        return (
            f"Rollout({self.robot.name!r}, {self.steps} steps of {self.dt:g} s, {self.rule.name}, "
            f"keep={self.keep})"
        )

    def _refuse(self, integrator: Any) -> None:
        """Refuse what has no gradients, by name."""
        name = getattr(integrator, "name", integrator)
        if name == "adaptive" or isinstance(integrator, Adaptive):
            raise NotImplementedError(
                "integrator: 'adaptive' is not supported in a Rollout, since its steps depend on the state; "
                "give 'rk4' or 'rk5' with a dt that is short enough"
            )
        if name == "stepping":
            raise NotImplementedError(
                "integrator: 'stepping' is not supported in a Rollout, since contacts begin and end; use "
                "hinge.simulate, or give springs at the contacts as a function with a method pull"
            )
        if isinstance(self.law, Prescribed):
            raise NotImplementedError(
                "control: Prescribed is not supported in a Rollout; track the motion with PD or with "
                "ComputedTorque"
            )
        for unit in units(self.robot):
            refuse_rolling(self.robot, unit, "Rollout")

    def _usual_keep(self) -> int:
        """Return all steps where what is kept of them has room, else about √steps."""
        assert isinstance(self.rule, Integrator)
        row = self.robot.nq + (1 + len(self.rule.nodes)) * self.robot.nv
        return self.steps if 8 * row * self.steps * FEWEST <= ROOM else isqrt(self.steps - 1) + 1

    @property
    def recorded(self) -> Array:
        """The numbers of steps after which states are results, (T,)."""
        return np.append(np.arange(0, self.steps, self.record or self.steps), self.steps)

    @property
    def t(self) -> Array:
        """The times of the states that are results, (T,)."""
        return self.start + self.dt * (self.recorded if self.record else self.recorded[-1:])

    def __call__(
        self,
        q0: ArrayLike | None = None,
        qd0: ArrayLike | None = None,
        *,
        tau: ArrayLike | None = None,
        parameters: Parameters = None,
    ) -> Rolled:
        """Return the states at the end, or at the recorded times, for a start or a batch of them.

        The default q0 is the neutral configuration, the default qd0 zero. `tau` (…, steps, nv) and
        `parameters` as in `hinge.simulate` are one for all states, or one for each. A state that becomes
        non-finite stays so.
        """
        given = self._given(q0, qd0, tau, parameters)
        loop = self._loop(given, self.record)
        loop.run(None)
        job = loop.job
        self._tell(loop)
        q, qd = (job.in_batch(x) for x in (job.kept_q, job.kept_qd))
        return Rolled(q, qd) if self.record else Rolled(q[..., -1, :], qd[..., -1, :])

    def pull(
        self,
        q0: ArrayLike | None = None,
        qd0: ArrayLike | None = None,
        *,
        tau: ArrayLike | None = None,
        parameters: Parameters = None,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        wrt: Sequence[str] | None = None,
    ) -> dict[str, Array]:
        """Return gradients of Σ weights · results, by the names of arguments, each of its argument's batch.

        `q` and `qd` are the weights of the results: (…, nv), or (…, T, nv) with `record`. Weights of q, and
        the gradient by q0, which is named "q", are in the tangent space: along `hinge.integrate(q, ε d)`.
        "qd" is the gradient by qd0, "tau" that by tau (…, steps, nv). `wrt` names what is wanted, all
        arguments that are given unless given itself; "inertias" (…, bodies, 10) and "placements" (…, bodies,
        6), along motions of the joints' inner frames in their own axes, are the robot's own unless
        `parameters` has them. What the states of a batch share has the sum of their gradients.
        """
        given = self._given(q0, qd0, tau, parameters)
        names = self._wanted(wrt, given)
        weights = {n: self._weights(n, x, given) for n, x in (("q", q), ("qd", qd))}
        loop = self._loop(given, self.keep)
        found = Backward(
            loop,
            self._reversal(given, frozenset(loop.job.signals), names),
            weights,
            self.recorded if self.record else None,
            self._control_pull,
        )
        found.run()
        self._tell(loop)
        return {n: self._gradient(n, found, given) for n in names}

    def memory(self, states: int = 1, *, tau: bool = True) -> int:
        """Return the bytes of `pull` for so many states beside its arguments and results, in float64.

        The states of a batch share the tables of a stretch, some after the others.
        """
        given = self._given(None, None, np.zeros((self.steps, self.robot.nv)) if tau else None, None)
        signals = frozenset(
            n for n, x in given.law.numbers(self.robot).items() if not isinstance(x, np.ndarray)
        )
        back = self._reversal(given, signals, self._wanted(None, given))
        robot, rows = self.robot, self.steps // self.keep + 1
        table = back.row(robot) * (self.keep + 1)
        part = states if self.ask is not None else min(states, part_of(states, 8 * table))
        given = robot.nv * self.keep * (tau + 2 * bool(self.record))
        return 8 * (states * (robot.nq + robot.nv) * rows + part * (table + given))

    # The parts of a call.

    def _tell(self, loop: FixedLoop) -> None:
        """Warn where embedded loops came near a dead centre: a Rollout keeps their independent rates."""
        if not self.robot.loops:
            return
        job = loop.job
        q = job.kept_q[:, job.recorded <= loop.done].reshape(-1, self.robot.nq)
        with np.errstate(all="ignore"):
            quality = Chart(self.robot, job.moving).quality({"q": q})["quality"]
        poor = np.asarray(~(quality > POOR)).any(0) & bool(job.states)
        for one, is_poor in zip(self.robot.loops, np.atleast_1d(poor), strict=True):
            if is_poor:
                warnings.warn(
                    f"{one}: states came to a dead centre of its independent rates, those of "
                    f"{', '.join(one.independent)}, which a Rollout keeps; what follows is wrong. "
                    "Take others with hinge.embed_loops(robot, independent=…), or hinge.simulate, which "
                    "changes them",
                    ModelWarning,
                    stacklevel=3,
                )

    def _given(
        self, q0: ArrayLike | None, qd0: ArrayLike | None, tau: ArrayLike | None, parameters: Parameters
    ) -> _Given:
        robot, nv = self.robot, self.robot.nv
        plant = Plant(robot, parameters=parameters, **self._around)
        others = [tau, self._around["gravity"], *(self._around["external"] or {}).values()]
        others += [*(parameters or {}).values(), *self.law.arrays()]
        dtype = precision_of([x for x in (q0, qd0) if x is not None], others)
        q = as_configuration(robot, neutral(robot) if q0 is None else q0, "q0")
        qd = as_tangent(robot, np.zeros(nv) if qd0 is None else qd0, "qd0")
        shapes = {"q0": q, "qd0": qd, **{n: plant.numbers[n] for n in plant.parameters}}
        u = None if tau is None else as_vector(tau, "tau", nv, f"nv of robot {robot.name!r}", dtype=dtype)
        if u is not None:
            if u.ndim < 2 or u.shape[-2] != self.steps:
                raise ArgumentError(
                    f"tau: expected shape (…, {self.steps}, {nv}), forces for each step, got {u.shape}; "
                    f"np.broadcast_to(tau, ({self.steps}, {nv})) is the same for all"
                )
            shapes["tau"] = u[..., 0, :]
        law = self.law if u is None else Driven(None if self._is_free else self.law)
        return _Given(plant, law, q, qd, u, common_batch(shapes), dtype)

    def _loop(self, given: _Given, record: int) -> FixedLoop:
        q, qd = (np.broadcast_to(x, (*given.batch, x.shape[-1])) for x in (given.q, given.qd))
        moving = Moving(given.law, self.ask, given.plant, self.project)
        job = Job(moving, q, qd, (self.steps * self.dt, self.dt, self.start), record, given.dtype)
        held = {} if given.tau is None else {"u": given.tau}
        if given.tau is not None and given.tau.ndim > 2:
            shape = (*given.batch, *given.tau.shape[-2:])
            held["u"] = np.broadcast_to(given.tau, shape).reshape(job.states, *shape[-2:])
        assert isinstance(self.rule, Integrator)
        return FixedLoop(job, self.rule, (), held)

    @cached_property
    def _control_pull(self) -> ControlPull | None:
        """What reverses the control function, None if there is none."""
        if self.ask is None:
            return None
        found: Any = getattr(self.control, "pull", None)
        if not callable(found):
            name = getattr(self.control, "__name__", type(self.control).__name__)
            raise NotImplementedError(
                f"control: {name} is a function of Python, whose gradient is not known; give an object with "
                "__call__(t, q, qd) and pull(t, q, qd, c), which returns the gradients of cᵀ tau by q and "
                "qd, or a law of hinge.sim"
            )
        return cast("ControlPull", found)

    def _wanted(self, wrt: Sequence[str] | None, given: _Given) -> tuple[str, ...]:
        there = ["q", "qd", *(["tau"] if given.tau is not None else []), *given.plant.parameters]
        names = there if wrt is None else list(wrt)
        known = dict.fromkeys([*there, "inertias", "placements"])
        for n in names:
            if n not in known:
                raise ArgumentError(f"wrt: expected names among {', '.join(known)}, got {n!r}")
        return tuple(dict.fromkeys(names))

    def _weights(self, name: str, x: ArrayLike | None, given: _Given) -> Array:
        nv, times = self.robot.nv, (len(self.recorded),) if self.record else ()
        shape = (*given.batch, *times, nv)
        reason = f"weights of {name} in the tangent space, nv of robot {self.robot.name!r}"
        found = as_vector(np.zeros(nv) if x is None else x, name, nv, reason, dtype=given.dtype)
        try:
            wide = np.broadcast_to(found, shape)
        except ValueError:
            raise ArgumentError(f"{name}: expected weights of shape {shape}, got {found.shape}") from None
        return wide.reshape(-1, *times, nv)

    def _reversal(self, given: _Given, signals: frozenset[str], names: tuple[str, ...]) -> Reversal:
        """Return the adjoint of a step, made once for what is given and wanted."""
        plant, has_tau = given.plant, given.tau is not None
        key = (plant.parameters, has_tau, names)
        if key in self._reversals:
            return self._reversals[key]
        nv = self.robot.nv
        lengths = {"q": nv, "qd": nv}
        for n in (n for n in names if n not in lengths):
            count = len(self.robot.bodies) if n in ("inertias", "placements") else nv
            lengths["u" if n == "tau" else n] = _ROWS.get(n, 1) * count
        each = [n for n in ("u",) if n in lengths]
        if self.ask is not None:
            lengths["tau"] = nv
            each.append("tau")
        tape = Tape(plant, lengths)
        for name, end in zip(("q", "qd"), CLOSED if self.project else NEXT, strict=True):
            tape.add(end, weight(name), *([given_weight(name)] if self.record else []))
        closing = plant.projection(NEXT, CLOSED) if self.project else []
        tape.pull(closing, frozenset(NEXT))
        assert isinstance(self.rule, Integrator)
        self.rule.reverse(tape, given.law, signals)
        ops = [*self.rule.ops(plant, given.law, signals), *closing]
        return self._reversals.setdefault(key, reversal(tape, ops, lengths, each))

    def _gradient(self, name: str, found: Backward, given: _Given) -> Array:
        """Return a gradient in the shape of its argument."""
        job = found.loop.job
        if name in ("q", "qd"):
            return _reduced(
                job.in_batch(found.sums[name]), {"q": given.q, "qd": given.qd}[name].shape[:-1], 1
            )
        if name == "tau":
            assert given.tau is not None
            return _reduced(job.in_batch(found.each["u"]), given.tau.shape[:-2], 2)
        batch = given.plant.numbers[name].shape[:-1] if name in given.plant.parameters else ()
        whole = job.in_batch(found.sums[name])
        if name in _ROWS:
            return _reduced(whole.reshape(*whole.shape[:-1], -1, _ROWS[name]), batch, 2)
        return _reduced(whole, batch, 1)


@dataclass(frozen=True, eq=False)
class _Given:
    """The checked arguments of a call."""

    plant: Plant
    law: Law
    q: Array
    qd: Array
    tau: Array | None
    batch: tuple[int, ...]
    dtype: type[np.floating[Any]]


def _reduced(x: Array, batch: tuple[int, ...], inner: int) -> Array:
    """Return the sum over the states of a batch that share an argument; it has `inner` dimensions beside."""
    wide = x.shape[: x.ndim - inner]
    x = x.sum(axis=tuple(range(len(wide) - len(batch))))
    ones = tuple(k for k, n in enumerate(batch) if n == 1 and x.shape[k] != 1)
    return x.sum(axis=ones, keepdims=True) if ones else x


def _whole(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"{name}: expected a whole number of {least} or more, got {value!r}")
    return int(value)
