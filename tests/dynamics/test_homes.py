"""Homes: values are the verbs', pushes are differences, pulls their adjoints, of any order."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.algebra import B, H, M, Q, phi
from hinge.algebra import qd as rates
from hinge.dynamics import expression, home
from hinge.errors import ArgumentError
from tests.dynamics.zoo import REAL
from tests.sweeps.models import every_joint_type, without_rolling
from tests.tiers import daily


def called(f, arrays):
    """Return the results of a home for arrays of one state, in their shapes."""
    found = f.executable({n: np.asarray(arrays[n]).reshape(-1) for n in f.inputs})
    return {n: np.asarray(found[n]).reshape(shape) for n, shape in f.results.items()}


def state(robot, seed=0):
    """Return numbers for all inputs of verbs."""
    rng = np.random.default_rng(seed)
    q = hinge.random_configuration(robot, rng)
    if robot.closures:
        q = hinge.assemble(robot, q).q
    v, u, dq = rng.standard_normal((3, robot.nv))
    found = {"q": q, "qd": v, "tau": u, "qdd": u, "dq": 0.1 * dq}
    found |= {"inertias": hinge.inertial_parameters(robot), "rotors": robot.reflected_inertia + 0.1}
    return found | {
        "placements": hinge.placement_parameters(robot),
        "friction": hinge.friction_parameters(robot) + 0.1,
    }


def obeys(f, arrays, h=1e-4, bound=1e-8):
    """Assert that pushes are differences of values, of fourth order, and pulls the adjoint of pushes."""
    rng = np.random.default_rng(3)
    given = {n: np.asarray(arrays[n]) for n in f.inputs}
    d = {n: rng.standard_normal(f.inputs[n]) for n in f.varying}
    c = {n: rng.standard_normal(f.results[n]) for n in f.moving}
    pushed = called(f.push(f.varying), {**given, **{f"d_{n}": x for n, x in d.items()}})
    pulled = called(f.pull(f.varying), {**given, **{f"c_{n}": x for n, x in c.items()}})

    def at(e):
        return called(f, {n: x + e * d[n] if n in d else x for n, x in given.items()})

    near = [at(e * h) for e in (1, -1, 2, -2)]
    for n in f.moving:
        a, b, p, m = (x[n] for x in near)
        wanted = (8 * (a - b) - (p - m)) / (12 * h)
        size = max(1.0, np.abs(wanted).max(initial=0.0))
        assert np.abs(pushed[n] - wanted).max(initial=0.0) <= bound * size, n
    forth = sum((c[n] * pushed[n]).sum() for n in f.moving)
    back = sum((pulled[f"by_{n}"] * d[n]).sum() for n in f.varying)
    size = sum(np.abs(c[n] * pushed[n]).sum() for n in f.moving)
    assert abs(forth - back) <= 1e-12 * max(1.0, size)


ROBOTS = {
    "pendulum": hinge.robots.double_pendulum,
    "panda": hinge.robots.panda,
    "no rolling": without_rolling,
    "quadruped": hinge.robots.quadruped,
    **{name: REAL[name] for name in ("solo12", "talos") if name in REAL},
    "four-bar": hinge.robots.four_bar,
    "stewart": hinge.robots.stewart_platform,
    "delta": hinge.robots.delta,
}
some = pytest.mark.parametrize("name", daily(ROBOTS, lambda _, n: n in ("pendulum", "four-bar")))


@some
@pytest.mark.parametrize("tangent", [False, True])
def test_verbs(name, tangent):
    robot = ROBOTS[name]()
    verbs = ["closed_dynamics"] if robot.closures else ["forward_dynamics", "kinetic_energy", "mass_matrix"]
    given = state(robot)
    if not tangent and not robot.closures:  # the values of the verbs
        found = called(home("forward_dynamics", robot), given)["forward_dynamics"]
        wanted = hinge.forward_dynamics(robot, *(given[n] for n in ("q", "qd", "tau")))
        assert np.abs(found - wanted).max() <= 1e-12 * max(1.0, np.abs(wanted).max())
    for verb in verbs:
        obeys(home(verb, robot, tangent=tangent), given)


def test_gradients_are_those_of_vjp():
    robot = without_rolling()
    given, c = state(robot), np.random.default_rng(1).standard_normal(robot.nv)
    pull = home("forward_dynamics", robot, tangent=True).pull(("dq", "qd", "tau"))
    found = called(pull, {**given, "dq": np.zeros(robot.nv), "c_forward_dynamics": c})
    _, wanted = hinge.vjp("forward_dynamics", robot)(*(given[n] for n in ("q", "qd", "tau")), c)
    for n, x in wanted.items():
        own = found["by_dq" if n == "q" else f"by_{n}"]
        assert np.abs(own - x).max() <= 1e-10 * max(1.0, np.abs(x).max())
    by_q = called(home("forward_dynamics", robot).pull(("q",)), {**given, "c_forward_dynamics": c})["by_q"]
    for u in hinge.model.units(robot):
        if u.type.has_quaternion:
            assert abs(by_q[list(u.q)][:4] @ given["q"][list(u.q)][:4]) < 1e-9  # zero along it
    # off the sphere the value is that of the unit quaternion
    f = home("forward_dynamics", robot)
    longer = given["q"].copy()
    for u in hinge.model.units(robot):
        if u.type.has_quaternion:
            longer[list(u.q)[:4]] *= 1.7
    one, other = (called(f, {**given, "q": x})["forward_dynamics"] for x in (given["q"], longer))
    assert np.allclose(one, other, rtol=1e-12)


def test_code_that_is_reversed_has_the_gradients_of_expressions():
    robot = hinge.robots.panda()
    given = state(robot)
    f = home("forward_dynamics", robot)
    other = home(hinge.compile("forward_dynamics", robot), robot)  # compiled: its code alone is known
    assert type(f) is not type(other)
    c = {"c_forward_dynamics": np.arange(7.0)}
    for name, x in called(f.pull(f.varying), {**given, **c}).items():
        y = called(other.pull(f.varying), {**given, **c})[name]
        assert np.abs(x - y).max() <= 1e-11 * max(1.0, np.abs(x).max())


@pytest.mark.slow
def test_numbers_of_the_model():
    robot = without_rolling()
    obeys(home("forward_dynamics", robot, parameters=["inertias", "placements", "rotors"]), state(robot))
    passive = expression("forward_dynamics", passive=True)
    obeys(home(passive, robot, parameters=["friction"]), state(robot), bound=1e-7)


def test_several_expressions_and_second_derivatives():
    robot = hinge.robots.quadruped()
    momentum = H @ phi @ M @ phi.T @ H.T @ rates
    several = {"p": momentum, "x": Q @ B.T @ phi.T @ H.T @ rates, "e": rates.T @ momentum}
    names = [robot.bodies[0].name, robot.bodies[-1].name]
    f = home(several, robot, nodes=names, expressed="world")
    assert f.results == {"p": (18,), "x": (2, 6), "e": ()}
    given = state(robot)
    obeys(f, given)
    rng = np.random.default_rng(5)
    pull = f.pull(("q",))
    obeys(pull, {**given, **{n: rng.standard_normal(s) for n, s in pull.inputs.items() if n[:2] == "c_"}})


@pytest.mark.parametrize("integrator", ["semi-implicit", "rk4"])
def test_steps(integrator):
    robot = hinge.robots.double_pendulum()
    step = hinge.sim.step(robot, integrator=integrator, passive=True)
    f = home(step, robot)
    assert set(f.varying) == {"q", "qd", "tau", "dt"}
    obeys(f, {**state(robot), "dt": np.array([1e-2])})


def test_passes_are_verified(monkeypatch):
    monkeypatch.setenv("HINGE_CHECK", "1")
    robot = hinge.robots.four_bar()
    f = home(hinge.sim.step(robot, 1e-2), robot)
    obeys(f, state(robot), bound=1e-6)


def test_what_is_refused():
    robot = hinge.robots.panda()
    f = home("forward_dynamics", robot)
    with pytest.raises(ArgumentError, match="by: expected names among q, qd, tau, got 'mass'"):
        f.pull(("mass",))
    with pytest.raises(ArgumentError, match="by: expected at least one of q, qd, tau, got none"):
        f.push(())
    with pytest.raises(ArgumentError, match="got that of 'double_pendulum'"):
        home(hinge.sim.step(hinge.robots.double_pendulum(), 1e-3), robot)
    rolls = every_joint_type(0).robot
    with pytest.raises(NotImplementedError, match="derivatives by coordinates are not supported for"):
        home("inverse_dynamics", rolls).pull(("q",)).executable.code  # noqa: B018
    obeys_in = home("inverse_dynamics", rolls).pull(("qd", "qdd"))
    assert obeys_in.executable.signature.results.keys() == {"by_qd", "by_qdd"}
    with pytest.raises(NotImplementedError, match="q ⊕ dq is not supported"):
        home("inverse_dynamics", rolls, tangent=True)
