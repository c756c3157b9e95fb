"""Closed robots by dense matrices, laws and peers: python -m tests.dynamics.sweep_closed [--quick].

Random closed robots with every type of closure, every third with redundant rows, and the built-in ones, along
configurations that close; loops cut at another joint; objects held by two arms or carried by one; Pinocchio's
constraintDynamics. Embedded loops are compared too where the library has them. Every fourth robot is for the
native target, the others, for the sake of time, for NumPy's.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

import hinge
from hinge import dynamics, reference, robots
from hinge.model.joints import JOINT_TYPES
from hinge.testing import closed_state, random_state
from tests.dynamics.closed_cases import comparisons, embedded_ones, laws, off, random_case
from tests.dynamics.closed_twins import cut_anywhere, held_or_carried
from tests.oracles.closed_arms import constrained, two_arms

TREES, STATES, BOUND = 30, 4, 1e-9
BUILT_IN = ("four_bar", "slider_crank", "stewart_platform", "delta", "two_pandas_with_plate")
CLOSING = [k for k, t in JOINT_TYPES.items() if t().reactions is not None and k != "fixed"]


def main(*, quick: bool = False) -> int:
    """Print the table; the exit code is 1 when a difference is too large."""
    start, errors, names = time.perf_counter(), defaultdict[str, list[float]](list), set[str]()
    worst: dict[str, str] = {}
    for what, kind, error in _all(quick, names):
        if not error <= max([0.0, *errors[kind]]):
            worst[kind] = what
        errors[kind].append(error)
    print(f"{'comparison':44} {'count':>6} {'largest':>9}  at")
    for kind, found in sorted(errors.items()):
        print(f"{kind:44} {len(found):6} {max(found):9.1e}  {worst.get(kind, '')}")
    every = [x for found in errors.values() for x in found]
    above = sum(not x <= BOUND for x in every)
    print(f"closures: {', '.join(sorted(names))}; {time.perf_counter() - start:.0f} s")
    print(f"{len(every)} comparisons, {above} above {BOUND:g}, largest {max(every):.1e}")
    return int(above > 0)


def _all(quick: bool, names: set[str]) -> Iterator[tuple[str, str, float]]:
    """Yield where, what, and how far off."""
    for seed in range(TREES // (4 if quick else 1)):
        robot, q = random_case(seed, 6 + seed % 3)
        names |= {c.joint.kind for c in robot.closures}
        yield from _labelled(f"random {seed}", _one(robot, q, seed, "numpy" if seed % 4 else "llvm"))
    for name in BUILT_IN:
        robot = getattr(robots, name)()
        q = robots.two_pandas_start(robot) if "pandas" in name else hinge.neutral(robot)
        for target in ("llvm",) if quick else ("llvm", "numpy"):
            yield from _labelled(name, _one(robot, q, 1, target))
    yield from _labelled("rings", cut_anywhere((0,) if quick else (0, 1)))
    kinds = ["revolute", "soft finger"] if quick else [*CLOSING, "soft finger"]
    yield from _labelled("arms", held_or_carried(kinds, (1,)))
    yield from _labelled("two arms", pinocchio_ones(2 if quick else 10))


def _labelled(what: str, found: Iterator[tuple[str, float]]) -> Iterator[tuple[str, str, float]]:
    for kind, error in found:
        yield what, kind, error
    print(what, file=sys.stderr, flush=True)
    dynamics.forget()


def _one(robot, q, seed: int, target: str) -> Iterator[tuple[str, float]]:
    yield from comparisons(robot, q, seed, target=target, states=STATES)
    yield from laws(robot, q, seed, target=target)
    yield from embedded_ones(robot, q, seed)


def pinocchio_ones(states: int) -> Iterator[tuple[str, float]]:
    """Yield differences to Pinocchio's accelerations and forces, for closures by points and rigid ones."""
    try:
        import pinocchio as pin
    except ImportError:
        return
    arms, model = two_arms(pin)
    for kinds in (("spherical",), ("fixed",), ("spherical", "fixed")):
        for seed in range(states):
            s = random_state(arms, seed)
            robot = arms
            for kind, (inner, outer) in zip(kinds, (("link7", "x_link7"), (None, "link7")), strict=False):
                on = (
                    hinge.Transform.identity()
                    if inner is None
                    else reference.frame_placement(arms, s.q, inner)
                )
                at = reference.frame_placement(arms, s.q, outer) @ on.inv()
                place = {"rotation": at.rotation, "position": at.position}
                robot = hinge.close(robot, inner, outer, joint=JOINT_TYPES[kind](), **place)
            s = closed_state(robot, s.q, seed)
            found = hinge.compile("closed_dynamics", robot, target="numpy")(s.q, s.qd, tau=s.tau)
            theirs, pushed = constrained(pin, model, robot, s)
            yield "Pinocchio: accelerations", off(found["qdd"], theirs)
            wrenches = reference.closure_wrenches(robot, found["forces"])
            for kind, f, push in zip(kinds, wrenches, pushed, strict=False):
                ours = f[3:] if kind == "spherical" else np.concatenate([f[3:], f[:3]])
                yield "Pinocchio: forces", off(ours, push)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main(quick="--quick" in sys.argv[1:]))
