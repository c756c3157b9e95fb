"""Linearisation of a robot's motion, and of a step of an integrator, in the tangent space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hinge.dynamics import (
    CALLS,
    Compiled,
    External,
    compiled,
    derivative_parts,
    external_forces,
    kept_program,
    precision,
    refuse_closures,
)
from hinge.errors import ArgumentError, did_you_mean
from hinge.model import (
    Robot,
    as_configuration,
    as_tangent,
    checked_robot,
    common_batch,
    gravity_of,
    into_arrays,
    refuse_rolling,
    units,
)
from hinge.sim.integrators import RungeKutta, SemiImplicitEuler, Stepping
from hinge.sim.linear_code import Rows, Varied
from hinge.sim.methods import INTEGRATORS
from hinge.spatial import Array, ArrayLike
from hinge.targets import Executable

#: What linearisations are taken by, beside each other.
BY = ("q", "qd", "tau")
#: From q, qd and tau to A and B.
Call: TypeAlias = Callable[[ArrayLike, ArrayLike, ArrayLike], "Linearization"]


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
    out: Sequence[Array] | None = None,
) -> Linearization:
    """Return A and B of the motion near a state, δẋ = A δx + B δτ, or with `dt` of a step of an integrator.

    x = (q, qd) and δx = (δq, δqd), δq along `integrate(q, δq)`, so that A is (…, 2 nv, 2 nv) whatever the
    length of q is. Where axes turn with a body, as those of a free joint, the rate of δq has −qd × δq beside
    δqd. A step, of "semi-implicit", "rk4" or "rk5", holds tau and external forces; its A and B are exact:
    the chain rule through its stages. Joints that roll are refused. `external`, `gravity` and `passive` as in
    `forward_dynamics`; `out` are two arrays for A and B, or what an earlier call returned.
    """
    key = "linearize", robot, dt, integrator, type(passive), passive
    is_plain = external is None and gravity is None
    known = CALLS.look(key) if is_plain else None
    if known is not None:
        return _into(out, known(q, qd, tau))
    for u in units(checked_robot(robot)):
        refuse_rolling(robot, u, "linearize")
    refuse_closures(robot, "linearize", "closed_dynamics_derivatives")
    rows = None if dt is None else _rows(integrator)
    nodes, forces = external_forces(external)
    found = _Linearized(robot, rows, _checked_dt(dt), passive, nodes)
    if is_plain:
        return _into(out, CALLS.put(key, found.call())(q, qd, tau))
    return _into(out, found.evaluate(q, qd, tau, forces, gravity))


def _into(out: Sequence[Array] | None, found: Linearization) -> Linearization:
    """Return a linearisation, in arrays of the caller's if there are such."""
    return found if out is None else Linearization(*into_arrays(out, found))


def _checked_dt(dt: Any) -> Array:
    """Return dt as an array of one number, of none without a step."""
    if dt is None:
        return np.zeros(0)
    if not (isinstance(dt, int | float | np.floating) and np.isfinite(dt) and dt > 0):
        raise ArgumentError(f"dt: expected a time in s above zero, or None, got {dt!r}")
    return np.array([float(dt)])


def _rows(integrator: Any) -> Rows:
    """Return the rows of stages and the final weights of an explicit method; none for semi-implicit Euler."""
    rule = INTEGRATORS.get(integrator) if isinstance(integrator, str) else integrator
    if isinstance(rule, RungeKutta):
        return (*rule.rows, rule.weights)
    if isinstance(rule, SemiImplicitEuler) and not isinstance(rule, Stepping):
        return ()
    known = [n for n, r in INTEGRATORS.items() if isinstance(r, RungeKutta)]
    hint = did_you_mean(str(integrator), ["semi-implicit", *known])
    raise ArgumentError(
        f"integrator: expected 'semi-implicit', {', '.join(map(repr, known))}, got {integrator!r}"
        f"; {hint or 'other methods have no linearisation of a step'}"
    )


class _Linearized:
    """The linearisation of a robot's motion, or of a step, as a program; `dt` is empty for the motion."""

    def __init__(
        self, robot: Robot, rows: Rows | None, dt: Array, passive: bool, nodes: tuple[str, ...]
    ) -> None:
        self.robot, self.rows, self.dt = robot, rows, dt
        self._key = "linearize", robot, rows, type(passive), passive, nodes
        parts = derivative_parts("forward_dynamics", BY, passive=passive, flexible=robot.is_flexible)
        self._derivatives: Compiled = compiled(robot, parts, nodes)

    def program(self, own_gravity: bool = True) -> Executable:
        """Return the program, with the robot's own gravity or with gravity as an argument."""

        def source() -> Varied:
            return Varied(self.robot, self._derivatives.compilation(own_gravity), self.rows)

        return kept_program((*self._key, own_gravity), source)

    def call(self) -> Call:
        """Return the function of q, qd and tau, which for plain arrays is native code."""
        n, name = self.robot.nv, f"linearization of {self.robot.name!r}"
        entry = self.program().entry(
            self._slowly, [(2 * n, 2 * n), (2 * n, n)], name="linearize", doc=name, finish=_finished
        )
        dt = self.dt
        return (lambda q, qd, tau: entry(q, qd, tau, dt)) if dt.size else entry

    def _slowly(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *_: Any) -> Linearization:
        return self.evaluate(q, qd, tau, {}, None)

    def evaluate(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        forces: Mapping[str, ArrayLike],
        gravity: ArrayLike | None,
    ) -> Linearization:
        """Return A and B for any arrays, perhaps under forces and gravity of their own."""
        dtype = precision(q, qd, tau, *forces.values())
        arrays = {"q": as_configuration(self.robot, q, dtype=dtype)}
        arrays |= {n: as_tangent(self.robot, x, n).astype(dtype) for n, x in (("qd", qd), ("tau", tau))}
        given = {n: self._derivatives.flat_input(n, x).astype(dtype) for n, x in forces.items()}
        if gravity is not None:
            down = gravity_of(self.robot, gravity, dtype=dtype)
            given["g"] = np.concatenate([np.zeros_like(down), -down], axis=-1)
        common_batch(arrays | {{"f_ext": "external", "g": "gravity"}[n]: x for n, x in given.items()})
        arrays |= given | ({"dt": self.dt.astype(dtype)} if self.dt.size else {})
        return _finished(self.program(gravity is None)(arrays))


def _finished(found: Mapping[str, Array]) -> Linearization:
    return Linearization(found["A"], found["B"])
