from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hinge import robots
from hinge.errors import ArgumentError
from hinge.model import Frame, fingerprint, lock
from hinge.spatial import Transform


def test_equal_robots_have_equal_fingerprints():
    assert fingerprint(robots.panda()) == fingerprint(robots.panda())
    assert len(fingerprint(robots.panda())) == 64


def test_every_part_counts():
    robot = robots.panda()
    joint, body = robot.joints[2], robot.bodies[2]
    moved = replace(joint, inner=Transform(joint.inner.E, joint.inner.r + 1e-15))
    heavier = replace(body, inertia=replace(body.inertia, m=body.inertia.m * (1 + 2e-16)))
    others = [
        replace(robot, joints=(*robot.joints[:2], moved, *robot.joints[3:])),
        replace(robot, bodies=(*robot.bodies[:2], heavier, *robot.bodies[3:])),
        replace(robot, gravity=np.zeros(3)),
        replace(robot, frames=(*robot.frames, Frame("more", body.name))),
        replace(robot, name="other"),
        lock(robot, {joint.name: 0.1}),
    ]
    assert len({fingerprint(r) for r in (robot, *others)}) == len(others) + 1


def test_shapes_do_not_count():
    robot = robots.panda()
    bare = replace(robot, bodies=tuple(replace(b, shapes=()) for b in robot.bodies))
    assert fingerprint(robot) == fingerprint(bare)


def test_what_is_no_robot_is_named():
    with pytest.raises(ArgumentError, match="robot: expected a Robot, got str"):
        fingerprint("panda")
