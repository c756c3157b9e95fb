"""Functions of JAX have the native target's values, and the gradients of `hinge.vjp`."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import hinge
import hinge.jax as homes
from hinge.algebra import H, M, phi, qd
from hinge.errors import MissingExtraError
from tests.dynamics.sweep_flexible import arm
from tests.jax.robots import DAILY, ROBOTS, by_coordinates, off, rolls, states
from tests.tiers import daily

jax = pytest.importorskip("jax")
jnp = jax.numpy
some = pytest.mark.parametrize("name", daily(ROBOTS, lambda _, n: n in DAILY))


def pulled(robot, q, v, u, c):
    """Return the gradients of cᵀ forward_dynamics by coordinates."""
    if robot.closures:
        d = hinge.closed_dynamics_derivatives(robot, q, v, u)
        found = {n: np.einsum("...i,...ij->...j", c, getattr(d, n)) for n in ("q", "qd", "tau")}
    else:
        found = hinge.vjp("forward_dynamics", robot)(q, v, u, c)[1]
    return by_coordinates(robot, q, found["q"]), found["qd"], found["tau"]


@some
def test_values_and_gradients(name):
    robot = ROBOTS[name]()
    q, v, u = states(robot, 0, 5)
    c = np.random.default_rng(1).standard_normal(v.shape)
    f = homes.function("forward_dynamics", robot)
    wanted = hinge.forward_dynamics(robot, q, v, u)
    assert off(f(q, v, u), wanted) <= 1e-12
    assert off(jax.jit(jax.vmap(f))(q, v, u), wanted) <= 1e-12
    by = (1, 2) if rolls(robot) else (0, 1, 2)
    grads = jax.jit(jax.vmap(jax.grad(lambda q, v, u, c: f(q, v, u) @ c, by)))(q, v, u, c)
    if rolls(robot):
        d = hinge.vjp("forward_dynamics", robot)(q, v, u, c)[1]
        assert all(off(x, d[n]) <= 1e-12 for x, n in zip(grads, ("qd", "tau"), strict=True))
        with pytest.raises(NotImplementedError, match="not supported for"):
            jax.grad(lambda q: f(q, v[0], u[0]) @ c[0])(q[0])
        return
    assert all(off(x, y) <= 1e-11 for x, y in zip(grads, pulled(robot, q, v, u, c), strict=True))


@pytest.mark.slow  # daily, `test_check_grads` compares both modes
@pytest.mark.parametrize("name", ROBOTS)
def test_changes_are_the_adjoint_of_gradients(name):
    robot = ROBOTS[name]()
    if rolls(robot):
        pytest.skip("no coordinates of joints that roll")
    q, v, u = states(robot)
    f = homes.function("forward_dynamics", robot)
    rng = np.random.default_rng(3)
    directions = rng.standard_normal(robot.nq), *rng.standard_normal((2, robot.nv))
    value, change = jax.jvp(f, (q, v, u), directions)
    assert off(value, hinge.forward_dynamics(robot, q, v, u)) <= 1e-12
    _, pull = jax.vjp(f, q, v, u)
    c = rng.standard_normal(robot.nv)
    both = sum(x @ y for x, y in zip(pull(c), directions, strict=True))
    assert abs(c @ change - both) <= 1e-11 * max(1.0, np.abs(pull(c)[0]).max() * robot.nv)
    forth, back = (J(f, (0, 1, 2))(q, v, u) for J in (jax.jacfwd, jax.jacrev))
    assert all(off(x, y) <= 1e-12 for x, y in zip(forth, back, strict=True))


@some
def test_single_precision(name):
    robot = ROBOTS[name]()
    q, v, u = states(robot, 0, 3)
    f = homes.function("inverse_dynamics" if not robot.closures else "forward_dynamics", robot)
    wanted = f(q, v, u)
    with jax.enable_x64(False):
        found = f(*(x.astype(np.float32) for x in (q, v, u)))
        assert found.dtype == jnp.float32
        by_v = jax.grad(lambda v: f(q[0], v, u[0]).sum())(v[0].astype(np.float32))
        assert by_v.dtype == jnp.float32
    exact = jax.grad(lambda v: f(q[0], v, u[0]).sum())(v[0])
    bound = 1e-4 if not robot.closures else 1e-2  # near singular closures rounding grows
    assert off(found, wanted) <= bound and off(by_v, exact) <= bound


@pytest.mark.parametrize("name", daily(("small", "panda", "no rolling"), lambda _, n: n == "small"))
def test_check_grads(name):
    robot = ROBOTS[name]()
    q, v, u = states(robot)
    f = homes.function("inverse_dynamics", robot)
    check_grads = pytest.importorskip("jax.test_util").check_grads
    check_grads(f, (q, v, u), order=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ("small", "panda", "no rolling"))
def test_check_grads_to_second_order(name):
    robot = ROBOTS[name]()
    q, v, u = states(robot)
    f = homes.function("forward_dynamics", robot)
    check_grads = pytest.importorskip("jax.test_util").check_grads
    check_grads(f, (q, v, u), order=2, atol=1e-2, rtol=1e-3)


def test_second_derivatives_are_those_of_hinge():
    robot = hinge.robots.double_pendulum()
    q, v, u = states(robot)
    c = np.array([1.0, -2.0])
    f = homes.function("inverse_dynamics", robot)
    wanted = hinge.second_derivatives("inverse_dynamics", robot, q, v, u, c=c)
    found = jax.jit(jax.hessian(lambda q, v: f(q, v, u) @ c, (0, 1)))(q, v)
    names = ("q", "qd")
    for i, m in enumerate(names):
        for k, n in enumerate(names):
            assert off(found[i][k], wanted[m, n]) <= 1e-12
    twice = jax.grad(lambda q: jax.grad(lambda q: f(q, v, u) @ c)(q) @ c)(q)
    assert off(twice, found[0][0] @ c) <= 1e-12


@pytest.mark.slow
def test_hessians_are_symmetric_with_quaternions():
    robot = ROBOTS["small"]()
    q, v, u = states(robot)
    f = homes.function("inverse_dynamics", robot)
    c = np.random.default_rng(4).standard_normal(robot.nv)

    def value(q):
        return f(q, v, u) @ c

    found = jax.hessian(value)(q)
    assert off(found, found.T) <= 1e-11
    h = 1e-5
    grad = jax.jit(jax.grad(value))
    columns = [(grad(q + h * e) - grad(q - h * e)) / (2 * h) for e in np.eye(robot.nq)]
    assert off(found, np.stack(columns, -1)) <= 1e-7


def test_batches():
    robot = hinge.robots.double_pendulum()
    f = homes.function("forward_dynamics", robot)
    rng = np.random.default_rng(0)
    q, v, u = rng.standard_normal((4, 3, 2)), rng.standard_normal((3, 2)), rng.standard_normal(2)
    wanted = hinge.forward_dynamics(robot, q, v, u)
    assert off(f(q, v, u), wanted) <= 1e-14
    assert off(f(q[:, :1], v, u), hinge.forward_dynamics(robot, q[:, :1], v, u)) <= 1e-14
    nested = jax.vmap(jax.vmap(f, (0, 0, None)), (0, None, None))
    assert off(jax.jit(nested)(q, v, u), wanted) <= 1e-14
    turned = jax.vmap(f, (1, 0, None), out_axes=1)(q, v, u)  # a batch in each call, and one across
    assert off(turned, wanted) <= 1e-14
    across = jax.vmap(f, (None, None, 0))(q, v, np.stack([u, 2 * u]))
    assert off(across[1], hinge.forward_dynamics(robot, q, v, 2 * u)) <= 1e-14
    shared = jax.grad(lambda u: f(q, v, u).sum())(u)
    each = jax.grad(lambda u: f(q, v, u).sum())(np.broadcast_to(u, q.shape))
    assert off(shared, each.sum((0, 1))) <= 1e-12
    by_v = jax.grad(lambda v: f(q, v, u).sum())(v)
    assert by_v.shape == v.shape
    assert f(np.zeros((0, 2)), v[0], u).shape == (0, 2)
    assert jax.vmap(f, (0, None, None))(np.zeros((0, 2)), v[0], u).shape == (0, 2)


def test_widths_and_threads_have_the_same_bits():
    robot = hinge.robots.double_pendulum()
    f = jax.jit(homes.function("forward_dynamics", robot))
    q, v, u = states(robot, 0, 200_000)
    whole = np.asarray(f(q, v, u))
    assert np.array_equal(whole[:3], f(q[:3], v[:3], u[:3]))
    assert np.array_equal(whole[17], f(q[17], v[17], u[17]))
    hinge.set_threads(2)
    try:
        assert np.array_equal(whole, f(q, v, u))
    finally:
        hinge.set_threads(None)


@pytest.mark.slow
def test_numbers_of_the_model():
    robot = ROBOTS["small"]()
    q, v, u = states(robot)
    names = ["inertias", "placements", "rotors"]
    f = homes.function("inverse_dynamics", robot, parameters=names)
    assert list(f.arguments) == ["q", "qd", "qdd", *names]
    own = hinge.inertial_parameters(robot), hinge.placement_parameters(robot), robot.reflected_inertia
    assert off(f(q, v, u, *own), hinge.inverse_dynamics(robot, q, v, u)) <= 1e-12
    c = np.random.default_rng(2).standard_normal(robot.nv)
    grads = jax.grad(lambda *x: f(q, v, u, *x) @ c, (0, 1, 2))(*own)
    wanted = hinge.vjp("inverse_dynamics", robot, names)(q, v, u, c)[1]
    assert off(grads[0], wanted["inertias"]) <= 1e-12 and off(grads[2], wanted["rotors"]) <= 1e-12
    free = hinge.model.joints.Free()
    columns = np.stack([free.unrate(own[1], np.broadcast_to(e, own[1].shape)) for e in np.eye(7)], -1)
    assert off(grads[1], np.einsum("bvq,bv->bq", columns, wanted["placements"])) <= 1e-11
    many = np.broadcast_to(own[0], (3, *own[0].shape)) * np.array([1.0, 2.0, 3.0])[:, None, None]
    found = jax.vmap(lambda i: f(q, v, u, i, *own[1:]))(many)
    assert off(found[0], hinge.inverse_dynamics(robot, q, v, u)) <= 1e-12
    assert found.shape == (3, robot.nv)


def test_operators_and_numbers():
    robot = ROBOTS["small"]()
    tip = robot.bodies[-1].name
    q, v, _ = states(robot)
    mass = homes.function("mass_matrix", robot)
    assert off(mass(q), hinge.mass_matrix(robot, q)) <= 1e-12
    d = np.random.default_rng(1).standard_normal(robot.nv)
    move = homes.plus(robot)
    change = jax.jvp(lambda e: mass(move(q, e * d)), (0.0,), (1.0,))[1]
    assert off(change, hinge.mass_matrix_derivatives(robot, q, along=d)) <= 1e-11
    J = homes.function("jacobian", robot, nodes=[tip], expressed="world")
    assert off(J(q), hinge.jacobian(robot, q, tip, expressed="world")) <= 1e-12
    energy = homes.function("kinetic_energy", robot)
    assert energy(q, v).shape == ()
    assert off(jax.grad(energy, 1)(q, v), hinge.mass_matrix(robot, q) @ v) <= 1e-12
    momentum = H @ phi @ M @ phi.T @ H.T @ qd
    both = homes.function({"p": momentum, "twice": 2 * momentum}, robot)(q, v)
    assert off(2 * both["p"], both["twice"]) <= 1e-12
    pushed = homes.function("forward_dynamics", robot, nodes=[tip])
    force = np.random.default_rng(3).standard_normal((1, 6))
    own = hinge.forward_dynamics(robot, q, v, 0 * v, external={tip: force[0]})
    assert off(pushed(q, v, 0 * v, force), own) <= 1e-12
    by_force = jax.jacrev(pushed, 3)(q, v, 0 * v, force)
    assert by_force.shape == (robot.nv, 1, 6)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ("mass_matrix", "mass_matrix_inverse"))
def test_matrices_change_alike_forth_and_back(verb):
    robot = ROBOTS["small"]()
    q, _, _ = states(robot)
    f = homes.function(verb, robot)
    forth, back = jax.jacfwd(f)(q), jax.jacrev(f)(q)
    assert forth.shape == (robot.nv, robot.nv, robot.nq) and off(forth, back) <= 1e-12


def test_the_tangent_space():
    robot = ROBOTS["small"]()
    q, v, u = states(robot)
    c = np.random.default_rng(1).standard_normal(robot.nv)
    f = homes.function("forward_dynamics", robot, tangent=True)
    assert list(f.arguments) == ["q", "dq", "qd", "tau"]
    wanted = hinge.vjp("forward_dynamics", robot)(q, v, u, c)[1]["q"]
    assert off(jax.grad(lambda d: f(q, d, v, u) @ c)(np.zeros(robot.nv)), wanted) <= 1e-12
    arm = hinge.robots.double_pendulum()
    q, v, u = states(arm)
    g = homes.function("forward_dynamics", arm, tangent=True)
    assert off(g(q, v, v, u), hinge.forward_dynamics(arm, q + v, v, u)) <= 1e-14
    assert np.array_equal(homes.plus(arm)(q, v), q + v)


def test_callbacks_of_python_give_the_same(monkeypatch):
    from hinge.jax import lowering

    robot = hinge.robots.chain(2)
    monkeypatch.setattr(lowering, "interface", lambda: None)
    f = homes.function("forward_dynamics", robot)
    q, v, u = states(robot, 0, 3)
    assert off(jax.jit(f)(q, v, u), hinge.forward_dynamics(robot, q, v, u)) <= 1e-14
    assert lowering.target_of(hinge.compile("forward_dynamics", robot).program()) is None
    grads = jax.vmap(jax.grad(lambda q, v: f(q, v, u[0]).sum(), (0, 1)))(q, v)
    wanted = hinge.vjp("forward_dynamics", robot)(q, v, u[0], np.ones(2))[1]
    assert off(grads[0], wanted["q"]) <= 1e-12 and off(grads[1], wanted["qd"]) <= 1e-12


@pytest.mark.slow
def test_without_a_compiler_python_is_called():
    script = """
import numpy as np, jax, hinge, hinge.jax
robot = hinge.robots.double_pendulum()
f = hinge.jax.function("forward_dynamics", robot)
q, v, u = np.random.default_rng(0).standard_normal((3, 2)).astype(np.float32)
found = jax.jit(jax.grad(lambda q: f(q, v, u).sum()))(q)
wanted = hinge.vjp("forward_dynamics", robot)(q, v, u, np.ones(2, np.float32))[1]["q"]
assert np.abs(found - wanted).max() < 1e-3, (found, wanted)
"""
    import os

    env = {**os.environ, "HINGE_TARGET": "numpy"}
    subprocess.run([sys.executable, "-c", script], check=True, env=env)


def test_a_missing_extra():
    script = """
import sys
sys.modules["jax"] = None
import hinge, hinge.jax
try:
    hinge.jax.function("mass_matrix", hinge.robots.double_pendulum())
except hinge.errors.MissingExtraError as error:
    assert 'pip install "hinge[jax]"' in str(error), error
else:
    raise SystemExit("no error")
"""
    assert issubclass(MissingExtraError, ImportError)
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_room_does_not_load_jax():
    script = "import sys, hinge, hinge.jax; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_flexible_bodies_have_the_gradients_of_vjp():
    robot = arm()
    q, v, u = states(robot, 0)
    f = homes.function("forward_dynamics", robot)
    c = np.ones(robot.nv)
    by = jax.grad(lambda q: f(0.1 * q, v, u) @ c)(q)
    assert off(by, 0.1 * hinge.vjp("forward_dynamics", robot)(0.1 * q, v, u, c)[1]["q"]) <= 1e-11
