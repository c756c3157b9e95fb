"""Numbers with their rates, and poses of frames made of them, for formulas at the world."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from hinge.kernels import on_duals as apply
from hinge.spatial import cross
from hinge.sweeps import Block, zeros


class Jet:
    """A number and its rate."""

    __slots__ = ("rate", "value")

    def __init__(self, value: Any, rate: Any) -> None:
        self.value, self.rate = value, rate

    def __add__(self, other: Any) -> Jet:
        x = jet(other)
        return Jet(self.value + x.value, self.rate + x.rate)

    def __sub__(self, other: Any) -> Jet:
        x = jet(other)
        return Jet(self.value - x.value, self.rate - x.rate)

    def __mul__(self, other: Any) -> Jet:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy multiplies element by element
        x = jet(other)
        return Jet(self.value * x.value, self.value * x.rate + self.rate * x.value)

    def __truediv__(self, other: Any) -> Jet:
        x = jet(other)
        found = self.value / x.value
        return Jet(found, (self.rate - found * x.rate) / x.value)

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.rate)

    def __radd__(self, other: Any) -> Jet:
        return self + other

    def __rsub__(self, other: Any) -> Jet:
        return jet(other) - self

    def __rmul__(self, other: Any) -> Jet:
        return self * other

    def __rtruediv__(self, other: Any) -> Jet:
        return jet(other) / self

    def sqrt(self) -> Jet:
        """Return the square root."""
        found = root(self.value)
        return Jet(found, self.rate / (found + found))


def jet(x: Any) -> Jet:
    """Return a number with its rate, zero if it has none."""
    return x if isinstance(x, Jet) else Jet(x, 0.0)


def root(x: Any) -> Any:
    """Return a square root."""
    return x.sqrt() if isinstance(x, Jet) else apply("sqrt", x)


def larger(x: Any, y: Any) -> Any:
    """Return the larger of two numbers."""
    return choose(y, x, x, y)


def largest(values: Iterable[Any]) -> Any:
    """Return the largest of numbers that are zero or more."""
    found: Any = 0.0
    for x in values:
        found = apply("max", x, found)
    return found


def smaller(x: Any, y: Any) -> Any:
    """Return the smaller of two numbers."""
    return choose(x, y, x, y)


def choose(x: Any, y: Any, a: Any, b: Any) -> Any:
    """Return a where x < y, else b."""
    x, y = (z.value if isinstance(z, Jet) else z for z in (x, y))
    if isinstance(a, Jet) or isinstance(b, Jet):
        a, b = jet(a), jet(b)
        return Jet(choose(x, y, a.value, b.value), choose(x, y, a.rate, b.rate))
    return apply("choose", x, y, a, b)


def clamped(x: Any, least: float, most: float) -> Any:
    """Return the nearest number between two."""
    return larger(smaller(x, most), least)


class Pose(NamedTuple):
    """The rotation from the world to a frame, and the frame's origin in the world."""

    e: Block
    p: Block

    @classmethod
    def of(cls, x: Block) -> Pose:
        """Return the pose of a motion transform [E 0; −E p× E]."""
        e = x[:3, :3]
        px = -(e.T @ x[3:, :3])
        return cls(e, np.array([px[2, 1], px[0, 2], px[1, 0]], dtype=object))

    def moving(self, velocity: Block) -> Pose:
        """Return the pose with its rates, for a velocity of the frame in its own axes."""
        w, v = velocity[:3], velocity[3:]
        turned = np.stack([-cross(w, self.e[:, k]) for k in range(3)], axis=1)
        return Pose(_with_rates(self.e, turned), _with_rates(self.p, self.e.T @ v))


def _with_rates(values: Block, rates: Block) -> Block:
    found = np.empty(values.shape, dtype=object)
    for at, x in np.ndenumerate(values):
        found[at] = Jet(x, rates[at])
    return found


def floor(x: Any) -> Any:
    """Return the largest whole number that is not above x; its rate is zero."""
    return apply("floor", x.value if isinstance(x, Jet) else x)


def looked_up(name: str, x: Any) -> Any:
    """Return the number of a table at a whole number, which has no rate."""
    return apply(name, x)


class Touch(NamedTuple):
    """Where a contact touches: the gap, n, t₁, t₂ as rows, and the point x."""

    gap: Any
    axes: Block
    x: Block


def rates(values: Block) -> Block:
    """Return the rates of numbers."""
    found = zeros(*values.shape)
    for at, x in np.ndenumerate(values):
        found[at] = jet(x).rate
    return found
