"""Contacts made of the shapes of bodies: spheres, capsules, and the corners of boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, TypeAlias, get_args

from hinge.errors import ArgumentError
from hinge.model.checks import Problem, listed, warn_of
from hinge.model.contacts import Contact
from hinge.model.geometry import Box, Capsule, Geometry, Mesh, Sphere
from hinge.model.parts import Body
from hinge.model.robot import Robot
from hinge.model.surfaces import HeightField, Plane, Surface
from hinge.model.vectors import checked_robot
from hinge.spatial import Transform
from hinge.tree import WORLD

#: Which shapes of a body: those of one role, or those for collision if it has any, else the visual ones.
Role: TypeAlias = Literal["collision", "visual", "either"]
#: What may touch, or what it is called.
Solid: TypeAlias = "Geometry | Surface | str"
REMEDY = "give the body a Sphere, Capsule or Box as well, or name frames of it to on_ground"


@dataclass(frozen=True)
class ContactSide:
    """A geometry or surface for contacts: its name, its frame or body, None the world, its place there.

    A text in place of the geometry is that of a kind that there is no contact of.
    """

    name: str
    frame: str | None
    solid: Solid
    placement: Transform


def contacts_of(
    robot: Robot,
    bodies: Iterable[str] | str | None = None,
    *,
    on: str | None = None,
    surface: Surface | None = None,
    surface_placement: Transform | None = None,
    friction: float = 0.0,
    restitution: float = 0.0,
    role: Role = "collision",
) -> tuple[Contact, ...]:
    """Return contacts of the shapes of these bodies, or of all, with a surface, for `with_contacts`.

    The surface is on the frame or body `on`, None the world; without one it is the ground, Plane(). A sphere
    is one contact; a capsule one on a sphere or capsule, on a plane or height field the balls at its two
    ends; a box the points at its eight corners, whose edges and faces nothing feels. Cylinders and meshes are
    left out, which a warning names. `role` chooses shapes for collision, visual ones, or "either": the visual
    ones of bodies that have no others. Bodies that cannot move against the surface have no contacts.
    `contact_pairs` makes those of two bodies.
    """
    _check_role(role)
    chosen = _bodies(robot, bodies)
    place = Transform.identity() if surface_placement is None else surface_placement
    other = ContactSide("", on, Plane() if surface is None else surface, place)
    # a first contact checks surface, friction and restitution, also where there are no shapes
    numbers = replace(
        Contact("contacts_of", "", radius=1.0, friction=friction, restitution=restitution, surface=Plane()),
        surface=other.solid,
        surface_placement=place,
    )
    still = None if on is None else robot.frame(on).body
    made = ContactMaker(robot, numbers)
    sides = [s for b in chosen if moves(robot, b.name, still) for s in sides_of(b, role)]
    if not sides:
        made.problems.append(_no_shapes(robot, chosen, role))
    for side in sides:
        made.add(side.name, side, other)
    warn_of(robot, made.told())
    return tuple(made.contacts)


def contact_pairs(
    robot: Robot,
    first: str,
    second: str,
    *,
    friction: float = 0.0,
    restitution: float = 0.0,
    role: Role = "collision",
) -> tuple[Contact, ...]:
    """Return contacts of every shape of one body with every shape of another, for `with_contacts`.

    Spheres and capsules meet each other; boxes meet these with their corners. Other pairs are left out, which
    a warning names. `role` is that of `contacts_of`.
    """
    _check_role(role)
    a, b = _bodies(robot, [first, second])
    made = ContactMaker(robot, Contact("contact_pairs", "", friction=friction, restitution=restitution))
    ones, twos = list(sides_of(a, role)), list(sides_of(b, role))
    for body, found in ((a, ones), (b, twos)):
        if not found:
            made.problems.append(_no_shapes(robot, [body], role))
    for one, two in product(ones, twos):
        made.add(f"{one.name}_{two.name}", one, two)
    warn_of(robot, made.told())
    return tuple(made.contacts)


class ContactMaker:
    """Makes contacts of pairs of sides, with the numbers of a sample; names are made unique."""

    def __init__(self, robot: Robot, sample: Contact) -> None:
        self.contacts: list[Contact] = []
        self.problems: list[Problem] = []
        self._sample = sample
        self._taken = {c.name for c in robot.contacts}
        self._left: Counter[str] = Counter()

    def add(self, name: str, one: ContactSide, two: ContactSide, **numbers: float) -> None:
        """Add the contacts of two sides, one of them as the shape, or note that there are none."""
        for shape, surface in ((one, two), (two, one)):
            found = elements(shape.solid, surface.solid) if shape.frame is not None else None
            if found is None or shape.frame is None:
                continue
            for end, size, length, place in found:
                contact = replace(
                    self._sample,
                    name=self._free(name + end),
                    frame=shape.frame,
                    on=surface.frame,
                    radius=size,
                    length=length,
                    placement=place @ shape.placement,
                    surface=surface.solid,
                    surface_placement=surface.placement,
                    **numbers,
                )
                self.contacts.append(contact)
            return
        self._left[_told(one, two)] += 1

    def told(self) -> list[Problem]:
        """Return what is left out, as one problem, after the others."""
        if not self._left:
            return self.problems
        count = self._left.total()
        words = [text if n == 1 else f"{n} times {text}" for text, n in self._left.items()]
        message = f"{count} pair{'s' * (count > 1)} left out: {_some(words)}; {REMEDY}"
        return [*self.problems, Problem("contacts", "left out", message, note=True)]

    def _free(self, name: str) -> str:
        """Return the name, or the first of name_2, name_3, … that is not taken."""
        k, found = 1, name
        while found in self._taken:
            k += 1
            found = f"{name}_{k}"
        self._taken.add(found)
        return found


def elements(solid: Solid, surface: Solid) -> list[tuple[str, float, float, Transform]] | None:
    """Return what a geometry is against a surface, or None: ends of names, radii, lengths, placements."""
    flat = isinstance(surface, Plane | HeightField)
    if not flat and not isinstance(surface, Sphere | Capsule):
        return None
    middle = Transform.identity()
    match solid:
        case Sphere(radius):
            return [("", radius, 0.0, middle)]
        case Capsule(radius, length) if flat:
            ends = [(0.0, 0.0, -length / 2), (0.0, 0.0, length / 2)]
            return [(f"_{k}", radius, 0.0, Transform.place(None, at)) for k, at in enumerate(ends)]
        case Capsule(radius, length):
            return [("", radius, length, middle)]
        case Box((x, y, z)):
            corners = product((-x / 2, x / 2), (-y / 2, y / 2), (-z / 2, z / 2))
            return [(f"_{k}", 0.0, 0.0, Transform.place(None, at)) for k, at in enumerate(corners)]
        case _:
            return None


def sides_of(body: Body, role: Role) -> Iterator[ContactSide]:
    """Yield the shapes of a body that have a role."""
    wanted = "collision" if role == "either" else role
    if role == "either" and all(s.role == "visual" for s in body.shapes):
        wanted = "visual"
    for s in body.shapes:
        if s.role == wanted:
            yield ContactSide(s.name or body.name, body.name, s.geometry, s.placement)


def moves(robot: Robot, body: str, other: str | None) -> bool:
    """Tell whether a body can move against another one, or against the world."""
    ways = [
        frozenset[int]() if name is None else frozenset(robot.tree.support(robot.body_index(name)))
        for name in (body, other)
    ]
    return any(robot.joints[i].nv for i in ways[0] ^ ways[1] if i != WORLD)


def _told(one: ContactSide, two: ContactSide) -> str:
    """Return a pair in words."""
    sides: list[str] = []
    for s in (one, two):
        kind = s.solid if isinstance(s.solid, str) else type(s.solid).__name__.lower()
        file = f" {s.solid.filename}" if isinstance(s.solid, Mesh) else ""
        sides.append(f"{kind}{file} of {'the world' if s.frame is None else repr(s.frame)}")
    return " on ".join(sides)


def _some(words: Sequence[str], most: int = 6) -> str:
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def _bodies(robot: Robot, names: Iterable[str] | str | None) -> list[Body]:
    if names is None:
        return list(checked_robot(robot).bodies)
    return [checked_robot(robot).body(n) for n in ([names] if isinstance(names, str) else names)]


def _no_shapes(robot: Robot, bodies: Sequence[Body], role: Role) -> Problem:
    what = {"either": "shapes", "collision": "shapes for collision", "visual": "visual shapes"}[role]
    where = f"robot {robot.name!r}" if len(bodies) == len(robot.bodies) else listed([b.name for b in bodies])
    other = "; role='either' takes visual ones" if role == "collision" else ""
    message = f"there are no {what} that move; no contacts are made{other}; on_ground takes frames"
    return Problem(f"contacts of {where}", "shapes", message, note=True)


def _check_role(role: str) -> None:
    if role not in get_args(Role):
        raise ArgumentError(f"role: expected one of {', '.join(get_args(Role))}, got {role!r}")
