"""Pieces of code as one: what one gives is what the next takes, with zeros and signs, and nothing dead."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.sweeps import Call, Joined, Slot, verify_code
from hinge.targets import NumpyProgram, Traced
from hinge.targets.registry import TARGETS

ROBOT = hinge.robots.double_pendulum()
NOTHING = np.zeros(0, dtype=object)


def inverse_of_forward():
    whole, verbs = Joined(), ("inverse_dynamics", "kinetic_energy")
    q, qd, tau = (whole.input(n, 2) for n in ("q", "qd", "tau"))
    fd = hinge.compile("forward_dynamics", ROBOT).code
    (qdd,) = whole.add(fd, {"q": q, "qd": qd, "tau": tau, "f_ext": NOTHING}).values()
    both = hinge.compile({n: hinge.dynamics.expression(n).expressions[n] for n in verbs}, ROBOT).code
    return whole, whole.add(both, {"q": q, "qd": qd, "qdd": qdd, "f_ext": NOTHING}), qdd


@pytest.mark.parametrize("target", ["numpy", "U", "H", "R"])
def test_inverse_after_forward_dynamics_is_the_identity(target):
    whole, found, qdd = inverse_of_forward()
    turned = whole.apply(lambda x: -x, qdd)
    calls = [len(whole.code({"x": x}).calls) for x in (qdd, turned)]
    assert calls[0] == calls[1]  # a sign is no call
    code = whole.code({"again": found["inverse_dynamics"], "qdd": qdd, "back": turned})
    verify_code(code)
    program = NumpyProgram(code) if target == "numpy" else TARGETS["llvm"].build(Traced(code), shape=target)
    x = {n: np.random.default_rng(0).standard_normal((5, 2)) for n in ("q", "qd", "tau")}
    shown = program(x)
    assert np.abs(shown["again"] - x["tau"]).max() < 1e-13
    assert np.array_equal(shown["back"], -shown["qdd"])
    assert np.abs(shown["qdd"] - hinge.forward_dynamics(ROBOT, **x)).max() < 1e-13


def test_what_no_result_needs_is_left_out():
    whole, found, _ = inverse_of_forward()
    every = whole.code({n: x.reshape(-1) for n, x in found.items()})
    some = whole.code({"energy": found["kinetic_energy"].reshape(-1)})
    for code in (every, some):
        verify_code(code)
    assert some.operations().total < every.operations().total / 2


def test_numbers_are_folded():
    whole = Joined()
    x = whole.input("x", 2)
    given = np.array([x[0], 3.0, 0.0, Slot(x[1].index, True)], dtype=object)
    shown = whole.apply(
        lambda v: np.array([v[0] * v[2], v[1] * v[1], v[3] * v[0], v[3]], dtype=object), given
    )
    assert shown[0] == 0.0 and shown[1] == 9.0 and shown[3] == Slot(x[1].index, True)
    code = whole.code({"y": shown})
    verify_code(code)
    assert len(code.calls) == 1 and isinstance(code.calls[0], Call)
    assert np.array_equal(NumpyProgram(code)({"x": np.array([2.0, 5.0])})["y"], [0, 9, -10, -5])


@pytest.mark.parametrize("target", ["numpy", "U", "H", "R"])
def test_products_and_sums_of_matrices_with_known_entries(target):
    rng = np.random.default_rng(1)
    whole, size = Joined(), 11
    given = {"a": whole.input("a", size * size), "b": whole.input("b", size * size)}
    h = whole.input("h", 1)
    left, right = (x.reshape(size, size).copy() for x in given.values())
    x = {n: rng.standard_normal((3, len(s))) for n, s in (*given.items(), ("h", h))}
    a, b = (x[n].reshape(3, size, size).copy() for n in "ab")
    for known, k in ((0.0, 2), (1.0, 5), (-2.5, 7)):
        left[k, 3:], a[:, k, 3:] = known, known
        right[:4, k], b[:, :4, k] = known, known
    for i, j in ((0, 0), (6, 3)):
        left[i, j], a[:, i, j] = Slot(left[i, j].index, True), -a[:, i, j]
    product = whole.multiply(left, right)
    moved = whole.each(lambda x, y, h: x + h * y, [left, product], h)
    kept = whole.each(lambda x, _, h: x, [left, product], h)
    code = whole.code({"product": product, "moved": moved, "kept": kept})
    verify_code(code)
    program = NumpyProgram(code) if target == "numpy" else TARGETS["llvm"].build(Traced(code), shape=target)
    shown = program(x)
    assert np.abs(shown["product"] - a @ b).max() < 1e-13
    assert np.abs(shown["moved"] - (a + x["h"][..., None] * (a @ b))).max() < 1e-13
    assert np.array_equal(shown["kept"], a)
    assert np.array_equal(kept, left)  # what is only passed on costs nothing
