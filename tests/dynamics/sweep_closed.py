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
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import hinge
from hinge import dynamics, reference, robots
from hinge.model.joints import JOINT_TYPES
from hinge.testing import closed_state, random_state
from tests.dynamics.closed_cases import comparisons, embedded_ones, laws, off, random_case
from tests.dynamics.closed_twins import cut_anywhere, held_or_carried
from tests.oracles.closed_arms import constrained, two_arms

TREES, STATES, BOUND, WORKERS = 24, 4, 1e-9, 2
Job = tuple[str | int, ...]
BUILT_IN = ("four_bar", "slider_crank", "stewart_platform", "delta", "two_pandas_with_plate")
CLOSING = [k for k, t in JOINT_TYPES.items() if t().reactions is not None and k != "fixed"]


def main(*, quick: bool = False) -> int:
    """Print the table; the exit code is 1 when a difference is too large."""
    start, errors, names = time.perf_counter(), defaultdict[str, list[float]](list), set[str]()
    worst: dict[str, str] = {}
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        for (what, *_), (found, kinds) in zip(jobs := _jobs(quick), pool.map(_done, jobs), strict=True):
            names |= kinds
            for kind, error in found:
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


def _jobs(quick: bool) -> list[Job]:
    """Return what is to be done: names, a kind of work, and its arguments."""
    both = ("llvm",) if quick else ("llvm", "numpy")
    seeds = range(TREES // (4 if quick else 1))
    kinds = ["revolute", "soft finger"] if quick else [*CLOSING, "soft finger"]
    return [
        *((name, "built in", name, target) for name in BUILT_IN for target in both),
        *((f"random {seed}", "random", seed, "numpy" if seed % 4 else "llvm") for seed in seeds),
        *((f"ring {seed}", "ring", seed) for seed in ((0,) if quick else (0, 1))),
        *((f"arms, {kind}", "arms", kind) for kind in kinds),
        ("two arms", "Pinocchio", 2 if quick else 10),
    ]


def _done(job: Job) -> tuple[list[tuple[str, float]], set[str]]:
    """Return what a job compares, and the kinds of its closures; in a process of its own."""
    warnings.simplefilter("ignore")
    kinds = set[str]()
    match job:
        case (_, "built in", str(name), str(target)):
            robot = getattr(robots, name)()
            q = robots.two_pandas_start(robot) if "pandas" in name else hinge.neutral(robot)
            found = list(_one(robot, q, 1, target))
        case (_, "random", int(seed), str(target)):
            robot, q = random_case(seed, 6 + seed % 3)
            kinds = {c.joint.kind for c in robot.closures}
            found = list(_one(robot, q, seed, target))
        case (_, "ring", int(seed)):
            found = list(cut_anywhere((seed,)))
        case (_, "arms", str(kind)):
            found = list(held_or_carried([kind], (1,)))
        case (_, _, count):
            found = list(pinocchio_ones(int(count)))
    dynamics.forget()
    return found, kinds


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
    sys.exit(main(quick="--quick" in sys.argv[1:]))
