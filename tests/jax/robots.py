"""Robots and states for the functions of JAX."""

from __future__ import annotations

import numpy as np

import hinge
from hinge.model import joints
from tests.dynamics.zoo import REAL
from tests.sweeps.models import every_joint_type, without_rolling


def small():
    """Return a free body, a ball joint and a hinge."""
    b, inertia = hinge.Builder("small"), hinge.Inertia.from_com(1.0, (0.1, 0.2, 0.3), np.eye(3))
    b.body("trunk", joint=joints.Free(), inertia=inertia)
    b.body(
        "arm",
        parent="trunk",
        joint=joints.Spherical(),
        inertia=inertia,
        position=(0, 0.1, 0.2),
        rotor_inertia=0.1,
    )
    b.body("tip", parent="arm", joint=joints.Revolute((0, 0.6, 0.8)), inertia=inertia, position=(0.3, 0, 0))
    return b.build()


#: What is tested daily, and more of the same.
DAILY = ("small",)
ROBOTS = {
    "small": small,
    "panda": hinge.robots.panda,
    "no rolling": without_rolling,
    "four-bar": hinge.robots.four_bar,
    "quadruped": hinge.robots.quadruped,
    **{name: REAL[name] for name in ("solo12", "talos") if name in REAL},
    "every joint": lambda: every_joint_type(0).robot,
    "stewart": hinge.robots.stewart_platform,
    "two arms": hinge.robots.two_pandas_with_plate,
    "delta": hinge.robots.delta,
}


def states(robot, seed=0, count=()):
    """Return q that closes, and velocities and forces."""
    rng = np.random.default_rng(seed)
    shape = np.empty(count).shape
    q = hinge.random_configuration(robot, rng, size=count)
    if robot.closures:
        q = hinge.assemble(robot, q).q
    return q, *rng.standard_normal((2, *shape, robot.nv))


def off(found, wanted):
    """Return the largest difference relative to the largest number, at least one."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    return np.abs(found - wanted).max(initial=0.0) / max(1.0, np.abs(wanted).max(initial=0.0))


def by_coordinates(robot, q, g):
    """Return N⁺ᵀ g of gradients (…, nv)."""
    found = np.zeros((*g.shape[:-1], robot.nq))
    for u in hinge.model.units(robot):
        if not u.q:
            continue
        columns = np.stack([u.type.unrate(u.q_of(q), e) for e in np.eye(len(u.q))], axis=-1)
        found[..., list(u.q)] = np.einsum("...vq,...v->...q", columns, u.qd_of(g))
    return found


def rolls(robot):
    """Tell whether a joint has no velocities for changes of its coordinates."""
    return any(u.type.unrate(u.type.neutral(), np.zeros(len(u.q))) is None for u in hinge.model.units(robot))
