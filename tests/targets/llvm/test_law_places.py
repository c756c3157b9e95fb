"""Numbers of a law that calls store where the law reads them: all shapes of code give the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from hinge.sweeps import Call, Code, DenseCall, ForceLaw, Slot
from hinge.targets import NumpyProgram
from hinge.targets.llvm.loops import placed
from hinge.targets.llvm.plan import segments
from tests.targets.llvm.running import bits, native, result, traced

LAW = ForceLaw(cone=2)
ONCE = traced(lambda x, y, z: (x - y * z, z * z - x, x + y, y - 2.0 * z, 1.0 + x * y), 3)
TURN = traced(lambda x, y: (x + 0.5 * y, x * y - 1.0), 2)
LATER = traced(lambda x, y: (3.0 * x - y,), 2)
INPUTS, MADE, LOOPED, ANSWER, AFTER = 12, 12, 17, 25, 43


def code():
    """Return calls written out, a loop, a law of what both make, and a loop and a result that read it again.

    W has numbers of both signs, one that stands twice, inputs, zeros, and all that the loop makes.
    """
    once = Call(ONCE, (0, 1, 2), (), tuple(range(MADE, MADE + 5)), 0, 0)
    turns = [Call(TURN, (3 + k, 7), (), (LOOPED + 2 * k, LOOPED + 2 * k + 1), 0, 0) for k in range(4)]
    a, b, c, d, e = (Slot(MADE + k) for k in range(5))
    p = [Slot(LOOPED + k) for k in range(8)]
    less = [Slot(LOOPED + k, negative=True) for k in range(8)]
    base = [[a, Slot(MADE + 1, negative=True), c, d, a, Slot(8)], [Slot(9), b, e, c, Slot(11), b]]
    limbs = [[p[0], less[1], p[2], 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, p[4], p[5], less[6]]]
    more = [[p[3], less[0], p[1], 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, less[7], p[6], p[2]]]
    w = np.array([*base, *limbs, *more], dtype=object)
    right = np.empty((6, 3), dtype=object)
    for i in range(6):
        right[i] = Slot(MADE + i % 5, negative=i % 2 == 0), Slot(i), 0.6
    found = np.array([Slot(ANSWER + k) for k in range(18)], dtype=object).reshape(6, 3)
    law = DenseCall(w, right, found, 0, law=LAW)
    after = [Call(LATER, (LOOPED + k, ANSWER + 3 * k), (), (AFTER + k,), 0, 0) for k in range(4)]
    shown = (
        result("answer", found),
        result("again", [*w.ravel()]),
        result("later", [Slot(AFTER + k) for k in range(4)]),
    )
    return Code((once, *turns, law, *after), {"x": tuple(range(INPUTS))}, shown, AFTER + 4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_shape_gives_the_same_bits(dtype):
    x = np.random.default_rng(3).standard_normal((19, INPUTS)).astype(dtype)
    wanted = NumpyProgram(code())({"x": x.astype(float)})
    found = {shape: native(code(), shape=shape)({"x": x}) for shape in "UHR"}
    tight = 1e-7 if dtype == "float64" else 1e-2
    for name, value in found["H"].items():
        assert np.allclose(value, wanted[name], rtol=tight, atol=tight) or name == "answer"
        assert all(np.array_equal(bits(value), bits(f[name])) for f in found.values()), name
    assert np.allclose(found["H"]["answer"][..., 0], wanted["answer"][..., 0], rtol=tight, atol=tight)
    assert np.abs(wanted["answer"][..., 0]).max() > 0.1, "some contacts close"


def test_what_is_made_once_goes_where_the_law_reads_it():
    whole, laws = code(), {}
    places = placed(whole, segments(whole), laws)
    (at,) = laws.values()
    for values, first in at.factors:
        for k, x in enumerate(values):
            if isinstance(x, Slot) and MADE <= x.index < LOOPED:
                assert (first + k, x.negative) in places.copies[x.index] and first + k in at.there
            if isinstance(x, Slot) and x.index < INPUTS:
                assert first + k not in at.there
    inside = [first + k for values, first in at.factors for k in range(len(values))]
    assert sum(places.of[LOOPED + k] in inside for k in range(8)) == 7, "all but the one with another sign"
