import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge.errors import ModelError
from hinge.tree import WORLD, Tree, base_first_order


@st.composite
def parent_arrays(draw, max_size=12):
    n = draw(st.integers(0, max_size))
    return tuple(draw(st.integers(WORLD, i - 1)) for i in range(n))


@st.composite
def shuffled_parents(draw):
    parents = draw(parent_arrays())
    label = draw(st.permutations(range(len(parents))))
    shuffled = [WORLD] * len(parents)
    for child, parent in enumerate(parents):
        shuffled[label[child]] = WORLD if parent == WORLD else label[parent]
    return shuffled


def ancestors(parents, body):
    """Return the body and everything that carries it, tip first."""
    return [] if body == WORLD else [body, *ancestors(parents, parents[body])]


@given(parent_arrays())
def test_children_are_the_bodies_with_this_parent(parents):
    t = Tree(parents)
    assert len(t) == len(parents)
    assert list(t.children) == [tuple(c for c, p in enumerate(parents) if p == b) for b in range(len(t))]


@given(parent_arrays())
def test_roots_leaves_and_depth(parents):
    t = Tree(parents)
    assert t.roots == tuple(i for i, p in enumerate(parents) if p == WORLD)
    assert t.leaves == tuple(i for i in range(len(t)) if not t.children[i])
    assert list(t.depth) == [len(ancestors(parents, i)) for i in range(len(t))]


@given(parent_arrays())
def test_support_runs_from_the_root_to_the_body(parents):
    t = Tree(parents)
    assert t.support(WORLD) == ()
    for i in range(len(t)):
        assert list(t.support(i)) == ancestors(parents, i)[::-1]


@given(parent_arrays())
def test_subtree_holds_the_bodies_that_are_supported(parents):
    t = Tree(parents)
    for i in range(len(t)):
        assert t.subtree(i) == tuple(j for j in range(len(t)) if i in t.support(j))


@given(parent_arrays())
def test_common_ancestor_is_the_deepest_shared_support(parents):
    t = Tree(parents)
    for a in range(WORLD, len(t)):
        for b in range(WORLD, len(t)):
            shared = set(t.support(a)) & set(t.support(b))
            assert t.common_ancestor(a, b) == max(shared, default=WORLD)


@given(parent_arrays())
def test_path_goes_up_from_a_and_down_to_b(parents):
    t = Tree(parents)
    for a in range(WORLD, len(t)):
        for b in range(WORLD, len(t)):
            path = t.path(a, b)
            up = [i for i in ancestors(parents, a) if i not in t.support(b)]
            down = [i for i in t.support(b) if i not in t.support(a)]
            assert list(path) == up + down
            assert t.path(b, a) == path[::-1]


@given(parent_arrays())
def test_runs_are_maximal_chains_that_hold_each_body_once(parents):
    t = Tree(parents)
    assert sorted(b for run in t.runs for b in run) == list(range(len(t)))
    for run in t.runs:
        for inner, outer in pairwise(run):
            assert t.children[inner] == (outer,)
        assert len(t.children[run[-1]]) != 1
        assert parents[run[0]] == WORLD or len(t.children[parents[run[0]]]) > 1


@given(parent_arrays())
def test_serial_is_one_run_from_one_root(parents):
    t = Tree(parents)
    assert t.is_serial == (len(t.runs) <= 1)


@pytest.mark.parametrize("parents", [(0,), (-2,), (-1, 1), (-1, 2, 0), (-1, 5)])
def test_a_parent_numbered_above_its_child_is_refused(parents):
    child = next(i for i, p in enumerate(parents) if not WORLD <= p < i)
    with pytest.raises(ModelError, match=rf"^parents\[{child}\]: expected .*, got {parents[child]}\b"):
        Tree(parents)


def test_a_tree_is_a_value():
    assert Tree((-1, 0)) == Tree((-1, 0)) and hash(Tree((-1, 0))) == hash(Tree((-1, 0)))
    with pytest.raises(AttributeError):
        Tree((-1,)).parents = ()


@given(shuffled_parents())
def test_base_first_order_is_a_permutation_with_parents_first(parents):
    order = base_first_order(parents)
    assert sorted(order) == list(range(len(parents)))
    place = {body: k for k, body in enumerate(order)}
    assert all(p == WORLD or place[p] < place[c] for c, p in enumerate(parents))


@given(shuffled_parents())
def test_base_first_order_is_depth_first_and_keeps_siblings_in_order(parents):
    def visit(body):
        return [body, *(d for c in range(len(parents)) if parents[c] == body for d in visit(c))]

    assert list(base_first_order(parents)) == visit(WORLD)[1:]


@given(shuffled_parents())
def test_sorting_makes_a_tree_of_the_same_shape(parents):
    order = base_first_order(parents)
    place = {WORLD: WORLD} | {body: k for k, body in enumerate(order)}
    t = Tree(tuple(place[parents[b]] for b in order))
    assert sorted(t.depth) == sorted(len(ancestors(parents, b)) for b in range(len(parents)))


@settings(max_examples=50)
@given(parent_arrays(max_size=8), st.integers(1, 5), st.data())
def test_a_cycle_is_refused_with_its_members(parents, size, data):
    n = len(parents)
    ring = list(range(n, n + size))
    hanging = data.draw(st.sampled_from(ring))
    looped = [*parents, *ring[1:], ring[0], hanging]
    with pytest.raises(ModelError, match=re.escape(f"{ring} form a loop")):
        base_first_order(looped)


@pytest.mark.parametrize(("parents", "member"), [([0], 0), ([1, 0], 0), ([-1, 2, 1], 1)])
def test_a_loop_names_its_bodies(parents, member):
    with pytest.raises(ModelError, match=rf"\b{member}\b.*loop"):
        base_first_order(parents)


@pytest.mark.parametrize("parents", [[-2], [-1, 2], [-1, 0, 99]])
def test_an_unknown_parent_is_refused_with_its_place(parents):
    child = next(i for i, p in enumerate(parents) if not WORLD <= p < len(parents))
    with pytest.raises(ModelError, match=rf"^parents\[{child}\]: expected .*, got {parents[child]}\b"):
        base_first_order(parents)


def test_a_long_chain_does_not_exhaust_the_stack():
    n = 20_000
    assert base_first_order([*range(1, n), WORLD]) == tuple(range(n - 1, -1, -1))
    assert Tree(tuple(range(-1, n - 1))).is_serial
