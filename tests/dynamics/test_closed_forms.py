from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hinge.algebra import Ac, Bc, Constraint, H, Joint, M, a, gamma, phi, s_c, tau
from hinge.dynamics import CLOSED_DYNAMICS, CLOSURE_FORCES, CROSS_INERTIAS, PROJECTED_DYNAMICS
from hinge.dynamics.closed_forms import closure_bias, closure_compliance, closure_jacobian, projection
from hinge.dynamics.expressions import coriolis, mass
from hinge.pipeline import prove
from hinge.pipeline.derivations import as_given, derive
from hinge.targets import random_system
from tests.folding import folded

FREE = mass.inv() @ (tau - coriolis)
QDD = FREE + mass.inv() @ closure_jacobian.T @ CLOSURE_FORCES
FORMS = {**CLOSED_DYNAMICS, "projected": PROJECTED_DYNAMICS, "by forces": QDD}
#: Dense solves of each form as it stands: of Ω, and of 𝓜 where no factors are written.
SOLVES = {"3.6": 3, "RCCFD1": 1, "RCCFD2": 1, "RCCFD3": 1, "projected": 3, "by forces": 3}
SYSTEMS = [
    random_system((-1, 0, 0, 1, 1, -1), 3, (6, 1, 2, 3, 1, 2)),
    random_system((-1, 0, 1, 2, 3), 2, (3, 2, 3, 1, 2)),
    random_system((-1, -1, 0, 1, 2, 3), 6, (3, 3, 2, 2, 1, 1)),
]


@pytest.mark.parametrize("pair", list(combinations(FORMS, 2)), ids=" is ".join)
def test_the_published_forms_are_equal(pair):
    one, other = (FORMS[name] for name in pair)
    proof = prove(one, other)
    assert proof and proof.decision.check(), str(proof)


@folded(name=tuple(FORMS), system=range(len(SYSTEMS)))
def test_a_form_solves_the_equations_with_multipliers(name, system):
    x = SYSTEMS[system]
    m, j = x.matrix(mass), x.matrix(closure_jacobian)
    rows = x.length(Constraint)
    assert rows and x.length(Joint) > rows
    whole = np.block([[m, -j.T], [j, np.zeros((rows, rows))]])
    right = np.vstack([x.matrix(tau - coriolis), -x.matrix(closure_bias)])
    qdd, forces = np.split(np.linalg.solve(whole, right), [len(m)])
    np.testing.assert_allclose(x.matrix(FORMS[name]), qdd, atol=1e-9 * np.abs(qdd).max())
    np.testing.assert_allclose(x.matrix(CLOSURE_FORCES), forces, atol=1e-9 * np.abs(forces).max())


def test_closures_hold():
    ends = Bc.T @ phi.T @ (H.T @ QDD + a) + s_c
    assert prove(Ac @ ends + gamma, 0 * gamma)
    assert prove(mass @ QDD + coriolis, tau + closure_jacobian.T @ CLOSURE_FORCES)


def test_the_projection_and_cross_inertias():
    assert prove(projection @ projection, projection)
    assert prove(projection @ mass @ QDD, projection @ (tau - coriolis))
    assert prove(Ac @ CROSS_INERTIAS @ Ac.T, closure_compliance)
    for x in SYSTEMS:
        cross = x.matrix(CROSS_INERTIAS)
        np.testing.assert_allclose(cross, cross.T, atol=1e-12)
        assert np.linalg.eigvalsh(cross).min() > -1e-12


def test_an_object_on_a_free_joint_gives_the_compliance_of_the_paper():
    x = random_system((-1, 0, 1, -1), 1, (2, 3, 2, 6), (6, 6, 6, 6))  # an arm of three bodies, and an object
    arm, held = slice(0, 18), slice(18, 24)
    rng = np.random.default_rng(2)
    shifts = np.zeros((24, 12))
    shifts[12:18, :6], shifts[held, 6:] = rng.normal(size=(2, 6, 6))
    rows = np.hstack([np.eye(6), -np.eye(6)])
    jacobian = rows @ shifts.T @ x.matrix(phi).T @ x.matrix(H).T
    found = jacobian @ np.linalg.inv(x.matrix(mass)) @ jacobian.T
    tip = shifts[arm, :6].T @ x.matrix(phi)[arm, arm].T @ x.matrix(H)[:7, arm].T
    part = tip @ np.linalg.inv(x.matrix(mass)[:7, :7]) @ tip.T
    shift = shifts[held, 6:].T
    np.testing.assert_allclose(found, part + shift @ np.linalg.inv(x.matrix(M)[held, held]) @ shift.T)


@pytest.mark.parametrize("name", FORMS)
def test_what_a_form_costs(name):
    cost = as_given({"qdd": FORMS[name]}).cost
    print(f"{name:10} {cost}")
    assert cost.solves == SOLVES[name] and cost.quadratic == 0


def test_what_is_derived_is_cheaper_than_what_is_published():
    best = derive({"qdd": QDD}).cost
    assert best < min(as_given({"qdd": e}).cost for e in FORMS.values())


def test_cross_inertias_need_no_dense_solve():
    found = derive({"inertias": CROSS_INERTIAS})
    assert (found.cost.solves, found.program.shape) == (0, "G S")
