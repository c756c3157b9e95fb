"""Robots on contacts in random states, in batches: what their steps and impacts must keep."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

import hinge
from hinge.model import Builder, Capsule, Sphere
from hinge.model.joints import Free, Revolute
from hinge.robots import solid_box
from hinge.spatial import Inertia, Transform
from tests.oracles.data import example
from tests.sim.standing import on_feet


@dataclass(frozen=True, eq=False)
class Contacts:
    """A robot with contacts, and states (n,) of it in which most of them touch."""

    name: str
    robot: hinge.Robot
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray

    def __getitem__(self, some):
        return Contacts(self.name, self.robot, self.q[some], self.qd[some], self.tau[some])

    @property
    def mu(self):
        return np.array([c.friction for c in self.robot.contacts])


def quadruped(count, seed=0):
    """Return a quadruped on four feet, in every second state with legs that are bent otherwise."""
    robot, pose = on_feet()
    return _near("quadruped, 4 feet", robot, pose, count, seed, 0.02)


def talos(count, seed=0):
    """Return a humanoid on the corners of both soles, flat on the ground: eight points, rank twelve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = hinge.load(example("talos_reduced.urdf"), floating=True)
    bent = {"3": -0.4, "4": 0.8, "5": -0.4}
    names = [(side, k, x) for side in ("left", "right") for k, x in bent.items()]
    pose = hinge.configuration(robot, {f"leg_{side}_{k}_joint": x for side, k, x in names})
    corners = [(x, y, 0.0) for x in (0.1, -0.1) for y in (0.05, -0.05)]
    found = [
        hinge.Contact(f"{s}{k}", f"{s}_sole_link", friction=0.7, placement=Transform.place(position=at))
        for s in ("left", "right")
        for k, at in enumerate(corners)
    ]
    return _near("talos, 8 points", hinge.with_contacts(robot, found), pose, count, seed, 0.0)


def _near(name, robot, pose, count, seed, spread):
    rng = np.random.default_rng(seed)
    q = np.tile(pose, (count, 1))
    q[::2, 7:] += spread * rng.standard_normal((len(q[::2]), robot.nq - 7))
    q[:, 6] -= hinge.gap(robot, q).min(axis=-1)
    qd, tau = (rng.standard_normal((count, robot.nv)) for _ in range(2))
    tau[:, :6] = 0.0
    return Contacts(name, robot, q, 0.3 * qd, 3.0 * tau)


def fingers(count, seed=0):
    """Return two fingers of two joints that hold a box between their tips: round on round."""
    b = Builder("fingers")
    b.body("object", joint=Free(), inertia=solid_box(0.3, (0.08, 0.08, 0.08)))
    link = Inertia.from_com(0.1, (0, 0, 0.05), np.diag([1e-4, 1e-4, 2e-5]))
    b.body("palm")
    for name, side in (("left", -1.0), ("right", 1.0)):
        b.body(
            f"{name}1",
            parent="palm",
            joint=Revolute((0, 1, 0)),
            position=(0.07 * side, 0, -0.2),
            inertia=link,
        )
        b.body(f"{name}2", parent=f"{name}1", joint=Revolute((0, 1, 0)), position=(0, 0, 0.1), inertia=link)
        b.frame(f"{name}_tip", f"{name}2", position=(0, 0, 0.1))
        b.contact(f"{name}_ball", f"{name}_tip", "object", friction=0.8, radius=0.02, surface=Sphere(0.05))
        b.contact(
            f"{name}_side", f"{name}_tip", "object", friction=0.8, radius=0.02, surface=Capsule(0.04, 0.06)
        )
    b.contact(
        "palm",
        "object",
        "palm",
        friction=0.4,
        radius=0.05,
        surface_placement=Transform.place(position=(0, 0, -0.05)),
    )
    robot = b.build()
    rng = np.random.default_rng(seed)
    q = np.tile(hinge.neutral(robot), (count, 1)) + 0.0
    q[:, 7:] += rng.uniform(-0.3, 0.3, (count, robot.nq - 7))
    qd, tau = (rng.standard_normal((count, robot.nv)) for _ in range(2))
    return Contacts("two fingers and an object", robot, q, 0.5 * qd, 0.2 * tau)


EVERY = {"quadruped": quadruped, "talos": talos, "fingers": fingers}
