from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from hinge.kernels import CIRCLE_NUMBERS as NUMBERS
from hinge.targets.llvm.functions import sine_and_cosine
from hinge.targets.llvm.text import Lanes
from tests.targets.llvm.running import LANES, bits, each_lane

#: Bits after the point of exact numbers: enough for the largest double.
POINT = 1400
#: Half a unit in the last place of one.
EPS = {"float64": 2.0**-53, "float32": 2.0**-24}
widths = pytest.mark.parametrize("lanes", LANES, ids=str)
precisions = pytest.mark.parametrize("dtype", NUMBERS)


@cache
def half_pi():
    """Return π/2 by Machin's formula."""

    def arctan_of_inverse(n):
        total, term, k = 0, (1 << POINT + 10) // n, 0
        while term:
            total += (-1) ** k * (term // (2 * k + 1))
            term, k = term // n**2, k + 1
        return total

    return (8 * arctan_of_inverse(5) - 2 * arctan_of_inverse(239)) >> 10


def exact(x):
    """Return sine and cosine of a number, as integers over 2 ** POINT."""
    numerator, denominator = float(x).as_integer_ratio()
    k, r = divmod((numerator << POINT) // denominator, half_pi())
    terms = [1 << POINT]
    while terms[-1]:
        terms.append((terms[-1] * r >> POINT) // len(terms))
    s = sum((-1) ** n * t for n, t in enumerate(terms[1::2]))
    c = sum((-1) ** n * t for n, t in enumerate(terms[0::2]))
    return ((s, c), (c, -s), (-s, -c), (-c, s))[k % 4]


def errors(x, found):
    """Return the largest absolute and the largest relative error of sine and cosine."""
    worst = [0.0, 0.0]
    for k, at in enumerate(x):
        for y, right in zip(found[:, k], exact(at), strict=True):
            numerator, denominator = float(y).as_integer_ratio()
            off = abs((numerator << POINT) // denominator - right)
            worst = [max(worst[0], off / (1 << POINT)), max(worst[1], off / abs(right) if right else off)]
    return worst


@cache
def both(lanes):
    return each_lane(lanes, lambda w, x: sine_and_cosine(w, *x))


def near_turns(dtype, count=150):
    """Return the numbers nearest to multiples of π/2, and their neighbours."""
    limit = NUMBERS[dtype].limit
    turns = np.unique(np.geomspace(1, limit / 1.571, count).astype(int))
    x = np.array([float(int(k) * half_pi() >> POINT - 80) / 2.0**80 for k in turns]).astype(dtype)
    return np.concatenate([x, np.nextafter(x, np.zeros_like(x)), -x])


def spread(dtype, count=300):
    rng, limit = np.random.default_rng(1), NUMBERS[dtype].limit
    near, wide = rng.uniform(-4, 4, count), rng.uniform(-limit, limit, count)
    return np.concatenate([near, wide, limit * 10.0 ** rng.uniform(-20, 0, count)]).astype(dtype)


@precisions
def test_sine_and_cosine_are_right_to_the_last_bit_but_one(dtype):
    x = spread(dtype)
    absolute, _ = errors(x, both(Lanes(4, dtype))(x))
    assert absolute < 1.6 * EPS[dtype]


@precisions
def test_near_their_zeros_they_are_right_too(dtype):
    x = near_turns(dtype)
    absolute, relative = errors(x, both(Lanes(4, dtype))(x))
    assert absolute < 1.6 * EPS[dtype]
    assert relative < {"float64": 4, "float32": 200}[dtype] * EPS[dtype]


@precisions
def test_beyond_the_polynomials_the_library_answers(dtype):
    limit = NUMBERS[dtype].limit
    far = np.array([limit * 1.01, 1e6, -3e7, 1e10, -1e20, 1e37], dtype)
    if dtype == "float64":
        far = np.concatenate([far, [1e300, -1e300, 6381956970095103 * 2.0**797, math.nextafter(limit, 2e5)]])
    absolute, relative = errors(far, both(Lanes(4, dtype))(far))
    assert absolute < 2 * EPS[dtype] and relative < 32 * EPS[dtype]


@widths
def test_what_is_not_finite_gives_nan(lanes):
    found = both(lanes)(np.array([np.inf, -np.inf, np.nan], lanes.dtype))
    assert np.isnan(found).all()


@widths
def test_at_zero_they_are_exact(lanes):
    tiny = np.finfo(lanes.dtype).smallest_subnormal
    x = np.array([0.0, tiny, -tiny, 1e-30], lanes.dtype)
    s, c = both(lanes)(x)
    assert np.array_equal(s, x) and np.array_equal(c, np.ones(4))


@widths
def test_a_lane_does_not_change_another(lanes):
    rng = np.random.default_rng(2)
    x = spread(lanes.dtype, 64)
    alone = both(Lanes(1, lanes.dtype))(x)
    assert np.array_equal(bits(both(lanes)(x)), bits(alone))
    mixed = x.copy()
    odd = rng.random(x.size) < 0.3
    strange = np.array([np.inf, np.nan, -np.inf, 1e30, NUMBERS[lanes.dtype].limit * 1.5], lanes.dtype)
    mixed[odd] = rng.choice(strange, odd.sum())
    found = both(lanes)(mixed)
    assert np.array_equal(bits(found[:, ~odd]), bits(alone[:, ~odd]))
    assert np.array_equal(found[:, odd], both(Lanes(1, lanes.dtype))(mixed[odd]), equal_nan=True)


@precisions
def test_the_two_ways_meet_at_the_limit(dtype):
    limit = np.array(NUMBERS[dtype].limit, dtype)
    x = np.stack([limit, np.nextafter(limit, 2 * limit), -limit])
    absolute, _ = errors(x, both(Lanes(2, dtype))(x))
    assert absolute < 2 * EPS[dtype]
