"""Gaussian models on trees: as weighted trees in both directions, as dense matrices, and chains of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from hinge.algebra import H, M, logdet, phi, tau
from hinge.model import WeightedTree

mass = H @ phi @ M @ phi.T @ H.T
#: What data at the hinges say: the blocks given all data, twice the negative log-likelihood in two parts.
TOWARDS_ROOT = {
    "state": phi @ M @ phi.T @ H.T @ mass.inv() @ tau,
    "quadratic": tau.T @ mass.inv() @ tau,
    "log_determinant": logdet(mass),
}


def positive(rng, n, least=0.3):
    """Return a random positive definite matrix."""
    a = rng.standard_normal((n, n))
    return a @ a.T / n + least * np.eye(n)


@dataclass
class Model:
    """x(i) = Σ F(c) x(c) over children c (or F(i) x(parent)) + w(i), y(i) = C(i) x(i) + v(i)."""

    parents: list[int]
    F: list
    C: list
    Q: list
    R: list

    @property
    def sizes(self):
        return [len(q) for q in self.Q]

    def towards_root(self):
        """Return the tree on which states merge: blocks [x; v], and data at the hinges."""
        e = []
        for i, p in enumerate(self.parents):
            if p < 0:
                e.append(None)
                continue
            block = np.zeros((self.sizes[p] + len(self.R[p]), self.sizes[i] + len(self.R[i])))
            block[: self.sizes[p], : self.sizes[i]] = self.F[i]
            e.append(block)
        h = [np.hstack([c, np.eye(len(r))]) for c, r in zip(self.C, self.R, strict=True)]
        m = [block_diag(q, r) for q, r in zip(self.Q, self.R, strict=True)]
        return WeightedTree(self.parents, e, h, m)

    def from_root(self):
        """Return the tree on which states branch: blocks [x; w], the noise at the hinges."""
        e, h, m = [], [], []
        for i, p in enumerate(self.parents):
            n = self.sizes[i]
            if p >= 0:
                block = np.zeros((2 * self.sizes[p], 2 * n))
                block[: self.sizes[p], :n] = self.F[i].T
            e.append(None if p < 0 else block)
            h.append(np.hstack([np.eye(n), np.eye(n)]))
            m.append(
                block_diag(self.C[i].T @ np.linalg.solve(self.R[i], self.C[i]), np.linalg.inv(self.Q[i]))
            )
        return WeightedTree(self.parents, e, h, m)

    def dense(self, y, *, branching):
        """Return the states given the data, their covariance, and −2 log-likelihood but for its constant."""
        at = np.cumsum([0, *self.sizes])
        carry = np.zeros((at[-1], at[-1]))
        for i, p in enumerate(self.parents):
            if p >= 0:
                child, parent = slice(at[i], at[i + 1]), slice(at[p], at[p + 1])
                to, of = (child, parent) if branching else (parent, child)
                carry[to, of] = self.F[i]
        whole = np.linalg.inv(np.eye(at[-1]) - carry)
        spread = whole @ block_diag(*self.Q) @ whole.T
        c = block_diag(*self.C)
        data = c @ spread @ c.T + block_diag(*self.R)
        gain = np.linalg.solve(data, c @ spread).T
        return (
            gain @ y,
            spread - gain @ c @ spread,
            (y @ np.linalg.solve(data, y), np.linalg.slogdet(data)[1]),
        )


def random_model(parents, seed, sizes=None, data=None, *, branching=False):
    """Return a model with random matrices, states of 1 to 4 numbers and 1 to 2 data at each node."""
    rng = np.random.default_rng(seed)
    n = len(parents)
    sizes = rng.integers(1, 5, n) if sizes is None else sizes
    data = rng.integers(1, 3, n) if data is None else data
    shape = (lambda i, p: (sizes[i], sizes[p])) if branching else (lambda i, p: (sizes[p], sizes[i]))
    return Model(
        list(parents),
        [None if p < 0 else 0.7 * rng.standard_normal(shape(i, p)) for i, p in enumerate(parents)],
        [rng.standard_normal((m, k)) for m, k in zip(data, sizes, strict=True)],
        [positive(rng, k) for k in sizes],
        [positive(rng, m) for m in data],
    )


def chain(steps, seed, n=4, m=2):
    """Return a stable time-invariant system (F, C, Q, R, first) and data (steps, m)."""
    rng = np.random.default_rng(seed)
    f = rng.standard_normal((n, n))
    f *= 0.95 / np.abs(np.linalg.eigvals(f)).max()
    return (f, rng.standard_normal((m, n)), positive(rng, n), positive(rng, m), positive(rng, n)), rng


def chain_tree(steps, F, C, Q, R, first):
    """Return the model of a chain of time steps, the last one at the root."""
    parents = list(range(-1, steps - 1))
    noise = [Q] * (steps - 1) + [first]
    return Model(parents, [None] + [F] * (steps - 1), [C] * steps, noise, [R] * steps)
