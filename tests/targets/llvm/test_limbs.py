from __future__ import annotations

import numpy as np

import hinge
from hinge.dynamics import CATALOGUE
from hinge.model.joints import Prismatic, Revolute
from hinge.spatial import Inertia
from hinge.targets.llvm.limbs import ordered_by_limbs
from hinge.targets.llvm.plan import Run, is_loop, kernel_of, segments, written
from tests.targets.llvm.test_plan import ADD, BOTH, call, code


def never(_):
    return False


def order(*calls, rolls=never):
    return list(ordered_by_limbs(calls, kernel_of, rolls))


def limb(first, base, tip=None):
    """Return three calls that follow each other from a base slot on, the last of another kernel if wanted."""
    return (
        call((base, 1), (first,)),
        call((first, 0), (first + 1, first + 2), BOTH),
        call((first + 1, first + 2), (first + 3,), tip or ADD),
    )


def flat(found):
    return [c for part, _ in found for c in part]


def test_limbs_that_go_out_from_a_trunk_come_together():
    trunk = call((0, 1), (10,))
    one, other, odd = limb(20, 10), limb(30, 10), call((10, 2), (40, 41), BOTH)
    found = order(trunk, *one[:2], odd, *other, one[2])
    assert found == [((trunk,), 1), ((*one, *other), 2), ((odd,), 1)]


def test_limbs_with_different_tips_have_the_rest_in_common():
    one = (*limb(20, 10), call((23, 1), (24, 25), BOTH))
    other = (*limb(30, 10), call((33, 1), (34,)))
    found = order(call((0, 1), (10,)), *one, *other)
    assert found[1] == ((*one[:3], *other[:3]), 2)
    assert flat(found[2:]) == [one[3], other[3]]


def test_limbs_that_come_in_from_their_tips_agree_at_the_trunk():
    one = (call((0, 1), (20,)), *limb(21, 20))
    other = (call((0, 2), (30, 38), BOTH), *limb(31, 30))
    trunk = call((24, 34), (40,))
    found = order(*one, *other, trunk)
    assert flat(found[:2]) == [one[0], other[0]]
    assert found[2:] == [((*one[1:], *other[1:]), 2), ((trunk,), 1)]


def test_a_value_from_farther_back_does_not_break_a_limb():
    def reaching(first):
        return (*limb(first, 10)[:2], call((first + 1, first), (first + 3,)))

    one, other = reaching(20), reaching(30)
    found = order(call((0, 1), (10,)), *one, *other)
    assert found[1] == ((*one, *other), 2)


def test_two_calls_in_common_are_no_limb():
    one, other = limb(20, 10)[:2], limb(30, 10)[:2]
    assert all(limbs == 1 for _, limbs in order(call((0, 1), (10,)), *one, *other))


def test_what_rolls_by_itself_is_left_as_it_is():
    one, other = limb(20, 10), limb(30, 10)
    found = order(call((0, 1), (10,)), *one, *other, rolls=lambda chain: len(chain) == 3)
    assert [limbs for _, limbs in found] == [1, 1, 1]


def test_all_is_called_after_what_it_waits_for():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        kernels = (ADD, BOTH)
        calls, slots = [], [0, 1]
        for _ in range(40):
            kernel = kernels[rng.integers(2)]
            stores = tuple(range(len(slots), len(slots) + (1 if kernel is ADD else 2)))
            calls.append(call(rng.choice(slots[-6:], 2).tolist(), stores, kernel))
            slots += stores
        known = {0, 1}
        found = [c for part in segments(code(*calls, inputs=2)) for c in part.calls]
        for c in found:
            assert set(c.loads) <= known
            known.update(c.stores)
        assert len(found) == len(calls)


def ball(mass):
    return Inertia.from_com(mass, np.zeros(3), np.eye(3))


def two_armed(tip_of_one, tip_of_other):
    """Return a trunk with two arms of five joints, of which only the tips differ."""
    builder = hinge.Builder("two-armed")
    rng = np.random.default_rng(3)
    builder.body("trunk", parent=None, joint=Revolute((0, 0, 1)), inertia=ball(3.0))
    for side, tip in (("left", tip_of_one), ("right", tip_of_other)):
        parent = "trunk"
        for k in range(5):
            axis = (0, 1, 0) if k % 2 else (1, 0, 0)
            com, moments = rng.normal(size=3), np.diag(rng.uniform(1, 2, 3))
            inertia = Inertia.from_com(1.0, com, moments)
            name = f"{side}{k}"
            builder.body(
                name, parent=parent, joint=Revolute(axis), position=rng.normal(size=3), inertia=inertia
            )
            parent = name
        builder.body(f"{side} tip", parent=parent, joint=tip, position=(0, 0, 0.1), inertia=ball(0.5))
    return builder.build(strict=None)


def test_arms_with_different_tips_are_loops_and_give_the_same_numbers():
    robot = two_armed(Revolute((0, 0, 1)), Prismatic((0, 1, 0)))
    native = hinge.compile(CATALOGUE["forward_dynamics"], robot, target="llvm", shape="H")
    plain = hinge.compile(CATALOGUE["forward_dynamics"], robot, target="numpy")
    found = native.program().code
    limbs = [part for part in segments(found) if isinstance(part, Run) and is_loop(part) and part.period >= 3]
    assert len(limbs) >= 3
    assert written(segments(found)) < 0.7 * found.operations().total
    q = hinge.random_configuration(robot, 1, 9)
    v, tau = np.random.default_rng(0).normal(size=(2, 9, robot.nv))
    assert np.allclose(native(q=q, qd=v, tau=tau), plain(q=q, qd=v, tau=tau), rtol=1e-11, atol=1e-11)
