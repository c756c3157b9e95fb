from __future__ import annotations

import ctypes

import numpy as np
import pytest

from hinge.targets.llvm.lanes import Rows, _squares
from hinge.targets.llvm.machine import assembled, loaded
from hinge.targets.llvm.text import Lanes, Writer
from tests.targets.llvm.running import LANES

widths = pytest.mark.parametrize("lanes", LANES, ids=str)


def copied(lanes, x, wanted=None, stride=None):
    """Return rows of W states, copied through lanes; numbers that are not wanted become 7."""
    size = x.shape[-1]
    wanted = range(size) if wanted is None else wanted
    w = Writer(lanes)
    values = Rows.at(w, "%in", "%from", "%state", size).load(wanted)
    assert set(wanted) <= set(values)
    Rows.at(w, "%out", "%to", "%state", size).store(
        lambda k: values[k] if k in set(wanted) else lanes.constant(7.0)
    )
    w.do("ret void")
    head = "define void @run(ptr %in, i64 %from, ptr %out, i64 %to, i64 %state) nounwind"
    body = "\n".join(w.lines)
    code = loaded(assembled("\n".join([*w.declared, f"{head} {{\nentry:\n{body}\n}}\n"]))[0])
    found = np.full((lanes.width + 4, size + 3), -1.0, lanes.dtype)
    run = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
    )
    step = x.strides[0] // x.itemsize if stride is None else stride
    run(code.address)(x.ctypes.data, step, found.ctypes.data, size + 3, 2)
    return found


def rows(lanes, size, extra=0):
    rng = np.random.default_rng(size)
    return rng.standard_normal((lanes.width + 4, size + extra)).astype(lanes.dtype)[:, :size]


@widths
def test_rows_of_any_length_come_back(lanes):
    w = lanes.width
    for size in sorted({1, 2, 3, w - 1, w, w + 1, 2 * w, 2 * w + 1, 3 * w - 1} - {0}):
        x = rows(lanes, size)
        found = copied(lanes, x)
        assert np.array_equal(found[2:-2, :size], x[2:-2]), size
        found[2:-2, :size] = -1
        assert (found == -1).all(), "what is outside the rows is not touched"


@widths
def test_rows_may_be_far_apart_or_the_same(lanes):
    size = lanes.width + 1
    x = rows(lanes, size, extra=5)
    assert np.array_equal(copied(lanes, x)[2:-2, :size], x[2:-2])
    assert (copied(lanes, x, stride=0)[2:-2, :size] == x[0]).all()


@widths
def test_rows_may_go_backwards(lanes):
    size = lanes.width + 2
    x = rows(lanes, size)
    assert np.array_equal(copied(lanes, x[::-1])[2:-2, :size], x[::-1][2:-2])


@pytest.mark.parametrize("wanted", [[0], [7], [0, 1, 2, 3, 4], [5, 6, 7, 8], [0, 9], list(range(10)), []])
def test_only_what_is_wanted_is_loaded(wanted):
    lanes = Lanes(4)
    x = rows(lanes, 10)
    found = copied(lanes, x, wanted)[2:-2, :10]
    others = [k for k in range(10) if k not in wanted]
    assert np.array_equal(found[:, wanted], x[2:-2][:, wanted]) and (found[:, others] == 7).all()


@pytest.mark.parametrize("size", range(1, 20))
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_squares_lie_in_the_row(size, width):
    squares = list(_squares(size, width, set(range(size))))
    assert all(s.start >= 0 and s.stop <= size and len(s) == width for s in squares)
    covered = {k for s in squares for k in s}
    assert covered == (set(range(size)) if 1 < width <= size else set())
