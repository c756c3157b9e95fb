"""`play`: a run in the browser, with a timeline."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hinge.errors import ArgumentError
from hinge.sim import Run
from hinge.spatial import Array
from hinge.view.appearance import appearance
from hinge.view.batches import Runs, checked_run, chosen, flat, run_gravity
from hinge.view.callbacks import calling
from hinge.view.clock import Clock
from hinge.view.energy_plot import EnergyPlot
from hinge.view.flexed import exaggerated, flexed_lines
from hinge.view.forces import joint_efforts, weights
from hinge.view.loops import closure_efforts, closure_lines
from hinge.view.options import Options
from hinge.view.poses import Poses, body_poses, held, thinned
from hinge.view.puppet import Puppet
from hinge.view.server import HOST, PORT, Server
from hinge.view.stage import set_stage
from hinge.view.touching import pushes
from hinge.view.traces import Traces, checked_frames

#: Most frames of a run in the viewer, and frames per second.
MOST_FRAMES, RATE = 3000, 30
#: Most ghosts.
MOST_GHOSTS = 8
#: Opacity of a ghost.
GHOST = 0.3
SPEEDS = ("0.1×", "0.25×", "0.5×", "1×", "2×", "4×")


class RunViewer(Server):
    """A viewer that plays a run, others of its batch as ghosts; `clock` is the playback state."""

    def __init__(
        self,
        run: Run,
        places: list[int],
        trace: list[str],
        *,
        folder: str | Path | None,
        exaggerate: float = 1.0,
        **address: Any,
    ) -> None:
        robot = run.robot
        at = thinned(len(run.t), MOST_FRAMES)
        shown = places[: MOST_GHOSTS + 1]
        q = held(flat(run, run.q)[shown])[:, at]
        if not np.isfinite(q).all():
            raise ArgumentError("run: expected a motion, got a first state that is not finite")
        q = exaggerated(robot, q, exaggerate)
        look = appearance(robot, q[0, 0], folder)
        super().__init__(robot.name, **address)
        self.robot, self.size, self.clock = robot, look.size, Clock(run.t[at])
        self.messages += [*look.messages, *_remarks(run, places, shown)]
        self.poses = body_poses(robot, q)
        self._quaternions = self.poses.quaternions
        self._moving = _moving(self.poses)
        self._gravity = run_gravity(run, shown[0])
        tau = np.nan_to_num(flat(run, run.tau)[shown[0]][at])
        self._lock, self._own_move, self._drawn = threading.RLock(), False, -1
        main = Poses(self.poses.positions[0], self.poses.rotations[0])
        self._weights = weights(robot, main, self._gravity)
        self._moments, self._pushes = joint_efforts(robot, main, q[0], tau)
        self._loops, self._bent = closure_lines(robot, main), flexed_lines(robot, q[0], main)
        forces = (
            np.nan_to_num(flat(run, run.closure_forces())[shown[0]][at]) if robot.closures else tau[:, :0]
        )
        self._closure_moments, self._closure_pushes = closure_efforts(robot, main, forces)
        self._contacts = pushes(run, shown[0], q[0], at)
        self._build(run, look, shown, at, efforts=bool(tau.any()))
        self.traces = Traces(self.viser, robot, self.poses, trace, look.size)
        self.add_picture_button()
        self.notes(self.messages)
        self.refresh()
        self._thread = threading.Thread(target=self._turn, name="hinge-player", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the playback and the server."""
        super().stop()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=2.0)

    def refresh(self) -> None:
        """Show the clock's current frame."""
        with self._lock, self.viser.atomic():
            k = self.clock.frame
            for i, puppet in enumerate(self.puppets):
                moving = self._moving[i] if self._drawn >= 0 else None
                puppet.place(self.poses.positions[i, k], self._quaternions[i, k], moving)
            self._arrows(k)
            self._own_move = True
            try:
                self.timeline.value = float(self.clock.t)
            finally:
                self._own_move = False
            self.energy.mark(float(self.clock.t))
            self._drawn = k

    def play(self) -> None:
        """Start the playback."""
        with self._lock:
            self.clock.play()
            self._label()

    def pause(self) -> None:
        """Pause the playback."""
        with self._lock:
            self.clock.pause()
            self._label()

    def seek(self, t: float) -> None:
        """Go to a time."""
        with self._lock:
            self.clock.seek(t)
            self.refresh()

    def set_speed(self, speed: float) -> None:
        """Set how fast the run is played; 1 is real time."""
        with self._lock:
            self.clock.speed = speed
            self.speed.label = f"speed {speed:g}×"

    def _build(self, run: Run, look: Any, shown: list[int], at: Array, *, efforts: bool) -> None:
        scene = self.viser.scene
        few = thinned(len(at), 60)
        some = Poses(self.poses.positions[:, few], self.poses.rotations[:, few])
        first = Poses(self.poses.positions[0, 0], self.poses.rotations[0, 0])
        set_stage(self.viser, self.robot, look, some, self._gravity, first)
        self.puppets = [Puppet(scene, self.robot, look, "/robot")]
        self.puppets += [Puppet(scene, self.robot, look, f"/ghost {p}", fade=GHOST) for p in shown[1:]]
        self._build_timeline()
        self.energy = EnergyPlot(self.viser, run, shown[0], at)
        self.options = Options(
            self.viser,
            self.puppets[0],
            look.size,
            gravity=bool(self._gravity.any()),
            efforts="What the joints exert" if efforts else "",
            refresh=self.refresh,
            closures=bool(self.robot.closures),
            contacts=self._contacts is not None,
        )

    def _build_timeline(self) -> None:
        gui, times = self.viser.gui, self.clock.times
        first, last = float(times[0]), float(times[-1])
        self.play_button = gui.add_button("Play")
        self.timeline = gui.add_slider(
            "t [s]", min=first, max=last, step=max((last - first) / 2000, 1e-9), initial_value=first
        )
        self.speed = gui.add_button_group("speed 1×", SPEEDS)
        self.loop = gui.add_checkbox("loop", True)
        self.play_button.on_click(calling(lambda: self.pause() if self.clock.playing else self.play()))
        self.timeline.on_update(calling(lambda: None if self._own_move else self.seek(self.timeline.value)))
        self.speed.on_click(calling(lambda: self.set_speed(float(self.speed.value.rstrip("×")))))
        self.loop.on_update(calling(lambda: setattr(self.clock, "loop", self.loop.value)))

    def _label(self) -> None:
        self.play_button.label = "Pause" if self.clock.playing else "Play"

    def _arrows(self, k: int) -> None:
        options, size = self.options, self.size
        for wanted, layer, arrows in (
            (options.wants_weights, options.weights, self._weights),
            (options.wants_efforts, options.moments, self._moments),
            (options.wants_efforts, options.pushes, self._pushes),
            (options.wants_closures, options.closure_moments, self._closure_moments),
            (options.wants_closures, options.closure_pushes, self._closure_pushes),
        ):
            if wanted:
                layer.draw(arrows.ends(k, size))
            else:
                layer.hide()
        options.closures.draw(self._loops[k])
        options.bent.draw(self._bent[k])
        self._touching(k)

    def _touching(self, k: int) -> None:
        """Draw the forces of contacts and their cones."""
        options, found = self.options, self._contacts
        if found is not None and options.wants_contacts:
            options.contact_pushes.draw(found.ends(k, self.size))
        else:
            options.contact_pushes.hide()
        if found is not None and options.wants_cones:
            options.cones.draw(*found.cones(k, self.size))
        else:
            options.cones.hide()

    def _turn(self) -> None:
        """Advance the clock by real time until the viewer is stopped."""
        before = time.monotonic()
        while self.running:
            time.sleep(1 / RATE)
            now = time.monotonic()
            with self._lock:
                was = self.clock.playing
                self.clock.advance(now - before)
                if was and self.running:
                    self.refresh()
                    if not self.clock.playing:
                        self._label()
            before = now


def play(
    run: Run,
    *,
    runs: Runs = None,
    trace: str | Sequence[str] = (),
    folder: str | Path | None = None,
    host: str = HOST,
    port: int = PORT,
    allow: str | Sequence[str] = (),
    wait: bool = True,
    exaggerate: float = 1.0,
) -> RunViewer:
    """Play a run in the browser, and return the viewer when it has ended.

    Of a batch the first run is shown, and up to eight more as ghosts; `runs` selects the runs, the first of
    which is not a ghost. A run that ended early stays at its last state. `trace` names frames or bodies whose
    paths are drawn. The other arguments are those of `show`; flexible bodies of ghosts are not drawn bent.
    """
    checked_run(run)
    frames = checked_frames(run.robot, trace, "trace")
    address: dict[str, Any] = {"host": host, "port": port, "allow": allow}
    viewer = RunViewer(run, chosen(run, runs), frames, folder=folder, exaggerate=exaggerate, **address)
    if wait:
        viewer.play()
    viewer.serve(wait=wait)
    return viewer


def _moving(poses: Poses) -> Array:
    """Return a mask (runs, n) of the bodies that move in each run."""
    shift = np.ptp(poses.positions, axis=1).max(-1)
    turn = np.ptp(poses.rotations, axis=1).max((-1, -2))
    return (shift > 1e-12) | (turn > 1e-12)


def _remarks(run: Run, places: list[int], shown: list[int]) -> list[str]:
    found: list[str] = []
    if len(places) > len(shown):
        found.append(f"{len(shown)} of {len(places)} runs are shown; choose others with runs= (--runs)")
    told = [(e.state, e.t, f"ended at t = {e.t:g} s: {e.reason}") for e in run.endings]
    told += [(h.state, h.t, f"{h.name} at t = {h.t:g} s") for h in run.events]
    for state, _, text in sorted(told, key=lambda x: x[1]):
        place = int(np.ravel_multi_index(state, run.batch)) if run.batch else 0
        if place in shown:
            found.append(f"run {place} {text}" if run.batch else text)
    return found
