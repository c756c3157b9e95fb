"""Derivations and proofs from end to end: what the papers derive by hand, found and checked."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from hinge import reference
from hinge.algebra import (
    Adjoint,
    B,
    Body,
    D,
    Di,
    E,
    Es,
    G,
    H,
    Ha,
    Hp,
    Joint,
    K,
    Leaf,
    M,
    Mi,
    Node,
    One,
    P,
    Ups,
    a,
    b,
    f_ext,
    identity,
    leaf,
    logdet,
    passive,
    phi,
    psi,
    qdd,
    qdd_a,
    tau,
    tau_p,
    whole,
    zero,
)
from hinge.binding import bind
from hinge.errors import ArgumentError, SpaceError
from hinge.pipeline import Compilation, as_given, build, derive, named, prove, written
from hinge.robots import chain
from hinge.rules import equation
from hinge.sweeps import trace
from hinge.targets import Traced, random_system

mass, node = whole.mass, B.T @ phi.T @ H.T
one, joint = identity(Body), identity(Joint)
w = joint - H @ psi @ K
free = tau - H @ phi @ (M @ phi.T @ a + b)
forward = mass.inv() @ free
compliance = node @ mass.inv() @ node.T
M_ap, M_aa = Ha @ phi @ M @ phi.T @ Hp.T, Ha @ phi @ M @ phi.T @ Ha.T
S_ap = M_ap @ passive.mass.inv()
S_aa = M_aa - S_ap @ M_ap.T
passive_bias = Hp @ phi @ (M @ phi.T @ a + b)

#: What is given and the stages that its derivation reaches.
GIVEN = {
    "forward dynamics": (forward, "S G S"),
    "compliance": (compliance, "G S"),
    "operational-space inertia": (compliance.inv(), "G S X"),
    "tip force correction": (mass.inv() @ node.T @ f_ext, "G S"),
    "spatial accelerations": (phi.T @ (H.T @ forward + a), "S G S"),
    "inter-body forces": (phi @ (M @ phi.T @ (H.T @ forward + a) + b), "S G S"),
    "inverse dynamics": (H @ phi @ (M @ phi.T @ (H.T @ qdd + a) + b), "S G"),
    "mass matrix": (mass, "G"),
    "inverse mass matrix": (mass.inv(), "G S"),
    "S_aa": (S_aa, "G S"),
    "S_ap": (S_ap, "G S"),
    "S_pp": (passive.mass.inv(), "G S"),
    "passive accelerations": (passive.mass.inv() @ (tau_p - passive_bias) - S_ap.T @ qdd_a, "S G S"),
    "log determinant": (logdet(mass), "G"),
    "log determinant of the inverse": (logdet(mass.inv()), "G"),
}
names = pytest.mark.parametrize("name", GIVEN)
SYSTEMS = [
    random_system((-1, 0, 0, 1, 1), 3, (6, 1, 2, 1, 3)),
    random_system((-1, 0, -1, 2, 2, 0), 5, (2, 1, 0, 3, 1, 1)),
]

#: One node on a free base: it can move in all ways.
ONE_NODE = next(
    x for seed in range(20) if (x := random_system((-1, 0, 1, 1), seed, (6, 1, 2, 1))).length(Node) == 6
)


@cache
def derived(name):
    return derive(GIVEN[name][0])


def in_full(derivation, e):
    """Return an expression with the letters for unknown inverses replaced by what they stand for."""
    for letter, argument in derivation.inverses.items():
        if letter.name.startswith("inverse_"):
            e = replaced(e, letter, argument.inv())
    return e


def replaced(e, letter, by):
    if e is letter:
        return by
    if isinstance(e, Leaf | Adjoint):
        return e
    if hasattr(e, "factors"):
        found = [replaced(f, letter, by) for f in e.factors]
        total = found[0]
        for f in found[1:]:
            total = total @ f
        return total
    return sum_of([c * replaced(t, letter, by) for c, t in e.terms]) if hasattr(e, "terms") else e


def sum_of(parts):
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    return total


# Derivations.


@names
def test_a_derivation_reaches_its_sweeps(name):
    found, shape = derived(name), GIVEN[name][1]
    assert found.program.shape == shape
    assert found.given == {"y": GIVEN[name][0]}
    if name != "operational-space inertia":
        assert found.cost.solves == 0


@names
def test_every_line_is_proved_equal_to_what_is_given(name):
    found = derived(name)
    for line in found.lines:
        (e,) = line.expressions.values()
        proof = prove(GIVEN[name][0], in_full(found, e))
        assert proof, str(proof)
        assert proof.decision.check()


@names
def test_every_line_is_equal_to_what_is_given_in_numbers(name):
    found = derived(name)
    for system in [ONE_NODE] if name == "operational-space inertia" else SYSTEMS:
        wanted = system.matrix(GIVEN[name][0])
        for line in found.lines:
            (e,) = line.expressions.values()
            got = system.matrix(in_full(found, e))
            np.testing.assert_allclose(got, wanted, atol=1e-8 * max(1.0, np.abs(wanted).max(initial=0.0)))


@names
def test_no_line_is_better_than_the_last(name):
    found = derived(name)
    costs = [line.cost for line in found.lines if line.cost is not None]
    assert not costs or min(costs) == costs[-1] == found.cost
    assert found.weighed >= len(found.lines)


def test_forward_dynamics_becomes_the_articulated_body_form():
    (form,) = derived("forward dynamics").expressions.values()
    nu = Di @ (tau - H @ psi @ (b + K @ tau + P @ a))
    atbi = nu - K.T @ psi.T @ (a + H.T @ nu)
    assert prove(form, atbi) and derive(atbi).lines[-1].cost == derived("forward dynamics").cost
    assert written("y", form) == [
        "y = ν − Kᵀ ψᵀ (a + Hᵀ ν)",
        "    ν = D⁻¹ (τ − H ψ (b + K τ + P a))",
    ]
    assert as_given(atbi).cost == derived("forward dynamics").cost


def test_the_compliance_is_reached_by_the_articulated_propagation():
    (form,) = derived("compliance").expressions.values()
    assert form is B.T @ psi.T @ H.T @ Di @ H @ psi @ B


def test_the_mass_matrix_is_reached_by_composite_bodies():
    (form,) = derived("mass matrix").expressions.values()
    assert "R" in str(form) and "M" not in str(form)


def test_log_determinants_are_sums_over_hinges():
    assert derived("log determinant").expressions == {"y": logdet(D)}
    assert derived("log determinant of the inverse").expressions == {"y": -logdet(D)}


def test_on_a_chain_the_compliance_is_a_recursion():
    found = derive(compliance, serial=True)
    assert found.holds_on == "serial chains"
    assert found.cost < derived("compliance").cost and found.cost.quadratic == 0
    (form,) = found.expressions.values()
    assert prove(compliance, form)
    system = random_system((-1, 0, 1, 2), 2, (6, 1, 2, 1))
    np.testing.assert_allclose(system.matrix(form), system.matrix(compliance), atol=1e-9)


def test_a_chain_is_not_dearer_than_a_tree():
    for name in ("compliance", "mass matrix", "inverse mass matrix", "tip force correction"):
        assert derive(GIVEN[name][0], serial=True).cost <= derived(name).cost


@pytest.mark.parametrize("name", ["S_pp", "S_ap"])
def test_a_chain_with_passive_hinges_is_not_dearer_than_a_tree(name):
    assert derive(GIVEN[name][0], serial=True).cost <= derived(name).cost


# The algorithms of JPL 88-11.

FD1 = w.T @ Di @ w @ free  # (4.17), (4.18)
FD2 = psi.T @ H.T @ Di @ w @ free + phi.T @ a  # (5.5), (5.6): body accelerations
FD3 = w.T @ Di @ (tau - H @ psi @ (K @ tau + M @ phi.T @ a + b))  # (5.8)–(5.10)
FD4_nu = Di @ w @ tau - Di @ H @ (psi - one) @ P @ a - Di @ H @ psi @ b
FD4 = w.T @ FD4_nu - K.T @ psi.T @ (one - G @ H).T @ a - G.T @ a  # (5.13)–(5.15)


@pytest.mark.parametrize("algorithm", [FD1, FD3, FD4], ids=["FD1", "FD3", "FD4"])
def test_the_algorithms_are_forward_dynamics(algorithm):
    proof = prove(forward, algorithm)
    assert proof and proof.decision.check()
    assert derive(algorithm).cost == derived("forward dynamics").cost
    for system in SYSTEMS:
        np.testing.assert_allclose(system.evaluate(algorithm), system.evaluate(forward), atol=1e-8)


def test_the_second_algorithm_gives_body_accelerations():
    assert prove(phi.T @ (H.T @ forward + a), FD2)
    assert prove(FD2, phi.T @ (H.T @ FD4 + a))
    assert not prove(forward, H @ FD2)


def test_the_derived_algorithm_is_the_cheapest():
    costs = [as_given(e).cost for e in (forward, FD1, FD3, FD4)]
    assert costs == sorted(costs, reverse=True) and len(set(costs)) == 4
    assert derived("forward dynamics").cost <= costs[-1]
    second = as_given(FD2).cost
    assert as_given(phi.T @ (H.T @ FD1 + a)).cost > second > derived("spatial accelerations").cost


# Proofs.


def test_a_proof_prints_as_a_proof():
    proof = prove(mass.inv(), w.T @ Di @ w)
    assert proof and proof.counterexample is None
    text = str(proof)
    assert text.startswith("(H φ M φᵀ Hᵀ)⁻¹ = (I − Kᵀ ψᵀ Hᵀ) D⁻¹ (I − H ψ K)\n  proved on trees, by\n")
    assert "definition of 𝓜⁻¹" in text


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (forward, FD1 + tau),
        (mass.inv(), Di),
        (phi @ M, M @ phi),
        (logdet(mass), 2 * logdet(D)),
        (compliance.inv(), compliance),
        (S_aa, M_aa),
    ],
    ids=str,
)
def test_a_false_equation_is_refuted_by_numbers(left, right):
    proof = prove(left, right)
    assert not proof
    found = proof.counterexample
    tree = f"parents {found.parents}, dofs {found.dofs}, widths {found.widths}, seed {found.seed}: "
    assert f"differs on a tree with {tree}" in str(proof)
    assert str(proof).splitlines()[1].startswith("  refuted: ")
    system = random_system(found.parents, found.seed, found.dofs, found.widths)
    gap = np.abs(system.matrix(left) - system.matrix(right)).max()
    assert gap == pytest.approx(abs(found.left - found.right))


def test_what_holds_on_chains_only_says_so():
    kernel = psi.T @ H.T @ Di @ H @ psi
    proof = prove(kernel, Ups @ psi + psi.T @ Ups - Ups)
    assert proof and "proved on serial chains" in str(proof)
    assert proof.decision.theory.holds_on == "serial chains"
    refuted = prove(kernel, Ups @ psi + psi.T @ Ups)
    assert refuted.counterexample.parents == tuple(range(-1, len(refuted.counterexample.parents) - 1))
    assert prove(kernel, psi.T @ H.T @ D.inv() @ H @ psi).decision.theory.holds_on == "trees"


def test_what_the_axioms_do_not_decide_is_not_called_false():
    nilpotent = prove(power(E, 6), zero(Body, Body))  # true of the trees tried, which have six bodies at most
    assert not nilpotent and nilpotent.counterexample is None
    assert "not a consequence of the axioms" in str(nilpotent)
    assert "but it holds in numbers on every random tree tried" in str(nilpotent)


def test_trees_that_cannot_judge_do_not_agree():
    assert "holds in numbers" not in str(prove(E.inv(), one))


def test_rounding_refutes_no_determinant():
    assert prove(logdet(phi.T), zero(One, One)).counterexample is None


def power(x, n):
    return x if n == 1 else x @ power(x, n - 1)


def test_proofs_with_axioms_of_your_own():
    x = leaf("X", Body, Body, self_adjoint=True)
    square = equation("X is a reflection", x @ x, one, "made up")
    assert prove(x @ x @ x, x, axioms=square)
    assert not prove(x @ x @ x, x)


def test_expressions_of_different_spaces_are_not_compared():
    with pytest.raises(SpaceError, match="equal operators share both spaces"):
        prove(H, M)


# What is said about a derivation.


def test_a_derivation_reads_from_what_is_given_to_the_sweeps():
    text = str(derived("forward dynamics"))
    assert text.startswith("given\n    y = ")
    steps = re.findall(r"^step (\d+): (.*)$", text, re.MULTILINE)
    assert [int(n) for n, _ in steps] == list(range(1, len(derived("forward dynamics").lines)))
    assert all("[" in name for _, name in steps)
    assert "cheapest of" in text and "as given: 1 dense solve" in text
    assert text.endswith("output y")


def test_what_is_cheapest_already_stays():
    found = derive(node)
    assert len(found.lines) == 1 and "taken as given" in found.reason()
    assert "cheapest of" in derived("log determinant").reason()


def test_inverses_without_closed_form_are_derived_first():
    found = derived("operational-space inertia")
    (inner,) = found.inner
    assert inner.given != found.given and inner.program.shape == "G S"
    assert str(found).index("inverse of the mass matrix") < str(found).index("sweep 1")


def test_names_of_outputs():
    assert named(tau) == {"y": tau}
    assert named([tau, qdd]) == {"y1": tau, "y2": qdd}
    assert named({"force": tau}) == {"force": tau}
    with pytest.raises(ArgumentError, match=r"name: expected a Python identifier.*, got 'q dd'"):
        named({"q dd": tau})
    with pytest.raises(ArgumentError, match=r"y2: expected an expression of hinge\.algebra, got int"):
        named([tau, 3])
    with pytest.raises(ArgumentError, match="expressions: expected at least one, got none"):
        derive([])


def test_derivations_are_remembered():
    assert derive(forward) is derive(mass.inv() @ free)
    assert derive({"x": forward}) is not derive(forward)


def test_written_names_common_terms():
    assert written("y", H @ phi @ b) == ["y = H φ b"]
    lines = written("y", FD1)
    assert lines[0].startswith("y = ") and all(line.startswith("    ") for line in lines[1:])
    assert written("y", logdet(D) - logdet(M)) == ["y = log det D − log det M"]


def test_a_derivation_is_built_for_a_robot():
    arm = chain(3)
    code = trace(derived("mass matrix").program, bind(arm))
    assert code.operations().total > 0
    found = build(Traced(code), target="numpy")({"q": np.zeros(arm.nq)})["y"]
    np.testing.assert_allclose(found, found.T)
    assert np.linalg.eigvalsh(found).min() > 0


def test_the_letters_of_the_papers_are_those_of_the_algebra():
    assert prove(Es, E - K @ H) and prove(Mi @ mass, joint)


def test_the_passes_of_the_compiler_run_in_order_and_print():
    arm = chain(3)
    found = dict(Compilation({"y": whole.mass}, bind(arm), label="mass").passes())
    assert list(found) == ["derive", "lower", "verify", "trace", "order", "build"]
    assert "𝓜" not in str(found["lower"]) and str(found["lower"]) in str(found["derive"])
    assert found["verify"] is found["lower"] and list(found["order"].inputs) == ["q"]
    q = np.zeros(arm.nq)
    np.testing.assert_allclose(found["build"]({"q": q})["y"], reference.mass_matrix(arm, q), atol=1e-12)
