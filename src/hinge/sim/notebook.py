"""A run as a notebook shows it: a small table and a plot, as HTML without scripts. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

import numpy as np

from hinge.model import Robot
from hinge.spatial import Array

#: The size of a plot, its margin to the left and below, the most lines, and the most points of each.
WIDTH, HEIGHT, LEFT, BELOW, LINES, POINTS = 560, 200, 52, 20, 8, 400
COLOURS = ("#1f77b4", "#d95f02", "#2a9d5c", "#b8336a", "#7a5cc2", "#8c6d31", "#17829b", "#666666")


def coordinate_names(robot: Robot) -> tuple[list[str], list[str]]:
    """Return names for the coordinates of q and of qd: joint, and coordinate if it has several."""
    q = [j.name if j.nq == 1 else f"{j.name}.{n}" for j in robot.independent for n in j.type.q_names]
    qd = [j.name if j.nv == 1 else f"{j.name}.{n}" for j in robot.rated for n in j.type.qd_names]
    return q, qd


def page(facts: Mapping[str, object], t: Array, q: Array, names: Sequence[str], title: str) -> str:
    """Return a table of facts, and a plot of the coordinates q (T, n) over t (T,)."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(str(name))}</th>'
        f'<td style="text-align:left">{escape(str(value))}</td></tr>'
        for name, value in facts.items()
    )
    shown = list(names)[:LINES]
    more = f", the first {LINES} of {len(names)}" if len(names) > LINES else ""
    plot = _plot(t, q[:, : len(shown)], shown) if shown and len(t) > 1 else ""
    said = f'<div style="font-size:90%">{escape(title + more)}</div>' if plot else ""
    return f"<div><table>{rows}</table>{said}{plot}</div>"


def _plot(t: Array, q: Array, names: Sequence[str]) -> str:
    pick = np.unique(np.linspace(0, len(t) - 1, min(len(t), POINTS)).astype(int))
    t, q = np.asarray(t[pick], float), np.asarray(q[pick], float)
    finite = q[np.isfinite(q)]
    if not len(finite):
        return ""
    low, high = float(finite.min()), float(finite.max())
    with np.errstate(all="ignore"):
        across = LEFT + (WIDTH - LEFT - 8) * (t - t[0]) / ((t[-1] - t[0]) or 1.0)
        up = 8 + (HEIGHT - BELOW - 16) * (1 - (q - low) / ((high - low) or 1.0))
    lines = "".join(
        f'<polyline fill="none" stroke="{COLOURS[k]}" stroke-width="1.5" points="{points}"/>'
        for k in range(len(names))
        for points in _points(across, up[:, k])
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 16}" width="{WIDTH}" role="img" font-family="sans-serif" '
        f'font-size="11" style="max-width:100%">'
        f'<rect x="{LEFT}" y="8" width="{WIDTH - LEFT - 8}" height="{HEIGHT - BELOW - 16}" fill="none" '
        f'stroke="#999"/>{lines}{_labels(t, low, high)}{_legend(names)}</svg>'
    )


def _points(x: Array, y: Array) -> Iterator[str]:
    """Yield the points of a line, in pieces where it is not finite in between."""
    good = np.isfinite(x) & np.isfinite(y)
    for piece in np.split(np.arange(len(x)), np.flatnonzero(np.diff(good)) + 1):
        if good[piece[0]]:
            yield " ".join(f"{x[k]:.1f},{y[k]:.1f}" for k in piece)


def _labels(t: Array, low: float, high: float) -> str:
    bottom = HEIGHT - BELOW - 8
    texts = [
        (LEFT - 4, 16, "end", f"{high:.3g}"),
        (LEFT - 4, bottom, "end", f"{low:.3g}"),
        (LEFT, bottom + 14, "start", f"{t[0]:g} s"),
        (WIDTH - 8, bottom + 14, "end", f"{t[-1]:g} s"),
    ]
    return "".join(
        f'<text x="{x}" y="{y}" text-anchor="{side}" fill="currentColor">{escape(text)}</text>'
        for x, y, side, text in texts
    )


def _legend(names: Sequence[str]) -> str:
    step = (WIDTH - LEFT) // max(1, len(names))
    room = max(4, step // 6)
    return "".join(
        f'<text x="{LEFT + k * step}" y="{HEIGHT + 8}" fill="{COLOURS[k]}">'
        f"<title>{escape(name)}</title>{escape(name if len(name) <= room else name[: room - 1] + '…')}</text>"
        for k, name in enumerate(names)
    )
