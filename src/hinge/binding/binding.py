"""The letters bound to a robot: its bodies, the layout of their numbers, and their sites.

The values of letters at a body are in `site`; here are the differences between bodies.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from hinge.algebra import (
    Active,
    Ask,
    Body,
    Constraint,
    Joint,
    Leaf,
    Link,
    Mount,
    Node,
    Parameter,
    Passive,
    Placement,
    Resistance,
    Space,
    World,
    bounce,
    bounds,
    closed,
    friction,
    g,
    ground,
    held,
    inertias,
    lam_0,
    placements,
    rotors,
    x_c,
)
from hinge.binding.constants import (
    end_numbers,
    inertia_numbers,
    link_kind,
    link_numbers,
    of_this_package,
    passive_numbers,
    pose_numbers,
    transform_numbers,
)
from hinge.binding.flexible_site import points_kind, points_numbers, site_of
from hinge.binding.frames import Place, choose_frames, frames_for_given_placements, own_frames
from hinge.binding.hinge_site import Kind
from hinge.binding.links import AnyLink, JointLink, WorldSite, joined
from hinge.binding.links import LinkKind as ClosureKind
from hinge.binding.merge import merged
from hinge.binding.needs import EVERYTHING, PARAMETERS, Needs
from hinge.binding.site import Expressed
from hinge.binding.texts import Texts
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.model import (
    Closure,
    Contact,
    JointRows,
    Robot,
    Stops,
    closure_ends,
    contact_ends,
    digest,
    every_closure,
    joint_rows,
    rows_of,
    stops_of,
)
from hinge.model.joints import JointType, released
from hinge.spatial import Transform
from hinge.sweeps import ForceLaw, Site, has_blocks_at_bodies
from hinge.tree import WORLD, Tree

#: How many numbers parameters have: of a body, of the place of its joint, of a hinge coordinate.
_WIDTHS = {Parameter: 10, Placement: 7, Mount: 6, Resistance: 3}
#: Inputs with a number for each row of closures and contacts, which the robot provides if no call gives them.
ROW_INPUTS = (closed, bounds, bounce, lam_0, x_c, ground)
#: The rows of contacts, and with "stops" those of joints too.
Touching: TypeAlias = Literal["", "normals", "cones", "stops"]


@dataclass(frozen=True, eq=False)
class RobotBinding(Texts):
    """The letters bound to a robot.

    `nodes` are names of frames (or bodies) that stand for the Node space, in order; `expressed` says in
    which axes Q shows them; `prescribed` names the joints that are active in hybrid dynamics; if it is None,
    an input `held` says for each coordinate whether it is (see `site`). `needs` is what the expressions ask
    for. With `own_gravity` g is the robot's own and no input. `sizes` are the lengths of spaces of the user's
    own, Constraint among them, which have one block, at the world: (name, meaning, length). `rows` are for
    each closure of the robot the rows of its joint that are kept; None keeps all. `touch` says what of the
    robot's contacts beside its closures: nothing, their "normals", all three rows of their "cones", or these
    and the "stops", a row for each limit of a joint and one for its dry friction. `coulomb`: their law.
    """

    robot: Robot
    nodes: tuple[str, ...] = ()
    expressed: Expressed = "body"
    prescribed: frozenset[str] | None = frozenset()
    needs: Needs = EVERYTHING
    own_gravity: bool = False
    sizes: tuple[tuple[str, str, int], ...] = ()
    rows: tuple[tuple[int, ...], ...] | None = None
    touch: Touching = ""
    coulomb: bool = False

    def __post_init__(self) -> None:
        if self.expressed not in ("body", "world", "world-aligned"):
            raise ArgumentError(
                f"expressed: expected 'body', 'world' or 'world-aligned', got {self.expressed!r}"
            )
        for name in self.nodes:
            self.robot.frame(name)
        for name in self.prescribed or ():
            self.robot.joint(name)

    def known(self, leaf: Leaf) -> Sequence[float] | None:
        """Return the value of an input that the robot provides: g with `own_gravity`, closures that hold."""
        if (leaf is closed or (self.touch and leaf in ROW_INPUTS)) and not self.needs.gives(leaf):
            return self._by_rows(leaf)
        return [0.0, 0.0, 0.0, *(-self.robot.gravity).tolist()] if leaf is g and self.own_gravity else None

    def _by_rows(self, leaf: Leaf) -> list[float]:
        """Return the robot's own numbers for the rows of closures and contacts."""
        if leaf not in (bounds, bounce):
            return [float(leaf is closed)] * self.length(Constraint)
        found = [0.0] * self._closure_rows
        found += self._joint_rows.bounds if leaf is bounds else [0.0] * len(self._joint_rows)
        for c in self._contacts:
            found += [c.friction if leaf is bounds else c.restitution] * self._contact_rows
        return found

    @property
    def law(self) -> ForceLaw:
        """Closures are free, contacts half lines or cones, limits half lines, and dry friction has boxes."""
        contacts, joints = len(self._contacts), self._joint_rows
        kept = sum(x.size for x in self.links if isinstance(x, ClosureKind))
        if self.touch == "normals":
            return ForceLaw(free=kept, half=contacts)
        return ForceLaw(kept, len(joints.limited), len(joints.rubbing), contacts, self.coulomb)

    @property
    def parameters(self) -> tuple[Leaf, ...]:
        """The parameters that are inputs of each call; last, the mask of prescribed coordinates."""
        given = tuple(x for x in PARAMETERS if self.needs.gives(x))
        return (*given, held) if self.prescribed is None else given

    @property
    def identity(self) -> str | None:
        """The cache key of the binding: a digest of every field.

        None for joint types of the user's own: their formulas may change, so no code of theirs is cached.
        """
        types = [released(j.type) for j in self.robot.joints]
        types += [c.joint for c in every_closure(self.robot) if isinstance(c.joint, JointType)]
        return digest(self) if of_this_package(types) else None

    @cached_property
    def _members(self) -> tuple[tuple[int, ...], ...]:
        """For each body of the tree, the bodies of the robot that are merged in it."""
        found: list[list[int]] = [[] for _ in self.places]
        for k, i in enumerate(self.carriers):
            found[i].append(k)
        return tuple(map(tuple, found))

    @cached_property
    def _own_places(self) -> tuple[Place, ...]:
        """The robot's bodies in the working frames."""
        if self.needs.gives(placements):
            return frames_for_given_placements(self.robot, self.needs.own_frames)
        return own_frames(self.robot) if self.needs.own_frames else choose_frames(self.robot)

    @cached_property
    def _bodies(self) -> tuple[Tree, tuple[Place, ...], Sequence[int]]:
        """The working tree, its places, and the index of the carrier of each body of the robot."""
        tree = self.robot.tree
        if self.needs.merged:
            return merged(tree, self._own_places)
        return tree, self._own_places, range(len(tree))

    @property
    def tree(self) -> Tree:
        """The working tree: bodies on fixed joints may be merged."""
        return self._bodies[0] if self.needs.merged else self.robot.tree

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The bodies of the tree in their working frames."""
        return self._bodies[1]

    @property
    def carriers(self) -> Sequence[int]:
        """For each body of the robot, the index of the body of the tree that it is part of."""
        return self._bodies[2]

    @cached_property
    def node_places(self) -> tuple[tuple[tuple[int, Transform], ...], ...]:
        """For each body its nodes: index, and transform from the working frame to the node's."""
        found: list[list[tuple[int, Transform]]] = [[] for _ in self.places]
        for n, name in enumerate(self.nodes):
            frame = self.robot.frame(name)
            i = self.robot.body_index(frame.body)
            found[self.carriers[i]].append((n, frame.placement @ self._own_places[i].chosen.inv()))
        return tuple(map(tuple, found))

    @cached_property
    def _ends(self) -> tuple[tuple[int, Transform], ...]:
        """The ends of links on bodies, the inner before the outer: body, and transform to it."""
        return tuple((i, x) for pair in self._pairs for i, x in pair if i != WORLD)

    @cached_property
    def _pairs(self) -> tuple[tuple[tuple[int, Transform], tuple[int, Transform]], ...]:
        """The inner and outer ends of closures and contacts; a contact's shape is the outer one."""
        touching = (contact_ends(self.robot, c) for c in self._contacts)
        closing = (closure_ends(self.robot, c) for c in self._closures)
        return (*closing, *((surface, shape) for shape, surface in touching))

    @property
    def _closures(self) -> tuple[Closure, ...]:
        return self.robot.closures if Ask.CLOSURES in self.needs.asks else ()

    @property
    def _contacts(self) -> tuple[Contact, ...]:
        return self.robot.contacts if self.touch else ()

    @cached_property
    def _joint_rows(self) -> JointRows:
        return joint_rows(self.robot) if self.touch == "stops" else JointRows()

    def _stops(self, body: int) -> Stops:
        """Return the limits and the dry friction of a body's joint that have rows."""
        return stops_of(self.places[body].joint) if self.touch == "stops" else Stops()

    @property
    def _contact_rows(self) -> int:
        """The number of rows of each contact."""
        return 1 if self.touch == "normals" else 3

    @property
    def _closure_rows(self) -> int:
        """The number of rows of closures, those that are not kept among them."""
        return sum(len(rows_of(c.joint).names) for c in self._closures)

    @cached_property
    def end_places(self) -> tuple[tuple[tuple[int, Transform], ...], ...]:
        """For each body the ends of closures on it: index, and transform from the working frame to it."""
        found: list[list[tuple[int, Transform]]] = [[] for _ in self.places]
        for n, (i, x) in enumerate(self._ends):
            found[self.carriers[i]].append((n, x @ self._own_places[i].chosen.inv()))
        return tuple(map(tuple, found))

    @cached_property
    def links(self) -> tuple[AnyLink, ...]:
        """Closures, joints and contacts, with the places of their ends in the stack of ends, body by body."""
        stack = [p for i in range(len(self.tree)) for p in self.positions(Link, i)]
        found = joined((*self._closures, *self._contacts), self._pairs, stack, self.rows, self._contact_rows)
        joints, first, closures = self._joint_rows, 6 * len(self._ends), len(self._closures)
        rates = [JointLink(stack.index(first + k), k < len(joints.limited)) for k in range(len(joints))]
        return (*found[:closures], *rates, *found[closures:])

    @cached_property
    def _kept(self) -> list[int]:
        """The rows of closures that are kept, and those of contacts, among all of them."""
        found: list[int] = []
        start = 0
        for link in self.links:
            rows = link.rows if isinstance(link, ClosureKind) else range(link.size)
            found += [start + k for k in rows]
            start += len(rows_of(link.closure.joint).names) if isinstance(link, ClosureKind) else link.size
        return found

    def _ends_of(self, body: int) -> list[int]:
        return [n for n, _ in self.end_places[body]]

    @cached_property
    def rotors(self) -> tuple[tuple[int, ...], ...]:
        """For each body the degrees of freedom of its joint that have a rotor: all if rotors vary."""
        every = self.needs.gives(rotors) or Ask.ROTORS in self.needs.asks
        return tuple(
            tuple(k for k, x in enumerate(place.joint.reflected_inertia.tolist()) if x or every)
            for place in self.places
        )

    def members(self, body: int) -> tuple[Place, ...]:
        """Return the members of a body of the tree: itself alone, unless joints are coupled."""
        return (self.places[body],)

    def _dofs(self, space: Space, body: int) -> Sequence[int]:
        j = self.places[body].joint
        shown = space is Joint or self.prescribed is None or (space is Active) == self._is_active(body)
        return range(j.qd_slice.start, j.qd_slice.stop) if shown else range(0)

    def _is_active(self, body: int) -> bool:
        return self.places[body].joint.name in (self.prescribed or ())

    def _locks(self, body: int) -> int:
        return len(self._dofs(Joint, body)) if self.prescribed is None else 0

    def size(self, space: Space, body: int) -> int:
        """Return the block size of a space at a body."""
        if space is Body:
            own = 0 if body == WORLD else len(self.rotors[body]) + len(self._rates(body)) + self._locks(body)
            return 6 + own + (0 if body == WORLD else points_kind(self.places[body].flexible)[0])
        if body == WORLD:
            return 0 if has_blocks_at_bodies(space) else len(self.positions(space, body))
        if space is Node:
            return 6 * len(self.node_places[body])
        if space in (Joint, Passive, Active):
            return len(self._dofs(space, body))
        return len(self.positions(space, body))

    def positions(self, space: Space, body: int) -> Sequence[int]:
        """Return the indices of a block in the user's vector."""
        if body == WORLD or not has_blocks_at_bodies(space):
            return self._at_world(space) if body == WORLD and not has_blocks_at_bodies(space) else ()
        if space is Joint:
            return self._dofs(space, body)
        if space is Body:
            return [*range(6 * body, 6 * body + 6), *(-1 for _ in range(6, self.size(space, body)))]
        if space in (Node, Link):
            ends = [n for n, _ in self.node_places[body]] if space is Node else self._ends_of(body)
            found = [6 * n + k for n in ends for k in range(6)]
            return found + self._rates(body) if space is Link else found
        if space in (Parameter, Placement, Mount, Resistance):
            return self._parameters_of(space, body)
        return self._split(space, body)

    def _rates(self, body: int) -> list[int]:
        """Return the places of a joint's limits and of its friction among the ends of all links."""
        rows, start = self._joint_rows, self.places[body].joint.qd_slice.start
        found = [rows.limited.index(start + k) for k, _, _ in self._stops(body).limits]
        found += [len(rows.limited) + rows.rubbing.index(start + k) for k, _ in self._stops(body).rubs]
        return [6 * len(self._ends) + k for k in found]

    def _at_world(self, space: Space) -> Sequence[int]:
        """Return the indices of the block at the world; of closures the rows that are kept."""
        return self._kept if space is Constraint and self.links else range(self.length(space))

    def _split(self, space: Space, body: int) -> Sequence[int]:
        if space in (Passive, Active):
            return [self._order[space][dof] for dof in self._dofs(space, body)]
        raise self._unbound(space)

    def blocks(self, space: Space) -> list[Sequence[int]]:
        """Return the indices of each block of a space in the user's vector."""
        places = range(len(self.tree)) if has_blocks_at_bodies(space) else (WORLD,)
        return [self.positions(space, i) for i in places]

    def _parameters_of(self, space: Space, body: int) -> list[int]:
        """Return the indices of the parameters of a body, or of its joint."""
        owners = self._dofs(Joint, body) if space is Resistance else self._members[body]
        width = _WIDTHS[space]
        return [width * k + n for k in owners for n in range(width)]

    @cached_property
    def _order(self) -> dict[Space, dict[int, int]]:
        """The index of each degree of freedom among the passive, or the active, ones."""
        bodies = range(len(self.places))
        return {
            space: {dof: k for k, dof in enumerate(dof for i in bodies for dof in self._dofs(space, i))}
            for space in (Passive, Active)
        }

    def length(self, space: Space) -> int:
        """Return the length of the user's vector of a space."""
        if space in self._lengths:
            return self._lengths[space]
        if space not in self._order:
            raise self._unbound(space)
        return len(self._order[space])

    @cached_property
    def _lengths(self) -> dict[Space, int]:
        """The lengths of vectors of spaces that are not split by bodies in an order of their own."""
        found = {World: 6, Joint: self.robot.nv, Body: 6 * len(self.places), Node: 6 * len(self.nodes)}
        found |= {x: _WIDTHS[x] * len(self.robot.bodies) for x in (Parameter, Placement, Mount)}
        found[Resistance] = _WIDTHS[Resistance] * self.robot.nv
        found[Link] = 6 * len(self._ends) + len(self._joint_rows)
        if self._pairs or len(self._joint_rows):
            touching = self._contact_rows * len(self._contacts)
            found[Constraint] = self._closure_rows + len(self._joint_rows) + touching
        return found | {Space(name, meaning): n for name, meaning, n in self.sizes}

    @property
    def width(self) -> int:
        """The number of visible entries of a body's block: a spatial vector."""
        return 6

    def _unbound(self, space: Space) -> UnboundLeafError:
        return UnboundLeafError(
            f"space {space}: robot {self.robot.name!r} gives no meaning to it; if it is a space of your own, "
            f"say how many numbers it has, sizes={{{space}: n}}"
        )

    def coordinates(self, body: int) -> Sequence[int]:
        """Return the indices of the joint's coordinates in q."""
        s = self.places[body].joint.q_slice
        return range(s.start, s.stop)

    # Sites.

    @cached_property
    def _kinds(self) -> tuple[Kind, ...]:
        return tuple(map(self._kind, range(len(self.places))))

    def _kind(self, body: int) -> Kind:
        place, stops = self.places[body], self._stops(body)
        c, s = place.turned
        return Kind(
            place.type,
            tuple(link_kind(x) for x in place.before),
            tuple(link_kind(x) for x in place.after),
            None if c and s else (c, s),
            place.last is not None,
            self.rotors[body],
            len(self.node_places[body]),
            self._is_active(body),
            self.prescribed is None,
            self.size(Body, self.tree.parents[body]),
            len(self._told_apart(body)),
            self._has_inertias,
            self.parameters,
            Ask.OWN_FORCES in self.needs.asks,
            len(self._ends_of(body)),
            tuple((k, low > -np.inf, high < np.inf) for k, low, high in stops.limits),
            tuple(k for k, _ in stops.rubs),
            Ask.MOUNTS in self.needs.asks,
            *points_kind(place.flexible, asked=Ask.INERTIA in self.needs.asks),
        )

    def _told_apart(self, body: int) -> tuple[int, ...]:
        """Return the members of a body if each has parameters of its own."""
        apart = Ask.REGRESSOR in self.needs.asks or self.needs.gives(inertias)
        return self._members[body] if apart else ()

    @property
    def _has_inertias(self) -> bool:
        """Whether inertias are numbers of the bodies: required, and not inputs of a call."""
        return Ask.INERTIA in self.needs.asks and not self.needs.gives(inertias)

    def kind(self, body: int) -> Hashable:
        """Return everything except numbers that determines the code at a body."""
        return self._kinds[body]

    def constants(self, body: int) -> list[float]:
        """Return the numbers of a body, in the order in which `RobotSite` takes them; see `WorldSite` too."""
        if body == WORLD:
            return self._fixed_ends
        place = self.places[body]
        found = [x for link in place.before for x in link_numbers(link)]
        if all(place.turned):
            found.append(float(np.arctan2(place.turned[1], place.turned[0])))
        found += [x for link in place.after for x in link_numbers(link)]
        found += transform_numbers(place.last) if place.last is not None else []
        found += [n for x in place.around or () for n in pose_numbers(x)]
        found += pose_numbers(place.mount) if Ask.MOUNTS in self.needs.asks else []
        found += [n for k in self._told_apart(body) for n in pose_numbers(self._own_places[k].chosen)]
        found += self._inertias[body] if self._has_inertias else []
        if not self.needs.gives(rotors):
            found += [float(place.joint.reflected_inertia[dof]) for dof in self.rotors[body]]
        if Ask.OWN_FORCES in self.needs.asks:
            given = self.needs.gives(friction) or Ask.ALL_FORCES in self.needs.asks
            found += passive_numbers(place.joint, all_terms=given, rubs=self.touch != "stops")
        found += [n for _, x in (*self.node_places[body], *self.end_places[body]) for n in end_numbers(x)]
        found += [x for _, *span in self._stops(body).limits for x in span if np.isfinite(x)]
        return found + points_numbers(place.flexible, asked=Ask.INERTIA in self.needs.asks)

    @cached_property
    def _fixed_ends(self) -> list[float]:
        """The numbers of the ends of closures that are fixed in the world."""
        inner = (closure_ends(self.robot, c)[0] for c in self._closures)
        return [n for i, x in inner if i == WORLD for n in transform_numbers(x)]

    @cached_property
    def _inertias(self) -> list[list[float]]:
        return inertia_numbers([p.inertia for p in self.places])

    def world(self, numbers: Sequence[Any]) -> WorldSite:
        """Return the values of letters at the world, for these numbers."""
        return WorldSite(self.links, numbers, self.robot.name)

    def site(self, body: int, numbers: Sequence[Any]) -> Site:
        """Return the values of letters at bodies of this body's kind, for these numbers."""
        return site_of(self._kinds[body], numbers, self.expressed, self.robot.name)
