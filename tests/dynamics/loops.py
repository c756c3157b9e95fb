"""Robots with loops, small ones, each with configurations that close."""

from __future__ import annotations

import warnings

import numpy as np

import hinge
from hinge import reference
from hinge.errors import ModelWarning
from hinge.model import Body, Frame, Joint, assemble
from hinge.model.joints import Cylindrical, Fixed, Free, Prismatic, Revolute, Spherical, Universal
from hinge.spatial import Inertia, Transform, matvec, quaternion, rotation
from hinge.testing import random_state

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def rod(name, length, mass=1.0):
    """Return a rod along x from its frame."""
    i = mass * length**2 / 12 + 0.01
    return Body(name, Inertia.from_com(mass, [length / 2, 0.02, 0.01], np.diag([0.01, i, i])))


def place(x=0.0, y=0.0, z=0.0):
    return Transform.place(None, [x, y, z])


def four_bar(*, lengths=(0.3, 0.9, 0.7, 0.8), joint=None):
    """Return crank, coupler and rocker on the world; the coupler's tip is hinged on the rocker's."""
    a, b, c, d = lengths
    bodies = [rod("crank", a), rod("coupler", b), rod("rocker", c)]
    joints = [
        Joint("q1", Revolute(Y), None, "crank"),
        Joint("q2", Revolute(Y), "crank", "coupler", place(a)),
        Joint("q3", Revolute(Y), None, "rocker", place(d)),
    ]
    tips = [Frame("coupler_tip", "coupler", place(b)), Frame("rocker_tip", "rocker", place(c))]
    robot = assemble("four_bar", bodies, joints, frames=tips)
    return hinge.close(robot, "coupler_tip", "rocker_tip", joint=joint or Revolute(Y), name="pin")


def slider_crank():
    """Return crank and rod on the world, and a piston along x that the rod's tip is hinged on."""
    bodies = [rod("crank", 0.2), rod("rod", 0.6), rod("piston", 0.1)]
    joints = [
        Joint("turn", Revolute(Y), None, "crank"),
        Joint("knee", Revolute(Y), "crank", "rod", place(0.2)),
        Joint("slide", Prismatic(X), None, "piston"),
    ]
    robot = assemble("slider_crank", bodies, joints, frames=[Frame("tip", "rod", place(0.6))])
    return hinge.close(robot, "piston", "tip", joint=Revolute(Y), name="pin")


def seven(joint, seed=0):
    """Return seven hinges with random axes whose end is closed against the world, and a q that closes."""
    rng = np.random.default_rng(seed)
    bodies, joints = [], []
    for k in range(7):
        turn = rotation.from_quaternion(quaternion.random(rng))
        axis = tuple(rotation.from_quaternion(quaternion.random(rng))[0])
        at = Transform.place(turn, rng.uniform(-0.4, 0.4, 3))
        bodies.append(rod(f"b{k}", 0.5))
        joints.append(Joint(f"j{k}", Revolute(axis), f"b{k - 1}" if k else None, f"b{k}", at))
    tip = Frame(
        "tip", "b6", Transform.place(rotation.from_quaternion(quaternion.random(rng)), [0.3, 0.1, 0.0])
    )
    robot = assemble("seven", bodies, joints, frames=[tip])
    q = rng.uniform(-1.0, 1.0, 7)
    pose = hinge.forward_kinematics(robot, q, "tip")
    robot = hinge.close(
        robot, None, "tip", joint=joint, name="end", rotation=pose.rotation, position=pose.position
    )
    return robot, q


def leg():
    """Return a leg with a four-bar knee on a free torso, with a foot below it."""
    bodies = [
        rod("torso", 0.5, 5.0),
        rod("thigh", 0.3),
        rod("bar", 0.1),
        rod("link", 0.25),
        rod("shank", 0.35),
    ]
    joints = [
        Joint("base", Free(), None, "torso"),
        Joint("hip", Revolute(X), "torso", "thigh", place(0.2, 0.1, -0.1)),
        Joint("front", Revolute(Y), "thigh", "bar", place(0.05)),
        Joint("elbow", Revolute(Y), "bar", "link", place(0.1)),
        Joint("knee", Revolute(Y), "thigh", "shank", place(0.3)),
        Joint("ankle", Revolute(Z), "shank", "foot", place(0.35), damping=0.2),
    ]
    tips = [Frame("link_tip", "link", place(0.25)), Frame("heel", "shank", place(-0.06, 0.0, 0.1))]
    robot = assemble("leg", [*bodies, rod("foot", 0.1, 0.3)], joints, frames=tips)
    return hinge.close(robot, "heel", "link_tip", joint=Revolute(Y), name="pin")


def two_loops():
    """Return a six-bar (Watt): a four-bar, and a second loop on its coupler and rocker."""
    four = four_bar()
    bodies = [*four.bodies, rod("link", 0.5), rod("arm", 0.6)]
    joints = [
        *four.joints,
        Joint("q4", Revolute(Y), "rocker", "link", place(0.4, 0.0, 0.1)),
        Joint("q5", Revolute(Y), "coupler", "arm", place(0.5, 0.0, -0.2)),
    ]
    frames = [*four.frames, Frame("link_tip", "link", place(0.5)), Frame("arm_tip", "arm", place(0.6))]
    robot = assemble("six_bar", bodies, joints, frames=frames, closures=four.closures)
    return hinge.close(robot, "link_tip", "arm_tip", joint=Revolute(Y), name="pin2")


def platform(legs=3):
    """Return a free platform on legs of a universal and a prismatic joint that end in balls."""
    bodies, joints, frames = [rod("plate", 0.3, 2.0)], [Joint("free", Free(), None, "plate")], []
    for k in range(legs):
        angle = 2 * np.pi * k / legs
        foot = [0.6 * np.cos(angle), 0.6 * np.sin(angle), 0.0]
        bodies += [rod(f"low{k}", 0.3), rod(f"rod{k}", 0.3)]
        joints += [
            Joint(f"u{k}", Universal(X, Y), None, f"low{k}", Transform.place(None, foot)),
            Joint(f"p{k}", Prismatic(Z), f"low{k}", f"rod{k}"),
        ]
        frames.append(
            Frame(f"on{k}", "plate", Transform.place(None, [0.3 * np.cos(angle), 0.3 * np.sin(angle), 0.0]))
        )
    robot = assemble("platform", bodies, joints, frames=frames)
    for k in range(legs):
        robot = hinge.close(robot, f"rod{k}", f"on{k}", joint=Spherical(), name=f"ball{k}")
    return robot


def closed_start(robot, q0=None, seed=0):
    """Return a configuration that closes, from a start or from random ones."""
    starts = hinge.random_configuration(robot, seed, 50) if q0 is None else np.asarray(q0)[None]
    q, error = hinge.assemble(robot, starts, steps=200)
    return q[error < 1e-12][0]


CASES = {
    "four-bar": lambda: (four_bar(), None),
    "slider-crank": lambda: (slider_crank(), None),
    "seven, weld": lambda: seven(Fixed(), 1),
    "seven, hinge": lambda: seven(Revolute((0.36, 0.48, 0.8)), 2),
    "seven, cylinder": lambda: seven(Cylindrical((0.0, 0.6, 0.8)), 3),
    "leg": lambda: (leg(), None),
    "six-bar": lambda: (two_loops(), None),
}


def embedded(name, **options):
    """Return a robot cut and embedded, without the warning that tells of its dead centres."""
    robot, q = CASES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return robot, hinge.embed_loops(robot, near=q, **options)


class Looped:
    """A robot with embedded loops, a state, and what dense matrices of the cut robot say about it.

    G spans what the closures' Jacobian of the reference takes to zero, and is the identity at the independent
    rates.
    """

    def __init__(self, full, robot, seed=0, batch=()):
        self.full, self.robot = full, robot
        self.tree = hinge.opened(full)
        self.state = random_state(robot, seed, batch)
        self.q = self.state.q
        self.own = np.concatenate([np.arange(full.nv)[full.joint(j.name).qd_slice] for j in robot.rated])
        jacobian = reference.closure_jacobian(full, self.q)
        _, _, turned = np.linalg.svd(jacobian)
        null = np.swapaxes(turned, -1, -2)[..., full.nv - robot.nv :]
        self.g = null @ np.linalg.inv(null[..., self.own, :])
        self.qd = self.wide(self.state.qd)
        bias = reference.closure_bias(full, self.q, self.qd)
        free = -matvec(np.linalg.pinv(jacobian, rcond=1e-9), bias)
        self.ahead = free - self.wide(free[..., self.own])

    def wide(self, x):
        return matvec(self.g, x)

    def narrow(self, x):
        return matvec(np.swapaxes(self.g, -1, -2), x)

    @property
    def mass(self):
        return np.swapaxes(self.g, -1, -2) @ reference.mass_matrix(self.tree, self.q) @ self.g

    def forces(self, qdd, **more):
        """Return Gᵀ τ for the accelerations G q̈ + ġ."""
        full = self.wide(qdd) + self.ahead
        return self.narrow(reference.inverse_dynamics(self.tree, self.q, self.qd, full, **more))

    def accelerations(self, tau, **more):
        left = tau - self.forces(np.zeros(self.robot.nv), **more)
        return np.linalg.solve(self.mass, left[..., None])[..., 0]
