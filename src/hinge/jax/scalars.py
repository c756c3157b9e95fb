"""Numbers of arrays of JAX as scalars, for formulas that are written for any scalar type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.jax.extras import jax


class Element:
    """One number of each state: an array of JAX with the arithmetic that formulas ask for."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __add__(self, other: Any) -> Element:
        return Element(self.array + _bare(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Element:
        return Element(self.array - _bare(other))

    def __rsub__(self, other: Any) -> Element:
        return Element(_bare(other) - self.array)

    def __mul__(self, other: Any) -> Element:
        return Element(self.array * _bare(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Element:
        return Element(self.array / _bare(other))

    def __rtruediv__(self, other: Any) -> Element:
        return Element(_bare(other) / self.array)

    def __neg__(self) -> Element:
        return Element(-self.array)

    def sin(self) -> Element:
        """Return the sine."""
        return Element(jax().numpy.sin(self.array))

    def cos(self) -> Element:
        """Return the cosine."""
        return Element(jax().numpy.cos(self.array))

    def sqrt(self) -> Element:
        """Return the square root."""
        return Element(jax().numpy.sqrt(self.array))


def _bare(x: Any) -> Any:
    return x.array if isinstance(x, Element) else float(x)


def elements(x: Any, indices: NDArray[np.int64]) -> NDArray[Any]:
    """Return numbers (…, n) at indices (k, m) as a vector of m scalars, arrays (…, k) each."""
    found = np.empty(indices.shape[1], dtype=object)
    found[:] = [Element(taken(x, column)) for column in indices.T.tolist()]
    return found


def taken(x: Any, indices: Sequence[int]) -> Any:
    """Return numbers of an array (…, n) at indices, as a slice if they follow each other."""
    if not indices or list(indices) == list(range(indices[0], indices[0] + len(indices))):
        return x[..., indices[0] : indices[0] + len(indices)] if indices else x[..., :0]
    return x[..., np.array(indices)]
