from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from hinge import algebra
from hinge.algebra import (
    DEFINITIONS,
    SERIAL_ONLY,
    STANDARD,
    Adjoint,
    Body,
    E,
    H,
    Inverse,
    Joint,
    Leaf,
    Passive,
    Product,
    Structure,
    Sum,
    Ups,
    appendix,
    kappa,
    leaves,
    loaded,
    passive,
    phi,
    whole,
)
from hinge.targets import random_system

FAMILIES = (whole, passive, loaded)
OF_THE_APPENDIX = {"S", "Dphi", "Dpsi", "L", "Phi", "Psi", "r"}


@pytest.mark.parametrize("name", STANDARD)
def test_a_standard_leaf_has_a_meaning_and_a_place(name):
    x = STANDARD[name]
    assert isinstance(x, Leaf) and x.name == name
    assert x.meaning and x.unicode_name and x.latex_name.isascii()
    home = appendix if name in OF_THE_APPENDIX else algebra
    assert getattr(home, name) is x
    assert (name in algebra.__all__) == (home is algebra)


def test_every_exported_leaf_is_standard():
    exported = {name: x for name in algebra.__all__ if isinstance(x := getattr(algebra, name), Leaf)}
    assert exported == {name: x for name, x in STANDARD.items() if name not in OF_THE_APPENDIX}


def test_no_two_letters_look_alike():
    for names in ([x.unicode_name for x in STANDARD.values()], [x.latex_name for x in STANDARD.values()]):
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("letter", DEFINITIONS, ids=lambda x: x.name)
def test_a_definition_has_the_type_of_its_letter(letter):
    meaning = DEFINITIONS[letter]
    assert (meaning.range, meaning.domain) == (letter.range, letter.domain)
    assert leaves(meaning) <= set(STANDARD.values())
    well_typed(meaning)
    if letter.self_adjoint and letter not in (
        whole.P,
        passive.P,
        loaded.P,
    ):  # of P only the whole is symmetric
        assert meaning.T is meaning or letter in leaves(meaning)


@pytest.mark.parametrize("row", appendix.APPENDIX, ids=lambda row: row[2])
def test_a_relation_of_the_appendix_is_well_typed(row):
    left, right, source = row
    assert (left.range, left.domain) == (right.range, right.domain)
    assert source.startswith("(")
    well_typed(left)
    well_typed(right)


def well_typed(e):
    """Walk through an expression and compare the spaces at every node."""
    match e:
        case Product():
            for left, right in zip(e.factors, e.factors[1:], strict=False):
                assert left.domain is right.range
            for f in e.factors:
                well_typed(f)
        case Sum():
            for _, t in e.terms:
                assert (t.range, t.domain) == (e.range, e.domain)
                well_typed(t)
        case Inverse():
            assert e.range is e.domain is e.argument.range
            well_typed(e.argument)
        case Adjoint():
            assert (e.range, e.domain) == (e.leaf.domain, e.leaf.range)


def test_what_is_derived_comes_down_to_what_is_given():
    given = {x for x in STANDARD.values() if x not in DEFINITIONS and x.name not in OF_THE_APPENDIX}
    known, rounds = set(given), 0
    while set(DEFINITIONS) - known:
        known |= {x for x, e in DEFINITIONS.items() if leaves(e) <= known | {x} | family(x)}
        rounds += 1
        assert rounds < 10
    assert {"H", "M", "E", "E0", "B", "Q", "Hp", "Ha", "tau", "a", "b"} <= {x.name for x in given}


def family(x):
    """P, D, G, K, Eψ are defined through each other: Riccati's equation."""
    return next(({f.P, f.D, f.Di, f.G, f.K, f.Es} for f in FAMILIES if x in vars(f).values()), set())


@pytest.mark.parametrize(("other", "mark", "swap"), [(passive, "p", {Joint: Passive}), (loaded, "k", {})])
def test_the_families_are_alike(other, mark, swap):
    for field in fields(whole):
        mine, theirs = getattr(whole, field.name), getattr(other, field.name)
        if mine is None or theirs is mine:
            assert field.name == "load" or mine is H
            continue
        assert theirs.name == mine.name + mark
        assert theirs.structure is mine.structure and theirs.self_adjoint == mine.self_adjoint
        assert theirs.range is swap.get(mine.range, mine.range)
        assert theirs.domain is swap.get(mine.domain, mine.domain)


def test_the_mass_matrices_of_the_families():
    assert str(passive.mass) == "Hₚ φ M φᵀ Hₚᵀ"
    assert str(loaded.mass) == "H φ M φᵀ Hᵀ + κ"
    assert passive.load is None and loaded.load is kappa


def test_formulas_say_what_they_need():
    needy = {x.name: x.needs for x in STANDARD.values() if x.needs}
    assert set(needy) == {
        "a",
        "b",
        "a_n",
        "v_n",
        "Q",
        "A",
        "a_m",
        "b_m",
        "tau_j",
        "Ac",
        "gamma",
        "e_c",
        "s_c",
        "r_c",
        "p_c",
        "c_j",
        "d_c",
    }
    for needs in needy.values():
        assert all(leaves(e) <= set(STANDARD.values()) for e in needs)


def test_structures():
    wanted = {
        Structure.DIAGONAL: "H M E0 B Bc Q A R Ups P D Di Dr Dri G Hp Ha Np Na Pp Dp Dip Gp kappa Pk Dk "
        "Dik Gk Dphi Dpsi L r W",
        Structure.STEP: "E K Es Kp Esp Kk Esk S Phi Psi",
        Structure.RESOLVENT: "phi psi psip psik",
        Structure.DENSE: "Mi Mip Mik Ac",
        Structure.VECTOR: "tau qd qdd x tau_p qdd_a held g f_ext a b a_n v_n x_n inertias V0 A0 a_m b_m "
        "tau_j placements rotors friction closed x_c gamma e_c s_c lam lam_0 bounds bounce "
        "pace off_law rounds r_c p_c d_c ground c_j",
    }
    for structure, names in wanted.items():
        assert {x.name for x in STANDARD.values() if x.structure is structure} == set(names.split())


def test_the_kernel_of_chains_is_marked():
    assert {Ups} == SERIAL_ONLY
    assert not SERIAL_ONLY & leaves(phi @ E)


def test_definitions_hold_in_numbers_on_a_chain():
    system = random_system((-1, 0, 1, 2), 4, (2, 1, 3, 1))
    for x, e in DEFINITIONS.items():
        np.testing.assert_allclose(system.matrix(x), system.matrix(e), atol=1e-9)
    assert system.length(Body) == sum(system.sizes[Body])
