"""The motion of a robot by SciPy: q̇ = N(q) v and 𝓜 v̇ = τ − C, in the space of q's coordinates."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

import hinge
from hinge.model import stacked


def rate(robot, q, qd):
    """Return dq/dt of the whole robot, joint by joint."""
    return stacked([j.type.rate(q[..., j.q_slice], qd[..., j.qd_slice]) for j in robot.independent])


def motion(robot, q0, qd0, times, control=None, rtol=1e-13, **more):
    """Return q and qd at times by DOP853 at a tolerance that nothing here comes near."""

    def f(t, y):
        q, qd = y[: robot.nq], y[robot.nq :]
        tau = np.zeros(robot.nv) if control is None else control(t, q, qd)
        return np.concatenate([rate(robot, q, qd), hinge.forward_dynamics(robot, q, qd, tau, **more)])

    y0 = np.concatenate([q0, qd0])
    found = solve_ivp(f, (times[0], times[-1]), y0, method="DOP853", t_eval=times, rtol=rtol, atol=1e-14)
    assert found.success
    return found.y[: robot.nq].T, found.y[robot.nq :].T
