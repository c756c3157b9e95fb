from __future__ import annotations

import io
import sys
from dataclasses import replace

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError, MissingExtraError, UnknownNameError
from hinge.model.joints import Planar, Prismatic, Revolute, Spherical, Universal
from hinge.view import plot_energy, plot_joints, plot_path, plot_phase, plot_strip
from hinge.view.energy import joint_work
from tests.tiers import daily
from tests.view.runs import NAMES, short_run

pytest.importorskip("matplotlib")


def drawn(figure) -> bytes:
    """Return a figure as PNG; warnings are errors here."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=50)
    data = file.getvalue()
    assert data.startswith(b"\x89PNG") and len(data) > 3000
    return data


def mixed() -> hinge.Robot:
    """Return a robot with joints of several coordinates, lengths among them."""
    b = hinge.Builder("mixed")
    body = hinge.Inertia.from_com(1.0, (0.0, 0.0, 0.1), 0.01 * np.eye(3))
    parent = None
    for k, joint in enumerate([Spherical(), Planar(), Prismatic(), Revolute(), Universal()]):
        parent = b.body(f"b{k}", joint=joint, parent=parent, inertia=body, position=(0, 0, 0.2))
    return b.build()


@pytest.mark.parametrize("name", daily(NAMES, lambda k, name: k % 2 == 0))
def test_every_picture_of_every_robot(name):
    run = short_run(name)
    figures = [plot_joints(run), plot_strip(run, ellipsoids=True), plot_energy(run), plot_phase(run)]
    saved = {"spacecraft": figures[:1], "quadruped": figures[1:2]}
    for figure in saved.get(name, figures):
        drawn(figure)


@pytest.mark.parametrize(("name", "rows"), [("puma560", 1), ("spacecraft", 4), ("quadruped", 4)])
def test_joints_have_a_row_for_each_group_and_a_line_for_each_coordinate(name, rows):
    run = short_run(name)
    figure = plot_joints(run, what=("q", "qd", "tau"))
    assert len(figure.axes) == 3 * rows
    shown = [[x for x in ax.lines if len(x.get_xdata())] for ax in figure.axes]
    assert sum(map(len, shown[::3])) == run.robot.nq
    assert sum(map(len, shown[1::3])) == run.robot.nv == sum(map(len, shown[2::3]))
    for lines in shown:
        assert len({x.get_color() for x in lines}) == len(lines) <= 7


def test_lines_are_the_numbers_of_the_run():
    run = short_run("puma560")
    figure = plot_joints(run, joints="joint3", what="qd")
    (line, _) = figure.axes[0].lines
    np.testing.assert_array_equal(line.get_ydata(), run.qd[:, 2])
    np.testing.assert_array_equal(line.get_xdata(), run.t)


def test_the_path_of_a_frame_is_that_of_forward_kinematics():
    run = short_run("puma560")
    path = hinge.forward_kinematics(run.robot, run.q, "tool").position
    figure = plot_path(run, "tool", plane="xz")
    seen, over_time = figure.axes
    np.testing.assert_allclose(seen.lines[0].get_xydata(), path[:, [0, 2]], atol=1e-12)
    for k in range(3):
        np.testing.assert_allclose(over_time.lines[k].get_ydata(), path[:, k], atol=1e-12)
    assert "seen along y" in seen.get_title()
    drawn(figure)
    many = short_run("double_pendulum", (3,))
    two = plot_path(many, ["tip", "lower"])
    assert len(two.axes[0].lines) == 2 * 2 * 3
    drawn(two)
    assert len(plot_path(many, "tip", runs=1).axes[0].lines) == 2


def test_a_path_ends_where_its_run_ended():
    run = short_run("double_pendulum")
    q = run.q.copy()
    q[5:] = np.nan
    figure = plot_path(replace(run, q=q), "tip")
    assert np.isfinite(figure.axes[0].lines[0].get_ydata()).sum() == 5
    drawn(figure)


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        ("tipp", UnknownNameError, "no frame 'tipp'; did you mean 'tip'"),
        ([], ArgumentError, "frame: expected the name of a frame or body"),
        ([3], ArgumentError, "frame: expected names of frames or bodies, got 3"),
    ],
)
def test_a_path_of_nothing_is_refused(frame, error, message):
    with pytest.raises(error, match=message):
        plot_path(short_run("double_pendulum"), frame)


def test_labels_name_joints_and_units():
    robot = mixed()
    run = hinge.simulate(robot, qd0=np.full(robot.nv, 0.1), t=0.1, dt=0.02)
    figure = plot_joints(run)
    labels = [ax.get_ylabel() for ax in figure.axes]
    assert labels == ["quaternion", "[rad/s]"] + ["[rad]", "[rad/s]", "[m]", "[m/s]"] * 2 + [
        "[rad]",
        "[rad/s]",
    ]
    legends = [[t.get_text() for t in ax.get_legend().get_texts()] for ax in figure.axes if ax.get_legend()]
    singles = [["b3_joint"], ["b2_joint"]]
    assert legends == [["w", "x", "y", "z"], ["angle"], ["x", "y"], *singles, ["first", "second"]]


def test_forces_are_shown_if_there_are_any():
    assert len(plot_joints(short_run("puma560")).axes) == 2
    assert len(plot_joints(short_run("puma560", control=0.1)).axes) == 3


def test_a_batch_is_a_median_in_a_band_or_the_chosen_runs():
    run = short_run("double_pendulum", (3, 4))
    spread = plot_joints(run, what="q")
    assert len(spread.axes[0].collections) == 2
    median = np.median(run.q[..., 0].reshape(12, -1), axis=0)
    np.testing.assert_allclose(spread.axes[0].lines[0].get_ydata(), median)
    assert "12 runs" in spread.get_suptitle()
    two = plot_joints(run, what="q", joints="elbow", runs=[(1, 2), 0])
    assert len(two.axes[0].collections) == 0
    np.testing.assert_array_equal(two.axes[0].lines[0].get_ydata(), run.q[1, 2, :, 1])
    assert "runs (1, 2), (0, 0)" in two.get_suptitle()
    for figure in (spread, two, plot_energy(run), plot_phase(run)):
        drawn(figure)
    assert len(plot_phase(run, "elbow").axes[0].lines) == 24


def test_what_is_not_a_number_any_more_is_left_out():
    run = short_run("double_pendulum", (4,))
    q, qd = run.q.copy(), run.qd.copy()
    q[1, 4:], qd[1, 4:] = np.nan, np.nan
    q[:, 9:], qd[:, 9:] = np.nan, np.nan
    tau = np.where(np.isnan(qd), np.nan, 0.0)
    broken = replace(run, q=q, qd=qd, tau=tau)
    assert len(plot_joints(broken).axes) == 2 and len(plot_energy(broken).axes[0].lines) == 3
    for figure in (
        plot_joints(broken),
        plot_energy(broken),
        plot_phase(broken),
        plot_strip(broken, run_index=1),
    ):
        drawn(figure)


def test_the_drift_is_what_the_work_of_joint_forces_does_not_explain():
    run = short_run("puma560", control=5.0)
    figure = plot_energy(run)
    drift = figure.axes[1].lines[0].get_ydata()
    wanted = (run.energy - run.energy[0] - joint_work(run)[0]) / run.kinetic_energy.max()
    np.testing.assert_allclose(drift, wanted)
    assert np.abs(drift).max() < 0.05 < (run.energy - run.energy[0]).max() / run.kinetic_energy.max()
    assert [t.get_text() for t in figure.axes[0].get_legend().get_texts()][-1] == "work of joint forces"


def test_a_robot_that_rests_has_a_drift_in_joules():
    run = hinge.simulate(hinge.robots.double_pendulum(), t=0.1, dt=0.02)
    figure = plot_energy(run)
    assert figure.axes[1].get_ylabel() == "drift [J]"
    drawn(figure)


def test_a_strip_has_the_robot_at_the_instants():
    run = short_run("double_pendulum")
    figure = plot_strip(run, instants=[0.0, 0.1, 0.2], plane="xz")
    assert len(figure.axes) == 3
    for ax, k in zip(figure.axes, (0, 5, 10), strict=True):
        x, z = ax.lines[0].get_xdata(), ax.lines[0].get_ydata()
        elbow = run.poses("lower").position[k]
        tip = run.poses("tip").position[k]
        np.testing.assert_allclose([(x[1], z[1]), (x[4], z[4])], [elbow[[0, 2]], tip[[0, 2]]], atol=1e-12)


def test_a_strip_is_drawn_in_the_plane_of_the_motion():
    assert "seen along y" in plot_strip(short_run("double_pendulum")).get_suptitle()
    assert len(plot_strip(short_run("quadruped"), overlay=True).axes) == 1
    drawn(plot_strip(short_run("puma560"), plane=(1.0, 1.0, 0.5), instants=1))
    assert sum(ax.get_visible() for ax in plot_strip(short_run("puma560"), instants=8).axes) == 8


def test_gravity_is_down_in_a_strip_as_it_was_in_the_run():
    robot = hinge.robots.double_pendulum()
    run = hinge.simulate(
        robot, np.zeros((2, 2)), t=0.1, dt=0.05, gravity=[[9.81, 0.0, 0.0], [0.0, 0.0, -1.0]]
    )
    sideways = plot_strip(run, instants=1, run_index=0).axes[0].lines[0]
    np.testing.assert_allclose(np.abs(sideways.get_xdata()[4] - sideways.get_xdata()[0]), 2.0, atol=0.2)
    upright = plot_strip(run, instants=1, run_index=1).axes[0].lines[0]
    np.testing.assert_allclose(upright.get_ydata()[4] - upright.get_ydata()[0], -2.0, atol=0.2)


def test_no_window_and_no_global_state():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()
    plot_energy(short_run("double_pendulum"))
    assert pyplot.get_fignums() == before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: plot_joints(run, what="acceleration"), "what: expected some of .*, got 'acceleration'"),
        (lambda run: plot_joints(run, runs=3), "runs: expected a number below 1 .*, got 3"),
        (lambda run: plot_joints(run, runs=[]), "runs: expected the index of a run .*, got an empty list"),
        (lambda run: plot_joints(run, runs="all"), "runs: expected a number below 1 .*, got 'all'"),
        (lambda run: plot_phase(run, "bus_free"), "joint: expected joints .*, got the free joint 'bus_free'"),
        (lambda run: plot_strip(run, plane="xx"), "plane: expected two axes .*, got 'xx'"),
        (lambda run: plot_strip(run, plane=(0, 0, 0)), r"plane: expected two axes .*, got \(0, 0, 0\)"),
        (lambda run: plot_strip(run, instants=0), "instants: expected a count ≥ 1 or times in s, got 0"),
        (
            lambda run: plot_strip(run, instants=[np.nan]),
            "instants: expected a count or finite times in s, got .nan.",
        ),
        (lambda run: plot_energy(run.robot), "run: expected a Run, got Robot"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call(short_run("spacecraft"))


def test_unknown_joints_are_named():
    with pytest.raises(UnknownNameError, match="joint99"):
        plot_joints(short_run("puma560"), joints=["joint99"])


def test_an_empty_batch_is_refused():
    robot = hinge.robots.double_pendulum()
    run = hinge.simulate(robot, np.zeros((0, 2)), t=0.1, dt=0.05)
    with pytest.raises(ArgumentError, match="empty"):
        plot_joints(run)


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    run = short_run("double_pendulum")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hinge\[view\]"'):
        plot_joints(run)
