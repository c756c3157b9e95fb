"""Closed robots over seconds: `python -m tests.sim.sweep_closed`.

Drift of the closures and of the energy over 10 s in steps of 1 ms, with projection, without, and with loops
embedded, and the time of a step; with embedded loops, when states changed their independent rates, too. Named
robots alone: `python -m tests.sim.sweep_closed delta`.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import replace

import numpy as np

import hinge
from hinge import robots
from hinge.errors import ModelWarning
from hinge.sim import INTEGRATORS

from .closed_robots import gained, started, two_loops

SECONDS, STEP = 10.0, 1e-3
#: Largest drift with projection and with loops embedded, of the energy, and of that with the best integrator.
DRIFT, ENERGY, LEAST = 1e-12, 1e-3, 1e-7
#: Robots whose energy both ways keep to LEAST: not delta, which flies through a singular configuration, and
#: not two loops that fall, which turn too fast for the step.
KEPT = ("four_bar", "slider_crank", "stewart_platform", "two_pandas")
SPEEDS = {"four_bar": 1.0, "stewart_platform": 0.1, "two_pandas": 0.2}


def subjects():
    """Yield robots and gravity; the platform and the arms, without motors, are weightless."""
    for make in (robots.four_bar, two_loops, robots.slider_crank):
        name = make.__name__
        yield replace(make(), name=name), None
    for make in (robots.stewart_platform, robots.delta, robots.two_pandas_with_plate):
        yield make(), (0.0, 0.0, 0.0)


def row(robot, run, name, way, taken):
    """Print a row of the table, and return drift and energy."""
    place = np.abs(hinge.closure_error(robot, run.q)).max()
    rates = run.released().qd if run.robot.loops else run.qd
    speed = np.abs(hinge.closure_velocity(robot, run.q, rates)).max()
    energy = gained(run)
    ended = "" if not run.endings else f"  ended at {run.endings[0].t:g} s: {run.endings[0].reason}"
    changed = "" if not run.changes else f"  changed at {', '.join(f'{c.t:.3f}' for c in run.changes)} s"
    print(
        f"{robot.name:18s}{name:15s}{way:9s}{place:11.1e}{speed:11.1e}{energy:11.1e}{taken:9.1f}{ended}{changed}",
        flush=True,
    )
    return (place, energy) if not run.endings else (np.inf, np.inf)


def timed(robot, q, qd, **given):
    """Return a run, and the microseconds of a step."""
    hinge.simulate(robot, q, qd, **{**given, "t": 2 * STEP})
    began = time.perf_counter()
    run = hinge.simulate(robot, q, qd, **given)
    return run, (time.perf_counter() - began) / (SECONDS / STEP) * 1e6


def embedded(robot, q, qd):
    """Return the robot with its loops embedded, and the state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        inside = hinge.embed_loops(robot, near=q)
    return inside, *hinge.carry_state(robot, inside, q, qd)


def main() -> int:
    """Print the table; return 0 if all is as good as wanted."""
    print(f"{SECONDS:g} s in steps of {STEP * 1e3:g} ms; energy as a share of the largest kinetic energy")
    print(
        f"{'robot':18s}{'integrator':15s}{'way':9s}{'closures':>11s}{'velocities':>11s}{'energy':>11s}{'µs/step':>9s}"
    )
    good = True
    for robot, gravity in subjects():
        if len(sys.argv) > 1 and robot.name not in sys.argv[1:]:
            continue
        q, qd = started(robot, SPEEDS.get(robot.name, 1.0))
        least = {"project": np.inf, "embedded": np.inf}
        for name in [n for n in INTEGRATORS if n != "stepping"]:
            given = {"t": SECONDS, "dt": STEP, "integrator": name, "gravity": gravity}
            for way in ("project", "open") + ("embedded",) * (name in ("rk4", "rk5")):
                subject = embedded(robot, q, qd) if way == "embedded" else (robot, q, qd)
                run, taken = timed(*subject, **given, project=way != "open")
                place, energy = row(robot, run, name, way, taken)
                if way != "open" and name in ("rk4", "rk5"):
                    good &= place < DRIFT and energy < ENERGY
                    least[way] = min(least[way], energy)
        if robot.name in KEPT:
            good &= max(least.values()) < LEAST
    print("good" if good else "worse than wanted")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
