"""Hybrid dynamics against DART's, where each joint is driven by a force or by an acceleration.

`python -m tests.oracles.sweep_dart [sets]`, with dartpy installed beside Hinge (`pip install dartpy`), in an
environment of its own: it is no dependency, since its libraries and Pinocchio's may not go together.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import dartpy as dart
import numpy as np

import hinge
from hinge.model import make_robot

SETS, BOUND = 200, 1e-10


def skeleton(robot):
    """Return the robot in DART, its root held, and where its coordinates are there."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "robot.urdf"
        hinge.write_urdf(robot, path)
        found = dart.utils.DartLoader().parseSkeleton(str(path))
    found.setGravity(robot.gravity)
    found.getJoint(0).setActuatorType(dart.dynamics.ActuatorType.LOCKED)
    names = [found.getDof(k).getName() for k in range(found.getNumDofs())]
    return found, [names.index(j.name) for j in robot.joints if j.nv]


def difference(robot, theirs, order, seed):
    """Return the largest relative difference at a random state with a random set of prescribed joints."""
    rng = np.random.default_rng(seed)
    q = hinge.random_configuration(robot, seed)
    qd, qdd, tau = rng.normal(size=(3, robot.nv))
    held = rng.random(robot.nv) < 0.5
    whole = np.zeros((2, theirs.getNumDofs()))
    whole[:, order] = q, qd
    theirs.setPositions(whole[0])
    theirs.setVelocities(whole[1])
    kinds = dart.dynamics.ActuatorType
    for k, name in enumerate(j.name for j in robot.joints if j.nv):
        joint = theirs.getJoint(name)
        joint.setActuatorType(kinds.ACCELERATION if held[k] else kinds.FORCE)
        joint.setCommand(0, float(qdd[k] if held[k] else tau[k]))
    theirs.computeForwardDynamics()
    a, f = hinge.hybrid_dynamics(robot, q, qd, tau=tau, qdd=qdd, prescribed=held)
    pairs = [(a, np.array(theirs.getAccelerations())[order])]
    pairs.append((f[held], np.array(theirs.getForces())[order][held]))
    return max(float(np.abs(x - y).max(initial=0.0) / np.abs(x).max(initial=1.0)) for x, y in pairs)


def main(sets: int = SETS) -> int:
    """Print the largest difference for each robot."""
    worst = 0.0
    for robot in map(hinge.reduce, (hinge.robots.panda(), hinge.robots.chain(12))):
        bare = [replace(b, shapes=()) for b in robot.bodies]
        robot_ = make_robot(robot.name, bare, robot.joints, gravity=robot.gravity)
        theirs, order = skeleton(robot_)
        found = max(difference(robot_, theirs, order, k) for k in range(sets))
        print(f"{robot.name:12s} {sets} states and sets: {found:.1e}")
        worst = max(worst, found)
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
