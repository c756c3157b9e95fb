"""Answers to laws of contact with NumPy."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hinge.sweeps import ForceLaw
from hinge.targets.arithmetic import NumpyArithmetic, Rows
from hinge.targets.cones import answer

Array: TypeAlias = NDArray[Any]


def answered(law: ForceLaw, matrix: Array, right: Array) -> Array:
    """Return λ, the residual of each row and the number of rounds (…, n, 3).

    The matrix is (…, n, n); the columns of `right` (…, n, 3) are the right side, a start, and bounds.
    """
    n, batch = matrix.shape[-1], matrix.shape[:-2]
    order = law.places
    flat, columns = matrix.reshape(-1, n, n), right.reshape(-1, n, 3)
    at = [k for k, row in enumerate(order) if row >= 0]
    rows = [order[k] for k in at]
    whole = np.broadcast_to(np.eye(len(order)), (len(flat), len(order), len(order))).copy()
    whole[:, np.array(at)[:, None], at] = flat[:, np.array(rows)[:, None], rows]
    given = np.broadcast_to([0.0, 0.0, 1.0], (len(flat), len(order), 3)).copy()
    given[:, at] = columns[:, rows]
    upper = np.triu(whole) + np.swapaxes(np.triu(whole, 1), -1, -2)
    arrays = [Rows(np.ascontiguousarray(x.T)) for x in (given[..., 0], given[..., 1], given[..., 2])]
    with np.errstate(all="ignore"):
        found = answer(NumpyArithmetic(len(flat)), law, Rows(upper.reshape(len(flat), -1).T.copy()), *arrays)
    result = np.empty((len(flat), n, 3))
    for k, row in zip(at, rows, strict=True):
        result[:, row] = np.stack([found.forces[k], found.residual[k], found.rounds[0]], axis=-1)
    return result.reshape(*batch, n, 3)
