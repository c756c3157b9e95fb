"""A strip of stick figures: the motion at several instants."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Plane, Robot
from hinge.sim import Run
from hinge.spatial import Array, ArrayLike
from hinge.view.batches import checked_run, chosen, flat, run_gravity
from hinge.view.coordinates import position_coordinates
from hinge.view.extras import new_figure
from hinge.view.flexed import exaggerated, flexed_lines
from hinge.view.loops import closure_lines
from hinge.view.outlines import hull, named_direction, plane_axes, surface_points
from hinge.view.palette import BLACK, BLUE, GREY, ORANGE, PINK, VERMILION
from hinge.view.poses import Poses, body_poses
from hinge.view.skeleton import capped, ellipsoid, link_points, sticks
from hinge.view.touching import Pushes, pushes, world_surfaces

#: Figures in a row, side by side.
ACROSS = 6


def plot_strip(
    run: Run,
    *,
    instants: int | ArrayLike = 6,
    plane: str | ArrayLike | None = None,
    overlay: bool = False,
    ellipsoids: bool = False,
    run_index: int | tuple[int, ...] = 0,
    exaggerate: float = 1.0,
) -> Any:
    """Return a Matplotlib figure of the robot at several instants, as sticks from joint to joint.

    `instants` is a count of evenly spaced instants, or times, rounded to the nearest recorded ones. `plane`
    is the plane of projection: two axes that point right and up ("xz"), or a vector towards the viewer; by
    default the plane of largest spread of the motion, with gravity downwards. Side by side, or with `overlay`
    in one picture, later instants darker. Shapes that are not meshes are drawn as outlines, `ellipsoids` adds
    those of inertia, drawn no longer than their bodies. Closures are rings, and lines where they are open.
    Planes that contacts are with are lines where they are seen from the side, and forces of contacts arrows.
    Of a batch the run `run_index` is shown. `exaggerate` says how many times flexible bodies bend more than
    they do.
    """
    checked_run(run)
    place = chosen(run, run_index)[0]
    q = flat(run, run.q)[place]
    at = _instants(run.t, q, instants)
    robot, shown = run.robot, exaggerated(run.robot, q[at], exaggerate)
    poses = body_poses(robot, shown)
    lines, bent = sticks(robot).placed(poses), flexed_lines(robot, shown, poses)
    solids = _solids(robot, poses, ellipsoids=ellipsoids)
    cloud = np.concatenate([x.reshape(-1, 3) for x in (lines, bent)])
    cloud = np.concatenate([cloud, *(x.reshape(-1, 3) for x in solids), _world_marks(robot)])
    axes_3d = np.stack(plane_axes(plane, cloud, run_gravity(run, place)), axis=-1)
    flat_bent, flat_lines, flat_solids = bent @ axes_3d, lines @ axes_3d, [x @ axes_3d for x in solids]
    loops = closure_lines(robot, poses) @ axes_3d
    corners = _corners(cloud @ axes_3d)
    size = float((corners[1] - corners[0]).max())
    touching = [x @ axes_3d for x in _arrows(pushes(run, place, q[at], at), len(at), size)]
    if overlay:
        figure, axes = _single()
        for k in range(len(at)):
            _figure(axes[0], flat_lines[k], [x[k] for x in flat_solids], (k + 1) / len(at), corners)
            _bent(axes[0], flat_bent[k], (k + 1) / len(at))
            _loops(axes[0], loops[k], (k + 1) / len(at))
            _pushes(axes[0], touching[k], (k + 1) / len(at))
        axes[0].set_title(f"t = {run.t[at[0]]:.3g} … {run.t[at[-1]]:.3g} s", fontsize="medium")
    else:
        figure, axes = _row(len(at), corners)
        for k, ax in enumerate(axes[: len(at)]):
            _figure(ax, flat_lines[k], [x[k] for x in flat_solids], 1.0, corners)
            _bent(ax, flat_bent[k], 1.0)
            _loops(ax, loops[k], 1.0)
            _pushes(ax, touching[k], 1.0)
            ax.set_title(f"t = {run.t[at[k]]:.3g} s", fontsize="small")
    _marks(axes, robot, axes_3d)
    _grounds(axes, robot, axes_3d)
    figure.suptitle(f"{robot.name}, seen along {named_direction(np.cross(axes_3d[:, 0], axes_3d[:, 1]))}")
    return figure


def _instants(t: Array, q: Array, instants: int | ArrayLike) -> Array:
    """Return the indices of the instants in t, among the finite states."""
    alive = np.flatnonzero(np.isfinite(q).all(-1))
    if not len(alive):
        raise ArgumentError("run: expected a motion, got no finite state")
    if np.ndim(instants) == 0:
        try:
            count = index(instants)  # pyright: ignore[reportArgumentType]
        except TypeError:
            count = 0
        if count < 1:
            raise ArgumentError(f"instants: expected a count ≥ 1 or times in s, got {instants!r}")
        wanted = np.linspace(t[alive[0]], t[alive[-1]], count)
    else:
        wanted = np.asarray(instants, dtype=np.float64).ravel()
        if not wanted.size or not np.isfinite(wanted).all():
            raise ArgumentError(f"instants: expected a count or finite times in s, got {instants!r}")
    return alive[np.abs(t[alive] - wanted[:, None]).argmin(-1)]


def _solids(robot: Robot, poses: Poses, *, ellipsoids: bool) -> list[Array]:
    """Return the points (T, n, 3) of each solid in the world."""
    found: list[Array] = []
    links = link_points(robot)
    least = 0.1 * max((float(np.linalg.norm(np.ptp(x, axis=0))) for x in links), default=0.0)
    for i, body in enumerate(robot.bodies):
        shown = [s for s in body.shapes if s.role == "visual"] or list(body.shapes)
        local = [s.placement.inv().point(surface_points(s.geometry)) for s in shown]
        solid = ellipsoid(body) if ellipsoids else None
        if solid is not None:
            local.append(surface_points(capped(solid, np.concatenate([links[i], *local]), least)))
        found += [poses.points(i, p) for p in local if len(p)]
    return found


def _world_marks(robot: Robot) -> Array:
    """Return the positions of the joints to the world that do not translate."""
    hanging = [j for j in robot.joints if j.parent is None]
    marks = [j.inner.position for j in hanging if all(c.unit != "m" for c in position_coordinates(j))]
    return np.array(marks).reshape(-1, 3)


def _corners(points: Array) -> tuple[Array, Array]:
    seen = points[np.isfinite(points).all(-1)]
    low, high = (seen.min(0), seen.max(0)) if len(seen) else (np.zeros(2), np.zeros(2))
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, 0.02)
    half = 1.08 * np.maximum(half, 0.12 * half.max())
    return middle - half, middle + half


def _figure(ax: Any, lines: Array, solids: list[Array], weight: float, corners: tuple[Array, Array]) -> None:
    """Draw one instant, paler for smaller weights."""
    alpha = 0.15 + 0.85 * weight**1.5
    for points in solids:
        outline = hull(points)
        if len(outline) > 2:
            inside, border = (*BLUE, 0.12 * alpha), (*BLUE, 0.6 * alpha)
            ax.fill(outline[:, 0], outline[:, 1], facecolor=inside, edgecolor=border, lw=0.8)
    if len(lines):
        broken = np.concatenate([lines, np.full((len(lines), 1, 2), np.nan)], axis=1).reshape(-1, 2)
        ax.plot(broken[:, 0], broken[:, 1], color=BLACK, lw=1.8, alpha=alpha, solid_capstyle="round")
        starts = lines[:, 0]
        ax.plot(starts[:, 0], starts[:, 1], "o", color=VERMILION, ms=3.2, alpha=alpha, mew=0)
    ax.set_xlim(corners[0][0], corners[1][0])
    ax.set_ylim(corners[0][1], corners[1][1])
    ax.set_aspect("equal")


def _bent(ax: Any, lines: Array, weight: float) -> None:
    """Draw the lines (n, 2, 2) of flexible bodies."""
    broken = np.concatenate([lines, np.full((len(lines), 1, 2), np.nan)], axis=1).reshape(-1, 2)
    alpha = 0.15 + 0.85 * weight**1.5
    ax.plot(broken[:, 0], broken[:, 1], color=BLUE, lw=1.8, alpha=alpha, solid_capstyle="round")


def _loops(ax: Any, lines: Array, weight: float) -> None:
    """Draw closures (n, 2, 2): rings at their outer ends, dashed lines from the inner ones."""
    alpha = 0.15 + 0.85 * weight**1.5
    for ends in lines:
        ax.plot(ends[:, 0], ends[:, 1], "--", color=PINK, lw=1.4, alpha=alpha)
    if len(lines):
        ax.plot(lines[:, 1, 0], lines[:, 1, 1], "o", mfc="none", mec=PINK, ms=6.5, mew=1.4, alpha=alpha)


def _arrows(found: Pushes | None, count: int, size: float) -> list[Array]:
    """Return the ends (n, 2, 3) of the arrows of contacts at each instant."""
    return [np.zeros((0, 2, 3)) if found is None else found.ends(k, size) for k in range(count)]


def _pushes(ax: Any, ends: Array, weight: float) -> None:
    """Draw forces (n, 2, 2) as arrows."""
    for start, end in ends:
        look = {"arrowstyle": "-|>", "color": ORANGE, "lw": 1.6, "alpha": 0.15 + 0.85 * weight**1.5}
        ax.annotate("", xy=end, xytext=start, arrowprops={**look, "shrinkA": 0, "shrinkB": 0})


def _grounds(axes: Sequence[Any], robot: Robot, axes_3d: Array) -> None:
    """Draw planes of contacts that are seen from the side."""
    towards = np.cross(axes_3d[:, 0], axes_3d[:, 1])
    for surface, place in world_surfaces(robot):
        normal = place.E[2]
        if isinstance(surface, Plane) and abs(normal @ towards) < 1e-6:
            at, (x, y) = place.position @ axes_3d, normal @ axes_3d
            for ax in axes:
                ax.axline(at, at + np.array([y, -x]), color=GREY, lw=1.2, zorder=0)


def _marks(axes: Sequence[Any], robot: Robot, axes_3d: Array) -> None:
    """Mark the robot's attachment to the world."""
    marks = _world_marks(robot) @ axes_3d
    for ax in axes:
        ax.plot(marks[:, 0], marks[:, 1], "s", color=GREY, ms=5, zorder=0, mew=0)


def _single() -> tuple[Any, list[Any]]:
    figure = new_figure(6.0, 5.4)
    ax = figure.subplots()
    ax.set_xlabel("[m]")
    ax.set_ylabel("[m]")
    ax.grid(alpha=0.3)
    return figure, [ax]


def _row(count: int, corners: tuple[Array, Array]) -> tuple[Any, list[Any]]:
    width, height = corners[1] - corners[0]
    across = min(count, ACROSS)
    down = -(-count // across)
    one = 9.0 / across
    tall = float(np.clip(one * height / width, 0.9, 5.0))
    figure = new_figure(9.0 + 0.6, down * (tall + 0.35) + 0.6)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    axes = list(grid.flat)
    for ax in axes:
        ax.grid(alpha=0.3)
        ax.tick_params(labelsize="x-small")
    for ax in axes[count:]:
        ax.set_visible(False)
    for row in grid:
        row[0].set_ylabel("[m]", fontsize="small")
    for ax in grid[-1]:
        ax.set_xlabel("[m]", fontsize="small")
    return figure, axes
