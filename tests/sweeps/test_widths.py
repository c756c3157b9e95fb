"""Programs on random systems whose bodies have blocks of unequal sizes, against explicit matrices."""

from __future__ import annotations

import numpy as np
import pytest

from hinge.algebra import Body, D, G, Joint, Node, P, Structure, b, leaf, logdet, passive, phi, psi, tau
from hinge.pipeline import as_given, derive
from hinge.sweeps import lower, trace
from hinge.targets import NumpyProgram, random_system
from tests.sweeps.expressions import SHAPES, forward, mass
from tests.sweeps.models import distance
from tests.sweeps.systems import SystemBinding, inputs_of

#: A branching tree with one node, which can move in all ways, and a chain of hinges with many coordinates.
TREE = next(
    x
    for seed in range(99)
    if (x := random_system((-1, 0, 0, 1, 1), seed, (6, 1, 0, 2, 3))).length(Node) == 6
    and len(set(x.blocks(Body))) > 3
)
CHAIN = random_system((-1, 0, 1), 3, (9, 0, 8))


def check(system, e, derivation=None):
    program = (derivation or derive(e)).program
    binding = SystemBinding(system)
    found = NumpyProgram(trace(program, binding))(inputs_of(system, program))["y"]
    wanted = system.evaluate(e)
    assert distance(found, np.reshape(wanted, found.shape)) < 1e-8


def test_random_systems_have_blocks_of_every_size():
    sizes = {k for seed in range(20) for k in random_system((-1, 0, 1, 1), seed).blocks(Body)}
    assert sizes == set(range(4, 10))


@pytest.mark.parametrize("name", SHAPES)
def test_programs_at_unequal_widths(name):
    check(TREE, SHAPES[name][0])


@pytest.mark.parametrize("e", [forward, mass, mass.inv() @ tau, logdet(mass)], ids=str)
def test_hinges_with_as_many_coordinates_as_the_block_has_numbers(e):
    check(CHAIN, e)


@pytest.mark.parametrize("e", [forward, mass @ tau, phi @ psi.T @ b], ids=str)
def test_programs_as_given_at_unequal_widths(e):
    check(TREE, e, as_given(e))


OWN = leaf("W", Body, Body, Structure.DIAGONAL)


@pytest.mark.parametrize("x", [P, passive.P, OWN], ids=str)
def test_blocks_of_bodies_are_shown_as_wide_as_the_widest(x):
    shown, whole = blocks(x)
    widest, at = max(TREE.blocks(Body)), TREE.bounds(Body)
    assert shown.shape == (len(TREE.parents), widest, widest)
    for i, width in enumerate(TREE.blocks(Body)):
        here = slice(at[i], at[i + 1])
        np.testing.assert_allclose(shown[i, :width, :width], whole[here, here], atol=1e-9)
        assert not shown[i, width:].any() and not shown[i, :, width:].any()


def test_gains_are_shown_as_wide_as_the_widest():
    shown, whole = blocks(G)
    widest, at, columns = max(TREE.blocks(Body)), TREE.bounds(Body), TREE.bounds(Joint)
    assert shown.shape == (widest, columns[-1])
    for i, width in enumerate(TREE.blocks(Body)):
        here = slice(columns[i], columns[i + 1])
        np.testing.assert_allclose(shown[:width, here], whole[at[i] : at[i + 1], here], atol=1e-9)
        assert not shown[width:, here].any()
    np.testing.assert_allclose(*blocks(D), atol=1e-9)


def blocks(x):
    """Return a letter as the blocks that a program shows, and as a matrix."""
    program = lower({"y": mass @ tau}, blocks={"x": x})
    shown = NumpyProgram(trace(program, SystemBinding(TREE)))(inputs_of(TREE, program))["x"]
    return shown, TREE.matrix(x)
