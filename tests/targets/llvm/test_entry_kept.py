"""Arrays of earlier results that an entry takes again: only where nobody can see them any more."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from tests.targets.llvm.entries import WIDTH, axpy, empty, make

A, B = np.array([1.0, -2.0, 3.5]), np.array([0.25, 5.0, -7.0])
GIVEN = [(k * A, B) for k in range(6)]


def several(**options: Any):
    """Return an entry with 2 a + b as `c`, and with a result that the kernel does not fill."""
    return make(axpy, outputs=((3,), (2, 2)), names=("c", "d"), wide=axpy, **options)


def sums(given=GIVEN):
    return [2 * a + b for a, b in given]


def place(x):
    return x.ctypes.data


def test_arrays_that_nobody_has_are_taken_again():
    entry, places = several(), {"c": set[int](), "d": set[int]()}
    for a, b in GIVEN:
        found = entry(a, b)  # while it runs, the one before is still there
        np.testing.assert_array_equal(found["c"], 2 * a + b)
        for name, x in found.items():
            assert x.flags.owndata and x.flags.writeable and x.base is None
            places[name].add(place(x))
    assert all(len(x) == 2 for x in places.values())


def test_results_that_are_kept_stay():
    entry = several()
    found = [entry(a, b) for a, b in GIVEN]
    arrays = [x for f in found for x in f.values()]
    assert len(set(map(place, arrays))) == len(set(map(id, arrays))) == 2 * len(GIVEN)
    np.testing.assert_array_equal([f["c"] for f in found], sums())
    some = [entry(a, b)["c"] for a, b in GIVEN]
    np.testing.assert_array_equal(some, sums())
    np.testing.assert_array_equal([f["c"] for f in found], sums())


SEEN = {
    "slice": lambda x: x[1:],
    "view": lambda x: x.view(np.int64).view(np.float64)[1:],
    "transposed": lambda x: x.T[1:],
    "iterator": lambda x: x.flat,
    "buffer": lambda x: memoryview(x)[1:],
    "exchanged": lambda x: np.from_dlpack(x)[1:],
    "object": lambda x: x.ctypes,
}


@pytest.mark.parametrize("how", SEEN)
def test_what_looks_into_an_array_keeps_it(how):
    entry = several()
    x = entry(A, B)["c"]
    seen, where = SEEN[how](x), place(x)
    del x
    later = [entry(a, b) for _ in range(3) for a, b in GIVEN]
    assert seen is not None and where not in {place(f["c"]) for f in later}


def change(x, **attributes):
    for name, value in attributes.items():
        setattr(x, name, value)


CHANGED = {
    "shape": lambda x: change(x, shape=(3, 1)),
    "axis": lambda x: change(x, shape=(1, 3)),
    "type": lambda x: change(x, dtype=np.int64),
    "order": lambda x: change(x, dtype=x.dtype.newbyteorder()),
    "size": lambda x: x.resize((5,), refcheck=False),
    "read-only": lambda x: x.setflags(write=False),
}


@pytest.mark.parametrize("how", CHANGED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_array_that_was_changed_is_not_taken(how):
    entry = several()
    for a, b in 3 * GIVEN:
        found = entry(a, b)["c"]
        assert found.shape == (3,) and found.dtype is np.dtype(np.float64) and found.flags.writeable
        np.testing.assert_array_equal(found, 2 * a + b)
        CHANGED[how](found)


def test_weak_references_keep_arrays_and_run_nothing_in_a_call():
    entry, called = several(), list[int]()
    inputs = A.copy()

    def spoil(_):
        called.append(1)
        inputs[:] = np.nan

    watched = [weakref.ref(entry(inputs, B)["c"], spoil)]
    watched.append(weakref.ref(entry(inputs, B)["c"], spoil))
    for _ in range(5):
        np.testing.assert_array_equal(entry(inputs, B)["c"], 2 * A + B)
        np.testing.assert_array_equal([w() for w in watched], [2 * A + B] * 2)
    assert not called
    del entry
    gc.collect()
    assert all(w() is None for w in watched) and called, "they go with their entry"


def test_results_of_a_batch_and_large_ones_are_not_kept():
    many = np.tile(A, (WIDTH + 1, 1))
    for entry, given in ((several(), many), (make(empty, outputs=((3,), (1 << 15,)), names=("c", "d")), A)):
        found = entry(given, B)
        assert all(sys.getrefcount(x) == 3 for x in found.values())


def test_objects_of_results_have_arrays_of_their_own():
    class Result:
        c: np.ndarray
        d: np.ndarray

    finish = lambda found: found  # noqa: E731
    finish.fills = Result
    entry = several(finish=finish)
    found = [entry(a, b) for a, b in GIVEN]
    assert {type(x) for x in found} == {Result} and list(vars(found[0])) == ["c", "d"]
    np.testing.assert_array_equal([x.c for x in found], sums())
    del found[0].c
    assert list(vars(entry(A, B))) == ["c", "d"], "names are those of the next, too"


def test_threads_do_not_share_arrays():
    entry, wrong = several(), list[Any]()

    def work(seed):
        rng, before = np.random.default_rng(seed), (A, 3 * A)
        for _ in range(500):
            a = rng.normal(size=3)
            found = entry(a, a)["c"]
            if not ((found == 3 * a).all() and (before[1] == 3 * before[0]).all()):
                wrong.append(seed)
            before = a, found

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
