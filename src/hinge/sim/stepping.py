"""Steps over contacts: velocities first, by the law of contact, then positions with them.

Nothing is located in time: a gap that would close in a step closes in it and no further, and friction and
blows act there. Order one, fixed steps, as many states as wanted at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hinge.dynamics import CONTACT_NUMBERS, by_contact_rows, contact_rows, rows_that_hold
from hinge.errors import ArgumentError
from hinge.model import Robot
from hinge.spatial import Array, ArrayLike

#: Parameters of contacts in `simulate`, and the letters they stand for; "friction" is that of joints.
_NUMBERS = {"contact_friction" if n == "friction" else n: n for n in CONTACT_NUMBERS}
CONTACT_PARAMETERS = {name: CONTACT_NUMBERS[n].letter for name, n in _NUMBERS.items()}


def refuse_stepping(robot: Robot, held: Array | None, limits: bool) -> None:
    """Refuse robots that cannot be stepped over contacts."""
    if not robot.contacts and not limits:
        raise ArgumentError(
            f"integrator: expected a robot with contacts for 'stepping', got {robot.name!r}, which has none; "
            "say what may touch with hinge.on_ground(robot, frames), give limits=True, or take "
            "'semi-implicit'"
        )
    if held is not None and held.any():
        raise NotImplementedError(
            "robot: frozen joints of a Live robot are not supported with integrator='stepping'"
        )


def contact_numbers(
    robot: Robot, given: Mapping[str, ArrayLike], stepping: bool, limits: bool
) -> dict[str, Array]:
    """Return the numbers of contacts by letter, a number for each row."""
    if not stepping:
        for name in given:
            raise ArgumentError(f"parameters: expected integrator='stepping' with {name!r}, got another one")
        return {}
    found = {
        CONTACT_PARAMETERS[n]: by_contact_rows(robot, _NUMBERS[n], x, limits=limits, name=n)
        for n, x in given.items()
    }
    return {**found, "pace": np.zeros(contact_rows(robot, limits))}


def contact_mask(robot: Robot, fastened: Array, limits: bool) -> Array:
    """Return ones for the rows of closures that hold, of joints and of all contacts."""
    loops = rows_that_hold(robot, fastened)
    others = contact_rows(robot, limits) - loops.shape[-1]
    return np.concatenate([loops, np.ones((*loops.shape[:-1], others))], axis=-1)


def start_of(job: Any) -> dict[str, Array]:
    """Return what a job that steps over contacts goes on with: pace, forces of the step before, residual."""
    rows = contact_rows(job.robot, job.moving.plant.limits)
    return {
        "pace": np.full(rows, 1.0 / job.dt, job.dtype),
        "lam_0": np.zeros((job.states, rows), job.dtype),
        "residual": np.zeros((job.states, 1), job.dtype),
    }
