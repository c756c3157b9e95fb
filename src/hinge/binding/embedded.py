"""The letters bound to a robot with embedded couplings or loops, or with flexible bodies that carry others:
bodies that move together form aggregates.

The values of letters at an aggregate are in `aggregate`. The members are bodies of the robot without
couplings and loops, each with coordinates and rates of its own; which aggregates there are is
`hinge.tree.grouped`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hinge.algebra import (
    Active,
    Ask,
    Body,
    Joint,
    Mount,
    Node,
    Parameter,
    Passive,
    Space,
    friction,
    placements,
    rotors,
)
from hinge.binding.aggregate import AggregateKind, AggregateSite, Member
from hinge.binding.binding import RobotBinding
from hinge.binding.constants import transform_numbers
from hinge.binding.frames import Place
from hinge.binding.loops import LoopKind, WayKind
from hinge.errors import ArgumentError
from hinge.model import Closure, Loop, closure_ends, free_flexures, release_couplings, rows_of, without_loops
from hinge.model import Joint as JointOf
from hinge.model.joints import Follower
from hinge.spatial import Transform
from hinge.sweeps import Site
from hinge.tree import WORLD, Tree, grouped


@dataclass(frozen=True, eq=False)
class EmbeddedBinding(RobotBinding):
    """The letters bound to a robot with embedded couplings or loops; a body of the tree is an aggregate."""

    def __post_init__(self) -> None:
        super().__post_init__()
        what, remedy = self.robot.embedding
        if self.touch == "stops":
            raise NotImplementedError(
                f"limits: not supported for robots with {what}, such as {self.robot.name!r}; {remedy}"
            )
        for name in (x.name for x in (placements, rotors, friction) if self.needs.gives(x)):
            raise NotImplementedError(
                f"parameters: {name!r} is not supported for robots with {what}, such as {self.robot.name!r}; "
                f"{remedy}, or build robots with other numbers, hinge.with_parameters(robot, …)"
            )
        numbers = {Ask.MOUNTS: "placements", Ask.ROTORS: "rotors", Ask.ALL_FORCES: "friction"}
        for name in (n for ask, n in numbers.items() if self.robot.loops and ask in self.needs.asks):
            raise NotImplementedError(
                f"wrt: derivatives by {name!r} are not supported for robots with embedded loops, such as "
                f"{self.robot.name!r}; use release_loops(robot) and closed_dynamics_derivatives"
            )
        for name in self.prescribed or ():
            if self.robot.joint(name).depends:
                raise ArgumentError(
                    f"prescribed: expected joints with rates of their own, got {name!r}, which depends on "
                    "others of its loop; prescribe the independent joints of the loop"
                )

    @cached_property
    def free(self) -> RobotBinding:
        """The members: the bodies of the robot whose joints have coordinates of their own."""
        return RobotBinding(
            without_loops(free_flexures(release_couplings(self.robot))),
            self.nodes,
            self.expressed,
            needs=self.needs,
            own_gravity=self.own_gravity,
            rows=self.rows,
            touch=self.touch,
            coulomb=self.coulomb,
        )

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The members in their working frames."""
        return self.free.places

    @property
    def carriers(self) -> Sequence[int]:
        """For each body of the robot, the index of its aggregate."""
        return [self._group_of[i] for i in self.free.carriers]

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The members of each aggregate."""
        together: dict[int, list[int]] = {}
        for i, joint in enumerate(self._joints):
            if joint.nv and not joint.depends:
                together.setdefault(joint.qd_slice.start, []).append(i)
        coupled = [found for found in together.values() if len(found) > 1]
        paths = [self._path(c) for loop in self.robot.loops for c in loop.closures]
        return grouped(self.free.tree, [*coupled, *(p for p in paths if p)])

    def _path(self, closure: Closure) -> tuple[int, ...]:
        """Return the members whose joints lie between the two ends of a closure."""
        (i, _), (o, _) = self._ends_at(closure)
        return self.free.tree.path(i, o)

    def _ends_at(self, closure: Closure) -> list[tuple[int, Transform]]:
        """Return for the inner and the outer end the member, and the transform from its frame to the end."""
        found: list[tuple[int, Transform]] = []
        for i, x in closure_ends(self.robot, closure):
            here = i == WORLD
            found.append(
                (i, x) if here else (self.free.carriers[i], x @ self.free._own_places[i].chosen.inv())
            )
        return found

    @cached_property
    def _joints(self) -> list[JointOf]:
        """The members' joints, with the indices of their coordinates."""
        return [self.robot.joint(p.joint.name) for p in self.free.places]

    @cached_property
    def _group_of(self) -> dict[int, int]:
        return {i: k for k, members in enumerate(self.groups) for i in members}

    @cached_property
    def _tree(self) -> Tree:
        above = [self.free.tree.parents[members[0]] for members in self.groups]
        return Tree(tuple(WORLD if p == WORLD else self._group_of[p] for p in above))

    @property
    def tree(self) -> Tree:
        """The tree of the aggregates."""
        return self._tree

    def members(self, body: int) -> tuple[Place, ...]:
        """Return the members of an aggregate."""
        return tuple(self.free.places[i] for i in self.groups[body])

    def name(self, body: int) -> str:
        """Return the name of an aggregate's hinge for messages."""
        names = [p.joint.name for p in self.members(body)]
        many = f"joints {', '.join(map(repr, names))}" if len(names) > 1 else f"joint {names[0]!r}"
        return f"{many} of robot {self.robot.name!r}"

    # Coordinates.

    def _own(self, body: int) -> list[JointOf]:
        """Return the joints of an aggregate that have coordinates."""
        return [self._joints[i] for i in self.groups[body] if not self._joints[i].follows]

    def coordinates(self, body: int) -> Sequence[int]:
        """Return the indices of an aggregate's coordinates in q."""
        return [k for j in self._own(body) for k in range(j.q_slice.start, j.q_slice.stop)]

    def _dofs(self, space: Space, body: int) -> Sequence[int]:
        every = [k for j in self._own(body) for k in range(j.qd_slice.start, j.qd_slice.stop)]
        if space is Joint or self.prescribed is None:
            return every
        return [k for k in every if (k in self._prescribed) == (space is Active)]

    @cached_property
    def _prescribed(self) -> frozenset[int]:
        slices = [self.robot.joint(name).qd_slice for name in self.prescribed or ()]
        return frozenset(k for s in slices for k in range(s.start, s.stop))

    @cached_property
    def _order(self) -> dict[Space, dict[int, int]]:
        """The index of each degree of freedom among the passive, or the active, ones."""
        bodies = range(len(self.tree))
        shown = {s: sorted(k for i in bodies for k in self._dofs(s, i)) for s in (Passive, Active)}
        return {space: {dof: k for k, dof in enumerate(found)} for space, found in shown.items()}

    # Blocks.

    def _ends_of(self, body: int) -> list[int]:
        return [n for i in self.groups[body] for n in self.free._ends_of(i)]

    def size(self, space: Space, body: int) -> int:
        """Return the block size of a space at an aggregate."""
        if body != WORLD and space is Body:
            return sum(self.free.size(space, i) for i in self.groups[body]) + self._locks(body)
        if body != WORLD and space is Node:
            return sum(self.free.size(space, i) for i in self.groups[body])
        return super().size(space, body)

    def positions(self, space: Space, body: int) -> Sequence[int]:
        """Return the indices of a block in the user's vector."""
        if body != WORLD and space in (Body, Node, Parameter, Mount):
            locks = self._locks(body) if space is Body else 0
            return [*(p for i in self.groups[body] for p in self.free.positions(space, i)), *[-1] * locks]
        return super().positions(space, body)

    # Sites.

    @cached_property
    def _aggregates(self) -> tuple[AggregateKind, ...]:
        return tuple(map(self._aggregate, range(len(self.groups))))

    def kind(self, body: int) -> Hashable:
        """Return everything except numbers that determines the code at an aggregate."""
        return self._aggregates[body]

    def _aggregate(self, body: int) -> AggregateKind:
        members = self.groups[body]
        parent = self.free.tree.parents[members[0]]
        start = 0
        if parent != WORLD:
            before = self.groups[self._group_of[parent]]
            start = sum(self.free.size(Body, i) for i in before[: before.index(parent)])
        dofs = self._dofs(Joint, body)
        return AggregateKind(
            tuple(self._member(i, members, self.coordinates(body), dofs) for i in members),
            tuple(self.prescribed is not None and k in self._prescribed for k in dofs),
            self.prescribed is None,
            start,
            self.size(Body, self.tree.parents[body]),
            tuple(self._loop(x, members, dofs) for x in self._loops_of(body)),
        )

    def _loops_of(self, body: int) -> list[Loop]:
        """Return the loops that members of an aggregate close."""
        of = {j.name: self._group_of[i] for i, j in enumerate(self._joints)}
        return [x for x in self.robot.loops if of[x.joints[0]] == body]

    def _loop(self, loop: Loop, members: Sequence[int], dofs: Sequence[int]) -> LoopKind:
        """Return a loop in terms of the members and degrees of freedom of its aggregate."""
        at = {self._joints[i].name: k for k, i in enumerate(members)}
        ways: list[WayKind] = []
        for c in loop.closures:
            (i, _), (o, _) = self._ends_at(c)
            top = self.free.tree.common_ancestor(i, o)
            inner, outer = (
                tuple(members.index(k) for k in self.free.tree.support(end) if k > top) for end in (i, o)
            )
            rows = tuple(map(tuple, rows_of(c.joint).matrix.tolist()))
            ways.append(WayKind(rows, inner, outer))
        own = [self.robot.joint(name) for name in loop.independent]
        free = [(at[j.name], k, dofs.index(j.qd_slice.start + k)) for j in own for k in range(j.nv)]
        return LoopKind(tuple(ways), loop.rows, tuple((at[n], k) for n, k in loop.pivots), tuple(free))

    def _member(
        self, i: int, members: Sequence[int], coordinates: Sequence[int], dofs: Sequence[int]
    ) -> Member:
        joint, parent = self._joints[i], self.free.tree.parents[i]
        q, v = joint.q_slice, joint.qd_slice
        return Member(
            self.free._kinds[i],
            len(self.free.constants(i)),
            members.index(parent) if parent in members else WORLD,
            tuple(coordinates.index(k) for k in range(q.start, q.stop)),
            tuple(dofs.index(k) for k in range(v.start, v.stop)),
            isinstance(joint.type, Follower),
        )

    def constants(self, body: int) -> list[float]:
        """Return the numbers of an aggregate, in the order in which `AggregateSite` takes them."""
        if body == WORLD:
            return super().constants(body)
        found = [x for i in self.groups[body] for x in self.free.constants(i)]
        types = [self._joints[i].type for i in self.groups[body]]
        found += [float(x) for t in types if isinstance(t, Follower) for x in (t.ratio, t.offset)]
        ends = (end for x in self._loops_of(body) for c in x.closures for end in self._ends_at(c))
        return found + [n for _, x in ends for n in transform_numbers(x)]

    def site(self, body: int, numbers: Sequence[Any]) -> Site:
        """Return the values of letters at aggregates of this kind, for these numbers."""
        if body == WORLD:
            return super().site(body, numbers)
        return AggregateSite(self._aggregates[body], numbers, self.expressed, self.robot.name)
