"""Closed robots with a state that moves: for the tests and the sweep."""

from __future__ import annotations

import numpy as np

import hinge
from hinge import robots
from hinge.testing import closed_state


def two_loops():
    """Return a four-bar linkage whose rocker carries another one."""
    return hinge.attach(robots.four_bar(), robots.four_bar(), "rocker", prefix="b_", position=(0.04, 0, 0))


def started(robot, speed=1.0, seed=0):
    """Return q, where the built-in robots close, and velocities that fit, the largest of this size."""
    q = robots.two_pandas_start(robot) if robot.name == "two_pandas" else hinge.neutral(robot)
    qd = closed_state(robot, q, seed).qd
    return q, speed * qd / np.abs(qd).max()


def drift(robot, run):
    """Return the largest error of the closures in a run, and the largest velocity across them."""
    return (
        np.abs(hinge.closure_error(robot, run.q)).max(),
        np.abs(hinge.closure_velocity(robot, run.q, run.qd)).max(),
    )


def gained(run):
    """Return the largest change of the energy as a share of the largest kinetic energy."""
    return np.abs(run.energy - run.energy[..., :1]).max() / run.kinetic_energy.max()
