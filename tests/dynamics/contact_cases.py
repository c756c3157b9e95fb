"""Steps, impacts and motions over contacts by dense matrices, with closures and all options of the verbs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import hinge
from hinge import reference
from hinge.binding.touch import SHARE, missed
from hinge.model import opened
from hinge.reference import ForceSet
from tests.dynamics.contact_dense import normal_bias


@dataclass
class Dense:
    """A robot in a state: rows of closures and of contacts, Ω = J M⁻¹ Jᵀ, and what it does without them."""

    robot: object
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray | None = None
    friction: object = None
    restitution: object = None
    options: dict | None = None

    def __post_init__(self):
        tree, q = opened(self.robot), self.q
        contacts = reference.contact_jacobian(self.robot, q).reshape(-1, self.robot.nv)
        loops = reference.closure_jacobian(self.robot, q) if self.robot.closures else contacts[:0]
        self.loops = len(loops)
        self.j = np.vstack([loops, contacts])
        self.moved = np.linalg.solve(hinge.mass_matrix(tree, q), self.j.T)
        self.omega = self.j @ self.moved
        tau = np.zeros(self.robot.nv) if self.tau is None else self.tau
        self.free = hinge.forward_dynamics(tree, q, self.qd, tau, **(self.options or {}))
        own = self.robot.contacts
        self.mu = np.array([c.friction for c in own]) if self.friction is None else self.friction
        self.e = np.array([c.restitution for c in own]) if self.restitution is None else self.restitution

    def step(self, dt, hold=1.0):
        """Return velocities after a step, and impulses of closures and of contacts (k, 3)."""
        u, target = self.j @ self.qd, np.zeros(len(self.j))
        target[: self.loops] = SHARE / dt * reference.closure_error(self.robot, self.q) if self.loops else 0.0
        for k, (g, e) in enumerate(zip(reference.gap(self.robot, self.q), self.e, strict=True)):
            at = self.loops + 3 * k
            target[at] = missed(g, u[at], e, 1 / dt)
        b = u + target + dt * self.j @ self.free
        lam, residual = reference.cones(self.omega, b, ForceSet(self.mu, free=self.loops))
        assert residual < 1e-9
        return (
            self.qd + dt * self.free + self.moved @ lam,
            lam[: self.loops],
            lam[self.loops :].reshape(-1, 3),
        )

    def collide(self, closed):
        """Return velocities after an impact of some contacts, and `reference.TwoPhases` of it."""
        rows = [
            *range(self.loops),
            *(self.loops + 3 * k + i for k in np.flatnonzero(closed) for i in range(3)),
        ]
        j, moved = self.j[rows], self.moved[:, rows]
        mu, e = self.mu[np.array(closed, bool)], self.e[np.array(closed, bool)]
        hit = reference.poisson(j @ moved, j @ self.qd, e, mu, free=self.loops)
        return self.qd + moved @ hit.impulses, hit

    def move(self, closed):
        """Return accelerations on frictionless contacts that are closed, and their normal forces."""
        which = np.flatnonzero(closed)
        rows = [*range(self.loops), *(self.loops + 3 * which)]
        j, moved = self.j[rows], self.moved[:, rows]
        bias = normal_bias(self.robot, self.q, self.qd)[which]
        if self.loops:
            bias = np.concatenate([reference.closure_bias(self.robot, self.q, self.qd), bias])
        among = ForceSet(half=len(which), free=self.loops)
        lam, _ = reference.cones(j @ moved, j @ self.free + bias, among)
        return self.free + moved @ lam, lam[self.loops :]
