import numpy as np
import pytest

from hinge.tree import WORLD, Tree, grouped

#: 0 carries 1, 4 and 5; 1 carries 2 and 3; 5 carries 6.
TREE = Tree((WORLD, 0, 1, 1, 0, 0, 5))


@pytest.mark.parametrize(
    ("together", "wanted"),
    [
        ([], [(0,), (1,), (2,), (3,), (4,), (5,), (6,)]),
        ([(2, 3)], [(0,), (1,), (2, 3), (4,), (5,), (6,)]),
        ([(1, 3)], [(0,), (1, 3), (2,), (4,), (5,), (6,)]),
        ([(2, 6)], [(0,), (1, 2, 5, 6), (3,), (4,)]),
        ([(0, 6)], [(0, 5, 6), (1,), (2,), (3,), (4,)]),
        ([(2, 4), (3, 6)], [(0,), (1, 2, 3, 4, 5, 6)]),
        ([(2, 3), (1, 4)], [(0,), (1, 4), (2, 3), (5,), (6,)]),
    ],
)
def test_the_smallest_sets(together, wanted):
    assert list(grouped(TREE, together)) == wanted


def test_roots_go_together_on_the_world():
    assert grouped(Tree((WORLD, 0, WORLD)), [(1, 2)]) == ((0, 1, 2),)


def test_what_is_left_is_a_tree():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 15))
        tree = Tree(tuple(int(rng.integers(-1, k)) for k in range(n)))
        sets = [rng.choice(n, size=min(n, 3), replace=False).tolist() for _ in range(int(rng.integers(0, 4)))]
        found = grouped(tree, sets)
        assert sorted(i for g in found for i in g) == list(range(n))
        at = {i: k for k, g in enumerate(found) for i in g}
        assert all(len({at[i] for i in s}) == 1 for s in sets)
        for k, group in enumerate(found):
            outside = {tree.parents[i] for i in group} - set(group)
            assert len(outside) == 1 and all(p == WORLD or at[p] < k for p in outside)
