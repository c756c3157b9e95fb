"""Inertias as arguments of a call: the same numbers as for a robot that has them."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.algebra import H, M, passive, phi
from hinge.binding import Needs, bind
from hinge.dynamics import CATALOGUE
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.robots import random_tree
from hinge.targets import system_of
from tests.dynamics.zoo import ZOO, robot_of
from tests.tiers import daily


def other_inertias(robot, rng, batch=()):
    """Return inertias of real bodies near the robot's own, and of bodies without mass too."""
    own = hinge.inertial_parameters(robot)
    masses = own[:, 0] + rng.uniform(0.1, 1.0, (*batch, len(own)))
    com = rng.normal(size=(*batch, len(own), 3))
    moments = rng.uniform(1.0, 1.5, (*batch, len(own), 3))[..., None] * np.eye(3)
    x = hinge.Inertia.from_com(masses, com, moments)
    return x.parameters()


def state(robot, rng, batch=()):
    q = hinge.random_configuration(robot, 7, *batch)
    return q, *rng.normal(size=(2, *batch, robot.nv))


ROBOTS = [robots.panda(), robots.spacecraft(), random_tree(7, 5)]


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda r: r.name)
@pytest.mark.parametrize("target", daily(["llvm", "numpy"], lambda k, _: k == 0))
@pytest.mark.parametrize("verb", ["forward_dynamics", "mass_matrix", "kinetic_energy"])
def test_each_state_has_its_own_inertias(robot, verb, target):
    rng = np.random.default_rng(1)
    q, qd, third = state(robot, rng, (5,))
    x = other_inertias(robot, rng, (5,))
    given = {
        "forward_dynamics": {"qd": qd, "tau": third},
        "mass_matrix": {},
        "kinetic_energy": {"qd": qd},
    }[verb]
    f = hinge.compile(verb, robot, target=target, parameters=["inertias"])
    found = f(q, inertias=x, **given)
    for k in range(5):
        changed = hinge.with_inertial_parameters(robot, x[k])
        wanted = hinge.compile(verb, changed, target="numpy")(q[k], **{n: v[k] for n, v in given.items()})
        assert np.allclose(found[k], wanted, rtol=1e-10, atol=1e-10)
    assert np.allclose(f(q, inertias=x[0], **given)[0], found[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", daily(ZOO, lambda k, name: k % 2 == 0))
def test_the_robots_own_inertias_change_nothing(name):
    robot, rng = robot_of(name), np.random.default_rng(2)
    q, qd, qdd = state(robot, rng)
    f = hinge.compile("inverse_dynamics", robot, target="numpy", parameters=["inertias"])
    found = f(q, qd, qdd=qdd, inertias=hinge.inertial_parameters(robot))
    assert np.allclose(found, hinge.inverse_dynamics(robot, q, qd, qdd), rtol=1e-10, atol=1e-10)


def test_gravity_and_inertias_go_together():
    robot, rng = robots.panda(), np.random.default_rng(3)
    q, qd, tau = state(robot, rng)
    x, down = other_inertias(robot, rng), np.array([1.0, 2.0, 3.0])
    f = hinge.compile("forward_dynamics", robot, parameters=["inertias"])
    wanted = hinge.forward_dynamics(hinge.with_inertial_parameters(robot, x), q, qd, tau, gravity=down)
    assert np.allclose(f(q, qd, tau=tau, inertias=x, gravity=down), wanted, rtol=1e-10, atol=1e-10)


def test_the_layout_is_documented_and_goes_there_and_back():
    robot = robots.panda()
    x = hinge.inertial_parameters(robot)
    assert x.shape == (len(robot.bodies), 10)
    body = robot.bodies[2].inertia
    assert np.array_equal(x[2, :4], [body.m, *body.h])
    assert np.array_equal(x[2, 4:], body.I[np.triu_indices(3)])
    again = hinge.with_inertial_parameters(robot, x)
    assert np.array_equal(hinge.inertial_parameters(again), x)


def test_what_no_body_can_have_is_named():
    robot = robots.panda()
    x = np.tile(hinge.inertial_parameters(robot), (3, 1, 1))
    assert hinge.check_inertial_parameters(robot, x) == []
    x[1, 2, 0] = -1.0
    x[2, 0, 4] = np.nan
    x[0, 3, 9] += 100.0
    found = hinge.check_inertial_parameters(robot, x)
    names = [b.name for b in robot.bodies]
    assert len(found) == 3
    assert f"body {names[3]!r} of set [0]" in found[0] and "triangle" in found[0]
    assert f"body {names[2]!r} of set [1]" in found[1] and "-1 kg" in found[1]
    assert f"body {names[0]!r} of set [2]" in found[2] and "finite" in found[2]
    assert hinge.check_inertial_parameters(robot, x[0])[0].startswith(f"body {names[3]!r}: ")
    assert hinge.check_inertial_parameters(robot, x[:0]) == []


def test_bad_arguments_are_named():
    robot = robots.panda()
    with pytest.raises(ArgumentError, match=r"parameters: expected names among inertias, .* got 'colour'"):
        hinge.compile("mass_matrix", robot, parameters=["colour"])
    with pytest.raises(ArgumentError, match=r"parameters: expected a list .* 'inertias'"):
        hinge.compile("mass_matrix", robot, parameters="inertias")
    with pytest.raises(ArgumentError, match="verb: expected the name of a verb, got 'mass'"):
        hinge.compile("mass", robot)
    f = hinge.compile("mass_matrix", robot, parameters=["inertias"])
    q = np.zeros(robot.nq)
    with pytest.raises(UnboundLeafError, match="inertias: expected a value"):
        f(q)
    count = len(robot.bodies)
    with pytest.raises(ArgumentError, match=rf"inertias: expected shape \(…, {count}, 10\), got \(10,\)"):
        f(q, inertias=np.ones(10))
    with pytest.raises(ArgumentError, match="ten numbers"):
        f(q, inertias=np.ones((count, 9)))
    with pytest.raises(ArgumentError, match="expected one set"):
        hinge.with_inertial_parameters(robot, np.ones((2, count, 10)))
    with pytest.raises(ArgumentError, match="a row for each body"):
        hinge.check_inertial_parameters(robot, np.ones((count + 1, 10)))


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda r: r.name)
def test_forces_and_their_regressor_go_together(robot):
    rng = np.random.default_rng(6)
    q, qd, qdd = state(robot, rng)
    x = other_inertias(robot, rng)
    e = {name: CATALOGUE[name] for name in ("inverse_dynamics", "inertial_regressor")}
    found = hinge.compile(e, robot, target="numpy", parameters=["inertias"])(q, qd, qdd=qdd, inertias=x)
    changed = hinge.with_inertial_parameters(robot, x)
    assert np.allclose(
        found["inverse_dynamics"], hinge.inverse_dynamics(changed, q, qd, qdd), rtol=1e-10, atol=1e-10
    )
    wanted = hinge.inertial_regressor(robot, q, qd, qdd)
    assert np.allclose(found["inertial_regressor"], wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda r: r.name)
@pytest.mark.parametrize("target", daily(["llvm", "numpy"], lambda k, _: k == 0))
def test_inertias_and_what_is_prescribed_go_together(robot, target):
    rng = np.random.default_rng(7)
    q, qd, qdd = state(robot, rng, (4,))
    x, tau = other_inertias(robot, rng, (4,)), rng.normal(size=(4, robot.nv))
    held = rng.integers(0, 2, (4, robot.nv)).astype(bool)
    f = hinge.compile("hybrid_dynamics", robot, target=target, prescribed=None, parameters=["inertias"])
    given = {"qdd": np.where(held, qdd, 0), "tau": np.where(held, 0, tau), "held": held.astype(float)}
    found = f(q, qd, inertias=x, **given)
    for k in range(4):
        changed = hinge.with_inertial_parameters(robot, x[k])
        one = {"tau": tau[k], "qdd": qdd[k], "prescribed": held[k]}
        wanted = hinge.hybrid_dynamics(changed, q[k], qd[k], **one)
        assert np.allclose(found["accelerations"][k], wanted[0], rtol=1e-9, atol=1e-9)
        assert np.allclose(found["forces"][k], wanted[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda r: r.name)
def test_matrices_take_the_same_parameters(robot):
    rng = np.random.default_rng(8)
    q, x = hinge.random_configuration(robot, 7), other_inertias(robot, rng)
    held = rng.integers(0, 2, robot.nv).astype(float)
    binding = bind(robot, Needs(parameters=("inertias",)), prescribed=None)
    system = system_of(binding, {"q": q, "inertias": x.ravel(), "held": held})
    m = hinge.mass_matrix(hinge.with_inertial_parameters(robot, x), q)
    n = np.diag(1 - held)
    assert np.allclose(system.matrix(H @ phi @ M @ phi.T @ H.T), m, rtol=1e-10, atol=1e-10)
    assert np.allclose(system.matrix(passive.mass), n @ m @ n + np.diag(held), rtol=1e-10, atol=1e-10)
