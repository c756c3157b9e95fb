"""Names and units of a robot's coordinates, and their grouping into pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hinge.model import Joint, Robot
from hinge.model.joints import VectorJoint

#: Most lines that can be told apart by colour.
MOST_LINES = 7

_RATES = {"rad": "rad/s", "m": "m/s"}
_EFFORTS = {"rad": "N m", "m": "N"}


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of q or qd: index, name, and unit of q (rad, m or none)."""

    index: int
    name: str
    unit: str

    @property
    def rate_unit(self) -> str:
        """The unit of the coordinate's rate."""
        return _RATES[self.unit]

    @property
    def effort_unit(self) -> str:
        """The unit of the force that does work on the coordinate."""
        return _EFFORTS[self.unit]


@dataclass(frozen=True)
class Group:
    """Configuration and velocity coordinates with one unit, in one picture.

    Rolling joints have fewer velocities than coordinates, possibly none of a unit.
    """

    title: str
    q: tuple[Coordinate, ...]
    v: tuple[Coordinate, ...]


def position_coordinates(joint: Joint) -> list[Coordinate]:
    """Return the coordinates of a joint's q."""
    t, start = joint.type, joint.q_slice.start
    return _named(joint, t.q_names, t.q_units, start)


def velocity_coordinates(joint: Joint) -> list[Coordinate]:
    """Return the coordinates of a joint's qd, with the units of their integrals."""
    t, start = joint.type, joint.qd_slice.start
    return [] if joint.depends else _named(joint, t.qd_names, t.qd_units, start)


def has_quaternion(joint: Joint) -> bool:
    """Tell whether the first four coordinates of q are a quaternion."""
    return joint.type.has_quaternion


def has_rates(joint: Joint) -> bool:
    """Tell whether qd is the rate of q, coordinate by coordinate."""
    return isinstance(joint.type, VectorJoint) and joint.nv > 0 and not joint.depends


def groups(joints: Sequence[Joint]) -> list[Group]:
    """Return the coordinates of joints, grouped by unit, at most MOST_LINES in a group.

    Joints with one coordinate share a group with their neighbours; a joint with several has groups of its
    own, a quaternion goes with the angular velocity.
    """
    found: list[Group] = []
    row: list[Joint] = []
    for joint in joints:
        if joint.nv == 1:
            row.append(joint)
        elif joint.nv > 1:
            found += [*_rows(row), *_own_groups(joint)]
            row = []
    return found + _rows(row)


def described(robot: Robot, names: str | Sequence[str] | None) -> list[Joint]:
    """Return the joints of these names, or all that move."""
    if names is None:
        return [j for j in robot.joints if j.nv]  # also those of loops that depend on others
    wanted = [names] if isinstance(names, str) else list(names)
    return [robot.joint(name) for name in wanted]


def _rows(joints: list[Joint]) -> list[Group]:
    found: list[Group] = []
    units = [position_coordinates(j)[0].unit for j in joints]
    for unit in ("rad", "m"):
        alike = [j for j, u in zip(joints, units, strict=True) if u == unit]
        count = -(-len(alike) // MOST_LINES)
        for k in range(count):
            part = alike[k * len(alike) // count : (k + 1) * len(alike) // count]
            q = tuple(c for j in part for c in position_coordinates(j))
            v = tuple(c for j in part for c in velocity_coordinates(j))
            found.append(Group("", q, v))
    return found


def _own_groups(joint: Joint) -> list[Group]:
    q, v = position_coordinates(joint), velocity_coordinates(joint)
    found: list[Group] = []
    for unit in ("rad", "m"):
        rates = tuple(c for c in v if c.unit == unit)
        values = tuple(c for c in q if c.unit == unit or (unit == "rad" and not c.unit))
        if rates or values:
            found.append(Group(joint.name, values, rates))
    return found


def _named(joint: Joint, names: Sequence[str], units: Sequence[str], start: int) -> list[Coordinate]:
    single = len(names) == 1
    return [
        Coordinate(start + k, joint.name if single else name, unit)
        for k, (name, unit) in enumerate(zip(names, units, strict=True))
    ]
