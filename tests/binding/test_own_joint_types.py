"""Joint types of the user's own: no file of the package knows them, and the compiler works with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import hinge
from hinge import reference, robots
from hinge.errors import ModelError
from hinge.model import joints
from hinge.model.joints import Axial, AxialJoint, VectorJoint
from hinge.reference.motions import velocities
from hinge.spatial import Transform, rotation
from hinge.testing import random_state


@dataclass(frozen=True)
class Drill(AxialJoint):
    """Slide along the axis by q[0] and turn about it by q[1]: cylindrical, the other way round."""

    kind = "drill"
    q_names = qd_names = ("depth", "angle")
    lengths = (True, False)

    @property
    def axial(self):
        return Axial(self.axis, turn=1, slide=0)


@dataclass(frozen=True)
class Rack(AxialJoint):
    """Slide along the axis by 3 q: a length by its angle."""

    kind = "rack"
    q_names = qd_names = ("angle",)
    lengths = (False,)

    @property
    def axial(self):
        return Axial(self.axis, slide=0, pitch=3.0)


@dataclass(frozen=True)
class Bent(VectorJoint):
    """Turn about z by q and move along a parabola: nothing but what every type must answer."""

    kind = "bent"
    q_names = qd_names = ("angle",)
    lengths = (False,)

    def placement(self, q):
        x = q[..., 0]
        return Transform.place(rotation.about((0, 0, 1), x), np.stack([0 * x, 0 * x, 0.5 * x * x], axis=-1))

    def subspace(self, q):
        x, one = q[..., 0], 0 * q[..., 0] + 1.0
        return np.stack([0 * x, 0 * x, one, 0 * x, 0 * x, x], axis=-1)[..., None]

    def bias(self, q, qd):
        x, v = q[..., 0], qd[..., 0]
        return np.stack([0 * x, 0 * x, 0 * x, 0 * x, 0 * x, v * v], axis=-1)

    def reversed(self):
        raise NotImplementedError


OWN = (Drill((0.0, 0.6, 0.8)), Rack((1.0, 0.0, 0.0)), Bent())


def with_types(robot, types):
    """Return a robot with joints of these types in their places, in turns."""
    changed = []
    for k, j in enumerate(robot.joints):
        own = types[k % len(types)]
        physics = {"stiffness": np.full(own.nv, 2.0), "damping": np.full(own.nv, 0.3)}
        changed.append(hinge.Joint(j.name, own, j.parent, j.child, j.inner, j.outer, **physics))
    return hinge.model.make_robot(robot.name, robot.bodies, changed, frames=robot.frames)


@pytest.mark.parametrize(
    "own", [(t,) for t in OWN] + [OWN, (*OWN, joints.Revolute(), joints.Free())], ids=str
)
def test_dynamics_with_types_of_ones_own_is_the_books(own):
    robot = with_types(robots.random_tree(6, 4), own)
    s = random_state(robot, 3, (2,))
    tau = reference.inverse_dynamics(robot, s.q, s.qd, s.qdd)
    np.testing.assert_allclose(hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd), tau, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(hinge.forward_dynamics(robot, s.q, s.qd, tau), s.qdd, rtol=1e-7, atol=1e-7)
    bodies = hinge.compile(hinge.algebra.phi.T @ hinge.algebra.H.T @ hinge.algebra.qd, robot)
    np.testing.assert_allclose(
        bodies(s.q, s.qd), np.stack(velocities(robot, s.q, s.qd), axis=-2), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("own", OWN, ids=str)
def test_springs_pull_types_of_ones_own(own):
    robot = with_types(robots.random_tree(3, 4), (own,))
    s = random_state(robot, 3)
    np.testing.assert_allclose(
        hinge.passive_force(robot, s.q, s.qd), -2.0 * s.q - 0.3 * s.qd, rtol=1e-12, atol=1e-12
    )


@dataclass(frozen=True)
class Untrue(joints.Revolute):
    """Turns twice as far as it states."""

    kind = "untrue"

    def placement(self, q):
        return super().placement(2.0 * q)


def test_a_type_that_does_not_move_as_it_states_is_refused():
    robot = with_types(robots.random_tree(2, 4), (Untrue(),))
    with pytest.raises(ModelError, match=r"joint type Untrue.*expected the placement"):
        hinge.mass_matrix(robot, np.zeros(2))


def test_robots_that_differ_by_turns_of_axes_alone_share_kernels():
    robot = with_types(robots.random_tree(5, 2, branching=0.0), (Drill(), Drill((1.0, 0.0, 0.0))))
    robot = replace(robot, joints=tuple(replace(j, stiffness=0.0, damping=0.0) for j in robot.joints))
    kinds = {hinge.binding.bind(robot).kind(i).type for i in range(5)}
    assert kinds == {Drill()}
