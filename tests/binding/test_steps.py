from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hinge.binding import Chain, Rotate, Shift, Turn
from hinge.binding.poses import euler
from hinge.binding.steps import turns
from hinge.kernels import Graph, count, finish
from hinge.spatial import quaternion, rotation, skew
from tests.kernels.expressions import traced

RNG = np.random.default_rng(3)


def random_turn(axis):
    angle = RNG.uniform(-3, 3)
    return Turn(axis, np.cos(angle), np.sin(angle))


def random_rotation():
    return rotation.from_quaternion(quaternion.random(RNG))


def symmetric(n):
    root = RNG.standard_normal((n, n))
    return root + root.T


LINKS = {
    "turn about x": random_turn(0),
    "turn about y": random_turn(1),
    "turn about z": random_turn(2),
    "half a turn": Turn(2, -1.0, 0.0),
    "quarter of a turn": Turn(0, 0.0, 1.0),
    "shift": Shift(RNG.standard_normal(3)),
    "shift along z": Shift(np.array([0.0, 0.0, 0.7])),
    "rotation": Rotate(random_rotation()),
}
links = pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)


def motion_matrix(link):
    """Return the 6 × 6 matrix of a link on motions, from the definition."""
    found = np.eye(6)
    if isinstance(link, Shift):
        found[3:, :3] = -skew(link.r)
    elif isinstance(link, Rotate):
        found[:3, :3] = found[3:, 3:] = link.e
    else:
        i, j = (link.axis + 1) % 3, (link.axis + 2) % 3
        for h in (0, 3):
            found[h + i, h + i] = found[h + j, h + j] = link.c
            found[h + i, h + j], found[h + j, h + i] = link.s, -link.s
    return found


@links
def test_motions_and_forces_are_adjoint(link):
    x = motion_matrix(link)
    assert_allclose(link.motion(np.eye(6)), x, atol=1e-15)
    assert_allclose(link.force(np.eye(6)), x.T, atol=1e-15)
    v, f = RNG.standard_normal((2, 6))
    assert link.motion(v) @ f == pytest.approx(v @ link.force(f), abs=1e-13)
    assert link.motion(v).shape == link.force(f).shape == (6,)


@links
def test_symmetric_blocks_are_moved_from_both_sides(link):
    x, s = motion_matrix(link), symmetric(6)
    kept = s.copy()
    assert_allclose(link.inertia(s), x.T @ s @ x, atol=1e-13)
    assert_allclose(link.compliance(s), x @ s @ x.T, atol=1e-13)
    assert_array_equal(s, kept)
    for found in (link.inertia(s), link.compliance(s)):
        assert_allclose(found, found.T, atol=1e-14)


@links
def test_the_offset_is_the_way_between_origins(link):
    r = RNG.standard_normal(3)
    if isinstance(link, Shift):
        assert_array_equal(link.offset(r), r + link.r)
    else:
        assert_allclose(link.offset(r), motion_matrix(link)[:3, :3] @ r, atol=1e-15)


def random_chain(parent_size=6, size=6):
    parts = list(LINKS.values())
    return Chain(tuple(parts[k] for k in RNG.permutation(len(parts))[:4]), parent_size, size)


@pytest.mark.parametrize(("parent_size", "size"), [(6, 6), (7, 6), (6, 8), (9, 7)])
def test_a_chain_is_the_product_of_its_links(parent_size, size):
    chain = random_chain(parent_size, size)
    x = np.eye(6)
    for link in chain.links:
        x = motion_matrix(link) @ x
    whole = np.zeros((size, parent_size))
    whole[:6, :6] = x  # a rotor is seen by its own hinge only
    assert_allclose(chain.to_child(np.eye(parent_size)).astype(float), whole, atol=1e-13)
    assert_allclose(chain.to_parent(np.eye(size)).astype(float), whole.T, atol=1e-13)
    s, c = symmetric(size), symmetric(parent_size)
    assert_allclose(chain.inertia_to_parent(s).astype(float), whole.T @ s @ whole, atol=1e-12)
    assert_allclose(chain.compliance_to_child(c).astype(float), whole @ c @ whole.T, atol=1e-12)
    z = RNG.standard_normal((size, size))
    assert_allclose(chain.block_to_parent(z).astype(float), whole.T @ z @ whole, atol=1e-12)
    assert chain.to_child(np.zeros(parent_size)).shape == (size,)


def test_an_empty_chain_is_the_identity():
    chain, x = Chain((), 6, 6), RNG.standard_normal((6, 2))
    assert_array_equal(chain.to_child(x), x)
    assert_array_equal(chain.to_parent(x), x)
    assert_array_equal(chain.offset().astype(float), np.zeros(3))


def test_the_offset_of_a_chain_enters_its_motion():
    chain = random_chain()
    x = chain.to_child(np.eye(6))
    e, r = x[:3, :3], chain.offset().astype(float)
    assert_allclose(x[3:, :3], -skew(r) @ e, atol=1e-13)


def test_a_planar_turn_of_a_symmetric_block_is_cheap():
    graph = Graph()
    s = traced(graph, "s", (6, 6))
    for i in range(6):
        for j in range(i):
            s[i, j] = s[j, i]
    turn = Turn(2, graph.input("c"), graph.input("s"))
    outputs = {(i, j): x for (i, j), x in np.ndenumerate(turn.inertia(s)) if i <= j}
    kernel = finish(graph, dict(enumerate(outputs.values())))
    assert count(kernel).multiplications <= 30


# Constant rotations as turns about z, x, z.


def rebuilt(e):
    found = np.eye(3)
    for t in turns(e.ravel()):
        found = motion_matrix(t)[:3, :3] @ found
    return found


def about(axis, angle):
    return motion_matrix(Turn(axis, np.cos(angle), np.sin(angle)))[:3, :3]


def test_every_rotation_is_three_turns():
    for _ in range(50):
        e = random_rotation()
        assert_allclose(rebuilt(e), e, atol=1e-14)
        assert [t.axis for t in turns(e.ravel())] == [2, 0, 2]


@pytest.mark.parametrize("tilt", [0.0, 1e-16, 1e-15, 1e-14, 1e-13, 1e-11, 1e-9, 1e-6])
@pytest.mark.parametrize("over", [0.0, np.pi, np.pi / 2])
def test_rotations_near_an_axis_keep_their_digits(tilt, over):
    for theta, gamma in RNG.uniform(-3, 3, (10, 2)):
        e = about(2, gamma) @ about(0, over + tilt) @ about(2, theta)
        assert_allclose(rebuilt(e), e, atol=2e-14)
        for c, s in euler(e.ravel()):
            assert np.hypot(c, s) == pytest.approx(1, abs=1e-15)


def test_trivial_turns_are_left_out():
    assert len(turns(np.eye(3).ravel())) == 0
    assert [t.axis for t in turns(about(2, 0.3).ravel())] == [2]
    assert [t.axis for t in turns(about(0, 0.3).ravel())] == [0]
    assert [(t.c, t.s) for t in turns(about(0, np.pi / 2).ravel())] == [(0.0, 1.0)]
