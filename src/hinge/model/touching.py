"""Give a robot contacts and take them away; where the two sides of a contact are."""

from __future__ import annotations

from collections.abc import Iterable

from hinge.errors import ArgumentError, ModelError
from hinge.model.closing import without
from hinge.model.contacts import Contact
from hinge.model.robot import Robot, remade
from hinge.model.surfaces import Plane, Surface
from hinge.model.vectors import checked_robot
from hinge.spatial import Transform
from hinge.tree import WORLD


def with_contacts(robot: Robot, contacts: Iterable[Contact] | Contact) -> Robot:
    """Return the robot with these contacts as well, candidates that may touch (see `Contact`).

    Forward dynamics and whatever else is about the robot alone do not change.
    """
    more = _listed(contacts)
    return remade(checked_robot(robot), contacts=[*robot.contacts, *more])


def without_contacts(robot: Robot, names: Iterable[str] | str | None = None) -> Robot:
    """Return the robot without the contacts of these names, or without any."""
    left = without(robot, "contact", checked_robot(robot).contacts, names)
    return robot if len(left) == len(robot.contacts) else remade(robot, contacts=left)


def on_ground(
    robot: Robot,
    frames: Iterable[str] | str,
    *,
    friction: float = 0.0,
    restitution: float = 0.0,
    radius: float = 0.0,
    height: float = 0.0,
    surface: Surface | None = None,
) -> Robot:
    """Return the robot with contacts of the origins of these frames or bodies with the world's ground.

    `radius` makes balls of the points. The ground is the plane z = `height`, or another `surface` there, such
    as a `HeightField`. A contact has its frame's name. This is `with_contacts` with a `Contact` for each.
    """
    chosen = [frames] if isinstance(frames, str) else frames
    if not isinstance(chosen, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"frames: expected names of frames or bodies, got {frames!r}; write them in brackets"
        )
    ground = Plane() if surface is None else surface
    place = Transform.place(None, (0.0, 0.0, height))
    made = [
        Contact(f, f, None, friction, restitution, radius, surface=ground, surface_placement=place)
        for f in chosen
    ]
    taken = {c.name for c in checked_robot(robot).contacts}
    for c in made:
        if c.name in taken:
            raise ModelError(
                f"frames: expected frames without a contact of their name, got {c.name!r}; remove that one "
                f"with without_contacts(robot, [{c.name!r}])"
            )
    return with_contacts(robot, made)


def contact_ends(robot: Robot, contact: Contact) -> tuple[tuple[int, Transform], tuple[int, Transform]]:
    """Return the body and the transform from it to the shape's frame, and the same of the surface.

    The body is its number, WORLD (−1) for the world.
    """
    frame = robot.frame(contact.frame)
    shape = robot.body_index(frame.body), contact.placement @ frame.placement
    if contact.on is None:
        return shape, (WORLD, contact.surface_placement)
    frame = robot.frame(contact.on)
    return shape, (robot.body_index(frame.body), contact.surface_placement @ frame.placement)


def _listed(contacts: Iterable[Contact] | Contact) -> list[Contact]:
    if isinstance(contacts, Contact):
        return [contacts]
    if not isinstance(contacts, Iterable) or isinstance(contacts, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"contacts: expected Contact values, got {contacts!r}; make them with Contact(…)")
    return list(contacts)
