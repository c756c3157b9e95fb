"""Closed chains in a plane: the four-bar linkage and the slider-crank.

Dimensions are those of examples 4-1 and 4-2 of Norton, Design of Machinery, which have no inertias; ours are
of steel bars of 10 mm × 10 mm. Both stand upright in the xz plane: angles count from x to z, about −y.
"""

from __future__ import annotations

from math import atan2, cos, hypot, radians, sin, sqrt

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Builder, Robot
from hinge.model.joints import Fixed, Prismatic, Revolute
from hinge.robots.looks import BLUE, DARK, ORANGE, WHITE, Look, Rgba, block, drum, rod
from hinge.robots.solids import solid_box
from hinge.spatial import Array, Inertia, rotation

#: A bar's width [m] and mass for each metre [kg/m].
_WIDTH, _DENSITY = 0.01, 0.785
_HINGE = Revolute((0.0, -1.0, 0.0))


def four_bar(
    lengths: tuple[float, float, float, float] = (0.10, 0.04, 0.12, 0.08), *, angle: float = radians(40)
) -> Robot:
    """Return the linkage of ground, crank, coupler and rocker with these lengths, closed at q = 0.

    At q = 0 the crank is at `angle` from the ground and the coupler's far end is above the line from the
    crank's end to the rocker's pivot. The closure "pin" joins coupler and rocker; three of its five rows are
    redundant.
    """
    ground, crank, coupler, rocker = lengths
    if not min(lengths) > 0:
        raise ArgumentError(f"lengths: expected four lengths > 0, got {lengths}")
    end = np.array([crank * cos(angle), crank * sin(angle)])
    far = _crossing(end, coupler, np.array([ground, 0.0]), rocker)
    lean, back = _direction(far - end), _direction(far - (ground, 0.0))
    b = Builder("four_bar")
    b.body("ground", joint=Fixed(), shapes=_ground(ground))
    for name, parent, x, turn, length, rgba in (
        ("crank", "ground", 0.0, angle, crank, BLUE),
        ("coupler", "crank", crank, lean - angle, coupler, WHITE),
        ("rocker", "ground", ground, back, rocker, ORANGE),
    ):
        b.body(
            name,
            parent=parent,
            joint=_HINGE,
            position=(x, 0, 0),
            rotation=_turned(turn),
            inertia=_bar(length),
            shapes=_link(length, rgba),
        )
        b.frame(f"{name}_end", name, position=(length, 0, 0))
    b.close("pin", "coupler_end", "rocker_end", joint=_HINGE)
    return b.build()


def slider_crank(
    crank: float = 0.04, rod: float = 0.12, *, offset: float = -0.02, angle: float = radians(60)
) -> Robot:
    """Return a crank that drives a slider along x, at the height `offset`, closed at q = 0.

    At q = 0 the crank is at `angle` from x. The closure "pin" joins rod and slider; three of its five rows
    are redundant. The slider's mass is 0.3 kg.
    """
    if not min(crank, rod) > 0:
        raise ArgumentError(f"crank, rod: expected lengths > 0, got {crank} and {rod}")
    drop = offset - crank * sin(angle)
    if abs(drop) > rod:
        raise ArgumentError(f"rod: expected a length of at least {abs(drop):.4g} m at this angle, got {rod}")
    reach = sqrt(rod * rod - drop * drop)
    place = crank * cos(angle) + reach
    b = Builder("slider_crank")
    b.body("ground", joint=Fixed(), shapes=_rail(place + crank, rod, offset))
    for name, parent, x, turn, length, rgba in (
        ("crank", "ground", 0.0, angle, crank, BLUE),
        ("rod", "crank", crank, atan2(drop, reach) - angle, rod, WHITE),
    ):
        b.body(
            name,
            parent=parent,
            joint=_HINGE,
            position=(x, 0, 0),
            rotation=_turned(turn),
            inertia=_bar(length),
            shapes=_link(length, rgba),
        )
        b.frame(f"{name}_end", name, position=(length, 0, 0))
    b.body(
        "slider",
        parent="ground",
        joint=Prismatic((1, 0, 0)),
        position=(place, 0, offset),
        inertia=solid_box(0.3, (0.04, 0.03, 0.03)),
        shapes=block((0.04, 0.03, 0.03), (0, 0, 0), ORANGE),
    )
    b.close("pin", "rod_end", "slider", joint=_HINGE)
    return b.build()


def _crossing(a: Array, first: float, b: Array, second: float) -> Array:
    """Return the point at these distances from a and b, on the left of the way from a to b."""
    away = float(hypot(*(b - a)))
    along = (first * first - second * second + away * away) / (2 * away) if away else 0.0
    square = first * first - along * along
    if not (away and square >= 0):
        raise ArgumentError(
            "lengths: expected bars that meet at this angle, got coupler "
            f"{first} and rocker {second} over a distance of {away:.4g} m; give another angle"
        )
    to = (b - a) / away
    return a + along * to + sqrt(square) * np.array([-to[1], to[0]])


def _direction(x: Array) -> float:
    return atan2(float(x[1]), float(x[0]))


def _turned(angle: float) -> Array:
    return rotation.about((0.0, -1.0, 0.0), angle)


def _bar(length: float) -> Inertia:
    return solid_box(_DENSITY * length, (length, _WIDTH, _WIDTH), (length / 2, 0, 0))


def _link(length: float, rgba: Rgba) -> Look:
    pin = drum((0, -_WIDTH, 0), (0, _WIDTH, 0), 0.4 * _WIDTH, DARK)
    return rod((0, 0, 0), (length, 0, 0), 0.5 * _WIDTH, rgba) + pin


def _ground(length: float) -> Look:
    feet = [block((0.02, 0.02, 0.02), (x, 0, -0.012), DARK) for x in (0.0, length)]
    return (*feet[0], *feet[1], *block((length, 0.012, 0.006), (length / 2, 0, -0.019), DARK))


def _rail(end: float, length: float, height: float) -> Look:
    foot = block((0.02, 0.02, 0.02), (0, 0, -0.012), DARK)
    return foot + drum((end - length, 0, height), (end, 0, height), 0.3 * _WIDTH, DARK)
