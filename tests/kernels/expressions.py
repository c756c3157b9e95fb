"""Random expressions and traced arrays for the tests of kernels."""

from __future__ import annotations

import numpy as np

from hinge.kernels import Scalar

NAMES = "abcd"
CONSTANTS = (0.0, 1.0, -1.0, 2.0, -0.5, 3.7, np.float64(1.25), 2, np.int64(-3))


def traced(graph, name, shape):
    """Return an object array of inputs (name, i, j, …)."""
    out = np.empty(shape, dtype=object)
    for i in np.ndindex(shape):
        out[i] = graph.input((name, *i))
    return out


def named(name, array):
    """Return the elements of an array under the keys (name, i, j, …)."""
    array = np.asarray(array)
    return {(name, *i): array[i] for i in np.ndindex(array.shape)}


def program(seed, length=60):
    """Return a random function of four scalars with `length` results, written for any scalar."""
    rng = np.random.default_rng(seed)
    steps = [_step(rng, len(NAMES) + k) for k in range(length)]

    def run(*arguments):
        values = list(arguments)
        for s in steps:
            values.append(s(values))
        return values[len(NAMES) :]

    return run


def _step(rng, known):
    """Return a random operation on the list of known values that keeps bounded values bounded."""
    i, j = rng.integers(known, size=2)
    c = CONSTANTS[rng.integers(len(CONSTANTS))]
    kinds = [
        lambda v: v[i] + v[j],
        lambda v: v[i] - v[j],
        lambda v: sin(v[i]) * v[j],
        lambda v: -v[i],
        lambda v: c * sin(v[i]),
        lambda v: sin(v[i]) * c,
        lambda v: v[i] + c,
        lambda v: c - v[i],
        lambda v: c * (v[i] * 0.5),
        lambda v: v[i] / (2.5 if c == 0 else c),
        lambda v: v[i] / (v[j] * v[j] + 1.5),
        lambda v: c / (v[j] * v[j] + 1.5),
        lambda v: cos(v[i]),
        lambda v: sqrt(2.0 - sin(v[i])),
        lambda v: log(-(-3.0 - cos(v[i]))),
        lambda v: sin(v[i]) ** 3,
    ]
    return kinds[rng.integers(len(kinds))]


def _function(name):
    return lambda x: getattr(x, name)() if isinstance(x, Scalar) else getattr(np, name)(x)


sin, cos, sqrt, log = map(_function, ("sin", "cos", "sqrt", "log"))


def same(a, b):
    """Tell whether two results are the same value: the same float, or the same node and sign."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return (a.graph, a.index, a.negative) == (b.graph, b.index, b.negative)
    return type(a) is type(b) is float and a == b
