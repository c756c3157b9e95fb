"""Events: zeros of functions of the state, located during a simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hinge.errors import ArgumentError
from hinge.spatial import Array, ArrayLike

Indices: TypeAlias = NDArray[np.int64]
#: The states (m, nq) and (m, nv) of a part of the batch at fractions (m,) of their step.
Between: TypeAlias = Callable[[Indices, Array], tuple[Array, Array]]

MOST_ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class Event:
    """A function of (t, q, qd) that returns a number (…,) for each state; its zeros are the event.

    With a batch it gets q (…, nq) of all states or of some, so that `q[..., 0]` is the first coordinate.

    `direction` 1 selects rising zeros, −1 falling ones, 0 both. A `terminal` event ends the run of the
    state. The time is located to `tolerance` seconds.
    """

    function: Callable[[Any, Array, Array], ArrayLike]
    name: str = "event"
    direction: int = 0
    terminal: bool = False
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ArgumentError(f"function: expected a function of (t, q, qd), got {self.function!r}")
        if self.direction not in (-1, 0, 1):
            raise ArgumentError(f"direction: expected 1, −1 or 0, got {self.direction!r}")
        if not self.tolerance > 0:
            raise ArgumentError(f"tolerance: expected seconds above zero, got {self.tolerance!r}")

    def values(self, t: Any, q: Array, qd: Array) -> Array:
        """Return a number for each state."""
        found = np.asarray(self.function(t, q, qd), dtype=np.float64)
        if found.shape != q.shape[:-1]:
            raise ArgumentError(
                f"event {self.name!r}: expected shape {q.shape[:-1]} for q {q.shape}, got {found.shape}; "
                "it is asked for some states of a batch, too: use t, q and qd alone"
            )
        return found

    def crossed(self, before: Array, after: Array) -> NDArray[np.bool_]:
        """Tell which states crossed zero."""
        if self.direction == 1:
            return (before < 0) & (after >= 0)
        falls = (before > 0) & (after <= 0)
        return falls if self.direction else falls | (before < 0) & (after >= 0)


@dataclass(frozen=True, eq=False)
class Hit:
    """A located event: its name, the batch index of the state, the time, and the state."""

    name: str
    state: tuple[int, ...]
    t: float
    q: Array
    qd: Array


def locate(
    event: Event,
    states: Indices,
    t: Array,
    h: Array,
    ends: tuple[Array, Array],
    between: Between,
    *,
    alone: bool,
) -> tuple[Array, Array, Array]:
    """Return the times (m,) of an event in steps t … t + h, and the states then.

    `ends` are the event's values at both ends of the step, of opposite signs; with `alone` there is no
    batch dimension. False position with halved weights (Illinois), with bisection where that is slow.
    """
    low, high = np.zeros(len(states)), np.ones(len(states))
    at_low, at_high = (x.copy() for x in ends)
    share = high.copy()
    for k in range(MOST_ITERATIONS):
        open_ = (high - low) * h > event.tolerance
        if not open_.any():
            break
        straight = low - at_low * (high - low) / np.where(at_high == at_low, 1.0, at_high - at_low)
        middle = (low + high) / 2
        share = np.where((k % 3 == 2) | ~(straight > low) | ~(straight < high), middle, straight)
        share = np.where(open_, share, high)
        now, (q, qd) = t + share * h, between(states, share)
        value = event.values(now[0], q[0], qd[0])[None] if alone else event.values(now, q, qd)
        same = np.sign(value) == np.sign(at_low)
        low, high = np.where(open_ & same, share, low), np.where(open_ & ~same, share, high)
        at_high = np.where(open_ & same, at_high / 2, np.where(open_, value, at_high))
        at_low = np.where(open_ & same, value, np.where(open_, at_low / 2, at_low))
    return t + high * h, *between(states, high)
