"""A part of the sweep over random expressions, and the sweep's own sense."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hinge import algebra
from hinge.algebra import STANDARD, H, M, appendix, phi, qd, whole
from hinge.model.joints import JOINT_TYPES
from tests.targets.draws import POOL, Draw, draw, robot_of
from tests.targets.grammar import LETTERS
from tests.targets.judging import Question, judged, told_apart
from tests.targets.sweep_expressions import SEED, sound_draw, sweep

#: So many draws at a time, so many times.
DRAWS, TIMES = 4, 3
MOMENTUM = H @ phi @ M @ phi.T @ H.T @ qd


@pytest.mark.parametrize("part", range(TIMES))
def test_random_expressions_are_the_matrices(part):
    # Neighbours have neighbouring letters in them, so take one here and there.
    draws = range(part + 1, DRAWS * 17, 17)
    found = sweep(draws, SEED)
    assert not [(k, v.said, d) for k, d, v in found.wrong]
    assert found.kinds["right"] > len(draws) // 2


def test_every_letter_has_its_turn():
    assert set(STANDARD.values()) <= set(LETTERS)
    for k in range(0, len(LETTERS), 3):
        assert LETTERS[k] in draw(SEED, k).letters


def test_robots_have_every_joint_type():
    kinds = {j.type.kind for name in POOL for j in robot_of(name).joints}
    assert kinds >= set(JOINT_TYPES)


def test_a_draw_is_the_same_alone_and_prints_as_python():
    names = {**vars(algebra), **vars(appendix), "Draw": Draw, "Fraction": Fraction}
    for k in range(0, 100, 7):
        found = draw(SEED, k)
        assert found == draw(SEED, k) == eval(repr(found), names)


def test_a_wrong_number_a_wrong_shape_and_another_error_are_seen(monkeypatch):
    d = Draw("double pendulum", {"y": MOMENTUM})
    assert judged(d).kind == "right"
    call = Question.called
    for spoilt, words in (
        (lambda x: x * (1 + 1e-8), "y is off by 1.0e-08"),
        (lambda x: x[..., :1], "shape"),
        (lambda x: x / np.zeros(3), "ValueError"),
    ):
        monkeypatch.setattr(
            Question, "called", lambda q, f, change=spoilt: {n: change(x) for n, x in call(q, f).items()}
        )
        found = judged(d)
        assert found.kind == "wrong" and words in found.said


def test_what_cannot_be_inverted_is_drawn_again():
    assert Question(Draw("double pendulum", {"y": whole.mass.inv()})).is_sound
    assert not Question(Draw("double pendulum", {"y": (H.T @ H).inv()})).is_sound
    assert all(Question(sound_draw(SEED, k)).is_sound for k in range(5))


def test_code_for_one_binding_is_not_taken_for_another():
    draw_ = Draw("double pendulum", {"y": MOMENTUM}, native={"shape": "U", "lanes": 1})
    assert told_apart(draw_).kind == "right"
