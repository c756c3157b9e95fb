from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hinge import algebra as soa
from hinge.algebra import (
    DEFINITIONS,
    E0,
    SERIAL_ONLY,
    STANDARD,
    Active,
    B,
    Body,
    Constraint,
    D,
    Di,
    E,
    H,
    Ha,
    Hp,
    Joint,
    K,
    M,
    Mi,
    Node,
    One,
    P,
    Parameter,
    Passive,
    Placement,
    Polynomial,
    Resistance,
    Space,
    Structure,
    Ups,
    World,
    appendix,
    g,
    identity,
    leaf,
    logdet,
    phi,
    psi,
    qd,
    qdd,
    tau,
    whole,
    word_expression,
    zero,
)
from hinge.errors import ArgumentError, SpaceError, UnboundLeafError
from hinge.rules import THEORIES, has_appendix_letters
from hinge.targets import (
    Counterexample,
    SingularError,
    System,
    counterexample,
    random_system,
    system_of,
)
from hinge.targets.dense import MEANING
from hinge.targets.random_systems import ONE_WIDTH
from tests.folding import folded

#: (parents, dofs): branching trees, forests, chains; hinges of 0 to 3 coordinates, a free base.
TREES = {
    "fork": ((-1, 0, 0, 1), (1, 0, 3, 2)),
    "forest": ((-1, 0, 0, -1, 3, 0, 1, 1), (2, 1, 0, 3, 1, 2, 1, 1)),
    "free base": ((-1, 0, 0, 0, 1, 2, 3), (6, 1, 1, 1, 3, 0, 2)),
    "no freedom": ((-1, 0, 0), (0, 0, 0)),
}
CHAINS = {
    "chain": ((-1, 0, 1, 2, 3), (1, 3, 0, 2, 1)),
    "long chain": (tuple(range(-1, 9)), (2, 1, 0, 1, 3, 1, 1, 0, 2, 1)),
    "one body": ((-1,), (3,)),
}
SEEDS = range(3)


def systems(shapes):
    """Return systems for `parametrize`; all seeds but the first are slow."""
    return [
        pytest.param(
            random_system(p, seed, dofs),
            id=f"{name}-{seed}",
            marks=[pytest.mark.slow] if seed != SEEDS[0] else [],
        )
        for name, (p, dofs) in shapes.items()
        for seed in SEEDS
    ]


def one_width(system):
    """Return a system of the same tree whose bodies have blocks of six numbers: what S wants."""
    widths = [6] * len(system.parents)
    return random_system(system.parents, system.seed, system.sizes[Joint], widths)


def residual(system, p: Polynomial) -> float:
    """Return the size of a polynomial that ought to be zero, relative to its largest term."""
    terms = [np.linalg.norm(system.matrix(c * word_expression(w, p.range))) for w, c in p.terms.items()]
    return float(np.linalg.norm(system.matrix(p.expression())) / max(1e-300, *terms))


def diagonal_blocks(system, x):
    """Return x without its blocks off the diagonal, one block after the other."""
    kept, at = np.zeros_like(x), system.bounds(Body)
    for i in range(len(system.parents)):
        here = slice(at[i], at[i + 1])
        kept[here, here] = x[here, here]
    return kept


@pytest.mark.parametrize("system", systems(TREES | CHAINS))
@folded(letter=DEFINITIONS)
def test_a_derived_letter_fulfils_its_definition(system, letter):
    value, wanted = system.evaluate(letter), system.evaluate(DEFINITIONS[letter])
    if letter in SERIAL_ONLY:
        wanted = diagonal_blocks(system, wanted)
    assert value.shape == (system.length(letter.range), system.length(letter.domain))
    assert_allclose(value, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max(initial=0.0))


@pytest.mark.parametrize("system", systems(TREES | CHAINS))
def test_letters_have_the_structure_that_they_claim(system):
    n = len(system.parents)
    blocks = {
        Structure.DIAGONAL: np.eye(n, dtype=bool),
        Structure.STEP: np.array([[p == i for p in system.parents] for i in range(n)]),
    }
    drawn, equal = system, one_width(system)
    for x in STANDARD.values():
        pattern, system = blocks.get(x.structure), equal if x in ONE_WIDTH else drawn
        if pattern is None or World in (x.range, x.domain) or x in (appendix.Phi, appendix.Psi):
            continue
        rows, columns = system.bounds(x.range), system.bounds(x.domain)
        value = system.evaluate(x)
        for i, j in zip(*np.nonzero(~pattern), strict=True):
            part = value[rows[i] : rows[i + 1], columns[j] : columns[j + 1]]
            assert_allclose(part, 0, atol=1e-12, err_msg=f"{x} at {i, j}")
        if x.self_adjoint:
            assert_allclose(value, value.T, atol=1e-12 * np.abs(value).max(initial=0.0))


#: Theories of blocks of any size; those of cross products are judged in `tests.rules.test_graded`.
ANY_SIZE = [t for t in THEORIES if t.degree is None]


@pytest.mark.parametrize("theory", [t for t in ANY_SIZE if t.holds_on == "trees"], ids=lambda t: t.name)
@pytest.mark.parametrize("system", systems(TREES))
def test_axioms_and_rules_hold_on_trees(theory, system):
    check_theory(theory, system)


@pytest.mark.parametrize("theory", ANY_SIZE, ids=lambda t: t.name)
@pytest.mark.parametrize("system", systems(CHAINS))
def test_axioms_and_rules_hold_on_chains(theory, system):
    check_theory(theory, system)


def check_theory(theory, system):
    system = one_width(system) if has_appendix_letters(theory.letters) else system
    for axiom in theory.axioms:
        assert residual(system, axiom.difference) < 1e-11, str(axiom)
    for rule in theory.table.rules:
        p = Polynomial(rule.lhs[0].range, rule.lhs[-1].domain, rule.difference())
        assert residual(system, p) < 1e-11, str(rule)


@pytest.mark.parametrize("system", systems(TREES | CHAINS))
def test_log_det_of_the_mass_matrix_is_that_of_the_articulated_inertias(system):
    mass = system.evaluate(logdet(whole.mass))
    assert isinstance(mass, float)
    assert mass == pytest.approx(system.evaluate(logdet(D)), abs=1e-10)


@pytest.mark.parametrize("system", systems(TREES | CHAINS))
def test_forward_dynamics_undoes_inverse_dynamics(system):
    inverse, inner = whole.mass @ qdd, identity(Joint) - H @ psi @ K
    forward = inner.T @ Di @ inner
    given = replace(system, values={**system.values, tau: system.evaluate(inverse)})
    assert_allclose(given.evaluate(forward @ tau), system.evaluate(qdd), rtol=1e-9, atol=1e-9)


def test_composite_inertias_add_up_over_the_subtree():
    system = random_system((-1, 0, 0, 1), 5, widths=(6, 6, 6, 6))
    e, m = system.evaluate(E), system.evaluate(M)
    x = {i: e[0:6, 6 * i : 6 * i + 6] for i in (1, 2)}
    x3 = x[1] @ e[6:12, 18:24]
    block = [m[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] for i in range(4)]
    wanted = block[0] + x[1] @ block[1] @ x[1].T + x[2] @ block[2] @ x[2].T + x3 @ block[3] @ x3.T
    assert_allclose(system.evaluate(soa.R)[:6, :6], wanted, rtol=1e-12)


SPLIT = (psi.T @ H.T @ Di @ H @ psi, Ups @ psi + psi.T @ Ups - Ups)


def test_the_compliance_kernel_splits_on_chains_only():
    assert counterexample(*SPLIT, serial=True) is None
    found = counterexample(*SPLIT)
    assert found is not None and found.difference > 1e-3
    assert any(found.parents.count(p) > 1 for p in found.parents if p >= 0)


def test_the_diagonal_blocks_of_the_split_hold_on_trees_too():
    system = random_system((-1, 0, 0, 1, 1), 2, (2, 1, 3, 1, 2))
    left, right = (diagonal_blocks(system, system.evaluate(e)) for e in SPLIT)
    assert_allclose(left, right, atol=1e-11)


def test_true_identities_have_no_counterexample():
    node = B.T @ phi.T @ H.T
    compliance = node @ Mi @ node.T
    for left, right in [
        (phi @ E, phi - identity(Body)),
        (phi @ M @ phi.T, phi @ soa.R + soa.R @ phi.T - soa.R),
        (Mi, (identity(Joint) - H @ psi @ K).T @ Di @ (identity(Joint) - H @ psi @ K)),
        (E @ P @ E0.T, zero(Body, World)),
        (logdet(whole.mass), logdet(D)),
        ((phi - psi - psi @ K @ H @ phi) @ soa.b, zero(Body, One)),
        (compliance @ compliance.inv() @ node, node),
    ]:
        assert counterexample(left, right) is None, f"{left} = {right}"


@pytest.mark.parametrize(
    ("left", "right", "length"),
    [
        (phi @ M, M @ phi, 2),
        (Mi, Di, 2),
        (H @ P @ H.T, H @ M @ H.T, 2),
        (Hp.T @ Hp + Ha.T @ Ha, identity(Body), 2),
        (E0 @ phi, E0, 2),
        (tau, 2 * tau, 1),
        (E0.T @ g, zero(Body, One), 1),
        (logdet(whole.mass), 2 * logdet(D), 0),
    ],
)  # fmt: skip
def test_a_counterexample_can_be_looked_up(left, right, length):
    found = counterexample(left, right)
    assert isinstance(found, Counterexample)
    assert len(found.block) == length
    system = random_system(found.parents, found.seed, found.dofs, found.widths)
    one, other = system.matrix(left), system.matrix(right)
    place = np.unravel_index(np.argmax(np.abs(one - other)), one.shape)
    assert (found.left, found.right) == (one[place], other[place])
    assert found.left_norm == pytest.approx(np.linalg.norm(one))
    assert found.difference == pytest.approx(
        np.linalg.norm(one - other) / max(np.linalg.norm(one), np.linalg.norm(other))
    )
    for at, space, k in zip(place, (left.range, left.domain), (0, 1), strict=True):
        if space not in (One, World):
            bounds = system.bounds(space)
            assert bounds[found.block[k]] <= at < bounds[found.block[k] + 1]
        elif space is World:
            assert found.block[k] == -1


def test_a_counterexample_reads_as_a_sentence():
    found = Counterexample((-1, 0, 0, 1), 3, (1, 0, 2, 1), (6, 9, 4, 5), 1.1, 7.0, (2, 0), 1.234, -0.5)
    assert str(found) == (
        "differs on a tree with parents (-1, 0, 0, 1), dofs (1, 0, 2, 1), widths (6, 9, 4, 5), "
        "seed 3: at block (2, 0) left is 1.234, right is -0.5 (relative difference 1.1)"
    )
    assert "seed 3: at body 2 left" in str(replace(found, block=(2,)))
    assert "seed 3: left" in str(replace(found, block=()))
    with pytest.raises(FrozenInstanceError):
        found.seed = 4


def test_counterexamples_depend_on_the_seeds_alone():
    left, right = phi @ M, M @ phi
    assert counterexample(left, right, seeds=[5]) == counterexample(left, right, seeds=[5])
    assert counterexample(left, right, seeds=[5]).seed == 5
    assert counterexample(left, right, seeds=[]) is None
    chain = counterexample(left, right, seeds=[5], serial=True)
    assert chain.parents == tuple(range(-1, len(chain.parents) - 1))


def test_small_errors_are_found_and_rounding_is_not():
    small = phi @ M + 1e-6 * (M @ phi)
    assert counterexample(phi @ M, small) is not None
    assert counterexample(phi @ M, phi @ M + 1e-11 * (M @ phi)) is None
    assert counterexample(1e-9 * phi, 1e-9 * psi) is not None
    assert counterexample(1000 * Mi @ whole.mass - 1000 * identity(Joint), zero(Joint, Joint)) is None


def test_own_leaves_get_random_values_of_their_structure():
    system = random_system((-1, 0, 0, 1), 1, (1, 2, 0, 3))
    own = {
        "W": leaf("W", Body, Body, Structure.DIAGONAL, self_adjoint=True),
        "X": leaf("X", Body, Body, Structure.STEP),
        "Y": leaf("Y", Body, Body, Structure.RESOLVENT),
        "A": leaf("A", Constraint, Joint),
        "u": leaf("u", Joint, One),
        "V": leaf("V", World, World, Structure.DIAGONAL),
        "Z": leaf("Z", Space("Tendon"), Joint, Structure.DIAGONAL),
    }
    again = random_system((-1, 0, 0, 1), 1, (1, 2, 0, 3))
    other = random_system((-1, 0, 0, 1), 2, (1, 2, 0, 3))
    for x in own.values():
        assert_array_equal(system.evaluate(x), again.evaluate(x))
        assert not np.array_equal(system.evaluate(x), other.evaluate(x))
    w, step, resolvent = (system.evaluate(own[k]) for k in "WXY")
    assert_allclose(w, diagonal_blocks(system, w))
    assert np.linalg.eigvalsh(w).min() > 0
    assert_array_equal(step != 0, system.evaluate(E) != 0)
    reached, widths = abs(np.linalg.inv(np.eye(4) - PARENTS)), system.sizes[Body]
    assert_array_equal(resolvent != 0, np.repeat(np.repeat(reached, widths, 0), widths, 1) != 0)
    assert system.evaluate(own["A"]).shape == (sum(system.sizes[Constraint]), 6)
    assert system.evaluate(own["u"]).shape == (6,)
    assert system.evaluate(own["V"]).all()
    assert system.evaluate(own["Z"]).shape == (4, 6)
    assert counterexample(own["W"] @ own["W"].inv(), identity(Body)) is None
    assert counterexample(own["X"] @ own["W"], own["W"] @ own["X"]) is not None


PARENTS = np.array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])


def test_a_random_system_gives_every_letter():
    system = random_system((-1, 0, 0, 1, -1), 7)
    assert set(system.values) == {x for x in STANDARD.values() if x not in MEANING} - {soa.appendix.S}
    equal = one_width(system)
    for x in STANDARD.values():
        assert np.isfinite((equal if x in ONE_WIDTH else system).evaluate(x)).all()
    h, split = system.evaluate(H), np.concatenate([system.evaluate(Hp), system.evaluate(Ha)])
    assert_array_equal(np.sort(h.ravel()), np.sort(split.ravel()))
    assert_array_equal(np.add(system.sizes[Passive], system.sizes[Active]), system.sizes[Joint])
    assert 6 <= system.length(Node) <= 18
    assert np.linalg.eigvalsh(system.evaluate(M)).min() > 0.9


def test_shapes_of_results():
    system = random_system((-1, 0), 0, (1, 2), (5, 7))
    assert system.evaluate(qd).shape == (3,)
    assert system.evaluate(qd.T).shape == (1, 3)
    assert system.evaluate(H).shape == (3, 12)
    assert system.evaluate(g).shape == (6,)
    energy = system.evaluate(qd.T @ whole.mass @ qd / 2)
    assert isinstance(energy, float) and energy > 0
    assert_array_equal(system.evaluate(identity(Joint)), np.eye(3))
    assert_array_equal(system.evaluate(zero(Joint, Body)), np.zeros((3, 12)))
    assert_array_equal(system.evaluate(H.T), system.evaluate(H).T)
    assert random_system((), 0).evaluate(phi).shape == (0, 0)


def test_results_may_be_changed_without_changing_the_system():
    system = random_system((-1, 0), 0, (1, 2))
    before = system.evaluate(phi)
    system.evaluate(phi)[:] = 0
    system.evaluate(qd)[:] = 0
    assert_array_equal(system.evaluate(phi), before)
    with pytest.raises(ValueError, match="read-only"):
        system.matrix(phi)[:] = 0


def test_given_values_go_before_definitions():
    system = random_system((-1, 0), 0, (1, 2))
    given = replace(system, values={**system.values, P: system.evaluate(M)})
    assert_array_equal(given.evaluate(D), system.evaluate(H @ M @ H.T))


def test_shifts_of_the_appendix_want_blocks_of_one_size():
    sizes = {Body: (6, 7)}
    system = System((-1, 0), sizes, {E: np.zeros((13, 13))})
    with pytest.raises(ArgumentError, match="S: expected blocks of one size at all bodies"):
        system.evaluate(appendix.Dphi)


def test_a_leaf_without_a_value_is_named():
    system = System((-1, 0), {Body: (6, 6), Joint: (1, 2)}, {E: np.zeros((12, 12))})
    assert system.evaluate(phi).shape == (12, 12)
    with pytest.raises(
        UnboundLeafError, match=r"H: Joint ← Body has no value .* shape \(3, 12\) in `values`"
    ):
        system.evaluate(whole.mass)
    with pytest.raises(UnboundLeafError, match=r"Node: this system has no such space; give .* `sizes`"):
        system.evaluate(B)


def test_wrong_arguments_are_named():
    with pytest.raises(ArgumentError, match=r"parents\[1\]: expected −1 or a number below 1, got 2"):
        random_system((-1, 2, 0), 0)
    with pytest.raises(ArgumentError, match=r"sizes\[Body\]: expected 2, one for each block, got 1"):
        System((-1, 0), {Body: (6,)}, {})
    with pytest.raises(ArgumentError, match=r"values\[E\]: expected shape \(12, 12\), got \(6, 6\)"):
        System((-1, 0), {Body: (6, 6)}, {E: np.eye(6)})
    with pytest.raises(ArgumentError, match=r"values\[τ\]: expected shape \(2,\), got \(2, 1\)"):
        System((-1, 0), {Joint: (1, 1)}, {tau: np.ones((2, 1))})
    with pytest.raises(ArgumentError, match=r"dofs: expected 2 numbers.*\(9, 9\), got \(1, 10\)"):
        random_system((-1, 0), 0, (1, 10))
    with pytest.raises(ArgumentError, match=r"dofs: expected 2 numbers.*\(6, 4\), got \(1, 5\)"):
        random_system((-1, 0), 0, (1, 5), (6, 4))
    with pytest.raises(ArgumentError, match=r"widths: expected 2 sizes.*got \(6,\)"):
        random_system((-1, 0), 0, (1, 5), (6,))
    with pytest.raises(SpaceError, match="H is Joint ← Body, but M is Body ← Body"):
        counterexample(H, M)


def test_a_singular_inverse_is_refused():
    system = random_system((-1, 0), 0, (1, 2))
    with pytest.raises(SingularError, match="what is inverted is singular"):
        system.evaluate(E.inv())
    with pytest.raises(SingularError, match="what is inverted is singular"):
        system.evaluate((H.T @ H).inv())
    with pytest.raises(SingularError, match=r"seeds: none of these random trees can judge.*E⁻¹"):
        counterexample(E.inv(), M)
    badly_scaled = {Joint: (1, 1)}
    tiny = leaf("tiny", Joint, Joint)
    system = System((-1, 0), badly_scaled, {tiny: np.diag([1e-9, 1e9])})
    assert_allclose(system.evaluate(tiny.inv()), np.diag([1e9, 1e-9]))


# A binding of a chain of three links in the plane, on revolute hinges about z; the second has a rotor.

LENGTH, MASS, ABOUT_Z, ROTOR, RATIO = 0.7, (2.0, 1.5, 0.5), (0.3, 0.2, 0.1), 0.01, 5.0


def cross(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]], dtype=object)


class PlanarChain:
    """Answers the contract by hand: body frames at the hinges, vectors (angular, linear)."""

    tree = SimpleNamespace(parents=(-1, 0, 1))
    nodes = (0, 0, 1)
    parameters = ()

    def size(self, space, body):
        sizes = {Joint: (1, 1, 1), Body: (6, 7, 6), Node: (0, 0, 6), Passive: (1, 0, 1), Active: (0, 1, 0)}
        sizes[World] = {-1: 6}
        sizes[Parameter] = sizes[Placement] = sizes[soa.Mount] = sizes[Resistance] = sizes[soa.Link] = (
            0,
            0,
            0,
        )
        if space is Constraint:
            raise UnboundLeafError("this chain has no closures")
        return sizes[space][body]

    def positions(self, space, body):
        if space is World:
            assert body == -1
            return [3, 4, 5, 0, 1, 2]  # the user's vectors are (linear, angular)
        if space is Body:
            return [*range(6 * body, 6 * body + 6), -1][: self.size(Body, body)]
        before = sum(self.size(space, i) for i in range(body))
        return range(before, before + self.size(space, body))

    def length(self, space):
        return {Joint: 3, Body: 18, Node: 6, Passive: 2, Active: 1, World: 6}.get(space, 0)

    def coordinates(self, body):
        return range(2 - body, 3 - body)  # q stands tip first

    def constants(self, body):
        return ()

    def site(self, body, numbers):
        return SimpleNamespace(
            hinge=lambda q: self.hinge(body, q),
            step=lambda hinge: self.step(body, hinge),
            value=lambda x, hinge: self.value(x, body, hinge),
            formula=lambda x, hinge, needs: self.formula(x, body, hinge, needs),
        )

    def hinge(self, body, q):
        assert q.shape == (1,)
        return np.array([np.cos(q[0]), np.sin(q[0])], dtype=object)

    def step(self, body, hinge):
        assert hinge.dtype == float
        c, s = hinge
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], dtype=object)
        arm = np.array([LENGTH if body else 0.0, 0.0, 0.0], dtype=object)
        none = np.zeros((3, 3), dtype=object)
        force = np.block([[turn, cross(arm) @ turn], [none, turn]])
        return SimpleNamespace(to_parent=lambda x: force @ x[:6])

    def value(self, x, body, hinge):
        axis = np.array([[0, 0, 1, 0, 0, 0]], dtype=object)
        if body == 1:
            axis = np.append(axis, [[RATIO]], axis=1)
        at = np.array([LENGTH / 2, 0, 0], dtype=object)
        m = MASS[body]
        spatial = np.block(
            [
                [np.diag([0.0, 0, ABOUT_Z[body]]) - m * cross(at) @ cross(at), m * cross(at)],
                [-m * cross(at), m * np.eye(3)],
            ]
        )
        if body == 1:
            spatial = np.block([[spatial, np.zeros((6, 1))], [np.zeros((1, 6)), np.array([[ROTOR]])]])
        tip = np.block([[np.eye(3), cross([LENGTH, 0, 0])], [np.zeros((3, 3)), np.eye(3)]])
        return {H: axis, Hp: axis, Ha: axis, M: spatial, B: tip}.get(x)

    def formula(self, x, body, hinge, needs):
        if x is soa.a:
            carried, rate = needs
            w = np.array([0, 0, rate[0]])
            return np.concatenate(
                [np.cross(carried[:3], w), np.cross(carried[3:6], w), np.zeros(int(body == 1))]
            )
        if x is soa.b:
            v = needs[0]
            p = np.asarray(self.value(M, body, hinge), dtype=float) @ v
            n, f = p[:3], p[3:6]
            b = [np.cross(v[:3], n) + np.cross(v[3:6], f), np.cross(v[:3], f), np.zeros(int(body == 1))]
            return np.concatenate(b)
        if x is soa.A:
            return np.zeros((self.size(Body, body), 0))
        if x in (soa.tau_j, soa.c_j, soa.d_c):
            raise UnboundLeafError("the chain has no springs, limits or axes that turn")
        assert body == 2
        if x is soa.Q:
            assert needs[0].shape == (6, 6)
            turn = needs[0][:3, :3].T
            return np.block([[turn, np.zeros((3, 3))], [np.zeros((3, 3)), turn]])
        assert needs[0].shape == (6,)
        return np.concatenate([np.zeros(3), np.cross(needs[0][:3], needs[0][3:6])])


def planar_points(q):
    """Return the angles and positions of centres and of the tip, q base first."""
    angles = np.cumsum(q)
    ends = np.cumsum([[LENGTH * np.cos(t), LENGTH * np.sin(t)] for t in angles], axis=0)
    starts = np.concatenate([[[0, 0]], ends[:-1]])
    return angles, (starts + ends) / 2, ends[-1]


def numerical(f, q, h=1e-6):
    return np.stack([(f(q + h * d) - f(q - h * d)) / (2 * h) for d in np.eye(len(q))], axis=-1)


def planar_mass(q):
    turning, moving = np.tril(np.ones((3, 3))), numerical(lambda x: planar_points(x)[1], q)
    mass = np.diag([0, ROTOR * RATIO**2, 0])
    for i in range(3):
        mass = mass + MASS[i] * moving[i].T @ moving[i] + ABOUT_Z[i] * np.outer(turning[i], turning[i])
    return mass


ANGLES, RATES = np.array([0.3, -0.8, 1.1]), np.array([0.5, -1.2, 0.9])


@pytest.fixture
def chain():
    return system_of(PlanarChain(), {"q": ANGLES[::-1], "qd": RATES, "g": [0, 9.81, 0, 0, 0, 0]})


def test_a_binding_gives_the_mass_matrix_and_gravity(chain):
    assert chain.sizes[Body] == (6, 7, 6)
    assert_allclose(chain.evaluate(whole.mass), planar_mass(ANGLES), atol=1e-8)
    assert_allclose(chain.evaluate(Mi), np.linalg.inv(planar_mass(ANGLES)), rtol=1e-7)
    assert chain.evaluate(logdet(D)) == pytest.approx(chain.evaluate(logdet(whole.mass)))
    weight = numerical(lambda x: 9.81 * np.dot(MASS, planar_points(x)[1][:, 1]), ANGLES)
    assert_allclose(chain.evaluate(H @ phi @ M @ phi.T @ E0.T @ g), weight, atol=1e-7)
    assert_allclose(chain.evaluate(E0.T @ g), [0, 0, 0, *_turned(ANGLES[0], 9.81), 0] + [0] * 13, atol=1e-12)


def _turned(angle, x):
    return x * np.sin(angle), x * np.cos(angle)


def test_a_binding_gives_the_velocity_terms(chain):
    mass_rate = (planar_mass(ANGLES + 1e-4 * RATES) - planar_mass(ANGLES - 1e-4 * RATES)) / 2e-4
    energy = numerical(lambda x: RATES @ planar_mass(x) @ RATES / 2, ANGLES, 1e-4)
    bias = H @ phi @ (M @ phi.T @ soa.a + soa.b)
    assert_allclose(chain.evaluate(bias), mass_rate @ RATES - energy, atol=1e-4)
    tip = numerical(lambda x: planar_points(x)[2], ANGLES) @ RATES
    velocity = chain.evaluate(B.T @ phi.T @ H.T @ qd)
    assert_allclose(chain.evaluate(soa.Q @ B.T @ phi.T @ H.T @ qd)[3:5], tip, atol=1e-8)
    assert np.linalg.norm(chain.evaluate(soa.v_n)) > 0.01
    assert_allclose(chain.evaluate(soa.v_n)[3:], np.cross(velocity[:3], velocity[3:]))


def test_a_binding_gives_the_split_of_hinges_and_leaves_out_what_it_lacks(chain):
    mass = chain.evaluate(whole.mass)
    assert_allclose(chain.evaluate(soa.passive.mass), mass[::2, ::2])
    still = system_of(PlanarChain(), {"q": ANGLES})
    assert qd not in still.values and soa.a not in still.values and M in still.values
    with pytest.raises(UnboundLeafError, match="a: Body ← One has no value"):
        still.evaluate(soa.a)
    lacking = leaf("W", Body, Body, Structure.DIAGONAL)
    with pytest.raises(UnboundLeafError, match="W: Body ← Body has no value"):
        system_of(PlanarChain(), {"q": ANGLES}, [lacking]).evaluate(lacking)


def test_inputs_go_before_formulas_and_hidden_numbers_are_zero():
    own = leaf("W", Body, Joint), leaf("u", Body, One)
    given = {"q": ANGLES, "a": np.arange(18.0), "W": np.ones((18, 3)), "u": np.ones(18), "qd": RATES}
    system = system_of(PlanarChain(), given, own)
    assert_array_equal(system.evaluate(soa.a), [*range(12), 0, *range(12, 18)])
    assert_array_equal(system.evaluate(own[1]), [1] * 12 + [0] + [1] * 6)
    assert_array_equal(system.evaluate(own[0]), np.outer([1] * 12 + [0] + [1] * 6, [1] * 3))


def test_wrong_inputs_are_named():
    with pytest.raises(ArgumentError, match="inputs: expected 'q', got qd"):
        system_of(PlanarChain(), {"qd": RATES})
    with pytest.raises(ArgumentError, match=r"inputs\['q'\]: expected shape \(3,\), one state, got \(2, 3\)"):
        system_of(PlanarChain(), {"q": [ANGLES, ANGLES]})
    with pytest.raises(ArgumentError, match=r"inputs\['qd'\]: expected shape \(3,\), one state, got \(2,\)"):
        system_of(PlanarChain(), {"q": ANGLES, "qd": RATES[:2]})
    with pytest.raises(ArgumentError, match=r"inputs: expected q or a leaf, got 'speed'; .* `own`"):
        system_of(PlanarChain(), {"q": ANGLES, "speed": RATES})
