"""The letters at the aggregate of an embedded loop."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge.algebra import H
from hinge.binding import bind, choose_frames
from hinge.dynamics.expressions import CATALOGUE
from hinge.spatial import back_substituted, eliminated
from hinge.targets.dense import system_of
from tests.dynamics.loops import CASES, Looped, embedded


@pytest.mark.parametrize("name", CASES)
def test_the_dense_target_agrees(name):
    case = Looped(*embedded(name), 3)
    s, robot = case.state, case.robot
    inputs = {"q": s.q, "qd": s.qd, "tau": s.tau, "g": [0, 0, 0, *(-robot.gravity)], "f_ext": np.zeros(0)}
    found = system_of(bind(robot), inputs).evaluate(CATALOGUE["forward_dynamics"])
    assert_allclose(found, case.accelerations(s.tau), rtol=1e-9, atol=1e-9)


def test_the_hinge_map_holds_the_velocities_of_all_members():
    full, robot = embedded("four-bar")
    case, binding = Looped(full, robot, 1), bind(robot)
    site = binding.site(0, binding.constants(0))
    values = site.hinge(case.state.q[list(binding.coordinates(0))].astype(object))
    columns = site.value(H, values).astype(float).reshape(3, 6)
    for body, place, column in zip(robot.body_names, choose_frames(full), columns, strict=True):
        velocity = hinge.velocities(case.tree, case.q, case.g[:, 0], body)
        assert_allclose(place.chosen.motion(velocity), column, atol=1e-14)


def test_loops_that_share_bodies_are_one_aggregate():
    _, robot = embedded("six-bar")
    assert len(bind(robot).tree) == 1
    both = hinge.merge(robot, robot, prefix="b_")
    binding = bind(both)
    assert len(binding.tree) == 2 and binding.kind(0) == binding.kind(1)
    leg = bind(embedded("leg")[1])
    assert [len(leg.members(k)) for k in range(len(leg.tree))] == [1, 1, 3, 1]


def test_elimination_without_exchanges():
    rng = np.random.default_rng(0)
    m, x = rng.standard_normal((4, 4)) + 3 * np.eye(4), rng.standard_normal(4)
    assert_allclose(back_substituted(eliminated(m.tolist()), x.tolist()), np.linalg.solve(m, x), rtol=1e-13)
