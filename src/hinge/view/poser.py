"""`show`: a robot in the browser, with a slider for each coordinate."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hinge.dynamics import gravity_force
from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, checked_robot, neutral, random_configuration
from hinge.spatial import Array, ArrayLike
from hinge.view.appearance import appearance
from hinge.view.callbacks import calling
from hinge.view.flexed import exaggerated, flexed_lines
from hinge.view.forces import joint_efforts, weights
from hinge.view.loops import closure_lines
from hinge.view.options import Options
from hinge.view.poses import Poses, body_poses
from hinge.view.puppet import Puppet
from hinge.view.server import HOST, PORT, Server
from hinge.view.sliders import STEP, Slider, configuration, sliders
from hinge.view.stage import set_stage


class RobotViewer(Server):
    """A viewer in which sliders move a robot; `q` is their configuration."""

    def __init__(
        self, robot: Robot, q: Array, *, folder: str | Path | None, exaggerate: float = 1.0, **address: Any
    ) -> None:
        exaggerated(robot, q, exaggerate)
        self.exaggerate = exaggerate
        look = appearance(robot, q, folder)
        super().__init__(robot.name, **address)
        self.robot, self.size = robot, look.size
        self.messages += look.messages
        self._lock, self._batch, self._seed = threading.RLock(), False, 0
        set_stage(self.viser, robot, look, body_poses(robot, q), robot.gravity)
        self.puppet = Puppet(self.viser.scene, robot, look, "/robot")
        heavy = bool(robot.gravity.any())
        self.options = Options(
            self.viser,
            self.puppet,
            look.size,
            gravity=heavy,
            efforts="What holds the robot against gravity" if heavy and robot.nv else "",
            refresh=self.refresh,
        )
        self.sliders: list[tuple[Slider, Any]] = []
        self._start = [s.start for s in sliders(robot, q)]
        self._build_sliders(q)
        self.add_picture_button()
        self.notes(self.messages)
        self.refresh()

    @property
    def q(self) -> Array:
        """The configuration of the sliders."""
        return configuration(self.robot, [handle.value for _, handle in self.sliders])

    def move(self, q: ArrayLike) -> None:
        """Set the robot to q, and the sliders within their ranges."""
        at = as_configuration(self.robot, q)
        if at.ndim != 1 or not np.isfinite(at).all():
            raise ArgumentError(
                f"q: expected one finite configuration ({self.robot.nq},), got shape {at.shape}"
            )
        self._put([s.start for s in sliders(self.robot, at)])

    def refresh(self) -> None:
        """Set the robot to the configuration of the sliders."""
        if self._batch:
            return
        with self._lock, self.viser.atomic():
            q = exaggerated(self.robot, self.q, self.exaggerate)
            poses = body_poses(self.robot, q)
            self.puppet.place(poses.positions, poses.quaternions)
            self.options.closures.draw(closure_lines(self.robot, poses))
            self.options.bent.draw(flexed_lines(self.robot, q, poses))
            self._arrows(q, poses)

    def _put(self, values: list[float]) -> None:
        with self._lock:
            self._batch = True
            try:
                for (s, handle), value in zip(self.sliders, values, strict=True):
                    handle.value = float(np.clip(value, s.low, s.high))
            finally:
                self._batch = False
            self.refresh()

    def _arrows(self, q: Array, poses: Poses) -> None:
        options, size = self.options, self.size
        if options.wants_weights:
            options.weights.draw(weights(self.robot, poses, self.robot.gravity).ends(None, size))
        else:
            options.weights.hide()
        if options.wants_efforts:
            moments, pushes = joint_efforts(self.robot, poses, q, gravity_force(self.robot, q))
            options.moments.draw(moments.ends(None, size))
            options.pushes.draw(pushes.ends(None, size))
        else:
            options.moments.hide()
            options.pushes.hide()

    def _build_sliders(self, q: Array) -> None:
        gui = self.viser.gui
        specs = sliders(self.robot, q)
        if not specs:
            return
        reset = gui.add_button("Back to the start")
        reset.on_click(calling(lambda: self._put(self._start)))
        chance = gui.add_button("Any pose", hint="At random, within the limits")
        chance.on_click(calling(self._any_pose))
        by_joint: dict[str, list[Slider]] = {}
        for s in specs:
            by_joint.setdefault(s.joint, []).append(s)
        made: dict[int, Any] = {}
        with gui.add_folder("Joints [rad]"):
            for name, own in by_joint.items():
                if len(own) == 1:
                    made[id(own[0])] = self._slider(own[0])
                    continue
                with gui.add_folder(name, expand_by_default=False):
                    made |= {id(s): self._slider(s) for s in own}
        self.sliders = [(s, made[id(s)]) for s in specs]

    def _slider(self, s: Slider) -> Any:
        handle = self.viser.gui.add_slider(
            s.name if s.unit == "rad" else f"{s.name} [{s.unit}]",
            min=s.low,
            max=s.high,
            step=STEP,
            initial_value=s.start,
        )
        handle.on_update(calling(self.refresh))
        return handle

    def _any_pose(self) -> None:
        self._seed += 1
        self.move(random_configuration(self.robot, self._seed))


def show(
    robot: Robot,
    q: ArrayLike | None = None,
    *,
    folder: str | Path | None = None,
    host: str = HOST,
    port: int = PORT,
    allow: str | Sequence[str] = (),
    wait: bool = True,
    exaggerate: float = 1.0,
) -> RobotViewer:
    """Show a robot in the browser, with sliders for its joints, and return the viewer when it has ended.

    `q` is the initial configuration, by default neutral. Meshes are read only from inside `folder`,
    the folder of the robot's files. The viewer listens on `host`, by default reachable from this machine
    only, and on `port`, or another one if that is taken; it prints its address. It answers pages of that
    address alone; `allow` names other hosts, "name" or "name:port", for tunnels and proxies. Without `wait`
    it returns at once, and runs until `stop()`. `exaggerate` says how many times flexible bodies bend more
    than their coordinates say.
    """
    checked_robot(robot)
    start = as_configuration(robot, neutral(robot) if q is None else q)
    if start.ndim != 1 or not np.isfinite(start).all():
        raise ArgumentError(f"q: expected one finite configuration ({robot.nq},), got shape {start.shape}")
    viewer = RobotViewer(
        robot, start, folder=folder, exaggerate=exaggerate, host=host, port=port, allow=allow
    )
    viewer.serve(wait=wait)
    return viewer
