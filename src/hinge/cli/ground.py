"""`--ground` of `hinge simulate`: what touches, where the robot is dropped from, and what holds it."""

from __future__ import annotations

import argparse
import warnings
from math import isfinite
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hinge.dynamics import FrictionLaw, contact_jacobian, gap
from hinge.errors import ArgumentError, CommandLineError, ModelError, ModelWarning
from hinge.model import Joint, Robot, contacts_of, gravity_of, on_ground, with_contacts
from hinge.robots import FOOT_RADIUS, quadruped_stance

Array = NDArray[np.float64]
#: Friction with the ground unless given, and the height in m that a robot is dropped from.
FRICTION, HEIGHT = 0.8, 0.1
#: Options that mean something with --ground only.
OPTIONS = ("friction", "restitution", "touch", "drop")
#: A depth in m at the start that is worth a warning.
INSIDE = 1e-3
#: The deflection in rad or m of a joint that carries the robot's weight alone, and the largest share of a
#: joint's velocity that its damper takes in a step.
SAG, SHARE = 0.4, 0.5


def add_ground(parser: argparse.ArgumentParser) -> None:
    """Add --ground and what goes with it."""
    group = parser.add_argument_group(
        "ground",
        "Rigid contact with the plane z = 0. A robot on a free base starts in its stance (quadruped) or its "
        "neutral configuration, and its joints are held there, unless --q0 and --control say otherwise. The "
        "quadruped touches with its feet, other robots with the spheres, capsules and corners of boxes of "
        "their shapes; a warning names shapes that are left out.",
    )
    add = group.add_argument
    add("--ground", action="store_true", help="put the robot on the ground; the integrator is stepping")
    add("--friction", type=float, metavar="MU", help=f"coefficient of friction (default: {FRICTION:g})")
    add("--restitution", type=float, metavar="E", help="how much a blow gives back, 0 to 1 (default: 0)")
    add("--touch", nargs="+", metavar="NAME", help="frames or bodies whose origins touch, and nothing else")
    add(
        "--drop",
        nargs="+",
        type=float,
        metavar="METRES",
        help="height of a free robot's lowest contact at the start, or two between which each state's is "
        f"drawn (default: {HEIGHT:g})",
    )
    add(
        "--law",
        choices=get_args(FrictionLaw),
        default="associated",
        help="law of friction: what slides rises by MU |v| dt, or by Coulomb's stays down, in some more time "
        "(default: associated)",
    )


def grounded(robot: Robot, arguments: argparse.Namespace) -> Robot:
    """Return the robot with contacts with the ground, if --ground is given.

    One that has contacts keeps these, and gets others only for names that are given.
    """
    if not arguments.ground:
        for name in OPTIONS:
            if getattr(arguments, name) is not None:
                raise CommandLineError(f"--{name}: expected --ground with it; leave it out, or give both")
        return robot
    mu = FRICTION if arguments.friction is None else arguments.friction
    numbers: dict[str, Any] = {"friction": mu, "restitution": arguments.restitution or 0.0}
    try:
        if arguments.touch is not None:
            return on_ground(robot, arguments.touch, **numbers)
        found = touching(robot, arguments.robot, **numbers)
    except (ModelError, ArgumentError) as error:
        raise CommandLineError(f"--ground: {error}") from error
    if not found.contacts:
        raise CommandLineError(
            f"--ground: expected shapes that can touch it, got none of {robot.name}; name frames or bodies "
            "with --touch"
        )
    return found


def touching(robot: Robot, name: str | None, **numbers: Any) -> Robot:
    """Return the robot with its own contacts, those of the built-in quadruped's feet, or of its shapes."""
    if robot.contacts:
        return robot
    if name == "quadruped":
        feet = [f.name for f in robot.frames if f.name.endswith("_foot")]
        return on_ground(robot, feet, radius=FOOT_RADIUS, **numbers)
    return with_contacts(robot, contacts_of(robot, role="either", **numbers))


def stance(robot: Robot, arguments: argparse.Namespace) -> Array | None:
    """Return the configuration in which a built-in robot stands, or None."""
    return quadruped_stance(robot) if arguments.robot == "quadruped" else None


def free_base(robot: Robot) -> Joint | None:
    """Return the free joint that the whole robot hangs on, or None."""
    roots = [j for j in robot.joints if j.parent is None]
    return roots[0] if len(roots) == 1 and roots[0].type.kind == "free" else None


def dropped(robot: Robot, q: Array, arguments: argparse.Namespace) -> Array:
    """Return configurations whose lowest contacts are at the height of --drop; fixed robots stay."""
    free, heights = free_base(robot), arguments.drop
    if free is None:
        if heights is not None:
            raise CommandLineError(f"--drop: expected a robot on a free base, got {robot.name}; leave it out")
        _warn_inside(robot, q)
        return q
    heights = [HEIGHT] if heights is None else heights
    if len(heights) > 2 or not all(map(isfinite, heights)) or heights[0] < 0 or heights[-1] < heights[0]:
        got = " ".join(f"{x:g}" for x in heights)
        raise CommandLineError(
            f"--drop: expected one height ≥ 0 in m, or two that are the least and the greatest, got {got}"
        )
    low = [k for k, c in enumerate(robot.contacts) if c.on is None]
    if not low:
        return q
    rng = np.random.default_rng(arguments.seed)
    rise = rng.uniform(heights[0], heights[-1], q.shape[:-1]) - gap(robot, q)[..., low].min(-1)
    up = free.inner.rotation[2]  # of the world, in the frame that the base's position is in
    q = np.array(q)
    q[..., free.q_slice][..., 4:] += rise[..., None] * up
    return q


def _warn_inside(robot: Robot, q: Array) -> None:
    """Warn, in one line, of contacts that start inside the ground."""
    depth = -gap(robot, np.atleast_2d(q)[0])
    inside = [(c.name, x) for c, x in zip(robot.contacts, depth, strict=True) if x > INSIDE]
    if inside:
        more = f" (and {len(inside) - 1} more)" if len(inside) > 1 else ""
        name, x = inside[0]
        message = f"--q0: {name} starts {x:.2g} m inside the ground{more}; it is pushed out"
        warnings.warn(ModelWarning(message), stacklevel=2)


def stiffness(robot: Robot, q: Array, gravity: Array | None, moved: Array, dt: float) -> tuple[Array, Array]:
    """Return gains kp and kd (nv,) that carry a robot's weight on its contacts.

    A joint that carried all of the weight at the arm of its farthest contact would give way by `SAG`. The
    damper is critical for the mass on one contact at this arm, and takes no more than half of a joint's
    velocity in a step, with the inertias (nv,) that the joints move in the air.
    """
    arms = np.linalg.norm(contact_jacobian(robot, q), axis=-2).max(-2)
    kp = float(robot.mass * np.linalg.norm(gravity_of(robot, gravity))) * arms / SAG
    kd = 2 * np.sqrt(kp * robot.mass / len(robot.contacts)) * arms
    return np.minimum(kp, SHARE * moved / dt**2), np.minimum(kd, SHARE * moved / dt)
