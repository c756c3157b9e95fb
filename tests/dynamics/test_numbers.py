"""Derivatives by numbers of the model: inertias, placements, rotors, friction; by differences and by laws."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.dynamics.expressions import expression
from hinge.errors import ArgumentError
from hinge.model import embed_couplings, joints, placement_parameters, with_parameters
from hinge.model.joints import Free
from tests.dynamics.coupled import random_coupled
from tests.dynamics.differences import by_q, by_vector, off
from tests.dynamics.passives import with_physics
from tests.dynamics.test_closed_derivatives import state_of

BOUND = 1e-8
NUMBERS = ("inertias", "placements", "rotors", "friction")
#: Joints of every type with springs; those that roll have none.
KINDS = [k for k in joints.JOINT_TYPES if k not in ("rolling_ball", "wheeled")]
FORCES = {"f_ext": np.zeros((0, 6))}


def moved(rows, d):
    """Return placements moved along motions of their frames (…, 6 n)."""
    d = d.reshape(*d.shape[:-1], len(rows), 6)
    return Free().integrate(np.broadcast_to(rows, (*d.shape[:-1], 7)), d)


def numbers_of(robot):
    """Return for each kind of numbers a start, and what makes arguments of numbers."""
    placements = placement_parameters(robot)
    inertias, friction = hinge.inertial_parameters(robot), hinge.friction_parameters(robot)
    return {
        "inertias": (inertias.ravel(), lambda x: x.reshape(*x.shape[:-1], *inertias.shape)),
        "placements": (np.zeros(6 * len(placements)), lambda x: moved(placements, x)),
        "rotors": (robot.reflected_inertia, lambda x: x),
        "friction": (friction.ravel(), lambda x: x.reshape(*x.shape[:-1], *friction.shape)),
    }


def state(robot, seed=1):
    rng = np.random.default_rng(seed)
    return hinge.random_configuration(robot, rng), *rng.standard_normal((3, robot.nv))


@pytest.fixture(scope="module")
def robot():
    return with_physics(hinge.robots.random_tree(6, 3, KINDS), 3)


@pytest.fixture(scope="module")
def derivatives(robot):
    q, qd, qdd, tau = state(robot)
    inverse = hinge.inverse_dynamics_derivatives(robot, q, qd, qdd, wrt=NUMBERS, passive=True)
    forward = hinge.forward_dynamics_derivatives(robot, q, qd, tau, wrt=NUMBERS, passive=True)
    return inverse, forward


@pytest.mark.parametrize("name", NUMBERS)
def test_inverse_dynamics_by_numbers(robot, derivatives, name):
    q, qd, qdd, _ = state(robot)
    f = hinge.compile(expression("inverse_dynamics", passive=True), robot, parameters=[name])
    start, made = numbers_of(robot)[name]
    wanted = by_vector(lambda x: f(q, qd, qdd=qdd, **{name: made(x)}, **FORCES), start, at_once=True)
    found = getattr(derivatives[0], name)
    assert found.shape[1:] == {"rotors": (robot.nv,), "friction": (robot.nv, 3)}.get(
        name, (len(robot.bodies), 10 if name == "inertias" else 6)
    )
    assert off(found.reshape(wanted.shape), wanted) < BOUND


def test_forward_is_minus_the_inverse_mass_times_inverse(robot, derivatives):
    q, qd, _, _ = state(robot)
    _, forward = derivatives
    inverse = hinge.inverse_dynamics_derivatives(robot, q, qd, forward.qdd, wrt=NUMBERS, passive=True)
    mass = hinge.mass_matrix(robot, q)
    for name in NUMBERS:
        left = np.tensordot(mass, getattr(forward, name), 1)
        assert off(left, -getattr(inverse, name)) < 1e-10, name


def test_changes_and_gradients(robot, derivatives):
    q, qd, _, tau = state(robot)
    c = np.random.default_rng(2).standard_normal(robot.nv)
    what = expression("forward_dynamics", passive=True)
    push, pull = hinge.jvp(what, robot, NUMBERS), hinge.vjp(what, robot, NUMBERS)
    _, by = pull(q, qd, tau, c)
    rng = np.random.default_rng(3)
    along = {n: rng.standard_normal(by[n].shape) for n in NUMBERS}
    _, change = push(q, qd, tau, **{f"d_{n}": x for n, x in along.items()})
    for n in NUMBERS:
        assert off(by[n], np.tensordot(c, getattr(derivatives[1], n), 1)) < 1e-12, n
    one, other = c @ change, sum((by[n] * along[n]).sum() for n in NUMBERS)
    assert abs(one - other) < 1e-11 * max(1.0, abs(one))


def test_numbers_that_are_given():
    """Each state has placements of its own, and gradients are taken there."""
    robot = hinge.robots.random_tree(2, 1, ["revolute", "spherical"])
    rng = np.random.default_rng(4)
    q, c = hinge.random_configuration(robot, rng, 2), rng.standard_normal(robot.nv)
    qd, tau = rng.standard_normal((2, robot.nv))
    given = moved(placement_parameters(robot), 0.2 * rng.standard_normal((2, 12)))
    pull = hinge.vjp("forward_dynamics", robot, parameters=["placements"])
    assert pull.arrays == ["qd", "tau", "placements"]
    _, by = pull(q, qd, tau, given, c)
    f = hinge.compile("forward_dynamics", robot, parameters=["placements"])
    for k in range(2):

        def value(x, k=k):
            return f(q[k], qd, tau=tau, placements=moved(given[k], x), **FORCES) @ c

        assert off(by["placements"][k].ravel(), by_vector(value, np.zeros(12), at_once=True)) < BOUND
    single = pull(*(x.astype(np.float32) for x in (q, qd, tau, given, c)))[1]["placements"]
    assert single.dtype == np.float32
    assert off(single.astype(float), by["placements"]) < 1e-4


@pytest.mark.slow
def test_second_derivatives_by_numbers():
    robot = hinge.robots.random_tree(2, 1, ["revolute", "spherical"])
    q, qd, qdd, c = state(robot)
    found = hinge.second_derivatives("inverse_dynamics", robot, q, qd, qdd, c=c, wrt=("q", "placements"))
    pull = hinge.vjp("inverse_dynamics", robot, ("q", "placements"), parameters=["placements"])
    start = placement_parameters(robot)

    def by(name, d, x=q):
        return pull(x, qd, qdd, moved(start, d), c)[1][name].ravel()

    zero = np.zeros(12)
    assert off(found["placements", "placements"], by_vector(lambda d: by("placements", d), zero)) < BOUND
    assert off(found["q", "placements"], by_vector(lambda d: by("q", d), zero)) < BOUND
    assert off(found["placements", "q"], by_q(robot, lambda x: by("placements", zero, x), q)) < BOUND
    # The bias forces depend on the inertias too: it is not enough that 𝓜 does.
    by_masses = hinge.second_derivatives("inverse_dynamics", robot, q, qd, qdd, c=c, wrt=("q", "inertias"))
    pull = hinge.vjp("inverse_dynamics", robot, ["q"], parameters=["inertias"])
    rows = hinge.inertial_parameters(robot)
    wanted = by_vector(lambda x: pull(q, qd, qdd, x.reshape(rows.shape), c)[1]["q"], rows.ravel())
    assert off(by_masses["q", "inertias"], wanted) < BOUND


@pytest.mark.slow
def test_couplings():
    robot = embed_couplings(random_coupled(4, 1, kinds=("revolute", "screw", "fixed")))
    q, qd, qdd, _ = state(robot)
    d = hinge.inverse_dynamics_derivatives(
        robot, q, qd, qdd, wrt=("placements", "rotors", "friction"), passive=True
    )
    for name, (start, made) in numbers_of(robot).items():
        if name == "inertias":
            continue
        begin = np.ones(robot.nv) if name == "rotors" else start

        def value(x, name=name, made=made):
            return hinge.reference.inverse_dynamics(with_parameters(robot, **{name: made(x)}), q, qd, qdd)

        def passive(x, name=name, made=made):
            there = with_parameters(robot, **{name: made(x)})
            return hinge.inverse_dynamics(there, q, qd, qdd, passive=True)

        wanted = by_vector(passive if name == "friction" else value, begin)
        assert off(getattr(d, name).reshape(wanted.shape), wanted) < BOUND, name


def test_closures():
    robot = hinge.robots.four_bar()
    q, qd, tau = state_of(robot)
    d = hinge.closed_dynamics_derivatives(robot, q, qd, tau, wrt=("placements", "rotors"))
    for name, (start, made) in numbers_of(robot).items():
        if name not in ("placements", "rotors"):
            continue
        f = hinge.compile("closed_dynamics", robot, parameters=[name])
        for result, attribute in (("qdd", name), ("forces", f"forces_{name}")):

            def value(x, f=f, name=name, made=made, result=result):
                return f.evaluate(q, {"qd": qd, "tau": tau, name: made(x), **FORCES})[result]

            wanted = by_vector(value, start, 1e-5)
            assert off(getattr(d, attribute).reshape(wanted.shape), wanted) < 1e-7, attribute


@pytest.mark.slow
def test_roll_outs():
    robot = hinge.robots.random_tree(2, 1, ["revolute", "spherical"])
    q, qd, cq, cqd = state(robot)
    roll, start = hinge.Rollout(robot, dt=5e-3, steps=3), placement_parameters(robot)
    end, by = roll(q, qd), roll.pull(q, qd, q=cq, qd=cqd, parameters={"placements": start})

    def value(d):
        there = roll(q, qd, parameters={"placements": moved(start, d)})
        return cq @ hinge.difference(robot, end.q, there.q) + cqd @ there.qd

    assert off(by["placements"].ravel(), by_vector(value, np.zeros(12))) < BOUND


def test_kinetic_energy_by_inertias(robot):
    q, qd, _, _ = state(robot)
    found = hinge.gradient("kinetic_energy", robot, "inertias")(q, qd)
    rows = hinge.inertial_parameters(robot)
    f = hinge.compile("kinetic_energy", robot, parameters=["inertias"])
    wanted = by_vector(lambda x: f(q, qd, inertias=x.reshape(rows.shape)), rows.ravel())
    assert off(found.ravel(), wanted) < BOUND


def refused():
    """Return calls by what they are answered."""
    panda, loop = hinge.robots.panda(), hinge.embed_loops(hinge.robots.four_bar())
    ball = hinge.robots.random_tree(1, 1, ["rolling_ball"])
    z, z1 = np.zeros((3, 7)), (hinge.neutral(loop), *np.zeros((2, loop.nv)))
    return {
        "wrt: 'friction' expects passive=True, got False": (
            ArgumentError, lambda: hinge.forward_dynamics_derivatives(panda, *z, wrt=["friction"])),
        "wrt: 'friction' expects passive=True": (
            ArgumentError, lambda: hinge.vjp("forward_dynamics", panda, ["friction"])),
        "derivatives by 'placements' are not supported for robots with embedded loops": (
            NotImplementedError, lambda: hinge.inverse_dynamics_derivatives(loop, *z1, wrt=["placements"])),
        "rolling_ball joints, .* nor are derivatives by 'friction'": (
            NotImplementedError,
            lambda: hinge.inverse_dynamics_derivatives(
                ball, hinge.neutral(ball), *np.zeros((2, 3)), wrt=["friction"], passive=True)),
        "wrt: expected names among q, qd, tau, gravity, inertias, .* got 'masses'": (
            ArgumentError, lambda: hinge.jvp("forward_dynamics", panda, ["masses"])),
        "wrt: the gradient of the potential energy is supported by 'q' alone": (
            NotImplementedError, lambda: hinge.gradient("potential_energy", panda, "inertias")),
        "wrt: expected names among q, qd, tau, placements, inertias, got 'mass'": (
            ArgumentError,
            lambda: hinge.Rollout(panda, dt=1e-3, steps=2).pull(
                z[0], tau=np.zeros((2, 7)), parameters={"placements": placement_parameters(panda)},
                wrt=["mass"])),
    }  # fmt: skip


def test_refusals():
    for message, (kind, call) in refused().items():
        with pytest.raises(kind, match=message):
            call()
