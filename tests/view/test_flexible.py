"""Flexible bodies in pictures: their lines bend with the modes, and more so on request."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import sim
from hinge.cli.info import facts
from hinge.errors import ArgumentError
from hinge.model import Builder, beam
from hinge.view import plot_energy, plot_strip
from hinge.view.flexed import exaggerated, flexed_lines
from hinge.view.poses import body_poses
from hinge.view.skeleton import sticks
from tests.dynamics.sweep_flexible import arm
from tests.dynamics.sweep_fuzz import target


def test_a_line_bends_from_root_to_tip():
    robot = arm()
    q = hinge.configuration(robot, {"upper_modes": [0.08, 0.0], "lower_joint": 0.4})
    with target("numpy"):
        poses = body_poses(robot, q)
        found = flexed_lines(robot, q, poses)
    assert found.shape == (32, 2, 3)
    tips = [poses.positions[robot.body_index(f"{n}_tip")] for n in ("upper", "lower")]
    assert_allclose(found[[15, 31], 1], tips, atol=1e-12)
    assert_allclose(found[0, 0], 0, atol=1e-15)
    straight = found[0, 0] + np.linspace(0, 1, 17)[1:, None] * (tips[0] - found[0, 0])
    assert np.abs(found[:16, 1] - straight).max() > 1e-3
    named = [robot.bodies[i].name for i in sticks(robot).bodies]
    assert not any(n.endswith("_flexible") for n in named)


def test_a_body_without_a_line_has_lines_to_its_attachments():
    b = Builder("star")
    body = beam(1.0, mass_per_length=1.0, bending=1.0, modes=1, stations={"half": 0.5})
    b.body("root", flexible=hinge.Flexible(
        body.masses, body.positions, body.shapes, body.stiffness, second=body.second, frames=body.frames
    ))  # fmt: skip
    robot = b.build(strict=None)
    q = np.array([0.1, -0.05])
    with target("numpy"):
        poses = body_poses(robot, q)
        found = flexed_lines(robot, q[None], body_poses(robot, q[None]))
    ends = [poses.positions[robot.body_index(n)] for n in ("root_tip", "root_half")]
    assert_allclose(found[0, :, 1], ends, atol=1e-12)


def test_deformations_are_exaggerated_and_joints_are_not():
    robot = arm()
    q = hinge.configuration(robot, {"upper_modes": [0.01, 0.02], "lower_joint": 0.4})
    more = exaggerated(robot, q, 5)
    assert_allclose(more - q, hinge.configuration(robot, {"upper_modes": [0.04, 0.08]}), atol=1e-15)
    for bad in (0, -1.0, np.inf, "much"):
        with pytest.raises(ArgumentError, match="exaggerate: expected a number > 0"):
            exaggerated(robot, q, bad)


def test_pictures_show_the_body_bend():
    robot = arm()
    q = hinge.configuration(robot, {"upper_modes": [0.05, 0.0]})
    with target("numpy"):
        run = sim.simulate(robot, q, t=0.004, dt=1e-3, record=2)
        sheets = [plot_strip(run, instants=2, plane="xy", exaggerate=x) for x in (1.0, 4.0)]
        energy = plot_energy(run)
    heights = [max(np.nanmax(line.get_ydata()) for line in s.axes[0].lines) for s in sheets]
    assert heights[1] > 2 * heights[0] > 0
    total = next(line for line in energy.axes[0].lines if line.get_label() == "total").get_ydata()
    assert total[0] == pytest.approx(run.energy[0]) and run.elastic_energy[0] > 0


def test_the_command_tells_modes_and_frequencies():
    shown = facts(arm())["flexible"]
    assert [x["name"] for x in shown] == ["upper_flexible", "lower_flexible"]
    assert shown[0]["modes"] == 2 and shown[0]["attachments"] == ["tip"] and len(shown[0]["frequencies"]) == 2
