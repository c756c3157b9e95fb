"""Differences of the eighth order along `integrate`: what derivatives are compared with."""

from __future__ import annotations

import numpy as np

import hinge

STEP = 1e-2


def by_q(robot, f, q, step=STEP, *, at_once=False):
    """Return the derivative of f(q), an array (…), by q: (…, nv); `at_once` f takes a batch."""
    return _columns(lambda d: f(hinge.integrate(robot, q, d)), robot.nv, step, at_once)


def by_vector(f, x, step=STEP, *, at_once=False):
    """Return the derivative of f(x) by a vector x."""
    return _columns(lambda d: f(x + d), len(x), step, at_once)


#: Weights of f(kh) − f(−kh), k = 1 … 4.
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def _columns(f, n, step, at_once):
    unit = np.eye(n) * step
    every = np.concatenate([s * k * unit for k in range(1, 5) for s in (1, -1)])
    values = f(every) if at_once else np.stack([f(d) for d in every])
    parts = np.split(np.asarray(values), 8)
    found = sum(w * (parts[2 * k] - parts[2 * k + 1]) for k, w in enumerate(_WEIGHTS)) / step
    return np.moveaxis(found, 0, -1)


def off(found, wanted):
    """Return the largest difference, relative to the largest entry where that is above one."""
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    return float(np.abs(found - wanted).max(initial=0.0) / max(1.0, np.abs(wanted).max(initial=0.0)))
