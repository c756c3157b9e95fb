"""Contacts of a URDF: its collision shapes on the world's ground, z = 0."""

from __future__ import annotations

from hinge.io.numbers import number
from hinge.io.xml import Element
from hinge.model import (
    Contact,
    ContactMaker,
    ContactSide,
    Plane,
    Problem,
    Robot,
    moves,
    sides_of,
    warn_of,
    with_contacts,
)
from hinge.spatial import Transform


def touched(robot: Robot, document: Element, strict: bool | None) -> Robot:
    """Return the robot with contacts of its collision shapes with the ground; warn of what is left out."""
    ground = ContactSide("ground", None, Plane(), Transform.identity())
    made = ContactMaker(robot, Contact("contact", ""))
    frictions = {e.need("name"): _friction(e) for e in document.all("link")}
    for body in robot.bodies:
        if moves(robot, body.name, None):
            for side in sides_of(body, "collision"):
                made.add(side.name, side, ground, friction=frictions[body.name])
    if strict is not None:
        warn_of(robot, [*_told(made), *made.told()])
    return with_contacts(robot, made.contacts)


def _told(made: ContactMaker) -> list[Problem]:
    """Return what is doubtful about the contacts: none at all, or none with friction."""
    if not made.contacts:
        message = "no link that moves has a sphere, capsule or box for collision; on_ground takes frames"
    elif not any(c.friction for c in made.contacts):
        message = (
            "the file gives no <lateral_friction>, so that contacts have none; contacts_of takes another"
        )
    else:
        return []
    return [Problem("contacts", "friction given" if made.contacts else "shapes", message, note=True)]


def _friction(link: Element) -> float:
    contact = link.first("contact")
    given = None if contact is None else contact.first("lateral_friction")
    where = f"link {link.need('name')!r}"
    if given is None:
        return 0.0
    value = number(given, "value", where)
    if value < 0:
        given.fail(f"{where}: expected a friction ≥ 0, got {value:g}")
    return value
