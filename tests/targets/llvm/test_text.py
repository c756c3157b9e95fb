from __future__ import annotations

import struct

import numpy as np
import pytest

from hinge.targets.llvm.text import Lanes, Writer, number
from tests.targets.llvm.running import LANES, bits, running

widths = pytest.mark.parametrize("lanes", LANES, ids=str)


def test_types_follow_width_and_precision():
    one, four, single = Lanes(1), Lanes(4), Lanes(8, "float32")
    assert (one.type, four.type, single.type) == ("double", "<4 x double>", "<8 x float>")
    assert (one.integer, four.integer, single.integer) == ("i64", "<4 x i64>", "<8 x i32>")
    assert (one.truth, four.truth) == ("i1", "<4 x i1>")
    assert (one.suffix, four.suffix, single.suffix) == ("f64", "v4f64", "v8f32")
    assert four.splat("i64", "3") == "<i64 3, i64 3, i64 3, i64 3>"


@pytest.mark.parametrize("c", [0.0, 1.0, -1 / 3, 1e-40, 1e38, np.inf, -np.inf, 0.1])
@widths
def test_numbers_are_written_exactly(lanes, c):
    wanted = np.array(c).astype(lanes.dtype)
    found = running(lanes, lambda w, x: [w.lanes.constant(c)])(np.zeros((1, 1, lanes.width)))
    assert np.array_equal(bits(found), bits(np.full((1, 1, lanes.width), wanted)))


def test_zeros_of_both_signs_are_different_constants():
    for lanes in (Lanes(1), Lanes(4), Lanes(1, "float32")):
        assert lanes.constant(0.0) != lanes.constant(-0.0)
    assert number(-0.0, "float64") == "0x8000000000000000"


def test_numbers_beyond_single_precision_are_infinite():
    assert number(1e39, "float32") == number(np.inf, "float32")
    assert number(-1e39, "float32") == number(-np.inf, "float32")


def test_nan_is_a_constant():
    assert np.isnan(running(Lanes(2), lambda w, x: [w.lanes.constant(np.nan)])(np.zeros((1, 1, 2)))).all()


@pytest.mark.parametrize("c", [0.1, 1e30, -3.0000001])
def test_numbers_are_rounded_to_single_precision_once(c):
    (value,) = struct.unpack("<d", bytes.fromhex(number(c, "float32")[2:])[::-1])
    assert value == float(np.float32(c)) != c


@widths
def test_a_square_is_transposed(lanes):
    n = lanes.width
    x = np.random.default_rng(n).standard_normal((3, n, n)).astype(lanes.dtype)
    found = running(lanes, lambda w, rows: w.transposed(rows))(x)
    assert np.array_equal(found, np.swapaxes(x, 1, 2))


@widths
def test_arithmetic_is_that_of_ieee(lanes):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 5, lanes.width)).astype(lanes.dtype)

    def write(w, v):
        steps = [w.binary(op, *v) for op in ("fadd", "fsub", "fmul", "fdiv")]
        larger = w.select(w.compare("ogt", *v), *v)
        return [*steps, w.negative(v[0]), w.intrinsic("fabs", v[0]), larger, w.as_value(w.as_integer(v[1]))]

    found = running(lanes, write)(np.stack([x, y], axis=1))
    wanted = [x + y, x - y, x * y, x / y, -x, abs(x), np.maximum(x, y), y]
    assert np.array_equal(bits(found), bits(np.stack(wanted, axis=1)))


@widths
def test_a_product_and_sum_is_rounded_once(lanes):
    e = np.finfo(lanes.dtype).eps
    x = np.array([1 + e, 1 - e, -1.0], lanes.dtype)
    found = running(lanes, lambda w, v: [w.fma(*v)])(np.tile(x[None, :, None], (1, 1, lanes.width)))
    assert (found == -(np.array(e, lanes.dtype) ** 2)).all()


@widths
def test_any_is_true_if_one_lane_is(lanes):
    def write(w, v):
        there = w.any(w.compare("ogt", v[0], w.lanes.constant(0.0)))
        return [w.let(f"select i1 {there}, {w.lanes.type} {w.lanes.constant(1.0)}, {w.lanes.type} {v[0]}")]

    x = np.concatenate([np.zeros((1, lanes.width)), np.eye(lanes.width)])[:, None, :]
    found = running(lanes, write)(x)
    assert (found[0] == 0).all() and (found[1:] == 1).all()


@widths
def test_gather_and_scatter_go_by_lane(lanes):
    n = lanes.width

    def write(w, v):
        w.do(f"%room = alloca [{n} x {w.lanes.scalar}]")
        places = [w.at("%room", k, w.lanes.scalar) for k in range(n)]
        w.scatter(v[0], places)
        return [w.gather(places[::-1])]

    x = np.arange(3.0 * n).reshape(3, 1, n)
    assert np.array_equal(running(lanes, write)(x), x[..., ::-1])


@pytest.mark.parametrize(("first", "end", "turns"), [(0, 5, 5), (2, 5, 3), (3, 3, 0), (4, 1, 0)])
def test_a_loop_runs_over_its_range(first, end, turns):
    def write(w, v):
        w.do("%sum = alloca double")
        w.store(v[0], "%sum")
        with w.loop(first, end) as i:
            w.store(w.binary("fadd", w.load("%sum"), w.let(f"sitofp i64 {i} to double")), "%sum")
        return [w.load("%sum")]

    found = running(Lanes(1), write)(np.full((1, 1, 1), 100.0))
    assert found.item() == 100 + sum(range(first, end)) and len(range(first, end)) == turns


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_squares_cover_a_row_and_stay_inside(width):
    lanes = Lanes(width)
    for size in range(width, 3 * width + 2):

        def write(w, v, size=size):
            w.do(f"%seen = alloca [{size} x {w.lanes.scalar}]")
            for k in range(size):
                w.do(f"store double {number(0.0, 'float64')}, ptr {w.at('%seen', k, 'double')}")
            with w.squares(size) as start:
                w.store(w.lanes.constant(1.0), w.at("%seen", start, "double"))
            loads = [w.let(f"load double, ptr {w.at('%seen', k, 'double')}") for k in range(size)]
            return [w.spread(x) for x in loads]

        assert (running(lanes, write)(np.zeros((1, 1, width))) == 1).all()


def test_names_are_never_used_twice():
    w = Writer(Lanes(2))
    names = [w.name("c"), w.let("x"), w.name(), w.name("c"), f"%{w.block('c')}"]
    assert len(set(names)) == len(names)
