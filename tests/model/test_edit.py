from dataclasses import replace
from itertools import count, islice

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge import reference
from hinge.errors import ArgumentError, ModelError, ModelWarning, UnknownNameError
from hinge.model import (
    Body,
    Box,
    Coupling,
    Frame,
    Joint,
    Shape,
    at_joints,
    attach,
    carry_state,
    detach,
    generalized_force,
    joints,
    lock,
    make_robot,
    merge,
    neutral,
    reduce,
    reroot,
)
from hinge.robots import chain, panda, puma560, quadruped, random_inertia, random_tree, spacecraft
from hinge.robots.random_trees import _placement
from hinge.spatial import Inertia, Transform, matvec, rotation, transpose
from hinge.testing import random_state

EVERY = list(joints.JOINT_TYPES)
#: Those whose velocity coordinates keep their size, so that their rotors can be turned round.
TURNING = [k for k in EVERY if k not in ("planar", "spherical", "free")]
BUILT_IN = [chain(4), chain(4, floating=True), panda(), puma560(), quadruped(), spacecraft()]
FLOATING = [chain(5, floating=True), quadruped(), spacecraft()]
TURN, SHIFT = rotation.from_rpy((0.1, -0.4, 0.9)), np.array([0.1, 0.2, -0.3])


def floating_trees(number, kinds=EVERY, *, rotors=False):
    """Return random trees whose first joint is free, with all kinds, free among them, further out."""
    made = (random_tree(7, seed, ["free", *kinds], rotors=rotors) for seed in count())
    return list(islice((r for r in made if r.joints[0].type.kind == "free"), number))


TREES = [
    *(random_tree(8, seed) for seed in range(4)),
    random_tree(8, 4, EVERY),
    random_tree(8, 5, ["fixed", "planar"]),
]
ROBOTS = [*BUILT_IN, *TREES]
LOOSE = [*FLOATING, *floating_trees(2), *floating_trees(1, TURNING, rotors=True)]


@pytest.fixture(params=ROBOTS, ids=[f"{r.name} {i}" for i, r in enumerate(ROBOTS)])
def robot(request):
    return request.param


@pytest.fixture(params=LOOSE, ids=[f"{r.name} {i}" for i, r in enumerate(LOOSE)])
def floating(request):
    return request.param


@pytest.fixture
def s(robot):
    return random_state(robot, 1, 3)


def poses(robot, q):
    return dict(zip((b.name for b in robot.bodies), reference.forward_kinematics(robot, q), strict=True))


def by_body(robot, values):
    return dict(zip((b.name for b in robot.bodies), values, strict=True))


def close(a, b, tolerance=1e-10):
    a, b = np.broadcast_arrays(a, b)
    assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(b).max(initial=0.0))))


def same_pose(a, b):
    close(a.matrix(), b.matrix())


def same_motion(old, new, q, qd, new_q, new_qd, rename=lambda name: name):
    """Every body of `new` has the pose and the velocity of its namesake in `old`."""
    before, after = poses(old, q), poses(new, new_q)
    v, new_v = (by_body(r, reference.velocities(r, *x)) for r, x in ((old, (q, qd)), (new, (new_q, new_qd))))
    for b in new.bodies:
        if rename(b.name) in before:
            same_pose(after[b.name], before[rename(b.name)])
            close(new_v[b.name], v[rename(b.name)])


def same_energy(old, new, q, qd, new_q, new_qd):
    close(reference.kinetic_energy(new, new_q, new_qd), reference.kinetic_energy(old, q, qd))
    close(reference.potential_energy(new, new_q), reference.potential_energy(old, q))
    close(reference.momentum(new, new_q, new_qd), reference.momentum(old, q, qd))


def same_frames(old, new, q, new_q):
    for name in [*(f.name for f in old.frames), *(b.name for b in old.bodies)]:
        same_pose(reference.frame_placement(new, new_q, name), reference.frame_placement(old, q, name))


def same_dynamics(old, new, s):
    """The two have the same coordinates and the same equations of motion."""
    assert (new.nq, new.nv) == (old.nq, old.nv)
    close(reference.mass_matrix(new, s.q), reference.mass_matrix(old, s.q))
    close(
        reference.inverse_dynamics(new, s.q, s.qd, s.qdd), reference.inverse_dynamics(old, s.q, s.qd, s.qdd)
    )


def velocity_map(old, new, q):
    """Return A (nv, nv) with qd of `new` = A qd of `old`."""
    return transpose(carry_state(old, new, q, np.eye(old.nv))[1])


def test_reroot_keeps_motion_and_energy(floating):
    s = random_state(floating, 1, 3)
    for b in floating.bodies:
        new = reroot(floating, b.name)
        state = carry_state(floating, new, s.q, s.qd)
        assert new.joint_of(b.name).type.kind == "free" and new.joint_of(b.name).parent is None
        same_motion(floating, new, s.q, s.qd, *state)
        same_energy(floating, new, s.q, s.qd, *state)
        same_frames(floating, new, s.q, state[0])


def test_reroot_takes_the_mass_matrix_by_congruence(floating):
    s = random_state(floating, 2)
    new = reroot(floating, floating.bodies[-1].name)
    a = velocity_map(floating, new, s.q)
    q, _ = carry_state(floating, new, s.q, s.qd)
    close(a.T @ reference.mass_matrix(new, q) @ a, reference.mass_matrix(floating, s.q), 1e-8)


def test_reroot_keeps_the_bodies_accelerations_under_the_same_forces(floating):
    s = random_state(floating, 3)
    new = reroot(floating, floating.bodies[-1].name)
    a = velocity_map(floating, new, s.q)
    q, qd = carry_state(floating, new, s.q, s.qd)
    tau = np.linalg.solve(a.T, s.tau)
    before, after = (
        by_body(r, reference.accelerations(r, *x[:2], reference.forward_dynamics(r, *x)))
        for r, x in ((floating, (s.q, s.qd, s.tau)), (new, (q, qd, tau)))
    )
    for name, value in before.items():
        close(after[name], value, 1e-6)


def test_reroot_to_the_base_keeps_motion(floating):
    s = random_state(floating, 4)
    base = floating.bodies[0].name
    there = reroot(floating, floating.bodies[-1].name)
    back = reroot(there, base)
    for new in (reroot(floating, base), back):
        same_motion(floating, new, s.q, s.qd, *carry_state(floating, new, s.q, s.qd))
    state = carry_state(there, back, *carry_state(floating, there, s.q, s.qd))
    same_motion(floating, back, s.q, s.qd, *state)


@pytest.mark.parametrize("fixed", [chain(3), panda(), puma560(), random_tree(4, 0, ["planar"])], ids=repr)
def test_a_robot_on_a_fixed_base_cannot_be_rerooted(fixed):
    with pytest.raises(ModelError, match=f"expected a floating robot, got .*{fixed.joints[0].name!r}"):
        reroot(fixed, fixed.bodies[-1].name)


def two_bodies(type_, **physics):
    """Return a floating robot of "base" and "tip" with one joint "j" between them."""
    rng = np.random.default_rng(0)
    j = Joint("j", type_, "base", "tip", _placement(rng), _placement(rng), **physics)
    return make_robot(
        "two",
        [Body("base", random_inertia(rng)), Body("tip", random_inertia(rng))],
        [Joint("root", joints.Free(), None, "base"), j],
    )


@pytest.mark.parametrize("kind", EVERY)
def test_rerooted_limits_hold_what_the_limits_held(kind):
    type_ = joints.JOINT_TYPES[kind].random_type(np.random.default_rng(1))
    low, high = type_.limits()
    bound = slice(4 if kind in ("spherical", "free", "rolling_ball") else 0, None)
    low[bound], high[bound] = (np.linspace(*ends, type_.nq)[bound] for ends in ((0.5, 1.0), (0.6, 1.5)))
    old = two_bodies(type_, lower=low, upper=high)
    if kind in ("planar", "free"):
        with pytest.raises(ModelError, match="its limits belong to axes of the inner frame"):
            reroot(old, "tip")
        return
    new = reroot(old, "tip")
    s = random_state(old, 5, 20)
    q, _ = carry_state(old, new, s.q, s.qd)
    j = new.joint("j")
    part = q[..., j.q_slice]
    assert (part >= j.lower - 1e-12).all() and (part <= j.upper + 1e-12).all()


@pytest.mark.parametrize("kind", EVERY)
def test_rerooted_rest_is_the_same_place(kind):
    type_ = joints.JOINT_TYPES[kind].random_type(np.random.default_rng(1))
    rest = type_.random(np.random.default_rng(2), (), *type_.limits())
    new = reroot(two_bodies(type_, rest=rest), "tip").joint("j")
    same_pose(new.type.placement(new.rest), type_.placement(rest).inv())


@pytest.mark.parametrize("kind", EVERY)
def test_rerooted_rotors_keep_their_energy_or_are_refused(kind):
    type_ = joints.JOINT_TYPES[kind].random_type(np.random.default_rng(1))
    old = two_bodies(type_, rotor_inertia=np.linspace(1, 2, type_.nv))
    s = random_state(old, 6, 3)
    try:
        new = reroot(old, "tip")
    except ModelError:
        assert kind in ("planar", "spherical", "free")
        return
    same_energy(old, new, s.q, s.qd, *carry_state(old, new, s.q, s.qd))


def test_rerooted_equal_rotors_of_a_ball_keep_their_energy():
    old = two_bodies(joints.Spherical(), rotor_inertia=0.7)
    new, s = reroot(old, "tip"), random_state(old, 6, 3)
    same_energy(old, new, s.q, s.qd, *carry_state(old, new, s.q, s.qd))


def test_a_rerooted_effort_subspace_gives_the_same_force_or_is_refused():
    geared = np.array([[0, 0, 2.0, 0, 0, 0]]).T
    old = two_bodies(joints.Revolute((0, 0, 1)), effort_subspace=geared)
    try:
        new = reroot(old, "tip")
    except ModelError:
        return
    q, effort = np.array([0.4]), np.array([1.0])
    close(generalized_force(new.joint("j"), q, effort), generalized_force(old.joint("j"), q, effort))


def test_at_joints_keeps_dynamics_and_frames(robot, s):
    new = at_joints(robot)
    same_dynamics(robot, new, s)
    assert all((j.outer.matrix() == np.eye(6)).all() for j in new.joints)
    for b, j in zip(robot.bodies, robot.joints, strict=True):
        moved = not (j.outer.matrix() == np.eye(6)).all()
        old = f"{b.name}_frame" if moved else b.name
        same_pose(reference.frame_placement(new, s.q, old), reference.frame_placement(robot, s.q, b.name))
    for f in robot.frames:
        same_pose(reference.frame_placement(new, s.q, f.name), reference.frame_placement(robot, s.q, f.name))


def test_reduce_keeps_dynamics_and_frames(robot, s):
    new = reduce(robot)
    same_dynamics(robot, new, s)
    same_energy(robot, new, s.q, s.qd, s.q, s.qd)
    same_frames(robot, new, s.q, s.q)
    assert all(j.nv or j.parent is None for j in new.joints)


def test_reduce_carries_the_state_as_it_is(robot, s):
    q, qd = carry_state(robot, reduce(robot), s.q, s.qd)
    close(q, s.q)
    close(qd, s.qd)


def test_reduce_takes_shapes_along():
    x = Transform.place(TURN, SHIFT)
    shape = Shape("visual", Box((1, 1, 1)), Transform.place(position=(1, 2, 3)))
    old = make_robot(
        "r",
        [Body("a"), Body("b", shapes=(shape,))],
        [Joint("j", joints.Revolute(), None, "a"), Joint("k", joints.Fixed(), "a", "b", x)],
    )
    (moved,) = reduce(old).body("a").shapes
    same_pose(moved.placement, shape.placement @ x)


def moving(robot):
    return [j for j in robot.joints if j.nv]


def locked(robot, s, names):
    return lock(robot, {n: s.q[robot.joint(n).q_slice] for n in names})


@pytest.mark.parametrize("every", [2, 3])
def test_lock_removes_rows_and_columns_of_the_mass_matrix(robot, every):
    s = random_state(robot, 2)
    names = [j.name for j in moving(robot)][::every]
    new = locked(robot, s, names)
    gone_q = [i for n in names for i in range(robot.nq)[robot.joint(n).q_slice]]
    gone_v = [i for n in names for i in range(robot.nv)[robot.joint(n).qd_slice]]
    keep = np.delete(np.arange(robot.nv), gone_v)
    q = np.delete(s.q, gone_q)
    close(reference.mass_matrix(new, q), reference.mass_matrix(robot, s.q)[np.ix_(keep, keep)])
    same_frames(robot, new, s.q, q)


@pytest.mark.parametrize("every", [2, 3])
def test_lock_keeps_inverse_dynamics_of_what_still_moves(robot, every):
    s = random_state(robot, 2)
    names = [j.name for j in moving(robot)][::every]
    new = locked(robot, s, names)
    gone = [i for n in names for i in range(robot.nv)[robot.joint(n).qd_slice]]
    qd, qdd = s.qd.copy(), s.qdd.copy()
    qd[gone] = qdd[gone] = 0
    tau = reference.inverse_dynamics(robot, s.q, qd, qdd)
    q, new_qd = carry_state(robot, new, s.q, qd)
    close(new_qd, np.delete(qd, gone))
    close(reference.inverse_dynamics(new, q, new_qd, np.delete(qdd, gone)), np.delete(tau, gone))


def test_lock_then_reduce_keeps_the_mass_matrix(robot):
    s = random_state(robot, 2)
    new = locked(robot, s, [j.name for j in moving(robot)][1::2])
    q = random_state(new, 3).q
    close(reference.mass_matrix(reduce(new), q), reference.mass_matrix(new, q))


def test_lock_takes_a_number_for_a_joint_of_one_coordinate():
    new = lock(chain(3), {"joint2": 0.3})
    assert (new.nq, new.nv) == (2, 2)
    assert new.joint("joint2").type.kind == "fixed"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"joint9": 0.0}, UnknownNameError, "did you mean"),
        ({"joint2": [0.0, 1.0]}, ArgumentError, r"^at\['joint2'\]: expected shape \(…, 1\), got \(2,\)"),
        (
            {"joint2": [[0.0]]},
            ArgumentError,
            r"^at\['joint2'\]: expected one configuration, got shape \(1, 1\)",
        ),
        (
            {"joint2": "up"},
            ArgumentError,
            r"^at\['joint2'\]: expected real numbers of shape \(…, 1\), got dtype",
        ),
        (
            {"joint1": 0.0},
            ArgumentError,
            r"^at\['joint1'\]: expected shape \(…, 7\), got .*free joint has nq = 7",
        ),
    ],
)
def test_lock_refuses_what_does_not_fit_by_name(given, error, message):
    with pytest.raises(error, match=message):
        lock(chain(3, floating=True), given)


def test_merge_is_side_by_side(robot, s):
    other = random_tree(5, 7)
    o = random_state(other, 4, 3)
    both = merge(robot, other, prefix="other_")
    q, qd, qdd = (np.concatenate(p, axis=-1) for p in ((s.q, o.q), (s.qd, o.qd), (s.qdd, o.qdd)))
    m = reference.mass_matrix(both, q)
    close(m[..., : robot.nv, : robot.nv], reference.mass_matrix(robot, s.q))
    close(m[..., robot.nv :, robot.nv :], reference.mass_matrix(other, o.q))
    assert not m[..., : robot.nv, robot.nv :].any()
    tau = [
        reference.inverse_dynamics(robot, s.q, s.qd, s.qdd),
        reference.inverse_dynamics(other, o.q, o.qd, o.qdd, gravity=robot.gravity),
    ]
    close(reference.inverse_dynamics(both, q, qd, qdd), np.concatenate(tau, axis=-1))
    same_motion(robot, both, s.q, s.qd, q, qd)
    same_motion(
        other, both, o.q, o.qd, q, qd, lambda n: n.removeprefix("other_") if n[:6] == "other_" else ""
    )


def test_merge_names_the_robot_and_refuses_equal_names():
    assert merge(chain(2), chain(2), prefix="b_").name == "chain(2)+chain(2)"
    assert merge(chain(2), chain(2), prefix="b_", name="pair").name == "pair"
    with pytest.raises(ModelError, match="both have a body or frame 'link1'; give prefix="):
        merge(chain(2), chain(2))


@pytest.mark.parametrize("kind", EVERY)
def test_attach_hangs_the_other_on_the_frame_by_the_joint(kind):
    rng = np.random.default_rng(3)
    type_, host, other = joints.JOINT_TYPES[kind].random_type(rng), random_tree(4, 2), random_tree(5, 3)
    new = attach(host, other, "tip", joint=type_, rotation=TURN, position=SHIFT, prefix="tool_")
    s, o = random_state(new, 4), random_state(other, 5)
    hook, root = new.joint("tool_" + other.joints[0].name), other.joints[0]
    assert hook.type == type_ and hook.parent == host.frame("tip").body
    q = s.q.copy()
    for j in other.joints[1:]:
        q[new.joint("tool_" + j.name).q_slice] = o.q[j.q_slice]
    host_q = carry_state(new, host, q, s.qd)[0]
    tip = reference.frame_placement(host, host_q, "tip")
    place = type_.placement(q[hook.q_slice]) @ Transform.place(TURN, SHIFT) @ tip
    x, alone = poses(new, q), poses(other, o.q)
    same_pose(x["tool_" + root.child], root.outer.inv() @ place)
    for b in other.bodies:
        same_pose(
            x["tool_" + b.name] @ x["tool_" + root.child].inv(), alone[b.name] @ alone[root.child].inv()
        )
    assert new.mass == pytest.approx(host.mass + other.mass)


def test_attach_leaves_the_hosts_motion_as_it_was(robot, s):
    new = attach(robot, random_tree(3, 8), robot.bodies[-1].name, joint=joints.Spherical(), prefix="t_")
    q, qd = carry_state(robot, new, s.q, s.qd)
    same_motion(robot, new, s.q, s.qd, q, qd)
    same_frames(robot, new, s.q, q)
    added = [j for j in new.joints if j.name.startswith("t_")]
    for j in added:
        close(q[..., j.q_slice], j.type.neutral())
        assert not qd[..., j.qd_slice].any()


def test_attach_is_rigid_unless_a_joint_is_given():
    new = attach(chain(2), chain(2), "tip", prefix="tool_")
    assert new.nv == 3 and new.joint("tool_joint1").type.kind == "fixed"


def test_a_payload_is_attached_as_a_body():
    robot, inertia = chain(2), Inertia.from_com(2.0, [0.1, 0.2, 0.3], np.diag([0.3, 0.4, 0.5]))
    for other, name in ((inertia, "payload"), (Body("cup", inertia), "cup")):
        new = attach(robot, other, "tip", rotation=TURN, position=SHIFT, prefix="a_")
        hook = new.joint(f"a_{name}_joint")
        assert new.nv == robot.nv and hook.type.kind == "fixed" and hook.parent == robot.frame("tip").body
        assert new.mass == pytest.approx(robot.mass + 2.0)
        close(new.body(f"a_{name}").inertia.matrix(), inertia.matrix())
        place = Transform.place(TURN, SHIFT) @ robot.frame("tip").placement
        same_pose(hook.transform(np.zeros(0)), place)
    twice = attach(attach(robot, inertia, "tip"), inertia, "tip", prefix="second_")
    assert twice.body_names[-2:] == ("payload", "second_payload")
    with pytest.raises(ModelError, match=r"both have a body or frame 'payload'; give prefix="):
        attach(attach(robot, inertia, "tip"), inertia, "tip")
    with pytest.raises(
        ArgumentError, match=r"other: expected a Robot, or a Body or Inertia as payload, got float"
    ):
        attach(robot, 2.0, "tip")


def test_only_a_robot_on_one_joint_can_be_attached():
    pair = merge(chain(2), chain(2), prefix="b_")
    with pytest.raises(ModelError, match="expected a robot with one joint to the world, got 2"):
        attach(chain(1), pair, "tip", prefix="c_")


def test_attach_to_an_unknown_frame_is_refused_with_a_suggestion():
    with pytest.raises(UnknownNameError, match="did you mean 'tip'"):
        attach(chain(2), chain(2), "tipp", prefix="b_")


def inner_body(robot):
    return robot.bodies[len(robot.bodies) // 2].name


def test_detach_keeps_the_motion_of_both_parts(robot, s):
    for part in detach(robot, inner_body(robot)):
        state = carry_state(robot, part, s.q, s.qd)
        same_motion(robot, part, s.q, s.qd, *state)
        for f in part.frames:
            same_pose(
                reference.frame_placement(part, state[0], f.name),
                reference.frame_placement(robot, s.q, f.name),
            )


def test_detached_energy_and_momentum_add_up(robot, s):
    cut = robot.joint_of(inner_body(robot))
    rotor = 0.5 * (cut.reflected_inertia * s.qd[..., cut.qd_slice] ** 2).sum(axis=-1)
    parts = detach(robot, cut.child)
    states = [carry_state(robot, p, s.q, s.qd) for p in parts]
    kinetic = sum(reference.kinetic_energy(p, *x) for p, x in zip(parts, states, strict=True))
    potential = sum(reference.potential_energy(p, x[0]) for p, x in zip(parts, states, strict=True))
    momentum = sum(reference.momentum(p, *x) for p, x in zip(parts, states, strict=True))
    close(kinetic + rotor, reference.kinetic_energy(robot, s.q, s.qd))
    close(potential, reference.potential_energy(robot, s.q))
    close(momentum, reference.momentum(robot, s.q, s.qd))


def test_detached_parts_share_the_bodies(robot):
    rest, loose = detach(robot, inner_body(robot))
    assert sorted(b.name for p in (rest, loose) for b in p.bodies) == sorted(b.name for b in robot.bodies)
    assert loose.is_floating and loose.bodies[0].name == inner_body(robot)


@pytest.mark.parametrize("seed", range(6))
def test_attach_undoes_detach(seed):
    old = at_joints(random_tree(8, seed, rotors=False))
    cut = old.joint_of(inner_body(old))
    rest, loose = detach(old, cut.child)
    new = attach(
        rest, loose, cut.parent, joint=cut.type, rotation=cut.inner.rotation, position=cut.inner.position
    )
    s = random_state(old, 6, 3)
    state = carry_state(old, new, s.q, s.qd)
    same_motion(old, new, s.q, s.qd, *state)
    same_energy(old, new, s.q, s.qd, *state)


def test_the_whole_robot_cannot_be_detached():
    with pytest.raises(ModelError, match="'link1' carries the whole robot"):
        detach(chain(3), "link1")


def coupled():
    r = chain(4)
    return make_robot("r", r.bodies, r.joints, frames=r.frames, couplings=[Coupling("joint4", "joint3", 2.0)])


def test_couplings_follow_their_joints():
    r = coupled()
    assert lock(r, {"joint1": 0.1}).couplings == r.couplings
    for name in ("joint3", "joint4"):
        with pytest.warns(ModelWarning, match="the coupling of 'joint4' to 'joint3' is gone"):
            assert lock(r, {name: 0.1}).couplings == ()
    with pytest.warns(ModelWarning, match="coupling"):
        rest, loose = detach(r, "link4")
    assert rest.couplings == loose.couplings == ()
    assert detach(r, "link2")[1].couplings == r.couplings
    (c,) = merge(chain(2), r, prefix="b_").couplings
    assert (c.joint, c.master, c.ratio) == ("b_joint4", "b_joint3", 2.0)
    assert reduce(r).couplings == at_joints(r).couplings == r.couplings


def test_frames_follow_their_bodies():
    r = make_robot(
        "r",
        chain(3).bodies,
        chain(3).joints,
        frames=[Frame("near", "link1"), Frame("far", "link3", Transform.place(TURN, SHIFT))],
    )
    rest, loose = detach(r, "link2")
    assert [f.name for f in rest.frames] == ["near"] and [f.name for f in loose.frames] == ["far"]
    assert [f.name for f in merge(r, r, prefix="b_").frames] == ["near", "far", "b_near", "b_far"]


def test_edits_keep_gravity(robot):
    moon = make_robot(robot.name, robot.bodies, robot.joints, frames=robot.frames, gravity=(0, 0, -1.62))
    parts = detach(moon, inner_body(moon))
    for r in (at_joints(moon), reduce(moon), lock(moon, {}), merge(moon, chain(2), prefix="b_"), *parts):
        assert_allclose(r.gravity, moon.gravity)


def test_locking_nothing_changes_nothing(robot, s):
    same_dynamics(robot, lock(robot, {}), s)


def test_the_old_robot_stays_as_it_was(robot):
    before = reference.mass_matrix(robot, neutral(robot))
    names = [b.name for b in robot.bodies]
    at_joints(robot), reduce(robot), detach(robot, inner_body(robot))
    lock(robot, {j.name: j.type.neutral() for j in moving(robot)[:1]})
    assert [b.name for b in robot.bodies] == names
    assert (reference.mass_matrix(robot, neutral(robot)) == before).all()


def test_kinetic_energy_of_a_rerooted_robot_is_a_form_of_its_own_mass_matrix(floating):
    new = reroot(floating, floating.bodies[-1].name)
    s = random_state(new, 7, 3)
    m = reference.mass_matrix(new, s.q)
    close(0.5 * (s.qd * matvec(m, s.qd)).sum(axis=-1), reference.kinetic_energy(new, s.q, s.qd))


@pytest.mark.parametrize(
    "value, words",
    [([2, 0.5, 0, 0], "quaternion has norm"), ([0, 0, 0, 0], "norm 0"), ([np.nan, 0, 0, 0], "not finite")],
)
def test_lock_refuses_a_configuration_that_is_none(value, words):
    robot = random_tree(1, 0, ["spherical"])
    with pytest.raises(ArgumentError, match=words):
        lock(robot, {"joint0": value})


def test_lock_wants_a_mapping():
    with pytest.raises(ArgumentError, match=r"at: expected \{joint name: configuration\}, got "):
        lock(chain(2), ["joint1"])  # type: ignore[arg-type]


def test_two_robots_from_files_are_joined_without_a_clash_of_their_root_joints():
    a, b = panda(), random_tree(1, 0, ["revolute"])
    b = make_robot(
        "b", b.bodies, [replace(j, name="root_joint") if j.parent is None else j for j in b.joints]
    )
    assert attach(a, b, "tool").joint("body0_joint").type.kind == "fixed"
    assert merge(a, b).joint("body0_joint").type.kind == "revolute"


def test_a_state_is_carried_to_a_base_joint_of_another_name():
    a = random_tree(4, 1)
    b = make_robot("b", a.bodies, [replace(j, name="base") if j.parent is None else j for j in a.joints])
    s = random_state(a, 1)
    q, qd = carry_state(a, b, s.q, s.qd)
    assert_allclose(np.abs(q), np.abs(s.q), atol=1e-12)
    assert_allclose(qd, s.qd, atol=1e-12)
