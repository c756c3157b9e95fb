"""Differences of the eighth order along `integrate`: what derivatives are compared with."""

from __future__ import annotations

import numpy as np

import hinge

STEP = 1e-2


def by_q(robot, f, q, step=STEP):
    """Return the derivative of f(q), an array (…), by q: (…, nv)."""
    return _columns(lambda d: f(hinge.integrate(robot, q, d)), robot.nv, step)


def by_vector(f, x, step=STEP):
    """Return the derivative of f(x) by a vector x."""
    return _columns(lambda d: f(x + d), len(x), step)


#: Weights of f(kh) − f(−kh), k = 1 … 4.
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def _columns(f, n, step):
    found = []
    for unit in np.eye(n) * step:
        parts = (w * (f(k * unit) - f(-k * unit)) for k, w in enumerate(_WEIGHTS, 1))
        found.append(sum(parts) / step)
    return np.stack(found, axis=-1)


def off(found, wanted):
    """Return the largest difference, relative to the largest entry where that is above one."""
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    return float(np.abs(found - wanted).max(initial=0.0) / max(1.0, np.abs(wanted).max(initial=0.0)))
