"""The constructor of bindings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral

from hinge.algebra import One, Space, World
from hinge.binding.binding import RobotBinding, Touching
from hinge.binding.embedded import EmbeddedBinding
from hinge.binding.needs import EVERYTHING, Needs
from hinge.binding.site import Expressed
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot, refuse_text
from hinge.sweeps import has_blocks_at_bodies


def bind(
    robot: Robot,
    needs: Needs = EVERYTHING,
    *,
    nodes: Iterable[str] = (),
    expressed: Expressed = "body",
    prescribed: Iterable[str] | None = (),
    sizes: Mapping[Space, int] | None = None,
    rows: tuple[tuple[int, ...], ...] | None = None,
    touch: Touching = "",
    coulomb: bool = False,
) -> RobotBinding:
    """Return the binding of the letters to a robot; arguments as in `RobotBinding`."""
    checked_robot(robot)
    refuse_text("nodes", nodes, "frame names")
    refuse_text("prescribed", prescribed, "joint names")
    if not isinstance(nodes, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"nodes: expected a list of frame names, got {type(nodes).__name__}")
    return (EmbeddedBinding if robot.is_embedded else RobotBinding)(
        robot,
        tuple(nodes),
        expressed,
        None if prescribed is None else frozenset(prescribed),
        needs,
        sizes=checked_sizes(sizes),
        rows=rows,
        touch=touch,
        coulomb=coulomb,
    )


def checked_sizes(sizes: Mapping[Space, int] | None) -> tuple[tuple[str, str, int], ...]:
    """Return the lengths of spaces of the user's own, in order, or raise an ArgumentError."""
    if sizes is None:
        return ()
    if not isinstance(sizes, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            "sizes: expected a dict of lengths by space, such as {Constraint: 3}, got "
            f"{type(sizes).__name__}"
        )
    for space, n in sizes.items():
        if not isinstance(space, Space):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"sizes: expected a space of hinge.algebra as key, got {space!r}")
        if space in (One, World) or has_blocks_at_bodies(space):
            raise ArgumentError(
                f"sizes[{space}]: expected Constraint or a space of your own, got {space}, whose length the "
                "model gives"
            )
        number: object = n
        if isinstance(number, bool) or not isinstance(number, Integral) or number < 0:
            raise ArgumentError(f"sizes[{space}]: expected an integer ≥ 0, got {n!r}")
    return tuple(sorted((s.name, s.meaning, int(n)) for s, n in sizes.items()))
