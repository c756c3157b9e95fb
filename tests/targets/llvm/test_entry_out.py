"""Results in an array of the caller: the same checks as for inputs, and no number of an input in it."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict

import numpy as np
import pytest

from hinge.dynamics.results import Apart, filling
from hinge.targets.llvm import threads
from hinge.targets.llvm.entry import Dispatch
from tests.targets.llvm.entries import WIDTH, axpy, empty, growth, make, went_back
from tests.targets.llvm.test_entry import OTHERS, Vector


@pytest.fixture(scope="module")
def entry():
    return make(wide=axpy)


@pytest.fixture
def a():
    return np.array([1.0, -2.0, 3.5])


@pytest.fixture
def b():
    return np.array([0.25, 5.0, -7.0])


def test_one_state_is_written_into_the_array(entry, a, b):
    to = np.zeros(3)
    assert entry(a, b, out=to) is to
    np.testing.assert_array_equal(to, 2 * a + b)


@pytest.mark.parametrize("count", [1, 2, WIDTH, 5, 50, 300])
def test_batches_are_written_into_the_array(entry, count):
    x, y = np.random.default_rng(count).normal(size=(2, count, 3))
    to = np.full((count, 3), np.nan)
    assert entry(x, y, out=to) is to
    np.testing.assert_array_equal(to, 2 * x + y)
    entry(x, y[0], out=to)
    np.testing.assert_array_equal(to, 2 * x + y[0])


def test_parts_of_larger_arrays_are_written_alone(entry, a, b):
    whole = np.zeros((4, 3))
    entry(a, b, out=whole[2])
    np.testing.assert_array_equal(whole, [[0] * 3, [0] * 3, 2 * a + b, [0] * 3])
    rows = np.zeros((9, 3))
    x = np.arange(15.0).reshape(5, 3)
    entry(x, b, out=rows[2:7])
    np.testing.assert_array_equal(rows[2:7], 2 * x + b)
    assert not rows[:2].any() and not rows[7:].any()


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_what_is_no_plain_array_goes_to_the_fallback(entry, a, b, other):
    assert went_back(entry, a, b, out=other)


def test_arrays_of_another_shape_go_to_the_fallback(entry, a, b):
    x = np.zeros((5, 3))
    for shape in ((1, 3), (3, 1), (3, 3), (), (0,), (5, 3), (1, 1, 3)):
        assert went_back(entry, a, b, out=np.zeros(shape))
    for shape in ((3,), (4, 3), (6, 3), (5, 2), (15,), (5, 1, 3)):
        assert went_back(entry, x, b, out=np.zeros(shape))


def test_read_only_arrays_go_to_the_fallback(entry, a, b):
    to = np.zeros(3)
    to.flags.writeable = False
    assert went_back(entry, a, b, out=to)
    assert not to.any()


def test_memory_of_an_input_goes_to_the_fallback(entry, a, b):
    assert went_back(entry, a, b, out=a)
    assert went_back(entry, a, b, out=b)
    room = np.arange(30.0)
    for shift in (-2, -1, 0, 1, 2):
        assert went_back(entry, room[10:13], b, out=room[10 + shift : 13 + shift])
    x = np.arange(60.0).reshape(20, 3)
    assert went_back(entry, x[:10], b, out=x[9:19])
    assert went_back(entry, x[9:19], b, out=x[:10])
    assert went_back(entry, x[:10], x[3], out=x[3:13])
    np.testing.assert_array_equal(x.ravel(), np.arange(60.0))


def test_memory_beside_an_input_is_written(entry, b):
    room = np.arange(9.0)
    for shift in (-3, 3):
        np.testing.assert_array_equal(entry(room[3:6], b, out=room[3 + shift : 6 + shift]), 2 * room[3:6] + b)


def test_inputs_are_checked_as_without(entry, a, b):
    assert went_back(entry, a, b.astype(np.float32), out=np.zeros(3))
    assert went_back(entry, a, b.view(Vector), out=np.zeros(3))
    assert went_back(entry, a, out=np.zeros(3))
    assert went_back(entry, a, b, a, out=np.zeros(3))


def test_other_keywords_go_to_the_fallback(entry, a, b):
    assert went_back(entry, a, b, to=np.zeros(3))
    assert went_back(entry, a, b, out=np.zeros(3), more=1)
    assert went_back(entry, a, b=b, out=np.zeros(3))


def test_several_results_and_a_finish_go_to_the_fallback(a, b):
    assert went_back(make(outputs=((3,), (3,)), names=("c", "d")), a, b, out=np.zeros(3))
    assert went_back(make(finish=list), a, b, out=np.zeros(3))


def test_without_code_it_is_the_fallback(a, b):
    assert went_back(make(None), a, b, out=np.zeros(3))
    assert went_back(make(axpy), np.zeros((9, 3)), b, out=np.zeros((9, 3)))


def test_batches_for_threads_go_to_the_fallback_unless_there_is_one(a):
    entry = make(wide=axpy, most=20)
    x, to = np.ones((20, 3)), np.zeros((20, 3))
    try:
        threads.set_threads(2)
        assert went_back(entry, x, a, out=to)
        threads.set_threads(1)
        np.testing.assert_array_equal(entry(x, a, out=to), 2 * x + a)
    finally:
        threads.set_threads(None)


def test_results_without_numbers():
    to = np.empty((0, 4))
    assert make(empty, outputs=((0, 4),))(np.empty(3), np.empty(3), out=to) is to
    scalar = np.array(1.0)
    assert make(empty, outputs=((),))(np.empty(3), np.empty(3), out=scalar) is scalar


def test_references_and_memory_are_given_back(entry, a, b):
    to, x, many = np.zeros(3), np.ones((200, 3)), np.zeros((200, 3))

    def calls():
        entry(a, b, out=to)
        entry(x, b, out=many)
        entry(a, b, out=a)

    before = [sys.getrefcount(y) for y in (a, b, to, x, many, entry)]
    blocks, memory = growth(calls, 50_000)
    assert blocks < 500 and memory < 20_000_000
    assert [sys.getrefcount(y) for y in (a, b, to, x, many, entry)] == before


def test_threads_write_into_arrays_of_their_own(entry):
    wrong: list[int] = []

    def work(k):
        x, to = np.full((200, 3), float(k)), np.zeros((200, 3))
        for _ in range(2000):
            entry(x, x, out=to)
            if not (to == 3.0 * k).all():
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert wrong == []


# Dispatches.


class Subject:
    pass


def plain(subject, x, y, *, out=None):
    """Return 2 x + y."""
    return "plain", out


def test_a_dispatch_writes_into_the_array(a, b):
    dispatch, subject = Dispatch(plain, "plain(subject, x, y, *, out=None)\n--\n\nd"), Subject()
    dispatch.introduce(subject, make(wide=axpy))
    to, many = np.zeros(3), np.zeros((7, 3))
    assert dispatch.function(subject, a, b, out=to) is to
    np.testing.assert_array_equal(to, 2 * a + b)
    np.testing.assert_array_equal(
        dispatch.function(subject, many + a, b, out=many), np.tile(2 * a + b, (7, 1))
    )
    np.testing.assert_array_equal(dispatch.function(subject, a, b, out=None), 2 * a + b)


def test_a_dispatch_goes_to_its_own_fallback_with_an_array_that_does_not_fit(a, b):
    dispatch, subject = Dispatch(plain, "plain(subject, x, y, *, out=None)\n--\n\nd"), Subject()
    dispatch.introduce(subject, make(wide=axpy))
    for odd in (a, np.zeros(4), np.zeros(3, np.float32), [0.0] * 3, "text"):
        assert dispatch.function(subject, a, b, out=odd) == ("plain", odd)


def test_a_dispatch_without_the_keyword_refuses_it(a, b):
    def other(subject, x, y):
        return "other"

    dispatch, subject = Dispatch(other, "other(subject, x, y)\n--\n\nd"), Subject()
    dispatch.introduce(subject, make(wide=axpy))
    with pytest.raises(TypeError, match="out"):
        dispatch.function(subject, a, b, out=np.zeros(3))


# What is made of results.


def test_a_finish_makes_what_is_returned(a, b):
    one, many = make(finish=lambda x: ("made", x), wide=axpy), np.ones((9, 3))
    for x in (a, many):
        kind, found = one(x, b)
        assert kind == "made"
        np.testing.assert_array_equal(found, 2 * x + b)
    several = make(outputs=((3,), (3,)), names=("c", "d"), finish=sorted)
    assert several(a, b) == ["c", "d"]


class Filled:
    """Makes objects of its class in Python, which native code does by itself."""

    def __init__(self, fills):
        self.fills = fills

    def __call__(self, found):
        raise AssertionError("called")


class Holder:
    """An object that holds results."""


def test_a_class_is_filled_without_a_call(a, b):
    fast = make(outputs=((3,), (3,)), names=("c", "d"), finish=Filled(Holder))
    for _ in range(2):
        found = fast(a, b)
        assert type(found) is Holder and list(vars(found)) == ["c", "d"]
        found.more = 1.0
    assert vars(fast(a, b)).keys() == {"c", "d"}


def test_an_object_that_cannot_be_made_raises_what_python_says(a, b):
    fast = make(outputs=((3,), (3,)), names=("c", "d"), finish=Filled(int))
    with pytest.raises(TypeError, match=r"object.__new__"):
        fast(a, b)


def test_memory_is_flat_over_filled_objects(a, b):
    good, bad = (make(outputs=((3,), (20,)), names=("c", "d"), finish=Filled(x)) for x in (Holder, int))

    def both():
        good(a, b)
        with pytest.raises(TypeError):
            bad(a, b)

    blocks, memory = growth(both, 20_000)
    assert blocks < 500 and memory < 20_000_000


def test_what_a_finish_raises_comes_through(a, b):
    def refuse(found):
        raise LookupError("no")

    entry = make(finish=refuse, wide=axpy)
    for x in (a, np.ones((9, 3))):
        with pytest.raises(LookupError, match="no"):
            entry(x, b)


def test_memory_is_flat_over_finishes(a, b):
    entry = make(outputs=((3,), (20,)), names=("c", "d"), finish=lambda found: found["c"])
    blocks, memory = growth(lambda: entry(a, b), 100_000)
    assert blocks < 500 and memory < 20_000_000


# Several results.


class Results:
    """What holds results by their names."""


def two(**options):
    """Return an entry with c = 2 a + b, and d, which its kernel leaves as it is."""
    return make(wide=axpy, outputs=((3,), (2,)), names=("c", "d"), **options)


@pytest.mark.parametrize("count", [None, 1, WIDTH + 1])
@pytest.mark.parametrize("finish", [None, Apart(1), Apart(2), filling(Results)])
def test_several_arrays_are_written(finish, count, a, b):
    many = () if count is None else (count,)
    x = np.random.default_rng(1).normal(size=(*many, 3))
    to = {"d": np.full((*many, 2), 7.0), "c": np.zeros((*many, 3))}
    found = two(finish=finish)(x, b, out=to)
    kept = {"c": to["c"], "d": to["d"]}
    if finish is None:
        assert found is not to and list(found) == ["c", "d"]
        found = tuple(found.values())
    elif isinstance(finish, Apart):
        found = (found[0], found[1] if finish.apart == 2 else found[1]["d"])
    else:
        assert type(found) is Results
        found = tuple(vars(found).values())
    assert found[0] is kept["c"] and found[1] is kept["d"]
    np.testing.assert_array_equal(to["c"], 2 * x + b)
    assert (to["d"] == 7.0).all()


def test_objects_are_written_into_where_their_class_may_come(a, b):
    to = Results()
    to.c, to.d = np.zeros(3), np.zeros(2)
    found = two(finish=filling(Results, reused=True))(a, b, out=to)
    assert found is not to and vars(found) == vars(to)
    np.testing.assert_array_equal(to.c, 2 * a + b)
    assert went_back(two(finish=filling(Results)), a, b, out=to)
    del to.d
    assert went_back(two(finish=filling(Results, reused=True)), a, b, out=to)


def test_several_arrays_that_do_not_fit_go_to_the_fallback(a, b):
    c, d = np.zeros(3), np.zeros(2)
    whole = np.zeros(4)
    for entry in (two(), two(finish=Apart(1))):
        for out in (
            {}, {"c": c}, {"c": c, "x": d}, {"c": c, "d": d, "e": d}, {"c": c, "d": None}, {"c": d, "d": c},
            {"c": a, "d": d}, {"c": c, "d": b[1:]}, {"c": c, "d": c[:2]}, {"c": whole[:3], "d": whole[2:]},
            {"c": c, "d": d.astype(np.float32)}, {"c": c, "d": d[None]}, (c, d), c,
            OrderedDict(c=c, d=d),
        ):  # fmt: skip
            assert went_back(entry, a, b, out=out)
    assert went_back(two(finish=sorted), a, b, out={"c": c, "d": d})
    assert not c.any() and not d.any() and not whole.any()
    assert two()(a, b, out={"c": whole[:3], "d": whole[3:].repeat(2)})["c"].base is whole


def test_several_arrays_are_not_kept(a, b):
    entry, to = two(finish=Apart(1)), {"c": np.zeros(3), "d": np.zeros(2)}
    blocks, size = growth(lambda: entry(a, b, out=to), 20_000)
    assert blocks < 100 and size < 1 << 20
    array = to.pop("c")
    assert sys.getrefcount(array) == 2
