"""Contacts: gaps, accelerations, steps over contacts with friction, and impacts.

Bodies are rigid. Forces of a contact are those on its shape's body, along its normal and two tangents,
[n, t₁, t₂]. Every result says how well its conditions are met: `residual` is the distance from the law of
contact, relative to the largest approach in that state, and `rounds` how long the search for it took.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from hinge.dynamics.arguments import External, external_forces, rows_that_hold
from hinge.dynamics.cached import Key, program
from hinge.dynamics.contact_forms import contact_parts
from hinge.dynamics.function import Compiled
from hinge.dynamics.verbs import kinetic_energy
from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, as_tangent, checked_robot, joint_rows, rows_of
from hinge.spatial import Array, ArrayLike
from hinge.targets import best_target

__all__ = [
    "CONTACT_NUMBERS",
    "Collision",
    "ContactDynamics",
    "ContactStep",
    "FrictionLaw",
    "at_joints_of",
    "by_contact_rows",
    "collide",
    "contact_dynamics",
    "contact_jacobian",
    "contact_rows",
    "contact_step",
    "gap",
    "is_coulomb",
]

#: The law of friction: the cone's own ("associated"), or Coulomb's.
FrictionLaw: TypeAlias = Literal["associated", "coulomb"]


class ContactNumber(NamedTuple):
    """The letter of a number that each contact has, and its least and most."""

    letter: str
    least: float
    most: float


#: Numbers of contacts that calls may give, by the name of the argument.
CONTACT_NUMBERS = {
    "friction": ContactNumber("bounds", 0.0, np.inf),
    "restitution": ContactNumber("bounce", 0.0, 1.0),
    "ground": ContactNumber("ground", -np.inf, np.inf),
}
#: Contacts with smaller gaps (m), and of those the ones with smaller speeds (m/s), count as closed.
CLOSED, AT_REST = 1e-6, 1e-6
#: A law is met where its residual is not above this.
MET = 1e-6


class Answered:
    """An answer to a law of contact, which says how well it is met."""

    residual: Array

    @property
    def met(self) -> Array:
        """Whether the law is met (…), to 1e-6 of the largest approach.

        Where it is not, contacts contradict each other, as those of a ball between walls that overlap do: no
        forces meet all of them, and `residual` is how far the best ones are from it.
        """
        return self.residual <= MET


@dataclass(frozen=True, eq=False)
class ContactDynamics(Answered):
    """Accelerations qdd (…, nv), forces (…, contacts, 3), those of closures (…, m), residual, rounds (…)."""

    qdd: Array
    forces: Array
    closure_forces: Array
    residual: Array
    rounds: Array


@dataclass(frozen=True, eq=False)
class ContactStep(Answered):
    """Velocities qd (…, nv) after a step, impulses in it (…, contacts, 3), and those of closures (…, m).

    `residual` (…) is how far they are from the law, `rounds` (…) how long the search took; `joint_impulses`
    (…, nv) are those of limits and dry friction.
    """

    qd: Array
    impulses: Array
    closure_impulses: Array
    residual: Array
    rounds: Array
    joint_impulses: Array


@dataclass(frozen=True, eq=False)
class Collision(Answered):
    """Velocities qd (…, nv) after an impact, impulses (…, contacts, 3), and those of closures (…, m).

    `lost` (…) is the energy that is gone, in J, `residual` as in `ContactStep`.
    """

    qd: Array
    impulses: Array
    closure_impulses: Array
    lost: Array
    residual: Array


def gap(robot: Robot, q: ArrayLike) -> Array:
    """Return the signed distances (…, contacts) of shapes and surfaces, in the order of `robot.contacts`."""
    first = _closure_rows(_with_contacts(robot))
    return _program(robot, "gap").evaluate(q, {})["gap"][..., first:]


def contact_jacobian(robot: Robot, q: ArrayLike) -> Array:
    """Return J (…, contacts, 3, nv): velocities at contacts along n, t₁, t₂ are J qd.

    They are those of the shape's body against the surface's, where the two are nearest.
    """
    first = _closure_rows(_with_contacts(robot))
    found = _program(robot, "contact_jacobian").evaluate(q, {})["contact_jacobian"][..., first:, :]
    return found.reshape(*found.shape[:-2], len(robot.contacts), 3, robot.nv)


def contact_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    closed: ArrayLike | None = None,
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = False,
    held: ArrayLike | None = None,
) -> ContactDynamics:
    """Return the accelerations of a robot on frictionless contacts, and their forces.

    Featherstone 1987 (9.50)–(9.53): contacts push, λ ≥ 0, gaps do not close, Ω λ + w ≥ 0, and a contact that
    opens has no force. `closed` (…, contacts) says which contacts are closed: by default those with a gap
    below 1e-6 m that neither open nor close faster than 1e-6 m/s. An approach takes an impact: `collide`.
    """
    _with_contacts(robot)
    if closed is None:
        j = contact_jacobian(robot, q)[..., 0, :]
        speed = (j @ as_tangent(robot, qd, "qd")[..., None])[..., 0]
        closed = (gap(robot, q) <= CLOSED) & (np.abs(speed) <= AT_REST)
    given = {"closed": _hold(robot, closed, held, 1)}
    found = _answer(robot, "contact_dynamics", q, {"qd": qd, "tau": tau}, given, external, gravity, passive)
    closures, normals = _split(robot, found["forces"])
    forces = np.zeros((*normals.shape, 3), dtype=normals.dtype)
    forces[..., 0] = normals
    return ContactDynamics(found["qdd"], forces, closures, found["residual"], found["rounds"])


def contact_step(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    dt: float,
    *,
    law: FrictionLaw = "associated",
    friction: ArrayLike | None = None,
    restitution: ArrayLike | None = None,
    start: ArrayLike | None = None,
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = False,
    held: ArrayLike | None = None,
    limits: bool = False,
    ground: ArrayLike | None = None,
) -> ContactStep:
    """Return the velocities after a step of time over contacts with friction.

    No gap closes further than to zero, impulses lie in the cones of friction, and of all such steps it is
    that which changes velocities least: the convex, or associated, law. A contact that slides is lifted by
    μ |v| dt in it; with `law="coulomb"` it stays down (De Saxcé's correction). That law is no minimum of
    anything and takes a few times the rounds; the residual tells where no solution was found. Depths are
    taken back slowly; a gap that closes fast bounces by its restitution. `friction` and `restitution` (…,
    contacts) replace the contacts' own; `start` (…, contacts, 3) are impulses to start from, such as those of
    the step before. `ground` (…, contacts) raises each contact's surface along its normal, in m.

    With `limits` the joints' limits stop them, without a bounce, and their friction holds them as long as it
    can: |force| ≤ friction, instead of the smooth one that `passive` has for them. The robot may then be one
    without contacts. Limits are those of joints with one coordinate.
    """
    coulomb = is_coulomb(law)
    if not (isinstance(dt, int | float) and 0 < dt < np.inf):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"dt: expected a time above zero in s, got {dt!r}")
    if not isinstance(limits, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"limits: expected True or False, got {limits!r}")
    m = contact_rows(checked_robot(robot) if limits else _with_contacts(robot), limits)
    given = _by_rows(robot, limits, friction=friction, restitution=restitution, ground=ground)
    if held is not None:
        given["closed"] = _hold(robot, np.ones(len(robot.contacts)), held, 3, limits)
    if start is not None:
        given["lam_0"] = _as_rows(robot, "start", start, limits) / dt
    vectors = {"qd": qd, "tau": tau, "pace": np.full(m, 1.0 / dt)}
    options = external, gravity, passive, limits, coulomb
    answer = _answer(robot, "contact_step", q, vectors, given, *options)
    velocities = as_tangent(robot, qd, "qd") + dt * answer["qdd"]
    told = answer["residual"], answer["rounds"]
    return _stepped(robot, q, velocities, answer["forces"] * dt, told, limits)


def is_coulomb(law: FrictionLaw) -> bool:
    """Tell whether a law of friction is Coulomb's; refuse what is none."""
    if law not in get_args(FrictionLaw):
        raise ArgumentError(f"law: expected 'associated' or 'coulomb', got {law!r}")
    return law == "coulomb"


def _by_rows(robot: Robot, limits: bool = False, **given: ArrayLike | None) -> dict[str, ArrayLike]:
    """Return the numbers of contacts that are given, by letter and by rows."""
    return {
        CONTACT_NUMBERS[name].letter: by_contact_rows(robot, name, values, limits=limits)
        for name, values in given.items()
        if values is not None
    }


def _stepped(
    robot: Robot, q: ArrayLike, velocities: Array, impulses: Array, told: tuple[Array, Array], limits: bool
) -> ContactStep:
    """Return a step with its impulses by rows told apart."""
    closures, cones = _split(robot, impulses, limits)
    cones = cones.reshape(*cones.shape[:-1], len(robot.contacts), 3)
    joints = at_joints_of(robot, q, impulses) if limits else np.zeros_like(velocities)
    return ContactStep(velocities, cones, closures, *told, joints)


def collide(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    closed: ArrayLike | None = None,
    friction: ArrayLike | None = None,
    restitution: ArrayLike | None = None,
    held: ArrayLike | None = None,
) -> Collision:
    """Return the velocities after an impact of the contacts that are closed, by default those without a gap.

    Poisson's law in two phases, Featherstone 1987 (9.77): impulses of compression stop the approach, those of
    decompression give back the share of the restitution, and no contact is left approaching. Friction acts in
    both. A robot with closures keeps them. Energy is never gained: where two phases with friction would, the
    impact is plastic.
    """
    _with_contacts(robot)
    if closed is None:
        closed = gap(robot, q) <= CLOSED
    e = by_contact_rows(robot, "restitution", _own(robot, "restitution", restitution))
    given = {"closed": _hold(robot, closed, held, 3), **_by_rows(robot, friction=friction)}
    one = _answer(robot, "collide", q, {"qd": qd}, given | {"x_c": np.zeros(e.shape[-1])})
    back = (1.0 + e) * one["forces"]
    two = _answer(robot, "collide", q, {"qd": qd}, given | {"x_c": back})
    before = kinetic_energy(robot, q, qd)
    after, plastic = kinetic_energy(robot, q, two["qd"]), kinetic_energy(robot, q, one["qd"])
    gained = (after > before * (1.0 + 1e-12) + 1e-300)[..., None]
    velocities = np.where(gained, one["qd"], two["qd"])
    impulses = np.where(gained, one["forces"], back + two["forces"])
    lost = before - np.where(gained[..., 0], plastic, after)
    residual = np.maximum(one["residual"], np.where(gained[..., 0], 0.0, two["residual"]))
    closures, cones = _split(robot, impulses)
    return Collision(velocities, cones.reshape(*cones.shape[:-1], -1, 3), closures, lost, residual)


# Rows.


def _with_contacts(robot: Robot) -> Robot:
    if not checked_robot(robot).contacts:
        raise ArgumentError(
            f"robot: expected one with contacts, got {robot.name!r}, which has none; say what may touch with "
            "hinge.with_contacts(robot, contacts), or hinge.on_ground(robot, frames)"
        )
    return robot


def contact_rows(robot: Robot, limits: bool = False) -> int:
    """Return the number of rows of closures, joints with `limits`, and contacts together."""
    return _closure_rows(robot) + len(_joint_bounds(robot, limits)) + 3 * len(robot.contacts)


def _joint_bounds(robot: Robot, limits: bool) -> list[float]:
    """Return the bounds of joints' rows: zeros for limits, friction for what rubs."""
    return joint_rows(robot).bounds if limits else []


def at_joints_of(robot: Robot, q: ArrayLike, forces: Array) -> Array:
    """Return what limits and dry friction exert (…, nv), of forces (…, m) by rows."""
    rows, start = joint_rows(robot), _closure_rows(robot)
    where = as_configuration(robot, q)
    own = forces[..., start : start + len(rows)]
    found = np.zeros((*np.broadcast_shapes(where.shape[:-1], own.shape[:-1]), robot.nv), own.dtype)
    near, count = where[..., rows.coordinates], len(rows.limited)
    signs = np.where(near - rows.lower < rows.upper - near, 1.0, -1.0)
    found[..., rows.limited] = signs * own[..., :count]
    found[..., rows.rubbing] += own[..., count:]
    return found


def _closure_rows(robot: Robot) -> int:
    return sum(len(rows_of(c.joint).names) for c in robot.closures)


def _split(robot: Robot, rows: Array, limits: bool = False) -> tuple[Array, Array]:
    """Return the rows of closures and those of contacts."""
    first = _closure_rows(robot)
    return rows[..., :first], rows[..., first + len(_joint_bounds(robot, limits)) :]


def _own(robot: Robot, name: str, given: ArrayLike | None) -> ArrayLike:
    return np.array([getattr(c, name) for c in robot.contacts]) if given is None else given


def by_contact_rows(
    robot: Robot, number: str, values: ArrayLike, *, limits: bool = False, name: str | None = None
) -> Array:
    """Return one of `CONTACT_NUMBERS` for each row (…, m), of one for each contact (…, contacts) or for all.

    Rows of joints have their own friction, and else zeros. `name` is what messages call it.
    """
    letter, least, most = CONTACT_NUMBERS[number]
    name = number if name is None else name
    joints = _joint_bounds(robot, limits)
    count, first = len(robot.contacts), _closure_rows(robot) + len(joints)
    found = np.asarray(values, dtype=np.float64)
    if found.shape[-1:] != (count,) and found.shape != ():
        raise ArgumentError(f"{name}: expected a number or shape (…, {count}), got {found.shape}")
    good = np.isfinite(found) & (found >= least) & (found <= most)
    if not good.all():
        span = "finite numbers" if least == -np.inf else "numbers ≥ 0"
        span = span if most == np.inf else f"numbers from {least:g} to {most:g}"
        raise ArgumentError(f"{name}: expected {span}, got {found[~good].flat[0]:g}")
    found = np.repeat(np.broadcast_to(found, (*found.shape[:-1], count)), 3, axis=-1)
    before = np.zeros((*found.shape[:-1], first))
    if letter == "bounds":
        before[..., first - len(joints) :] = joints
    return np.concatenate([before, found], axis=-1)


def _as_rows(robot: Robot, name: str, values: ArrayLike, limits: bool) -> Array:
    """Return contact forces (…, contacts, 3) as rows (…, m), zeros for closures."""
    found = np.asarray(values, dtype=np.float64)
    if found.shape[-2:] != (len(robot.contacts), 3):
        raise ArgumentError(f"{name}: expected shape (…, {len(robot.contacts)}, 3), got {found.shape}")
    flat = found.reshape(*found.shape[:-2], -1)
    before = _closure_rows(robot) + len(_joint_bounds(robot, limits))
    return np.concatenate([np.zeros((*flat.shape[:-1], before)), flat], axis=-1)


def _hold(robot: Robot, closed: ArrayLike, held: ArrayLike | None, rows: int, limits: bool = False) -> Array:
    """Return ones in the rows of closures, joints and contacts that hold (…, m)."""
    found = np.asarray(closed)
    if found.shape[-1:] != (len(robot.contacts),) or not np.isin(found, (0, 1)).all():
        names = ", ".join(c.name for c in robot.contacts)
        raise ArgumentError(
            f"closed: expected booleans (…, {len(robot.contacts)}), one for each contact ({names}), got "
            f"{closed!r}"
        )
    touching = np.repeat(found.astype(np.float64), rows, axis=-1)
    joints = np.ones((*touching.shape[:-1], len(_joint_bounds(robot, limits))))
    touching = np.concatenate([joints, touching], axis=-1)
    if held is None:
        loops = np.ones((*touching.shape[:-1], _closure_rows(robot)))
    else:
        loops = rows_that_hold(robot, held)
        batch = np.broadcast_shapes(loops.shape[:-1], touching.shape[:-1])
        loops = np.broadcast_to(loops, (*batch, loops.shape[-1]))
        touching = np.broadcast_to(touching, (*batch, touching.shape[-1]))
    return np.concatenate([loops, touching], axis=-1)


# Programs.


def _program(
    robot: Robot,
    verb: str,
    nodes: tuple[str, ...] = (),
    passive: bool = False,
    parameters: tuple[str, ...] = (),
    limits: bool = False,
    coulomb: bool = False,
) -> Compiled:
    chosen = passive or limits or coulomb
    parts = contact_parts(verb, passive, limits, coulomb) if chosen else contact_parts(verb)
    return program(Key(best_target(), robot, parts, nodes, parameters=parameters))


def _answer(
    robot: Robot,
    verb: str,
    q: ArrayLike,
    vectors: Mapping[str, ArrayLike],
    given: Mapping[str, ArrayLike],
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = False,
    limits: bool = False,
    coulomb: bool = False,
) -> dict[str, Array]:
    nodes, forces = external_forces(external)
    f = _program(robot, verb, nodes, passive, tuple(given), limits, coulomb)
    more = {} if gravity is None else {"gravity": gravity}
    return f.evaluate(q, {**vectors, **given, **forces, **more})
