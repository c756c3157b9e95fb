"""Differences of the fourth order along `integrate`: what derivatives are compared with."""

from __future__ import annotations

import numpy as np

import hinge

STEP = 1e-3


def by_q(robot, f, q, step=STEP, *, at_once=False):
    """Return the derivative of f(q), an array (…), by q: (…, nv); `at_once` f takes a batch."""
    return _columns(lambda d: f(hinge.integrate(robot, q, d)), robot.nv, step, at_once)


def by_vector(f, x, step=STEP, *, at_once=False):
    """Return the derivative of f(x) by a vector x."""
    return _columns(lambda d: f(x + d), len(x), step, at_once)


def _columns(f, n, step, at_once):
    unit = np.eye(n) * step
    every = np.concatenate([unit, -unit, 2 * unit, -2 * unit])
    values = f(every) if at_once else np.stack([f(d) for d in every]) if n else np.zeros((0,))
    more, less, twice, back = np.split(np.asarray(values), 4)
    found = (8 * (more - less) - (twice - back)) / (12 * step)
    return np.moveaxis(found, 0, -1)


def off(found, wanted):
    """Return the largest difference, relative to the largest entry where that is above one."""
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    return float(np.abs(found - wanted).max(initial=0.0) / max(1.0, np.abs(wanted).max(initial=0.0)))
