"""Contacts with closed forms, in native code: python -m tests.dynamics.sweep_contact_forms.

Prints the largest error of each. Verbs are exact but for rounding; steps of time are of the first order, and
their errors are printed for two lengths of a step.
"""

from __future__ import annotations

import sys
import time
from itertools import chain
from math import atan, cos, sin

import numpy as np

import hinge
from hinge.sim import Event
from tests.dynamics import contact_forms as forms

SIZE, SLENDER, DT = (0.4, 0.3, 0.2), (0.2, 0.5, 0.6), 1e-3
EXACT = 1e-8
LAWS = ("associated", "coulomb")


def main() -> int:
    """Print a row for each closed form; the exit code is 1 when an error is above its bound."""
    began, failed = time.perf_counter(), 0
    print(f"{'closed form':78} {'error':>9}  bound")
    for what, error, bound in chain(_verbs(), _steps()):
        failed += not error <= bound
        print(f"{what:78} {error:9.1e}  {bound:.1e}{'' if error <= bound else '  MISSED'}")
    print(f"{failed} above their bounds; {time.perf_counter() - began:.0f} s")
    return int(failed > 0)


# Verbs ----------------------------------------------------------------------------------------------------


def _verbs():
    for law in LAWS:
        yield f"block on a slope about tan α = μ, one step, {law}: velocity, of g dt", _slope(law), EXACT
    yield "block on four corners: acceleration, of g", *_corners()
    yield "rod down the wall: acceleration and forces, of g and of its weight", *_rod()
    yield "rocking block: Housner's rate", _rocking(), EXACT
    yield "Newton's cradle, two to five balls, by Poisson's law: speeds", _cradle(), EXACT
    yield "two free bodies: the book's impulse (9.69)", _pairs(), EXACT
    for e in (0.5, 0.8):
        yield (
            f"bouncing ball, e = {e}, by events and collide: total time, of 2 v₀ / g (1 − e)",
            _bounces(e),
            EXACT,
        )


def _slope(law):
    worst = 0.0
    for beyond in (-0.3, -1e-6, 0.0, 1e-6, 0.3):
        slope, mu = atan(0.5) + beyond, 0.5
        robot, q = forms.block(SIZE, friction=mu, slope=slope), forms.lying(SIZE[2], slope)
        found = hinge.contact_step(robot, q, np.zeros(6), np.zeros(6), DT, law=law)
        up, down = forms.slope_step(slope, mu, DT, law)
        worst = max(worst, float(np.abs(found.qd - [0, 0, 0, down, 0, up]).max()))
    return worst / (forms.G * DT)


def _corners():
    worst = 0.0
    for com in ((0.0, 0.0), (0.1, 0.0), (-0.05, 0.1), (0.2, 0.0)):
        robot = forms.block(SIZE, 2.0, friction=0.0, com=com)
        found = hinge.contact_dynamics(robot, forms.lying(SIZE[2]), np.zeros(6), np.zeros(6))
        forces, wanted = found.forces[::2, 0], forms.corner_forces(SIZE, 2.0, com)
        arms = np.array([(1.0, x, y) for x in (-1, 1) for y in (-1, 1)])
        worst = max(
            worst, np.abs(found.qdd).max() / forms.G, np.abs(arms.T @ (forces - wanted)).max() / (2 * forms.G)
        )
    return worst, EXACT


def _rod():
    length, mass, start, worst = 1.2, 3.0, 0.3, 0.0
    robot = forms.rod(length, mass)
    for share in (0.0, 0.3, 0.9, 0.999):
        lean = start + share * (forms.leaves_the_wall(start) - start)
        rate, second, wanted = forms.sliding_rod(length, mass, start, lean)
        q, qd = forms.leaning(length, lean, rate)
        found = hinge.contact_dynamics(robot, q, qd, np.zeros(6))
        worst = max(worst, abs(found.qdd[1] + second) / forms.G)
        worst = max(worst, np.abs(found.forces[:, 0] - wanted).max() / (mass * forms.G))
    beyond = forms.leaves_the_wall(start) + 1e-3
    q, qd = forms.leaning(length, beyond, forms.sliding_rod(length, mass, start, beyond)[0])
    return max(worst, hinge.contact_dynamics(robot, q, qd, np.zeros(6)).forces[1, 0]), EXACT


def _rocking():
    worst = 0.0
    for size in (SLENDER, (0.2, 0.5, 0.3), (0.4, 0.5, 0.41)):
        q, qd, wanted = forms.rocking_states(size, 0.7)
        robot = forms.block(size, friction=forms.rocking_friction(size) + 1e-3)
        worst = max(worst, float(np.abs(hinge.collide(robot, q, qd).qd - wanted).max()))
    return worst


def _cradle():
    worst = 0.0
    for e in (0.0, 0.6, 1.0):
        for count, coming in ((2, 1), (3, 1), (5, 1), (5, 2)):
            speeds = np.where(np.arange(count) < coming, 1.0, 0.0)
            found = hinge.collide(forms.cradle(count, restitution=e), np.zeros(count), speeds)
            worst = max(worst, float(np.abs(found.qd - forms.cradle_at_once(speeds, e)).max()))
    return worst


def _pairs():
    worst = 0.0
    for seed in range(6):
        robot, q, qd = forms.pair(0.7, seed)
        wanted = forms.pair_impulse(robot, q, qd, 0.7)
        worst = max(worst, abs(hinge.collide(robot, q, qd).impulses[0, 0] / wanted - 1))
    return worst


def _bounces(e, least=1e-2):
    """Return the relative error of the time in which a ball comes to rest, located bounce by bounce."""
    speed, radius = 2.0, 0.1
    robot = forms.ball(radius, restitution=e)
    q, qd, t = forms.pose((0.0, 0.0, radius)), forms.twist((0.0, 0.0, speed)), 0.0
    falls = Event(
        lambda t, q, qd: q[..., 6] - radius, "strikes", direction=-1, terminal=True, tolerance=1e-13
    )
    while qd[5] > least:
        flight = 2 * qd[5] / forms.G
        q[6] = radius + 1e-14
        run = hinge.simulate(robot, q, qd, t=1.5 * flight, dt=flight / 20, events=[falls])
        hit = run.events[0]
        t, q = t + hit.t, hit.q.copy()
        qd = hinge.collide(robot, q, hit.qd, closed=[True]).qd
    rest = 2 * qd[5] / forms.G / (1 - e)
    return abs((t + rest) / forms.bouncing_time(speed, e) - 1)


# Steps of time --------------------------------------------------------------------------------------------


def _steps():
    for what, error in (
        ("block slides down a slope for 0.5 s: place, of what it slid", _slid),
        ("block sticks on a slope for 1 s: drift, m", _stuck),
        ("ball slides and rolls: speed, of 5/7 v₀", _rolls),
        ("ball slides and rolls: place after 0.5 s, m", _rolled),
        ("ball that rolls at 3 m/s with e = 0.5 stays on the ground: height, m", _stays),
        ("bouncing ball, e = 0.5: times of five bounces", _bounced),
        ("rod leaves the wall: height of its top, of 2/3", _leaves),
        ("rocking block falls onto its base: time", _falls),
    ):
        for dt in (1e-3, 2.5e-4):
            yield f"{what}, dt = {dt:g} s", error(dt), _BOUNDS[error] * dt


def _run(robot, q, qd, t, dt, record=1):
    return hinge.simulate(robot, q, qd, t=t, dt=dt, integrator="stepping", record=record)


def _slid(dt):
    slope, mu = atan(0.5) + 0.2, 0.5
    robot, q = forms.block(SIZE, friction=mu, slope=slope), forms.lying(SIZE[2], slope)
    end = _run(robot, q, np.zeros(6), 0.5, dt, 0).q[-1, 4:] - q[4:]
    wanted = forms.slope_acceleration(slope, mu) * 0.125
    return abs(end @ [cos(slope), 0.0, -sin(slope)] / wanted - 1)


def _stuck(dt):
    slope, mu = atan(0.5) - 1e-3, 0.5
    robot, q = forms.block(SIZE, friction=mu, slope=slope), forms.lying(SIZE[2], slope)
    return float(np.abs(_run(robot, q, np.zeros(6), 1.0, dt, 0).q[-1] - q).max())


def _ball(dt, t, speed=1.0):
    radius, mu = 0.1, 0.3
    robot, q = forms.ball(radius, friction=mu), forms.pose((0.0, 0.0, radius))
    return _run(robot, q, forms.twist((speed, 0.0, 0.0)), t, dt), forms.rolling(speed, mu, radius, t)


def _rolls(dt):
    run, (_, v, _) = _ball(dt, 0.5)
    return abs((run.q[-1, 4] - run.q[-11, 4]) / (10 * dt) / v - 1)


def _rolled(dt):
    run, (x, _, _) = _ball(dt, 0.5)
    return abs(run.q[-1, 4] - x)


def _stays(dt):
    radius, speed = 0.1, 3.0
    robot, q = forms.ball(radius, friction=0.5, restitution=0.5), forms.pose((0.0, 0.0, radius))
    run = _run(robot, q, forms.twist((speed, 0.0, 0.0), (0.0, speed / radius, 0.0)), 0.5, dt)
    return float(np.abs(run.q[:, 6] - radius).max())


def _bounced(dt):
    speed, radius, e, count = 2.0, 0.1, 0.5, 5
    times = forms.bounce_times(speed, e, count)
    robot = forms.ball(radius, restitution=e)
    run = _run(robot, forms.pose((0.0, 0.0, radius)), forms.twist((0.0, 0.0, speed)), 1.2 * times[-1], dt)
    up = np.flatnonzero((run.qd[:-1, 5] < 0) & (run.qd[1:, 5] > 0))
    return float(np.abs(run.t[up[:count]] / times - 1).max())


def _leaves(dt):
    length, mass, start = 1.2, 3.0, 0.3
    run = _run(forms.rod(length, mass), *forms.leaning(length, start, 0.0), 1.0, dt)
    last = np.flatnonzero(run.contacts.forces[:, 1, 0] > 0)
    k = last[np.flatnonzero(np.diff(last, append=10**9) > 20)[0]]
    lean = 2 * np.arctan2(-run.q[k, 2], run.q[k, 0])
    return abs(cos(lean) / (2 / 3 * cos(start)) - 1)


def _falls(dt):
    tilt = 0.1
    robot = forms.block(SLENDER, friction=2.0)
    centre = np.array([-SLENDER[0] / 2, 0.0, 0.0])
    arm = np.array([SLENDER[0] / 2, 0.0, SLENDER[2] / 2])
    turned = np.array([cos(tilt) * arm[0] - sin(tilt) * arm[2], 0.0, sin(tilt) * arm[0] + cos(tilt) * arm[2]])
    wanted = forms.rocking_time(SLENDER, tilt)
    run = _run(robot, forms.pose(centre + turned, -tilt), np.zeros(6), 1.2 * wanted, dt)
    gap = hinge.gap(robot, run.q)[:, ::2].max(axis=-1)
    return abs(run.t[np.flatnonzero(gap < 1e-4)[0]] / wanted - 1)


#: Errors for each second of dt that are allowed.
_BOUNDS = {_slid: 20, _stuck: 1e-4, _rolls: 10, _rolled: 5, _stays: 5, _bounced: 10, _leaves: 20, _falls: 20}


if __name__ == "__main__":
    sys.exit(main())
