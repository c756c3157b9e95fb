"""Verbs that show more than the value of an expression: the same in one state and in batches."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import reference
from hinge.dynamics.hybrid import RESULTS
from tests.folding import folded

ROBOTS = [hinge.robots.panda(), hinge.robots.quadruped()]
VERBS = ("center_of_mass", "centroidal_momentum_matrix", "potential_energy")


def states(robot, *batch):
    rng = np.random.default_rng(3)
    return hinge.random_configuration(robot, 3, batch), rng.normal(size=(*batch, robot.nv))


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda r: r.name)
def test_poses_are_those_of_the_book(robot):
    q, _ = states(robot)
    found, wanted = hinge.forward_kinematics(robot, q), reference.forward_kinematics(robot, q)
    assert len(found) == len(wanted) == len(robot.bodies)
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x.E, y.E, atol=1e-13)
        np.testing.assert_allclose(x.r, y.r, atol=1e-13)


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda r: r.name)
@pytest.mark.parametrize("batch", [(3,), (2, 3), (0,), (50,)])
def test_poses_of_batches(robot, batch):
    q, _ = states(robot, *batch)
    name = robot.bodies[-1].name
    one, several = hinge.forward_kinematics(robot, q, name), hinge.forward_kinematics(robot, q, [name])
    assert one.E.shape == (*batch, 3, 3) and one.r.shape == (*batch, 3)
    assert len(several) == 1 and np.array_equal(several[0].E, one.E)
    every = hinge.forward_kinematics(robot, q)
    np.testing.assert_allclose(every[-1].r, one.r, atol=1e-14)
    for at in np.ndindex(*batch):
        alone = hinge.forward_kinematics(robot, q[at], name)
        np.testing.assert_allclose(alone.E, one.E[at], atol=1e-14)
        np.testing.assert_allclose(alone.r, one.r[at], atol=1e-14)


def test_single_precision_and_lists_are_taken():
    robot = ROBOTS[0]
    q, _ = states(robot)
    wanted = hinge.forward_kinematics(robot, q, "link7").r
    single = hinge.forward_kinematics(robot, q.astype(np.float32), "link7").r
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, wanted, atol=1e-5)
    np.testing.assert_array_equal(hinge.forward_kinematics(robot, list(q), frame="link7").r, wanted)
    for verb in VERBS:
        call = getattr(hinge, verb)
        np.testing.assert_allclose(call(robot, list(q)), call(robot, q), rtol=1e-14)
        assert np.asarray(call(robot, q.astype(np.float32))).dtype == np.float32


def test_a_number_that_is_not_finite_stays_in_its_state():
    robot = ROBOTS[0]
    q, _ = states(robot, 6)
    q[2] = np.inf
    for verb in VERBS:
        found = getattr(hinge, verb)(robot, q)
        assert np.isfinite(found[[0, 1, 3, 4, 5]]).all()
    hinge.potential_energy(robot, q[2])


@folded(robot=ROBOTS, verb=("mass_factors", "acceleration_shares", "filter_quantities"))
def test_values_of_several_parts_are_the_same_by_every_way(robot, verb):
    q, qd = states(robot)
    arrays = (q,) if verb == "mass_factors" else (q, qd, qd)
    first = getattr(hinge, verb)(robot, *arrays)
    again, listed = getattr(hinge, verb)(robot, *arrays), getattr(hinge, verb)(robot, *map(list, arrays))
    for name, x in vars(first).items():
        np.testing.assert_array_equal(vars(again)[name], x)
        np.testing.assert_array_equal(vars(listed)[name], x)
    assert type(again) is type(first) is type(listed)


def test_a_finish_takes_results_in_order():
    assert RESULTS({"forces": 1, "accelerations": 2}) == (2, 1)
