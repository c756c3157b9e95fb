"""Products of matrices by tiles: against NumPy, for any zeros, numbers and signs."""

from __future__ import annotations

import numpy as np
import pytest

from hinge.sweeps.code import Slot
from hinge.sweeps.multiply import COLUMNS, Multiplication, grouped


class Slots:
    """The part of a trace's memory that products use."""

    def __init__(self):
        self.slots, self.calls, self.negated = 0, [], {}

    def new_slots(self, count):
        self.slots += count
        return range(self.slots - count, self.slots)


def matrix(memory, values, rng):
    """Return a matrix of slots, some with the other sign, and of numbers; and what the slots hold."""
    found, held = np.empty(values.shape, dtype=object), {}
    for at, x in np.ndenumerate(values):
        if x == 0.0 or rng.random() < 0.2:
            found[at] = float(x)
            continue
        (slot,) = memory.new_slots(1)
        negative = bool(rng.random() < 0.3)
        found[at], held[slot] = Slot(slot, negative), -x if negative else x
    return found, held


def evaluated(memory, result, held):
    """Run the calls that are alive; check that each slot is stored once, before it is read."""
    live = bytearray(memory.slots)
    for x in result.flat:
        if isinstance(x, Slot):
            live[x.index] = 1
    kernels = {}
    calls = [c for c in (call.close(live, kernels) for call in reversed(memory.calls)) if c is not None]
    for c in reversed(calls):
        inputs = [held[s] for s in c.loads] + list(c.params)
        made = c.kernel.evaluate(dict(zip(c.kernel.inputs, inputs, strict=True)))
        for s, x in zip(c.stores, made.values(), strict=True):
            assert s not in held
            held[s] = x
    shown = [
        x if not isinstance(x, Slot) else -held[x.index] if x.negative else held[x.index] for x in result.flat
    ]
    return np.array(shown, dtype=float).reshape(result.shape)


@pytest.mark.parametrize("seed", range(12))
def test_products_agree_with_dense_ones(seed):
    rng = np.random.default_rng(seed)
    rows, inner, more, columns = rng.integers(1, 12, 4)
    density = rng.uniform(0.1, 1.0)
    sizes = ((rows, inner), (inner, more), (more, columns))
    values = [rng.standard_normal(s) * (rng.random(s) < density) for s in sizes]
    memory, held, factors = Slots(), {}, []
    for x in values:
        found, more_held = matrix(memory, x, rng)
        factors.append(found)
        held |= more_held
    negative = bool(seed % 2)
    result = Multiplication(memory, 4).run(factors, negative=negative, mirror=False)
    wanted = values[0] @ values[1] @ values[2] * (-1 if negative else 1)
    np.testing.assert_allclose(evaluated(memory, result, held), wanted, atol=1e-12)


def test_symmetric_products_are_mirrored():
    rng = np.random.default_rng(3)
    x = np.triu(rng.standard_normal((9, 9)))
    memory = Slots()
    left, held = matrix(memory, x.T, rng)
    right, more = matrix(memory, x, rng)
    result = Multiplication(memory, 0).run([left, right], negative=False, mirror=True)
    np.testing.assert_allclose(evaluated(memory, result, held | more), x.T @ x, atol=1e-12)


def test_zeros_between_blocks_stay_known():
    rng = np.random.default_rng(4)
    x = np.kron(np.eye(2), np.ones((5, 5))) * rng.standard_normal((10, 10))
    memory = Slots()
    left, _ = matrix(memory, x, rng)
    right, _ = matrix(memory, x, rng)
    result = Multiplication(memory, 0).run([left, right], negative=False, mirror=False)
    assert all(e == 0.0 for e in (*result[:5, 5:].flat, *result[5:, :5].flat))


def test_rows_without_anything_in_common_are_no_group():
    filled = np.kron(np.eye(3, dtype=bool), np.ones((2, 4), dtype=bool))
    assert grouped(filled, COLUMNS) == [(0, 1), (2, 3), (4, 5)]
