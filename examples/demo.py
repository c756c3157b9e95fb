"""The main job, behind `make demo`: simulate an arm, say how it went, keep the motion and draw it.

The built-in panda falls from a random pose without friction or motors, so that its energy must stay the same:
what it gains or loses is the error of the integrator. Then a thousand pandas fall at once.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from shutil import which

import numpy as np

import hinge
from hinge import view
from hinge.errors import MissingExtraError

FOLDER, SECONDS, STEP, MANY = Path("demo-output"), 5.0, 1e-3, 1000
#: How much of its largest kinetic energy the arm may gain or lose.
DRIFT = 1e-5


def main(folder: Path = FOLDER, seconds: float = SECONDS, many: int = MANY) -> int:
    """Simulate, print a table and write two files; the exit code is 1 when energy is not kept."""
    robot = hinge.robots.panda()
    print(hinge.describe(robot))
    start = hinge.random_configuration(robot, seed=0, size=many)
    for q in (start[0], start):
        hinge.simulate(robot, q, t=STEP, dt=STEP)  # compiles: what is measured below is the motion
    print("\nIt falls from a random pose, without friction or motors.\n")
    print("states  duration [s]   steps  time taken [s]  state-steps per second  energy drift")
    one, first = timed(robot, start[0], seconds)
    _, second = timed(robot, start, seconds / 5)
    folder.mkdir(parents=True, exist_ok=True)
    path = hinge.save_run(one, folder / "panda.npz")
    print(f"\nwrote {path}")
    try:
        view.plot_strip(one).savefig(folder / "panda.png", dpi=150)
        print(f"wrote {folder / 'panda.png'}: the arm at six instants")
    except MissingExtraError as error:
        print(f"no picture: {error}")
    command = "hinge" if which("hinge") else Path(sys.executable).with_name("hinge")
    print(f"\nWatch it in the browser:     {command} play {path}")
    print(f"Try another robot or start:  {command} simulate --help")
    print(f"Where the algorithm is from: {command} explain forward_dynamics")
    kept = max(first, second) < DRIFT
    print("\nEnergy is kept." if kept else "\nENERGY IS NOT KEPT.")
    return 0 if kept else 1


def timed(robot: hinge.Robot, q0: np.ndarray, seconds: float) -> tuple[hinge.Run, float]:
    """Return a run and the drift of its energy, relative to the largest kinetic energy, and print both."""
    began = time.perf_counter()
    run = hinge.simulate(robot, q0, t=seconds, dt=STEP, record=20)
    taken = time.perf_counter() - began
    states, steps = len(np.atleast_2d(q0)), round(seconds / STEP)
    drift = float(np.abs(run.energy - run.energy[..., :1]).max() / run.kinetic_energy.max())
    rate = states * steps / taken
    print(f"{states:6d}  {seconds:12g}  {steps:6d}  {taken:14.2f}  {rate:22,.0f}  {drift:12.1e}")
    return run, drift


if __name__ == "__main__":
    sys.exit(main())
