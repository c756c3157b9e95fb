"""Steps of a simulation in JAX: the states and gradients of `hinge.Rollout`, by `jax.lax.scan`."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
import hinge.jax as homes
from tests.jax.robots import by_coordinates, off, small, states
from tests.tiers import daily

jax = pytest.importorskip("jax")

ROBOTS = {
    "pendulum": hinge.robots.double_pendulum,
    "four-bar": hinge.robots.four_bar,
    "small": small,
    "quadruped": hinge.robots.quadruped,
    "panda": hinge.robots.panda,
}
CASES = [(n, rule) for n in ROBOTS for rule in ("rk4", "semi-implicit", "midpoint", "rk5")]
STEPS, DT = 5, 2e-3


@pytest.mark.parametrize(
    ("name", "rule"),
    daily(CASES, lambda _, c: c == ("small", "semi-implicit")),
)
def test_scans_are_rollouts(name, rule):
    robot = ROBOTS[name]()
    q, _, _ = states(robot)
    v = np.random.default_rng(1).standard_normal(robot.nv)
    v = hinge.settle(robot, q, v) if robot.closures else v
    U = np.random.default_rng(2).standard_normal((STEPS, robot.nv))
    cq, cv = np.random.default_rng(3).standard_normal((2, robot.nv))
    step = homes.step(robot, DT, integrator=rule)
    roll = hinge.Rollout(robot, dt=DT, steps=STEPS, integrator=rule)

    def end(q, v, U):
        return jax.lax.scan(lambda x, u: (step(*x, u), None), (q, v), U)[0]

    found, wanted = jax.jit(end)(q, v, U), roll(q, v, tau=U)
    assert off(found[0], wanted.q) <= 1e-12 and off(found[1], wanted.qd) <= 1e-12
    weights = np.linalg.pinv(rates(robot, wanted.q)).T @ cq  # by coordinates

    def cost(q, v, U):
        last = end(q, v, U)
        return last[0] @ weights + last[1] @ cv

    grads = jax.jit(jax.grad(cost, (0, 1, 2)))(q, v, U)
    by = roll.pull(q, v, tau=U, q=cq, qd=cv)
    assert off(grads[0], by_coordinates(robot, q, by["q"])) <= 1e-11
    assert off(grads[1], by["qd"]) <= 1e-11 and off(grads[2], by["tau"]) <= 1e-11


def rates(robot, q):
    """Return N (nq, nv)."""
    found = np.zeros((robot.nq, robot.nv))
    for u in hinge.model.units(robot):
        for k, e in zip(u.qd, np.eye(len(u.qd)), strict=True):
            found[list(u.q), k] = u.type.rate(u.q_of(q), e)
    return found


def test_changes_and_batches():
    robot = hinge.robots.double_pendulum()
    q, v, u = states(robot, 0, 3)
    step = homes.step(robot, DT)
    next_q, next_v = jax.jit(jax.vmap(step, (0, 0, None)))(q, v, u[0])
    wanted = hinge.sim.step(robot, DT)(q, v, tau=u[0])
    assert off(next_q, wanted[0]) <= 1e-14 and off(next_v, wanted[1]) <= 1e-14
    forth, back = (J(step, (0, 1, 2))(q[0], v[0], u[0]) for J in (jax.jacfwd, jax.jacrev))
    for x, y in zip(jax.tree.leaves(forth), jax.tree.leaves(back), strict=True):
        assert off(x, y) <= 1e-12
    d = hinge.sim.linearize(robot, q[0], v[0], u[0], DT, integrator="rk4", passive=True)
    assert off(np.block([[np.asarray(forth[0][0]), forth[0][1]], [forth[1][0], forth[1][1]]]), d.A) <= 1e-12
    pytest.importorskip("jax.test_util").check_grads(step, (q[0], v[0], u[0]), order=1)


def test_laws_numbers_and_dt():
    robot = hinge.robots.double_pendulum()
    q, v, _ = states(robot)
    law = hinge.sim.PD(np.zeros(2), 10.0, 1.0)
    step = homes.step(robot, control=law, inputs=["target_q", "kp"])
    assert step.arguments == {"q": (2,), "qd": (2,), "target_q": (2,), "kp": (2,), "dt": (1,)}
    args = q, v, np.ones(2), np.full(2, 10.0), np.array([DT])

    def cost(target, gains):
        return step(q, v, target, gains, args[4])[1].sum()

    pytest.importorskip("jax.test_util").check_grads(cost, args[2:4], order=1, modes=["rev"])
    with pytest.raises(NotImplementedError, match="dt: the gradient of a step by it is not supported"):
        jax.grad(lambda h: step(*args[:4], h)[0].sum())(args[4])
    inertias = hinge.inertial_parameters(robot)
    massive = homes.step(robot, DT, parameters={"inertias": inertias}, inputs=["inertias"])
    assert massive.arguments["inertias"] == inertias.shape
    by_mass = jax.grad(lambda i: massive(q, v, 0 * v, i)[1].sum())(inertias)
    roll = hinge.Rollout(robot, dt=DT, steps=1)
    own = roll.pull(q, v, tau=np.zeros((1, 2)), parameters={"inertias": inertias}, qd=np.ones(2))
    assert off(by_mass, own["inertias"].reshape(inertias.shape)) <= 1e-12


def test_what_has_no_second_derivatives_says_so():
    robot = hinge.robots.double_pendulum()
    q, v, u = states(robot)
    step = homes.step(robot, DT)
    with pytest.raises(NotImplementedError, match="second derivatives are not supported"):
        jax.hessian(lambda v: step(q, v, u)[0].sum())(v)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"control": lambda t, q, qd: qd}, "control: a function of Python is not supported"),
        ({"integrator": "adaptive"}, "integrator: 'adaptive' is not supported"),
        ({"integrator": "stepping"}, "integrator: 'stepping' is not supported"),
    ],
)
def test_refused_by_name(options, message):
    with pytest.raises(NotImplementedError, match=message):
        homes.step(hinge.robots.double_pendulum(), DT, **options)
