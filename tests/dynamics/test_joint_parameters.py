"""Placements, rotors and friction as arguments of a call: the same numbers as for a robot that has them."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.algebra import H, M, phi
from hinge.binding import Needs, bind
from hinge.dynamics import expression
from hinge.errors import ArgumentError
from hinge.spatial import quaternion
from hinge.targets import system_of
from hinge.testing import random_state
from tests.dynamics.passives import ROLLING, passive_force, sprung, with_physics
from tests.trees import first_tree, kinds_of

PANDA = robots.panda()
#: On a floating base, without joints that roll: these can have no springs.
TREE = with_physics(first_tree(6, lambda r: not kinds_of(r) & set(ROLLING) and r.is_floating, start=5))
EVERY = sprung()
NAMES = ["inertias", "placements", "rotors", "friction"]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def others(robot, rng, batch=()):
    """Return other parameters of all kinds."""
    n = len(robot.bodies)
    inertia = hinge.Inertia.from_com(
        rng.uniform(0.5, 1.0, (*batch, n)),
        rng.normal(size=(*batch, n, 3)),
        rng.uniform(1.0, 1.5, (*batch, n, 3))[..., None] * np.eye(3),
    )
    place = [quaternion.random(rng, (*batch, n)), rng.normal(size=(*batch, n, 3))]
    return {
        "inertias": inertia.parameters(),
        "placements": np.concatenate(place, axis=-1),
        "rotors": rng.random((*batch, robot.nv)),
        "friction": rng.random((*batch, robot.nv, 3)),
    }


def set_of(x, k):
    return {name: values[k] for name, values in x.items()}


def test_the_robots_own_numbers_go_there_and_back():
    x = hinge.placement_parameters(EVERY)
    again = hinge.with_parameters(EVERY, placements=x)
    for old, new in zip(EVERY.joints, again.joints, strict=True):
        assert np.allclose(old.inner.matrix(), new.inner.matrix(), atol=1e-14)
    y = hinge.friction_parameters(EVERY)
    assert y.shape == (EVERY.nv, 3)
    assert np.array_equal(y[:, 1], np.concatenate([j.friction for j in EVERY.joints]))
    assert np.array_equal(hinge.friction_parameters(hinge.with_parameters(EVERY, friction=2 * y)), 2 * y)
    z = hinge.with_parameters(EVERY, rotors=EVERY.reflected_inertia)
    assert np.array_equal(z.reflected_inertia, EVERY.reflected_inertia) and z.joints[3].gear_ratio[0] == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("robot", [EVERY, PANDA], ids=lambda r: r.name)
def test_one_kind_of_parameters(robot, name):
    rng = np.random.default_rng(1)
    s, x = random_state(robot, 1, 3), others(robot, rng, (3,))
    f = hinge.compile(expression("inverse_dynamics", passive=True), robot, target="numpy", parameters=[name])
    found = f(s.q, s.qd, qdd=s.qdd, **{name: x[name]})
    for k in range(3):
        changed = hinge.with_parameters(robot, **{name: x[name][k]})
        wanted = hinge.reference.inverse_dynamics(changed, s.q[k], s.qd[k], s.qdd[k])
        assert np.allclose(found[k], wanted - passive_force(changed, s.q[k], s.qd[k]), **CLOSE)


@pytest.mark.parametrize("robot", [TREE, PANDA], ids=lambda r: r.name)
@pytest.mark.parametrize("target", ["numpy", "llvm"])
def test_all_together_in_any_order_and_one_set_or_many(robot, target):
    rng = np.random.default_rng(2)
    s, x = random_state(robot, 2, (2, 3)), others(robot, rng, (2, 3))
    order = [NAMES[k] for k in rng.permutation(4)]
    f = hinge.compile(expression("forward_dynamics", passive=True), robot, target=target, parameters=order)
    found = f(s.q, s.qd, tau=s.tau, **x)
    for k in np.ndindex(2, 3):
        changed = hinge.with_parameters(robot, **set_of(x, k))
        tau = s.tau[k] + passive_force(changed, s.q[k], s.qd[k])
        wanted = hinge.reference.forward_dynamics(changed, s.q[k], s.qd[k], tau)
        assert np.allclose(found[k], wanted, rtol=1e-7, atol=1e-7)
    one = set_of(x, (0, 0))
    assert np.allclose(f(s.q, s.qd, tau=s.tau, **one)[0, 0], found[0, 0], **CLOSE)
    assert np.allclose(f(s.q[0, 0], s.qd[0, 0], tau=s.tau[0, 0], **x)[0, 0], found[0, 0], **CLOSE)
    assert f(s.q[:0], s.qd[:0], tau=s.tau[:0], **one).shape == (0, 3, robot.nv)


def test_placements_move_frames_and_bodies_that_are_shown():
    rng = np.random.default_rng(3)
    s, x = random_state(EVERY, 3), others(EVERY, rng)["placements"]
    changed, nodes = hinge.with_parameters(EVERY, placements=x), [EVERY.bodies[-1].name]
    f = hinge.compile("jacobian", EVERY, target="numpy", nodes=nodes, parameters=["placements"])
    wanted = hinge.compile("jacobian", changed, target="numpy", nodes=nodes)(s.q)
    assert np.allclose(f(s.q, placements=x), wanted, **CLOSE)
    velocities = phi.T @ H.T @ hinge.algebra.qd
    f = hinge.compile(velocities, EVERY, target="numpy", parameters=["placements"])
    wanted = hinge.compile(velocities, changed, target="numpy")(s.q, s.qd)
    assert np.allclose(f(s.q, s.qd, placements=x), wanted, **CLOSE)


@pytest.mark.parametrize("tilt", [0.0, 1e-16, 3e-15, 1e-12, 1e-8, np.pi / 2, np.pi - 1e-9, np.pi])
def test_placements_along_axes_and_nearly_so(tilt):
    rng = np.random.default_rng(6)
    s, n = random_state(TREE, 6), len(TREE.bodies)
    axis = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0.6, 0.8], [0.6, 0.8, 0], [0, 0, -1]])[:n]
    turn = quaternion.multiply(
        quaternion.exp(tilt * axis), quaternion.exp([0, 0, 1.0] * rng.normal(size=(n, 1)))
    )
    x = np.concatenate([quaternion.normalize(turn), rng.normal(size=(n, 3))], axis=-1)
    changed = hinge.with_parameters(TREE, placements=x)
    wanted = hinge.reference.inverse_dynamics(changed, s.q, s.qd, s.qdd)
    for target in ("numpy", "llvm"):
        f = hinge.compile("inverse_dynamics", TREE, target=target, parameters=["placements"])
        assert np.allclose(f(s.q, s.qd, qdd=s.qdd, placements=x), wanted, rtol=1e-11, atol=1e-11)
        single = [y.astype(np.float32) for y in (s.q, s.qd, s.qdd, x)]
        found = f(single[0], single[1], qdd=single[2], placements=single[3])
        assert np.allclose(found, wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max())


def test_sets_of_prescribed_coordinates_go_together_with_parameters():
    rng = np.random.default_rng(4)
    s, x, held = random_state(PANDA, 4), others(PANDA, rng), np.arange(PANDA.nv) % 2 == 0
    own = expression("hybrid_dynamics", passive=True)
    f = hinge.compile(own, PANDA, target="numpy", prescribed=None, parameters=NAMES)
    given = {"qdd": np.where(held, s.qdd, 0), "tau": np.where(held, 0, s.tau), "held": held.astype(float)}
    found = f(s.q, s.qd, **given, **x)
    changed = hinge.with_parameters(PANDA, **x)
    more = {"qdd": s.qdd, "tau": s.tau, "prescribed": held, "passive": True}
    wanted = hinge.hybrid_dynamics(changed, s.q, s.qd, **more)
    assert np.allclose(found["accelerations"], wanted[0], **CLOSE)
    assert np.allclose(found["forces"], wanted[1], **CLOSE)


def test_matrices_take_the_same_parameters():
    rng = np.random.default_rng(5)
    q, x = hinge.random_configuration(TREE, 5), others(TREE, rng)
    held = rng.integers(0, 2, TREE.nv).astype(float)
    flat = {name: values.ravel() for name, values in x.items()}
    wanted = hinge.mass_matrix(hinge.with_parameters(TREE, **x), q)
    for own in (False, True):
        binding = bind(TREE, Needs(own_frames=own, parameters=tuple(NAMES)), prescribed=None)
        system = system_of(binding, {"q": q, "held": held, **flat})
        assert np.allclose(system.matrix(H @ phi @ M @ phi.T @ H.T), wanted, **CLOSE)


def test_what_no_robot_can_have_is_named():
    x = {n: np.tile(v, (2,) + (1,) * v.ndim) for n, v in {
        "inertias": hinge.inertial_parameters(EVERY), "placements": hinge.placement_parameters(EVERY),
        "rotors": EVERY.reflected_inertia, "friction": hinge.friction_parameters(EVERY),
    }.items()}  # fmt: skip
    assert hinge.check_parameters(EVERY, **x) == []
    names = [j.name for j in EVERY.joints]
    x["placements"][1, 2, :4] *= 1.1
    x["placements"][0, 3, 5] = np.inf
    x["rotors"][1, 0] = -0.5
    x["friction"][0, 1, 2] = np.nan
    x["inertias"][0, 0, 0] = -1.0
    found = hinge.check_parameters(EVERY, **x)
    assert len(found) == 5
    assert "-1 kg" in found[0]
    assert found[1] == f"joint {names[3]!r} of set [0]: its placement is not finite"
    wanted = f"joint {names[2]!r} of set [1]: expected a unit quaternion in its placement, got norm 1.1"
    assert found[2] == wanted
    assert "of set [1]: expected rotors finite and ≥ 0, got -0.5" in found[3]
    assert "of set [0]: expected stiffness finite and ≥ 0, got nan" in found[4]


def test_bad_arguments_are_named():
    with pytest.raises(ArgumentError, match="parameters: 'friction' is not in the expression"):
        hinge.compile("forward_dynamics", PANDA, parameters=["friction"])
    n = len(PANDA.bodies)
    with pytest.raises(ArgumentError, match=rf"placements: expected shape \(…, {n}, 7\), got \(7,\)"):
        hinge.with_parameters(PANDA, placements=np.ones(7))
    with pytest.raises(ArgumentError, match=r"rotors: expected one set of shape .*, got"):
        hinge.with_parameters(PANDA, rotors=np.ones((2, PANDA.nv)))
    f = hinge.compile("mass_matrix", PANDA, target="numpy", parameters=["placements"])
    with pytest.raises(ArgumentError, match=rf"placements: expected shape \(…, {n}, 7\), got \(1, 7\)"):
        f(np.zeros(PANDA.nq), placements=np.ones((1, 7)))
    with pytest.raises(ArgumentError, match="merged: expected False with parameter 'placements', got True"):
        bind(PANDA, Needs(merged=True, parameters=("placements",)))
