"""Fronts: arguments by position and by name go to an entry in its order, or to the fallback as they came."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from hinge.dynamics.results import Apart
from hinge.targets import Way
from hinge.targets.llvm import entry as module
from hinge.targets.llvm.entry import front
from tests.targets.llvm.entries import axpy, growth, make, marked, went_back

A, B = np.array([1.0, -2.0, 3.5]), np.array([0.25, 5.0, -7.0])
ZERO = np.zeros(3)
#: The second argument is a, which is the first unless b comes by its name.
WAY = Way(((1, None, None), (0, "b", None)), 1, 2)
#: a by position or by its name, b by its name or zero.
NAMED = Way(((0, "a", None), (-1, "b", ZERO)), 1, 1, out=True)


def of(way, entry=None):
    return front(make(wide=axpy) if entry is None else entry, marked, way)


def test_arguments_are_put_in_order():
    np.testing.assert_array_equal(of(WAY)(B, A), 2 * A + B)
    f = of(NAMED)
    np.testing.assert_array_equal(f(A, b=B), 2 * A + B)
    np.testing.assert_array_equal(f(A), 2 * A)
    np.testing.assert_array_equal(f(np.stack([A, B]), b=B), [2 * A + B, 3 * B])


def test_arrays_for_results():
    f, to = of(NAMED), np.zeros(3)
    assert f(A, out=to, b=B) is to
    np.testing.assert_array_equal(to, 2 * A + B)
    np.testing.assert_array_equal(f(A, b=B, out=None), 2 * A + B)
    assert went_back(f, A, b=B, out=A)
    assert went_back(of(NAMED._replace(out=False)), A, b=B, out=to)


@pytest.mark.parametrize(
    ("way", "args", "kwargs"),
    [
        (WAY, (), {}),
        (WAY, (A,), {}),
        (WAY, (A, B, A), {}),
        (WAY, (A,), {"b": B}),
        (WAY, (A, B), {"b": B}),
        (WAY, (A, None), {}),
        (NAMED, (A, B), {}),
        (NAMED, (), {"a": A, "b": B}),
        (NAMED, (A,), {"a": A}),
        (NAMED, (A,), {"c": A}),
        (NAMED, (A,), {"b": None}),
        (NAMED, (A,), {"b": B, "c": A, "out": ZERO}),
    ],
)
def test_what_does_not_fit_goes_to_the_fallback(way, args, kwargs):
    assert went_back(of(way), *args, **kwargs)


def test_what_an_entry_refuses_goes_to_its_own_fallback():
    f = of(NAMED)
    found = f(A, b=[1, 2, 3])
    assert found[0] == "fallback" and found[1][0] is A and not found[2]


def test_without_native_functions_it_is_the_fallback(monkeypatch):
    assert front(marked, marked, WAY) is marked
    entry = make()
    monkeypatch.setattr(module, "trampoline", lambda: None)
    assert front(entry, marked, WAY) is marked


@pytest.mark.parametrize("apart", [1, 2])
def test_results_that_stand_apart(apart):
    names, shapes = ("x", "y", "z"), ((3,), (2,), (1, 2))
    finish = Apart(apart)
    found = make(outputs=shapes, names=names, finish=finish)(A, B)
    assert type(found) is tuple and len(found) == apart + 1
    assert [x.shape for x in (*found[:apart], *found[-1].values())] == list(shapes)
    assert list(found[-1]) == list(names[apart:])
    np.testing.assert_array_equal(found[0], 2 * A + B)
    python = finish(dict(zip(names, shapes, strict=True)))
    assert python == (*shapes[:apart], dict(zip(names[apart:], shapes[apart:], strict=True)))


def test_all_results_stand_apart():
    found = make(outputs=((3,), (2,)), names=("x", "y"), finish=Apart(2))(A, B)
    assert type(found) is tuple and [x.shape for x in found] == [(3,), (2,)]
    assert Apart(2)({"x": A, "y": B}) == (A, B)


def test_nothing_is_kept():
    several = of(WAY, make(outputs=((3,), (2,)), names=("x", "y"), finish=Apart(1)))
    blocks, size = growth(lambda: several(B, A), 20_000)
    assert blocks < 100 and size < 1 << 20
    entry = make()

    class Fallback:
        def __call__(self):
            return None

    fallback = Fallback()
    seen, f = weakref.ref(fallback), front(entry, fallback, WAY)
    del fallback
    gc.collect()
    assert seen() is not None and f() is None
    del f
    gc.collect()
    assert seen() is None
