from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from hinge.kernels import fused
from hinge.targets.llvm.straight import write_kernel
from hinge.targets.llvm.text import Lanes
from tests.kernels.expressions import NAMES, cos, log, program, sin, sqrt
from tests.targets.llvm.running import bits, running, traced


def ops(kernel):
    return Counter(step.op for step in fused(kernel) if step.op != "const")


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x, y, z: (x * y + z,), {"fma": 1}),
        (lambda x, y, z: (x * y - z / y,), {"div": 1, "fms": 1}),
        (lambda x, y, z: (z - x * y,), {"fnma": 1}),
        (lambda x, y, z: (x * y + y * z,), {"mul": 1, "fma": 1}),
        (lambda x, y, z: (x * y + z, x * y - z), {"mul": 1, "add": 1, "sub": 1}),
        (lambda x, y, z: (x * y + z, x * y), {"mul": 1, "add": 1}),
        (lambda x, y, z: (x * y * z,), {"mul": 2}),
        (lambda x, y, z: (x / y + z,), {"div": 1, "add": 1}),
        (lambda x, y, z: (x * x + y * y + z * z,), {"mul": 1, "fma": 2}),
    ],
)
def test_a_product_that_one_sum_uses_is_part_of_it(function, wanted):
    assert ops(traced(function, 3)) == wanted


@pytest.mark.parametrize("lanes", [Lanes(1), Lanes(4), Lanes(8, "float32")], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_a_kernel_does_what_its_instructions_say(seed, lanes):
    kernel = traced(lambda *x: tuple(program(seed)(*x)), len(NAMES))
    x = np.random.default_rng(seed).uniform(-1, 1, (3, len(NAMES), lanes.width)).astype(lanes.dtype)
    found = running(lanes, lambda w, v: write_kernel(w, kernel, [v[k] for _, k in kernel.inputs]))(x)
    wanted = kernel.evaluate({("x", k): x[:, k].astype(np.float64) for k in range(len(NAMES))})
    right = np.stack([np.broadcast_to(y, x[:, 0].shape) for y in wanted.values()], axis=1)
    assert np.allclose(
        found,
        right,
        rtol=1e-12 if lanes.dtype == "float64" else 1e-4,
        atol=1e-12 if lanes.dtype == "float64" else 1e-4,
    )


@pytest.mark.parametrize("width", [2, 4, 8])
def test_lanes_give_the_same_bits(width):
    kernel = traced(lambda *x: tuple(program(5)(*x)), len(NAMES))
    x = np.random.default_rng(5).uniform(-1, 1, (8, len(NAMES)))

    def run(lanes):
        rows = x.reshape(8 // lanes, lanes, -1).swapaxes(1, 2)
        write = running(Lanes(lanes), lambda w, v: write_kernel(w, kernel, [v[k] for _, k in kernel.inputs]))
        return bits(np.ascontiguousarray(write(rows).swapaxes(1, 2))).reshape(8, -1)

    assert np.array_equal(run(width), run(1))


def test_sine_and_cosine_of_one_value_are_computed_once():
    kernel = traced(lambda x: (sin(x), cos(x), sin(x) * cos(x)), 1)
    found = running(
        Lanes(2), lambda w, v: [*write_kernel(w, kernel, v), w.lanes.constant(str(w.lines).count("llvm.sin"))]
    )
    assert found(np.ones((1, 1, 2)))[0, -1, 0] == 1


def test_every_operation_is_there():
    kernel = traced(
        lambda x, y: (x + y, x - y, x * y, x / y, sin(x), cos(x), sqrt(x), log(y), -x, 2.5 * x), 2
    )
    x = np.array([[[0.3, 0.7], [0.4, 2.0]]])
    found = running(Lanes(2), lambda w, v: write_kernel(w, kernel, v))(x)
    a, b = x[0]
    wanted = [a + b, a - b, a * b, a / b, np.sin(a), np.cos(a), np.sqrt(a), np.log(b), -a, 2.5 * a]
    assert np.allclose(found[0], wanted, rtol=4e-16, atol=0)


def test_outputs_may_be_constants_inputs_and_negatives():
    kernel = traced(lambda x, y: (1.5, x, -y, 0.0), 2)
    given = {("x", 0): 0, ("x", 1): 1}
    write = running(Lanes(2), lambda w, v: write_kernel(w, kernel, [v[given[k]] for k in kernel.inputs]))
    found = write(np.array([[[1.0, 2.0], [3.0, 4.0]]]))
    assert np.array_equal(found[0], [[1.5, 1.5], [1, 2], [-3, -4], [0, 0]])
