"""Robots from Denavit–Hartenberg tables, standard and modified: Featherstone section 8.2.1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hinge.errors import ArgumentError
from hinge.io.base import root_joint
from hinge.model import STANDARD_GRAVITY, Body, Frame, Joint, Robot, enforce, joints, make_robot
from hinge.spatial import ArrayLike, Inertia, Transform, rotation


@dataclass(frozen=True)
class DHRow:
    """One joint and the body it carries: lengths in m, angles in rad.

    `theta` (revolute: offset of the joint angle) or `d` (prismatic: offset of the displacement) is
    added to q. `inertia` is about the body's DH frame. `physics` are fields of `Joint` such as
    lower, upper, rotor_inertia.
    """

    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    joint: Literal["revolute", "prismatic"] = "revolute"
    inertia: Inertia = field(default_factory=Inertia.zero)
    physics: dict[str, Any] = field(default_factory=dict[str, Any])


def from_dh(
    rows: Sequence[DHRow],
    *,
    convention: Literal["standard", "modified"],
    name: str = "robot",
    tool: Transform | None = None,
    floating: bool = False,
    gravity: ArrayLike = STANDARD_GRAVITY,
    strict: bool | None = False,
) -> Robot:
    """Return the serial robot of a DH table, with bodies "base", "link1" … and a frame "tool".

    standard: link i−1 → i is Rz(θ) Tz(d) Tx(a) Rx(α), the joint first, its frame at the link's far
    end; modified (Craig): Rx(α) Tx(a) Rz(θ) Tz(d), the joint last, its frame at the joint.
    """
    if convention not in ("standard", "modified"):
        raise ArgumentError(f"convention: expected 'standard' or 'modified', got {convention!r}")
    if not rows:
        raise ArgumentError("rows: expected one DHRow for each joint, got an empty table")
    for i, row in enumerate(rows):
        if not isinstance(row, DHRow):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"rows[{i}]: expected DHRow(a=…, alpha=…, d=…, theta=…), got {row!r}")
    bodies, chain = [Body("base")], [root_joint("base", set(), floating=floating)]
    for i, row in enumerate(rows, start=1):
        if row.joint not in ("revolute", "prismatic"):
            raise ArgumentError(f"rows[{i - 1}].joint: expected 'revolute' or 'prismatic', got {row.joint!r}")
        type_ = joints.Revolute() if row.joint == "revolute" else joints.Prismatic()
        along_x = Transform.place(rotation.tidied(rotation.about((1, 0, 0), row.alpha)), (row.a, 0, 0))
        along_z = Transform.place(rotation.tidied(rotation.about((0, 0, 1), row.theta)), (0, 0, row.d))
        if convention == "standard":
            inner, outer = along_z, along_x.inv()
        else:
            inner, outer = along_z @ along_x, Transform.identity()
        parent = bodies[-1].name
        bodies.append(Body(f"link{i}", row.inertia))
        chain.append(Joint(f"joint{i}", type_, parent, f"link{i}", inner, outer, **row.physics))
    frames = [Frame("tool", bodies[-1].name, tool or Transform.identity())]
    return enforce(make_robot(name, bodies, chain, frames=frames, gravity=gravity), strict=strict)
