"""What verbs show of their expressions, where that is not the value of an expression itself.

A readout is a formula of the values at one state, written for any scalar type: it becomes a part of the code.
A finish makes an object of the arrays, in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.dynamics.expressions import VERBS, Parts
from hinge.dynamics.results import OnDemand, filling
from hinge.errors import ArgumentError
from hinge.model import Robot
from hinge.spatial import Array, Transform, cross
from hinge.sweeps import Readout

Values = Mapping[str, Array]


@dataclass(frozen=True)
class View:
    """The parts of a verb with their readout, and the objects made of what is read.

    `one` makes the object of one frame, `several` that of several; `check` refuses robots.
    """

    parts: Parts
    one: Callable[[Any], Any] | None = None
    several: Callable[[Any], Any] | None = None
    check: Callable[[Robot], None] | None = None


def poses(found: Values) -> dict[str, Array]:
    """Read E (n, 3, 3) and r (n, 3) off motion transforms [E 0; −E r× E], one below the other.

    Eᵀ (−E r×) is −r×, of which three entries are r.
    """
    x = found["forward_kinematics"]
    blocks = x.reshape(len(x) // 6, 6, 6)
    e, below = blocks[:, :3, :3], blocks[:, 3:, :3]
    r = np.empty((len(blocks), 3), dtype=blocks.dtype)
    for k, (row, column) in enumerate(((2, 1), (0, 2), (1, 0))):
        r[:, k] = -(e[:, :, row] * below[:, :, column]).sum(axis=-1)
    return {"E": e, "r": r}


def _transforms(found: Values) -> list[Transform]:
    e, r = found["E"], found["r"]
    if e.ndim > 3:
        e, r = np.moveaxis(e, -3, 0), np.moveaxis(r, -2, 0)
    return OnDemand(Transform, e, r)


def _moment(inertia: Array) -> Array:
    """Read Σ mᵢ cᵢ off the composite inertia [I h×; −h× m] of everything at the world."""
    return np.array([inertia[2, 4], inertia[0, 5], inertia[1, 3]])


def first_moment(found: Values) -> dict[str, Array]:
    """Read Σ mᵢ cᵢ (3)."""
    return {"first_moment": _moment(found["composite_inertia"])}


def center_of_mass(found: Values) -> dict[str, Array]:
    """Read Σ mᵢ cᵢ / Σ mᵢ (3)."""
    inertia = found["composite_inertia"]
    return {"center_of_mass": _moment(inertia) / inertia[3, 3]}


def about_center(found: Values) -> dict[str, Array]:
    """Move a momentum [h; p], or columns of a matrix, from the world's origin to the centre of mass.

    About c it is [h − c × p; p].
    """
    x, inertia = found["momentum"], found["inertia"]
    c = _moment(inertia) / inertia[3, 3]
    h, p = x[:3], x[3:]
    return {"momentum": np.concatenate([h - cross(c, p.T).T, p])}


def refuse_massless(robot: Robot) -> None:
    """Refuse a robot that has no centre of mass."""
    if robot.mass == 0:
        raise ArgumentError(
            f"robot: expected a mass above zero, got 0 for {robot.name!r}; give its bodies mass"
        )


def _of(verb: str, readout: Readout) -> Parts:
    return Parts(VERBS[verb].expressions, readout=readout)


#: Verb → what it shows.
VIEWS: dict[str, View] = {
    "forward_kinematics": View(_of("forward_kinematics", poses), filling(Transform), _transforms),
    "first_moment": View(_of("composite_inertia", first_moment)),
    "center_of_mass": View(_of("composite_inertia", center_of_mass), check=refuse_massless),
}
for _name in ("centroidal_momentum_matrix", "centroidal_momentum_bias", "centroidal_momentum"):
    VIEWS[_name] = View(_of(_name, about_center), check=refuse_massless)
