"""Configurations that change at run time against robots built so, and impacts against dense matrices."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import hinge
from hinge import dynamics, reference, robots
from hinge.algebra import B, H, Na, f_ext, phi, qd, whole
from hinge.dynamics import SEVERAL
from hinge.errors import ArgumentError, UnknownNameError
from hinge.model import joints
from hinge.pipeline import derive, prove
from hinge.robots import random_inertia
from hinge.spatial import Inertia, Transform
from hinge.testing import random_state
from tests.dynamics.changes import (
    by_forces,
    changed,
    dynamics_errors,
    impact_errors,
    placed,
    quantity_errors,
    relative,
    with_payload,
)
from tests.dynamics.partitions import counted_programs
from tests.dynamics.test_hybrid import PLACES
from tests.dynamics.zoo import partial_rotors

BOUND = 1e-10
TREE = robots.random_tree(4, 3)
#: Every joint type among them, free bases and fixed ones, rotors on some directions only.
ROBOTS = {
    "native": TREE,
    "first": robots.random_tree(5, 1),
    "second": robots.random_tree(5, 6),
    "third": robots.random_tree(5, 4),
    "partial_rotors": partial_rotors(),
}
#: The others do without a compiler, which is quicker for one call.
NATIVE = ("native",)


def close(x, y, bound=BOUND):
    assert relative(np.asarray(x), np.asarray(y)) <= bound


# The expression.


def test_an_impact_is_derived_to_two_sweeps():
    found = derive(SEVERAL["impact"].expressions)
    assert found.program.shape == "G S" and found.cost.solves == 0


def test_the_jumps_solve_the_balance_of_impulses():
    """𝓜 Δq̇ = Jᵀ f + impulses, and active coordinates stop."""
    e = SEVERAL["impact"].expressions
    assert prove(whole.mass @ e["jumps"], H @ phi @ B @ f_ext + e["impulses"], axioms=[PLACES])
    assert prove(Na @ (e["jumps"] + qd), 0 * (Na @ qd), axioms=[PLACES])


# Dynamics.


@pytest.mark.parametrize("name", ROBOTS)
def test_dynamics_are_those_of_the_robot_built_so(name, monkeypatch):
    if name not in NATIVE:
        monkeypatch.setenv("HINGE_TARGET", "numpy")
    found = dynamics_errors(ROBOTS[name], 1)
    assert max(found.values()) < BOUND, found


def test_energies_momentum_and_matrices_are_those_of_the_robot_built_so(monkeypatch):
    monkeypatch.setenv("HINGE_TARGET", "numpy")
    found = quantity_errors(TREE, 1)
    assert max(found.values()) < BOUND, found


def test_the_spacecraft_compiled_anew():
    robot = hinge.robots.spacecraft()
    rng = np.random.default_rng(3)
    given = ("crate", "left_hand", random_inertia(rng), placed(rng))
    live = hinge.Live(robot).grasp(*given).freeze(["right_elbow_pitch_joint"])
    s = random_state(robot, 4)
    s.qd[live.held] = 0.0
    locked = hinge.lock(with_payload(robot, *given), {"right_elbow_pitch_joint": _part(live, s.q)})
    q, v = hinge.carry_state(robot, locked, s.q, s.qd)
    wanted = hinge.forward_dynamics(locked, q, v, s.tau[~live.held])
    found = live.forward_dynamics(s.q, s.qd, s.tau)[~live.held]
    assert by_forces(hinge.mass_matrix(locked, q), found, wanted) < BOUND


def _part(live, q):
    return q[live.robot.joint(live.frozen[0]).q_slice]


def test_forces_gravity_and_prescribed_motion():
    robot = TREE
    live, built = changed(robot, 5)
    s = random_state(robot, 6, (2,))
    more = {
        "external": {"tip": np.arange(6.0), robot.bodies[-1].name: np.ones((2, 6))},
        "gravity": np.array([1.0, -2.0, 3.0]),
    }
    qdd, tau = live.hybrid_dynamics(s.q, s.qd, s.tau, qdd=s.qdd, **more)
    assert np.array_equal(qdd[:, live.held], s.qdd[:, live.held])
    close(tau, reference.inverse_dynamics(built, s.q, s.qd, qdd, **more), 1e-9)
    close(live.inverse_dynamics(s.q, s.qd, qdd * ~live.held, **more),
          reference.inverse_dynamics(built, s.q, s.qd, qdd * ~live.held, **more))  # fmt: skip
    close(live.potential_energy(s.q, gravity=more["gravity"]),
          reference.potential_energy(built, s.q, gravity=more["gravity"]))  # fmt: skip


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0,)])
def test_batches_of_states_payloads_and_sets(shape):
    robot = TREE
    rng = np.random.default_rng(7)
    s = random_state(robot, 8, shape)
    mass = rng.uniform(1, 2, shape)
    inertia = Inertia.from_com(mass, rng.uniform(-1, 1, (*shape, 3)), np.eye(3) * mass[..., None, None])
    place, held = placed(rng, shape), rng.random((*shape, robot.nv)) < 0.5
    live = hinge.Live(robot).grasp("load", "tip", inertia, place).freeze(held)
    v = rng.normal(size=(*shape, 6))
    found = live.forward_dynamics(s.q, s.qd, s.tau)
    hit = hinge.impact(hinge.Live(robot), live, s.q, s.qd, {"load": v})
    assert found.shape == hit.qd.shape == hit.impulses.shape == (*shape, robot.nv) and hit.lost.shape == shape
    for at in np.ndindex(*shape):
        one = Inertia(inertia.m[at], inertia.h[at], inertia.I[at])
        alone = hinge.Live(robot).grasp("load", "tip", one, Transform(place.E[at], place.r[at]))
        alone = alone.freeze(held[at])
        close(found[at], alone.forward_dynamics(s.q[at], s.qd[at], s.tau[at]))
        again = hinge.impact(hinge.Live(robot), alone, s.q[at], s.qd[at], {"load": v[at]})
        close(hit.qd[at], again.qd)
        close(hit.lost[at], again.lost)


def test_one_state_and_many_payloads():
    rng, s, v = np.random.default_rng(25), random_state(TREE, 26), np.ones(6)
    inertia, place = random_inertia(rng), placed(rng, (3,))
    live = hinge.Live(TREE)
    many = live.grasp("load", "tip", inertia, place).freeze([TREE.joints[1].name])
    hit, found = hinge.impact(live, many, s.q, s.qd, {"load": v}), many.forward_dynamics(s.q, s.qd, s.tau)
    for k in range(3):
        one = live.grasp("load", "tip", inertia, Transform(place.E[k], place.r[k])).freeze(many.frozen)
        close(found[k], one.forward_dynamics(s.q, s.qd, s.tau))
        alone = hinge.impact(live, one, s.q, s.qd, {"load": v})
        close(hit.qd[k], alone.qd), close(hit.lost[k], alone.lost)


def test_single_precision():
    robot = TREE
    live, _ = changed(robot, 9)
    s = random_state(robot, 10)
    found = live.hybrid_dynamics(*(x.astype(np.float32) for x in (s.q, s.qd, s.tau)))
    for x, y in zip(found, live.hybrid_dynamics(s.q, s.qd, s.tau), strict=True):
        assert x.dtype == np.float32
        close(x, y, 1e-3)


# Impacts.


@pytest.mark.parametrize("name", ROBOTS)
def test_impacts_keep_momentum_in_all_that_is_free(name, monkeypatch):
    if name not in NATIVE:
        monkeypatch.setenv("HINGE_TARGET", "numpy")
    found = impact_errors(ROBOTS[name], 11)
    assert max(found.values()) < BOUND, found


@pytest.mark.parametrize("seed", [1, 3])
def test_a_free_flyer_keeps_its_momentum_and_loses_energy(seed, monkeypatch):
    monkeypatch.setenv("HINGE_TARGET", "numpy")
    robot = hinge.robots.random_tree(4, seed)
    rng = np.random.default_rng(seed)
    before, inertia = hinge.Live(robot), random_inertia(rng)
    s, v, pose = random_state(robot, rng, (4,)), rng.normal(size=(4, 6)), placed(rng, (4,))
    place = before.placement(s.q, "tip", pose)
    after = before.grasp("ball", "tip", inertia, place).freeze([robot.joints[2].name])
    hit = hinge.impact(before, after, s.q, s.qd, {"ball": v})
    brought = pose.inv().force(inertia.apply(v))
    close(after.momentum(s.q, hit.qd), before.momentum(s.q, s.qd) + brought)
    own = 0.5 * (v * inertia.apply(v)).sum(axis=-1)
    close(before.kinetic_energy(s.q, s.qd) + own - after.kinetic_energy(s.q, hit.qd), hit.lost, 1e-9)
    assert (hit.lost > 0).all()
    there, moving = after.motion(s.q, hit.qd, "ball")
    close(there.E, pose.E), close(there.r, pose.r)
    # it goes as it came: nothing is lost, and all momentum is accounted for
    loose = hinge.impact(after, after.release("ball").thaw(after.frozen), s.q, hit.qd)
    assert np.array_equal(loose.qd, hit.qd) and not loose.lost.any()
    gone = there.inv().force(inertia.apply(moving))
    close(before.momentum(s.q, loose.qd) + gone, after.momentum(s.q, hit.qd))


def test_a_payload_changes_hands():
    robot = TREE
    rng = np.random.default_rng(14)
    given = ("cup", random_inertia(rng), placed(rng))
    s = random_state(robot, 15)
    first = hinge.Live(robot).grasp("cup", "tip", *given[1:])
    pose, v = first.motion(s.q, s.qd, "cup")
    other = robot.bodies[1].name
    second = first.release("cup").grasp("cup", other, given[1], first.placement(s.q, other, pose))
    hit = hinge.impact(first, second, s.q, s.qd)
    again = hinge.impact(first.release("cup"), second, s.q, s.qd, {"cup": v})
    close(hit.qd, again.qd), close(hit.lost, again.lost)
    close(second.pose(s.q, "cup").r, pose.r)


def test_what_is_frozen_stays():
    robot = TREE
    live = hinge.Live(robot).freeze([robot.joints[1].name, robot.joints[2].name])
    s = random_state(robot, 16)
    q, v, step = s.q, hinge.impact(hinge.Live(robot), live, s.q, s.qd).qd, 1e-3
    for _ in range(20):
        v = v + step * live.forward_dynamics(q, v, s.tau)
        q = hinge.integrate(robot, q, step * v)
    for name in live.frozen:
        j = robot.joint(name)
        close(q[j.q_slice], s.q[j.q_slice], 1e-15)
    assert np.abs(v).max() > 0


# Changes.


def test_a_change_compiles_nothing():
    robot = hinge.robots.random_tree(3, 17)
    live = hinge.Live(robot).prepare()
    rng = np.random.default_rng(18)
    one, many = random_state(robot, 19), random_state(robot, 20, (6,))
    with counted_programs() as programs:
        for k, body in enumerate((*robot.bodies, *robot.bodies)):
            after = live.grasp(f"load{k}", body.name, random_inertia(rng), placed(rng))
            after = after.freeze([robot.joints[k % 3].name]) if k % 2 else after.thaw(after.frozen)
            for s in (one, many):
                hit = hinge.impact(live, after, s.q, s.qd, {f"load{k}": np.ones(6)})
                after.hybrid_dynamics(s.q, hit.qd, s.tau)
                after.momentum(s.q, hit.qd), after.kinetic_energy(s.q, hit.qd)
                after.motion(s.q, hit.qd, f"load{k}")
            live = after
        for k in range(6):
            live = live.release(f"load{k}")
        assert not programs
        live.forward_dynamics(one.q, one.qd, one.tau, external={"tip": np.ones(6)})
        assert programs  # what counts does count
    with counted_programs() as programs:  # forces may then act anywhere
        for body in robot.bodies:
            live.forward_dynamics(one.q, one.qd, one.tau, external={body.name: np.ones(6)})
    assert not programs
    assert np.array_equal(live.inertias, hinge.inertial_parameters(robot))  # all given back, to the last bit


def test_values_stay_as_they_are():
    robot = TREE
    live = hinge.Live(robot)
    after = live.freeze([robot.joints[1].name]).grasp(
        "cup", "tip", hinge.Body("cup", Inertia.from_com(1.0, np.zeros(3), np.eye(3)))
    )
    assert not live.frozen and not live.payloads and after.frozen == (robot.joints[1].name,)
    assert repr(after) == (
        f"<Live {robot.name!r}: holds 'cup' on {robot.frame('tip').body!r}; frozen: {robot.joints[1].name!r}>"
    )
    assert after.thaw(after.frozen).release("cup").payloads == {}
    assert np.isclose(after.inertias[..., 0].sum(), robot.mass + 1)
    for x in (live.held, live.inertias, after.held, after.inertias):
        assert not x.flags.writeable
    with pytest.raises(TypeError):
        live.payloads["cup"] = after.payloads["cup"]
    mask = after.held.copy()
    again = hinge.Live(robot, mask)
    mask[:] = False
    assert again.frozen == after.frozen


def test_any_verb_can_be_called(monkeypatch):
    monkeypatch.setenv("HINGE_TARGET", "numpy")
    robot = TREE
    live, built = changed(robot, 21)
    s = random_state(robot, 22)
    close(live.call("mass_times", s.q, x=s.qd), reference.mass_matrix(built, s.q) @ s.qd)
    close(live.call("jacobian", s.q, nodes=["tip"]), reference.jacobian(built, s.q, "tip"))
    pushed = live.call("force_correction", s.q, nodes=["tip"], f_ext=np.ones((1, 6)))
    jacobian = reference.jacobian(built, s.q, "tip")
    close(reference.mass_matrix(built, s.q) @ pushed, jacobian.T @ np.ones(6), 1e-8)
    s_pp = live.call("partitioned", s.q)["S_pp"]
    free = ~live.held
    m = reference.mass_matrix(built, s.q)[np.ix_(free, free)]
    close(s_pp[np.ix_(free, free)] @ m, np.eye(len(m)), 1e-8)


# Two robots that dock.


def test_two_robots_dock_and_part(monkeypatch):
    monkeypatch.setenv("HINGE_TARGET", "numpy")
    first, second = hinge.robots.random_tree(2, 1), hinge.robots.random_tree(2, 5)
    apart = hinge.merge(first, second, prefix="other_")
    pair = hinge.attach(first, second, "tip", joint=joints.Free(), prefix="other_", position=(0.1, 0.2, 0.3))
    dock = next(j.name for j in pair.joints if j.child == "other_body0")
    s = random_state(apart, 23, (3,))
    q, v = hinge.carry_state(apart, pair, s.q, s.qd)
    close(reference.momentum(pair, q, v), reference.momentum(apart, s.q, s.qd))
    close(reference.kinetic_energy(pair, q, v), reference.kinetic_energy(apart, s.q, s.qd))
    back = hinge.carry_state(pair, apart, q, v)
    close(hinge.difference(apart, back[0], s.q), np.zeros_like(s.qd)), close(back[1], s.qd)
    loose = hinge.Live(pair)
    docked = loose.freeze([dock])
    hit = hinge.impact(loose, docked, q, v)
    close(reference.momentum(pair, q, hit.qd), reference.momentum(apart, s.q, s.qd))
    assert (hit.lost > 0).all()
    alone = s.tau.copy()  # apart, no force goes through the dock, and each piece moves as it would alone
    alone[..., apart.joint(dock).qd_slice] = 0.0
    tau = np.zeros_like(v)
    for j in apart.joints:
        tau[..., pair.joint(j.name).qd_slice] = alone[..., j.qd_slice]
    wanted, found = reference.forward_dynamics(apart, s.q, s.qd, alone), loose.forward_dynamics(q, v, tau)
    for j in (j for j in apart.joints if j.name != dock):
        close(found[..., pair.joint(j.name).qd_slice], wanted[..., j.qd_slice], 1e-8)


# Wrong arguments.


def test_wrong_arguments_are_named():
    robot = TREE
    live, ball = hinge.Live(robot), Inertia.from_com(1.0, np.zeros(3), np.eye(3))
    held = live.grasp("ball", "tip", ball)
    s = random_state(robot, 24)
    with pytest.raises(UnknownNameError, match=r"joints: robot .* has no joint 'lift'"):
        live.freeze(["lift"])
    with pytest.raises(ArgumentError, match="joints: expected a list of joint names, got the string 'lift'"):
        live.thaw("lift")
    with pytest.raises(UnknownNameError, match=r"frame: robot .* 'claw'"):
        live.grasp("ball", "claw", ball)
    with pytest.raises(ArgumentError, match=r"name: 'ball' is held by .* already; release it"):
        held.grasp("ball", "tip", ball)
    with pytest.raises(
        UnknownNameError, match="name: expected the name of a payload, got 'cup'; held: 'ball'"
    ):
        held.release("cup")
    with pytest.raises(
        UnknownNameError, match="name: expected the name of a payload, got 'cup'; held: nothing"
    ):
        live.release("cup")
    with pytest.raises(ArgumentError, match="payload: expected a mass ≥ 0, got -1 kg"):
        live.grasp("ball", "tip", Inertia.from_com(-1.0, np.zeros(3), np.eye(3)))
    with pytest.raises(ArgumentError, match="payload: expected a finite mass and inertia, got"):
        live.grasp("ball", "tip", Inertia.from_com(np.nan, np.zeros(3), np.eye(3)))
    with pytest.raises(ArgumentError, match=r"payload: expected an Inertia or a Body, .*, got float"):
        live.grasp("ball", "tip", 3.0)
    with pytest.raises(ArgumentError, match=r"placement: expected a Transform, .*, got list"):
        live.grasp("ball", "tip", ball, [0, 0, 1])
    with pytest.raises(ArgumentError, match="placement: expected a Transform with a proper rotation"):
        live.grasp("ball", "tip", ball, Transform(2 * np.eye(3), np.zeros(3)))
    with pytest.raises(
        ArgumentError, match="payloads: expected a velocity for 'ball', which is caught, got none"
    ):
        hinge.impact(live, held, s.q, s.qd)
    with pytest.raises(
        UnknownNameError,
        match="payloads: expected the name of a body that is caught, got 'cup'; caught: 'ball'",
    ):
        hinge.impact(live, held, s.q, s.qd, {"ball": np.zeros(6), "cup": np.zeros(6)})
    with pytest.raises(ArgumentError, match=r"payloads\['ball'\]: expected shape \(…, 6\), got \(3,\)"):
        hinge.impact(live, held, s.q, s.qd, {"ball": np.zeros(3)})
    with pytest.raises(ArgumentError, match=r"payloads: expected .*, got list"):
        hinge.impact(live, held, s.q, s.qd, [1.0])
    with pytest.raises(
        ArgumentError, match=r"after: expected a configuration of robot .*, got one of 'panda'"
    ):
        hinge.impact(live, hinge.Live(robots.panda()), s.q, s.qd)
    with pytest.raises(ArgumentError, match=r"before: expected a Live, .*, got Robot"):
        hinge.impact(robot, held, s.q, s.qd)
    with pytest.raises(ArgumentError, match=r"tau: expected shape .*, got \(2,\)"):
        live.forward_dynamics(s.q, s.qd, np.zeros(2))
    with pytest.raises(ArgumentError, match="robot: expected a Robot, got str"):
        hinge.Live("panda")
    with pytest.raises(ArgumentError, match="verb: expected the name of a verb, got 'lift'"):
        live.call("lift", s.q)
    with pytest.raises(ArgumentError, match="x: not in the expression"):
        live.call("mass_matrix", s.q, x=s.qd)
    with pytest.raises(ArgumentError, match=r"f_ext: expected shape \(…, 4, 6\), got \(6,\)"):
        live.call("impact", s.q, qd=s.qd, f_ext=np.zeros(6))
    with pytest.raises(ArgumentError, match=r"parameters: expected a list .* 'inertias'"):
        dynamics.compiled(robot, "mass_matrix", parameters="inertias")


# The example.


def test_a_spacecraft_catches_a_payload(capsys):
    file = Path(__file__).parents[2] / "examples" / "10_catching.py"
    if not file.exists():
        pytest.skip("the examples are not here")
    assert runpy.run_path(str(file))["main"]() == 0
    assert "momentum is conserved, and no change compiled anything." in capsys.readouterr().out


def test_a_verb_says_that_a_live_robot_has_its_own():
    robot = hinge.robots.double_pendulum()
    with pytest.raises(ArgumentError, match=r"robot: expected a Robot, got Live; .* live.momentum\(q, qd\)"):
        hinge.momentum(hinge.Live(robot), np.zeros(2), np.zeros(2))  # pyright: ignore[reportArgumentType]
