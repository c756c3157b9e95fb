"""Factors, estimation and loads against explicit matrices: python -m tests.dynamics.sweep_factors [robots].

For each item its verb, its expression, the cost of what was derived, and the largest error over the zoo and
over random trees with every joint type. The judges are matrices of `hinge.targets` in the bodies' own frames,
made from the definitions of the letters, and the book.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hinge import dynamics, reference
from hinge.algebra import (
    E0,
    B,
    Body,
    D,
    Di,
    E,
    Expr,
    G,
    H,
    K,
    M,
    P,
    Ups,
    a,
    b,
    f_ext,
    g,
    phi,
    psi,
    qdd,
    tau,
)
from hinge.binding import Needs, bind
from hinge.dynamics import CATALOGUE, SEVERAL, Parts
from hinge.model import Robot
from hinge.pipeline import derive
from hinge.robots import random_tree
from hinge.spatial import Array
from hinge.targets import SingularError, System, system_of
from hinge.testing import State, random_state
from tests.dynamics.sweep_fuzz import target
from tests.dynamics.zoo import ZOO, pushes, robot_of
from tests.expressions import LOADED, MASS

#: The largest error, relative to the largest entry; what is solved with 𝓜 is judged after a product with it.
BOUND = 1e-9
RANDOM_TREES = 12
#: Samples for the covariance, and how many standard deviations an entry of it may be off.
SAMPLES, DEVIATIONS = 20000, 5.0

_ACCELERATION = a + E0.T @ g
_FORCE = b - B @ f_ext
_QDD = MASS.inv() @ (tau - LOADED)
_ALPHA = phi.T @ (H.T @ _QDD + _ACCELERATION)
_STATE = psi @ (K @ tau + P @ _ACCELERATION + _FORCE) - P @ _ACCELERATION
#: What the parts of verbs are by their definitions, without what the filter makes of them.
MEANING: dict[str, Expr] = {
    "state": phi @ (M @ _ALPHA + _FORCE) - P @ _ALPHA,
    "innovations": tau - H @ _STATE,
    "residuals": _QDD + G.T @ (E.T @ _ALPHA + _ACCELERATION),
    "costates": _ALPHA,
    "smoothed": phi @ (M @ _ALPHA + _FORCE),
    "qdd": _QDD,
    "forces": MASS.inv() @ tau,
    "bias_forces": -(MASS.inv() @ H @ phi @ _FORCE),
    "bias_accelerations": -(MASS.inv() @ H @ phi @ M @ phi.T @ _ACCELERATION),
    "P": P,
    "P_updated": P - P @ H.T @ Di @ H @ P,
    "D": D,
    "G": G,
    "Lambda": psi.T @ H.T @ Di @ H @ psi,
    "S": P - P @ Ups @ P,
    "c": MASS.inv(),
    "d": K.T @ Ups @ (E - K @ H) - Di @ H,
}


def dense(robot: Robot, s: State, options: Mapping[str, Any]) -> System:
    """Return the matrices of a robot at one state, forces and gravity as options of the verbs."""
    external = options.get("external", {})
    down = options.get("gravity", robot.gravity)
    given = {
        "q": s.q, "qd": s.qd, "qdd": s.qdd, "tau": s.tau, "x": s.qdd,
        "f_ext": np.concatenate([np.zeros(0), *external.values()]),
        "g": np.concatenate([np.zeros(3), -np.asarray(down)]),
    }  # fmt: skip
    return system_of(bind(robot, Needs(own_frames=True), nodes=tuple(external)), given)


def error(ours: Array, theirs: Array) -> float:
    """Return the largest difference relative to the largest entry."""
    assert np.shape(ours) == np.shape(theirs), (np.shape(ours), np.shape(theirs))
    size = float(np.max(np.abs(theirs), initial=0.0))
    return float(np.max(np.abs(ours - theirs), initial=0.0)) / max(size, 1e-3)


def shown(robot: Robot, system: System, e: Expr) -> Array:
    """Return a vector or block-diagonal operator as the verbs show it: without rotors, body by body."""
    whole_ = system.matrix(e)
    at = system.bounds(Body)
    bodies = [np.arange(k, k + 6) for k in at[:-1]]
    if e.is_vector:
        return whole_[np.concatenate(bodies)].reshape(-1, 6) if e.range is Body else whole_[:, 0]
    if e.range is Body and e.domain is Body:
        return np.array([whole_[np.ix_(i, i)] for i in bodies])
    slices = [j.qd_slice for j in robot.joints]
    found = np.zeros((6, robot.nv) if e.range is Body else (robot.nv, 6 if e.domain is Body else robot.nv))
    for rows, dofs in zip(bodies, slices, strict=True):
        if e.range is Body:
            found[:, dofs] = whole_[rows, dofs]
        elif e.domain is Body:
            found[dofs] = whole_[dofs][:, rows]
        else:
            found[dofs, dofs] = whole_[dofs, dofs]
    return found


# Items.


@dataclass(frozen=True)
class Item:
    """Something that is checked: the verb that gives it, and how far it is from the explicit matrices."""

    name: str
    verb: str
    judge: Callable[[Robot, State, System, Mapping[str, Any]], float]
    loaded: bool = False


def _mass_of(system: System) -> Array:
    return system.matrix(MASS)


def _factors(part: str) -> Callable[..., float]:
    def judge(robot: Robot, s: State, system: System, _: Mapping[str, Any]) -> float:
        found, m = dynamics.mass_factors(robot, s.q), _mass_of(system)
        products = {
            "factor": (found.factor @ found.diagonal @ found.factor.T, m),
            "diagonal": (found.diagonal, system.matrix(D)),
            "inverse": (found.inverse @ found.factor, np.eye(robot.nv)),
        }
        return error(*products[part])

    return judge


def _one(verb: str, *vectors: str) -> Callable[..., float]:
    def judge(robot: Robot, s: State, system: System, _: Mapping[str, Any]) -> float:
        ours = getattr(dynamics, verb)(robot, s.q, *(getattr(s, v) for v in vectors))
        return error(ours, np.asarray(system.evaluate(CATALOGUE[verb])))

    return judge


def _solved(robot: Robot, s: State, system: System, _: Mapping[str, Any]) -> float:
    return error(_mass_of(system) @ dynamics.mass_solve(robot, s.q, s.qdd), s.qdd)


def _rooted(robot: Robot, s: State, system: System, _: Mapping[str, Any]) -> float:
    root, inverse = dynamics.mass_root(robot, s.q), dynamics.mass_root_inverse(robot, s.q)
    return max(error(root @ root.T, _mass_of(system)), error(inverse @ root, np.eye(robot.nv)))


def _energy(robot: Robot, s: State, system: System, _: Mapping[str, Any]) -> float:
    nu = dynamics.quasi_velocities(robot, s.q, s.qd)
    back = dynamics.from_quasi_velocities(robot, s.q, nu)
    energy = s.qd @ _mass_of(system) @ s.qd
    return max(abs(nu @ nu - energy) / max(energy, 1e-3), error(back, s.qd))


def _log(robot: Robot, s: State, system: System, _: Mapping[str, Any]) -> float:
    wanted = np.linalg.slogdet(_mass_of(system))[1]
    return abs(float(dynamics.log_determinant(robot, s.q)) - wanted) / max(abs(wanted), 1.0)


def covariance(robot: Robot, q: Array, kT: float, samples: int = SAMPLES) -> float:
    """Return how far the covariance of samples is from kT 𝓜⁻¹, in standard deviations of its entries."""
    v = dynamics.sample_velocities(robot, q, kT, seed=7, size=samples)
    c = kT * np.linalg.inv(reference.mass_matrix(robot, q))
    d = np.diagonal(c)
    spread = np.sqrt((c**2 + np.outer(d, d)) / samples)
    return float(np.max(np.abs(v.T @ v / samples - c) / spread, initial=0.0))


def _part(verb: str, part: str) -> Callable[..., float]:
    def judge(robot: Robot, s: State, system: System, options: Mapping[str, Any]) -> float:
        ours = getattr(getattr(dynamics, verb)(robot, s.q, s.qd, s.tau, **options), part)
        theirs = shown(robot, system, MEANING[part])
        if part in ("qdd", "forces", "bias_forces", "bias_accelerations"):
            m = _mass_of(system)  # what the condition of 𝓜 takes away is not the verb's
            return error(m @ ours, m @ theirs)
        return error(ours, theirs)

    return judge


def _loads(given: str) -> Callable[..., float]:
    def judge(robot: Robot, s: State, system: System, options: Mapping[str, Any]) -> float:
        acceleration = qdd if given == "qdd" else _QDD
        e = phi @ (M @ phi.T @ (H.T @ acceleration + _ACCELERATION) + _FORCE)
        theirs = shown(robot, system, e)
        ours = dynamics.hinge_forces(robot, s.q, s.qd, **{given: getattr(s, given)}, **options)
        moved = [j.outer.inv().force(ours.total[k]) for k, j in enumerate(robot.joints)]
        found = [error(np.array(moved), theirs), error(ours.effort + ours.reaction, ours.total)]
        for k, j in enumerate(robot.joints):
            work = j.type.subspace(s.q[j.q_slice]).T @ ours.reaction[k]
            found.append(
                float(np.max(np.abs(work), initial=0.0)) / max(np.abs(theirs).max(initial=0.0), 1e-3)
            )
        return max(found)

    return judge


def items() -> Iterator[Item]:
    """Yield everything that is checked."""
    for part in ("factor", "diagonal", "inverse"):
        yield Item(f"mass_factors.{part}", "mass_factors", _factors(part))
    yield Item("mass_times", "mass_times", _one("mass_times", "qdd"))
    yield Item("mass_solve", "mass_solve", _solved)
    yield Item("mass_root", "mass_root", _one("mass_root"))
    yield Item("mass_root_inverse", "mass_root_inverse", _rooted)
    yield Item("quasi_velocities", "quasi_velocities", _one("quasi_velocities", "qd"))
    yield Item("from_quasi_velocities", "from_quasi_velocities", _energy)
    yield Item("log_determinant", "log_determinant", _log)
    for verb in ("acceleration_shares", "filter_quantities"):
        for part in (*SEVERAL[verb].expressions, *SEVERAL[verb].blocks):
            yield Item(f"{verb}.{part}", verb, _part(verb, part), loaded=True)
    yield Item("hinge_forces, qdd", "hinge_forces", _loads("qdd"), loaded=True)
    yield Item("hinge_forces, tau", "hinge_forces_under", _loads("tau"), loaded=True)


ITEMS = {i.name: i for i in items()}
#: The verbs of these items, and the one that draws samples.
FACTORS = (*dict.fromkeys(i.verb for i in ITEMS.values() if i.verb in dynamics.__all__), "sample_velocities")


def errors(robot: Robot, seed: int = 1, *, pushed: bool = False) -> dict[str, float]:
    """Return the error of every item for a robot at a random state, with forces at frames or without."""
    s = random_state(robot, seed)
    options = pushes(robot) if pushed else {}
    bare, loaded = dense(robot, s, {}), dense(robot, s, options)
    return {
        name: i.judge(robot, s, loaded if i.loaded else bare, options if i.loaded else {})
        for name, i in ITEMS.items()
    }


def expression_of(item: Item) -> str:
    """Return what an item computes, as text."""
    if item.verb in CATALOGUE:
        return str(CATALOGUE[item.verb])
    parts = SEVERAL[item.verb]
    part = item.name.split(".")[-1]
    return str({**parts.expressions, **parts.blocks}.get(part) or next(iter(parts.expressions.values())))


def main() -> int:
    """Print the table."""
    start = time.perf_counter()
    worst: dict[str, tuple[float, str]] = dict.fromkeys(ITEMS, (0.0, ""))
    subjects = {name: robot_of(name) for name in (sys.argv[1:] or ZOO)}
    subjects |= {f"random {n}": random_tree(2 + n % 5, 100 + n) for n in range(RANDOM_TREES)}
    for k, (name, robot) in enumerate(subjects.items()):
        where = f"{name}, {('llvm', 'numpy')[k % 2]}"
        try:
            with target(("llvm", "numpy")[k % 2]):
                found = errors(robot, pushed=k % 4 < 2)
        except SingularError as error:
            print(f"{where}: not judged, {error}", flush=True)
            continue
        passed = time.perf_counter() - start
        print(f"{where}: {max(found.values()):.1e}, {passed:.0f} s", file=sys.stderr, flush=True)
        for item, off in found.items():
            worst[item] = max(worst[item], (off, where))
    print(f"{'item':34} {'largest error':>13}  where")
    for name, item in ITEMS.items():
        parts = SEVERAL.get(item.verb) or Parts({item.verb: CATALOGUE[item.verb]})
        derived = replace(derive(parts.expressions), blocks=parts.blocks)
        print(f"{name:34} {worst[name][0]:13.1e}  {worst[name][1]}")
        print(f"    {item.verb}: {expression_of(item)}\n    {derived.cost}")
    sampled = {}
    for name in ("panda", "partial_rotors", "every_joint"):
        robot = robot_of(name)
        sampled[name] = covariance(robot, random_state(robot, 3).q, 0.3)
        print(f"sample_velocities, {name}: covariance off by {sampled[name]:.1f} standard deviations at most")
    bad = [n for n, (off, _) in worst.items() if not off < BOUND]
    bad += [n for n, off in sampled.items() if not off < DEVIATIONS]
    kinds = {j.type.kind for robot in subjects.values() for j in robot.joints}
    print(f"{len(subjects)} robots with {len(kinds)} types of joints, {len(ITEMS)} items", end=", ")
    print(f"out of bounds: {', '.join(bad) or 'none'}, {time.perf_counter() - start:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
