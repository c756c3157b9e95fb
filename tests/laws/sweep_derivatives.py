"""The laws of derivatives on robots of every kind: python -m tests.laws.sweep_derivatives [robots …].

Derivatives against differences of high order along `integrate`, changes against gradients, and the laws
between derivatives, with rotors, external forces, gravity, springs and friction, couplings, a moving base and
prescribed joints. HINGE_TARGET=numpy compiles soonest.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import hinge
from hinge import robots
from hinge.dynamics import forget
from hinge.dynamics.expressions import expression
from hinge.model import Robot, embed_couplings, joints
from hinge.testing import random_robots
from tests.dynamics.coupled import random_coupled
from tests.dynamics.differences import by_q, by_vector, off
from tests.dynamics.passives import with_physics
from tests.dynamics.zoo import BUILT_IN, RANDOM, SPECIAL, pushes
from tests.sweeps.models import every_joint_type

#: Bounds: of differences, of what is the same but for rounding, of changes against gradients.
BY_DIFFERENCES, SAME, ADJOINT = 1e-8, 1e-9, 1e-12
#: The step of differences by qd: dry friction is smooth over a hundredth of a rad/s.
STEP = 1e-3
#: What a law found: its name, how far off it is, and its bound.
Found = tuple[str, float, float]
BASE = hinge.BaseMotion(
    angular_velocity=(0.3, -0.2, 0.5), angular_acceleration=(0.1, 0.4, -0.3), acceleration=(1.0, -2.0, 0.5)
)


class Subject:
    """A robot in one state, with the vectors of a call."""

    def __init__(self, robot: Robot, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.robot, self.rng = robot, rng
        self.q = hinge.random_configuration(robot, rng)
        self.qd, self.qdd, self.tau, self.c = rng.standard_normal((4, robot.nv))
        self.mass = hinge.mass_matrix(robot, self.q)
        self.scale = max(1.0, float(np.abs(self.mass).max(initial=0.0)))

    def by_q(self, f: Callable[[Any], Any]) -> np.ndarray:
        """Return differences by q."""
        return by_q(self.robot, f, self.q, at_once=True)


def dynamics(s: Subject, label: str, **options: Any) -> Iterator[Found]:
    """Yield the derivatives of inverse and forward dynamics with options of a call."""
    r, q, qd, qdd, tau = s.robot, s.q, s.qd, s.qdd, s.tau
    d = hinge.inverse_dynamics_derivatives(r, q, qd, qdd, wrt=("q", "qd", "qdd"), **options)
    wanted = s.by_q(lambda x: hinge.inverse_dynamics(r, x, qd, qdd, **options))
    yield f"inverse dynamics by q, {label}", off(d.q, wanted), BY_DIFFERENCES
    wanted = by_vector(lambda x: hinge.inverse_dynamics(r, q, x, qdd, **options), qd, STEP, at_once=True)
    yield f"inverse dynamics by qd, {label}", off(d.qd, wanted), BY_DIFFERENCES
    yield f"inverse dynamics by qdd is the mass matrix, {label}", off(d.qdd, s.mass), ADJOINT
    f = hinge.forward_dynamics_derivatives(r, q, qd, tau, **options)
    # Accelerations are judged by the forces that they stand for: what the condition of 𝓜 takes is not theirs.
    wanted = s.by_q(lambda x: hinge.forward_dynamics(r, x, qd, tau, **options))
    yield f"forward dynamics by q, {label}", off(s.mass @ f.q, s.mass @ wanted), BY_DIFFERENCES
    wanted = by_vector(lambda x: hinge.forward_dynamics(r, q, x, tau, **options), qd, STEP, at_once=True)
    yield f"forward dynamics by qd, {label}", off(s.mass @ f.qd, s.mass @ wanted), BY_DIFFERENCES
    yield f"forward dynamics by tau is 𝓜⁻¹, {label}", off(s.mass @ f.tau, np.eye(r.nv)), SAME
    d = hinge.inverse_dynamics_derivatives(r, q, qd, f.qdd, **options)
    yield f"𝓜 ∂FD + ∂ID = 0 by q, {label}", off(s.mass @ f.q, -d.q), SAME
    yield f"𝓜 ∂FD + ∂ID = 0 by qd, {label}", off(s.mass @ f.qd, -d.qd), SAME


def adjoint(s: Subject) -> Iterator[Found]:
    """Yield changes along directions against gradients."""
    r = s.robot
    for verb, last in (("inverse_dynamics", "qdd"), ("forward_dynamics", "tau"), ("coriolis_force", None)):
        names = ["q", "qd"] + ([last] if last else [])
        u = [s.tau] if last else []
        along = {n: s.rng.standard_normal(r.nv) for n in names}
        push, pull = hinge.jvp(verb, r), hinge.vjp(verb, r)
        _, change = push(s.q, s.qd, *u, **{f"d_{n}": x for n, x in along.items()})
        _, grads = pull(s.q, s.qd, *u, s.c)
        size = sum(np.abs(grads[n]) @ np.abs(along[n]) for n in names) + np.abs(s.c) @ np.abs(change)
        gap = abs(s.c @ change - sum(grads[n] @ along[n] for n in names)) / max(1.0, size)
        yield f"changes and gradients are adjoint, {verb}", float(gap), ADJOINT


def energies(s: Subject) -> Iterator[Found]:
    """Yield gradients of the energies, and where derivatives of gravity are symmetric."""
    r, q, qd = s.robot, s.q, s.qd
    wanted = s.by_q(lambda x: hinge.potential_energy(r, x))
    yield "gradient of the potential energy", off(hinge.gravity_force(r, q), wanted), BY_DIFFERENCES
    wanted = s.by_q(lambda x: hinge.kinetic_energy(r, x, qd))
    yield (
        "gradient of the kinetic energy",
        off(hinge.gradient("kinetic_energy", r)(q, qd), wanted),
        BY_DIFFERENCES,
    )
    d = hinge.compile({"by_q": hinge.derivative("gravity_force", "q")}, r)(q)
    yield "gravity by q", off(d, s.by_q(lambda x: hinge.gravity_force(r, x))), BY_DIFFERENCES
    if all(isinstance(j.type, joints.VectorJoint) for j in r.joints):
        yield "gravity by q is symmetric", off(d, d.T), ADJOINT


def determinant(s: Subject) -> Iterator[Found]:
    """Yield the gradient of log det 𝓜 against its trace, which takes no sweeps."""
    found = hinge.log_determinant_gradient(s.robot, s.q)
    wanted = s.by_q(lambda x: hinge.log_determinant(s.robot, x))
    yield "gradient of log det 𝓜", off(found, wanted), BY_DIFFERENCES
    rates = hinge.mass_matrix_derivatives(s.robot, s.q)
    traced = np.einsum("ij,ijk->k", hinge.mass_matrix_inverse(s.robot, s.q), rates)
    yield "gradient of log det 𝓜 is tr 𝓜⁻¹ ∂𝓜", off(found, traced), SAME


def matrices(s: Subject) -> Iterator[Found]:
    """Yield derivatives of the mass matrix and of the momentum, and the Coriolis matrix."""
    r, q, qd = s.robot, s.q, s.qd
    whole = hinge.mass_matrix_derivatives(r, q)
    yield "mass matrix by q", off(whole, s.by_q(lambda x: hinge.mass_matrix(r, x))), BY_DIFFERENCES
    rate, C = hinge.mass_matrix_derivatives(r, q, along=qd), hinge.coriolis_matrix(r, q, qd)
    yield "mass matrix along qd", off(rate, whole @ qd), ADJOINT
    yield "Coriolis matrix times qd", off(C @ qd, hinge.coriolis_force(r, q, qd)), ADJOINT
    yield "rate of 𝓜 less 2 C is skew", off(rate - 2 * C, (2 * C - rate).T), ADJOINT
    if r.mass > 0:
        d = hinge.centroidal_momentum_derivatives(r, q, qd)
        wanted = s.by_q(lambda x: hinge.centroidal_momentum(r, x, qd))
        yield "centroidal momentum by q", off(d.q, wanted), BY_DIFFERENCES


def kinematics(s: Subject) -> Iterator[Found]:
    """Yield derivatives of the motion of a frame."""
    r, q, qd, qdd = s.robot, s.q, s.qd, s.qdd
    frame = r.frames[-1].name if r.frames else r.bodies[-1].name
    for axes in ("body", "world", "world-aligned"):
        at: dict[str, Any] = {"frame": frame, "expressed": axes}
        d = hinge.velocity_derivatives(r, q, qd, **at)
        wanted = s.by_q(lambda x, at=at: hinge.velocities(r, x, qd, **at))
        yield f"velocity by q, {axes}", off(d.q, wanted), BY_DIFFERENCES
        jacobian = hinge.jacobian(r, q, **at)
        yield f"velocity by qd is the Jacobian, {axes}", off(d.qd, jacobian), ADJOINT
        d = hinge.acceleration_derivatives(r, q, qd, qdd, **at)
        wanted = s.by_q(lambda x, at=at: hinge.accelerations(r, x, qd, qdd, **at))
        yield f"acceleration by q, {axes}", off(d.q, wanted), BY_DIFFERENCES
        wanted = by_vector(lambda x, at=at: hinge.accelerations(r, q, x, qdd, **at), qd, STEP, at_once=True)
        yield f"acceleration by qd, {axes}", off(d.qd, wanted), BY_DIFFERENCES
        wanted = s.by_q(lambda x, at=at: hinge.jacobian(r, x, **at))
        yield f"Jacobian by q, {axes}", off(hinge.jacobian_derivatives(r, q, **at), wanted), BY_DIFFERENCES


def hybrid(s: Subject, first: int = 0, label: str = "", *, given: bool = False) -> Iterator[Found]:
    """Yield derivatives of hybrid dynamics with every second joint prescribed, or `given` as an input."""
    r, q, qd, qdd, tau = s.robot, s.q, s.qd, s.qdd, s.tau
    names = [j.name for j in r.independent if j.nv and not j.depends][first::2]
    parts = expression("hybrid_dynamics").expressions
    mask = np.zeros(r.nv)
    for name in names:
        mask[r.joint(name).qd_slice] = 1.0

    def wanted(part: int) -> Callable[..., Any]:
        def at(x: Any = q, v: Any = qd) -> Any:
            return hinge.hybrid_dynamics(r, x, v, tau=tau, qdd=qdd, prescribed=names)[part]

        return at

    for part, (name, e) in enumerate(parts.items()):
        split = None if given else names
        found = hinge.compile({n: hinge.derivative(e, n) for n in ("q", "qd")}, r, prescribed=split)
        inputs = {"qd": qd, "qdd": qdd, "tau": tau, "held": mask}
        d = found.evaluate(q, {n: x for n, x in inputs.items() if found.takes(n)})
        f = wanted(part)
        yield f"hybrid dynamics, {name} by q{label}", off(d["q"], s.by_q(f)), BY_DIFFERENCES
        by_rates = by_vector(lambda v, f=f: f(v=v), qd, STEP, at_once=True)
        yield f"hybrid dynamics, {name} by qd{label}", off(d["qd"], by_rates), BY_DIFFERENCES


def of_followers(s: Subject) -> Iterator[Found]:
    """Yield derivatives of hybrid dynamics where joints follow others: these prescribed, or those beside."""
    yield from hybrid(s, 0, ", followers")
    yield from hybrid(s, 1, ", followers")
    yield from hybrid(s, 0, ", followers, set given", given=True)


def laws(s: Subject, turn: int) -> Iterator[Found]:
    """Yield the laws of a robot: some of all robots, others in turn."""
    yield from dynamics(s, "plain")
    yield from adjoint(s)
    yield from energies(s)
    yield from determinant(s)
    others = [
        lambda: dynamics(s, "moving base", base=BASE),
        lambda: dynamics(s, "pushed, passive", passive=True, **pushes(s.robot)),
        lambda: matrices(s),
        lambda: kinematics(s),
        lambda: hybrid(s),
    ]
    if s.robot.is_embedded:
        yield from of_followers(s)
        others = [others[0], lambda: dynamics(s, "passive", passive=True), *others[2:]]
    for k in range(2):
        yield from others[(turn + 2 * k) % len(others)]()


def subjects() -> dict[str, Callable[[], Robot]]:
    """Return robots by name."""
    found = {name: f for name, f in {**BUILT_IN, **RANDOM, **SPECIAL}.items() if name != "nothing_moves"}
    found |= {f"every_joint{k}": lambda k=k: every_joint_type(k).robot for k in range(2)}
    found |= {f"random{k}": lambda r=r: r for k, r in enumerate(random_robots(8, bodies=6))}
    found |= {f"coupled{k}": lambda k=k: embed_couplings(random_coupled(6, k)) for k in (0, 1, 2, 3)}
    found |= {f"sprung{k}": lambda k=k: with_physics(robots.random_tree(5, k), k) for k in range(3)}
    found |= {n: lambda n=n: hinge.embed_loops(getattr(robots, n)()) for n in ("four_bar", "slider_crank")}
    return found


class Table:
    """How often each law was asked, and its worst."""

    def __init__(self) -> None:
        self.start, self.worst, self.counts = time.perf_counter(), dict[str, Found](), dict[str, int]()
        self.kinds, self.broken, self.robots = set[str](), list[str](), 0

    def add(self, name: str, robot: Robot) -> None:
        """Ask the laws of a robot; which ones of those that go in turn depends on how many came before."""
        for law, error, bound in laws(Subject(robot, 1), self.robots):
            self.counts[law] = self.counts.get(law, 0) + 1
            if error >= self.worst.get(law, ("", -1.0, 0.0))[1]:
                self.worst[law] = name, error, bound
            if not error <= bound:
                self.broken.append(f"{name}: {law}: off by {error:.1e}")
        self.kinds |= {j.type.kind for j in robot.joints}
        self.robots += 1

    def show(self) -> None:
        """Print it."""
        for law, (name, error, bound) in self.worst.items():
            print(f"{law:52} {self.counts[law]:4} times, off by at most {error:.1e} of {bound:g}, {name}")
        print("\n".join(self.broken))
        seconds, asked = time.perf_counter() - self.start, sum(self.counts.values())
        print(f"{self.robots} robots, {asked} laws, {len(self.broken)} broken, {seconds:.0f} s")
        print(f"joint types: {len(self.kinds & set(joints.JOINT_TYPES))} of {len(joints.JOINT_TYPES)}")


def main(names: list[str]) -> int:
    """Print the table, when interrupted that of the robots so far; exit with 1 if a law is broken."""
    table, chosen = Table(), subjects()
    try:
        for name in names or chosen:
            table.add(name, chosen[name]())
            print(f"{name}: {len(table.broken)} broken", file=sys.stderr, flush=True)
            forget()
    except KeyboardInterrupt:
        print("interrupted")
    table.show()
    return 1 if table.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
