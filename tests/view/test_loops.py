"""Closures in pictures and in the viewer."""

from __future__ import annotations

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge.view.loops import closure_efforts, closure_lines
from hinge.view.poses import body_poses
from hinge.view.skeleton import sticks


def turning():
    robot = hinge.robots.slider_crank()
    q = hinge.neutral(robot)
    return hinge.simulate(robot, q, hinge.settle(robot, q, [3.0, 0, 0]), t=0.1, dt=0.01)


def test_lines_lead_from_end_to_end():
    robot = hinge.robots.slider_crank()
    q = np.array([[0.0, 0, 0], [0, 0, 0.1]])
    lines = closure_lines(robot, body_poses(robot, q))
    assert lines.shape == (2, 1, 2, 3)
    assert_allclose(lines[0, 0, 0], lines[0, 0, 1], atol=1e-12)
    assert_allclose(lines[1, 0, 1] - lines[1, 0, 0], [0.1, 0, 0], atol=1e-12)
    world = hinge.close(robot, None, "slider", position=(0.3, 0.2, 0.1), name="wall")
    assert_allclose(closure_lines(world, body_poses(world, q))[:, 1, 0], [[0.3, 0.2, 0.1]] * 2)
    open_ = hinge.opened(robot)
    assert closure_lines(open_, body_poses(open_, q)).shape == (2, 0, 2, 3)


def test_sticks_reach_closures():
    robot = hinge.robots.four_bar()
    ends = sticks(robot)
    reached = {robot.bodies[i].name for i in ends.bodies.tolist()}
    assert {"crank", "coupler", "rocker"} <= reached


def test_arrows_are_the_forces_on_the_outer_ends():
    """The slider has nothing else that pushes it along x."""
    run = turning()
    robot, slider = run.robot, run.robot.body("slider")
    forces = run.closure_forces()
    moments, pushes = closure_efforts(robot, body_poses(robot, run.q), forces)
    qdd = hinge.forward_dynamics(robot, run.q, run.qd, run.tau)
    assert_allclose(pushes.vectors[:, 0, 0], float(slider.inertia.m) * qdd[:, 2], atol=1e-9)
    assert_allclose(moments.vectors, 0, atol=1e-9)
    assert_allclose(
        pushes.starts[:, 0], hinge.forward_kinematics(robot, run.q, "slider").position, atol=1e-12
    )


def test_strips_show_closures():
    pytest.importorskip("matplotlib")
    run = turning()
    for overlay in (False, True):
        figure = hinge.view.plot_strip(run, overlay=overlay)
        rings = [x for ax in figure.axes for x in ax.lines if x.get_markerfacecolor() == "none"]
        assert len(rings) == 6
        figure.savefig(io.BytesIO(), format="png", dpi=40)


def test_viewers_show_lines_and_forces():
    pytest.importorskip("viser")
    viewer = hinge.view.show(hinge.robots.four_bar(), port=0, wait=False)
    try:
        assert np.abs(np.diff(viewer.options.closures.handle.points, axis=1)).max() < 1e-6
        viewer.move([0.3, 0, 0])
        assert np.abs(np.diff(viewer.options.closures.handle.points, axis=1)).max() > 1e-3
        assert viewer.options.closure_switch is None
    finally:
        viewer.stop()
    viewer = hinge.view.play(turning(), port=0, wait=False)
    try:
        viewer.options.closure_switch.value = True
        viewer.seek(0.05)
        assert len(viewer.options.closure_pushes.handle.points) == 1
    finally:
        viewer.stop()
