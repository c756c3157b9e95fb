from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from hinge.targets.llvm import threads
from hinge.targets.llvm.entry import Dispatch, make_entry
from tests.targets.llvm.entries import WIDTH, Kernel, address, axpy, empty, growth, kernels, make, went_back

rng = np.random.default_rng(1)


@pytest.fixture(scope="module")
def entry():
    return make(wide=axpy)


@pytest.fixture(autouse=True)
def several_threads():
    threads.set_threads(2)
    yield
    threads.set_threads(None)


def rows(count, n=3):
    return rng.standard_normal((count, n))


@pytest.mark.parametrize("count", [1, 2, WIDTH - 1, WIDTH, WIDTH + 1, 99, 100, 1000])
def test_batches_are_new_arrays(entry, count):
    a, b = rows(count), rows(count)
    found, again = entry(a, b), entry(a, b)
    assert type(found) is np.ndarray and found.shape == (count, 3) and found.dtype is np.dtype(float)
    assert found.flags.owndata and found.flags.writeable and found.flags.c_contiguous
    assert not np.shares_memory(found, again) and sys.getrefcount(found) == 2
    np.testing.assert_array_equal(found, 2 * a + b)
    np.testing.assert_array_equal(entry(a, b[0]), 2 * a + b[0])
    np.testing.assert_array_equal(entry(a[0], b), 2 * a[0] + b)
    np.testing.assert_array_equal(entry(a[0], b[0]), 2 * a[0] + b[0])


def test_views_and_read_only_arrays_are_fast(entry):
    a = rows(9)
    a.flags.writeable = False
    np.testing.assert_array_equal(entry(a[2:8], a[2:8]), 3 * a[2:8])
    np.testing.assert_array_equal(entry(a, a), 3 * a)


class Vector(np.ndarray):
    pass


def misaligned(count):
    return np.zeros(24 * count + 1, np.uint8)[1:].view(float).reshape(count, 3)


OTHERS = {
    "another size": rows(6),
    "one row": rows(1),
    "no rows": np.zeros((0, 3)),
    "another length": rows(5, 2),
    "a vector of another length": np.zeros(4),
    "as many numbers": np.zeros(15),
    "two batches": np.zeros((5, 1, 3)),
    "a number": np.array(1.0),
    "columns": rows(3, 5).T,
    "every other row": rows(10)[::2],
    "every other number": rows(5, 6)[:, ::2],
    "reversed": rows(5)[::-1],
    "broadcast": np.broadcast_to(np.zeros(3), (5, 3)),
    "misaligned": misaligned(5),
    "subclass": rows(5).view(Vector),
    "masked": np.ma.zeros((5, 3)),
    "float32": rows(5).astype("f4"),
    "swapped": rows(5).astype(">f8"),
    "int": np.zeros((5, 3), int),
    "object": np.zeros((5, 3), object),
    "list": rows(5).tolist(),
    "none": None,
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_other_arguments_go_to_the_fallback(entry, other):
    assert went_back(entry, rows(5), other)
    assert went_back(entry, other, rows(5))


def test_keywords_and_other_numbers_of_arguments_go_to_the_fallback(entry):
    a = rows(5)
    assert went_back(entry, a, b=a)
    assert went_back(entry, a, a, out=a)
    assert went_back(entry, a)
    assert went_back(entry, a, a, a)


def test_what_there_is_no_kernel_for_goes_to_the_fallback():
    shared = kernels()
    entry = make_entry(shared, (3, 3), ((3,),), ("c",), lambda *a: "fallback", name="f", doc="")
    sizes = {"state": rows(1)[0], "small": rows(WIDTH - 1), "wide": rows(WIDTH)}

    def slow():
        return [n for n, x in sizes.items() if type(entry(x, x)) is str]

    assert slow() == ["state", "small", "wide"]
    shared.set_wide(axpy, 0)
    assert slow() == ["state", "small"]
    shared.set_one(axpy, 0)
    assert slow() == []


def test_the_kernels_see_their_arguments():
    seen: list[Any] = []

    def kernel(name):
        def run(inputs, strides, outputs, scratch, start, stop):
            space = (ctypes.c_double * 1000).from_address(scratch)
            space[0] = space[999] = 1.0
            outputs[1][stop * 6 - 1] = 8.0
            seen.append((name, strides[:4], scratch % 64, start, stop))

        return Kernel(run)

    one, wide = kernel("one"), kernel("wide")
    entry = make(address(one), (2, 4), ((), (2, 3)), ("e", "m"), 1000, wide=address(wide), long=9, most=20)
    for count in (1, WIDTH - 1, WIDTH, 9, 19):
        found = entry(rows(count, 2), np.zeros(4))
        assert found["e"].shape == (count,) and found["m"].shape == (count, 2, 3)
        assert found["m"][-1, 1, 2] == 8.0 and list(found) == ["e", "m"]
    assert [(s[0], s[4]) for s in seen] == [
        ("one", 1), ("one", WIDTH - 1), ("wide", WIDTH), ("wide", 9), ("wide", 19),
    ]  # fmt: skip
    assert {(tuple(s[1]), s[2], s[3]) for s in seen} == {((2, 0, 1, 6), 0, 0)}
    assert went_back(entry, rows(20, 2), np.zeros(4))


def test_long_work_leaves_the_gil_to_others():
    inside, outside = threading.Event(), threading.Event()

    @Kernel
    def wide(*args):
        inside.set()
        waited.append(outside.wait(20))

    waited: list[bool] = []
    entry = make(empty, wide=address(wide), long=WIDTH)
    caller = threading.Thread(target=lambda: entry(rows(WIDTH), rows(WIDTH)))
    caller.start()
    assert inside.wait(20)
    outside.set()
    caller.join(20)
    assert waited == [True]


def test_an_entry_lives_until_its_last_call_ends():
    seen: list[bool] = []

    @Kernel
    def wide(inputs, strides, outputs, scratch, start, stop):
        dispatch.forget()
        gc.collect()
        seen.append(dead() is None)
        outputs[0][0] = 5.0

    def fallback(*args):
        return None

    def verb(subject, a, b):
        return None

    dispatch, subject = Dispatch(verb, "doc"), object()
    dispatch.introduce(subject, make(empty, wide=address(wide), long=0, fallback=fallback))
    dead = weakref.ref(fallback)
    del fallback
    assert dispatch.function(subject, rows(9), rows(9))[0, 0] == 5.0
    gc.collect()
    assert seen == [False] and dead() is None


def test_impossible_sizes_raise_and_drop_what_was_made():
    entry = make(empty, outputs=((200,), (2**57,)), names=("x", "y"), wide=empty)

    def fail():
        with pytest.raises((MemoryError, ValueError)):
            entry(rows(5), rows(5))

    assert growth(fail, 2000)[0] < 500


def test_no_work_space_goes_to_the_fallback():
    entry = make(empty, scratch=0, wide=None)
    entry.__self__[3].set_wide(empty, 2**59)
    assert went_back(entry, rows(5), rows(5))


@pytest.mark.parametrize("count", [2, 9, 200])
@pytest.mark.parametrize("several", [False, True])
def test_memory_is_flat_and_references_are_given_back(count, several):
    outputs = {"outputs": ((3,), (4, 4)), "names": ("c", "d")} if several else {}
    entry = make(scratch=100, wide=axpy, **outputs)
    a, b, one, odd = rows(count), rows(count), rows(1)[0], rows(count + 1)

    def call():
        entry(a, b)
        entry(a, one)
        entry(a, odd)

    def counts():
        return [sys.getrefcount(x) for x in (a, b, one, odd, entry, entry.__self__, np.ndarray)]

    call()
    before = counts()
    blocks, memory = growth(call, 4_000)
    assert counts() == before
    assert blocks < 500 and memory < 20_000_000


@pytest.mark.parametrize("long", [0, 10**9])
def test_threads_share_an_entry(long):
    entry, wrong = make(scratch=10, wide=axpy, long=long), []

    def work(k):
        x, y = np.full((50, 3), float(k)), np.full((2, 3), float(k))
        for _ in range(3000):
            wrong.extend(k for z in (entry(x, x), entry(y, y[0])) if not (z == 3.0 * k).all())

    callers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for c in callers:
        c.start()
    for c in callers:
        c.join()
    assert wrong == []


def test_one_thread_is_asked_for():
    entry = make(wide=axpy, most=10)
    for n in (2, 1, 2):
        threads.set_threads(n)
        if n == 1:
            assert entry(rows(10), rows(10)).shape == (10, 3)
        else:
            assert went_back(entry, rows(10), rows(10))
