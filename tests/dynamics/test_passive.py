"""Springs, dampers and friction of joints, beside the formula in NumPy and MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.algebra import tau_j
from hinge.binding import bind
from hinge.dynamics import expression
from hinge.errors import ArgumentError
from hinge.io import load
from hinge.model import Builder, Joint, joints, make_robot, mujoco_map
from hinge.model.joints import Revolute, Spherical, VectorJoint
from hinge.robots import random_tree
from hinge.targets import system_of
from hinge.testing import random_state
from tests.dynamics.passives import passive_force, sprung, with_physics

ROBOTS = [
    sprung(),
    with_physics(random_tree(9, 4), sparse=True),
    with_physics(robots.panda()),
    with_physics(robots.spacecraft(), sparse=True),
]
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


def test_every_joint_type_is_there():
    kinds = {j.type.kind for r in ROBOTS for j in r.joints}
    assert kinds >= {"revolute", "continuous", "prismatic", "screw", "cylindrical", "planar", "spherical"}
    assert kinds >= {"spherical_angles", "universal", "translational", "free", "fixed"}


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda r: f"{r.name}{len(r.bodies)}")
@pytest.mark.parametrize("target", ["numpy", "llvm"])
@pytest.mark.parametrize("batch", [(), (5,), (3, 4), (0,)], ids=str)
def test_the_force_is_the_formula(robot, target, batch):
    s = random_state(robot, 1, batch)
    wanted = passive_force(robot, s.q, s.qd)
    found = hinge.compile("passive_force", robot, target=target)(s.q, s.qd)
    assert found.shape == wanted.shape and np.allclose(found, wanted, **CLOSE)


@pytest.mark.parametrize("robot", ROBOTS[1:3], ids=lambda r: r.name)
def test_verbs_with_the_force_are_those_without_it_beside_it(robot):
    s = random_state(robot, 2, 5)
    own = passive_force(robot, s.q, s.qd)
    assert np.allclose(hinge.passive_force(robot, s.q, s.qd), own, **CLOSE)
    tau = hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd)
    assert np.allclose(hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd, passive=True), tau - own, **CLOSE)
    assert np.array_equal(hinge.inverse_dynamics(robot, s.q, s.qd, s.qdd, passive=False), tau)
    qdd = hinge.forward_dynamics(robot, s.q, s.qd, s.tau + own)
    close = {"rtol": 1e-8, "atol": 1e-8}
    assert np.allclose(hinge.forward_dynamics(robot, s.q, s.qd, s.tau, passive=True), qdd, **close)
    bias = hinge.bias_force(robot, s.q, s.qd)
    assert np.allclose(hinge.bias_force(robot, s.q, s.qd, passive=True), bias - own, **CLOSE)
    pushed = {"gravity": np.array([1.0, 2.0, 3.0]), "external": {robot.bodies[-1].name: np.arange(6.0)}}
    wanted = hinge.forward_dynamics(robot, s.q, s.qd, s.tau + own, **pushed)
    found = hinge.forward_dynamics(robot, s.q, s.qd, s.tau, **pushed, passive=True)
    assert np.allclose(found, wanted, **close)


@pytest.mark.parametrize("robot", ROBOTS[2:3], ids=lambda r: r.name)
def test_hybrid_dynamics_has_the_force_on_both_sides(robot):
    s = random_state(robot, 3, 4)
    own = passive_force(robot, s.q, s.qd)
    names = [j.name for j in robot.joints[2:4]]
    masks = np.zeros((2, robot.nv), bool)
    masks[0, robot.joints[2].qd_slice] = masks[0, robot.joints[3].qd_slice] = True
    masks[1, ::2] = True
    for prescribed, held in ((names, masks[0]), (masks[1], masks[1])):
        more = {"qdd": s.qdd, "prescribed": prescribed}
        qdd, tau = hinge.hybrid_dynamics(robot, s.q, s.qd, tau=s.tau, passive=True, **more)
        wanted = hinge.hybrid_dynamics(robot, s.q, s.qd, tau=s.tau + own, **more)
        assert np.allclose(qdd, wanted[0], rtol=1e-8, atol=1e-8)
        assert np.allclose(tau, np.where(held, wanted[1] - own, s.tau), rtol=1e-8, atol=1e-8)


def test_matrices_have_the_same_force():
    robot = ROBOTS[0]
    s = random_state(robot, 4)
    system = system_of(bind(robot), {"q": s.q, "qd": s.qd})
    assert np.allclose(system.evaluate(tau_j), passive_force(robot, s.q, s.qd), **CLOSE)


def test_joints_without_physics_cost_nothing():
    robot = robots.panda()
    counts = [
        hinge.compile(expression("forward_dynamics", passive=own), robot).code.operations().total
        for own in (False, True)
    ]
    assert counts[0] == counts[1]
    assert hinge.compile("passive_force", robot).code.operations().total == 0
    s = random_state(robot, 5, 3)
    assert not hinge.passive_force(robot, s.q, s.qd).any()
    damped = replace(robot, joints=tuple(replace(j, damping=0.1) for j in robot.joints))
    assert hinge.compile("passive_force", damped).code.operations().total == damped.nv
    code = hinge.compile("forward_dynamics", damped).code
    assert code.operations().total == counts[0]


def test_friction_is_smooth_and_reaches_coulombs():
    b = Builder("slider")
    b.body(
        "box",
        joint=joints.Prismatic((1, 0, 0)),
        inertia=robots.random_inertia(np.random.default_rng(0)),
        friction=3.0,
    )
    robot = b.build()
    assert robot.joints[0].friction_speed == [1e-3]
    speeds = np.array([[0.0], [1e-3], [1.0], [-1.0]])
    found = hinge.passive_force(robot, np.zeros((4, 1)), speeds)[:, 0]
    assert np.allclose(found, [0.0, -3.0 / np.sqrt(2), -3.0, 3.0], rtol=1e-6, atol=0)


MODEL = """<mujoco><option gravity="0 0 -9.81"><flag eulerdamp="disable" contact="disable"/></option>
<worldbody><body pos="0.1 0 0.2"><joint name="a" type="hinge" axis="0 1 1" damping="0.7" stiffness="3"
 springref="20" armature="0.02"/><geom size=".1" pos=".2 .1 0"/>
<body pos="0 0.3 0.1"><joint name="b" type="slide" axis="1 0 1" damping="0.3" stiffness="11" springref="0.4"/>
<geom type="box" size=".1 .2 .3"/>
<body pos="0 0 0.4"><joint name="c" type="ball" damping="0.2" stiffness="1.5"/>
<geom type="capsule" size=".05 .2" pos="0 .1 .1"/></body></body></body></worldbody></mujoco>"""


def test_mujoco_has_the_same_springs_and_dampers(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(MODEL)
    robot, model = load(path), mujoco.MjModel.from_xml_path(str(path))
    peer = mujoco_map(robot, model)
    s, data = random_state(robot, 7, 20), mujoco.MjData(model)
    own, qdd = (
        hinge.passive_force(robot, s.q, s.qd),
        hinge.forward_dynamics(robot, s.q, s.qd, s.tau, passive=True),
    )
    for k in range(20):
        data.qpos[:], data.qvel[:] = peer.to_q(s.q[k]), peer.to_qd(s.q[k], s.qd[k])
        data.qfrc_applied[:] = s.tau[k]
        mujoco.mj_forward(model, data)
        assert np.allclose(own[k], data.qfrc_passive, rtol=1e-10, atol=1e-10)
        assert np.allclose(qdd[k], data.qacc, rtol=1e-9, atol=1e-9)


def test_springs_have_energy():
    chosen = [
        "revolute",
        "prismatic",
        "screw",
        "cylindrical",
        "universal",
        "spherical_angles",
        "translational",
    ]
    robot = with_physics(random_tree(8, 3, chosen))
    calm = replace(robot, joints=tuple(replace(j, damping=0.0, friction=0.0) for j in robot.joints))
    s = random_state(calm, 8, 4)
    h = 1e-6
    ends = [hinge.elastic_energy(calm, hinge.integrate(calm, s.q, d * s.qd)) for d in (h, -h)]
    power = (hinge.passive_force(calm, s.q, s.qd) * s.qd).sum(-1)
    assert np.allclose((ends[0] - ends[1]) / (2 * h), -power, rtol=1e-6, atol=1e-7)
    ball = make_robot(
        "ball", calm.bodies[:1], [Joint("j", Spherical(), None, calm.bodies[0].name, stiffness=2.0)]
    )
    s = random_state(ball, 9, 4)
    ends = [hinge.elastic_energy(ball, hinge.integrate(ball, s.q, d * s.qd)) for d in (h, -h)]
    power = (hinge.passive_force(ball, s.q, s.qd) * s.qd).sum(-1)
    assert np.allclose((ends[0] - ends[1]) / (2 * h), -power, rtol=1e-6, atol=1e-7)
    odd = replace(ball, joints=(replace(ball.joints[0], stiffness=(1.0, 2.0, 3.0)),))
    with pytest.raises(
        ArgumentError, match=r"robot: expected springs .*, got .* on joint 'j' .*, which have no energy"
    ):
        hinge.elastic_energy(odd, s.q)


def test_a_type_of_ones_own_says_that_its_springs_do_not_compile():
    @dataclass(frozen=True)
    class Other(Revolute):
        kind = "other"

    assert issubclass(Other, VectorJoint)
    body = ROBOTS[0].bodies[0]
    own = make_robot("own", [body], [Joint("j", Other(), None, body.name, stiffness=1.0)])
    assert np.allclose(hinge.passive_force(own, [0.3], [0.0]), [-0.3])

    class Strange(joints.JointType):
        kind, q_names, qd_names = "strange", ("a",), ("a",)
        placement, subspace, rate = Revolute().placement, Revolute().subspace, Revolute().rate
        neutral, integrate, difference = Revolute().neutral, Revolute().integrate, Revolute().difference
        random, limits, reversed = Revolute().random, Revolute().limits, Revolute().reversed

    robot = make_robot("own", [body], [Joint("j", Strange(), None, body.name, stiffness=1.0)])
    with pytest.raises(NotImplementedError, match="stiffness: not supported for strange joints"):
        hinge.passive_force(robot, [0.3], [0.0])
    soft = make_robot("own", [body], [Joint("j", Strange(), None, body.name, damping=1.0)])
    assert np.allclose(hinge.passive_force(soft, [0.3], [2.0]), [-2.0])


def test_passive_is_a_bool():
    s = random_state(ROBOTS[2], 1)
    with pytest.raises(ArgumentError, match="passive: expected True or False, got 'yes'"):
        hinge.bias_force(ROBOTS[2], s.q, s.qd, passive="yes")


def test_gears_multiply_rotors():
    robot = with_physics(random_tree(6, 2))
    bare = replace(robot, joints=tuple(replace(j, rotor_inertia=0.0) for j in robot.joints))
    q = hinge.random_configuration(robot, 1)
    added = np.concatenate([j.gear_ratio**2 * j.rotor_inertia for j in robot.joints])
    assert np.array_equal(robot.reflected_inertia, added) and added.any()
    assert np.allclose(hinge.mass_matrix(robot, q) - hinge.mass_matrix(bare, q), np.diag(added), **CLOSE)
