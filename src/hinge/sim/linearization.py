"""Linearisation of a robot's motion, and of a step of an integrator, in the tangent space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hinge.binding import move_change, move_rate
from hinge.dynamics import External, forward_dynamics_derivatives, joint_program
from hinge.errors import ArgumentError, did_you_mean
from hinge.model import (
    Robot,
    as_configuration,
    as_tangent,
    checked_robot,
    common_batch,
    refuse_rolling,
    units,
)
from hinge.model.joints import VectorJoint
from hinge.sim.integrators import RungeKutta, SemiImplicitEuler, Stepping
from hinge.sim.methods import INTEGRATORS
from hinge.spatial import Array, ArrayLike


class Linearization(NamedTuple):
    """A (…, 2 nv, 2 nv) and B (…, 2 nv, nv): changes of (q, qd) by changes of (q, qd), and of tau."""

    A: Array
    B: Array


def linearize(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    dt: float | None = None,
    *,
    integrator: str = "semi-implicit",
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = False,
) -> Linearization:
    """Return A and B of the motion near a state, δẋ = A δx + B δτ, or with `dt` of a step of an integrator.

    x = (q, qd) and δx = (δq, δqd), δq along `integrate(q, δq)`, so that A is (…, 2 nv, 2 nv) whatever the
    length of q is. Where axes turn with a body, as those of a free joint, the rate of δq has −qd × δq beside
    δqd. A step, of "semi-implicit", "rk4" or "rk5", holds tau and external forces; its A and B are exact:
    the chain rule through its stages. Joints that roll are refused. `external`, `gravity` and `passive` as in
    `forward_dynamics`.
    """
    for u in units(checked_robot(robot)):
        refuse_rolling(robot, u, "linearize")
    x, v, u = as_configuration(robot, q), as_tangent(robot, qd, "qd"), as_tangent(robot, tau, "tau")
    batch = common_batch({"q": x, "qd": v, "tau": u})
    x, v, u = (np.broadcast_to(z, (*batch, z.shape[-1])) for z in (x, v, u))
    step = _Step(robot, u, {"external": external, "gravity": gravity, "passive": passive})
    if dt is None:
        return step.continuous(x, v)
    if not (isinstance(dt, int | float | np.floating) and np.isfinite(dt) and dt > 0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"dt: expected a time in s above zero, or None, got {dt!r}")
    return step.discrete(x, v, float(dt), _rows(integrator))


def _rows(integrator: Any) -> tuple[tuple[float, ...], ...] | None:
    """Return the rows of stages and the final weights of an explicit method; None for semi-implicit Euler."""
    rule = INTEGRATORS.get(integrator) if isinstance(integrator, str) else integrator
    if isinstance(rule, RungeKutta):
        return (*rule.rows, rule.weights)
    if isinstance(rule, SemiImplicitEuler) and not isinstance(rule, Stepping):
        return None
    known = [n for n, r in INTEGRATORS.items() if isinstance(r, RungeKutta)]
    raise ArgumentError(
        f"integrator: expected 'semi-implicit', {', '.join(map(repr, known))}, got {integrator!r}"
        f"{did_you_mean(str(integrator), INTEGRATORS)}; other methods have no linearisation of a step"
    )


class _Stage(NamedTuple):
    """A state and what it changes by: columns (…, nv, 3 nv) by δq, δqd and δτ at the start."""

    q: Array
    qd: Array
    dq: Array
    dqd: Array


class _Step:
    """Changes of the state along a step, of all directions together."""

    def __init__(self, robot: Robot, tau: Array, options: Mapping[str, Any]) -> None:
        self.robot, self.tau, self.options = robot, tau, options
        self.batch, self.n = tau.shape[:-1], robot.nv
        self.vectors = [u for u in units(robot) if isinstance(u.type, VectorJoint)]
        self.groups = [u for u in units(robot) if u.type.nv and not isinstance(u.type, VectorJoint)]

    def accelerations(self, s: _Stage, *, first: bool = False) -> tuple[Array, Array]:
        """Return qdd and its changes; the `first` state changes by unit directions."""
        d = forward_dynamics_derivatives(self.robot, s.q, s.qd, self.tau, **self.options)
        if first:
            return d.qdd, np.concatenate([d.q, d.qd, d.tau], axis=-1)
        change = d.q @ s.dq + d.qd @ s.dqd
        change[..., 2 * self.n :] += d.tau
        return d.qdd, change

    def start(self, q: Array, qd: Array) -> _Stage:
        """Return the state at the start, with unit directions."""
        whole = np.broadcast_to(np.eye(self.n, 3 * self.n), (*self.batch, self.n, 3 * self.n))
        return _Stage(q, qd, whole, np.roll(whole, self.n, axis=-1))

    def continuous(self, q: Array, qd: Array) -> Linearization:
        """Return A and B of the motion."""
        first = self.start(q, qd)
        turning = self.moved(first, [(0.0, first)], rate=True).dq
        return self.shown(turning, self.accelerations(first, first=True)[1])

    def discrete(
        self, q: Array, qd: Array, h: float, rows: tuple[tuple[float, ...], ...] | None
    ) -> Linearization:
        """Return A and B of a step."""
        first = self.start(q, qd)
        qdd, change = self.accelerations(first, first=True)
        if rows is None:
            fast = _Stage(q, qd + h * qdd, first.dq, first.dqd + h * change)
            end = self.moved(first, [(h, fast)])
            return self.shown(end.dq, fast.dqd)
        stages, found = [first], [(qdd, change)]
        for k, row in enumerate(rows):
            used = [(h * w, s) for w, s in zip(row, stages, strict=True)]
            v = qd + sum(h * w * a for w, (a, _) in zip(row, found, strict=True))
            dv = first.dqd + sum(h * w * c for w, (_, c) in zip(row, found, strict=True))
            there = self.moved(first, used)
            stages.append(_Stage(there.q, v, there.dq, dv))
            if k + 1 < len(rows):
                found.append(self.accelerations(stages[-1]))
        return self.shown(stages[-1].dq, stages[-1].dqd)

    def shown(self, dq: Array, dqd: Array) -> Linearization:
        """Return the columns by the state and by tau."""
        whole = np.concatenate([dq, dqd], axis=-2)
        return Linearization(whole[..., : 2 * self.n], whole[..., 2 * self.n :])

    def moved(self, first: _Stage, used: Sequence[tuple[float, _Stage]], *, rate: bool = False) -> _Stage:
        """Return normalized(q + Σ h N(qₖ) vₖ) and its changes, or the rate of these with h.

        A joint whose q is a vector adds up; of others the derivatives by each input are small matrices.
        """
        q, dq = first.q.copy(), np.zeros_like(first.dq) if rate else first.dq.copy()
        for u in self.vectors:
            for h, s in used:
                q[..., u.q] += h * s.qd[..., u.qd]
                dq[..., u.qd, :] += (1.0 if rate else h) * s.dqd[..., u.qd, :]
        if self.groups:
            ends, matrices = self._of_groups(first.q, used, rate)
            given = [first.dq, *(x for _, s in used for x in (s.dq, s.dqd))]
            for u in self.groups:
                q[..., u.q] = ends[..., u.q]
                m = len(u.qd)
                blocks = np.swapaxes(matrices[..., :m, :][..., u.qd], -1, -2)
                dq[..., u.qd, :] = sum(blocks[..., k, :, :] @ x[..., u.qd, :] for k, x in enumerate(given))
        return _Stage(q, first.qd, dq, first.dqd)

    def _of_groups(self, q: Array, used: Sequence[tuple[float, _Stage]], rate: bool) -> tuple[Array, Array]:
        """Return the end, and (…, inputs, directions, nv): its change along each velocity of each input."""
        m = max(len(u.qd) for u in self.groups)
        names = ["dq", *(n for k in range(len(used)) for n in (f"dq{k}", f"dv{k}"))]
        shape = (*self.batch, len(names), m)
        inputs: dict[str, Any] = {"q": "q", **dict.fromkeys(names, "qd")}
        arrays: dict[str, Array] = {"q": q[..., None, None, :]}
        for k, (h, s) in enumerate(used):
            inputs |= {f"q{k}": "q", f"v{k}": "qd", f"h{k}": 1}
            arrays |= {f"q{k}": s.q[..., None, None, :], f"v{k}": s.qd[..., None, None, :]}
            arrays[f"h{k}"] = np.array([h])
        for k, name in enumerate(names):
            arrays[name] = np.zeros((len(names), m, self.n))
            for u in self.groups:
                arrays[name][k, range(len(u.qd)), u.qd] = 1.0
        formula = move_rate if rate else move_change
        program = joint_program(self.robot, formula.__name__, inputs, {"q": "q", "dq": "qd"}, formula)
        whole = {n: np.array(np.broadcast_to(x, (*shape, x.shape[-1]))) for n, x in arrays.items()}
        found = program(whole, None)
        return found["q"][..., 0, 0, :], found["dq"]
