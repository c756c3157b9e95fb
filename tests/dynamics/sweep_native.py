"""The native target against the NumPy target: python -m tests.dynamics.sweep_native.

Every verb on robots with every joint type, and other expressions, in each shape, width and precision.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import cycle, product
from typing import Any

import numpy as np

from hinge import reference, robots
from hinge.algebra import (
    E0,
    B,
    Body,
    Expr,
    H,
    Hp,
    Joint,
    K,
    Leaf,
    M,
    Node,
    One,
    Q,
    Structure,
    a,
    b,
    f_ext,
    g,
    leaf,
    leaves,
    logdet,
    passive,
    phi,
    psi,
    qd,
    qdd,
    qdd_a,
    tau,
    tau_p,
)
from hinge.dynamics import BODY_ACCELERATIONS, CATALOGUE, FORWARD_DYNAMICS, Compiled, compile
from hinge.model import Builder, Robot, joints
from hinge.spatial import Array
from hinge.testing import State, random_state
from tests.dynamics.operational import OPERATIONAL
from tests.dynamics.zoo import robot_of, some_frames, tip_of
from tests.expressions import BIAS, COMPLIANCE, JACOBIAN, M_AA, M_AP, MASS, ONE, bias

SHAPES = ("U", "H", "R")
WIDTHS = (1, 2, 4, 8)
PRECISIONS = ("float64", "float32")
#: The largest error that may be, relative to the largest entry of a state's result.
BOUNDS = {"float64": 1e-12, "float32": 1e-4}
#: As many states as no width divides.
STATES = 11

S_AP = M_AP @ passive.mass.inv()
S_AA = M_AA - S_AP @ M_AP.T
SOFT = (ONE + MASS).inv()
GEAR = leaf("gear", Joint, Joint, Structure.DIAGONAL)
SPRING = leaf("spring", Node, Node, Structure.DIAGONAL)


# What is compiled, and for whom.


def plain(robot: Robot) -> dict[str, Any]:
    """Return no options."""
    return {}


def at_tip(robot: Robot) -> dict[str, Any]:
    """Return options with the robot's tip as the only node."""
    return {"nodes": [tip_of(robot)]}


def at_frames(axes: str) -> Callable[[Robot], dict[str, Any]]:
    """Return options with several nodes, seen in some axes."""
    return lambda robot: {"nodes": some_frames(robot), "expressed": axes}


def held(robot: Robot) -> dict[str, Any]:
    """Return options that prescribe every second joint."""
    return {"prescribed": [j.name for j in robot.joints[1::2]]}


def alternating(length: int) -> Robot:
    """Return a chain whose joints turn about x and y and slide along z in turn."""
    b, parent = Builder("alternating"), None
    for k in range(length):
        kind = (joints.Revolute((1, 0, 0)), joints.Revolute((0, 1, 0)), joints.Prismatic((0, 0, 1)))[k % 3]
        inertia = robots.solid_rod(1.0 + 0.1 * k, 0.2, 0.02, (0.01, 0.02 * k, 0.1))
        parent = b.body(f"b{k}", joint=kind, parent=parent, position=(0.1, 0.02, 0.3), inertia=inertia)
    return b.build()


def comb(legs: int, depth: int) -> Robot:
    """Return equal legs on a hub that floats."""
    b, rod = Builder("comb"), robots.solid_rod(1.0, 0.2, 0.02, (0, 0, 0.1))
    b.body("hub", joint=joints.Free(), inertia=rod)
    for leg in range(legs):
        parent = "hub"
        for k in range(depth):
            kind = joints.Revolute((k % 2, 1 - k % 2, 0))
            place = (0.1 * (leg + 1), 0.2, 0.3)
            parent = b.body(f"leg{leg}_{k}", joint=kind, parent=parent, position=place, inertia=rod)
    return b.build()


#: Small robots that have together every joint type.
ROBOTS = (
    "double_pendulum", "chain", "framed", "partial_rotors", "spherical", "planar", "screw", "free",
    "spherical_angles", "universal", "cylindrical", "wheels", "branched", "rolling_ball", "wheeled",
)  # fmt: skip
OWN: dict[str, Callable[[], Robot]] = {
    "wheels": lambda: robots.random_tree(4, 2, ["continuous", "fixed", "translational"]),
    "branched": lambda: robots.random_tree(5, 8, ["prismatic", "revolute", "continuous"], branching=0.9),
}
#: Robots long enough for loops, which are not unrolled.
LARGE = ("quadruped", "alternating", "comb", "long")
OWN |= {
    "alternating": lambda: alternating(12),
    "comb": lambda: comb(3, 4),
    "long": lambda: robots.random_tree(10, 4, ["revolute"], branching=0.0),
}
#: Those that expressions beside the catalogue are compiled for: solves of 5, 9, 12 and 18 unknowns.
FEW = ("branched", "spherical", "partial_rotors", "free")


@cache
def native_robot(name: str) -> Robot:
    """Return a robot of the sweep, the same object each time."""
    return OWN[name]() if name in OWN else robot_of(name)


def shapes_of(robot: str) -> tuple[str, ...]:
    """Return the shapes that code for a robot is tried in."""
    return SHAPES[1:] if robot in LARGE else SHAPES


def widths_of(robot: str) -> tuple[int, ...]:
    """Return how many states at once code for a robot is tried with."""
    return WIDTHS[::2] if robot in LARGE else WIDTHS


@dataclass(frozen=True)
class Subject:
    """Expressions, the options of `compile` that go with them, and the robots that they are for."""

    name: str
    given: Expr | Mapping[str, Expr]
    options: Callable[[Robot], Mapping[str, Any]] = plain
    robots: tuple[str, ...] = FEW
    gravity: bool = False

    def compiled(self, robot: Robot, **more: Any) -> Compiled:
        """Return the expressions for a robot."""
        return compile(self.given, robot, **self.options(robot), **more)


def _verbs() -> Iterator[Subject]:
    axes = cycle(("body", "world", "world-aligned"))
    for verb, e in CATALOGUE.items():
        options = at_frames(next(axes)) if Q in leaves(e) else at_tip if B in leaves(e) else plain
        if verb in OPERATIONAL:
            yield Subject(verb, e, at_tip, FEW[1:])  # robots whose tip moves in all directions
        else:
            yield Subject(verb, e, options, (*ROBOTS, *LARGE))
    for verb, options in (("bias_force", at_tip), ("gravity_force", plain)):
        yield Subject(f"{verb}, gravity", CATALOGUE[verb], options, gravity=True)


def _others() -> Iterator[Subject]:
    yield Subject("several", {"c": BIAS, "M": MASS, "T": qd.T @ MASS @ qd / 2, "free": MASS.inv() @ tau})
    yield Subject("solve", SOFT @ tau)
    yield Subject("inverse", {"x": SOFT, "y": SOFT @ H @ phi @ H.T})
    yield Subject("solve of a solve", (2 * ONE + MASS).inv() @ SOFT @ tau)
    yield Subject("solves", {"x": SOFT @ tau, "y": (ONE + 2 * MASS).inv() @ (tau + SOFT @ qd)})
    yield Subject("operational-space inertia", COMPLIANCE.inv(), at_tip, FEW[1:])
    yield Subject("log det", {"whole": logdet(MASS), "soft": logdet(M)})
    yield Subject("hybrid", {"aa": S_AA, "ap": S_AP, "pp": passive.mass.inv()}, held)
    yield Subject("passive accelerations", passive.mass.inv() @ (tau_p - bias(Hp)) - S_AP.T @ qdd_a, held)
    yield Subject("gears", {"force": GEAR @ MASS @ qd, "square": GEAR.T @ MASS @ GEAR})
    yield Subject("springs", JACOBIAN.T @ SPRING @ JACOBIAN, lambda robot: {"nodes": some_frames(robot)})
    yield Subject("forces of bodies", phi @ (M @ phi.T @ (H.T @ qdd + a + E0.T @ g) + b))
    yield Subject("operator of bodies", phi.T @ H.T)
    yield Subject("loads of bodies", H @ phi @ leaf("w", Body, One))
    yield Subject("nodes", {"v": Q @ JACOBIAN @ qd, "f": H @ phi @ B @ f_ext}, at_frames("world"))
    yield Subject("factor", ONE - H @ psi @ K)
    yield Subject("input", {"copy": qd, "negative": -qd, "dot": qd.T @ tau})
    yield Subject("constant", {"x": E0 @ E0.T, "one": ONE})
    for name, e in {**FORWARD_DYNAMICS, **BODY_ACCELERATIONS}.items():
        yield Subject(name, e)


VERBS = {s.name: s for s in _verbs()}
OTHERS = {s.name: s for s in _others()}
SUBJECTS = {**VERBS, **OTHERS}


# States, and how far the targets are from each other there.


@cache
def states(robot: str, size: int = STATES) -> State:
    """Return states of a robot whose mass matrix is as well conditioned as can be had."""
    found = random_state(native_robot(robot), 3, 20 * size)
    order = np.argsort(np.linalg.cond(reference.mass_matrix(native_robot(robot), found.q)))[:size]
    return State(*(x[order] for x in (found.q, found.qd, found.qdd, found.tau)))


def arguments(subject: Subject, f: Compiled, s: State, dtype: str) -> dict[str, Array]:
    """Return values of all that a call takes, by name, in one precision."""
    rng, batch = np.random.default_rng(5), s.q.shape[:-1]
    given = {"q": s.q}
    for name, x in f.inputs.items():
        if x is not g:
            known = {"qd": s.qd, "qdd": s.qdd, "tau": s.tau}
            given[name] = known[name] if name in known else _value(f, x, batch, rng)
        elif subject.gravity:
            given["gravity"] = rng.standard_normal((*batch, 3))
    return {name: x.astype(dtype) for name, x in given.items()}


def _value(f: Compiled, x: Leaf, batch: tuple[int, ...], rng: np.random.Generator) -> Array:
    n = f.binding.length(x.range)
    if x.domain is One:
        return rng.standard_normal((*batch, n // 6, 6) if x.range in (Node, Body) else (*batch, n))
    found = np.zeros((*batch, n, n))
    blocks = [slice(k, k + 6) for k in range(0, n, 6)]
    for at in [j.qd_slice for j in f.robot.joints] if x.range is Joint else blocks:
        found[..., at, at] = rng.standard_normal(found[..., at, at].shape)
    return found


def outputs(f: Compiled, given: Mapping[str, Array]) -> dict[str, Array]:
    """Return every result by name."""
    found = f(**given)
    return found if isinstance(found, dict) else {"": found}


@cache
def wanted(subject: str, robot: str, dtype: str) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return arguments, and what the NumPy target makes of them."""
    f = SUBJECTS[subject].compiled(native_robot(robot), target="numpy")
    given = arguments(SUBJECTS[subject], f, states(robot), dtype)
    return given, outputs(f, given)


def error(found: Mapping[str, Array], right: Mapping[str, Array]) -> float:
    """Return the largest difference, relative to the largest entry of the result of that state."""
    worst = 0.0
    for name, x in right.items():
        y = found[name]
        assert y.shape == x.shape and y.dtype == x.dtype, (name, y.shape, x.shape, y.dtype, x.dtype)
        axes = tuple(range(1, x.ndim))
        size = np.abs(x).max(axis=axes, initial=1e-9, keepdims=True)
        off = np.abs(y.astype(np.float64) - x) / size
        worst = max(worst, float(np.max(np.where(np.isfinite(off), off, np.inf), initial=0.0)))
    return worst


def difference(subject: str, robot: str, shape: str, width: int, dtype: str) -> float:
    """Return how far the native target is from the NumPy target."""
    given, right = wanted(subject, robot, dtype)
    f = SUBJECTS[subject].compiled(native_robot(robot), target="llvm", shape=shape, lanes=width)
    return error(outputs(f, given), right)


def differences(subject: str, robot: str) -> Iterator[tuple[tuple[str, int, str], float]]:
    """Yield the same for all shapes, widths and precisions, traced once for each shape; inf if it fails."""
    for shape in shapes_of(robot):
        f = SUBJECTS[subject].compiled(native_robot(robot), target="llvm", shape=shape)
        for width, dtype in product(widths_of(robot), PRECISIONS):
            given, right = wanted(subject, robot, dtype)
            f.program("gravity" not in given).lanes = width
            try:
                off = error(outputs(f, given), right)
            except Exception as e:
                print(f"{subject} for {robot}, {shape}, {dtype} x {width}: {e!r}", file=sys.stderr)
                off = np.inf
            yield (shape, width, dtype), off


def main() -> int:
    """Print the worst errors of each subject, and what is above the bounds."""
    start = time.perf_counter()
    worst, count, bad = dict.fromkeys(PRECISIONS, 0.0), 0, 0
    print(f"{'':28} {'robots':>6} " + " ".join(f"{p:>9}" for p in PRECISIONS))
    for subject in SUBJECTS.values():
        here = dict.fromkeys(PRECISIONS, 0.0)
        for robot in subject.robots:
            print(f"{subject.name} for {robot}, {time.perf_counter() - start:.0f} s", file=sys.stderr)
            for (shape, width, dtype), off in differences(subject.name, robot):
                count += 1
                here[dtype] = max(here[dtype], off)
                if not off <= BOUNDS[dtype]:
                    bad += 1
                    print(f"    {subject.name} for {robot}, {shape}, {dtype} x {width}: off by {off:.1e}")
        print(f"{subject.name:28} {len(subject.robots):6} " + " ".join(f"{here[p]:9.1e}" for p in PRECISIONS))
        worst = {p: max(worst[p], here[p]) for p in PRECISIONS}
    said = ", ".join(f"{p} {x:.1e}" for p, x in worst.items())
    print(f"worst: {said}; {count} combinations, {bad} above the bounds, {time.perf_counter() - start:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
