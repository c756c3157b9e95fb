"""`hinge bench`: time the main verbs for a robot on this machine."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from hinge.cli.output import table, write, write_json
from hinge.cli.robot_argument import add_robot, robot_of
from hinge.dynamics import (
    forward_dynamics,
    forward_kinematics,
    gravity_force,
    inverse_dynamics,
    jacobian,
    mass_matrix,
)
from hinge.errors import CommandLineError
from hinge.model import Robot, random_configuration
from hinge.sim import Bar
from hinge.targets import set_threads, threads

DESCRIPTION = """\
Time the main verbs for a robot on this machine: calls with one state, and with a batch of states on one
thread and on all. The numbers are nanoseconds per state, medians of repeated calls.

  hinge bench panda                     a table
  hinge bench arm.urdf --json           as JSON
  hinge bench chain:50 --states 1000    with batches of another size

Other running programs disturb the result. make bench, in the source, compares with other libraries.
"""
#: Seconds for each measurement, fewest repetitions, and shortest repetition in seconds.
SPENT, LEAST, LONG = 0.25, 5, 2e-4


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge bench`."""
    add_robot(parser, default="panda")
    parser.add_argument(
        "--states", type=int, default=4096, metavar="N", help="states in a batch (default: 4096)"
    )
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def run(arguments: argparse.Namespace) -> None:
    """Measure, and show a table."""
    if arguments.states < 1:
        raise CommandLineError(f"--states: expected an integer ≥ 1, got {arguments.states}")
    robot = robot_of(arguments.robot, floating=arguments.floating)
    found: dict[str, dict[str, float]] = {}
    cores = threads()
    with _final_code(), Bar("verbs", quiet=arguments.quiet) as bar:
        single, batch = calls(robot, None), calls(robot, arguments.states)
        for k, name in enumerate(single):
            bar(k, len(single))
            found[name] = _measured(single[name], batch[name], arguments.states)
        bar(len(single), len(single))
    if arguments.json:
        write_json({"robot": robot.name, "states": arguments.states, "threads": cores, "ns_per_state": found})
        return
    heads = {"single": "one", "one_thread": "batch, 1 thread", "all_threads": f"batch, {cores} threads"}
    lines = [(name, *(f"{row[k]:.0f}" for k in heads)) for name, row in found.items()]
    write(f"{robot.name}, nv = {robot.nv}: nanoseconds per state; batches of {arguments.states}\n")
    write(table(("verb", *heads.values()), lines, right=(1, 2, 3)))


@contextmanager
def _final_code() -> Generator[None]:
    """Let first calls wait for final machine code, unless the environment says something about it."""
    is_free = "HINGE_WAIT" not in os.environ
    if is_free:
        os.environ["HINGE_WAIT"] = "1"
    try:
        yield
    finally:
        if is_free:
            del os.environ["HINGE_WAIT"]


def calls(robot: Robot, states: int | None) -> dict[str, Callable[[], Any]]:
    """Return calls of the main verbs, for one state or a batch."""
    rng = np.random.default_rng(0)
    batch = () if states is None else (states,)
    q = random_configuration(robot, rng, size=batch)
    qd, u = rng.standard_normal((2, *batch, robot.nv))
    tip = robot.bodies[-1].name
    return {
        "forward_dynamics": lambda: forward_dynamics(robot, q, qd, u),
        "inverse_dynamics": lambda: inverse_dynamics(robot, q, qd, u),
        "mass_matrix": lambda: mass_matrix(robot, q),
        "gravity_force": lambda: gravity_force(robot, q),
        "forward_kinematics": lambda: forward_kinematics(robot, q, tip),
        "jacobian": lambda: jacobian(robot, q, tip),
    }


def _measured(single: Callable[[], Any], batch: Callable[[], Any], states: int) -> dict[str, float]:
    try:
        set_threads(1)
        found = {"single": nanoseconds(single), "one_thread": nanoseconds(batch) / states}
    finally:
        set_threads(None)
    return {**found, "all_threads": nanoseconds(batch) / states}


def nanoseconds(f: Callable[[], Any]) -> float:
    """Return the median time of a call, after a first one that compiles."""
    f()
    start = perf_counter()
    f()
    count = max(1, int(LONG / max(perf_counter() - start, 1e-9)))
    times: list[float] = []
    end = perf_counter() + SPENT
    while len(times) < LEAST or perf_counter() < end:
        start = perf_counter()
        for _ in range(count):
            f()
        times.append((perf_counter() - start) / count)
    return 1e9 * median(times)
