"""The histories of joints: positions, velocities and forces over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hinge.errors import ArgumentError
from hinge.sim import Run
from hinge.spatial import Array
from hinge.view.batches import Runs, checked_run, chosen, draw, flat, subtitle
from hinge.view.coordinates import Coordinate, Group, described, groups
from hinge.view.extras import new_figure
from hinge.view.palette import BLACK, Rgb, line

_WHAT = {"q": "position", "qd": "velocity", "tau": "force"}


def plot_joints(
    run: Run,
    *,
    joints: str | Sequence[str] | None = None,
    what: str | Sequence[str] | None = None,
    runs: Runs = None,
) -> Any:
    """Return a Matplotlib figure of joint histories: columns for q, qd and, unless it is zero, tau.

    Joints with the same unit share a row, at most seven in each; a joint with several coordinates has rows of
    its own. `joints` are names, by default all moving joints; `what` are the columns. Of a batch the median
    and the band from 5 to 95 % are shown, or the selected `runs` as lines.
    """
    checked_run(run)
    if what is None:
        what = ("q", "qd", "tau") if np.nan_to_num(run.tau).any() else ("q", "qd")
    columns = [what] if isinstance(what, str) else list(what)
    if not columns or not set(columns) <= set(_WHAT):
        raise ArgumentError(f"what: expected some of {', '.join(map(repr, _WHAT))}, got {what!r}")
    rows = groups(described(run.robot, joints))
    if not rows:
        raise ArgumentError(f"joints: expected joints with coordinates, got {joints!r}")
    places, band = chosen(run, runs), runs is None and len(flat(run, run.q)) > 1
    figure = new_figure(3.4 * len(columns) + 1.4, 1.9 * len(rows) + 0.8)
    axes = figure.subplots(len(rows), len(columns), sharex=True, squeeze=False)
    for row, group in zip(axes, rows, strict=True):
        for ax, name in zip(row, columns, strict=True):
            _panel(ax, name, group, run.t, flat(run, getattr(run, name))[places], band=band)
        _legend(row[-1], group, columns)
    for ax, name in zip(axes[0], columns, strict=True):
        ax.set_title(_WHAT[name], fontsize="medium")
    for ax in axes[-1]:
        ax.set_xlabel("t [s]")
    more = subtitle(run, places, band=band)
    figure.suptitle(f"{run.robot.name}{': ' if more else ''}{more}")
    return figure


def _panel(ax: Any, name: str, group: Group, t: Array, x: Array, *, band: bool) -> None:
    shown = group.q if name == "q" else group.v
    if not shown:
        ax.set_axis_off()
        return
    for c, color in zip(shown, _colors(shown), strict=True):
        draw(ax, t, x[..., c.index], band=band, color=color, linewidth=1.4)
    first = shown[0]
    if name == "q":
        ax.set_ylabel(f"[{first.unit}]" if first.unit else "quaternion")
    else:
        ax.set_ylabel(f"[{first.rate_unit if name == 'qd' else first.effort_unit}]")
    ax.margins(x=0)
    ax.grid(alpha=0.3)
    _no_noise(ax, x[..., [c.index for c in shown]])


def _no_noise(ax: Any, x: Array) -> None:
    """Draw values that are constant up to rounding as a straight line."""
    seen = x[np.isfinite(x)]
    if not seen.size:
        return
    low, high = float(seen.min()), float(seen.max())
    if high - low < 1e-9 * max(1.0, abs(low), abs(high)):
        ax.set_ylim((low + high) / 2 - 1, (low + high) / 2 + 1)


def _colors(coordinates: Sequence[Coordinate]) -> list[Rgb]:
    """Return a colour for each line; the vector part of a quaternion matches the angular velocity."""
    first = [] if coordinates[0].unit else [BLACK]
    return [*first, *(line(k) for k in range(len(coordinates) - len(first)))]


def _legend(ax: Any, group: Group, columns: Sequence[str]) -> None:
    """Put the legend of a row at its right end."""
    shown = group.q if "q" in columns or not group.v else group.v
    for c, color in zip(shown, _colors(shown), strict=True):
        ax.plot([], [], color=color, label=c.name if c.unit else c.name.removeprefix("q"))
    ax.legend(
        loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize="small", title=group.title
    )
