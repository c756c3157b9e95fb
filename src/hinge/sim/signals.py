"""Functions of time as arrays: constants, or samples with interpolation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hinge.errors import ArgumentError
from hinge.model import as_vector
from hinge.spatial import Array, ArrayLike

Between: TypeAlias = Literal["linear", "hold"]


@dataclass(frozen=True, eq=False)
class Signal:
    """Samples at increasing times: values (T, n), the same for all states, or (states, T, n) like `run.q`.

    Between samples it is linear or holds the earlier one; outside it holds the first or the last.
    """

    times: Array
    values: Array
    between: Between = "linear"

    def __post_init__(self) -> None:
        if self.between not in ("linear", "hold"):
            raise ArgumentError(f"between: expected 'linear' or 'hold', got {self.between!r}")
        times = np.asarray(self.times, dtype=np.float64)
        if (
            times.ndim != 1
            or not len(times)
            or not (np.diff(times) > 0).all()
            or not np.isfinite(times).all()
        ):
            raise ArgumentError(f"times: expected finite, increasing numbers (T,), got shape {times.shape}")
        values = _numbers(self.values)
        if values.ndim not in (2, 3) or values.shape[-2] != len(times):
            swap = values.ndim == 3 and len(values) == len(times)
            raise ArgumentError(
                f"values: expected shape (T, n) or (states, T, n) with T = {len(times)}, got {values.shape}"
                + ("; states come first: give np.swapaxes(values, 0, 1)" if swap else "")
            )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    def at(self, t: Array) -> Array:
        """Return the values (…, n) or (states, …, n) at times of shape (…)."""
        return self._sampled(t, lambda k: np.take(self.values, k, axis=-2))

    def of(self, states: NDArray[np.int64], t: Array) -> Array:
        """Return the values (m, n) of states (m,), each at a time of its own, of times (m,)."""
        return self._sampled(t, lambda k: self.values[k] if self.values.ndim == 2 else self.values[states, k])

    def _sampled(self, t: Array, take: Callable[[NDArray[np.int64]], Array]) -> Array:
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 1)
        if self.between == "hold" or len(self.times) == 1:
            return take(k)
        k = np.minimum(k, len(self.times) - 2)
        share = np.clip((t - self.times[k]) / (self.times[k + 1] - self.times[k]), 0.0, 1.0)[..., None]
        return (1 - share) * take(k) + share * take(k + 1)


def _numbers(x: ArrayLike) -> Array:
    """Return samples as floats; single precision stays."""
    try:
        return np.asarray(x, dtype=np.float32 if getattr(x, "dtype", None) == np.float32 else np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"values: expected numbers (T, n) or (states, T, n), got {error}") from None


#: A constant (n,) or (states, n), or a signal.
Given: TypeAlias = ArrayLike | Signal


def given_signal(x: Given, name: str, size: int, reason: str) -> Array | Signal:
    """Return an argument as an array (…, size) or a signal of this size, or raise an ArgumentError."""
    if not isinstance(x, Signal):
        return as_vector(x, name, size, reason)
    if x.values.shape[-1] != size:
        raise ArgumentError(f"{name}: expected samples of {size} numbers, {reason}, got {x.values.shape[-1]}")
    return x
