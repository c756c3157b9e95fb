"""Distributions: from uniform numbers to those of a sample, one file's worth of them.

All go by the inverse of their distribution function, so that designs which spread uniform numbers evenly
(Sobol, Latin hypercubes) spread these as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from math import inf, isfinite, pi
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from hinge.campaign.extras import extra
from hinge.errors import ArgumentError, did_you_mean
from hinge.spatial import Array

#: A number, or nested tuples of numbers.
Numbers = Any


class Distribution(ABC):
    """What a quantity is drawn from. `width` uniform numbers make the numbers of one sample."""

    word: ClassVar[str]

    def width(self, shape: tuple[int, ...]) -> int:
        """Return how many uniform numbers a sample of this shape takes."""
        return int(np.prod(shape, dtype=int))

    def check(self, shape: tuple[int, ...], name: str) -> None:
        """Refuse what does not fit the shape of a quantity."""
        for f in fields(self):  # pyright: ignore[reportArgumentType]
            x = np.asarray(getattr(self, f.name), float)
            try:
                fits = np.broadcast_shapes(x.shape, shape) == shape
            except ValueError:
                fits = False
            if not fits:
                raise ArgumentError(
                    f"{name}: expected {f.name} as a number or of shape {shape}, got shape {x.shape}"
                )

    @abstractmethod
    def at(self, u: Array, index: NDArray[np.int64], shape: tuple[int, ...]) -> Array:
        """Return the numbers (count, *shape) of samples with these uniform numbers (count, width)."""

    def data(self) -> dict[str, Any]:
        """Return it as it stands in a specification."""
        return {self.word: [getattr(self, f.name) for f in fields(self)]}  # pyright: ignore[reportArgumentType]


def _numbers(x: Any, name: str, what: str = "finite numbers") -> Numbers:
    """Return numbers as nested tuples."""
    try:
        found = np.array(x, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}: expected {what}, got {x!r}") from None
    if not np.isfinite(found).all():
        raise ArgumentError(f"{name}: expected {what}, got {x!r}")
    return _frozen(found.tolist())


def _frozen(x: Any) -> Any:
    return tuple(map(_frozen, cast("list[Any]", x))) if isinstance(x, list) else x


@dataclass(frozen=True)
class Uniform(Distribution):
    """Evenly from low to high."""

    low: Numbers
    high: Numbers
    word: ClassVar[str] = "uniform"

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _numbers(self.low, "low"))
        object.__setattr__(self, "high", _numbers(self.high, "high"))
        if not np.all(np.less_equal(self.low, self.high)):
            raise ArgumentError(f"uniform: expected low ≤ high, got {self.low} and {self.high}")

    def at(self, u: Array, index: NDArray[np.int64], shape: tuple[int, ...]) -> Array:
        """Return low + (high − low) u."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return low + (high - low) * u.reshape(len(u), *shape)


@dataclass(frozen=True)
class LogUniform(Uniform):
    """Evenly in the logarithm, from low to high, both above zero."""

    word: ClassVar[str] = "log_uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.all(np.greater(self.low, 0.0)):
            raise ArgumentError(f"log_uniform: expected low > 0, got {self.low}")

    def at(self, u: Array, index: NDArray[np.int64], shape: tuple[int, ...]) -> Array:
        """Return low (high / low)ᵘ."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return low * (high / low) ** u.reshape(len(u), *shape)


@dataclass(frozen=True)
class Normal(Distribution):
    """Gauss's distribution with a mean and a standard deviation, cut off below `low` and above `high`."""

    mean: Numbers
    sd: Numbers
    low: Numbers = None
    high: Numbers = None
    word: ClassVar[str] = "normal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _numbers(self.mean, "mean"))
        object.__setattr__(self, "sd", _numbers(self.sd, "sd"))
        for name, none in (("low", -inf), ("high", inf)):
            x = getattr(self, name)
            x = none if x is None else x
            object.__setattr__(self, name, x if x in (-inf, inf) else _numbers(x, name))
        if not np.all(np.greater(self.sd, 0.0)):
            raise ArgumentError(f"normal: expected a standard deviation sd > 0, got {self.sd}")
        if not np.all(np.less(self.low, self.high)):
            raise ArgumentError(f"normal: expected low < high, got {self.low} and {self.high}")

    def at(self, u: Array, index: NDArray[np.int64], shape: tuple[int, ...]) -> Array:
        """Return mean + sd Φ⁻¹(u), with u between Φ of the ends."""
        special = extra("scipy.special")
        mean, sd = np.asarray(self.mean), np.asarray(self.sd)
        a, b = (special.ndtr((np.asarray(x) - mean) / sd) for x in (self.low, self.high))
        return mean + sd * special.ndtri(a + (b - a) * u.reshape(len(u), *shape))

    def data(self) -> dict[str, Any]:
        """Return the mean and the deviation, and the ends if it has any."""
        ends = {n: x for n in ("low", "high") if not isinstance(x := getattr(self, n), float) or isfinite(x)}
        return {self.word: [self.mean, self.sd], **ends}


@dataclass(frozen=True)
class Choice(Distribution):
    """One of several values, with weights if they are not equally likely."""

    values: Numbers
    weights: Numbers = None
    word: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _numbers(self.values, "values"))
        if np.ndim(self.values) == 0 or len(self.values) == 0:
            raise ArgumentError(f"choice: expected a list of values, got {self.values!r}")
        if self.weights is not None:
            object.__setattr__(self, "weights", _numbers(self.weights, "weights"))
            w = np.asarray(self.weights)
            if w.shape != (len(self.values),) or (w < 0).any() or w.sum() <= 0:
                raise ArgumentError(
                    f"choice: expected a weight ≥ 0 for each of {len(self.values)} values, got "
                    f"{self.weights!r}"
                )

    def width(self, shape: tuple[int, ...]) -> int:
        """Return one: all numbers of a value are chosen together."""
        return 1

    def check(self, shape: tuple[int, ...], name: str) -> None:
        """Refuse values of another shape."""
        if np.shape(self.values)[1:] != shape:
            raise ArgumentError(
                f"{name}: expected values of shape {shape}, got shape {np.shape(self.values)[1:]}"
            )

    def at(self, u: Array, index: NDArray[np.int64], shape: tuple[int, ...]) -> Array:
        """Return the values by the steps of their distribution function."""
        weights = np.ones(len(self.values)) if self.weights is None else np.asarray(self.weights)
        steps = np.cumsum(weights / weights.sum())
        chosen = np.minimum(np.searchsorted(steps, u[:, 0], side="right"), len(steps) - 1)
        return np.asarray(self.values)[chosen]

    def data(self) -> dict[str, Any]:
        """Return the values, and the weights if there are any."""
        more = {} if self.weights is None else {"weights": self.weights}
        return {self.word: self.values, **more}


@dataclass(frozen=True)
class Attitude(Distribution):
    """Any attitude, evenly: a unit quaternion (w, x, y, z) for a joint that turns freely."""

    word: ClassVar[str] = "attitude"

    def width(self, shape: tuple[int, ...]) -> int:
        """Return three."""
        return 3

    def check(self, shape: tuple[int, ...], name: str) -> None:
        """Refuse quantities that are no quaternion."""
        if shape != (4,):
            raise ArgumentError(
                f"{name}: expected a joint with a quaternion for an attitude, got {shape} numbers"
            )

    def at(self, u: Array, index: NDArray[np.int64], shape: tuple[int, ...]) -> Array:
        """Return Shoemake's quaternions."""
        a, b = np.sqrt(1 - u[:, 0]), np.sqrt(u[:, 0])
        s, t = 2 * pi * u[:, 1], 2 * pi * u[:, 2]
        return np.stack([b * np.cos(t), a * np.sin(s), a * np.cos(s), b * np.sin(t)], axis=-1)

    def data(self) -> dict[str, Any]:
        """Return its word."""
        return {self.word: True}


class Given(Distribution):
    """An array (samples, …): the numbers of each sample."""

    word: ClassVar[str] = "given"

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values, float)
        if self.values.ndim == 0:
            raise ArgumentError("given: expected an array (samples, …), got a number")

    def width(self, shape: tuple[int, ...]) -> int:
        """Return zero: nothing is drawn."""
        return 0

    def check(self, shape: tuple[int, ...], name: str) -> None:
        """Refuse arrays of another shape."""
        if self.values.shape[1:] != shape:
            raise ArgumentError(
                f"{name}: expected an array of shape (samples, *{shape}), got {self.values.shape}"
            )

    def at(self, u: Array, index: NDArray[np.int64], shape: tuple[int, ...]) -> Array:
        """Return the rows of the samples."""
        return np.array(self.values[index], float)

    def data(self) -> dict[str, Any]:
        """Refuse: a store keeps the array as a file, and names that."""
        raise NotImplementedError("an array is kept as a file beside the specification")


_WORDS: dict[str, type[Any]] = {d.word: d for d in (Uniform, LogUniform, Normal, Choice, Attitude)}


def distribution(data: Any, name: str) -> Distribution:
    """Return the distribution of data such as {"normal": [0, 0.1]}; a number stands for itself."""
    if isinstance(data, Distribution):
        return data
    if isinstance(data, np.ndarray):
        return Given(data)
    if not isinstance(data, dict):
        value = _numbers(data, name, "a distribution such as {normal = [0.0, 0.1]}, or numbers")
        return Choice((value,))
    given = cast("dict[str, Any]", data)
    words = [w for w in given if w in _WORDS]
    if len(words) != 1:
        hint = did_you_mean(next(iter(given), ""), _WORDS) or f"they are {', '.join(_WORDS)}"
        raise ArgumentError(f"{name}: expected one distribution, got {', '.join(given) or 'none'}; {hint}")
    word, more = words[0], {k: v for k, v in given.items() if k != words[0]}
    value, kind, parts = given[word], _WORDS[word], list[Any]()
    if kind is Choice:
        parts = [value]
    elif kind is not Attitude:
        parts = [*value] if isinstance(value, list | tuple) else [value]
    try:
        return kind(*parts, **more)
    except TypeError:
        wanted = ", ".join(
            f.name for f in fields(kind) if f.name not in ("low", "high") or kind is not Normal
        )
        raise ArgumentError(f"{name}: expected {word} = [{wanted}], got {given!r}") from None
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}") from None
