"""States, forces and matrices go to a peer and come back; the two agree on dynamics through the map."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.model import PeerMap, joints
from hinge.spatial import transpose
from hinge.testing import random_state

pin = pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for this platform")
mujoco = pytest.importorskip("mujoco", reason="MuJoCo has no wheel for this platform")


def _close(a, b):
    return np.allclose(a, b, rtol=1e-10, atol=1e-10 * max(1.0, float(np.abs(b).max(initial=0.0))))


def _joint(kind, name, child, parent, more=""):
    return (
        f'<link name="{child}"><inertial><origin xyz=".1 .2 .05" rpy=".1 .2 .3"/><mass value="1.5"/>'
        '<inertia ixx=".3" ixy=".01" ixz=".02" iyy=".4" iyz=".03" izz=".5"/></inertial></link>'
        f'<joint name="{name}" type="{kind}"><origin xyz=".3 .1 .2" rpy=".4 .5 .6"/>'
        f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/>{more}</joint>'
    )


LIMIT = '<limit lower="-2" upper="2" effort="9" velocity="9"/>'
LINK = (
    '<link name="base"><inertial><mass value="3"/>'
    '<inertia ixx=".5" ixy="0" ixz="0" iyy=".6" iyz="0" izz=".7"/></inertial></link>'
)
MIMIC = '<mimic joint="turn" multiplier="-0.5" offset="0.1"/>'
ARM = (
    f'<robot name="arm">{LINK}{_joint("continuous", "spin", "a", "base")}'
    f"{_joint('revolute', 'turn', 'b', 'a', LIMIT)}{_joint('prismatic', 'slide', 'c', 'b', LIMIT)}"
    f"{_joint('planar', 'table', 'd', 'a')}{_joint('fixed', 'bolt', 'e', 'd')}"
    f"{_joint('continuous', 'wheel', 'tip', 'e')}</robot>"
)
COUPLED = (
    f'<robot name="coupled">{LINK}{_joint("revolute", "turn", "a", "base", LIMIT)}'
    f"{_joint('revolute', 'other', 'tip', 'a', LIMIT + MIMIC)}</robot>"
)


def _pinocchio(path, text, *, floating=False, mimic=False):
    path.write_text(text)
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    model = pin.buildModelFromUrdf(str(path), *root, mimic=mimic)
    return hinge.load(path, floating=floating, strict=None), model


def _both_ways(peer: PeerMap, s):
    """Check that what goes to the peer comes back, for one state, a batch, and a batch of two dimensions."""
    robot, mass, j = peer.robot, hinge.mass_matrix(peer.robot, s.q), hinge.jacobian(peer.robot, s.q, "tip")
    for at in (0, slice(None), np.arange(6).reshape(2, 3)):
        q, qd, qdd, tau = s.q[at], s.qd[at], s.qdd[at], s.tau[at]
        assert peer.to_q(q).shape == (*q.shape[:-1], peer.nq)
        assert _close(hinge.difference(robot, q, peer.from_q(peer.to_q(q))), 0.0 * qd)
        assert _close(peer.from_qd(q, peer.to_qd(q, qd)), qd)
        assert _close(peer.from_qdd(q, qd, peer.to_qdd(q, qd, qdd)), qdd)
        assert _close(peer.from_tau(q, peer.to_tau(q, tau)), tau)
        assert _close(peer.from_mass_matrix(q, peer.to_mass_matrix(q, mass[at])), mass[at])
        assert _close(peer.from_jacobian(q, peer.to_jacobian(q, j[at])), j[at])
    t = peer.velocity_matrix(s.q)
    assert _close(t @ transpose(t), np.broadcast_to(np.eye(peer.nv), t.shape))


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
def test_pinocchio_both_ways(tmp_path, floating):
    robot, model = _pinocchio(tmp_path / "arm.urdf", ARM, floating=floating)
    peer, s, data = hinge.pinocchio_map(robot, model), random_state(robot, 3, 6), model.createData()
    _both_ways(peer, s)
    tau, mass = hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd), hinge.mass_matrix(robot, s.q)
    jacobian, frame = hinge.jacobian(robot, s.q, "tip"), model.getFrameId("tip")
    q, v, a = peer.to_q(s.q), peer.to_qd(s.q, s.qd), peer.to_qdd(s.q, s.qd, s.qdd)
    forces = np.array([pin.rnea(model, data, *x) for x in zip(q, v, a, strict=True)])
    upper = np.triu(np.array([pin.crba(model, data, x).copy() for x in q]))
    full = upper + transpose(np.triu(upper, 1))
    theirs = np.array(
        [pin.computeFrameJacobian(model, data, x, frame, pin.ReferenceFrame.LOCAL).copy() for x in q]
    )
    assert _close(peer.from_tau(s.q, forces), tau) and _close(peer.to_tau(s.q, tau), forces)
    assert _close(peer.from_mass_matrix(s.q, upper), mass) and _close(peer.to_mass_matrix(s.q, mass), full)
    assert _close(peer.from_jacobian(s.q, theirs), jacobian)
    assert _close(peer.to_jacobian(s.q, jacobian), theirs)
    assert _close(peer.to_jacobian(s.q, jacobian[:, 3:]), theirs[:, :3])
    back = np.array([pin.aba(model, data, *x) for x in zip(q, v, peer.to_tau(s.q, s.tau), strict=True)])
    assert _close(peer.from_qdd(s.q, s.qd, back), hinge.forward_dynamics(robot, s.q, s.qd, s.tau))
    x = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    assert _close(peer.to_q(peer.from_q(x)), x)


def test_pinocchio_has_spherical_joints_and_plain_angles():
    model, b, last = pin.Model(), hinge.Builder("r"), None
    inertia, body = hinge.Inertia.from_com(1.0, [0.1, 0, 0], np.diag([1, 2, 2.5])), pin.Inertia.Random()
    kinds = [
        ("ball", joints.Spherical(), pin.JointModelSpherical()),
        ("c", joints.Continuous(), pin.JointModelRZ()),
    ]
    kinds.append(("u", joints.Revolute(), pin.JointModelRUBZ()))
    number = 0
    for name, ours, theirs in kinds:
        last = b.body(f"{name}_body", joint=ours, parent=last, inertia=inertia, joint_name=name)
        number = model.addJoint(number, theirs, pin.SE3.Identity(), name)
        model.appendBodyToJoint(number, body, pin.SE3.Identity())
    peer = hinge.pinocchio_map(b.build(), model)
    q = hinge.random_configuration(peer.robot, 1, 4)
    x = peer.to_q(q)
    assert np.array_equal(x[:, :4], q[:, [1, 2, 3, 0]]) and np.array_equal(x[:, 4], q[:, 4])
    assert np.allclose(x[:, 5:], np.stack([np.cos(q[:, 5]), np.sin(q[:, 5])], -1))
    assert np.allclose(peer.from_q(x), q)


MJCF = """<mujoco model="m"><option gravity="0 0 -9.81"/><worldbody><body name="base" pos="0 0 1">
<freejoint{name}/><geom size=".1" mass="2"/>
<body name="a" pos=".1 .2 .3"><joint name="turn" axis="0 1 1" pos=".01 .02 0"/>
<joint name="slide" type="slide"/><geom size=".1" mass="1" pos=".1 0 0"/>
<body name="tip" pos="0 .1 .2"><joint name="ball" type="ball" pos="0 .05 0"/>
<geom type="box" size=".1 .2 .3" mass="1.5" pos="0 .1 .1"/></body></body></body></worldbody></mujoco>"""


def _mujoco(path, text):
    path.write_text(text)
    return hinge.load(path, strict=None), mujoco.MjModel.from_xml_path(str(path))


@pytest.mark.parametrize("name", ["", ' name="floating"'], ids=["unnamed", "named"])
def test_mujoco_both_ways(tmp_path, name):
    robot, model = _mujoco(tmp_path / "m.xml", MJCF.format(name=name))
    peer, s, data = hinge.mujoco_map(robot, model), random_state(robot, 3, 6), mujoco.MjData(model)
    _both_ways(peer, s)
    tau, mass = hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd), hinge.mass_matrix(robot, s.q)
    jacobian = hinge.jacobian(robot, s.q, "tip", expressed="world-aligned")
    to_tau, to_mass, to_jacobian = (
        peer.to_tau(s.q, tau),
        peer.to_mass_matrix(s.q, mass),
        peer.to_jacobian(s.q, jacobian),
    )
    for k in range(6):
        data.qpos[:], data.qvel[:] = peer.to_q(s.q[k]), peer.to_qd(s.q[k], s.qd[k])
        data.qacc[:] = peer.to_qdd(s.q[k], s.qd[k], s.qdd[k])
        mujoco.mj_inverse(model, data)
        assert _close(peer.from_tau(s.q[k], data.qfrc_inverse), tau[k]) and _close(
            to_tau[k], data.qfrc_inverse
        )
        data.qfrc_applied[:] = to_tau[k]
        mujoco.mj_forward(model, data)
        assert _close(peer.from_qdd(s.q[k], s.qd[k], data.qacc), s.qdd[k])
        theirs = np.zeros((model.nv, model.nv))
        for row, unit in zip(theirs, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, row, unit)
        assert _close(peer.from_mass_matrix(s.q[k], theirs), mass[k]) and _close(to_mass[k], theirs)
        linear, angular = np.zeros((2, 3, model.nv))
        mujoco.mj_jacBody(model, data, linear, angular, model.body("tip").id)
        found = np.concatenate([angular, linear])
        assert _close(peer.from_jacobian(s.q[k], found), jacobian[k]) and _close(to_jacobian[k], found)


def test_a_free_joint_of_another_name_is_found(tmp_path):
    _, model = _mujoco(tmp_path / "m.xml", MJCF.format(name=""))
    robot, _ = _mujoco(tmp_path / "n.xml", MJCF.format(name=' name="other"'))
    assert hinge.mujoco_map(robot, model).nv == robot.nv


def test_followers_must_be_the_same_in_both(tmp_path):
    robot, model = _pinocchio(tmp_path / "c.urdf", COUPLED)
    assert hinge.pinocchio_map(robot, model).nv == 2
    embedded = hinge.embed_couplings(robot)
    with pytest.raises(ArgumentError, match=r"got 'other' besides; .* followers in the robot: use release_c"):
        hinge.pinocchio_map(embedded, model)
    _, model = _pinocchio(tmp_path / "c.urdf", COUPLED, mimic=True)
    with pytest.raises(
        ArgumentError, match=r"got none called 'other'; .* Pinocchio model: use embed_couplings"
    ):
        hinge.pinocchio_map(robot, model)
    peer, s = hinge.pinocchio_map(embedded, model), random_state(embedded, 1, 6)
    assert peer.nv == 1
    _both_ways(peer, s)
    data = model.createData()
    forces = np.array([pin.rnea(model, data, *x) for x in zip(peer.to_q(s.q), s.qd, s.qdd, strict=True)])
    assert _close(peer.from_tau(s.q, forces), hinge.inverse_dynamics(embedded, s.q, s.qd, s.qdd))


def test_joints_that_do_not_match_are_named(tmp_path):
    robot, model = _pinocchio(tmp_path / "arm.urdf", ARM)
    words = (
        r"robot 'panda', got none called 'joint1', .* and 1 more and 'spin', .* besides; load both from one"
    )
    with pytest.raises(ArgumentError, match=f"model: expected the moving joints of {words}"):
        hinge.pinocchio_map(hinge.robots.panda(), model)
    _, floating = _pinocchio(tmp_path / "arm.urdf", ARM, floating=True)
    with pytest.raises(ArgumentError, match=r"got 'root_joint' besides"):
        hinge.pinocchio_map(robot, floating)
    other = ARM.replace('name="slide" type="prismatic"', 'name="slide" type="planar"')
    with pytest.raises(
        ArgumentError, match=r"expected the prismatic joint that robot 'arm' has as 'slide', got 4 and 3"
    ):
        hinge.pinocchio_map(robot, _pinocchio(tmp_path / "other.urdf", other)[1])


def test_what_is_no_model_is_named(tmp_path):
    robot, model = _pinocchio(tmp_path / "arm.urdf", ARM)
    with pytest.raises(ArgumentError, match=r"model: expected a mujoco.MjModel, got Model"):
        hinge.mujoco_map(robot, model)
    with pytest.raises(ArgumentError, match=r"model: expected a pinocchio.Model, got str"):
        hinge.pinocchio_map(robot, "arm.urdf")
    wrapper = pin.RobotWrapper(model)
    with pytest.raises(
        ArgumentError, match=r"model: expected a pinocchio.Model, got RobotWrapper; pass its .model"
    ):
        hinge.pinocchio_map(robot, wrapper)
    _, model = _mujoco(tmp_path / "m.xml", MJCF.format(name=""))
    with pytest.raises(ArgumentError, match=r"model: expected a mujoco.MjModel, got MjData; pass its .model"):
        hinge.mujoco_map(robot, mujoco.MjData(model))
    with pytest.raises(ArgumentError, match=r"robot: expected a Robot, got str"):
        hinge.mujoco_map("panda", model)


def test_arrays_of_a_wrong_shape_are_named(tmp_path):
    robot, model = _pinocchio(tmp_path / "arm.urdf", ARM)
    peer, q = hinge.pinocchio_map(robot, model), hinge.neutral(robot)
    nq, nv = model.nq, model.nv
    for call, words in (
        (lambda: peer.from_q(q), rf"q_peer: expected shape \(…, {nq}\), .* nq = {nq} of the Pinocchio model"),
        (lambda: peer.from_qd(q, q[:1]), rf"qd_peer: expected shape \(…, {nv}\)"),
        (
            lambda: peer.from_mass_matrix(q, np.zeros((1, nv))),
            rf"mass_peer: expected shape \(…, {nv}, {nv}\)",
        ),
        (lambda: peer.to_jacobian(q, np.zeros(nv)), rf"jacobian: expected shape \(…, n, {nv}\)"),
    ):
        with pytest.raises(ArgumentError, match=words):
            call()


def test_neither_peer_is_imported():
    text = (
        "import hinge, sys\nfrom hinge.errors import ArgumentError\n"
        "for f in (hinge.pinocchio_map, hinge.mujoco_map):\n"
        "    try:\n        f(hinge.robots.panda(), 3)\n    except ArgumentError:\n        pass\n"
        "assert not {'pinocchio', 'mujoco'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", text], check=True)
