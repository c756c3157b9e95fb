"""Robots on the ground for long runs: a quadruped on its feet, and one that may touch with all of it."""

from __future__ import annotations

import numpy as np

import hinge
from hinge.spatial import Transform, quaternion

LEGS = ("FL", "FR", "HL", "HR")
#: Half the trunk's sides, and the radii of feet and knees, in m.
TRUNK, FOOT, KNEE = np.array([0.19, 0.06, 0.05]), 0.02, 0.025
GAINS = 60.0, 2.0


def on_feet(friction=0.7, restitution=0.0):
    """Return a quadruped with four contacts, and a pose in which it stands on them."""
    robot = hinge.robots.quadruped()
    bent = {"hip_pitch": 0.7, "knee": -1.4}
    pose = hinge.configuration(robot, {f"{leg}_{k}": x for leg in LEGS for k, x in bent.items()})
    feet = [
        hinge.Contact(leg, f"{leg}_foot", friction=friction, restitution=restitution, radius=FOOT)
        for leg in LEGS
    ]
    robot = hinge.with_contacts(robot, feet)
    return robot, lifted(robot, pose)


def all_over(friction=0.7, restitution=0.0):
    """Return a quadruped with contacts at feet, knees and corners of its trunk, and a pose on its feet."""
    robot, pose = on_feet(friction, restitution)
    more = {"friction": friction, "restitution": restitution}
    knees = [hinge.Contact(f"{leg}_knee", f"{leg}_shank", radius=KNEE, **more) for leg in LEGS]
    corners = [
        hinge.Contact(
            f"corner{k}", "trunk", placement=Transform.place(None, TRUNK * (2 * np.array(s) - 1)), **more
        )
        for k, s in enumerate(np.ndindex(2, 2, 2))
    ]
    return hinge.with_contacts(robot, [*knees, *corners]), pose


def lifted(robot, q, height=0.0):
    """Return configurations moved up or down until their lowest contact is this far above the ground."""
    q = np.array(q)
    at = robot.joints[0].q_slice
    q[..., at.stop - 1] += height - hinge.gap(robot, q).min(axis=-1)
    return q


def dropped(robot, pose, count, seed=0):
    """Return states above the ground, at random heights and attitudes, that move a little."""
    rng = np.random.default_rng(seed)
    q, qd = np.tile(pose, (count, 1)), rng.standard_normal((count, robot.nv))
    q[:, :4] = quaternion.random(rng, (count,))
    q[:, 7:] += 0.2 * rng.standard_normal((count, robot.nq - 7))
    return lifted(robot, q, rng.uniform(0.0, 0.3, count)), 0.5 * qd


def holding(robot, pose):
    """Return the law that holds the joints of the legs at a pose."""
    driven = np.ones(robot.nv)
    driven[:6] = 0.0
    return hinge.sim.PD(pose, GAINS[0] * driven, GAINS[1] * driven)


def energy(robot, pose, q, qd):
    """Return kinetic and potential energy (…), that of the springs that hold the pose too."""
    springs = 0.5 * GAINS[0] * ((q - pose)[..., 7:] ** 2).sum(axis=-1)
    return hinge.kinetic_energy(robot, q, qd) + hinge.potential_energy(robot, q) + springs
