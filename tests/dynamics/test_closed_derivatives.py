"""Derivatives of closed dynamics, of contact dynamics and of embedded loops and couplings: by differences."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.model import Contact, embed_couplings
from hinge.robots import random_tree
from hinge.spatial import Transform
from tests.dynamics.coupled import coupled
from tests.dynamics.differences import by_q, by_vector, off

BOUND = 1e-8


def state_of(robot, seed=1):
    """Return a state in which closures hold."""
    rng = np.random.default_rng(seed)
    q = hinge.assemble(robot, hinge.random_configuration(robot, rng)).q
    qd, tau = rng.standard_normal((2, robot.nv))
    return q, hinge.settle(robot, q, qd), tau


def pairs(robot, f, q, qd, tau, read):
    """Yield differences by q, qd and tau of what is read off a result."""
    step = 1e-3
    yield "q", by_q(robot, lambda x: read(f(x, qd, tau)), q, step, at_once=True)
    yield "qd", by_vector(lambda x: read(f(q, x, tau)), qd, step, at_once=True)
    yield "tau", by_vector(lambda x: read(f(q, qd, x)), tau, step, at_once=True)


def test_closed_dynamics():
    robot = hinge.robots.four_bar()
    q, qd, tau = state_of(robot)
    tip = robot.bodies[-1].name
    given = {"external": {tip: np.arange(6.0)}, "gravity": [0.5, 0.2, -3.0], "passive": True}

    def f(x, v, u):
        return hinge.closed_dynamics(robot, x, v, u, **given)

    d = hinge.closed_dynamics_derivatives(robot, q, qd, tau, wrt=("q", "qd", "tau", "external"), **given)
    now = f(q, qd, tau)
    np.testing.assert_array_equal(d.qdd, now.qdd)
    np.testing.assert_array_equal(d.forces, now.forces)
    for name, wanted in pairs(robot, f, q, qd, tau, lambda c: c.qdd):
        assert off(getattr(d, name), wanted) < BOUND, name
    for name, wanted in pairs(robot, f, q, qd, tau, lambda c: c.forces):
        assert off(getattr(d, f"forces_{name}"), wanted) < BOUND, name
    pushed = by_vector(
        lambda x: hinge.closed_dynamics(robot, q, qd, tau, **{**given, "external": {tip: x}}).qdd,
        np.arange(6.0),
    )
    assert off(d.external, pushed) < BOUND


def test_along_the_motions_that_closures_allow():
    """Along a motion that closes, velocities that go on fitting: what a linearised mechanism does."""
    robot = hinge.robots.four_bar()
    q, qd, tau = state_of(robot)
    way = hinge.settle(robot, q, np.ones(robot.nv))
    keep = hinge.mobility(robot, q).independent

    def there(t):
        x = hinge.assemble(robot, hinge.integrate(robot, q, t * way), keep=keep).q
        v = hinge.settle(robot, x, qd)
        return x, v, hinge.closed_dynamics(robot, x, v, tau).qdd

    d = hinge.closed_dynamics_derivatives(robot, q, qd, tau)
    h = 1e-3
    (one, vo, more), (two, vt, less) = there(h), there(-h)
    along = hinge.difference(robot, two, one), vo - vt
    assert off(d.q @ along[0] + d.qd @ along[1], more - less) < 1e-5
    np.testing.assert_allclose(hinge.closure_velocity(robot, q, way), 0.0, atol=1e-12)


def test_closures_that_are_open_and_batches():
    robot = hinge.robots.four_bar()
    q, qd, tau = state_of(robot)
    many, held = np.stack([q, q]), np.array([[True], [False]])
    d = hinge.closed_dynamics_derivatives(robot, many, qd, tau, held=held)
    free = hinge.forward_dynamics_derivatives(hinge.opened(robot), q, qd, tau)
    one = hinge.closed_dynamics_derivatives(robot, q, qd, tau)
    assert off(d.q[1], free.q) < 1e-9
    assert off(d.tau[1], free.tau) < 1e-9
    assert off(d.q[0], one.q) < 1e-9
    assert not d.forces_q[1].any()
    single = hinge.closed_dynamics_derivatives(robot, *(x.astype(np.float32) for x in (many, qd, tau)))
    assert {x.dtype for x in vars(single).values()} == {np.dtype(np.float32)}
    assert off(single.q[0].astype(float), one.q) < 1e-5


def test_derivatives_of_the_tree_are_refused():
    """They were those of the robot with its closures open, told by no one."""
    robot = hinge.robots.four_bar()
    q, qd, tau = state_of(robot)
    for call in (
        lambda: hinge.forward_dynamics_derivatives(robot, q, qd, tau),
        lambda: hinge.inverse_dynamics_derivatives(robot, q, qd, tau),
        lambda: hinge.vjp("forward_dynamics", robot),
        lambda: hinge.jvp("inverse_dynamics", robot),
        lambda: hinge.second_derivatives("inverse_dynamics", robot, q, qd, tau, c=tau),
        lambda: hinge.linearize(robot, q, qd, tau),
        lambda: hinge.export.c("forward_dynamics_derivatives", robot),
    ):
        with pytest.raises(ArgumentError, match=r"no meaning .* with closures.*; use closed_dynamics"):
            call()


@pytest.mark.slow
def test_contacts_held_on_embedded_loops():
    base = hinge.robots.four_bar()
    place = Transform.place(position=(0.11, 0.13, 0.17))
    side = Transform(np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]), np.zeros(3))
    ball = Contact("c", base.bodies[1].name, radius=0.05, placement=place, surface_placement=side)
    robot = hinge.with_contacts(hinge.embed_loops(base), [ball])
    q = hinge.assemble(base, np.array([0.4, 0.0, 0.0])).q
    pushed = 0
    for seed in range(4):
        qd, tau = 3 * np.random.default_rng(seed).standard_normal((2, robot.nv))

        def f(x, v=qd, u=tau):
            return hinge.contact_dynamics(robot, x, v, u, closed=np.ones(1))

        pushed += f(q).forces[0, 0] > 0
        d = hinge.contact_dynamics_derivatives(robot, q, qd, tau, closed=np.ones(1))
        assert off(d.q, by_q(robot, lambda x, f=f: f(x).qdd, q, 1e-3)) < BOUND
        assert off(d.qd, by_vector(lambda x, f=f: f(q, x).qdd, qd, 1e-3)) < BOUND
    assert pushed


@pytest.mark.slow
def test_general_rules_agree():
    """The derivative of an expression with Ω⁻¹ by the rules of the algebra, and the implicit function."""
    robot = hinge.robots.slider_crank()
    q, qd, _ = state_of(robot)
    e = hinge.dynamics.CLOSURES["settle"]
    found = hinge.compile({"by_q": hinge.derivative(e, "q")}, robot)(q, qd)
    wanted = by_q(robot, lambda x: hinge.settle(robot, x, qd), q, 1e-3, at_once=True)
    assert off(found, wanted) < BOUND


def on_the_ground():
    """Return a tree of two bodies on the ground, one of which pushes."""
    robot = random_tree(2, 1, ["free", "revolute"], branching=0.0)
    names = [b.name for b in robot.bodies]
    found = []
    for k, name in enumerate(names):
        place = Transform.place(position=(0.0, 0.0, -0.1 * k))
        found.append(Contact(f"c{k}", name, radius=0.1, surface_placement=place))
    return hinge.with_contacts(robot, found)


def test_contact_dynamics():
    robot = on_the_ground()
    rng = np.random.default_rng(4)
    q, every = hinge.random_configuration(robot, rng), np.ones(2)
    qd, tau = rng.standard_normal((2, robot.nv))

    def f(x, v, u):
        return hinge.contact_dynamics(robot, x, v, u, closed=every)

    d = hinge.contact_dynamics_derivatives(robot, q, qd, tau, closed=every)
    assert (d.forces > 0).any()
    for name, wanted in pairs(robot, f, q, qd, tau, lambda c: c.qdd):
        assert off(getattr(d, name), wanted) < BOUND, name
    for name, wanted in pairs(robot, f, q, qd, tau, lambda c: c.forces[..., 0]):
        assert off(getattr(d, f"forces_{name}"), wanted) < BOUND, name


EMBEDDED = {
    "loop": lambda: hinge.embed_loops(hinge.robots.four_bar()),
    "coupling": lambda: embed_couplings(
        coupled(random_tree(3, 2, ["revolute", "prismatic"]), ("joint2", "joint0", -1.5, 0.3))
    ),
}


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded(name):
    robot = EMBEDDED[name]()
    assert robot.is_embedded
    rng = np.random.default_rng(1)
    q = hinge.random_configuration(robot, rng)
    qd, tau = rng.standard_normal((2, robot.nv))
    d = hinge.forward_dynamics_derivatives(robot, q, qd, tau, passive=True)

    def f(x, v, u):
        return hinge.forward_dynamics(robot, x, v, u, passive=True)

    for by, wanted in pairs(robot, f, q, qd, tau, lambda x: x):
        assert off(getattr(d, by), wanted) < BOUND, by


REFUSED = {
    "wrt: expected names among": (
        ArgumentError,
        lambda: hinge.closed_dynamics_derivatives(hinge.robots.four_bar(), *np.zeros((3, 3)), wrt=("qdd",)),
    ),
    "closures": (
        ArgumentError,
        lambda: hinge.closed_dynamics_derivatives(hinge.robots.double_pendulum(), *np.zeros((3, 2))),
    ),
    "contacts": (
        ArgumentError,
        lambda: hinge.contact_dynamics_derivatives(hinge.robots.double_pendulum(), *np.zeros((3, 2))),
    ),
    "letters of trees and of closures": (
        NotImplementedError,
        lambda: hinge.derivative(hinge.algebra.r_c, "q"),
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message):
    kind, call = REFUSED[message]
    with pytest.raises(kind, match=message):
        call()
