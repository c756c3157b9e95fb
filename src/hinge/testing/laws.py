"""Laws of mechanics as relative errors, one function for each law.

They hold for any implementation of dynamics: pass one with the verbs' signatures.
`check_laws` raises LawError with the robot, the law and the error when one exceeds its bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hinge import reference
from hinge.errors import ArgumentError, HingeError
from hinge.model import Robot, difference, integrate
from hinge.spatial import Array, matvec, transpose
from hinge.testing.states import State, random_state


class LawError(HingeError, AssertionError):
    """Report a law that is violated."""


@dataclass(frozen=True)
class Dynamics:
    """The verbs under test; by default those of `hinge.reference`."""

    inverse: Callable[..., Array] = reference.inverse_dynamics
    forward: Callable[..., Array] = reference.forward_dynamics
    mass: Callable[..., Array] = reference.mass_matrix
    kinetic: Callable[..., Array] = reference.kinetic_energy
    potential: Callable[..., Array] = reference.potential_energy
    momentum: Callable[..., Array] = reference.momentum


BOOK = Dynamics()


def kinetic_energy_error(robot: Robot, s: State, d: Dynamics = BOOK) -> float:
    """Compare the bodies' kinetic energy with ½ q̇ᵀ M q̇."""
    by_mass = 0.5 * (s.qd * matvec(d.mass(robot, s.q), s.qd)).sum(axis=-1)
    return _relative(d.kinetic(robot, s.q, s.qd), by_mass)


def mass_matrix_error(robot: Robot, s: State, d: Dynamics = BOOK) -> float:
    """Measure M's asymmetry; infinite when it is not positive definite."""
    m = d.mass(robot, s.q)
    if robot.nv == 0:
        return 0.0
    if not (np.linalg.eigvalsh(0.5 * (m + transpose(m))) > 0).all():
        return float("inf")
    return _relative(m, transpose(m))


def round_trip_error(robot: Robot, s: State, d: Dynamics = BOOK) -> float:
    """Compare q̈ with the forward dynamics of its inverse dynamics.

    Relative to the rounding of float64 amplified by the condition of the mass matrix.
    """
    if robot.nv == 0:
        return 0.0
    tau = d.inverse(robot, s.q, s.qd, s.qdd)
    back = d.forward(robot, s.q, s.qd, tau)
    condition = np.linalg.cond(d.mass(robot, s.q))[..., None]
    return float(np.max(np.abs(back - s.qdd) / np.maximum(1.0, 1e-4 * condition), initial=0.0))


def equation_of_motion_error(robot: Robot, s: State, d: Dynamics = BOOK) -> float:
    """Compare inverse dynamics with M q̈ + C, (5.6)."""
    tau = d.inverse(robot, s.q, s.qd, s.qdd)
    bias = d.inverse(robot, s.q, s.qd, 0 * s.qdd)
    return _relative(matvec(d.mass(robot, s.q), s.qdd) + bias, tau)


def power_error(robot: Robot, s: State, d: Dynamics = BOOK, *, step: float = 1e-3) -> float:
    """Compare dE/dt along the motion with the power τᵀ q̇ that drives it.

    The derivative is taken over a short piece of the motion with constant q̈, by a six-point central
    difference, so that the bound need not be loose. Flexible bodies have elastic energy, and damping.
    """
    power = (d.inverse(robot, s.q, s.qd, s.qdd) * s.qd).sum(axis=-1)
    power = power - reference.dissipation(robot, s.qd)

    def energy(t: float) -> Array:
        q, qd = _follow(robot, s, t)
        return d.kinetic(robot, q, qd) + d.potential(robot, q) + reference.elastic_energy(robot, q)

    scale = np.abs(power) + np.abs(energy(0.0)) + 1.0
    return float(np.max(np.abs(_rate(energy, step) - power) / scale, initial=0.0))


def momentum_error(robot: Robot, s: State, d: Dynamics = BOOK, *, step: float = 1e-3) -> float:
    """Measure the rate of momentum of a free-based robot with no force on it and no gravity.

    Joint forces are inner forces, so only those across the base joint are zero.
    """
    if not _floats(robot):
        raise ArgumentError(
            f"robot: expected one that floats on one free joint, got {robot!r}; its momentum may change"
        )
    tau = s.tau.copy()
    tau[..., robot.joints[0].qd_slice] = 0
    qdd = d.forward(robot, s.q, s.qd, tau, gravity=np.zeros(3))
    moving = State(s.q, s.qd, qdd, tau)
    rate = _rate(lambda t: d.momentum(robot, *_follow(robot, moving, t)), step)
    size = np.abs(d.momentum(robot, s.q, s.qd)).max(axis=-1, keepdims=True)
    speed = np.abs(s.qd).max(axis=-1, keepdims=True) + np.abs(qdd).max(axis=-1, keepdims=True)
    return float(np.max(np.abs(rate) / (size * speed + 1.0), initial=0.0))


def configuration_error(robot: Robot, s: State) -> float:
    """Compare v with difference(q, integrate(q, v)), and the reverse."""
    v = 0.5 * s.qd
    there = integrate(robot, s.q, v)
    forth = np.abs(difference(robot, s.q, there) - v).max(initial=0.0)
    back = np.abs(difference(robot, there, s.q) + v).max(initial=0.0)
    return float(max(forth, back))


#: Each law with the bound that a float64 implementation meets.
LAWS: dict[str, tuple[Callable[..., float], float]] = {
    "kinetic energy = ½ q̇ᵀ M q̇": (kinetic_energy_error, 1e-11),
    "M symmetric positive definite": (mass_matrix_error, 1e-11),
    "forward ∘ inverse = identity": (round_trip_error, 1e-9),
    "inverse = M q̈ + C": (equation_of_motion_error, 1e-11),
    "dE/dt = τᵀ q̇": (power_error, 1e-8),
    "momentum conserved": (momentum_error, 1e-8),
}


def check_laws(robot: Robot, *, seed: int = 0, size: int = 3, dynamics: Dynamics = BOOK) -> dict[str, float]:
    """Return the largest error of each law at random states, or raise LawError.

    Conservation of momentum is checked for floating robots only.
    """
    s = random_state(robot, seed, size)
    held = {name: law for name, (law, _) in LAWS.items() if law is not momentum_error or _floats(robot)}
    found = {name: law(robot, s, dynamics) for name, law in held.items()}
    found["integrate and difference are inverse"] = configuration_error(robot, s)
    bounds = {name: bound for name, (_, bound) in LAWS.items()}
    for name, error in found.items():
        bound = bounds.get(name, 1e-9)
        if not error <= bound:
            raise LawError(f"{robot!r}, seed {seed}: {name}: off by {error:.3g}, bound {bound:.0e}")
    return found


def _floats(robot: Robot) -> bool:
    """Tell whether the robot's only joint to the world is a free joint, which then is its first."""
    return [j.type.kind for j in robot.joints if j.parent is None] == ["free"]


def _rate(f: Callable[[float], Array], step: float) -> Array:
    """Return df/dt at 0 by a six-point central difference."""
    weights = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    parts = [w * (f(k * step) - f(-k * step)) / step for k, w in weights.items()]
    return parts[0] + parts[1] + parts[2]


def _follow(robot: Robot, s: State, t: float) -> tuple[Array, Array]:
    """Return q and qd a time t after s on a motion with this qd and, at s, this qdd.

    Along q(t) = integrate(q, t q̇ + ½ t² q̈) the velocity is not exactly q̇ + t q̈ on a curved space;
    the difference is of order t², so that derivatives at s are not touched by it.
    """
    return integrate(robot, s.q, t * s.qd + 0.5 * t * t * s.qdd), s.qd + t * s.qdd


def _relative(a: Array, b: Array) -> float:
    scale = np.maximum(np.abs(b).max(initial=0.0), 1e-12)
    return float(np.max(np.abs(a - b), initial=0.0) / scale)
