"""Pictures of a store: histograms, envelopes over time, columns against each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hinge.campaign.results import Results
from hinge.errors import ArgumentError, UnknownNameError, did_you_mean
from hinge.view import LINES, new_figure

#: The most panels of a picture, their size in inches, points of a scatter, and the bands of envelopes.
MOST, PANEL, POINTS = 12, (3.2, 2.3), 20_000
BANDS = ((0.0, 1.0, 0.15), (0.05, 0.95, 0.3), (0.25, 0.75, 0.5))
BINS = 48


def plot_histograms(results: Results, columns: Sequence[str] | None = None) -> Any:
    """Return a Matplotlib figure with a histogram of each column, by default of what was measured or drawn.

    Of campaigns without rows, and of last states ("q:joint"), histograms come from the digests of quantiles.
    """
    s = results.statistics
    names = list(columns or [n for n in s.names if s.count[s.names.index(n)] and n != "ended"][:MOST])
    figure, axes = _panels(names)
    for ax, name in zip(axes, names, strict=True):
        results.checked(name, s.names)
        edges = np.linspace(*_ends(s.least[s.names.index(name)], s.most[s.names.index(name)]), BINS + 1)
        if results.store.rows and name in results.store.columns:
            x = results.column(name)
            heights = np.histogram(x[np.isfinite(x)], edges)[0].astype(float)
        else:
            heights = np.diff(s.below(name, edges))
        ax.stairs(heights, edges, fill=True, color=LINES[0], alpha=0.8)
        ax.set_xlabel(name)
        ax.set_yticks([])
    return _titled(figure, results)


def plot_envelopes(results: Results, coordinates: Sequence[str] | None = None, what: str = "q") -> Any:
    """Return a Matplotlib figure of bands of coordinates over the times that were kept.

    Bands have all samples, those from 5 to 95 %, and the middle half; the line is the median.
    """
    if what not in ("q", "qd"):
        raise ArgumentError(f"what: expected 'q' or 'qd', got {what!r}")
    t = np.array(results.store.head["times"])
    if len(t) < 2:
        raise ArgumentError("times: expected a campaign that keeps several, got one with the last alone")
    labels = results.store.labels[("q", "qd").index(what)]
    names = list(coordinates or labels[:MOST])
    figure, axes = _panels(names)
    rows = results.array(what)
    for ax, name in zip(axes, names, strict=True):
        if name not in labels:
            hint = did_you_mean(name, labels) or f"there are {', '.join(labels)}"
            raise UnknownNameError(f"coordinates: expected a coordinate, got {name!r}; {hint}")
        x = rows[:, :, labels.index(name)]
        x = x[np.isfinite(x).any(1)]
        for low, high, alpha in BANDS:
            ax.fill_between(t, *np.nanquantile(x, (low, high), axis=0), color=LINES[0], alpha=alpha, lw=0)
        ax.plot(t, np.nanmedian(x, axis=0), color=LINES[1])
        ax.set_xlabel("t [s]")
        ax.set_ylabel(f"{what} {name}")
    return _titled(figure, results)


def plot_scatter(results: Results, x: Sequence[str], y: str) -> Any:
    """Return a Matplotlib figure of a column against others, such as a measure against what was drawn."""
    names = [x] if isinstance(x, str) else list(x)
    figure, axes = _panels(names)
    table = {n: results.column(n) for n in (*names, y)}
    at = np.unique(np.linspace(0, results.store.samples - 1, min(results.store.samples, POINTS)).astype(int))
    for ax, name in zip(axes, names, strict=True):
        ax.plot(table[name][at], table[y][at], ".", ms=2, color=LINES[0], alpha=0.4, rasterized=True)
        ax.set_xlabel(name)
        ax.set_ylabel(y)
    return _titled(figure, results)


def _ends(least: float, most: float) -> tuple[float, float]:
    room = 0.5 * max(abs(least), 1.0) * (most <= least) * 1e-3
    return least - room, most + room


def _panels(names: Sequence[str]) -> tuple[Any, list[Any]]:
    if not names or len(names) > MOST:
        raise ArgumentError(f"columns: expected 1 to {MOST} names, got {len(names)}")
    wide = min(4, len(names))
    high = -(-len(names) // wide)
    figure = new_figure(wide * PANEL[0], high * PANEL[1] + 0.4)
    axes = list(figure.subplots(high, wide, squeeze=False).flat)
    for ax in axes[len(names) :]:
        ax.set_visible(False)
    return figure, axes[: len(names)]


def _titled(figure: Any, results: Results) -> Any:
    status = results.status()
    failed = sum(status.failed.values())
    more = f", {failed} failed" if failed else ""
    figure.suptitle(f"{results.store.head['robot']}: {status.stored} samples{more}")
    return figure
