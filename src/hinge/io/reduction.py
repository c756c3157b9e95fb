"""Shapes of flexible bodies from matrices of finite elements: the reduction of Craig and Bampton (1968).

With degrees of freedom split in those of the interface, b, and inner ones, i, the shapes are static
deflections of unit displacements at b, −K_ii⁻¹ K_ib, and modes of the body held at b; of their reduced
problem they are the eigenvectors, so that mass and stiffness are diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from hinge.errors import ArgumentError, MissingExtraError
from hinge.spatial import Array

#: Dense matrices up to this size are used as they are; larger ones need SciPy.
DENSE = 2000


def craig_bampton(mass: Any, stiffness: Any, interface: Sequence[int], modes: int) -> tuple[Array, Array]:
    """Return shapes (dofs, n) and the stiffness (n, n), diagonal, of a body of finite elements.

    `mass` and `stiffness` (dofs, dofs), dense or sparse matrices of SciPy, are those of the body held where
    its joint is, so that nothing moves it rigidly; `interface` are the degrees of freedom where others hang,
    each with a static shape, and `modes` the number of shapes with all of these held: n = len(interface) +
    modes. The modal mass is one. `Flexible.from_nodes` makes a body of them.
    """
    m, k = _square(mass, "mass"), _square(stiffness, "stiffness")
    size = m.shape[0]
    if k.shape != m.shape:
        raise ArgumentError(f"stiffness: expected shape {m.shape}, that of mass, got {k.shape}")
    at = np.asarray(interface, dtype=int).reshape(-1)
    if len(set(at.tolist())) != len(at) or (len(at) and not (at.min() >= 0 and at.max() < size)):
        raise ArgumentError(f"interface: expected different numbers from 0 to {size - 1}, got {interface!r}")
    inner = np.setdiff1d(np.arange(size), at)
    if not 0 <= modes <= len(inner) or modes + len(at) == 0:
        raise ArgumentError(f"modes: expected a number from 0 to {len(inner)}, got {modes!r}")
    solve, vectors = _inner(m, k, inner, modes)
    whole = np.zeros((size, len(at) + modes))
    whole[at, range(len(at))] = 1.0
    if len(at):
        whole[inner, : len(at)] = -solve(_dense(k[inner][:, at]))
    whole[inner, len(at) :] = vectors
    reduced = [whole.T @ np.asarray(x @ whole) for x in (m, k)]
    values, combined = _eigen(*(0.5 * (x + x.T) for x in reduced))
    if values[0] <= 1e-9 * values[-1]:
        raise ArgumentError(
            "stiffness: expected a body that is held, got a shape without stiffness (ω² = "
            f"{values[0]:.3g}); leave "
            "out the degrees of freedom where its joint is"
        )
    return whole @ combined, np.diag(values)


def _square(x: Any, name: str) -> Any:
    """Return a dense array, or a sparse matrix by rows."""
    found = x.tocsr() if hasattr(x, "tocsr") else np.asarray(x, dtype=np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise ArgumentError(f"{name}: expected a square matrix, got shape {found.shape}")
    return found


def _dense(x: Any) -> Array:
    return x.toarray() if hasattr(x, "toarray") else np.asarray(x)


def _eigen(m: Array, k: Array) -> tuple[Array, Array]:
    try:
        root = np.linalg.inv(np.linalg.cholesky(m))
    except np.linalg.LinAlgError:
        raise ArgumentError("mass: expected a positive definite matrix, got one that is not") from None
    values, vectors = np.linalg.eigh(root @ k @ root.T)
    return values, root.T @ vectors


def _inner(m: Any, k: Any, inner: Array, modes: int) -> tuple[Any, Array]:
    """Return what solves with K_ii, and the slowest modes of the body held at its interface."""
    mi, ki = m[inner][:, inner], k[inner][:, inner]
    if len(inner) <= DENSE:
        mi, ki = _dense(mi), _dense(ki)
        _, vectors = _eigen(mi, ki)
        return partial(np.linalg.solve, ki), vectors[:, :modes]
    try:
        sparse: Any = import_module("scipy.sparse")
        linear: Any = import_module("scipy.sparse.linalg")
    except ImportError:
        raise MissingExtraError(
            f"mass: matrices of more than {DENSE} inner degrees of freedom need SciPy; pip install "
            "'hinge[fem]'"
        ) from None
    mi, ki = sparse.csc_matrix(mi), sparse.csc_matrix(ki)
    solve = linear.splu(ki).solve
    if not modes:
        return solve, np.zeros((len(inner), 0))
    _, vectors = linear.eigsh(ki, modes, mi, sigma=0.0)
    return solve, vectors
