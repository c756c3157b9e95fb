"""One door to the bindings of a robot."""

from __future__ import annotations

from collections.abc import Iterable

from hinge.binding.binding import RobotBinding
from hinge.binding.embedded import EmbeddedBinding
from hinge.binding.needs import EVERYTHING, Needs
from hinge.binding.site import Expressed
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot


def bind(
    robot: Robot,
    needs: Needs = EVERYTHING,
    *,
    nodes: Iterable[str] = (),
    expressed: Expressed = "body",
    prescribed: Iterable[str] | None = (),
) -> RobotBinding:
    """Return what the letters mean for a robot; arguments as in `RobotBinding`."""
    checked_robot(robot)
    if isinstance(nodes, str):
        raise ArgumentError(
            f"nodes: expected a list of frame names, got the string {nodes!r}; did you mean [{nodes!r}]?"
        )
    if not isinstance(nodes, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"nodes: expected a list of frame names, got {type(nodes).__name__}")
    if isinstance(prescribed, str):
        raise ArgumentError(
            f"prescribed: expected a list of joint names, got the string {prescribed!r}; did you mean "
            f"[{prescribed!r}]?"
        )
    follow = len(robot.independent) < len(robot.joints)
    return (EmbeddedBinding if follow else RobotBinding)(
        robot, tuple(nodes), expressed, None if prescribed is None else frozenset(prescribed), needs
    )
