"""The paths of frames in the world, and their lines in the web viewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hinge.errors import ArgumentError
from hinge.model import Robot
from hinge.spatial import Array
from hinge.view.callbacks import calling
from hinge.view.palette import Rgb, as_bytes, line
from hinge.view.poses import Poses, thinned

#: Most points of a line.
POINTS = 1000


def checked_frames(robot: Robot, names: str | Sequence[str], argument: str) -> list[str]:
    """Return names of frames or bodies as a list, or raise an ArgumentError or UnknownNameError."""
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"{argument}: expected names of frames or bodies, got {name!r}")
        robot.frame(name)
    return wanted


def path_of(robot: Robot, poses: Poses, name: str) -> Array:
    """Return the positions (…, 3) of a frame in the world in poses (…)."""
    frame = robot.frame(name)
    return poses.points(robot.body_index(frame.body), frame.placement.position[None])[..., 0, :]


class Traces:
    """Lines along which frames move, those of ghosts paler, and a switch for all of them."""

    def __init__(self, server: Any, robot: Robot, poses: Poses, names: Sequence[str], size: float) -> None:
        self.handles: list[Any] = []
        self.switch: Any = None
        few = thinned(poses.positions.shape[1], POINTS)
        some = Poses(poses.positions[:, few], poses.rotations[:, few])
        for k, name in enumerate(names):
            for i, path in enumerate(path_of(robot, some, name)):
                ends = np.stack([path[:-1], path[1:]], axis=1)
                ends = ends[np.isfinite(ends).all((1, 2)) & (ends[:, 0] != ends[:, 1]).any(-1)]
                if len(ends):
                    self.handles.append(_added(server, f"/trace {k} {i}", ends, line(k), size, pale=i > 0))
        if self.handles:
            self.switch = server.gui.add_checkbox("trace", True)
            self.switch.on_update(calling(self._show))

    def _show(self) -> None:
        for handle in self.handles:
            handle.visible = self.switch.value


def _added(server: Any, name: str, ends: Array, rgb: Rgb, size: float, *, pale: bool) -> Any:
    r, g, b = (0.65 + 0.35 * x if pale else x for x in rgb)
    thick = 0.003 * size
    return server.scene.add_line_segments(name, ends.astype(np.float32), as_bytes((r, g, b)), thickness=thick)
