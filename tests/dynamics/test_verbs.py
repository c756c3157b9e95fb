from __future__ import annotations

import inspect
from itertools import product

import numpy as np
import pytest

import hinge
from hinge import dynamics, reference
from hinge.model import Builder, joints
from hinge.spatial import Inertia, rotation
from hinge.testing import LAWS, Dynamics, check_laws, random_state
from tests.dynamics.catalogue import ELSEWHERE, ROWS
from tests.dynamics.operational import OPERATIONAL
from tests.dynamics.sweep_factors import FACTORS
from tests.dynamics.zoo import (
    BOUND,
    BUILT_IN,
    CASES,
    RANDOM,
    REAL,
    THOROUGH,
    ZOO,
    cases_of,
    difference,
    matrix,
    robot_of,
    state_of,
    symmetric,
    tip_of,
)
from tests.tiers import daily

OURS = Dynamics(
    inverse=dynamics.inverse_dynamics,
    forward=dynamics.forward_dynamics,
    mass=dynamics.mass_matrix,
    kinetic=dynamics.kinetic_energy,
    potential=dynamics.potential_energy,
    momentum=dynamics.momentum,
)


#: Verbs with tests of their own in test_identification.py.
IDENTIFICATION = ("inertial_regressor",)
#: And in test_hybrid.py.


def every_day(k, case):
    """Tell whether a verb is judged on a robot every day: on the hardest ones, and on each other in turn."""
    name, verb = case
    return (
        name in ("panda", "tree3", "partial_rotors", "framed")
        or (list(ZOO).index(name) + list(CASES).index(verb)) % 5 == 0
    )


@pytest.mark.parametrize(("name", "verb"), daily(product(ZOO, CASES), every_day))
def test_the_verb_agrees_with_the_book(name, verb):
    found = {c.name: difference(c, robot_of(name), state_of(name)) for c in cases_of(name, verb)}
    assert max(found.values()) < BOUND, found


@pytest.mark.parametrize("name", [*BUILT_IN, *THOROUGH[3:], "rerooted", "spherical_angles", "free"])
def test_the_laws_hold_for_the_verbs(name):
    found = check_laws(robot_of(name), seed=2, dynamics=OURS)
    assert set(LAWS) - {"momentum conserved"} < set(found)


@pytest.mark.parametrize("name", THOROUGH)
def test_the_mass_matrix_and_its_inverse_are_symmetric(name):
    robot, s = robot_of(name), state_of(name)
    assert symmetric(dynamics.mass_matrix(robot, s.q)) == 0
    assert symmetric(dynamics.mass_matrix_inverse(robot, s.q)) == 0


@pytest.mark.parametrize("name", THOROUGH)
def test_the_bias_forces_add_up(name):
    robot, s = robot_of(name), state_of(name)
    parts = dynamics.coriolis_force(robot, s.q, s.qd) + dynamics.gravity_force(robot, s.q)
    whole = dynamics.bias_force(robot, s.q, s.qd)
    assert np.allclose(parts, whole, rtol=BOUND, atol=BOUND * np.abs(whole).max(initial=1e-3))


@pytest.mark.parametrize("name", THOROUGH)
def test_a_force_on_a_frame_acts_through_its_jacobian(name):
    robot, s = robot_of(name), state_of(name)
    tip = tip_of(robot)
    force = np.array([0.3, -0.2, 0.5, 1.0, 2.0, -3.0])
    j = dynamics.jacobian(robot, s.q, tip)
    bare = dynamics.bias_force(robot, s.q, s.qd)
    pushed = dynamics.bias_force(robot, s.q, s.qd, external={tip: force})
    share = np.einsum("kij,i->kj", j, force)
    assert np.allclose(bare - pushed, share, rtol=0, atol=BOUND * np.abs(bare).max(initial=1.0))


@pytest.mark.parametrize("length", [1e-5, 1e-3, 1e3])
def test_the_size_of_a_robot_does_not_matter(length):
    b, parent = Builder("scaled", gravity=(0, 0, -9.81 * length)), None
    for k in range(4):
        m = 1e3 * length**3
        inertia = Inertia.from_com(
            m, (0, 0.1 * length, 0.5 * length), m * length**2 * np.diag([0.1, 0.12, 0.05])
        )
        turn = rotation.from_rpy((0.3, -0.2, 0.5 * k))
        kind, place = joints.Revolute((k % 2, 1 - k % 2, 0)), (0, 0, length)
        parent = b.body(f"b{k}", parent=parent, joint=kind, rotation=turn, position=place, inertia=inertia)
    robot = b.build()
    s = random_state(robot, 1, 3)
    tau = reference.inverse_dynamics(robot, s.q, s.qd, s.qdd)
    assert matrix(dynamics.mass_matrix(robot, s.q), reference.mass_matrix(robot, s.q)) < BOUND
    assert matrix(dynamics.inverse_dynamics(robot, s.q, s.qd, s.qdd), tau) < BOUND
    assert np.allclose(dynamics.forward_dynamics(robot, s.q, s.qd, tau), s.qdd, rtol=1e-6, atol=1e-6)


def _verbs():
    """Yield the names of the room that are functions of a robot and its configuration."""
    for name in dynamics.__all__:
        thing = getattr(dynamics, name)
        if (
            name != "at_joints_of"
            and inspect.isroutine(thing)
            and list(inspect.signature(thing).parameters)[:2] == ["robot", "q"]
        ):
            yield name


def test_no_verb_is_forgotten():
    """A verb is judged here, by its row in the catalogue, or in the sweep of contacts; all are public."""
    verbs, rows = set(_verbs()), {row.verb for row in ROWS}
    assert len(CASES) >= 18 and verbs > {*CASES}
    missing = {v for v in verbs - {*CASES, *ELSEWHERE} if not any(r.startswith(v) for r in rows)}
    assert not missing, f"give them rows in tests/dynamics/catalogue.py: {sorted(missing)}"
    assert verbs <= set(hinge.__all__)


def test_every_verb_that_is_an_expression_is_in_the_catalogue():
    read_off = {"potential_energy", "center_of_mass"}  # from the composite inertia
    factors = set(FACTORS) - set(dynamics.SEVERAL) - {"sample_velocities"}
    verbs = {*CASES, *OPERATIONAL, *IDENTIFICATION, "passive_force"} - read_off
    assert set(dynamics.CATALOGUE) == verbs | {"composite_inertia"} | factors


def test_the_random_robots_hold_every_joint_type():
    kinds = {j.type.kind for name in RANDOM for j in robot_of(name).joints}
    assert kinds == set(joints.JOINT_TYPES) and len(kinds) == 14


def test_the_zoo_holds_what_it_promises():
    zoo = {name: robot_of(name) for name in ZOO}
    for single in (True, False):
        spun = [
            r for r in zoo.values() if any(j.rotor_inertia.any() and (j.nv == 1) == single for j in r.joints)
        ]
        assert len(spun) >= 2
    assert any(0 < np.count_nonzero(j.rotor_inertia) < j.nv for j in zoo["partial_rotors"].joints)
    assert len(zoo["two_roots"].tree.roots) == 2
    assert zoo["rerooted"].joints[0].child == "HR_shank"
    marks = [f.placement for f in zoo["framed"].frames[:-1]]
    assert all(m.r.all() and not np.allclose(m.E, np.eye(3)) for m in marks)
    assert {r.is_floating for r in zoo.values()} == {True, False}


@pytest.mark.skipif(not REAL, reason="example-robot-data has no wheel for this platform")
def test_real_robots_are_in_the_zoo():
    assert {robot_of(name).is_floating for name in REAL} == {True, False}
    assert max(robot_of(name).nv for name in REAL) > 30
