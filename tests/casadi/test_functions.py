"""CasADi's functions are the native target's, their Jacobians `forward_dynamics_derivatives` and `vjp`."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import hinge
import hinge.casadi as homes
from hinge.algebra import H, M, phi, qd
from hinge.errors import ArgumentError, MissingExtraError
from hinge.targets import TARGETS
from tests.dynamics.zoo import REAL
from tests.export.test_casadi_interface import by_coordinates
from tests.sweeps.models import every_joint_type, without_rolling
from tests.tiers import daily

ca = pytest.importorskip("casadi")


ROBOTS = {
    "pendulum": hinge.robots.double_pendulum,
    "panda": hinge.robots.panda,
    "quadruped": hinge.robots.quadruped,
    **{name: REAL[name] for name in ("solo12", "talos") if name in REAL},
    "every joint": lambda: every_joint_type(0).robot,
    "no rolling": without_rolling,
    "four-bar": hinge.robots.four_bar,
    "stewart": hinge.robots.stewart_platform,
    "two arms": hinge.robots.two_pandas_with_plate,
    "delta": hinge.robots.delta,
}
some = pytest.mark.parametrize("name", daily(ROBOTS, lambda _, n: n in ("pendulum", "four-bar")))


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    q = hinge.random_configuration(robot, rng)
    if robot.closures:  # from far away not all of them close
        q = hinge.integrate(robot, hinge.neutral(robot), 0.2 * rng.standard_normal(robot.nv))
        q = hinge.assemble(robot, q).q
        assert np.abs(hinge.closure_error(robot, q)).max() < 1e-9
    return q, *rng.standard_normal((2, robot.nv))


def near(found, wanted, bound=1e-12):
    wanted = np.asarray(wanted)
    found = np.array(found).reshape(wanted.shape)
    assert np.abs(found - wanted).max(initial=0.0) <= bound * max(1.0, np.abs(wanted).max(initial=0.0))


@some
def test_values_are_those_of_the_native_target(name):
    robot = ROBOTS[name]()
    q, v, tau = state(robot)
    verbs = {"inverse_dynamics": (q, v, tau), "mass_matrix": (q,)}
    if robot.closures:
        f = homes.function("closed_dynamics", robot)
        wanted = hinge.closed_dynamics(robot, q, v, tau)
        near(f(q, v, tau)[0], wanted.qdd)
    else:
        verbs["forward_dynamics"] = (q, v, tau)
    for verb, args in verbs.items():
        compiled = hinge.compile(verb, robot)
        named = dict(zip(["q", *compiled.vectors], args, strict=True))
        f = homes.function(verb, robot, jacobian=False)
        assert list(f.name_in()) == list(named)
        near(f(*args), compiled(**named))


@some
def test_jacobians_are_our_derivatives(name):
    robot = ROBOTS[name]()
    if robot.closures:
        pytest.skip("CasADi differentiates closed robots: below")
    q, v, tau = state(robot, 1)
    f = homes.function("forward_dynamics", robot)
    d = hinge.forward_dynamics_derivatives(robot, q, v, tau)
    rolls = any(u.type.unrate(u.q_of(q), np.zeros(len(u.q))) is None for u in hinge.model.units(robot))
    if rolls:
        assert f.n_instructions() > 0  # CasADi differentiates
        return
    found = f.jacobian()(q, v, tau, 0)
    for x, wanted in zip(found, (by_coordinates(robot, q, d.q), d.qd, d.tau), strict=True):
        near(x, wanted, 1e-10)
    c = np.random.default_rng(2).standard_normal(robot.nv)
    grads = hinge.vjp("forward_dynamics", robot)(q, v, tau, c)[1]
    x = ca.MX.sym("x", robot.nv)
    slope = ca.Function("slope", [x], [ca.gradient(ca.dot(c, f(q, x, tau)), x)])
    near(slope(v), grads["qd"], 1e-10)


@pytest.mark.slow
def test_our_derivatives_are_those_that_casadi_finds():
    robot = hinge.robots.quadruped()
    q, v, tau = state(robot)
    own, theirs = (homes.function("inverse_dynamics", robot, jacobian=j).jacobian() for j in (True, False))
    rates = np.linalg.pinv(by_coordinates(robot, q, np.eye(robot.nv)))
    for k, (x, y) in enumerate(zip(own(q, v, tau, 0), theirs(q, v, tau, 0), strict=True)):
        turn = rates if k == 0 else np.eye(robot.nv)  # along quaternions the two differ: ours are zero
        near(np.array(x) @ turn, np.array(y) @ turn, 1e-11)
    assert own.n_instructions() < theirs.n_instructions() / 2


def test_zeros_are_structural():
    robot = hinge.robots.quadruped()
    M_ = homes.function("mass_matrix", robot)
    number = hinge.mass_matrix(robot, hinge.random_configuration(robot, 0))
    assert M_.sparsity_out(0).nnz() == np.count_nonzero(number) < robot.nv**2
    by_qdd = homes.function("inverse_dynamics", robot).jacobian().sparsity_out(2)
    assert by_qdd.nnz() == M_.sparsity_out(0).nnz()


def test_expressions_of_a_user_numbers_and_steps():
    robot = hinge.robots.double_pendulum()
    q, v, tau = state(robot)
    momentum = H @ phi @ M @ phi.T @ H.T @ qd
    f = homes.function({"momentum": momentum, "twice": 2 * momentum}, robot, name="both")
    found = f(q=q, qd=v)
    near(found["momentum_out"], hinge.mass_matrix(robot, q) @ v)
    near(found["twice_out"], 2 * hinge.mass_matrix(robot, q) @ v)
    alone = homes.function({"q": momentum}, robot)  # named as an input
    near(alone(q, v), hinge.mass_matrix(robot, q) @ v)
    near(alone.jacobian()(q, v, 0)[1], hinge.mass_matrix(robot, q))
    energy = homes.function("kinetic_energy", robot)
    near(energy.jacobian()(q, v, 0)[1], hinge.mass_matrix(robot, q) @ v)
    step = hinge.sim.step(robot, 1e-3)
    go = homes.function(step, robot)
    near(go(q, v, tau)[0], step(q, v, tau=tau)[0])
    compiled = hinge.compile("gravity_force", robot)
    near(homes.function(compiled, robot)(q), compiled(q))
    placed = homes.function("inverse_dynamics", robot, parameters=["placements"])
    assert "placements" in placed.name_in()


@pytest.mark.parametrize("seed", range(2))
def test_solves_that_exchange_rows(seed):
    """A dense solve of a matrix of the user's own, whose first pivot is zero."""
    from hinge.sweeps import Code, DenseCall, Result, Slot

    rng = np.random.default_rng(seed)
    n, slots = 4, iter(range(40))
    A, b, x = (
        np.array([[Slot(next(slots)) for _ in range(k)] for _ in range(n)], dtype=object) for k in (4, 1, 1)
    )
    given = {"A": tuple(y.index for y in A.flat), "b": tuple(y.index for y in b.flat)}
    code = Code((DenseCall(A, b, x, 0),), given, (Result("x", x[:, 0]),), 24)
    from hinge.casadi.graphs import evaluated

    symbols = {k: ca.SX.sym(k, len(v)) for k, v in given.items()}
    f = ca.Function("f", list(symbols.values()), evaluated(code, symbols))
    m = rng.standard_normal((n, n))
    m[0, 0] = m[1, 1] = 0.0
    y = rng.standard_normal(n)
    near(f(m.ravel(), y), np.linalg.solve(m, y), 1e-13)


def test_a_missing_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hinge\[casadi\]"'):
        homes.function("mass_matrix", hinge.robots.double_pendulum())


def test_the_room_does_not_load_casadi():
    script = "import sys, hinge, hinge.casadi; assert 'casadi' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: homes.function("mass_matrx", r), ArgumentError, "mass_matrix"),
        (lambda r: homes.function("mass_matrix", r, jacobian=True), ArgumentError, "expected a vector"),
        (lambda r: homes.function("mass_matrix", r, jacobian=1), ArgumentError, "jacobian: expected True"),
        (lambda r: homes.function("contact_step", r), ArgumentError, "law of contact"),
        (lambda r: homes.function("mass_matrix", r, name="a b"), ArgumentError, "what: expected a name"),
        (
            lambda r: homes.function("closed_dynamics", hinge.robots.four_bar(), jacobian=True),
            NotImplementedError,
            "closed_dynamics has no derivative",
        ),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(hinge.robots.double_pendulum())


def test_casadi_is_not_a_target():
    """What runs inside CasADi is no target of `compile`; that refuses it by listing its own."""
    assert "casadi" not in TARGETS
    with pytest.raises(ArgumentError, match="target: expected 'llvm' or 'numpy', got 'casadi'"):
        hinge.compile("mass_matrix", hinge.robots.double_pendulum(), target="casadi")
