"""The viewer without a browser: what is in the scene, and where."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError, MissingExtraError, UnknownNameError
from hinge.model import Box, Capsule, Cylinder, Mesh, Shape, Sphere, make_robot
from hinge.sim import Ending, Hit
from hinge.spatial import Transform, rotation
from hinge.view import play, show
from hinge.view.appearance import appearance
from hinge.view.server import free_port
from hinge.view.skeleton import ellipsoid
from tests.cli.command import listen_to_ctrl_c
from tests.view.runs import short_run

pytest.importorskip("viser")


def misplacement(nodes, robot, q) -> float:
    """Return how far nodes are from where forward kinematics puts the bodies."""
    found = 0.0
    for node, pose in zip(nodes, hinge.forward_kinematics(robot, q), strict=True):
        turn = rotation.from_quaternion(np.asarray(node.wxyz))
        found = max(found, np.abs(node.position - pose.position).max(), np.abs(turn - pose.rotation).max())
    return found


def shaped() -> hinge.Robot:
    """Return a chain whose bodies have shapes of all kinds, meshes that are not there among them."""
    plain = hinge.robots.chain(5)
    up = Transform.place(None, (0.0, 0.0, 0.1))
    shapes = [
        (
            Shape("visual", Box((0.1, 0.1, 0.2)), up, rgba=(1.0, 0.0, 0.0, 0.5)),
            Shape("collision", Sphere(1.0)),
        ),
        (Shape("visual", Capsule(0.02, 0.2), up),),
        (Shape("collision", Cylinder(0.02, 0.2), up),),
        (Shape("visual", Mesh("none.stl"), up), Shape("visual", Sphere(0.05), up)),
        (Shape("visual", Mesh("../none.stl"), up),),
    ]
    bodies = [replace(b, name=f"{b.name}/<b>", shapes=s) for b, s in zip(plain.bodies, shapes, strict=True)]
    names = {b.name: f"{b.name}/<b>" for b in plain.bodies}
    joints = [replace(j, child=names[j.child], parent=names.get(j.parent)) for j in plain.joints]
    return make_robot("shaped", bodies, joints)


def bare(robot: hinge.Robot) -> hinge.Robot:
    """Return the robot without shapes."""
    bodies = [replace(b, shapes=()) for b in robot.bodies]
    return make_robot(robot.name, bodies, robot.joints, frames=robot.frames, gravity=robot.gravity)


def test_what_a_body_without_shapes_looks_like():
    """Links from joint to joint that are slender, drums along the axes of joints."""
    robot = bare(hinge.robots.puma560())
    look = appearance(robot, hinge.neutral(robot))
    assert {p.layer for p in look.pieces} == {"stick", "inertia"}
    assert look.messages == ()
    assert 0.5 < look.size < 3.0
    solids = [p.solid for p in look.pieces if p.layer == "stick"]
    assert sum(isinstance(s, Cylinder) for s in solids) == robot.nv
    for solid in solids:
        assert 0.005 * look.size < solid.radius < 0.03 * look.size


def test_ellipsoids_are_no_longer_than_their_bodies():
    """The identified moments of the first link are those of a body of more than a metre."""
    for robot in (hinge.robots.panda(), bare(hinge.robots.panda()), hinge.robots.quadruped()):
        look = appearance(robot, hinge.neutral(robot))
        long = [2 * p.solid.axes.max() for p in look.pieces if p.layer == "inertia"]
        assert len(long) >= 7 and max(long) < 0.6 * look.size
    assert 2 * ellipsoid(robots_link1()).axes.max() > 1.0


def robots_link1() -> hinge.Body:
    return hinge.robots.panda().bodies[1]


def test_shapes_are_drawn_and_missing_meshes_replaced(tmp_path):
    robot = shaped()
    look = appearance(robot, hinge.neutral(robot), tmp_path)
    kinds = [
        [type(p.solid).__name__ for p in look.pieces if p.body == i and p.layer == "shape"] for i in range(5)
    ]
    assert kinds == [["Box"], ["Capsule"], ["Cylinder"], ["Sphere"], []]
    for i in (3, 4):  # what is lost is shown by a link
        assert "stick" in {p.layer for p in look.pieces if p.body == i}
    assert [m.split(":")[0] for m in look.messages] == ["mesh 'none.stl'", "mesh '../none.stl'"]
    assert look.messages[1].endswith("(body 'link5/<b>')")
    red = look.pieces[0]
    assert red.rgb == (1.0, 0.0, 0.0) and red.opacity == 0.5


def test_ellipsoids_have_the_inertia_of_their_bodies():
    body = hinge.Body("box", hinge.Inertia.from_com(3.0, (0.1, 0.2, 0.3), np.diag([0.5, 0.4, 0.3])))
    found = ellipsoid(body)
    a, b, c = found.axes**2
    moments = np.diag(3.0 / 5 * np.array([b + c, a + c, a + b]))
    turn = found.placement.rotation
    np.testing.assert_allclose(turn @ moments @ turn.T, body.inertia.central, atol=1e-12)
    np.testing.assert_allclose(found.placement.position, body.inertia.com)
    assert np.linalg.det(turn) == pytest.approx(1)
    assert ellipsoid(hinge.Body("none")) is None


@pytest.mark.parametrize("name", ["puma560", "spacecraft"])
def test_sliders_move_the_robot(name, capsys):
    robot = getattr(hinge.robots, name)()
    with show(robot, wait=False, port=0) as viewer:
        assert misplacement(viewer.puppet.nodes, robot, hinge.neutral(robot)) < 1e-12
        rng = np.random.default_rng(3)
        for s, handle in viewer.sliders:
            handle.value = float(rng.uniform(s.low, s.high))
        assert np.abs(hinge.difference(robot, hinge.neutral(robot), viewer.q)).min() > 0
        assert misplacement(viewer.puppet.nodes, robot, viewer.q) < 1e-12
        target = hinge.random_configuration(robot, 4)
        viewer.move(target)
        assert misplacement(viewer.puppet.nodes, robot, target) < 1e-9
        assert viewer.url in capsys.readouterr().out


def test_switches_show_frames_names_inertias_and_forces():
    robot = hinge.robots.puma560()
    with show(robot, np.full(6, 0.3), wait=False, port=0) as viewer:
        options, puppet = viewer.options, viewer.puppet
        assert not any(node.show_axes for node in puppet.nodes)
        options.frame_switch.value = True
        assert all(node.show_axes for node in (*puppet.nodes, *puppet.frames))
        options.name_switch.value = True
        assert [x.text for x in puppet.names] == [*robot.body_names, *(f.name for f in robot.frames)]
        assert all(x.visible for x in puppet.names)
        assert not any(x.visible for x in puppet.layers["inertia"])
        options.inertia_switch.value = True
        assert all(x.visible for x in puppet.layers["inertia"])
        options.weight_switch.value = True
        ends = options.weights.handle.points
        assert (ends[:, 1, 2] < ends[:, 0, 2]).all()
        options.effort_switch.value = True
        assert len(options.moments.handle.points) and options.pushes.handle is None
        options.effort_switch.value = False
        assert not options.moments.handle.visible and options.weights.handle.visible


def test_names_of_files_are_text_and_nothing_else(tmp_path, capsys):
    robot = shaped()
    with show(robot, wait=False, port=0, folder=tmp_path) as viewer:
        assert [node.name.count("/") for node in viewer.puppet.nodes] == [2] * 5
        assert "&lt;b&gt;" in viewer.note.content and "<b>" not in viewer.note.content
    assert "../none.stl" in capsys.readouterr().out


def test_a_run_is_played_from_poses_made_once(monkeypatch):
    run = short_run("puma560", control=1.0)
    with play(run, wait=False, port=0) as viewer:
        monkeypatch.setattr("hinge.view.poses.forward_kinematics", None)  # it is not asked again
        for k in (0, 4, 10):
            viewer.seek(float(run.t[k]))
            assert misplacement(viewer.puppets[0].nodes, run.robot, run.q[k]) < 1e-12
            assert viewer.timeline.value == pytest.approx(run.t[k])
        viewer.timeline.value = float(run.t[7])  # as from the page
        assert misplacement(viewer.puppets[0].nodes, run.robot, run.q[7]) < 1e-12
        viewer.options.effort_switch.value = True
        arrows = viewer.options.moments.handle.points
        assert np.linalg.norm(arrows[:, 1] - arrows[:, 0], axis=-1).max() <= 0.25 * viewer.size * 1.001


def test_time_goes_on_while_it_plays():
    run = short_run("double_pendulum")
    with play(run, wait=False, port=0) as viewer:
        viewer.speed.value = "0.1×"  # as from the page
        assert viewer.clock.speed == 0.1 and viewer.speed.label == "speed 0.1×"
        viewer.play()
        assert viewer.play_button.label == "Pause"
        end = time.monotonic() + 10
        while viewer.clock.t == 0 and time.monotonic() < end:
            time.sleep(0.02)
        viewer.pause()
        assert 0 < viewer.clock.t <= 0.2 and viewer.play_button.label == "Play"
        k = viewer.clock.frame
        viewer.refresh()
        assert misplacement(viewer.puppets[0].nodes, run.robot, run.q[k]) < 1e-12
    assert not viewer.running and not viewer._thread.is_alive()


def test_a_batch_is_one_robot_and_ghosts():
    run = short_run("double_pendulum", (3, 4))
    with play(run, wait=False, port=0) as viewer:
        assert len(viewer.puppets) == 9 and "9 of 12 runs" in viewer.messages[0]
    with play(run, runs=[(2, 1), 0, 5], wait=False, port=0) as viewer:
        viewer.seek(0.1)
        for puppet, place in zip(viewer.puppets, [(2, 1), (0, 0), (1, 1)], strict=True):
            assert misplacement(puppet.nodes, run.robot, run.q[place][5]) < 1e-12
        opaque = [x.opacity for x in viewer.puppets[0].layers["shape"]]
        pale = [x.opacity for x in viewer.puppets[1].layers["shape"]]
        assert set(opaque) == {None} and set(pale) == {0.3}


def test_the_path_of_a_frame_is_traced():
    run = short_run("double_pendulum", (3,))
    with play(run, wait=False, port=0, trace=["tip", "upper"]) as viewer:
        path = hinge.forward_kinematics(run.robot, run.q[0], "tip").position
        handle = viewer.traces.handles[0]
        np.testing.assert_allclose(handle.points[:, 0], path[:-1], atol=1e-6)
        np.testing.assert_allclose(handle.points[:, 1], path[1:], atol=1e-6)
        assert len(viewer.traces.handles) == 3  # "upper" has its frame in the pivot, and does not move
        viewer.traces.switch.value = False
        assert not any(x.visible for x in viewer.traces.handles)
    with pytest.raises(UnknownNameError, match="no frame 'tipp'"):
        play(run, wait=False, port=0, trace="tipp")
    with pytest.raises(ArgumentError, match="trace: expected names"):
        play(run, wait=False, port=0, trace=[3])


def test_a_run_that_ended_stays_where_it_was():
    run = short_run("double_pendulum", (2,))
    q, qd = run.q.copy(), run.qd.copy()
    q[1, 5:], qd[1, 5:] = np.nan, np.nan
    hit = Hit("touch", (0,), 0.05, q[0, 2], qd[0, 2])
    endings = (Ending((1,), 0.1, "it is <not> finite"),)
    ended = replace(run, q=q, qd=qd, endings=endings, events=(hit,))
    with play(ended, wait=False, port=0) as viewer:
        viewer.seek(0.2)
        assert misplacement(viewer.puppets[1].nodes, run.robot, q[1, 4]) < 1e-12
        assert viewer.messages == [
            "run 0 touch at t = 0.05 s",
            "run 1 ended at t = 0.1 s: it is <not> finite",
        ]


def test_the_address_is_local_and_a_taken_port_is_left(capsys):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with show(hinge.robots.double_pendulum(), wait=False, port=port) as viewer:
            assert viewer.port != port and viewer.url == f"http://127.0.0.1:{viewer.port}"
            assert f"port {port} is taken; this is port {viewer.port}" in viewer.messages
            assert f"port {port} is taken" in capsys.readouterr().out
            with contextlib.closing(socket.create_connection(("127.0.0.1", viewer.port), timeout=5)):
                pass
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", viewer.port), timeout=5)
        viewer.stop()


def test_nobody_opens_a_tunnel():
    with show(hinge.robots.double_pendulum(), wait=False, port=0) as viewer:
        assert viewer.viser.request_share_url() is None


SCRIPT = """
import hinge
hinge.view.show(hinge.robots.double_pendulum(), port=0)
print("ended")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
def test_ctrl_c_ends_it_cleanly():
    done = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen_to_ctrl_c,  # noqa: PLW1509 (takes no lock)
    )
    assert re.match(r"Viewer at http://127\.0\.0\.1:\d+ ", done.stdout.readline())
    done.send_signal(signal.SIGINT)
    out, err = done.communicate(timeout=60)
    assert (done.returncode, out, err) == (0, "ended\n", "")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: show("robot.urdf"), "robot: expected a Robot, got str"),
        (
            lambda: show(hinge.robots.puma560(), np.zeros((2, 6))),
            r"q: expected one finite configuration \(6,\), got shape \(2, 6\)",
        ),
        (lambda: show(hinge.robots.puma560(), np.full(6, np.nan)), "finite"),
        (
            lambda: show(hinge.robots.puma560(), port=70000),
            "port: expected a number from 1 to 65535, .*, got 70000",
        ),
        (
            lambda: show(hinge.robots.puma560(), host="no.such.host.invalid"),
            "host: expected an address of this machine",
        ),
        (lambda: show(hinge.robots.puma560(), host="192.0.2.1"), "host: expected an address of this machine"),
        (lambda: show(hinge.robots.puma560(), folder="/no/such/folder"), "folder: "),
        (lambda: play(hinge.robots.puma560()), "run: expected a Run, got Robot"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_any_port_will_do():
    assert 0 < free_port("127.0.0.1", 0) < 65536


def test_without_viser_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hinge\[view\]"'):
        show(hinge.robots.double_pendulum(), wait=False)
