"""The gradient of log det 𝓜 as an expression: by differences, by its trace, with other terms and options."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.algebra import (
    D,
    Di,
    H,
    Joint,
    M,
    Mi,
    One,
    P,
    kappa,
    leaves,
    letters_of,
    logdet,
    passive,
    phi,
    qd,
    whole,
    zero,
)
from hinge.algebra import q as configuration
from hinge.algebra import x as vector
from hinge.dynamics.expressions import mass
from hinge.model import embed_couplings
from hinge.targets import system_of
from tests.dynamics.coupled import random_coupled
from tests.dynamics.differences import by_q, by_vector, off
from tests.dynamics.passives import with_physics
from tests.dynamics.test_numbers import KINDS, numbers_of
from tests.sweeps.models import every_joint_type
from tests.tiers import daily

BOUND = 1e-8
ROBOTS = {
    "every joint": lambda: every_joint_type(0).robot,
    "coupled": lambda: embed_couplings(random_coupled(6, 0)),
    "a loop": lambda: hinge.embed_loops(hinge.robots.four_bar()),
    "floating": hinge.robots.quadruped,
    "rotors": lambda: with_physics(hinge.robots.random_tree(6, 3, KINDS), 3),
}
D_LOG = hinge.derivative(logdet(mass), "q")


@pytest.mark.parametrize("name", daily(ROBOTS, lambda k, _: k < 2))
def test_by_q(name):
    robot = ROBOTS[name]()
    q = hinge.random_configuration(robot, 1)
    found = hinge.log_determinant_gradient(robot, q)
    assert off(found, by_q(robot, lambda x: hinge.log_determinant(robot, x), q, at_once=True)) < BOUND
    rates = hinge.mass_matrix_derivatives(robot, q)
    assert off(found, np.einsum("ij,ijk->k", hinge.mass_matrix_inverse(robot, q), rates)) < 1e-11


@pytest.mark.parametrize("by", ["inertias", "placements", "rotors"])
def test_by_numbers_of_the_model(by):
    robot = ROBOTS["rotors"]()
    q = hinge.random_configuration(robot, 2)
    f = hinge.compile("log_determinant", robot, parameters=[by])
    start, made = numbers_of(robot)[by]
    wanted = by_vector(lambda x: f(q, **{by: made(x)}), start, 1e-3, at_once=True)
    found = hinge.gradient("log_determinant", robot, by)(q)
    assert off(found.reshape(wanted.shape), wanted) < BOUND


@pytest.mark.slow
@pytest.mark.parametrize("by", ["inertias", "placements"])
def test_by_numbers_of_coupled_joints(by):
    robot = ROBOTS["coupled"]()
    q = hinge.random_configuration(robot, 2)
    start, made = numbers_of(robot)[by]

    def value(every):
        return [float(hinge.log_determinant(hinge.with_parameters(robot, **{by: made(d)}), q)) for d in every]

    found = hinge.gradient("log_determinant", robot, by)(q)
    wanted = by_vector(value, start, 1e-3, at_once=True)
    assert off(found.ravel(), wanted) < BOUND


def test_beside_other_terms_and_along_rates():
    robot = hinge.robots.panda()
    rng = np.random.default_rng(3)
    q, rates = hinge.random_configuration(robot, rng, 3), rng.standard_normal((3, robot.nv))
    e = logdet(mass) / 2 + qd.T @ mass @ qd / 2
    found = hinge.gradient(e, robot)(q, rates)
    half = hinge.log_determinant_gradient(robot, q) / 2
    assert off(found, half + hinge.gradient("kinetic_energy", robot)(q, rates)) < 1e-12
    along = hinge.compile({"y": hinge.derivative(e, "q", along=vector)}, robot)(q, rates, x=rates)
    assert off(along, (found * rates).sum(-1)) < 1e-12


def test_batches_single_precision_and_out():
    robot = hinge.robots.panda()
    q = hinge.random_configuration(robot, 4, 5)
    f = hinge.gradient("log_determinant", robot)
    found, out = f(q), np.zeros((5, robot.nv))
    np.testing.assert_array_equal(found[2], f(q[2]))
    assert f(q, out=out) is out
    np.testing.assert_array_equal(out, found)
    single = f(q.astype(np.float32))
    assert single.dtype == np.float32
    assert off(single.astype(float), found) < 1e-5


def test_the_algorithm_is_printed_and_the_expression_comes_back():
    assert eval(repr(D_LOG), vars(hinge.algebra)) is D_LOG
    shown = str(hinge.derive(D_LOG))
    assert "sweep 2, base to tip" in shown and "sweep 3" not in shown
    assert "Υ(k)" in shown and "times cross products" in shown
    for by in ("inertias", "placements", "rotors"):
        e = hinge.derivative(logdet(mass), by)
        assert eval(repr(e), vars(hinge.algebra)) is e


def test_explicit_matrices_judge_it():
    robot = hinge.robots.random_tree(4, 5)
    q = hinge.random_configuration(robot, 5)
    f = hinge.compile({"y": D_LOG.T}, robot)
    own = [x for x in letters_of([D_LOG]) if x.origin is not None]
    dense = system_of(f.binding, {"q": q}, own).evaluate(D_LOG.T)
    order = [k for i in range(len(f.binding.tree.parents)) for k in f.binding.positions(Joint, i)]
    assert off(f(q)[order], dense) < 1e-10


def test_in_other_words():
    assert hinge.derivative(logdet(whole.D), "q") is D_LOG
    assert hinge.derivative(logdet(H @ (phi @ M @ phi.T) @ H.T), "q") is D_LOG
    for e in (logdet(mass.inv()), logdet(Mi), logdet(Di)):
        assert hinge.derivative(e, configuration) is -D_LOG
    assert hinge.derivative(logdet(D @ Di), "q") is zero(One, Joint)
    for e, by in ((logdet(M), "q"), (logdet(mass), "qd"), (logdet(mass), "friction"), (D_LOG.T, "qd")):
        assert not leaves(hinge.derivative(e, by))


REFUSED = {
    "supported for that of the mass matrix": [logdet(P), logdet(passive.mass), logdet(whole.mass + kappa)],
    "second derivatives of log det": [D_LOG.T],
}


@pytest.mark.parametrize("message", REFUSED)
@pytest.mark.parametrize("by", ["q", "inertias", "placements"])
def test_refusals(message, by):
    for e in REFUSED[message]:
        with pytest.raises(NotImplementedError, match=f"{message}.*take differences"):
            hinge.derivative(e, by)
