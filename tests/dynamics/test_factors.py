"""Factors of the mass matrix, the filter and the smoother, the loads of hinges."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import hinge
from hinge import dynamics, reference, robots
from hinge.algebra import (
    E0,
    B,
    D,
    Di,
    Dr,
    Dri,
    E,
    G,
    H,
    K,
    M,
    Mi,
    P,
    Ups,
    a,
    b,
    f_ext,
    g,
    logdet,
    phi,
    psi,
    tau,
)
from hinge.binding import Needs, bind
from hinge.dynamics import CATALOGUE, SEVERAL
from hinge.dynamics.expressions import costates, innovate, smoothed, whiten
from hinge.errors import ArgumentError, ModelError
from hinge.model import Builder, actuator_effort, joints
from hinge.pipeline import depends_on_origins, prove
from hinge.targets import system_of
from hinge.testing import random_state
from tests.dynamics.sweep_factors import BOUND, DEVIATIONS, covariance, errors
from tests.dynamics.sweep_fuzz import target
from tests.dynamics.zoo import robot_of
from tests.expressions import MASS, ONE

ROOT = innovate @ Dr
ACCELERATIONS = MASS.inv() @ (tau - CATALOGUE["bias_force"])
TREE = robots.random_tree(3, 35)
VERBS = {"mass_times": 1, "mass_solve": 1, "quasi_velocities": 1, "from_quasi_velocities": 1}
MATRICES = ("mass_root", "mass_root_inverse", "log_determinant")


# The algebra.


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (ROOT @ ROOT.T, MASS),
        ((Dri @ whiten).T @ Dri @ whiten, MASS.inv()),
        (Dri @ whiten @ ROOT, ONE),
        (Dr.inv(), Dri),
        (Dri.T @ Dri, Di),
        (logdet(MASS), logdet(D)),
        (costates, phi.T @ (H.T @ ACCELERATIONS + a + E0.T @ g)),
        (smoothed, phi @ (M @ costates + b - B @ f_ext)),
    ],
    ids=str,
)
def test_identities_are_proved(left, right):
    assert prove(left, right)


def test_the_closed_form_of_the_inverse_is_proved_on_chains():
    c, d = (SEVERAL["filter_quantities"].blocks[n] for n in "cd")
    off = d @ psi @ K
    assert prove(Mi, c + off + off.T)


def test_expressions_that_depend_on_origins():
    assert depends_on_origins(H @ phi @ b) and depends_on_origins(MASS.inv() @ H @ phi @ M @ phi.T @ a)
    assert not depends_on_origins(H @ phi @ (M @ phi.T @ a + b)) and not depends_on_origins(MASS @ tau)
    robot = robot_of("framed")
    s = random_state(robot, 2)
    wanted = system_of(bind(robot, Needs(own_frames=True)), {"q": s.q, "qd": s.qd}).evaluate(H @ phi @ b)
    assert np.allclose(hinge.compile(H @ phi @ b, robot)(s.q, s.qd), wanted, atol=1e-12)


# Values.


@pytest.mark.parametrize("name", ["framed", "nothing_moves"])
def test_values_are_the_matrices(name):
    with target("numpy"):
        found = errors(robot_of(name), pushed=True)
    assert max(found.values()) < BOUND, found


def test_native_values_are_the_matrices():
    found = errors(TREE)
    assert max(found.values()) < BOUND, found


@pytest.mark.parametrize("shape", [(5,), (3, 4), (0,)])
def test_batches_give_what_single_states_give(shape):
    s = random_state(TREE, 3, shape)
    for verb in (*VERBS, *MATRICES):
        arrays = [s.q, s.qd][: 1 + VERBS.get(verb, 0)]
        call = getattr(dynamics, verb)
        found = call(TREE, *arrays)
        assert found.shape[: len(shape)] == shape
        for k in np.ndindex(*shape):
            assert np.allclose(found[k], call(TREE, *(x[k] for x in arrays)), rtol=1e-10, atol=1e-10)
    parts = {
        "mass_factors": (s.q,),
        "filter_quantities": (s.q, s.qd, s.tau),
        "acceleration_shares": (s.q, s.qd, s.tau),
        "hinge_forces": (s.q, s.qd, s.qdd),
    }
    for verb, arrays in parts.items():
        whole_ = getattr(dynamics, verb)(TREE, *arrays)
        for k in list(np.ndindex(*shape))[:2]:
            one = getattr(dynamics, verb)(TREE, *(x[k] for x in arrays))
            for f in fields(one):
                theirs = getattr(one, f.name)
                assert np.allclose(getattr(whole_, f.name)[k], theirs, rtol=1e-9, atol=1e-9), f.name
        for f in fields(whole_):
            assert getattr(whole_, f.name).shape[: len(shape)] == shape


def test_several_vectors_at_one_configuration():
    s, m = random_state(TREE, 4), reference.mass_matrix(TREE, random_state(TREE, 4).q)
    x = np.random.default_rng(1).standard_normal((7, TREE.nv))
    assert np.allclose(dynamics.mass_times(TREE, s.q, x), x @ m)
    assert np.allclose(dynamics.mass_solve(TREE, s.q, dynamics.mass_times(TREE, s.q, x)), x)
    out = np.empty((7, TREE.nv))
    assert dynamics.mass_times(TREE, s.q, x, out=out) is out and np.allclose(out, x @ m)


def test_the_diagonal_has_blocks_and_the_factors_ones():
    f = dynamics.mass_factors(TREE, random_state(TREE, 4).q)
    beside = np.ones((TREE.nv, TREE.nv), dtype=bool)
    for j in TREE.joints:
        beside[j.qd_slice, j.qd_slice] = False
    assert not f.diagonal[beside].any()
    for x in (f.factor, f.inverse):
        assert np.allclose(np.tril(x), np.eye(TREE.nv), rtol=0, atol=1e-12)


def test_the_closed_form_holds_for_carried_joints_on_trees():
    s = random_state(TREE, 4)
    f = dynamics.filter_quantities(TREE, s.q, s.qd, s.tau)
    system = system_of(bind(TREE, Needs(own_frames=True)), {"q": s.q})
    off = system.matrix((K.T @ Ups @ (E - K @ H) - Di @ H) @ psi @ K)
    inverse = np.linalg.inv(reference.mass_matrix(TREE, s.q))
    for i, j in enumerate(TREE.joints):
        assert np.allclose(f.c[j.qd_slice, j.qd_slice], inverse[j.qd_slice, j.qd_slice], atol=1e-9)
        for k in TREE.tree.support(i):
            if k != i:
                at = TREE.joints[k].qd_slice, j.qd_slice
                assert np.allclose(off[at], inverse[at], atol=1e-9)


def test_the_filter_and_the_shares_give_forward_dynamics():
    s = random_state(TREE, 5, 3)
    qdd = dynamics.forward_dynamics(TREE, s.q, s.qd, s.tau)
    assert np.allclose(dynamics.filter_quantities(TREE, s.q, s.qd, s.tau).qdd, qdd, atol=1e-8)
    assert np.allclose(dynamics.acceleration_shares(TREE, s.q, s.qd, s.tau).qdd, qdd, atol=1e-8)


def test_samples_have_the_covariance_of_a_heat_bath():
    q = random_state(TREE, 6).q
    assert covariance(TREE, q, 0.7) < DEVIATIONS
    one, other = (dynamics.sample_velocities(TREE, q, 0.7, seed=3, size=(2, 4)) for _ in range(2))
    assert one.shape == (2, 4, TREE.nv) and np.array_equal(one, other)
    energy = dynamics.kinetic_energy(TREE, q, dynamics.sample_velocities(TREE, q, 2.0, seed=1, size=4000))
    assert abs(energy.mean() / TREE.nv - 1.0) < 5 * np.sqrt(2 / (4000 * TREE.nv))
    many = random_state(TREE, 6, 5).q
    assert dynamics.sample_velocities(TREE, many, 1.0, seed=np.random.default_rng(2)).shape == (5, TREE.nv)
    assert not dynamics.sample_velocities(TREE, q, 0.0).any()


# Loads.


def test_forces_are_split_as_the_book_splits_them():
    s = random_state(TREE, 7)
    found = dynamics.hinge_forces(TREE, s.q, s.qd, s.qdd)
    tau_ = dynamics.inverse_dynamics(TREE, s.q, s.qd, s.qdd)
    for k, j in enumerate(TREE.joints):
        own = s.q[j.q_slice]
        at_joint = j.type.subspace(own).T @ found.total[k] + j.reflected_inertia * s.qdd[j.qd_slice]
        assert np.allclose(at_joint, tau_[j.qd_slice], atol=1e-9)
        effort = actuator_effort(j, own, j.outer.inv().force(found.total[k]))
        assert np.allclose(j.type.subspace(own).T @ found.effort[k], j.type.subspace(own).T @ found.total[k])
        assert effort.shape == (j.nv,)


def test_an_effort_subspace_of_its_own_moves_loads_to_the_bearings():
    b_ = Builder("arm")
    push = np.array([[0.0], [0], [1], [0], [2.0], [0]])
    arm = robots.solid_rod(1.0, 0.5, 0.02, (0.25, 0, 0))
    b_.body("arm", joint=joints.Revolute((0, 0, 1)), inertia=arm, effort_subspace=push)
    robot = b_.build()
    found = dynamics.hinge_forces(robot, [0.3], [0.2], [1.0])
    assert np.allclose(found.effort, found.total[..., 2:3] * push[:, 0])
    assert np.allclose(found.effort + found.reaction, found.total)


def test_a_state_that_is_not_finite_stays_its_own():
    s = random_state(TREE, 8, 3)
    q = s.q.copy()
    q[1] = np.nan
    found = dynamics.hinge_forces(TREE, q, s.qd, s.qdd)
    alone = dynamics.hinge_forces(TREE, s.q[0], s.qd[0], s.qdd[0])
    assert np.isnan(found.total[1]).any() and np.allclose(found.reaction[0], alone.reaction)


def test_a_joint_that_is_not_powered_is_named():
    b_ = Builder("stuck")
    kind = joints.Revolute((0, 0, 1))
    b_.body("arm", joint=kind, inertia=robots.solid_rod(1.0, 0.5, 0.02), effort_subspace=np.eye(6)[:, :1])
    with pytest.raises(ModelError, match="not properly powered"):
        dynamics.hinge_forces(b_.build(), [0.0], [0.0], [0.0])


# Errors.


def test_errors_name_what_was_wrong():
    s = random_state(TREE, 1)
    with pytest.raises(ArgumentError, match="x: "):
        dynamics.mass_times(TREE, s.q, np.zeros(TREE.nv + 1))
    with pytest.raises(ArgumentError, match=r"expected either .*, got neither"):
        dynamics.hinge_forces(TREE, s.q, s.qd)
    with pytest.raises(ArgumentError, match=r"expected either .*, got both"):
        dynamics.hinge_forces(TREE, s.q, s.qd, s.qdd, tau=s.tau)
    for kT in (-1.0, np.nan, "hot", None):
        with pytest.raises(ArgumentError, match="kT: "):
            dynamics.sample_velocities(TREE, s.q, kT)
    for size in (-1, (2, -3), 1.5, "many"):
        with pytest.raises(ArgumentError, match="size: "):
            dynamics.sample_velocities(TREE, s.q, 1.0, size=size)
    with pytest.raises(ArgumentError, match="seed: "):
        dynamics.sample_velocities(TREE, s.q, 1.0, seed="red")
    with pytest.raises(ArgumentError, match="robot: "):
        dynamics.filter_quantities(3, s.q, s.qd, s.tau)


def test_blocks_beside_expressions():
    s = random_state(TREE, 2)
    f = hinge.compile({"tau": D @ tau}, TREE, blocks={"P": P, "G": G, "H": H}, target="numpy")
    found = f(s.q, tau=s.tau)
    n = len(TREE.bodies)
    assert found["P"].shape == (n, 6, 6) and found["G"].shape == (6, TREE.nv)
    assert found["H"].shape == (TREE.nv, 6)
    for blocks, said in (
        ({"tau": P}, "identifier"),
        ({"x": phi}, "expected block-diagonal letters"),
        ({"x": tau}, "between Body and Joint"),
        ({"x": 3}, "expected an expression, got int"),
        (P, "expected a dict"),
    ):
        with pytest.raises(ArgumentError, match=said):
            hinge.compile({"tau": D @ tau}, TREE, blocks=blocks)
