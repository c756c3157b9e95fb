"""Simple chains: the double pendulum and `chain(n)`."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Builder, Robot
from hinge.model.joints import Free, Revolute
from hinge.robots.looks import BLUE, DARK, ORANGE, WHITE, Look, Rgba, ball, drum
from hinge.robots.solids import solid_rod
from hinge.spatial import Inertia


def double_pendulum(
    *, lengths: tuple[float, float] = (1.0, 1.0), masses: tuple[float, float] = (1.0, 1.0)
) -> Robot:
    """Return two point masses on massless rods, swinging about y, hanging at q = 0."""
    b = Builder("double_pendulum")
    upper, lower = lengths
    point = [
        Inertia.from_com(mass, (0, 0, -length), np.zeros((3, 3)))
        for mass, length in zip(masses, lengths, strict=True)
    ]
    looks = [_swinging(lengths, masses, k, rgba) for k, rgba in enumerate((BLUE, ORANGE))]
    b.body("upper", joint=Revolute((0, 1, 0)), inertia=point[0], joint_name="shoulder", shapes=looks[0])
    b.body(
        "lower",
        parent="upper",
        joint=Revolute((0, 1, 0)),
        position=(0, 0, -upper),
        inertia=point[1],
        joint_name="elbow",
        shapes=looks[1],
    )
    b.frame("tip", "lower", position=(0, 0, -lower))
    return b.build()


def chain(n: int, *, floating: bool = False) -> Robot:
    """Return n equal rods of 0.2 m and 1 kg in a row, joint axes by turns y and x, and "tip"."""
    if not isinstance(n, Integral) or n < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"n: expected an integer ≥ 1, got {n!r}")
    b = Builder(f"chain({n})")
    length = 0.2
    rod = solid_rod(1.0, length, 0.02, (0, 0, length / 2))
    look = drum((0, 0, 0), (0, 0, length), 0.02) + ball((0, 0, 0), 0.027, DARK)
    parent = None
    for i in range(n):
        axis = (0, 1, 0) if i % 2 == 0 else (1, 0, 0)
        joint = Free() if floating and i == 0 else Revolute(axis)
        place = (0, 0, 0) if i == 0 else (0, 0, length)
        name = f"link{i + 1}"
        b.body(
            name,
            parent=parent,
            joint=joint,
            position=place,
            inertia=rod,
            joint_name=f"joint{i + 1}",
            shapes=look,
        )
        parent = name
    b.frame("tip", f"link{n}", position=(0, 0, length))
    return b.build()


def _swinging(lengths: tuple[float, float], masses: tuple[float, float], k: int, rgba: Rgba) -> Look:
    """Return a thin rod with its mass at the end, a pin at the first one's pivot."""
    unit, heaviest = max(map(abs, lengths)), max(masses)
    pin = drum((0, -0.05 * unit, 0), (0, 0.05 * unit, 0), 0.03 * unit, DARK) if k == 0 else ()
    stem = drum((0, 0, 0), (0, 0, -lengths[k]), 0.014 * unit, WHITE)
    if not (masses[k] > 0 and unit > 0):
        return pin + stem
    return pin + stem + ball((0, 0, -lengths[k]), 0.07 * unit * (masses[k] / heaviest) ** (1 / 3), rgba)
