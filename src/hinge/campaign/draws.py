"""Uniform numbers of samples, which depend on the sample alone: not on chunks, workers or order.

Sample i of a stream takes the numbers of a counter-based generator (Philox) from i on, so that any stretch of
samples is drawn at once and by itself. Designs spread the samples: Sobol's sequence, and Latin hypercubes,
whose strata are dealt out by permutations that are computed entry by entry.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.campaign.extras import extra
from hinge.errors import ArgumentError
from hinge.spatial import Array

DESIGNS = ("random", "sobol", "latin")
#: Numbers that one step of the counter yields, and the bits of a number in [0, 1).
WORDS, BITS = 4, 53
#: Sobol's sequence has so many points and dimensions.
MOST_POINTS, MOST_COLUMNS = 1 << 30, 21201
ROUNDS = 6


def stream(seed: int, name: str, first: int, count: int, width: int) -> Array:
    """Return independent uniform numbers (count, width) in (0, 1) of samples from `first` on."""
    raw = _raw(seed, name, first, count, width)
    return ((raw >> np.uint64(64 - BITS)) + 0.5) * 2.0**-BITS


def design(
    kind: str, seed: int, names: dict[str, int], samples: int, first: int, count: int
) -> dict[str, Array]:
    """Return uniform numbers (count, width) of each named quantity, for samples from `first` on."""
    if kind == "sobol":
        return _split(_sobol(seed, sum(names.values()), samples, first, count), names)
    found = {n: stream(seed, n, first, count, width) for n, width in names.items()}
    if kind == "random":
        return found
    index = np.arange(first, first + count, dtype=np.uint64)
    for name, within in found.items():
        for k in range(within.shape[1]):
            strata = permuted(index, samples, _key(seed, f"{name} stratum {k}"))
            within[:, k] = np.clip((strata + within[:, k]) / samples, 2.0**-BITS, 1 - 2.0**-BITS)
    return found


def _split(columns: Array, names: dict[str, int]) -> dict[str, Array]:
    ends = np.cumsum(list(names.values()))[:-1]
    return dict(zip(names, np.split(columns, ends, axis=1), strict=True)) if names else {}


def _key(seed: int, name: str) -> NDArray[np.uint64]:
    """Return the key (2,) of a stream."""
    return np.frombuffer(sha256(f"{seed}:{name}".encode()).digest()[:16], "<u8").astype(np.uint64)


def _raw(seed: int, name: str, first: int, count: int, width: int) -> NDArray[np.uint64]:
    steps = -(-width // WORDS)
    source = np.random.Philox(key=_key(seed, name), counter=first * steps)
    return source.random_raw(count * steps * WORDS).reshape(count, steps * WORDS)[:, :width]


def permuted(index: NDArray[np.uint64], size: int, key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return where a random permutation of range(size) takes each index.

    A Feistel network permutes the least even power of two that is large enough; what it takes beyond the
    range is taken on until it is inside.
    """
    half = np.uint64(max(1, (max(size - 1, 1).bit_length() + 1) // 2))
    mask = np.uint64((1 << int(half)) - 1)
    found = index.copy()
    beyond = np.ones(len(found), bool)
    while beyond.any():
        left, right = found[beyond] >> half, found[beyond] & mask
        for turn in range(ROUNDS):
            left, right = right, left ^ (_mixed(right ^ key[turn % 2], turn) & mask)
        found[beyond] = (left << half) | right
        beyond = found >= size
    return found


def _mixed(x: NDArray[np.uint64], turn: int) -> NDArray[np.uint64]:
    """Return well mixed bits of numbers (the finaliser of SplitMix64)."""
    x = x + np.uint64((0x9E3779B97F4A7C15 * (turn + 1)) % (1 << 64))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _sobol(seed: int, width: int, samples: int, first: int, count: int) -> Array:
    if samples > MOST_POINTS or width > MOST_COLUMNS:
        raise ArgumentError(
            f"design: expected at most {MOST_POINTS} samples of {MOST_COLUMNS} numbers with 'sobol', got "
            f"{samples} of {width}; take 'random' or 'latin'"
        )
    if width == 0:
        return np.zeros((count, 0))
    engine = _engine(seed, width)
    if engine.num_generated > first:
        engine.reset()
    if engine.num_generated < first:
        engine.fast_forward(first - engine.num_generated)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a stretch need not have 2ⁿ points
        found = engine.random(count)
    return np.clip(found, 2.0**-BITS, 1 - 2.0**-BITS)


@lru_cache(maxsize=4)
def _engine(seed: int, width: int) -> Any:
    """Return Sobol's sequence with its digits scrambled; it goes on from where it is."""
    digits = int(_key(seed, "sobol")[0])
    return extra("scipy.stats.qmc").Sobol(width, scramble=True, rng=digits)
