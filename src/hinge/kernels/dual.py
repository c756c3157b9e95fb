"""Dual numbers: a value and its rate along one direction, over numbers of any kind.

A formula evaluated on duals gives its derivative along a direction, traced like any other value: zeros fold,
and equal terms are made once. Duals nest: each direction has a level, the youngest one is the outermost, and
numbers of other levels are constants to it. Without levels the rates of two directions would be mixed up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.kernels.graph import apply
from hinge.kernels.ops import OPS

_levels = count(1)


def fresh_level() -> int:
    """Return the level of a new direction."""
    return next(_levels)


class Dual:
    """A number and its rate along the direction of a level."""

    __slots__ = ("level", "rate", "value")

    def __init__(self, value: Any, rate: Any, level: int = 0) -> None:
        self.value, self.rate, self.level = value, rate, level

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.rate!r}, {self.level})"

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate, self.level)

    def __pos__(self) -> Dual:
        return self

    def __add__(self, other: Any) -> Any:
        return _combined(self, other, "add")

    def __radd__(self, other: Any) -> Any:
        return _combined(self, other, "add")

    def __sub__(self, other: Any) -> Any:
        return _combined(self, other, "sub")

    def __rsub__(self, other: Any) -> Any:
        return _combined(other, self, "sub")

    def __mul__(self, other: Any) -> Any:
        return _combined(self, other, "mul")

    def __rmul__(self, other: Any) -> Any:
        return _combined(other, self, "mul")

    def __truediv__(self, other: Any) -> Any:
        return _combined(self, other, "div")

    def __rtruediv__(self, other: Any) -> Any:
        return _combined(other, self, "div")

    def __pow__(self, exponent: int) -> Any:
        """Return x · x · …; the exponent is a whole number."""
        found = self
        for _ in range(int(exponent) - 1):
            found = found * self
        return found


def level_of(x: Any) -> int:
    """Return the level of a number, −1 if it is a constant to every direction."""
    return x.level if isinstance(x, Dual) else -1


def _combined(x: Any, y: Any, name: str) -> Any:
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return NotImplemented  # NumPy goes on element by element
    level = max(level_of(x), level_of(y))
    (a, da), (b, db) = _parts(x, level), _parts(y, level)
    match name:
        case "add":
            return Dual(a + b, da + db, level)
        case "sub":
            return Dual(a - b, da - db, level)
        case "mul":
            return Dual(a * b, a * db + da * b, level)
        case _:
            found = a / b
            return Dual(found, (da - found * db) / b, level)


def _parts(x: Any, level: int) -> tuple[Any, Any]:
    return (x.value, x.rate) if isinstance(x, Dual) and x.level == level else (x, 0.0)


def on_duals(name: str, *args: Any) -> Any:
    """Return an operation of the table on numbers of which some are duals."""
    level = max(map(level_of, args))
    if level < 0:
        return apply(name, *args)
    values, rates = zip(*(_parts(x, level) for x in args), strict=True)
    found = on_duals(name, *values)
    rate = OPS[name].rate
    return Dual(found, 0.0 if rate is None else rate(on_duals, found, values, rates), level)


def _method(name: str) -> Callable[..., Any]:
    return lambda *args: on_duals(name, *args)


# NumPy's functions of object arrays call a method of each element: np.sin calls x.sin().
for _op in OPS.values():
    if _op.method:
        setattr(Dual, _op.method, _method(_op.name))


def value_of(x: Any) -> Any:
    """Return a number without its rates."""
    while isinstance(x, Dual):
        x = x.value
    return x


def duals(values: NDArray[Any], rates: Sequence[Any] | NDArray[Any], level: int) -> NDArray[Any]:
    """Return an array of numbers with their rates; a number whose rate is zero stays as it is.

    Those of NumPy become duals all the same: in an array of objects they have no functions such as cos.
    """
    found = np.empty(values.shape, dtype=object)
    for at, x in np.ndenumerate(values):
        rate = np.asarray(rates, dtype=object)[at]
        stays = isinstance(rate, float) and rate == 0.0 and not isinstance(x, np.floating)
        found[at] = x if stays else Dual(x, rate, level)
    return found


def rates(values: NDArray[Any], level: int) -> NDArray[Any]:
    """Return the rates of numbers along the direction of a level."""
    found = np.empty(values.shape, dtype=object)
    for at, x in np.ndenumerate(values):
        found[at] = x.rate if isinstance(x, Dual) and x.level == level else 0.0
    return found
