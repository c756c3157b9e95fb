"""Selection of runs of a batch for a picture, and their spread."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from operator import index
from typing import Any, TypeAlias

import numpy as np

from hinge.errors import ArgumentError
from hinge.sim import Run
from hinge.spatial import Array

#: One run of a batch by its index, several, or None for the picture's default.
Runs: TypeAlias = int | tuple[int, ...] | Sequence[int | tuple[int, ...]] | None

#: The quantiles at the edges of a band.
BAND = (0.05, 0.95)


def checked_run(run: Run) -> Run:
    """Return the run, or raise an ArgumentError if it is none or empty."""
    if not isinstance(run, Run):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"run: expected a Run, got {type(run).__name__}; hinge.simulate(…) returns one")
    if 0 in run.batch or not len(run.t):
        raise ArgumentError(f"run: expected a motion, got an empty batch {run.batch} with {len(run.t)} times")
    return run


def chosen(run: Run, runs: Runs) -> list[int]:
    """Return the indices of runs in the flattened batch; all of them for None.

    A number indexes the flattened batch, a tuple the batch itself, and a list has several of either.
    """
    total = int(np.prod(run.batch, dtype=int))
    if runs is None:
        return list(range(total))
    wanted = runs if isinstance(runs, Sequence) and not isinstance(runs, tuple | str) else [runs]
    found = [_place(run, x, total) for x in wanted]
    if not found:
        raise ArgumentError(
            "runs: expected the index of a run in the batch, a list of them, or None, got an empty list"
        )
    return found


def flat(run: Run, x: Array) -> Array:
    """Flatten the batch of (…, T) or (…, T, n) to one first dimension."""
    return x.reshape(-1, *x.shape[len(run.batch) :])


def run_gravity(run: Run, place: int) -> Array:
    """Return the gravity (3,) of one run: the one it was made with, or the robot's own."""
    given = run.settings.get("gravity")
    if given is None:
        return run.robot.gravity
    wide = np.broadcast_to(np.asarray(given, dtype=np.float64), (*run.batch, 3))
    return wide.reshape(-1, 3)[place]


def spread(x: Array) -> tuple[Array, Array, Array]:
    """Return low quantile, median and high quantile over the first dimension, ignoring NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all-NaN columns, where every run has ended
        low, middle, high = np.nanquantile(x, (BAND[0], 0.5, BAND[1]), axis=0)
    return low, middle, high


def draw(ax: Any, t: Array, x: Array, *, band: bool, **options: Any) -> None:
    """Draw histories x (runs, T) as lines, or as their median in a band, under one label."""
    if band:
        low, middle, high = spread(x)
        ax.fill_between(t, low, high, color=options.get("color"), alpha=0.2, linewidth=0)
        ax.plot(t, middle, **options)
        return
    label = options.pop("label", None)
    fade = 1.0 if len(x) == 1 else max(0.35, 1.0 - 0.1 * len(x))
    for k, history in enumerate(x):
        ax.plot(t, history, label=label if k == 0 else None, alpha=fade, **options)


def subtitle(run: Run, places: Sequence[int], *, band: bool) -> str:
    """Return the subtitle that names the runs, empty for a single run."""
    if not run.batch:
        return ""
    if band:
        low, high = (f"{100 * x:g}" for x in BAND)
        return f"{len(places)} runs: median, {low} to {high} %"
    named = ", ".join(str(_label(run, p)) for p in places[:6])
    return f"run {named}" if len(places) == 1 else f"runs {named}{' …' if len(places) > 6 else ''}"


def _label(run: Run, place: int) -> Any:
    if len(run.batch) == 1:
        return place
    return tuple(int(i) for i in np.unravel_index(place, run.batch))


def _place(run: Run, x: Any, total: int) -> int:
    try:
        if isinstance(x, tuple):
            return int(np.ravel_multi_index(tuple(index(i) for i in x), run.batch)) if run.batch else 0
        place = index(x)
    except (TypeError, ValueError):
        place = total
    if not -total <= place < total:
        raise ArgumentError(
            f"runs: expected a number below {total} or an index into the batch {run.batch}, got {x!r}"
        )
    return place % total
