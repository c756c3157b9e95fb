from __future__ import annotations

import pytest

pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for this platform")

from tests.oracles.data import example_urdfs
from tests.oracles.pinocchio import compare
from tests.tiers import daily

#: Every file, fixed and floating; every day each second one, on both bases in turn.
FILES = [(path, floating) for path in example_urdfs() for floating in (False, True)]


def _label(x):
    if isinstance(x, bool):
        return "floating" if x else "fixed"
    return f"{x.parent.parent.name}/{x.name}"


@pytest.mark.parametrize(("path", "floating"), daily(FILES, lambda k, case: k % 4 == k // 4 % 2), ids=_label)
def test_dynamics_agrees_with_pinocchio(path, floating):
    row = compare(path, floating=floating, states=4)
    if path.name == "ur3.urdf":
        assert "expected at least one <link>" in row.refused
    else:
        assert row.passed, row


def test_the_robots_are_there():
    assert len(example_urdfs()) >= 60


def _pinocchio_chain(kinds):
    """Return a chain of these joints in Hinge and in Pinocchio, and the map between them."""
    import numpy as np
    import pinocchio as pin

    from hinge.model import Builder, joints, pinocchio_map
    from hinge.robots import random_inertia
    from hinge.spatial import rotation

    made = {
        "planar": pin.JointModelPlanar,
        "spherical": pin.JointModelSpherical,
        "free": pin.JointModelFreeFlyer,
        "continuous": pin.JointModelRUBZ,
        "revolute": pin.JointModelRZ,
        "prismatic": pin.JointModelPZ,
        "translational": pin.JointModelTranslation,
    }
    rng, b, model, last = np.random.default_rng(1), Builder("chain"), pin.Model(), 0
    parent = None
    for k, kind in enumerate(kinds):
        inertia, place = random_inertia(rng), rng.uniform(-1, 1, 3)
        turn = rotation.from_rpy(rng.uniform(-1, 1, 3))
        parent = b.body(
            f"b{k}", joint=joints.JOINT_TYPES[kind](), parent=parent, inertia=inertia, rotation=turn,
            position=place, joint_name=f"j{k}",
        )  # fmt: skip
        last = model.addJoint(last, made[kind](), pin.SE3(turn, place), f"j{k}")
        body = pin.Inertia(float(inertia.m), inertia.com, inertia.central)
        model.appendBodyToJoint(last, body, pin.SE3.Identity())
        model.addFrame(pin.Frame(f"b{k}", last, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    robot = b.build()
    return robot, model, pinocchio_map(robot, model)


@pytest.mark.parametrize(
    "kinds",
    [
        ["planar"],
        ["spherical"],
        ["free", "spherical", "planar", "continuous", "revolute", "prismatic", "translational"],
    ],
)
def test_every_joint_that_pinocchio_has_agrees(kinds):
    from hinge.testing import random_state
    from tests.oracles.compare import BOUND
    from tests.oracles.pinocchio import differences

    robot, model, peer = _pinocchio_chain(kinds)
    found = differences(robot, model, peer, random_state(robot, 2, 5))
    assert max(found.values()) < BOUND, found


def test_a_planar_joint_across_another_axis_has_no_map():
    import pinocchio as pin

    from hinge.errors import ArgumentError
    from hinge.model import pinocchio_map
    from hinge.robots import random_tree

    robot = random_tree(1, 3, ["planar"])
    with pytest.raises(ArgumentError, match=r"robot: expected planar joints with axis z, .* 'joint0'"):
        pinocchio_map(robot, pin.Model())


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
def test_energy_momentum_and_external_forces_agree(floating):
    import numpy as np
    import pinocchio as pin

    from hinge import reference
    from hinge.testing import random_state
    from tests.oracles.data import example
    from tests.oracles.pinocchio import LINEAR_FIRST, load_both

    robot, model, peer = load_both(example("solo12.urdf"), floating=floating)
    s = random_state(robot, 4)
    data, q, v = model.createData(), peer.to_q(s.q), peer.to_qd(s.q, s.qd)
    assert np.isclose(reference.kinetic_energy(robot, s.q, s.qd), pin.computeKineticEnergy(model, data, q, v))
    g = (1.0, -2.0, -3.0)
    model.gravity.linear = np.array(g)
    potential = pin.computePotentialEnergy(model, data, q)
    assert np.isclose(reference.potential_energy(robot, s.q, gravity=g), potential)
    if floating:
        assert np.allclose(reference.center_of_mass(robot, s.q), pin.centerOfMass(model, data, q))
        h = pin.computeCentroidalMomentum(model, data, q, v)
        ours = reference.momentum(robot, s.q, s.qd)
        assert np.allclose(ours[3:], h.linear)
        com = reference.center_of_mass(robot, s.q)
        assert np.allclose(ours[:3] - np.cross(com, ours[3:]), h.angular)
    frame, push = "HR_FOOT", np.array([0.1, -0.2, 0.3, 1.0, 2.0, 3.0])
    f = model.frames[model.getFrameId(frame)]
    loads = [pin.Force.Zero() for _ in range(model.njoints)]
    loads[f.parentJoint] = f.placement.act(pin.Force(push[LINEAR_FIRST]))
    theirs = pin.rnea(model, data, q, v, peer.to_qdd(s.q, s.qd, s.qdd), loads)
    ours = reference.inverse_dynamics(robot, s.q, s.qd, s.qdd, external={frame: push}, gravity=g)
    assert np.allclose(ours, peer.from_tau(s.q, theirs))
    back = reference.forward_dynamics(robot, s.q, s.qd, ours, external={frame: push}, gravity=g)
    assert np.allclose(back, s.qdd)
    world = pin.computeFrameJacobian(model, data, q, model.getFrameId(frame), pin.ReferenceFrame.WORLD)
    mine = reference.jacobian(robot, s.q, frame, expressed="world")
    assert np.allclose(mine, world[LINEAR_FIRST] @ peer.velocity_matrix(s.q))
