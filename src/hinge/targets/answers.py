"""Answers to laws of contact with NumPy."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hinge.sweeps import ForceLaw, KnownBlock
from hinge.targets.arithmetic import NumpyArithmetic, Rows
from hinge.targets.arranged import Arranged, Share, arranged
from hinge.targets.cone_problem import Given
from hinge.targets.force_laws import answer

Array: TypeAlias = NDArray[Any]


def answered(law: ForceLaw, matrix: Array, right: Array, known: KnownBlock | None = None) -> Array:
    """Return λ, the residual of each row and the number of rounds (…, n, 3).

    The matrix (…, r, n) is W, with Ω = Wᵀ W; `known` (r, n) are its entries, of which floats are the same in
    all states. The columns of `right` (…, n, 3) are the right side, a start, and bounds.
    """
    (r, n), batch = matrix.shape[-2:], matrix.shape[:-2]
    flat, columns = matrix.reshape(-1, r, n), right.reshape(-1, n, 3)
    order = arranged(law, np.full((r, n), None, object) if known is None else known)
    states = len(flat)
    factors = [Rows(_entries(order, flat, share)) for share in order.shares]
    filled = np.broadcast_to([0.0, 0.0, 1.0], (states, len(order.places), 3)).copy()
    at = [k for k, row in enumerate(order.places) if row >= 0]
    rows = [order.places[k] for k in at]
    filled[:, at] = columns[:, rows]
    b, start, bounds = (Rows(np.ascontiguousarray(filled[..., k].T)) for k in range(3))
    with np.errstate(all="ignore"):
        found = answer(NumpyArithmetic(states), Given(law, order, factors, b, start, bounds))
    result = np.empty((states, n, 3))
    for k, row in zip(at, rows, strict=True):
        result[:, row] = np.stack([found.forces[k], found.residual[k], found.rounds[0]], axis=-1)
    return result.reshape(*batch, n, 3)


def _entries(order: Arranged, flat: Array, share: Share) -> Array:
    """Return the numbers of a share (numbers, states), zeros at places that fill a triple."""
    places = [(row, order.places[k]) for row, k in share.entries()]
    found = np.zeros((len(places), len(flat)))
    for k, (row, column) in enumerate(places):
        if column >= 0:
            found[k] = flat[:, row, column]
    return found
