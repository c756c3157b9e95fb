"""Verbs that make a new robot from old ones: attach, detach, merge, lock, reduce, reroot.

The old robots stay as they are. `carry_state` takes a state along.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from hinge.errors import ArgumentError, ModelError, ModelWarning
from hinge.model import joints
from hinge.model.checks import configuration_problems
from hinge.model.closing import Link, every_closure
from hinge.model.closures import Closure
from hinge.model.contacts import Contact
from hinge.model.flexible_tree import locked_modes, moved_body, rigid_at
from hinge.model.joints import Fixed, Flexure, Free, JointType, Modes
from hinge.model.parts import Body, Frame, Joint
from hinge.model.robot import Robot, make_robot
from hinge.model.vectors import as_vector
from hinge.spatial import Array, ArrayLike, Inertia, Transform


def attach(
    robot: Robot,
    other: Robot | Body | Inertia,
    to: str,
    *,
    joint: JointType | None = None,
    rotation: ArrayLike | None = None,
    position: ArrayLike | None = None,
    prefix: str = "",
) -> Robot:
    """Return `robot` with `other` attached to the frame `to` by a joint (fixed by default).

    `rotation` and `position` place the joint's inner frame in `to`. The joint replaces the one
    between `other` and the world and takes its name ("<body>_joint" if that is taken); `prefix` is
    prepended to all names of `other`. Closures between bodies of `other` go with them, and its contacts, also
    those with the world, whose ground stays where it is.

    A payload is a `Body`, or an `Inertia` about the origin of `to`, which becomes a body called "payload".
    """
    other = _as_robot(other)
    roots = [j for j in other.joints if j.parent is None]
    if len(roots) != 1:
        raise ModelError(
            f"other: expected a robot with one joint to the world, got {len(roots)} for {other.name!r}"
        )
    for c in every_closure(other):
        if c.inner is None:
            raise ModelError(
                f"other: closure {c.name!r} of {other.name!r} leads to the world, where it would stay; close "
                "it with a base body instead, or open it first"
            )
    part = _renamed(other, prefix)
    frame = robot.frame(to)
    old = next(j for j in part.joints if j.parent is None)
    taken = {j.name for j in (*robot.joints, *part.joints) if j is not old}
    hook = Joint(
        f"{old.child}_joint" if old.name in taken else old.name,
        joint or Fixed(),
        frame.body,
        old.child,
        Transform.place(rotation, position) @ frame.placement,
        old.outer,
    )
    return _combine(robot.name, robot, part, {old.name: hook})


def _as_robot(other: Robot | Body | Inertia) -> Robot:
    """Return a robot as it is, and a payload as a robot of one body."""
    if isinstance(other, Robot):
        return other
    body = Body("payload", other) if isinstance(other, Inertia) else other
    if not isinstance(body, Body):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"other: expected a Robot, or a Body or Inertia as payload, got {type(other).__name__}"
        )
    return make_robot(body.name, [body], [Joint(f"{body.name}_joint", Fixed(), None, body.name)])


def merge(first: Robot, second: Robot, *, name: str | None = None, prefix: str = "") -> Robot:
    """Return one robot that holds both side by side on the world, with the first's gravity.

    `prefix` is prepended to all names of the second.
    """
    label, part = name or f"{first.name}+{second.name}", _renamed(second, prefix)
    taken = {j.name for j in first.joints}
    roots = [j for j in part.joints if j.parent is None and j.name in taken]
    return _combine(label, first, part, {j.name: replace(j, name=f"{j.child}_joint") for j in roots})


def detach(robot: Robot, body: str) -> tuple[Robot, Robot]:
    """Return the robot without a body and its descendants, and these as a floating robot.

    A closure between the two parts must be opened first, and a contact between them removed; those with the
    world stay.
    """
    _refuse_loops(robot, "detach")
    gone = {robot.bodies[i].name for i in robot.tree.subtree(robot.body_index(body))}
    if robot.joint_of(body).follows and isinstance(robot.joint_of(body).type, Flexure):
        raise ModelError(
            f"body {body!r} is an attachment of a flexible body, and moves with it; detach the bodies on it"
        )
    if robot.body(body).flexible is not None:
        raise ModelError(f"body {body!r} floats with its rigid part; detach {robot.joint_of(body).parent!r}")
    if len(gone) == len(robot.bodies):
        raise ModelError(f"body {body!r} carries the whole robot {robot.name!r}; nothing would be left")
    cut = robot.joint_of(body)
    loose = Joint(cut.name, Free(), None, body)
    left = {b.name for b in robot.bodies} - gone
    return _part(robot, robot.name, {}, left), _part(robot, body, {cut.name: loose}, gone)


def lock(robot: Robot, at: Mapping[str, ArrayLike]) -> Robot:
    """Return the robot with the named joints fixed at the given configurations.

    A flexible body whose modes are fixed becomes a rigid one, as it is deformed then.
    """
    _refuse_loops(robot, "lock")
    frozen: dict[str, Joint] = {}
    flexed: dict[str, Array] = {}
    if not isinstance(at, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"at: expected {{joint name: configuration}}, got {at!r}")
    for name, value in at.items():
        j = robot.joint(name)
        if isinstance(j.type, Flexure):
            raise ModelError(
                f"at: joint {name!r} is the deformation at an attachment of a flexible body; lock the "
                "modes of "
                f"that body, {robot.joint_of(j.parent or '').name!r}"
            )
        if j.follows:
            raise ModelError(
                f"at: joint {name!r} follows another joint and cannot be locked on its own; lock its leader, "
                "or start from release_couplings(robot)"
            )
        given: Any = [value] if j.nq == 1 and np.ndim(value) == 0 else value
        q = as_vector(given, f"at[{name!r}]", j.nq, f"a {j.type.kind} joint has nq = {j.nq}")
        if q.ndim != 1:
            raise ArgumentError(f"at[{name!r}]: expected one configuration, got shape {q.shape}")
        for problem in configuration_problems(j, q):
            if problem.fatal:
                raise ArgumentError(f"at[{name!r}]: {problem.message}")
        if isinstance(j.type, Modes):
            flexed[name] = q
            continue
        inner = j.type.placement(q) @ j.inner
        frozen[name] = Joint(j.name, Fixed(), j.parent, j.child, inner, j.outer)
    if not flexed:
        return _part(robot, robot.name, frozen)
    frozen |= {j.name: j for j in locked_modes(robot.joints, flexed)}
    rigid = {robot.joint(n).child: q for n, q in flexed.items()}
    stiff = [rigid_at(b, rigid[b.name]) if b.name in rigid else b for b in robot.bodies]
    return _part(robot, robot.name, frozen, bodies=stiff)


def reduce(robot: Robot) -> Robot:
    """Return the robot with every body behind a fixed joint merged into the body that carries it.

    Masses and inertias are added, shapes move along, and each merged body stays as a frame of its
    name. A body fixed to the world stays a body, as the world has no inertia to add to.
    """
    _refuse_loops(robot, "reduce")
    onto: dict[str, tuple[str, Transform]] = {}
    inertias = {b.name: b.inertia for b in robot.bodies}
    shapes = {b.name: b.shapes for b in robot.bodies}
    for body, joint in zip(robot.bodies, robot.joints, strict=True):
        if joint.parent is None or joint.nv:
            onto[body.name] = (body.name, Transform.identity())
            continue
        host, place = onto[joint.parent]
        x = joint.transform(np.zeros(0)) @ place
        onto[body.name] = (host, x)
        inertias[host] = inertias[host] + x.inv().inertia(body.inertia)
        moved = tuple(replace(s, placement=s.placement @ x) for s in body.shapes)
        shapes[host] = shapes[host] + moved
    kept = [b for b in robot.bodies if onto[b.name][0] == b.name]
    merged = [Frame(b.name, *onto[b.name]) for b in robot.bodies if onto[b.name][0] != b.name]
    moved_frames = [_moved_frame(f, *onto[f.body]) for f in robot.frames]
    return make_robot(
        robot.name,
        [replace(b, inertia=inertias[b.name], shapes=shapes[b.name]) for b in kept],
        [_moved_joint(j, onto) for j in robot.joints if j.nv or j.parent is None],
        frames=[*merged, *moved_frames],
        couplings=robot.couplings,
        gravity=robot.gravity,
        closures=robot.closures,
        contacts=robot.contacts,
    )


def at_joints(robot: Robot) -> Robot:
    """Return the robot with each body frame at the outer frame of its joint.

    Where that moves a frame, the old one stays as a frame called "<body>_frame". The physics and
    all coordinates are the same.
    """
    _refuse_loops(robot, "at_joints")
    bodies: list[Body] = []
    frames: list[Frame] = []
    made: list[Joint] = []
    moved = {b.name: j.outer for b, j in zip(robot.bodies, robot.joints, strict=True)}
    for body, joint in zip(robot.bodies, robot.joints, strict=True):
        x = joint.outer
        bodies.append(moved_body(body, x))
        inner = joint.inner if joint.parent is None else joint.inner @ moved[joint.parent].inv()
        made.append(replace(joint, inner=inner, outer=Transform.identity()))
        if not x.is_identity():
            frames.append(Frame(f"{body.name}_frame", body.name, x.inv()))
    where = {f.body: f.name for f in frames}
    frames += [_moved_frame(f, f.body, moved[f.body].inv()) for f in robot.frames]
    return make_robot(
        robot.name,
        bodies,
        made,
        frames=frames,
        couplings=robot.couplings,
        gravity=robot.gravity,
        closures=[_renamed_closure(c, lambda n: where.get(n, n)) for c in robot.closures],
        contacts=[_renamed_contact(c, lambda n: where.get(n, n)) for c in robot.contacts],
    )


def reroot(robot: Robot, body: str) -> Robot:
    """Return a floating robot with its free joint moved to another body.

    The joints between the old and the new base are reversed; all bodies, frames and inertias are kept,
    so the physics is the same. `carry_state` gives the same motion in the new coordinates.
    """
    _refuse_loops(robot, "reroot")
    new = robot.body_index(body)
    base = robot.joints[robot.tree.support(new)[0]]
    if base.type.kind != "free":
        raise ModelError(
            f"robot: expected a floating robot, got {robot.name!r} with the {base.type.kind} joint "
            f"{base.name!r} to the world; load it with floating=True"
        )
    for name in _PHYSICS:
        if getattr(base, name).any():
            _cannot_turn(base, f"its {name} between a body and the world does not move along")
    turned = {base.name: Joint(base.name, Free(), None, body)}
    for i in robot.tree.support(new)[1:]:
        j = robot.joints[i]
        if isinstance(j.type, Modes | Flexure):
            _cannot_turn(j, "a flexible body has its floating frame at its own joint", "lock its modes")
        assert j.parent is not None
        turned[j.name] = replace(
            j,
            type=j.type.reversed(),
            parent=j.child,
            child=j.parent,
            inner=j.outer,
            outer=j.inner,
            **_reversed_physics(j),
        )
    return _part(robot, robot.name, turned)


#: Fields with one value for each direction of motion.
_PHYSICS = ("reflected_inertia", "damping", "friction", "stiffness")


def _reversed_physics(j: Joint) -> dict[str, Any]:
    """Return limits and physics of a joint in its reversed type's coordinates."""
    zero = np.zeros(j.nv)
    if j.effort_subspace is not None:
        _cannot_turn(j, "its effort subspace belongs to one side")
    if isinstance(j.type, joints.Nonholonomic):
        return {}  # q and qd are the same
    turned: dict[str, Any] = {"rest": j.type.reverse_state(j.rest, zero)[0]}
    if not isinstance(j.type, joints.VectorJoint):
        for name in _PHYSICS:
            values = getattr(j, name)
            same_all_round = j.type.isotropic and np.ptp(values) == 0 and name != "friction"
            if values.any() and not same_all_round:
                _cannot_turn(j, f"its {name} belongs to axes of the outer frame")
        low, high = j.type.limits()
        if not (np.array_equal(j.lower, low) and np.array_equal(j.upper, high)):
            _cannot_turn(j, "its limits belong to axes of the inner frame")
        return turned | {"lower": None, "upper": None}
    ends = [j.type.reverse_state(end, zero)[0] for end in (j.lower, j.upper)]
    for name in ("velocity", "effort", "rotor_inertia", "gear_ratio", "friction_speed", *_PHYSICS[1:]):
        values = j.type.reverse_state(j.rest, getattr(j, name))[1]
        turned[name] = values * j.type.reverse_state(j.rest, np.ones(j.nv))[1]  # places change, no sign
    return turned | {"lower": np.minimum(*ends), "upper": np.maximum(*ends)}


def _cannot_turn(j: Joint, why: str, remedy: str = "remove it") -> NoReturn:
    raise ModelError(f"joint {j.name!r} ({j.type.kind}) cannot be reversed: {why}; {remedy} first")


def _moved_joint(joint: Joint, onto: Mapping[str, tuple[str, Transform]]) -> Joint:
    if joint.parent is None:
        return joint
    host, place = onto[joint.parent]
    return replace(joint, parent=host, inner=joint.inner @ place)


def _moved_frame(frame: Frame, host: str, place: Transform) -> Frame:
    return Frame(frame.name, host, frame.placement @ place)


def _refuse_loops(robot: Robot, what: str) -> None:
    if robot.loops:
        raise ModelError(
            f"robot: {what} is not supported for robots with embedded loops, such as {robot.name!r}; use "
            "release_loops(robot), and embed_loops afterwards"
        )


def _part(
    robot: Robot,
    name: str,
    swap: Mapping[str, Joint],
    keep: Collection[str] | None = None,
    bodies: Iterable[Body] | None = None,
) -> Robot:
    """Return the robot with some joints, or all bodies, replaced, or only those named in `keep` of it."""
    kept = {b.name for b in robot.bodies} if keep is None else keep
    made = [swap.get(j.name, j) for j in robot.joints if j.child in kept]
    single = {j.name for j in made if j.nv == 1}
    there = {j.name for j in made}
    for c in robot.couplings:
        if there & {c.joint, c.master} and not {c.joint, c.master} <= single:
            message = f"robot {robot.name!r}: the coupling of {c.joint!r} to {c.master!r} is gone"
            warnings.warn(message, ModelWarning, stacklevel=3)
    return make_robot(
        name,
        [b for b in bodies or robot.bodies if b.name in kept],
        made,
        frames=[f for f in robot.frames if f.body in kept],
        couplings=[c for c in robot.couplings if {c.joint, c.master} <= single],
        gravity=robot.gravity,
        closures=_kept(robot, kept, robot.closures, "opened"),
        contacts=_kept(robot, kept, robot.contacts, "without_contacts"),
    )


def _kept(robot: Robot, kept: Collection[str], links: Iterable[Link], remove: str) -> list[Link]:
    """Return the closures or contacts of these bodies, also with the world; refuse those that lead across."""
    found: list[Link] = []
    for c in links:
        names = (c.inner, c.outer) if isinstance(c, Closure) else (c.on, c.frame)
        ends = {robot.frame(n).body in kept for n in names if n is not None}
        if len(ends) == 2:
            kind = type(c).__name__.lower()
            raise ModelError(
                f"{kind} {c.name!r} leads from {names[0]!r} in one part to {names[1]!r} in the other; remove "
                f"it first: {remove}(robot, [{c.name!r}])"
            )
        if ends == {True}:
            found.append(c)
    return found


def _renamed_contact(contact: Contact, named: Callable[[str], str]) -> Contact:
    """Return a contact of frames that are called something else."""
    on = None if contact.on is None else named(contact.on)
    return replace(contact, frame=named(contact.frame), on=on)


def _renamed_closure(closure: Closure, named: Callable[[str], str]) -> Closure:
    """Return a closure between frames that are called something else."""
    inner = None if closure.inner is None else named(closure.inner)
    return replace(closure, inner=inner, outer=named(closure.outer))


def _combine(name: str, first: Robot, second: Robot, swap: Mapping[str, Joint]) -> Robot:
    names = {b.name for b in first.bodies} | {f.name for f in first.frames}
    clash = next((p.name for p in (*second.bodies, *second.frames) if p.name in names), None)
    if clash is not None:
        raise ModelError(
            f"robots {first.name!r} and {second.name!r} both have a body or frame {clash!r}; "
            "give prefix= to rename those of the second"
        )
    return make_robot(
        name,
        [*first.bodies, *second.bodies],
        [*first.joints, *(swap.get(j.name, j) for j in second.joints)],
        frames=[*first.frames, *second.frames],
        couplings=[*first.couplings, *second.couplings],
        gravity=first.gravity,
        closures=[*first.closures, *second.closures],
        loops=[*first.loops, *second.loops],
        contacts=[*first.contacts, *second.contacts],
    )


def _renamed(robot: Robot, prefix: str) -> Robot:
    """Return the robot with a prefix before every name."""
    if not prefix:
        return robot

    def body_of(name: str | None) -> str | None:
        return None if name is None else prefix + name

    def closed(c: Closure) -> Closure:
        return replace(_renamed_closure(c, lambda n: prefix + n), name=prefix + c.name)

    def touching(c: Contact) -> Contact:
        return replace(_renamed_contact(c, lambda n: prefix + n), name=prefix + c.name)

    return make_robot(
        robot.name,
        [replace(b, name=prefix + b.name) for b in robot.bodies],
        [
            replace(j, name=prefix + j.name, parent=body_of(j.parent), child=prefix + j.child)
            for j in robot.joints
        ],
        frames=[replace(f, name=prefix + f.name, body=prefix + f.body) for f in robot.frames],
        couplings=[replace(c, joint=prefix + c.joint, master=prefix + c.master) for c in robot.couplings],
        gravity=robot.gravity,
        closures=list(map(closed, robot.closures)),
        loops=[loop.renamed(prefix, closed) for loop in robot.loops],
        contacts=list(map(touching, robot.contacts)),
    )
