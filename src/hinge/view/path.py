"""Paths of frames through space: seen in a plane, and their coordinates over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hinge.errors import ArgumentError
from hinge.sim import Run
from hinge.spatial import Array, ArrayLike
from hinge.view.batches import Runs, checked_run, chosen, draw, flat, run_gravity, subtitle
from hinge.view.extras import new_figure
from hinge.view.outlines import named_direction, plane_axes
from hinge.view.palette import line
from hinge.view.poses import body_poses, held
from hinge.view.traces import checked_frames, path_of

#: Most runs of a batch drawn by default.
MOST_RUNS = 20


def plot_path(
    run: Run, frame: str | Sequence[str], *, plane: str | ArrayLike | None = None, runs: Runs = None
) -> Any:
    """Return a Matplotlib figure of the path of a frame or body: in a plane, and x, y, z over time in m.

    `frame` is one name or several. `plane` is the plane of projection as in `plot_strip`: two axes that point
    right and up ("xz"), a vector towards the viewer, or by default that of the largest spread. A ring marks
    the start. Of a batch up to twenty runs are drawn, or those that `runs` selects.
    """
    checked_run(run)
    names = checked_frames(run.robot, frame, "frame")
    if not names:
        raise ArgumentError("frame: expected the name of a frame or body, or several, got none")
    places = chosen(run, runs)
    places = places[:MOST_RUNS] if runs is None else places
    q = flat(run, run.q)[places]
    poses, alive = body_poses(run.robot, held(q)), np.asarray(np.isfinite(q).all(-1))
    paths = [np.where(alive[..., None], path_of(run.robot, poses, name), np.nan) for name in names]
    axes = np.stack(plane_axes(plane, np.stack(paths), run_gravity(run, places[0])), axis=-1)
    figure = new_figure(9.6, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1.0))
    for k, (name, path) in enumerate(zip(names, paths, strict=True)):
        _seen(left, path @ axes, name, k)
        _over_time(right, run.t, path, name if len(names) > 1 else "", 3 * k)
    left.set_title(f"seen along {named_direction(np.cross(axes[:, 0], axes[:, 1]))}", fontsize="medium")
    left.set_xlabel("[m]")
    left.set_ylabel("[m]")
    left.set_aspect("equal", adjustable="datalim")
    right.set_xlabel("t [s]")
    right.set_ylabel("[m]")
    for ax in (left, right):
        ax.grid(alpha=0.3)
        ax.legend(fontsize="small")
    more = subtitle(run, places, band=False)
    figure.suptitle(f"{run.robot.name}: path of {', '.join(names)}{', ' if more else ''}{more}")
    return figure


def _seen(ax: Any, path: Array, name: str, k: int) -> None:
    """Draw the paths (runs, T, 2) of one frame, with a ring at each start."""
    fade = 1.0 if len(path) == 1 else 0.6
    for i, points in enumerate(path):
        label = name if i == 0 else None
        ax.plot(points[:, 0], points[:, 1], color=line(k), alpha=fade, linewidth=1.4, label=label)
        ax.plot(points[0, 0], points[0, 1], "o", mfc="white", mec=line(k), ms=5, zorder=3)


def _over_time(ax: Any, t: Array, path: Array, name: str, first: int) -> None:
    """Draw the coordinates of paths (runs, T, 3)."""
    for c, axis in enumerate("xyz"):
        label = f"{name} {axis}".strip()
        draw(ax, t, path[..., c], band=False, color=line(first + c), linewidth=1.3, label=label)
