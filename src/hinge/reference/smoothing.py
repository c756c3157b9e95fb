"""Smoothing of a linear system by the recursions of Rauch, Tung and Striebel, AIAA Journal 3 (1965)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hinge.spatial import Array


class Smoothed(NamedTuple):
    """States (steps, n) given all data, their covariances (steps, n, n), and their log-likelihood."""

    states: Array
    covariances: Array
    log_likelihood: float


def smoother(y: Array, F: Array, C: Array, Q: Array, R: Array, first: Array) -> Smoothed:
    """Return what the data y (steps, m) say of x(t + 1) = F x(t) + w(t), y(t) = C x(t) + v(t).

    w and v are white with covariances Q (n, n) and R (m, m); x(0) has mean zero and covariance `first`.
    """
    n, steps = len(F), len(y)
    predicted, filtered = np.zeros((steps, n)), np.zeros((steps, n))
    before, after = np.zeros((steps, n, n)), np.zeros((steps, n, n))
    log_likelihood, mean, covariance = 0.0, np.zeros(n), first
    for t in range(steps):
        predicted[t], before[t] = mean, covariance
        spread = C @ covariance @ C.T + R
        gain = np.linalg.solve(spread, C @ covariance).T
        innovation = y[t] - C @ mean
        filtered[t], after[t] = mean + gain @ innovation, covariance - gain @ C @ covariance
        log_likelihood -= 0.5 * float(
            innovation @ np.linalg.solve(spread, innovation)
            + np.linalg.slogdet(spread)[1]
            + len(innovation) * np.log(2 * np.pi)
        )
        mean, covariance = F @ filtered[t], F @ after[t] @ F.T + Q
    states, covariances = filtered.copy(), after.copy()
    for t in reversed(range(steps - 1)):
        back = np.linalg.solve(before[t + 1], F @ after[t]).T
        states[t] += back @ (states[t + 1] - predicted[t + 1])
        covariances[t] += back @ (covariances[t + 1] - before[t + 1]) @ back.T
    return Smoothed(states, covariances, log_likelihood)
