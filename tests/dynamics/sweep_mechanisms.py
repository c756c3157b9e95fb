"""Mechanisms against their closed forms: python -m tests.dynamics.sweep_mechanisms.

Each check runs over angles and speeds and yields what is compared, and the error; the largest is printed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from math import radians

import numpy as np

import hinge
from hinge import reference, robots
from hinge.spatial import matvec
from tests.dynamics.closed_cases import off
from tests.dynamics.mechanisms import (
    HOME,
    Jet,
    along,
    angle_of,
    assembled_at,
    bennett,
    bennett_angles,
    delta_arms,
    four_bar,
    four_bar_poses,
    freudenstein,
    light_legs,
    one_coordinate,
    parallelogram,
    sarrus,
    sarrus_poses,
    six_bar,
    six_bar_loops,
    slider_poses,
    stephenson_poses,
    stewart_legs,
    watt_poses,
)

BOUND = 1e-9
LENGTHS = (0.10, 0.04, 0.12, 0.08)
#: Legs with this share of their masses are nearly massless, and this close to it.
MASSLESS, NEARLY = 1e-7, 1e-5

Found = Iterator[tuple[str, float]]


def four_bar_checks(count: int) -> Found:
    """Freudenstein's equation and the one-coordinate equation of motion, all around."""
    robot, angles = four_bar(LENGTHS), np.linspace(0, 2 * np.pi, count + 1)
    for q, t in zip(assembled_at(robot, angles, "crank_joint"), angles, strict=True):
        two, four = angle_of(robot, q, "crank"), angle_of(robot, q, "rocker")
        yield "Freudenstein's equation", freudenstein(*LENGTHS, two, four)
        yield from _along(robot, lambda x: four_bar_poses(LENGTHS, x), q, radians(40) + t, "crank_joint")
    yield "mobility 1", float(hinge.mobility(robot, q).freedoms != 1)


def slider_checks(count: int) -> Found:
    """The piston's motion, all around."""
    robot, angles = robots.slider_crank(), np.linspace(0, 2 * np.pi, count + 1)
    for q, t in zip(assembled_at(robot, angles, "crank_joint"), angles, strict=True):
        yield from _along(
            robot, lambda x: slider_poses(0.04, 0.12, -0.02, x), q, radians(60) + t, "crank_joint"
        )


def six_bar_checks(kind: str, count: int) -> Found:
    """Two loops that share bodies: Freudenstein's equation in both, and the equation of motion."""
    poses, robot = {"watt": watt_poses, "stephenson": stephenson_poses}[kind], six_bar(kind)
    angles = np.linspace(0, 0.6, count)
    for q, t in zip(assembled_at(robot, angles, "crank_joint"), angles, strict=True):
        yield "Freudenstein's equation, both loops", six_bar_loops(kind, robot, q)
        yield from _along(robot, poses, q, HOME + t, "crank_joint")
    yield "mobility 1", float(hinge.mobility(robot, q).freedoms != 1)


def sarrus_checks(count: int) -> Found:
    """The plate rises in a straight line."""
    robot, angles = sarrus(), np.linspace(-0.6, 0.6, count)
    for q, t in zip(assembled_at(robot, angles, "lower1_joint"), angles, strict=True):
        yield from _along(robot, sarrus_poses, q, 0.8 + t, "lower1_joint")
    yield "mobility 1 of 0", float(hinge.mobility(robot, q).freedoms != 1 or robot.nv != 5)


def bennett_checks(count: int) -> Found:
    """The relation of the two angles, to the second derivative."""
    robot = bennett()
    f = hinge.compile("closed_dynamics", robot)
    for angle in np.linspace(0.3, 2.8, count):
        q, qd, second = bennett_angles(angle, 1.7)
        yield "relation of the angles", float(np.abs(hinge.closure_error(robot, q)).max())
        yield "velocities", off(hinge.closure_velocity(robot, q, qd), np.zeros(5))
        found = f(q, qd, tau=[0.3, 0.0, 0.0])
        yield "accelerations", off(found["qdd"], qd / 1.7 * found["qdd"][0] + second)
        wanted, _ = reference.closed_dynamics(robot, q, qd, [0.3, 0.0, 0.0])
        yield "dense matrices", off(found["qdd"], wanted)
        start = q + np.array([0.0, 0.02, -0.03])
        found = hinge.assemble(robot, start, keep=["link1_joint"])
        yield "relation of the angles, assembled", off(found.q, q)
    yield "mobility 1 of −2", float(hinge.mobility(robot, q).freedoms != 1 or robot.nv - 5 != -2)


def parallelogram_checks(count: int) -> Found:
    """Up to the change point the coupler stays level; at it results are finite."""
    robot, lengths = parallelogram(), (0.2, 0.1, 0.2, 0.1)
    f = hinge.compile("closed_dynamics", robot)
    for away in (1.0, 1e-1, 1e-2, 1e-3, 1e-4)[-max(count, 2) :]:
        q, qd, tau = _level(away - 1.0), 2.0 * _level(1.0), np.array([0.05, 0, 0])
        found = f(q, qd, tau=tau)
        second = one_coordinate(robot, lambda t: _level_poses(lengths, t), away, 2.0, 0.05)
        yield f"q̈, {away:g} rad from the change point", off(found["qdd"], second * _level(1.0))
        yield f"residual, {away:g} rad from it", float(found["residual"])
    found = f(_level(-1.0), 2.0 * _level(1.0), tau=tau)
    wanted, _ = reference.closed_dynamics(robot, _level(-1.0), 2.0 * _level(1.0), tau)
    yield "at the change point: finite", float(not np.isfinite(found["qdd"]).all())
    yield "at the change point: residual", float(found["residual"])
    yield "at the change point: dense matrices", off(found["qdd"], wanted)
    yield "at the change point: mobility 2", float(hinge.mobility(robot, _level(-1.0)).freedoms != 2)


def _level(t: float):
    return np.array([t, -t, t])


def _level_poses(lengths, angle: Jet):
    """Return the poses of a parallelogram, which need no crossing of circles."""
    ground, crank, *_ = lengths
    c, s, zero, one = angle.cos(), angle.sin(), Jet(0.0), Jet(1.0)
    turn = np.array([[c, zero, -s], [zero, one, zero], [s, zero, c]], dtype=object)
    at = [
        np.array(p, dtype=object)
        for p in ([zero] * 3, [crank * c, zero, crank * s], [ground + zero, zero, zero])
    ]
    return {"crank": (turn, at[0]), "coupler": (np.eye(3) * one, at[1]), "rocker": (turn, at[2])}


def stewart_checks(count: int) -> Found:
    """Lengths and Jacobian of the legs; with massless ones the platform's own equation of motion."""
    robot, rng = robots.stewart_platform(), np.random.default_rng(1)
    light = {share: light_legs(robot, share) for share in (MASSLESS, NEARLY)[: 1 + (count > 2)]}
    own = robot.joint("platform_joint").qd_slice
    legs = np.array([robot.joint(f"leg{k}_length").qd_slice.start for k in range(1, 7)])
    places = np.array([robot.joint(f"leg{k}_length").q_slice.start for k in range(1, 7)])
    rest = [robot.joint(f"leg{k}_length").inner.position[2] for k in range(1, 7)]
    inertia = robot.bodies[robot.body_index("platform")].inertia
    for _ in range(count):
        move = np.zeros(robot.nv)
        move[own] = 0.05 * rng.standard_normal(6)
        start = hinge.integrate(robot, hinge.neutral(robot), move)
        q, error = hinge.assemble(robot, start, keep=["platform_joint"])
        yield "assembled", float(error)
        at = reference.frame_placement(robot, q, "platform")
        lengths, rows = stewart_legs(robot, at.rotation, at.position)
        yield "lengths of the legs", off(q[places] + rest, lengths)
        twist = rng.standard_normal(6)
        closing = hinge.closure_jacobian(robot, q)
        others = np.setdiff1d(np.arange(robot.nv), np.arange(robot.nv)[own])
        qd = np.zeros(robot.nv)
        qd[own] = twist
        qd[others] = np.linalg.lstsq(closing[:, others], -closing[:, own] @ twist, rcond=None)[0]
        yield "Jacobian", off(qd[legs], rows @ twist)
        push, tau = 30 * rng.standard_normal(6), np.zeros(robot.nv)
        tau[legs] = push
        down = at.rotation.T @ robot.gravity
        weight = np.concatenate([np.cross(inertia.h, down), inertia.m * down])
        six = inertia.matrix()
        momentum = matvec(six, twist)
        spun = np.concatenate(
            [
                np.cross(twist[:3], momentum[:3]) + np.cross(twist[3:], momentum[3:]),
                np.cross(twist[:3], momentum[3:]),
            ]
        )
        wanted = np.linalg.solve(six, rows.T @ push + weight - spun)
        for share, one in light.items():
            found = hinge.closed_dynamics(one, q, qd, tau)
            yield f"M Ẍ + b = Jᵀ f, legs of {share:g} of their masses", off(found.qdd[own], wanted)


def delta_checks(count: int) -> Found:
    """Angles of the arms for a place of the platform."""
    robot, rng = robots.delta(), np.random.default_rng(2)
    own = robot.joint("platform_joint").qd_slice
    for _ in range(count):
        move = np.zeros(robot.nv)
        move[own] = np.concatenate([np.zeros(3), rng.uniform(-0.08, 0.08, 3)])
        start = hinge.integrate(robot, hinge.neutral(robot), move)
        q, error = hinge.assemble(robot, start, keep=["platform_joint"])
        yield "assembled", float(error)
        place = reference.frame_placement(robot, q, "platform").position
        arms = [robot.joint(f"arm{k}_joint") for k in (1, 2, 3)]
        yield (
            "inverse kinematics",
            off(np.concatenate([q[j.q_slice] for j in arms]), delta_arms(robot, place)),
        )
    yield "mobility 3", float(hinge.mobility(robot, q).freedoms != 3)


def _along(robot, poses, q, angle: float, motor: str) -> Found:
    for speed, tau in ((0.0, 0.2), (3.0, -0.1)):
        yield from along(robot, poses, q, angle, speed, motor, tau).items()


CHECKS = {
    "four-bar": four_bar_checks,
    "slider–crank": slider_checks,
    "parallelogram": parallelogram_checks,
    "Watt six-bar": lambda count: six_bar_checks("watt", count),
    "Stephenson six-bar": lambda count: six_bar_checks("stephenson", count),
    "Bennett": bennett_checks,
    "Sarrus": sarrus_checks,
    "Stewart platform": stewart_checks,
    "delta": delta_checks,
}


def bound(what: str) -> float:
    """Return the error that is allowed: massless legs are nearly so."""
    return {f"{MASSLESS:g}": 2e-6, f"{NEARLY:g}": 2e-4}.get(
        what.rsplit("legs of ", maxsplit=1)[-1].split(" ", maxsplit=1)[0], BOUND
    )


def main() -> int:
    """Print the table; the exit code is 1 when an error is too large."""
    start, above, count = time.perf_counter(), 0, 0
    print(f"{'mechanism':20} {'compared':48} {'count':>6} {'largest':>9}")
    for name, check in CHECKS.items():
        largest: dict[str, list[float]] = {}
        for what, error in check(20):
            largest.setdefault(what, []).append(error)
        for what, errors in largest.items():
            print(f"{name:20} {what:48} {len(errors):6} {max(errors):9.1e}", flush=True)
            above += sum(not e <= bound(what) for e in errors)
            count += len(errors)
    print(f"{count} comparisons, {above} too large; {time.perf_counter() - start:.0f} s")
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main())
