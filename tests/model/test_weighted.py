"""The values of weighted trees: order, checks, names."""

from __future__ import annotations

import numpy as np
import pytest

from hinge.errors import ModelError, UnknownNameError
from hinge.model import WeightedTree

ONE, ROW = np.eye(1), np.ones((1, 1))


def numbered(parents, **options):
    """Return a tree of single numbers, M the place of each node in the list."""
    n = len(parents)
    roots = [p is None or p == -1 for p in parents]
    e = [None if root else np.full((1, 1), k + 1.0) for k, root in enumerate(roots)]
    return WeightedTree(parents, e, [ROW] * n, [(k + 1.0) * ONE for k in range(n)], **options)


def test_parents_may_be_numbers_none_or_names():
    trees = [
        numbered([-1, 0, 0, 1]),
        numbered([None, 0, 0, 1]),
        numbered([None, "a", "a", "b"], names=["a", "b", "c", "d"]),
        numbered(np.array([-1, 0, 0, 1])),
    ]
    assert {t.parents for t in trees} == {(-1, 0, 0, 1)}
    assert trees[0].names == ("node0", "node1", "node2", "node3")
    assert len(trees[0]) == trees[0].nv == trees[0].size == 4


def test_named_nodes_are_sorted_and_keep_their_matrices():
    tree = numbered(["b", "c", None, "b"], names=["a", "b", "c", "d"])
    assert tree.names == ("c", "b", "a", "d") and tree.parents == (-1, 0, 1, 1)
    assert [m.item() for m in tree.M] == [3, 2, 1, 4]
    assert [e.item() for e in tree.E[1:]] == [2, 1, 4] and tree.E[0].shape == (0, 1)
    assert tree.index("a") == 2 and tree.joint_slice("a") == slice(2, 3) == tree.body_slice(2)


def test_blocks_have_sizes_of_their_own():
    tree = WeightedTree(
        [-1, 0], [None, np.ones((3, 2))], [np.ones((2, 3)), np.ones((0, 2))], [np.eye(3), np.eye(2)]
    )
    assert tree.nv == 2 and tree.size == 5 and tree.body_slice(1) == slice(3, 5)
    assert tree.joint_slice("node1") == slice(2, 2)
    assert repr(tree) == "<WeightedTree: 2 nodes, 5 numbers in blocks, 2 at hinges>"


def test_matrices_are_copies_and_frozen():
    m = np.eye(1)
    tree = WeightedTree([-1], [None], [ROW], [m])
    m[0, 0] = 7
    assert tree.M[0].item() == 1
    with pytest.raises(ValueError, match=r"read-only"):
        tree.M[0][0, 0] = 2


def test_what_rounding_left_beside_symmetry_is_dropped():
    m = np.array([[2.0, 1.0], [1.0 + 1e-14, 2.0]])
    tree = WeightedTree([-1], [None], [np.ones((1, 2))], [m])
    assert np.array_equal(tree.M[0], tree.M[0].T)


def test_an_empty_tree_is_a_tree():
    tree = WeightedTree([], [], [], [])
    assert len(tree) == tree.nv == tree.size == 0


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"parents": [1, -1]}, r"parents\[0\]: expected -1 or .* before node 0, got 1; .* names="),
        ({"parents": [-1, 1]}, r"parents\[1\]: .* got 1"),
        ({"parents": [-1, 7]}, r"parents\[1\]: .* got 7"),
        ({"parents": [-1, 1], "names": "ab"}, "names: expected a list"),
        ({"parents": [1, 0], "names": ["a", "b"]}, "form a loop"),
        ({"parents": [-1, True]}, r"parents\[1\]: .* got True"),
        ({"parents": [-1, 0.0]}, r"parents\[1\]: .* got 0.0"),
        ({"parents": [None, "a"]}, r"parents\[1\]: .* 'a'; names=… were not given"),
        ({"parents": [None, "q"], "names": ["a", "b"]}, r"parents\[1\]: .* 'q'"),
        ({"parents": "ab"}, "parents: expected a list"),
        ({"names": ["a", "a"]}, r"names\[1\]: expected names that differ"),
        ({"names": ["a", ""]}, r"names\[1\]: expected a text"),
        ({"names": ["a"]}, "names: expected 2 items"),
        ({"E": [None]}, "E: expected 2 items, one for each node of parents, got 1"),
        ({"E": [ROW, ROW]}, r"E\['node0'\]: expected None at a root"),
        ({"E": [None, None]}, r"E\['node1'\]: expected a matrix, got None"),
        ({"E": [None, np.ones((2, 1))]}, r"E\['node1'\]: expected shape \(1, 1\), from this .* got \(2, 1\)"),
        ({"H": [ROW, np.ones((1, 2))]}, r"H\['node1'\]: expected shape \(m, 1\), m ≤ 1"),
        ({"H": [ROW, np.ones((2, 1))]}, r"H\['node1'\]: expected shape \(m, 1\), m ≤ 1"),
        ({"H": [ROW, [1.0]]}, r"H\['node1'\]: expected a matrix, got an array of shape \(1,\)"),
        ({"M": [ONE, np.ones((1, 2))]}, r"M\['node1'\]: expected a square matrix"),
        ({"M": [ONE, np.zeros((0, 0))]}, r"M\['node1'\]: expected a square matrix"),
        ({"M": [ONE, [[np.nan]]]}, r"M\['node1'\]: expected finite numbers, got nan"),
        ({"M": [ONE, [["x"]]]}, r"M\['node1'\]: expected an array of real numbers"),
        ({"M": [ONE, "x"]}, r"M\['node1'\]: expected an array of real numbers"),
        ({"M": [[[1.0, 2.0], [0.0, 1.0]], ONE]}, r"M\['node0'\]: expected a symmetric matrix"),
        ({"M": 3}, "M: expected a list"),
    ],
    ids=lambda x: None if isinstance(x, str) else "",
)
def test_what_is_wrong_is_named(change, text):
    given = {"parents": [-1, 0], "E": [None, ROW], "H": [ROW, ROW], "M": [ONE, ONE], **change}
    parents, e, h, m = (given.pop(n) for n in ("parents", "E", "H", "M"))
    with pytest.raises(ModelError, match=text):
        WeightedTree(parents, e, h, m, **given)


def test_unknown_nodes_are_named():
    with pytest.raises(UnknownNameError, match=r"node: .* got 'node9'"):
        numbered([-1, 0]).index("node9")
