"""One door to the bindings of a robot."""

from __future__ import annotations

from collections.abc import Iterable

from hinge.binding.binding import RobotBinding
from hinge.binding.embedded import EmbeddedBinding
from hinge.binding.site import Expressed
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot


def bind(
    robot: Robot,
    *,
    nodes: Iterable[str] = (),
    expressed: Expressed = "body",
    prescribed: Iterable[str] | None = (),
    own_frames: bool = False,
    merged: bool = False,
    by_parameters: bool = False,
    given_inertias: bool = False,
    given_placements: bool = False,
    given_rotors: bool = False,
    given_friction: bool = False,
    joint_forces: bool = True,
) -> RobotBinding:
    """Return what the letters mean for a robot; arguments as in `RobotBinding`."""
    checked_robot(robot)
    if isinstance(nodes, str):
        raise ArgumentError(f"nodes: the text {nodes!r} came; wanted a list of names, such as [{nodes!r}]")
    if not isinstance(nodes, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"nodes: {type(nodes).__name__} came; wanted a list of names of frames")
    if isinstance(prescribed, str):
        raise ArgumentError(
            f"prescribed: the text {prescribed!r} came; wanted a list, such as [{prescribed!r}]"
        )
    follow = len(robot.independent) < len(robot.joints)
    return (EmbeddedBinding if follow else RobotBinding)(
        robot,
        tuple(nodes),
        expressed,
        None if prescribed is None else frozenset(prescribed),
        own_frames=own_frames,
        merged=merged,
        by_parameters=by_parameters or given_inertias,
        given_inertias=given_inertias,
        given_placements=given_placements,
        given_rotors=given_rotors,
        given_friction=given_friction,
        joint_forces=joint_forces,
    )
