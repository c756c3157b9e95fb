from __future__ import annotations

import gc
import inspect
import pickle
import sys
import weakref

import numpy as np
import pytest

from hinge.targets.llvm.entry import Dispatch
from hinge.targets.llvm.trampoline_dispatch import ROWS
from tests.targets.llvm.entries import growth, make


class Subject:
    """Something that can be introduced."""


def plain(subject, x, y, *, scale=1.0):
    """Return 2 x + y, scaled."""
    return ("plain", subject, x, y, scale)


X, Y = np.arange(3.0), np.ones(3)


@pytest.fixture
def dispatch():
    return Dispatch(plain, "plain(subject, x, y, *, scale=1.0)\n--\n\nReturn 2 x + y, scaled.")


def test_a_dispatch_goes_to_the_entry_of_a_subject_that_it_knows(dispatch):
    known, stranger = Subject(), Subject()
    entry = make(fallback=lambda *a: a)
    assert dispatch.function(known, X, Y) == ("plain", known, X, Y, 1.0)
    dispatch.introduce(known, entry)
    np.testing.assert_array_equal(dispatch.function(known, X, Y), 2 * X + Y)
    assert dispatch.function(stranger, X, Y) == ("plain", stranger, X, Y, 1.0)
    assert dispatch.function(known, X, Y, scale=2.0) == ("plain", known, X, Y, 2.0)
    assert dispatch.function(known, "odd", Y) == ("odd", Y)
    for args in ((), (known,), (known, X), (known, X, Y, Y)):
        with pytest.raises(TypeError):
            dispatch.function(*args)
    dispatch.forget()
    assert dispatch.function(known, X, Y) == ("plain", known, X, Y, 1.0)


def test_a_dispatch_keeps_what_it_knows_and_drops_what_it_replaces(dispatch):
    entry = make(fallback=lambda *a: a)
    subjects = [Subject() for _ in range(3 * ROWS)]
    alive = [weakref.ref(s) for s in subjects]
    for s in subjects:
        dispatch.introduce(s, entry)
    del subjects, s
    gc.collect()
    assert [r() is not None for r in alive] == [False] * 2 * ROWS + [True] * ROWS
    for r in alive[-ROWS:]:
        np.testing.assert_array_equal(dispatch.function(r(), X, Y), 2 * X + Y)
    dispatch.forget()
    gc.collect()
    assert all(r() is None for r in alive)


def test_what_is_no_entry_is_not_introduced(dispatch):
    subject = Subject()
    dispatch.introduce(subject, plain)
    assert dispatch.function(subject, 1, 2)[0] == "plain"


def test_a_dispatch_shows_the_signature_and_pickles_as_what_its_module_has(dispatch):
    assert list(inspect.signature(dispatch.function).parameters) == ["subject", "x", "y", "scale"]
    assert dispatch.function.__doc__ == "Return 2 x + y, scaled."
    assert pickle.loads(pickle.dumps(dispatch.function)) is plain


# Choices.


def chosen(subject, x, y, way=None, *, axes="own", scale=1.0):
    """Return what was chosen."""
    return ("plain", way, axes, scale)


@pytest.fixture
def choosing():
    """Return a dispatch, and a subject that it knows the ways of: each entry falls back to their names."""
    found, subject = Dispatch(chosen, "doc", ("way", "axes")), Subject()
    for way in ("left", "right", None):
        for axes in ("own", "world"):
            found.introduce(subject, make(fallback=lambda *a, w=way, s=axes: (w, s)), way, axes)
    return found.function, subject


def letters(text):
    """Return a text of the same letters that is another object."""
    return "".join(list(text))


def test_choices_come_by_position_by_name_or_not_at_all(choosing):
    f, s = choosing
    odd = [1.0]
    assert f(s, odd, Y) == (None, "own")
    assert f(s, odd, Y, "left") == ("left", "own") == f(s, odd, Y, way="left")
    assert f(s, odd, Y, axes="world") == (None, "world")
    assert f(s, odd, Y, "right", axes="world") == ("right", "world")
    assert f(s, odd, Y, way="right", axes="world") == f(s, odd, Y, axes="world", way="right")
    assert f(s, odd, Y, None, axes="own") == (None, "own")
    np.testing.assert_array_equal(f(s, X, Y, "left", axes="world"), 2 * X + Y)


def test_texts_of_the_same_letters_are_the_same_choice(choosing):
    f, s = choosing
    left, world = letters("left"), letters("world")
    assert left is not sys.intern("left")
    assert f(s, 0, Y, left) == ("left", "own")
    assert f(s, 0, Y, left, axes=world) == ("left", "world") == f(s, 0, Y, "left", axes=world)


class Text(str):
    __slots__ = ()

    def __eq__(self, other):
        raise AssertionError("code of the user's ran")

    __hash__ = str.__hash__


OTHERS = [
    "lef", "leftt", "", "l\u00e9ft", "\U0001f916", "\udc80", Text("left"), np.str_("left"), b"left", 3, 3.5,
    X, ["left"], ("left",), {"left"}, object(), str, Subject, ..., True, float("nan"),
]  # fmt: skip


@pytest.mark.parametrize("way", OTHERS, ids=lambda x: type(x).__name__)
def test_other_choices_go_to_the_fallback(choosing, way):
    f, s = choosing
    for found in (f(s, X, Y, way), f(s, X, Y, way=way)):
        assert found[0] == "plain" and found[1] is way and found[2:] == ("own", 1.0)
    assert f(s, X, Y, axes=way)[2] is way


def test_other_names_and_numbers_of_arguments_go_to_the_fallback(choosing):
    f, s = choosing
    assert f(s, X, Y, "left", scale=2.0) == ("plain", "left", "own", 2.0)
    assert f(s, X, y=Y) == ("plain", None, "own", 1.0)
    assert f(subject=s, x=X, y=Y, way="left") == ("plain", "left", "own", 1.0)
    assert f(s, X, Y, **{letters("way"): "left"})[0] in ("plain", 2 * X[0] + Y[0])
    for args, names in (
        ((s, X, Y, "left"), {"way": "left"}),
        ((s, X, Y, "left", "own"), {}),
        ((s, X), {"way": "left"}),
        ((s,), {}),
        ((), {"axes": "own"}),
        ((s, X, Y), {"ways": "left"}),
    ):
        with pytest.raises(TypeError, match="argument"):
            f(*args, **names)


def test_a_choice_without_default_must_come():
    def needs(subject, x, y, way):
        return "plain", way

    d, s = Dispatch(needs, "doc", ("way",)), Subject()
    d.introduce(s, make(fallback=lambda *a: a), "left")
    np.testing.assert_array_equal(d.function(s, X, Y, "left"), 2 * X + Y)
    np.testing.assert_array_equal(d.function(s, X, Y, way="left"), 2 * X + Y)
    assert d.function(s, X, Y, None) == ("plain", None)
    with pytest.raises(TypeError, match="argument"):
        d.function(s, X, Y)


def test_only_plain_texts_are_introduced():
    d, s = Dispatch(chosen, "doc", ("way", "axes")), Subject()
    for way in (Text("left"), np.str_("left"), ["left"], 3):
        d.introduce(s, make(), way, "own")
        assert d.function(s, X, Y, way) == ("plain", way, "own", 1.0) or isinstance(way, Text)


def test_choices_are_kept_and_references_given_back():
    d, s = Dispatch(chosen, "doc", ("way", "axes")), Subject()
    ways = [letters(f"way {k}") for k in range(2 * ROWS)]
    for way in ways:
        d.introduce(s, make(), way, "own")
    del ways, way
    gc.collect()
    way, other = letters(f"way {2 * ROWS - 1}"), object()

    def call():
        assert d.function(s, X, Y, way).shape == (3,)
        assert d.function(s, X, Y, way=way, axes="own").shape == (3,)
        d.function(s, X, Y, "way 0", axes=other)

    call()
    before = [sys.getrefcount(x) for x in (s, X, Y, way, other)]
    assert growth(call, 4_000)[0] < 500
    assert [sys.getrefcount(x) for x in (s, X, Y, way, other)] == before
