"""Statistics that add up: of parts of a campaign, merged in the order of samples to those of all.

Counts, means, covariances, extremes, and quantiles by t-digests (Dunning 2019): sorted clusters of values,
small near the ends of a distribution and large in its middle, so that rare quantiles are good.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

from hinge.spatial import Array

#: Clusters of a digest.
CLUSTERS = 128


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of columns (k,): counts of finite values, means, sums of products about them, least, most.

    `products` (k, k) are of the samples in which all columns are finite, `whole` many, with means `center`.
    A digest has values and weights (k, CLUSTERS), weights of zero at the end.
    """

    names: tuple[str, ...]
    count: Array
    mean: Array
    square: Array
    least: Array
    most: Array
    whole: float
    center: Array
    products: Array
    values: Array
    weights: Array

    @property
    def sd(self) -> Array:
        """The standard deviations (k,), NaN of fewer than two values."""
        with np.errstate(all="ignore"):
            return np.where(self.count > 1, np.sqrt(self.square / (self.count - 1)), np.nan)

    @property
    def covariance(self) -> Array:
        """The covariance (k, k) over samples in which all columns are finite."""
        with np.errstate(all="ignore"):
            return self.products / np.where(self.whole > 1, self.whole - 1, np.nan)

    def quantile(self, name: str, share: float | Sequence[float]) -> Array:
        """Return quantiles of a column, between the clusters of its digest by interpolation."""
        shares, values = self._steps(name)
        return np.asarray(np.interp(share, shares, values))

    def below(self, name: str, values: Array) -> Array:
        """Return the shares of a column that are below some values."""
        shares, steps = self._steps(name)
        return np.interp(values, steps, shares)

    def _steps(self, name: str) -> tuple[Array, Array]:
        """Return the distribution function of a column: shares, and the values that they are below."""
        k = self.names.index(name)
        there = self.weights[k] > 0
        if not there.any():
            return np.array([0.0, 1.0]), np.full(2, np.nan)
        weights, values = self.weights[k, there], self.values[k, there]
        middles = (np.cumsum(weights) - 0.5 * weights) / weights.sum()
        ends = [self.least[k]], values, [self.most[k]]
        return np.concatenate([[0.0], middles, [1.0]]), np.concatenate(ends)

    def bytes(self) -> bytes:
        """Return them as the bytes of an .npz file; the same statistics have the same bytes."""
        file = BytesIO()
        arrays: dict[str, Any] = {n: np.asarray(getattr(self, n)) for n in _ARRAYS}
        np.savez(file, names=np.array(self.names, dtype=np.str_), **arrays)
        return file.getvalue()

    @classmethod
    def read(cls, data: bytes) -> Statistics:
        """Return the statistics of such bytes."""
        with np.load(BytesIO(data), allow_pickle=False) as found:
            names = tuple(map(str, found["names"]))
            rest = {n: np.array(found[n], float) for n in _ARRAYS}
        return cls(names, **(rest | {"whole": float(rest["whole"])}))  # pyright: ignore[reportArgumentType]


_ARRAYS = ("count", "mean", "square", "least", "most", "whole", "center", "products", "values", "weights")


def statistics(columns: dict[str, Array]) -> Statistics:
    """Return the statistics of columns (n,); what is not finite does not count."""
    names = tuple(columns)
    x = np.stack(list(columns.values()), axis=1) if names else np.zeros((0, 0))
    there = np.isfinite(x)
    count = there.sum(0).astype(float)
    mean = np.where(there, x, 0.0).sum(0) / np.maximum(count, 1)
    square = (np.where(there, x - mean, 0.0) ** 2).sum(0)
    rows = x[there.all(1)]
    center = rows.mean(0) if len(rows) else np.zeros(len(names))
    products = np.einsum("ni,nj->ij", rows - center, rows - center)
    digests = [_digest(x[there[:, k], k], np.ones(int(count[k]))) for k in range(len(names))]
    values, weights = (
        np.stack([d[i] for d in digests]) if digests else np.zeros((0, CLUSTERS)) for i in (0, 1)
    )
    least, most = (np.where(there, x, e).min(0, initial=np.inf) if e > 0 else
                   np.where(there, x, e).max(0, initial=-np.inf) for e in (np.inf, -np.inf))  # fmt: skip
    return Statistics(
        names, count, mean, square, least, most, float(len(rows)), center, products, values, weights
    )


def merged(parts: Iterable[Statistics]) -> Statistics | None:
    """Return the statistics of all parts, None of none; their order decides about the last bits."""
    found: Statistics | None = None
    for part in parts:
        found = part if found is None else _pair(found, part)
    return found


def _pair(a: Statistics, b: Statistics) -> Statistics:
    """Return the statistics of two parts (Chan, Golub and LeVeque 1979)."""
    count = a.count + b.count
    safe = np.maximum(count, 1)
    delta = b.mean - a.mean
    whole = a.whole + b.whole
    apart = b.center - a.center
    share = b.whole / max(whole, 1.0)
    digests = [
        _digest(np.concatenate([a.values[k], b.values[k]]), np.concatenate([a.weights[k], b.weights[k]]))
        for k in range(len(a.names))
    ]
    return Statistics(
        a.names,
        count,
        a.mean + delta * b.count / safe,
        a.square + b.square + delta**2 * a.count * b.count / safe,
        np.minimum(a.least, b.least),
        np.maximum(a.most, b.most),
        whole,
        a.center + apart * share,
        a.products + b.products + np.outer(apart, apart) * a.whole * share,
        np.stack([d[0] for d in digests]) if digests else a.values,
        np.stack([d[1] for d in digests]) if digests else a.weights,
    )


def _digest(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return at most CLUSTERS clusters of weighted values: means and weights, padded with zeros."""
    values, weights = values[weights > 0], weights[weights > 0]
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    if len(values) > CLUSTERS:
        middle = (np.cumsum(weights) - 0.5 * weights) / weights.sum()
        scale = np.arcsin(2 * middle - 1) / np.pi + 0.5  # clusters of equal size on this scale
        group = np.minimum((CLUSTERS * scale).astype(int), CLUSTERS - 1)
        first = np.flatnonzero(np.diff(group, prepend=-1))
        sums = np.add.reduceat(weights, first)
        values, weights = np.add.reduceat(values * weights, first) / sums, sums
    room = np.zeros((2, CLUSTERS))
    room[0, : len(values)], room[1, : len(values)] = values, weights
    return room[0], room[1]
