"""Phase portraits: the velocity of a joint against its position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Joint, Robot
from hinge.sim import Run
from hinge.spatial import Array
from hinge.view.batches import Runs, checked_run, chosen, flat, subtitle
from hinge.view.coordinates import described, has_rates, position_coordinates, velocity_coordinates
from hinge.view.extras import line_collection, new_figure
from hinge.view.palette import line

#: Most runs of a batch drawn by default.
MOST_RUNS = 20


def plot_phase(run: Run, joint: str | Sequence[str] | None = None, *, runs: Runs = None) -> Any:
    """Return a Matplotlib figure with the phase portrait of each coordinate of these joints.

    `joint` is one name or several; the default is all joints whose qd is the rate of q, at most twelve
    coordinates. The colour of a line is the time for a single run, otherwise it tells the runs apart.
    """
    checked_run(run)
    joints = _wanted(run.robot, joint)
    places = chosen(run, runs)
    places = places[:MOST_RUNS] if runs is None else places
    pairs = [p for j in joints for p in zip(position_coordinates(j), velocity_coordinates(j), strict=True)]
    if joint is None:
        pairs = pairs[:12]
    across = min(len(pairs), 2 if len(pairs) <= 4 else 4)
    down = -(-len(pairs) // across)
    figure = new_figure(3.1 * across + 1.2, 2.8 * down + 0.5)
    axes = figure.subplots(down, across, squeeze=False)
    q, qd = (flat(run, x)[places] for x in (run.q, run.qd))
    collection = None
    for ax, (x, v) in zip(axes.flat, pairs, strict=False):
        collection = _portrait(ax, run.t, q[..., x.index], qd[..., v.index])
        ax.set_xlabel(f"{x.name} [{x.unit}]")
        ax.set_ylabel(f"[{v.rate_unit}]")
    for ax in axes.flat[len(pairs) :]:
        ax.set_visible(False)
    if collection is not None:
        figure.colorbar(collection, ax=axes, label="t [s]", shrink=0.8)
    more = subtitle(run, places, band=False)
    figure.suptitle(f"{run.robot.name}: phase portrait{', ' if more else ''}{more}")
    return figure


def _portrait(ax: Any, t: Array, q: Array, qd: Array) -> Any:
    """Draw the lines with a ring at each start; return the mappable of the colour bar, if any."""
    collection = None
    if len(q) == 1:
        points = np.stack([q[0], qd[0]], axis=-1)
        segments = np.stack([points[:-1], points[1:]], axis=1)
        collection = line_collection(segments, cmap="viridis", linewidth=1.3, zorder=2)
        collection.set_array((t[:-1] + t[1:]) / 2)
        ax.add_collection(collection, autolim=False)
        ax.plot(q[0], qd[0], alpha=0)  # sets the limits
        ax.plot(q[0, 0], qd[0, 0], "o", mfc="white", mec="black", ms=5, zorder=3)
    else:
        for k, (x, v) in enumerate(zip(q, qd, strict=True)):
            ax.plot(x, v, color=line(k), linewidth=1, alpha=0.8)
            ax.plot(x[0], v[0], "o", mfc="white", mec=line(k), ms=4, zorder=3)
    ax.grid(alpha=0.3)
    return collection


def _wanted(robot: Robot, names: str | Sequence[str] | None) -> list[Joint]:
    joints = described(robot, names)
    if names is None:
        joints = [j for j in joints if has_rates(j)]
    for j in joints:
        if not has_rates(j):
            raise ArgumentError(
                f"joint: expected joints whose qd is the rate of q, got the {j.type.kind} joint {j.name!r}"
            )
    if not joints:
        raise ArgumentError(
            f"run: expected joints whose qd is the rate of q, got none in robot {robot.name!r}"
        )
    return joints
