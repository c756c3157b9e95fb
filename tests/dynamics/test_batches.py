from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from hinge import dynamics
from hinge.dynamics import compile
from hinge.model import Builder, joints
from hinge.spatial import Inertia
from hinge.testing import State, random_state
from tests.dynamics.zoo import CASES, pushes, robot_of, tip_of
from tests.expressions import COMPLIANCE
from tests.tiers import daily

#: A robot on a fixed base with frames, and one with rotors and joints of several directions.
ROBOTS = ("framed", "partial_rotors")
LOADED = ("inverse_dynamics", "forward_dynamics", "bias_force")
SHAPES = [(), (5,), (3, 4), (1,), (0,), (2, 0)]


def _at(s: State, k: tuple[int, ...]) -> State:
    return State(s.q[k], s.qd[k], s.qdd[k], s.tau[k])


def _agree(ours, single):
    """Tell whether two answers are the same but for the rounding of a sine."""
    return np.allclose(ours, single, rtol=1e-12, atol=1e-12 * np.abs(single).max(initial=1e-3))


@pytest.mark.parametrize(
    ("verb", "name"),
    daily(product(CASES, ROBOTS), lambda k, case: (k + k // len(ROBOTS)) % 2 == 0),
)
def test_batches_give_what_single_states_give(verb, name):
    robot, case = robot_of(name), CASES[verb][0]
    one = case.ours(robot, random_state(robot, 1))
    for shape in SHAPES:
        s = random_state(robot, 2, shape)
        whole = case.ours(robot, s)
        assert whole.shape == (*shape, *one.shape)
        for k in np.ndindex(*shape):
            assert _agree(whole[k], case.ours(robot, _at(s, k))), (shape, k)


@pytest.mark.parametrize("verb", CASES)
def test_batch_dimensions_broadcast(verb):
    robot, case = robot_of("framed"), CASES[verb][0]
    s = State(
        random_state(robot, 1).q,
        random_state(robot, 2, (5, 1)).qd,
        random_state(robot, 3, 4).qdd,
        random_state(robot, 4, (1, 4)).tau,
    )
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in case.arguments(s)))
    full = State(*(np.broadcast_to(x, (5, 4, x.shape[-1])) for x in (s.q, s.qd, s.qdd, s.tau)))
    whole, one = case.ours(robot, s), case.ours(robot, random_state(robot, 5))
    assert whole.shape == (*batch, *one.shape)
    spread = np.broadcast_to(whole.reshape((1,) * (2 - len(batch)) + whole.shape), (5, 4, *one.shape))
    for k in np.ndindex(5, 4):
        assert _agree(spread[k], case.ours(robot, _at(full, k))), k


@pytest.mark.parametrize("verb", [*LOADED, "gravity_force", "potential_energy"])
def test_gravity_may_be_a_batch(verb):
    robot, case = robot_of("framed"), CASES[verb][-1]
    s, gravity = random_state(robot, 1, 4), np.random.default_rng(2).standard_normal((3, 1, 3))
    whole = case.ours(robot, s, gravity=gravity)
    for i, k in np.ndindex(3, 4):
        assert _agree(whole[i, k], case.ours(robot, _at(s, (k,)), gravity=gravity[i, 0]))
    single = case.ours(robot, _at(s, (0,)), gravity=gravity[:, 0])
    assert single.shape[0] == 3 and _agree(single, whole[:, 0])


@pytest.mark.parametrize("verb", LOADED)
def test_external_forces_may_be_a_batch(verb):
    robot, case = robot_of("framed"), CASES[verb][0]
    rng, s = np.random.default_rng(2), random_state(robot, 1, 4)
    here, there = pushes(robot)["external"]
    external = {here: rng.standard_normal((3, 1, 6)), there: rng.standard_normal((4, 6))}
    whole = case.ours(robot, s, external=external)
    for i, k in np.ndindex(3, 4):
        alone = {here: external[here][i, 0], there: external[there][k]}
        assert _agree(whole[i, k], case.ours(robot, _at(s, (k,)), external=alone))
    single = case.ours(robot, _at(s, (0,)), external={here: external[here]})
    assert single.shape == (3, 1, robot.nv)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("verb", CASES)
def test_a_number_that_is_not_finite_stays_in_its_state(verb, bad):
    robot, case = robot_of("partial_rotors"), CASES[verb][0]
    s = random_state(robot, 1, 5)
    sound = case.ours(robot, s)
    spoilt = replace(s, **{name: getattr(s, name).copy() for name in case.takes})
    for name in case.takes:
        getattr(spoilt, name)[2] = bad
    found = case.ours(robot, spoilt)
    others = [0, 1, 3, 4]
    assert np.array_equal(found[others], sound[others])
    assert not np.isfinite(found[2]).all()
    alone = case.ours(robot, _at(spoilt, (2,)))
    assert not np.isfinite(alone).all()


def test_a_singular_state_stays_alone():
    b = Builder("gimbal")
    point = Inertia.from_com(1.0, (0, 0, 1), np.zeros((3, 3)))
    b.body("ring", joint=joints.Revolute((0, 0, 1)))
    b.body("arm", parent="ring", joint=joints.Revolute((1, 0, 0)), inertia=point)
    robot, zero, push = b.build(), np.zeros(2), np.ones(2)
    q = np.array([[0, 0.5], [0, 0.0], [0, 1.0]])
    found = dynamics.forward_dynamics(robot, q, zero, push)
    for k in (0, 2):
        assert np.allclose(found[k], dynamics.forward_dynamics(robot, q[k], zero, push), rtol=1e-12)
    assert np.isfinite(found[[0, 2]]).all() and not np.isfinite(found[1]).all()
    assert not np.isfinite(dynamics.forward_dynamics(robot, q[1], zero, push)).all()


def test_a_dense_solve_goes_by_state():
    robot = robot_of("partial_rotors")
    f = compile(COMPLIANCE.inv(), robot, nodes=[tip_of(robot)])
    q = random_state(robot, 1, (3, 2)).q
    whole = f(q)
    assert whole.shape == (3, 2, 6, 6)
    for k in np.ndindex(3, 2):
        assert np.allclose(whole[k], f(q[k]), rtol=1e-10, atol=1e-10 * np.abs(whole[k]).max())
    assert f(np.zeros((0, robot.nq))).shape == (0, 6, 6)


def test_the_state_that_came_is_not_touched():
    robot = robot_of("framed")
    s = random_state(robot, 1, 3)
    kept = [x.copy() for x in (s.q, s.qd, s.tau)]
    first = dynamics.forward_dynamics(robot, s.q, s.qd, s.tau)
    first[:] = 0
    again = dynamics.forward_dynamics(robot, s.q, s.qd, s.tau)
    assert again.any() and all(np.array_equal(x, y) for x, y in zip(kept, (s.q, s.qd, s.tau), strict=True))


def test_answers_do_not_share_memory_with_arguments():
    robot = robot_of("chain")
    q = np.zeros((3, robot.nq))
    m = dynamics.mass_matrix(robot, q)
    assert m.flags.writeable and m.flags.c_contiguous and not np.shares_memory(m, q)
