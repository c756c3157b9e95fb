"""The verbs of contact against dense matrices and the slow oracles, with closures and every option."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge import reference, robots
from hinge.model import Builder, Capsule, Contact, Sphere
from hinge.model.joints import Free
from hinge.robots import random_tree
from hinge.spatial import Transform
from hinge.testing import closed_state, random_state
from tests.dynamics.contact_cases import Dense
from tests.dynamics.coupled import random_coupled

DT = 1e-3


def tree():
    """Return a random tree that touches the world and itself, and a state in which gaps are about zero."""
    robot = random_tree(4, 1)
    names = [b.name for b in robot.bodies]
    s, found = random_state(robot, 2), []
    for k, (one, two) in enumerate([(2, None), (3, 1), (1, None)]):
        on = None if two is None else names[two]
        surface = {} if two is None else {"surface": Sphere(0.2)}
        c = Contact(f"c{k}", names[one], on, friction=0.3 * k, restitution=0.5, radius=0.1, **surface)
        gap = float(reference.gap(hinge.with_contacts(robot, [c]), s.q)[0])
        if two is None:
            place = {"surface_placement": Transform.place(position=(0.0, 0.0, gap - 1e-4 * k))}
        else:
            place = {"surface": Sphere(0.2 + gap)}
        found.append(
            Contact(
                f"c{k}", names[one], on, friction=0.3 * k, restitution=0.5, radius=0.1, **{**surface, **place}
            )
        )
    return hinge.with_contacts(robot, found), s


def four_bar():
    """Return a four-bar whose coupler touches the ground, and a state of it."""
    robot = robots.four_bar()
    q = hinge.assemble(robot, hinge.neutral(robot) + np.array([0.3, 0.0, 0.0]), keep=[robot.joints[1].name])[
        0
    ]
    at = {"placement": Transform.place(position=(0.1, 0.0, 0.05)), "friction": 0.4}
    low = reference.gap(hinge.with_contacts(robot, [Contact("rub", "coupler", **at)]), q)[0]
    place = Transform.place(position=(0.0, 0.0, low))
    robot = hinge.with_contacts(robot, [Contact("rub", "coupler", surface_placement=place, **at)])
    s = closed_state(robot, q, 1)
    s = type(s)(s.q, s.qd, s.qdd, 0.01 * s.tau)
    return robot, s if reference.contact_velocity(robot, q, s.qd)[0, 0] < 0 else _reversed(s)


def two_pandas():
    """Return two arms that hold a plate which touches the table and a capsule at once."""
    robot = robots.two_pandas_with_plate()
    q = robots.two_pandas_start(robot)
    plate = robot.bodies[-1].name
    at = reference.forward_kinematics(robot, q)[-1].position
    low, beside = (
        Transform.place(position=(0, 0, at[2])),
        Transform.place(position=at + np.array([0.3, 0.0, 0.0])),
    )
    robot = hinge.with_contacts(
        robot,
        [
            Contact("table", plate, friction=0.5, surface_placement=low),
            Contact(
                "post", plate, friction=0.2, radius=0.1, surface=Capsule(0.2, 1.0), surface_placement=beside
            ),
        ],
    )
    s = closed_state(robot, q, 3)
    return robot, s if reference.contact_velocity(robot, q, s.qd)[0, 0] < 0 else _reversed(s)


def _reversed(s):
    return type(s)(s.q, -s.qd, s.qdd, s.tau)


CASES = {"tree": tree, "four-bar": four_bar, "two pandas": two_pandas}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return CASES[request.param]()


def test_a_step_is_that_of_dense_matrices(case):
    robot, s = case
    found = hinge.contact_step(robot, s.q, s.qd, s.tau, DT)
    qd, loops, contacts = Dense(robot, s.q, s.qd, s.tau).step(DT)
    assert found.residual < 1e-9 and contacts[:, 0].max() > 0
    assert_allclose(found.qd, qd, atol=3e-9)
    j = np.vstack([reference.contact_jacobian(robot, s.q).reshape(-1, robot.nv)])
    both = [found.closure_impulses, found.impulses.ravel()], [loops, contacts.ravel()]
    if robot.closures:
        j = np.vstack([reference.closure_jacobian(robot, s.q), j])
    ours, theirs = (j.T @ np.concatenate(x) for x in both)
    assert_allclose(ours, theirs, atol=3e-9)


def test_an_impact_is_that_of_dense_matrices(case):
    robot, s = case
    closed = np.ones(len(robot.contacts), bool)
    found = hinge.collide(robot, s.q, s.qd, closed=closed)
    qd, hit = Dense(robot, s.q, s.qd).collide(closed)
    assert found.residual < 1e-9
    assert_allclose(found.qd, qd, atol=1e-8)
    assert found.lost == pytest.approx(hit.lost, abs=1e-7) and found.lost > -1e-9
    some = ~closed
    some[0] = True
    assert_allclose(
        hinge.collide(robot, s.q, s.qd, closed=some).qd, Dense(robot, s.q, s.qd).collide(some)[0], atol=1e-8
    )


def test_accelerations_are_those_of_dense_matrices(case):
    robot, s = case
    closed = np.ones(len(robot.contacts), bool)
    found = hinge.contact_dynamics(robot, s.q, s.qd, s.tau, closed=closed)
    qdd, forces = Dense(robot, s.q, s.qd, s.tau).move(closed)
    size = np.abs(qdd).max()
    assert found.residual < 1e-9
    assert_allclose(found.qdd, qdd, atol=1e-8 * size)
    assert_allclose(found.forces[:, 0], forces, atol=1e-7 * (1 + np.abs(forces).max()))
    assert_array_equal(found.forces[:, 1:], 0.0)


def test_options_of_a_step():
    """External forces, gravity, passive joints; friction and restitution of each state."""
    robot, s = tree()
    down = np.array([1.0, -2.0, -3.0])
    push = {robot.bodies[2].name: np.arange(6.0)}
    for options in ({"gravity": down}, {"external": push, "gravity": down, "passive": True}):
        found = hinge.contact_step(robot, s.q, s.qd, s.tau, DT, **options)
        assert_allclose(found.qd, Dense(robot, s.q, s.qd, s.tau, options=options).step(DT)[0], atol=3e-9)
    mu, e = np.array([[0.1, 0.2, 0.3], [0.9, 0.0, 0.4]]), np.array([[0.0, 1.0, 0.5], [0.2, 0.3, 0.0]])
    found = hinge.contact_step(robot, s.q, s.qd, s.tau, DT, friction=mu, restitution=e)
    hit = hinge.collide(robot, s.q, s.qd, closed=[1, 1, 1], friction=mu, restitution=e)
    for k in range(2):
        dense = Dense(robot, s.q, s.qd, s.tau, friction=mu[k], restitution=e[k])
        assert_allclose(found.qd[k], dense.step(DT)[0], atol=3e-9)
        assert_allclose(hit.qd[k], dense.collide([1, 1, 1])[0], atol=1e-8)


def test_a_start_near_the_answer_saves_rounds_and_changes_nothing():
    robot, s = tree()
    first = hinge.contact_step(robot, s.q, s.qd, s.tau, DT)
    again = hinge.contact_step(robot, s.q, s.qd, s.tau, DT, start=first.impulses)
    assert again.rounds == 0 < first.rounds
    assert_allclose(again.qd, first.qd, atol=1e-10)


def test_closures_that_do_not_hold_are_open():
    robot, s = four_bar()
    apart, bare = hinge.contact_step(robot, s.q, s.qd, s.tau, DT, held=[False]), hinge.opened(robot)
    assert_allclose(apart.qd, hinge.contact_step(bare, s.q, s.qd, s.tau, DT).qd, atol=1e-10)
    assert np.abs(apart.qd - hinge.contact_step(robot, s.q, s.qd, s.tau, DT).qd).max() > 1e-6


def test_batches_are_single_states():
    """Bit for bit, whatever the size of the batch and the number of threads."""
    robot, s = tree()
    many = random_state(robot, 5, 37)
    q, qd = np.tile(s.q, (37, 1)), many.qd
    step = hinge.contact_step(robot, q, qd, many.tau, DT)
    assert len(np.unique(step.rounds)) > 1
    for size in (1, 2, 3, 5, 8, 9):
        some = hinge.contact_step(robot, q[:size], qd[:size], many.tau[:size], DT)
        for name in ("qd", "impulses", "residual", "rounds"):
            assert_array_equal(getattr(some, name), getattr(step, name)[:size])
    one = hinge.contact_step(robot, q[7], qd[7], many.tau[7], DT)
    assert_array_equal(one.qd, step.qd[7])
    hit = hinge.collide(robot, q, qd, closed=[1, 1, 1])
    assert_array_equal(hinge.collide(robot, q[7], qd[7], closed=[1, 1, 1]).qd, hit.qd[7])
    qd[3, 0] = np.nan
    spoiled = hinge.contact_step(robot, q, qd, many.tau, DT)
    assert_array_equal(np.delete(spoiled.qd, 3, axis=0), np.delete(step.qd, 3, axis=0))
    assert np.isnan(spoiled.qd[3]).any() and not spoiled.residual[3] < 1e-3


def _box():
    b = Builder("box")
    b.body("box", joint=Free(), inertia=robots.solid_box(2.0, (0.4, 0.4, 0.2)))
    for k, (x, y) in enumerate(np.ndindex(2, 2)):
        place = Transform.place(position=(0.4 * x - 0.2, 0.4 * y - 0.2, -0.1))
        b.contact(f"foot{k}", "box", friction=0.5, placement=place)
    robot = b.build()
    q = hinge.neutral(robot)
    q[-1] = 0.1
    return robot, q


# Coulomb's law --------------------------------------------------------------------------------------------


def test_coulombs_law_does_not_lift_what_slides():
    robot, q = _box()
    qd = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    cone = hinge.contact_step(robot, q, qd, np.zeros(6), DT)
    coulomb = hinge.contact_step(robot, q, qd, np.zeros(6), DT, law="coulomb")
    assert cone.qd[5] == pytest.approx(0.5 * cone.qd[3], rel=1e-6)
    assert abs(coulomb.qd[5]) < 1e-12 and coulomb.residual < 1e-9
    assert coulomb.qd[3] == pytest.approx(1.0 - 0.5 * 9.81 * DT, abs=1e-12)


# Embedded loops -------------------------------------------------------------------------------------------


def test_embedded_loops_step_as_cut_ones():
    """The reduced robot on contacts moves as the cut one does."""
    robot, s = four_bar()
    small = hinge.embed_loops(robot)
    assert small.contacts == robot.contacts
    v = hinge.carry_state(robot, small, s.q, s.qd)[1]
    hit = hinge.collide(robot, s.q, s.qd, closed=[1])
    less = hinge.collide(small, s.q, v, closed=[1])
    assert_allclose(
        hinge.contact_jacobian(small, s.q)[0] @ less.qd,
        hinge.contact_jacobian(robot, s.q)[0] @ hit.qd,
        atol=1e-9,
    )
    assert less.lost == pytest.approx(hit.lost, abs=1e-9)
    push = np.zeros(small.nv)
    first = hinge.contact_dynamics(robot, s.q, np.zeros(3), np.zeros(3), closed=[1])
    second = hinge.contact_dynamics(small, s.q, np.zeros(small.nv), push, closed=[1])
    assert second.forces[0, 0] == pytest.approx(first.forces[0, 0], abs=1e-8)


def test_coupled_joints_count_at_contacts():
    """A joint that follows another moves a contact too: J of the reduced robot is J G of the whole one."""
    full = random_coupled(5, 3)
    tip = full.bodies[-1].name
    full = hinge.with_contacts(full, [Contact("touch", tip, friction=0.3, radius=0.1)])
    small = hinge.embed_couplings(full)
    assert small.nv < full.nv
    s = random_state(small, 4)
    q, qd = hinge.carry_state(small, full, s.q, s.qd)
    assert_allclose(hinge.gap(small, s.q), hinge.gap(full, q), atol=1e-12)
    assert_allclose(
        hinge.contact_jacobian(small, s.q)[0] @ s.qd, hinge.contact_jacobian(full, q)[0] @ qd, atol=1e-12
    )
    hit = hinge.collide(small, s.q, s.qd, closed=[1])
    j = hinge.contact_jacobian(small, s.q).reshape(-1, small.nv)
    moved = np.linalg.solve(hinge.mass_matrix(small, s.q), j.T)
    wanted = reference.poisson(j @ moved, j @ s.qd, 0.0, [0.3])
    assert_allclose(hit.qd, s.qd + moved @ wanted.impulses, atol=1e-9)


def test_contacts_that_contradict_each_other_are_told():
    """A ball of 20 cm between two walls that are 15 cm apart, beside one that has room."""
    b = hinge.Builder("ball")
    b.body(
        "ball",
        joint=hinge.model.joints.Free(),
        inertia=hinge.Inertia.from_com(1, np.zeros(3), 0.004 * np.eye(3)),
    )
    ceiling = hinge.Transform.place(np.diag([1.0, -1.0, -1.0]), (0.0, 0.0, 0.15))
    walls = [
        hinge.Contact("floor", "ball", friction=0.5, radius=0.1),
        hinge.Contact("ceiling", "ball", friction=0.5, radius=0.1, surface_placement=ceiling),
    ]
    robot = hinge.with_contacts(b.build(), walls)
    q = np.tile([1.0, 0, 0, 0, 0, 0, 0.075], (2, 1))
    found = hinge.contact_step(robot, q, np.zeros(6), np.zeros(6), 1e-3, ground=[[0.0, 0.0], [-0.1, -0.1]])
    assert found.met.tolist() == [False, True]
    assert found.residual[0] > 0.1 and np.isfinite(found.qd).all()
