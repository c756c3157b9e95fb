"""Embedded couplings: follower joints without a coordinate of their own.

A coupling q = ratio · q(master) + offset is first of all data (`Coupling`). Embedded, the joint is a
`Follower`: it keeps its name, its bodies and its physics, and its slices of q and qd are those of its leader,
the joint at the end of the chain of masters.
"""

from __future__ import annotations

from dataclasses import replace

from hinge.model.joints import Flexure, Follower, JointType, released
from hinge.model.robot import Robot, remade
from hinge.model.vectors import checked_robot


def embed_couplings(robot: Robot) -> Robot:
    """Return the robot with its couplings embedded: one coordinate for each set of coupled joints.

    All verbs of dynamics and kinematics hold for the reduced coordinates; tau of a leader is Σ ratio τ over
    the joints of its set. Its limits of q and of |qd| are the intersection over the set (its own if that is
    empty), its rotor inertia is Σ ratio² J. `carry_state` converts states between the two robots,
    `release_couplings` returns the robot with all coordinates.
    """
    checked_robot(robot)
    masters = {c.joint: c for c in robot.couplings}

    def embedded(name: str, kind: JointType) -> JointType:
        ratio, offset = 1.0, 0.0
        while name in masters:
            c = masters[name]
            ratio, offset, name = ratio * c.ratio, ratio * c.offset + offset, c.master
        return Follower(kind, ratio, offset)

    types = {name: embedded(name, released(robot.joint(name).type)) for name in masters}
    return _with_types(robot, types)


def release_couplings(robot: Robot) -> Robot:
    """Return the robot with independent coupled joints; the couplings are recorded only."""
    return _with_types(robot, {j.name: released(j.type) for j in checked_robot(robot).joints})


def free_flexures(robot: Robot) -> Robot:
    """Return the robot with a coordinate of its own for each mode at each attachment of a flexible body."""
    flexures = [(j.name, j.type) for j in robot.joints if isinstance(j.type, Flexure)]
    return _with_types(robot, {name: replace(t, free=True) for name, t in flexures})


def _with_types(robot: Robot, types: dict[str, JointType]) -> Robot:
    changed = {j.name for j in robot.joints if types.get(j.name, j.type) != j.type}
    if not changed:
        return robot
    made = [replace(j, type=types[j.name]) if j.name in changed else j for j in robot.joints]
    return remade(robot, joints=made)
