"""Options of the derivatives' verbs together, and code of a user's own: joints, letters, numbers, laws."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.algebra import (
    H,
    Joint,
    M,
    One,
    Structure,
    leaf,
    logdet,
    phi,
    qd,
)
from hinge.dynamics.expressions import mass
from hinge.errors import ArgumentError
from tests.binding.test_own_joint_types import OWN, with_types
from tests.dynamics.differences import by_q, by_vector, off
from tests.dynamics.passives import with_physics
from tests.dynamics.sweep_derivative_options import ROBOTS, State, judge, verbs

BOUND = 1e-8
ARM = with_physics(hinge.robots.double_pendulum(), 1)


def state(robot, seed=1, batch=()):
    rng = np.random.default_rng(seed)
    return hinge.random_configuration(robot, rng, batch), *rng.standard_normal((3, *batch, robot.nv))


#: All pairs are judged by the sweep; here is each verb with all its loads at once, and as it is.
@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_verbs_with_all_options(name):
    s = State(ROBOTS[name]())
    for v in verbs(s.robot):
        every = list(v.cases())
        for case in (every[0], max(every, key=lambda c: (len(c["loads"]), len(c["wrt"])))):
            for what, error, bound in judge(s, v, case):
                assert error <= bound, f"{v.name} {case}: {what}"


def test_gradients_with_gravity_passive_and_arrays_for_results():
    q, v, tau, c = state(ARM, 2, (3,))
    down = np.array([0.5, -1.0, -4.0])
    pull = hinge.vjp("forward_dynamics", ARM, ["q", "gravity", "friction"], passive=True)
    value, by = pull(q, v, tau, c, gravity=down)
    options = {"gravity": down, "passive": True}
    np.testing.assert_allclose(value, hinge.forward_dynamics(ARM, q, v, tau, **options), rtol=1e-10)
    d = hinge.forward_dynamics_derivatives(ARM, q, v, tau, wrt=("q", "gravity", "friction"), **options)
    for n in ("q", "gravity", "friction"):
        assert off(by[n], np.einsum("bi,bi...->b...", c, getattr(d, n))) < 1e-10
    out = {"value": np.empty_like(value), **{n: np.empty_like(x) for n, x in by.items()}}
    _, again = pull(q, v, tau, c, gravity=down, out=out)
    assert all(again[n] is out[n] for n in by)
    np.testing.assert_array_equal(again["friction"], by["friction"])
    push = hinge.jvp("forward_dynamics", ARM, ["q", "gravity"], passive=True)
    along = {"d_q": c, "d_gravity": down}
    _, change = push(q, v, tau, **along, gravity=down)
    assert off(change, (d.q @ c[..., None])[..., 0] + d.gravity @ down) < 1e-10
    with pytest.raises(ArgumentError, match="out: expected an array for each of value, change"):
        push(q, v, tau, **along, out={"value": out["value"]})
    with pytest.raises(ArgumentError, match="passive: expected a verb by its name"):
        hinge.vjp(qd + qd, ARM, passive=True)


def test_second_derivatives_with_loads():
    q, v, tau, c = state(ARM, 3)
    loads = {"external": {ARM.bodies[-1].name: np.arange(6.0)}, "gravity": np.array([0.5, -1.0, -4.0])}
    found = hinge.second_derivatives(
        "inverse_dynamics", ARM, q, v, tau, c=c, wrt=("q", "gravity"), passive=True, **loads
    )

    def gradient(x=q, **more):
        d = hinge.inverse_dynamics_derivatives(ARM, x, v, tau, passive=True, **{**loads, **more})
        return c @ d.q

    assert off(found["q", "q"], by_q(ARM, gradient, q)) < BOUND
    assert off(found["q", "gravity"], by_vector(lambda x: gravity_of(gradient, x), loads["gravity"])) < BOUND
    assert off(found["gravity", "q"], found["q", "gravity"].T) < 1e-10
    assert found["gravity", "gravity"].shape == (3, 3)


def gravity_of(f, x):
    return f(gravity=x)


def test_gradients_at_given_numbers():
    q, v, _, _ = state(ARM, 4)
    rows = 1.5 * hinge.inertial_parameters(ARM)
    heavier = hinge.with_parameters(ARM, inertias=rows)
    for by in ("q", "inertias"):
        f = hinge.gradient("kinetic_energy", ARM, by, parameters=["inertias"])
        given = {"inertias": rows} if f.takes("inertias") else {}
        assert off(f(q, v, **given), hinge.gradient("kinetic_energy", heavier, by)(q, v)) < 1e-12


def test_arrays_for_the_results_of_other_verbs():
    q, v, tau, _ = state(ARM, 5, (2,))
    for f in (
        lambda **o: hinge.linearize(ARM, q, v, tau, 1e-3, **o),
        lambda **o: hinge.integrate_derivatives(ARM, q, v, **o),
        lambda **o: hinge.difference_derivatives(ARM, q, q[::-1], **o),
    ):
        found = f()
        out = tuple(np.empty_like(x) for x in found)
        again = f(out=out)
        assert all(x is y for x, y in zip(again, out, strict=True))
        assert all(np.array_equal(x, y) for x, y in zip(found, out, strict=True))
        with pytest.raises(ArgumentError, match="out: expected a tuple of 2 arrays, got ndarray"):
            f(out=out[0])
        with pytest.raises(ArgumentError, match="out: expected arrays of their own"):
            f(out=(out[0], out[0]) if out[0].shape == out[1].shape else (out[0], out[0][..., :2]))
    loop = hinge.robots.four_bar()
    start = hinge.assemble(loop, hinge.neutral(loop)).q
    found = hinge.closed_dynamics_derivatives(loop, start, 0 * start, 0 * start)
    out = {n: np.empty_like(x) for n, x in vars(found).items()}
    again = hinge.closed_dynamics_derivatives(loop, start, 0 * start, 0 * start, out=out)
    assert again.forces_q is out["forces_q"] and np.array_equal(found.forces_q, again.forces_q)
    for n, symbols in (("christoffel_symbols", (q,)), ("coriolis_matrix", (q, v))):
        wanted = getattr(hinge, n)(ARM, *symbols)
        to = np.empty_like(wanted)
        assert getattr(hinge, n)(ARM, *symbols, out=to) is to
        assert np.array_equal(to, wanted)


# Code of a user's own.

#: A vector and an operator of the user's, given with each call.
U, GAIN = leaf("u", Joint, One), leaf("gain", Joint, Joint, Structure.DIAGONAL, self_adjoint=True)


@pytest.fixture(scope="module")
def own():
    """A robot with joint types that no file of the package knows."""
    return with_types(hinge.robots.random_tree(4, 2), OWN)


def blocks(robot):
    """Return symmetric blocks at the joints."""
    sizes = [j.nv for j in robot.joints]
    at = np.repeat(np.arange(len(sizes)), sizes)
    return np.equal.outer(at, at) * (np.eye(robot.nv) + 0.1)


def test_own_letters_in_vectors(own):
    """A vector and an operator of the user's own are arrays of the call; the gradient is by the vector."""
    q, v, u, c = state(own, 6)
    gain = blocks(own)
    e = mass.inv() @ (GAIN @ U - H @ phi @ M @ phi.T @ H.T @ qd)
    pull, push = hinge.vjp(e, own), hinge.jvp(e, own, ["q", "u"])
    assert pull.arrays == ["qd", "u", "gain"] and pull.wrt == ("q", "qd", "u")
    value, by = pull(q, v, u, gain, c)

    def wanted(x=q, rates=v, given=u):
        return hinge.mass_solve(own, x, gain @ given) - rates

    assert off(value, wanted()) < 1e-12
    assert off(by["q"], by_q(own, lambda x: c @ wanted(x), q)) < BOUND
    assert off(by["qd"], -c) < 1e-12
    assert off(by["u"], by_vector(lambda x: c @ wanted(given=x), u)) < BOUND
    _, change = push(q, v, u, gain, d_q=v, d_u=c)
    assert abs(c @ change - (by["q"] @ v + by["u"] @ c)) < 1e-10
    out = {"value": np.empty_like(value), **{n: np.empty_like(x) for n, x in by.items()}}
    assert pull(q, v, u, gain, c, out=out)[1]["u"] is out["u"] and np.array_equal(out["q"], by["q"])
    single = pull(*(x.astype(np.float32) for x in (q, v, u, gain, c)))[1]["q"]
    assert single.dtype == np.float32 and off(single.astype(float), by["q"]) < 1e-3
    two = pull(np.stack([q, q]), v, np.stack([u, v]), gain, c)[1]["q"]
    assert np.array_equal(two[0], by["q"]) and two.shape == (2, own.nv)


def test_own_numbers(own):
    q, v, u, _ = state(own, 8)
    s, gain = U.T @ mass @ U / 2 + logdet(mass) + U.T @ GAIN @ qd, blocks(own)
    f = hinge.compile({"s": s}, own)
    found = hinge.gradient(s, own)(q, u=u)
    assert off(found, by_q(own, lambda x: f(x, v, u=u, gain=gain), q)) < BOUND
    found = hinge.gradient(s, own, "qd")(q, u=u, gain=gain)
    assert off(found, gain @ u) < 1e-12


@pytest.mark.slow
def test_own_law_on_own_joints(own):
    """A law with a pull of its own, on joints whose types are the user's."""

    class Damper:
        def __call__(self, t, q, qd):
            return -0.3 * qd**3

        def pull(self, t, q, qd, c):
            return 0.0 * qd, -0.9 * qd**2 * c

    q, v, tau, c = state(own, 7)
    roll = hinge.Rollout(own, dt=2e-3, steps=4, integrator="rk4", control=Damper())
    forces = np.stack([tau] * 4)
    end = roll(q, v, tau=forces)
    by = roll.pull(q, v, tau=forces, q=c, qd=u_of(c), wrt=("q", "qd", "tau", "inertias"))

    def value(x=q, rates=v, given=forces):
        there = roll(x, rates, tau=given)
        return c @ hinge.difference(own, end.q, there.q) + u_of(c) @ there.qd

    assert off(by["q"], by_q(own, value, q, 1e-3)) < 1e-7
    assert off(by["qd"], by_vector(lambda x: value(rates=x), v, 1e-3)) < 1e-7
    wanted = by_vector(lambda x: value(given=x.reshape(forces.shape)), forces.ravel(), 1e-2)
    assert off(by["tau"].ravel(), wanted) < 1e-7


def u_of(c):
    return c[::-1].copy()
