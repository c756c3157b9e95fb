from __future__ import annotations

import numpy as np
import pytest

from hinge.sweeps import Call, Code, DenseCall, Slot
from hinge.targets.llvm.host import this_host
from hinge.targets.llvm.machine import assembly
from hinge.targets.llvm.module import ROOM, SHAPES, choose_shape, write_module
from hinge.targets.llvm.text import Lanes
from hinge.targets.numpy import NumpyProgram
from tests.targets.llvm.codes import random_code, random_kernel
from tests.targets.llvm.running import bits, copying, native, result, traced
from tests.tiers import daily

shapes = pytest.mark.parametrize("shape", SHAPES)
widths = pytest.mark.parametrize("width", [1, 2, 4, 8, 16])


def inputs(code, batch, seed=0, dtype="float64"):
    rng = np.random.default_rng(seed)
    return {n: rng.uniform(-1, 1, (*batch, len(s))).astype(dtype) for n, s in code.inputs.items()}


def same(x, y):
    return x.keys() == y.keys() and all(np.array_equal(bits(x[n]), bits(y[n])) for n in x)


def one_call(size):
    """Return code of one call, with a product for each of size² pairs."""
    kernel = random_kernel(np.random.default_rng(size), size, 0, size)
    slots = tuple(range(2 * size))
    call = Call(kernel, slots[:size], (), slots[size:], 0, 0)
    return Code((call,), {"x": slots[:size]}, (result("y", [Slot(k) for k in slots[size:]]),), 2 * size)


# The stack.


def test_long_code_reaches_the_stack_without_the_stack_pointer(monkeypatch):
    code = one_call(20)
    short = write_module(code, Lanes(2), "U").text
    monkeypatch.setattr("hinge.targets.llvm.module.LONG_TEXT", short.count("\n") // 2)
    texts = {shape: write_module(code, Lanes(2), shape).text for shape in SHAPES}
    assert ROOM in texts["U"] and ROOM in texts["H"] and ROOM not in texts["R"] and ROOM not in short
    if "x86_64" in this_host().triple:
        assert assembly(texts["U"]).count("(%rsp)") == 0 < assembly(short).count("(%rsp)")
    given = inputs(code, (7,))
    found, wanted = native(code, shape="U", lanes=2)(given), NumpyProgram(code)(given)
    np.testing.assert_allclose(found["y"], wanted["y"], rtol=0, atol=1e-13)


# Arrays of any size.


@shapes
@widths
def test_rows_of_any_length_go_in_and_out(shape, width):
    for size in sorted({1, 2, 3, width - 1, width, width + 1, 2 * width, 2 * width + 3} - {0}):
        program = native(copying(size), shape=shape, lanes=width)
        x = inputs(program.code, (width + 1,))["x"]
        found = program({"x": x})
        signs = np.where(np.arange(size) % 2, -1.0, 1.0)
        assert np.array_equal(found["same"], x)
        assert np.array_equal(found["turned"][:, ::2], (x * signs)[:, ::-1])
        assert (found["turned"][:, 1::2] == 0.5).all()


@shapes
@widths
def test_batches_of_any_size_are_filled(shape, width):
    program = native(copying(3), shape=shape, lanes=width)
    for count in {1, 2, 3, *range(width - 1, width + 3), 2 * width, 3 * width - 1, 3 * width + 1}:
        x = inputs(program.code, (count,), count)["x"]
        assert np.array_equal(program({"x": x})["same"], x), count


@shapes
def test_results_of_every_rank_have_their_shape(shape):
    values = {
        "none": 0.5,
        "row": [Slot(0), 2.0],
        "cube": [[[Slot(1), Slot(0, True)]]],
        "empty": np.zeros((0, 3)),
    }
    code = Code((), {"q": (0, 1)}, tuple(result(n, v) for n, v in values.items()), 2)
    found = native(code, shape=shape, lanes=2)({"q": np.array([[1.0, 2.0]] * 3)})
    assert [x.shape for x in found.values()] == [(3,), (3, 2), (3, 1, 1, 2), (3, 0, 3)]
    assert (
        (found["none"] == 0.5).all() and (found["row"] == [1, 2]).all() and (found["cube"] == [2, -1]).all()
    )


# Code of any kind.


@shapes
@pytest.mark.parametrize("seed", daily(range(20), lambda k, seed: seed < 8))
def test_random_code_does_what_it_does_in_numpy(seed, shape):
    code = random_code(seed)
    given = inputs(code, (5,), seed)
    found, wanted = native(code, shape=shape, lanes=2)(given), NumpyProgram(code)(given)
    for name, x in wanted.items():
        assert np.allclose(found[name], x, rtol=1e-11, atol=1e-11), name


@pytest.mark.slow
@pytest.mark.parametrize("start", range(20, 1020, 40))
def test_more_random_code_does_what_it_does_in_numpy(start):
    for seed in range(start, start + 40):
        for shape in SHAPES:
            test_random_code_does_what_it_does_in_numpy(seed, shape)


@shapes
@pytest.mark.parametrize("seed", [1, 2])
def test_lanes_give_the_same_bits(seed, shape):
    code = random_code(seed)
    for dtype in ("float64", "float32"):
        given = inputs(code, (9,), seed, dtype)
        one, *others = (native(code, shape=shape, lanes=w)(given) for w in (1, 2, 8))
        assert all(same(one, x) for x in others)


@shapes
def test_two_loads_that_begin_apart_and_go_on_together(shape):
    add = traced(lambda x, y: (x + 2.0 * y,), 2)
    calls = [Call(add, (0, 1), (), (2,), 0, 0)]
    calls += [Call(add, (k, k), (), (k + 1,), 0, k) for k in range(2, 6)]
    code = Code(tuple(calls), {"q": (0, 1)}, (result("y", Slot(6)),), 7)
    assert native(code, shape=shape, lanes=1)({"q": np.array([1.0, 10.0])})["y"] == 21 * 3**4


@shapes
def test_two_calls_of_a_turn_that_begin_apart_and_go_on_together(shape):
    first, second = traced(lambda x: (x + 1.0,), 1), traced(lambda x: (2.0 * x,), 1)
    calls, at = [], (0, 1)
    for k in range(4):
        a, b = 2 + 2 * k, 3 + 2 * k
        calls += [Call(first, (at[0],), (), (a,), 0, k), Call(second, (at[1],), (), (b,), 0, k)]
        at = (b, b)
    code = Code(tuple(calls), {"q": (0, 1)}, (result("y", [Slot(k) for k in range(2, 10)]),), 10)
    found = native(code, shape=shape, lanes=1)({"q": np.array([5.0, 10.0])})["y"]
    assert found.tolist() == [6, 20, 21, 40, 41, 80, 81, 160]


@shapes
def test_a_loop_without_parameters_or_with_the_same_ones(shape):
    scale = traced(lambda x, p: (p * x + 1.0,), 2)
    for params in ([2.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0], [0.0, -0.0, 0.0, -0.0, 1.0]):
        calls = [Call(scale, (k,), (params[k],), (k + 1,), 0, k) for k in range(5)]
        code = Code(tuple(calls), {"q": (0,)}, (result("y", [Slot(k) for k in range(6)]),), 6)
        given = inputs(code, (4,))
        found = native(code, shape=shape, lanes=4)(given)["y"]
        assert np.allclose(found, NumpyProgram(code)(given)["y"], rtol=1e-15, atol=0)


@shapes
@pytest.mark.parametrize("n", [2, 7])
def test_a_solve_may_take_the_results_of_another_in_any_order(shape, n):
    def solve(right, found):
        parts = [np.empty(size, dtype=object) for size in ((n, n), (n, 1), (n, 1))]
        parts[0][:] = 2 * np.eye(n)
        parts[1][:, 0], parts[2][:, 0] = [Slot(s) for s in right], [Slot(s) for s in found]
        return DenseCall(*parts, 0)

    q, x, y = (range(k * n, (k + 1) * n) for k in range(3))
    shown = result("x", [Slot(s) for s in x]), result("y", [Slot(s) for s in y])
    code = Code((solve(q, x), solve(x[::-1], y)), {"q": tuple(q)}, shown, 3 * n)
    given = inputs(code, (3,))
    found = native(code, shape=shape, lanes=2)(given)
    assert np.array_equal(found["x"], given["q"] / 2) and np.array_equal(found["y"], given["q"][:, ::-1] / 4)


# The text.


@shapes
@widths
def test_the_text_is_one_function_with_its_tables(shape, width):
    module = write_module(random_code(1), Lanes(width), shape)
    assert module.text.count("define ") == 1 and "define void @run(" in module.text
    assert module.shape == shape and ('"prefer-vector-width"' in module.text) == (width * 64 > 256)


def test_the_shape_follows_the_size():
    step = traced(lambda x: ((x * x + 0.5) * 0.5,), 1)

    def chain(length, kernels=(step,)):
        calls = [Call(kernels[k % len(kernels)], (k,), (), (k + 1,), 0, k) for k in range(length)]
        return Code(tuple(calls), {"q": (0,)}, (result("y", Slot(length)),), length + 1)

    assert choose_shape(chain(10)) == "U"
    assert choose_shape(chain(10_000)) == "H"
    long = traced(lambda x: (sum((float(k) * x.sin() for k in range(1, 100)), 0.0),), 1)
    other = traced(lambda x: (sum((float(k) * x.cos() for k in range(1, 100)), 0.0) + 1.0,), 1)
    order = np.random.default_rng(0).integers(2, size=400).tolist()
    assert choose_shape(chain(400, [(long, other)[k] for k in order])) == "R"
