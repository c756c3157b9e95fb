"""Closed robots over seconds: `python -m tests.sim.sweep_closed`.

Drift of the closures and of the energy over 10 s in steps of 1 ms, with projection and without, and the time
of a step.
"""

from __future__ import annotations

import time
from dataclasses import replace

import hinge
from hinge import robots
from hinge.sim import INTEGRATORS

from .closed_robots import drift, gained, started, two_loops

SECONDS, STEP = 10.0, 1e-3
#: Largest drift with projection, and of the energy with RK4.
DRIFT, ENERGY = 1e-12, 1e-3
SPEEDS = {"four_bar": 1.0, "stewart_platform": 0.1, "two_pandas": 0.2}


def subjects():
    """Yield robots and gravity; the platform and the arms, without motors, are weightless."""
    for make in (robots.four_bar, two_loops, robots.slider_crank):
        name = make.__name__
        yield replace(make(), name=name), None
    for make in (robots.stewart_platform, robots.delta, robots.two_pandas_with_plate):
        yield make(), (0.0, 0.0, 0.0)


def main() -> int:
    """Print the table; return 0 if all is as good as wanted."""
    print(f"{SECONDS:g} s in steps of {STEP * 1e3:g} ms; energy as a share of the largest kinetic energy")
    print(
        f"{'robot':18s}{'integrator':15s}{'project':9s}{'closures':>11s}{'velocities':>11s}{'energy':>11s}{'µs/step':>9s}"
    )
    good = True
    for robot, gravity in subjects():
        q, qd = started(robot, SPEEDS.get(robot.name, 1.0))
        for name in [n for n in INTEGRATORS if n != "stepping"]:
            for project in (True, False):
                given = {"integrator": name, "project": project, "gravity": gravity, "dt": STEP}
                hinge.simulate(robot, q, qd, t=2 * STEP, **given)
                began = time.perf_counter()
                run = hinge.simulate(robot, q, qd, t=SECONDS, **given)
                taken = (time.perf_counter() - began) / (SECONDS / STEP) * 1e6
                place, speed = drift(robot, run)
                energy = gained(run)
                ended = "" if not run.endings else f"  ended at {run.endings[0].t:g} s"
                print(
                    f"{robot.name:18s}{name:15s}{'yes' if project else 'no':9s}{place:11.1e}{speed:11.1e}"
                    f"{energy:11.1e}"
                    f"{taken:9.1f}{ended}",
                    flush=True,
                )
                if project and name == "rk4":
                    good &= place < DRIFT and energy < ENERGY and not ended
    print("good" if good else "worse than wanted")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
