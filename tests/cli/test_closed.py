"""Robots with closures on the command line."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.cli.closed import closed_configuration, closed_starts, problems
from hinge.errors import CommandLineError
from hinge.explain import page
from hinge.model import joints


def impossible():
    robot = hinge.robots.double_pendulum()
    return hinge.close(robot, None, robot.bodies[-1].name, joint=joints.Spherical(), position=(100, 0, 0))


def test_info_lists_closures_mobility_and_dropped_rows(hinge_command):
    told = hinge_command("info", "four_bar").out
    assert "pin      revolute" in told and "pin.wx, pin.wy, pin.vz" in told
    assert "5, 2 independent" in told
    data = hinge_command("info", "delta", "--json").data
    assert len(data["closures"]) == 6 and data["mobility"]["freedoms"] == 3


def test_check_says_what_is_dropped_and_what_cannot_close(hinge_command):
    assert "note: closures 'pin': 3 rows" in hinge_command("check", "four_bar").out
    robot = impossible()
    assert closed_configuration(robot) is None
    assert [p.condition for p in problems(robot)] == ["can close"]
    with pytest.raises(CommandLineError, match="--q0: expected a configuration near one that closes"):
        closed_starts(robot, hinge.neutral(robot), np.random.default_rng(0))
    assert problems(hinge.opened(robot)) == []


def test_simulate_starts_closed(hinge_command):
    told = hinge_command("simulate", "slider_crank", "--t", "0.1", "--qd0", "1", "--quiet").out
    assert "closures" in told and "3 coordinates of its tree" in told
    data = hinge_command(
        "simulate", "four_bar", "--t", "0.1", "--states", "3", "--control", "hold", "--quiet", "--json"
    ).data
    assert data["closures"]["count"] == 1 and data["closures"]["error"] < 1e-12


def test_explain_shows_the_closures(hinge_command):
    assert "settle" in hinge_command("explain", "settle").out
    found = page(
        hinge.dynamics.compiled(two := hinge.robots.delta(), hinge.dynamics.expression("settle", closed=True))
    )
    assert "Ω has 18 rows" in found and all(c.name in found for c in two.closures)
    bare = page(hinge.dynamics.compiled(two, "mass_matrix"))
    assert "The closures" not in bare
    one = page(
        hinge.dynamics.compiled(
            hinge.robots.four_bar(), hinge.dynamics.expression("forward_dynamics", closed=True)
        )
    )
    assert "wx wy vz" in one and "Ω has 2 rows" in one
