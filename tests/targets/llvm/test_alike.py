"""Sums of products in lanes of one state: tiles of matrix products, and what is none."""

import numpy as np
import pytest

import hinge
from hinge.dynamics import compiled
from hinge.dynamics.derivatives import derivative_parts
from hinge.kernels import Instruction, Kernel, Output
from hinge.targets.llvm.alike import Alike
from hinge.testing import random_state

ARM = hinge.robots.panda()


def row(count, *, negative=(False,) * 8, op="mul"):
    """Return the kernel of x y₁ + u v₁, x y₂ + u v₂ …, from x, y…, u, v…"""
    steps = []
    for n in range(count):
        steps += [Instruction(op, (0, 1 + n)), Instruction("mul", (1 + count, 2 + count + n))]
        first = 2 * (count + 1) + 3 * n
        steps.append(Instruction("add", (first, first + 1)))
    outputs = [Output(n, 2 * (count + 1) + 3 * n + 2, negative[n], None) for n in range(count)]
    return Kernel(tuple(range(2 * (count + 1))), tuple(steps), tuple(outputs))


def addresses(count, start=0):
    return [("%scratch", start + k) for k in range(count)]


@pytest.mark.parametrize(("count", "groups"), [(4, [4]), (2, [2]), (6, [4, 2]), (3, None), (1, None)])
def test_outputs_are_grouped_by_fours_and_twos(count, groups):
    found = Alike.of(row(count), addresses(2 * count + 2), addresses(count, 50))
    assert (found and [len(g) for g in found.groups]) == groups


def test_what_does_not_lie_side_by_side_or_differs_is_no_group():
    loads, stores = addresses(10), addresses(4, 50)
    assert Alike.of(row(4), loads, stores)
    assert not Alike.of(row(4), [*loads[:2], ("%scratch", 99), *loads[3:]], stores)
    assert not Alike.of(row(4), loads, [*stores[:3], ("%other", 53)])
    assert not Alike.of(row(4, negative=(True, False, False, False)), loads, stores)
    assert not Alike.of(row(4, op="sub"), loads, stores)
    assert not Alike.of(row(4), loads[:-1], stores)  # the last input is a parameter


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_state_has_the_bits_of_many(dtype):
    f = compiled(ARM, derivative_parts("forward_dynamics", ("q", "qd", "tau")))
    s = random_state(ARM, 3, (8,))
    given = {"q": s.q, "qd": s.qd, "tau": s.tau}
    given = {n: x.astype(dtype) for n, x in given.items()}
    one, many = (f.compilation().built(target="llvm", shape="R", lanes=w, wait=True) for w in (1, 8))
    assert "<4 x double>" in one.module("float64", 1).text
    found, wanted = one(given), many(given)
    for name, x in wanted.items():
        np.testing.assert_array_equal(found[name], x)
