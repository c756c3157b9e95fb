"""A robot: a frozen tree of named bodies, one joint for each body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hinge.errors import ModelError, UnknownNameError, close_names, did_you_mean
from hinge.model.closures import Closure, refuse_closures
from hinge.model.contacts import Contact, refuse_contacts
from hinge.model.joints import Flexure, Follower, Modes
from hinge.model.loops import Loop, dependent_joints, refuse_bad_loops
from hinge.model.parts import Body, Coupling, Frame, Joint
from hinge.model.readonly import frozen, numbers
from hinge.model.table import (
    CLOSURE_HEAD,
    CONTACT_HEAD,
    HEAD,
    LOOP_HEAD,
    closure_rows,
    contact_rows,
    in_html,
    loop_rows,
    rows_of,
)
from hinge.spatial import Array, ArrayLike, Transform
from hinge.tree import WORLD, Tree, base_first_order, find_loop

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
#: What `make_robot` makes a robot of, beside its name.
PARTS = ("bodies", "joints", "frames", "couplings", "gravity", "closures", "loops", "contacts")


@dataclass(frozen=True, eq=False, repr=False)
class Robot:
    """Bodies numbered base first, body i carried by joint i; made by `make_robot`.

    The world is not a body: a joint whose parent is None hangs its child on the world. `nq` and
    `nv` count the coordinates of configuration and of velocity. Nothing in a robot ever changes;
    functions such as `attach` or `lock` return new ones.

    A follower joint (see `embed_couplings`) has the slices of q and qd of its leader; `independent`
    are the joints with coordinates of their own.

    `closures` close loops (see `close`): they are joints that the tree does not know, without coordinates.
    `loops` are those that are embedded (see `embed_loops`): some of their joints, which `depends` tells, have
    coordinates and no rates, so that nq > nv; `rated` are the joints with rates of their own.

    `contacts` are pairs that may touch (see `with_contacts`).
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    frames: tuple[Frame, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    gravity: Array = field(default_factory=lambda: np.array(STANDARD_GRAVITY))
    closures: tuple[Closure, ...] = ()
    loops: tuple[Loop, ...] = ()
    contacts: tuple[Contact, ...] = ()
    tree: Tree = field(init=False)
    independent: tuple[Joint, ...] = field(init=False)
    nq: int = field(init=False)
    nv: int = field(init=False)
    _body_index: dict[str, int] = field(init=False)
    _frame_index: dict[str, int] = field(init=False)
    _joint_index: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "gravity", frozen(self.gravity))
        put(self, "_body_index", {b.name: i for i, b in enumerate(self.bodies)})
        put(self, "_joint_index", {j.name: i for i, j in enumerate(self.joints)})
        put(self, "_frame_index", {f.name: i for i, f in enumerate(self.frames)})
        parents = [WORLD if j.parent is None else self._body_index[j.parent] for j in self.joints]
        put(self, "tree", Tree(tuple(parents)))
        put(self, "independent", tuple(j for j in self.joints if not j.follows))
        put(self, "nq", self.independent[-1].q_slice.stop if self.independent else 0)
        put(self, "nv", self.independent[-1].qd_slice.stop if self.independent else 0)

    @property
    def rated(self) -> tuple[Joint, ...]:
        """The joints with rates of their own: neither followers nor dependent joints of a loop."""
        return tuple(j for j in self.independent if not j.depends)

    @property
    def is_embedded(self) -> bool:
        """Whether joints share rates: couplings or loops are embedded, or flexible bodies carry others."""
        return bool(self.loops) or len(self.independent) < len(self.joints)

    @property
    def embedding(self) -> tuple[str, str]:
        """What makes it embedded, and how that is undone, for messages."""
        if self.loops:
            return "embedded loops", "use release_loops(robot)"
        if any(isinstance(j.type, Follower) for j in self.joints):
            return "embedded couplings", "use release_couplings(robot)"
        return "attachments of flexible bodies", "lock their modes, hinge.lock(robot, at)"

    @property
    def is_flexible(self) -> bool:
        """Whether there are flexible bodies."""
        return any(b.flexible is not None for b in self.bodies)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints' names in their order."""
        return tuple(self._joint_index)

    @property
    def body_names(self) -> tuple[str, ...]:
        """The bodies' names in their order."""
        return tuple(self._body_index)

    @property
    def lower(self) -> Array:
        """The lower limits of q (nq,), −inf where there is none."""
        return self._limits[0]

    @property
    def upper(self) -> Array:
        """The upper limits of q (nq,)."""
        return self._limits[1]

    @property
    def _limits(self) -> tuple[Array, Array]:
        """The limits of q: the intersection over a joint and its followers, its own if that is empty."""
        low, high = self._stacked("lower"), self._stacked("upper")
        own = low.copy(), high.copy()
        for at, j, k in self._followers:
            ends = np.concatenate([j.lower, j.upper]) - j.type.own(np.zeros(1))
            if k:
                low[at] = max(low[at], (ends / k).min())
                high[at] = min(high[at], (ends / k).max())
        nothing = low > high
        return np.where(nothing, own[0], low), np.where(nothing, own[1], high)

    @property
    def _followers(self) -> list[tuple[int, Joint, float]]:
        """The followers: their indices in q and qd, and their ratios."""
        found = [(j, j.type) for j in self.joints]
        return [(j.q_slice.start, j, t.ratio) for j, t in found if isinstance(t, Follower)]

    @property
    def velocity_limit(self) -> Array:
        """The limits of |qd| (nv,), in a loop those of its independent joints."""
        found = self._stacked("velocity")
        for _, j, k in self._followers:
            if k:
                found[j.qd_slice] = np.minimum(found[j.qd_slice], j.velocity / abs(k))
        return found

    @property
    def effort_limit(self) -> Array:
        """The limits of |tau| (nv,)."""
        return self._stacked("effort")

    def _stacked(self, field: str) -> Array:
        joints = self.independent if field in ("lower", "upper") else self.rated
        return np.concatenate([np.zeros(0), *(getattr(j, field) for j in joints)])

    @property
    def rotor_inertia(self) -> Array:
        """The inertias of the rotors about their own axes (nv,), before the gears."""
        return self._stacked("rotor_inertia")

    @property
    def reflected_inertia(self) -> Array:
        """The joints' own share of the mass matrix's diagonal (nv,): gear_ratio² rotor_inertia.

        In a loop that of its independent joints; what its other rotors add depends on q.
        """
        found = self._stacked("reflected_inertia")
        for _, j, k in self._followers:
            found[j.qd_slice] += k * k * j.reflected_inertia
        return found

    @property
    def mass(self) -> float:
        """The mass of all bodies together, in kg."""
        return float(sum(b.mass for b in self.bodies))

    def body(self, name: str) -> Body:
        """Return the body of this name."""
        return self.bodies[self.body_index(name)]

    def joint(self, name: str) -> Joint:
        """Return the joint of this name."""
        return self.joints[_look_up("joint", name, self._joint_index, self.name)]

    def frame(self, name: str) -> Frame:
        """Return the frame of this name; a body's name stands for its own frame."""
        if name in self._body_index:
            return Frame(name, name, Transform.identity())
        if name not in self._frame_index:
            _look_up("frame", name, {**self._frame_index, **self._body_index}, self.name)
        return self.frames[self._frame_index[name]]

    def body_index(self, name: str) -> int:
        """Return the number of the body of this name."""
        return _look_up("body", name, self._body_index, self.name)

    def joint_of(self, body: str) -> Joint:
        """Return the joint that carries a body."""
        return self.joints[self.body_index(body)]

    @property
    def is_floating(self) -> bool:
        """Whether a free joint hangs a body on the world."""
        return any(j.parent is None and j.type.kind == "free" for j in self.joints)

    @property
    def summary(self) -> str:
        """The robot in one line: name, bodies, nq, nv, base, closures, contacts."""
        sizes = f"{len(self.bodies)} bodies, nq = {self.nq}, nv = {self.nv}"
        return f"{self.name}: {sizes}, {self._base}"

    def __repr__(self) -> str:
        return f"<Robot {self.name!r}: {len(self.bodies)} bodies, nq={self.nq}, nv={self.nv}, {self._base}>"

    @property
    def _base(self) -> str:
        """Its base, and how many loops are closed and embedded and contacts there are."""
        found = ["floating base" if self.is_floating else "fixed base"]
        parts = {"closure": self.closures, "embedded loop": self.loops, "contact": self.contacts}
        for what, count in ((what, len(given)) for what, given in parts.items()):
            found += [f"{count} {what}{'s' * (count > 1)}"] if count else []
        return ", ".join(found)

    def _repr_html_(self) -> str:
        """Return a table of bodies and joints, and those of closures, loops and contacts, for notebooks."""
        bodies = rows_of(self.bodies, self.joints, self.tree.depth)
        closed, loops = closure_rows(self.closures), loop_rows(self.loops)
        touching = CONTACT_HEAD, contact_rows(self.contacts)
        return in_html(self.summary, (HEAD, bodies), (CLOSURE_HEAD, closed), (LOOP_HEAD, loops), touching)


def make_robot(
    name: str,
    bodies: Iterable[Body],
    joints: Iterable[Joint],
    *,
    frames: Iterable[Frame] = (),
    couplings: Iterable[Coupling] = (),
    gravity: ArrayLike = STANDARD_GRAVITY,
    closures: Iterable[Closure] = (),
    loops: Iterable[Loop] = (),
    contacts: Iterable[Contact] = (),
) -> Robot:
    """Return the robot made of these parts, sorted base first (depth first, in the order given).

    Raises ModelError when a name is used twice, a joint or frame names an unknown body, a body has no
    joint or several, the joints form a loop, or a closure or contact names an unknown frame or one body
    twice.
    """
    bodies, joints, frames, couplings = list(bodies), list(joints), list(frames), list(couplings)
    closures, loops, contacts = tuple(closures), tuple(loops), tuple(contacts)
    _refuse_twice("body or frame", [*(b.name for b in bodies), *(f.name for f in frames)])
    _refuse_twice("joint", [j.name for j in joints])
    index = {b.name: i for i, b in enumerate(bodies)}
    carrier = _carriers(index, joints)
    for frame in frames:
        if frame.body not in index:
            raise ModelError(f"frame {frame.name!r}: its body {frame.body!r} does not exist")
    parents = [WORLD if (p := carrier[b.name].parent) is None else index[p] for b in bodies]
    order = _order(parents, joints, [b.name for b in bodies])
    g = numbers(gravity, "gravity")
    if g.shape != (3,) or not np.isfinite(g).all():
        raise ModelError(f"gravity: expected three finite numbers, got {gravity!r}")
    robot = Robot(
        name,
        tuple(bodies[i] for i in order),
        _numbered([carrier[bodies[i].name] for i in order], couplings, dependent_joints(loops), carrier),
        tuple(frames),
        tuple(couplings),
        g,
        closures,
        loops,
        contacts,
    )
    _refuse_couplings(robot)
    _refuse_flexible(robot)
    refuse_bad_loops(loops, {j.name: j for j in robot.joints})
    every = *closures, *(c for loop in loops for c in loop.closures)
    places = {f.name: f.body for f in frames}
    refuse_closures(every, robot.body_names, places)
    _refuse_twice("joint or closure", [*robot.joint_names, *(c.name for c in every)])
    refuse_contacts(contacts, robot.body_names, places)
    return robot


def remade(robot: Robot, **parts: Any) -> Robot:
    """Return the robot with these parts, arguments of `make_robot`, in place of its own."""
    return make_robot(robot.name, **({n: getattr(robot, n) for n in PARTS} | parts))


def _refuse_couplings(robot: Robot) -> None:
    """Refuse couplings of unknown or multi-dof joints, duplicates, cycles and NaN."""
    masters: dict[str, str] = {}
    index = set(robot.joint_names)
    for c in robot.couplings:
        what = f"coupling of joint {c.joint!r} to {c.master!r}"
        for joint in (c.joint, c.master):
            if joint not in index:
                raise ModelError(f"{what}: joint {joint!r} does not exist")
            if robot.joint(joint).nv != 1:
                raise ModelError(f"{what}: expected joints with one coordinate, got {joint!r}")
        if c.joint in masters:
            raise ModelError(f"{what}: already coupled to {masters[c.joint]!r}")
        if not (np.isfinite(c.ratio) and np.isfinite(c.offset)):
            raise ModelError(f"{what}: expected finite numbers, got ratio {c.ratio} and offset {c.offset}")
        masters[c.joint] = c.master
    for start in masters:
        step, joint = 0, start
        while joint in masters:
            joint, step = masters[joint], step + 1
            if step > len(masters):
                raise ModelError(f"coupling of joint {start!r}: the couplings form a cycle")


def _carriers(index: dict[str, int], joints: Sequence[Joint]) -> dict[str, Joint]:
    """Return the joint that carries each body; refuse bodies with none or two."""
    carrier: dict[str, Joint] = {}
    for joint in joints:
        for role, body in (("parent", joint.parent), ("child", joint.child)):
            if body is not None and body not in index:
                close = close_names(body, index, most=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise ModelError(f"joint {joint.name!r}: its {role} body {body!r} does not exist{hint}")
        if joint.child in carrier:
            raise ModelError(
                f"body {joint.child!r} is the child of two joints, {carrier[joint.child].name!r} and "
                f"{joint.name!r}: the joints must form a tree; keep one of the two, and close the loop with "
                "close(robot, inner, outer, joint=…), which makes the other joint a closure"
            )
        carrier[joint.child] = joint
    for body in index:
        if body not in carrier:
            raise ModelError(
                f"body {body!r} is not connected: it is the child of no joint; "
                "connect it to the world by a joint with parent=None"
            )
    return carrier


def _order(parents: list[int], joints: Sequence[Joint], names: list[str]) -> tuple[int, ...]:
    """Return the base-first order; siblings keep the order of their joints."""
    rank = {j.child: i for i, j in enumerate(joints)}
    by_joint = sorted(range(len(parents)), key=lambda i: rank[names[i]])
    place = {body: k for k, body in enumerate(by_joint)}
    shuffled = [WORLD if parents[i] == WORLD else place[parents[i]] for i in by_joint]
    try:
        order = base_first_order(shuffled)
    except ModelError:
        loop = find_loop(shuffled)
        raise ModelError(
            "the joints form a loop that is not connected to the world, through the bodies "
            + ", ".join(repr(names[i]) for i in sorted(by_joint[k] for k in loop)[:6])
            + (" …" if len(loop) > 6 else "")
        ) from None
    return tuple(by_joint[k] for k in order)


def _numbered(
    joints: Sequence[Joint],
    couplings: Sequence[Coupling],
    dependent: frozenset[str],
    carrier: Mapping[str, Joint],
) -> tuple[Joint, ...]:
    """Return the joints with their slices of q and qd; followers get those of their leader.

    The leader of the joint of an attachment is that of the modes of its parent.
    """
    found = [copy(j) for j in joints]  # `replace` would run all checks again
    q = v = 0
    for j in found:
        if not j.follows:
            rates = 0 if j.name in dependent else j.nv
            object.__setattr__(j, "q_slice", slice(q, q + j.nq))
            object.__setattr__(j, "qd_slice", slice(v, v + rates))
            q, v = q + j.nq, v + rates
    following = [j for j in found if j.follows]
    masters = {c.joint: c.master for c in couplings} if following else {}
    known = {j.name: j for j in found} if following else {}
    for j in following:
        leader = j
        if isinstance(j.type, Flexure):
            _lead(j, known, carrier)
            continue
        for _ in masters:
            if leader.follows:
                leader = known.get(masters.get(leader.name, ""), leader)
        if leader.follows or leader.nq != 1:
            raise ModelError(
                f"joint {j.name!r} follows another joint, but its coupling or leader is missing; "
                "keep both joints and their coupling, or start from release_couplings(robot)"
            )
        object.__setattr__(j, "q_slice", leader.q_slice)
        object.__setattr__(j, "qd_slice", leader.qd_slice)
    return tuple(found)


def _lead(j: Joint, known: Mapping[str, Joint], carrier: Mapping[str, Joint]) -> None:
    """Give the joint of an attachment the slices of the modes of the body that it is on."""
    modes = None if j.parent is None else known.get(carrier[j.parent].name)
    if modes is None or not isinstance(modes.type, Modes) or modes.nq != j.nq:
        raise ModelError(
            f"joint {j.name!r}: expected the body of {j.nq} modes that it is an attachment of as parent, got "
            f"{j.parent!r}; keep the bodies of Builder.body(…, flexible=…) together"
        )
    object.__setattr__(j, "q_slice", modes.q_slice)
    object.__setattr__(j, "qd_slice", modes.qd_slice)


def _refuse_flexible(robot: Robot) -> None:
    """Refuse flexible bodies without modes and the reverse, and what hangs on them beside attachments."""
    for body, joint in zip(robot.bodies, robot.joints, strict=True):
        n = 0 if body.flexible is None else body.flexible.modes
        if n != (joint.nv if isinstance(joint.type, Modes) else 0):
            raise ModelError(
                f"body {body.name!r}: expected a flexible body on a joint of type Modes({n or joint.nv}) "
                "and no "
                f"other, got {joint!r}; add it with Builder.body(…, flexible=…)"
            )
        above = None if joint.parent is None else robot.body(joint.parent).flexible
        if above is not None and not isinstance(joint.type, Flexure):
            raise ModelError(
                f"joint {joint.name!r}: nothing hangs on the flexible body {joint.parent!r} itself, which "
                "has no "
                "one frame; expected one of its attachments as parent, or its rigid part"
            )
    for frame in robot.frames:
        if robot.body(frame.body).flexible is not None:
            raise ModelError(
                f"frame {frame.name!r}: a frame on the flexible body {frame.body!r} would stay with its "
                "floating "
                "frame; expected one of its attachments, or its rigid part, as body"
            )


def _refuse_twice(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(f"{what} name {name!r} is used twice; names must be unique")
        seen.add(name)


def _look_up(what: str, name: str, index: dict[str, int], robot: str) -> int:
    if name in index:
        return index[name]
    hint = did_you_mean(name, index) or _listing(index)
    raise UnknownNameError(f"robot {robot!r} has no {what} {name!r}; {hint}")


def _listing(index: dict[str, int]) -> str:
    names = sorted(index)
    more = " …" if len(names) > 12 else ""
    return "it has " + ", ".join(map(repr, names[:12])) + more
