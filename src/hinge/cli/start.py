"""Initial states, control and recording of a simulation, from the command line."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Sequence
from math import ceil, isfinite

import numpy as np
from numpy.typing import NDArray

from hinge.cli.closed import closed_starts
from hinge.cli.ground import free_base, stiffness
from hinge.dynamics import mass_matrix_inverse, settle
from hinge.errors import CommandLineError, ModelWarning
from hinge.model import Robot, neutral, opened, random_configuration
from hinge.sim import PD, GravityCompensation, Law

Array = NDArray[np.float64]
CONTROLS = ("none", "gravity", "hold")
#: Natural frequency of `hold`, in rad/s.
STIFF = 10.0
#: Most recorded times and bytes by default.
TIMES, BYTES = 1000, 200_000_000


def numbers(words: Sequence[str], argument: str, names: Sequence[str]) -> Array | str:
    """Parse numbers separated by spaces or commas, or one of these names."""
    words = [word.strip() for word in words]
    if len(words) == 1 and words[0] in names:
        return words[0]
    parts = [p for word in words for p in word.split(",") if p]
    try:
        found = np.array([float(p) for p in parts])
    except ValueError:
        raise CommandLineError(
            f"{argument}: expected numbers, or {' or '.join(names)}, got {' '.join(words)!r}; "
            f"ROBOT comes before {argument}"
        ) from None
    if not len(found) or not np.isfinite(found).all():
        raise CommandLineError(f"{argument}: expected finite numbers, got {' '.join(words)!r}")
    return found


def start_of(
    robot: Robot, q0: Array | str, qd0: Array | str, *, states: int, seed: int
) -> tuple[Array, Array]:
    """Return q0 and qd0, of shape (nq,) and (nv,) for one state, and (states, …) for several.

    Those of a robot with closures are the nearest that close and fit.
    """
    rng = np.random.default_rng(seed)
    batch = () if states == 1 else (states,)
    if isinstance(q0, str):
        q = random_configuration(robot, rng, size=batch) if q0 == "random" else neutral(robot)
    else:
        q = _spread(q0, robot.nq, "--q0", f"nq of {robot.name}")
    if isinstance(qd0, str):
        qd = rng.standard_normal((*batch, robot.nv))
    else:
        qd = _spread(qd0, robot.nv, "--qd0", f"nv of {robot.name}")
    q, qd = np.broadcast_to(q, (*batch, robot.nq)), np.broadcast_to(qd, (*batch, robot.nv))
    if robot.closures:
        q = closed_starts(robot, q, rng if isinstance(q0, str) else None)
        qd = settle(robot, q, qd)
    return q, qd


def warn_beyond(robot: Robot, q: Array) -> None:
    """Warn, in one line, of a start beyond the limits of joints; by more than a turn it may be in degrees."""
    found: list[str] = []
    degrees = False
    start = np.atleast_2d(q)[0]
    for joint in robot.joints:
        if joint.nq != 1 or joint.lower[0] <= start[joint.q_slice][0] <= joint.upper[0]:
            continue
        x, low, high = float(start[joint.q_slice][0]), joint.lower[0], joint.upper[0]
        unit = joint.type.q_units[0]
        degrees |= unit == "rad" and max(low - x, x - high) > 2 * np.pi
        found.append(f"{joint.name} starts at {x:g}, beyond {low:.3g} … {high:.3g} {unit}")
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        message = f"--q0: {found[0]}{more}{': degrees?' if degrees else ''}"
        warnings.warn(ModelWarning(message), stacklevel=2)


def _spread(x: Array, size: int, argument: str, reason: str) -> Array:
    if len(x) not in (1, size):
        raise CommandLineError(f"{argument}: expected {size} numbers, {reason}, or one for all, got {len(x)}")
    return np.broadcast_to(x, (size,))


def control_of(robot: Robot, name: str, q0: Array, *, gravity: Array | None = None, dt: float) -> Law | None:
    """Return the control law of this name.

    `hold` is critically damped for the inertia that each joint moves while all others are free; of a robot on
    the ground it carries the weight, too. A free base has no motors: it is not controlled.
    """
    if name == "none":
        return None
    if name == "gravity":
        return GravityCompensation()
    first = np.atleast_2d(q0)[0]
    moved = 1.0 / np.diagonal(mass_matrix_inverse(opened(robot), first))
    kp, kd = STIFF**2 * moved, 2 * STIFF * moved
    if robot.contacts and free_base(robot) is not None:
        kp, kd = map(np.maximum, (kp, kd), stiffness(robot, first, gravity, moved, dt))
    for joint in robot.joints:
        if joint.type.kind == "free":
            kp[joint.qd_slice] = kd[joint.qd_slice] = 0.0
    return PD(q0, kp, kd, gravity_compensation=not robot.is_floating)


def every(robot: Robot, arguments: argparse.Namespace) -> int:
    """Return the recording interval: the given one if it fits into memory, or a default."""
    t, dt, states, record = arguments.t, arguments.dt, arguments.states, arguments.record
    for name, value in (("--t", t), ("--dt", dt)):
        if not isfinite(value) or value <= 0:
            raise CommandLineError(f"{name}: expected seconds above zero, got {value:g}")
    steps = max(1, ceil(t / dt - 1e-9))
    touched = 3 * len(robot.contacts) + 1 if robot.contacts else 0
    row = 8 * states * (robot.nq + 2 * robot.nv + touched)
    if record is None:
        return max(1, ceil(steps / max(1, min(TIMES, BYTES // max(row, 1)))))
    if record < 0:
        raise CommandLineError(f"--record: expected 1 for every step, N for every N-th, or 0, got {record}")
    size = row * (2 if record == 0 else steps / record)
    there = _memory()
    if there is not None and size > 0.6 * there:
        raise CommandLineError(
            f"--record: the run needs {size / 1e9:.3g} GB, the machine has {there / 1e9:.3g} GB of memory; "
            "record fewer steps, or leave it out"
        )
    return record


def _memory() -> int | None:
    """Return the bytes of memory of this machine, if known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
