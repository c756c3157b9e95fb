from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge import dynamics, reference, robots
from hinge.algebra import (
    E0,
    B,
    Body,
    Di,
    H,
    Joint,
    K,
    M,
    Node,
    One,
    Structure,
    World,
    a,
    b,
    f_ext,
    g,
    identity,
    leaf,
    logdet,
    phi,
    psi,
    qd,
    qdd,
)
from hinge.dynamics import CATALOGUE, Compiled, cached
from hinge.model import Builder, joints
from hinge.spatial import force_cross
from hinge.testing import random_state
from tests.dynamics.zoo import (
    BOUND,
    classical,
    entries,
    mass,
    matrix,
    robot_of,
    some_frames,
    state_of,
    tip_of,
)
from tests.expressions import JACOBIAN, MASS

ALPHA = phi.T @ (H.T @ qdd + a)
ROBOTS = ("panda", "partial_rotors", "framed", "two_roots", "rerooted")
#: Robots whose bodies have their frames at the joints ("chain", "partial_rotors"), and elsewhere.
PLACED = ("chain", "partial_rotors", "framed", "tree3")


def operations(compiled):
    return compiled.code.operations().total


# Several at once.


def test_expressions_together_give_what_they_give_alone():
    robot, tip = robot_of("framed"), tip_of(robot_of("framed"))
    verbs = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy", "jacobian", "momentum")
    expressions = {v: CATALOGUE[v] for v in verbs}
    together = hinge.compile(expressions, robot, nodes=[tip])
    s, push = random_state(robot, 1, 3), np.random.default_rng(1).standard_normal((3, 1, 6))
    vectors = {"qd": s.qd, "qdd": s.qdd, "tau": s.tau, "f_ext": push}
    found = together(s.q, **vectors, gravity=(1.0, 2.0, 3.0))
    assert list(found) == list(verbs)
    apart = {v: hinge.compile(e, robot, nodes=[tip]) for v, e in expressions.items()}
    for v, f in apart.items():
        own = {n: x for n, x in vectors.items() if n in f.inputs}
        alone = f(s.q, **own, **({"gravity": (1.0, 2.0, 3.0)} if "g" in f.inputs else {}))
        assert found[v].shape == alone.shape
        assert np.allclose(found[v], alone, rtol=1e-12, atol=1e-12 * np.abs(alone).max()), v
    assert operations(together) < sum(map(operations, apart.values()))


def test_shared_work_is_done_once():
    robot = robot_of("panda")
    one = hinge.compile(CATALOGUE["bias_force"], robot)
    twice = hinge.compile({"once": CATALOGUE["bias_force"], "again": CATALOGUE["bias_force"]}, robot)
    assert operations(twice) == operations(one)
    parts = {"m": MASS, "c": CATALOGUE["coriolis_force"], "w": CATALOGUE["gravity_force"]}
    apart = sum(operations(hinge.compile(e, robot)) for e in parts.values())
    assert operations(hinge.compile(parts, robot)) < 0.95 * apart


def test_a_sequence_gives_a_dict_by_number_and_a_single_one_an_array():
    robot = robot_of("chain")
    q = np.zeros(robot.nq)
    found = hinge.compile([MASS, MASS.inv()], robot)(q)
    assert list(found) == ["y1", "y2"]
    assert np.allclose(found["y1"] @ found["y2"], np.eye(robot.nv))
    assert np.array_equal(hinge.compile(MASS, robot)(q), found["y1"])


def test_a_derivation_may_be_compiled_for_several_robots():
    derived = hinge.derive(CATALOGUE["forward_dynamics"])
    for name in ("chain", "framed"):
        robot = robot_of(name)
        s = random_state(robot, 1)
        f = hinge.compile(derived, robot)
        assert f.derivation is derived
        assert np.allclose(f(s.q, s.qd, tau=s.tau), dynamics.forward_dynamics(robot, s.q, s.qd, s.tau))


# Inputs.


@pytest.mark.parametrize("name", ROBOTS)
def test_a_vector_of_ones_own_is_an_argument(name):
    robot, s = robot_of(name), state_of(name)
    u = leaf("u", Joint, One, meaning="what the motors do")
    f = hinge.compile({"force": MASS @ (u - qd), "power": qd.T @ u, "free": MASS.inv() @ u}, robot)
    assert set(f.inputs) == {"u", "qd"}
    found = f(s.q, s.qd, u=s.tau)
    m = reference.mass_matrix(robot, s.q)
    assert entries(found["force"], np.einsum("kij,kj->ki", m, s.tau - s.qd)) < BOUND
    assert entries(found["power"], (s.qd * s.tau).sum(axis=-1)) < BOUND
    back = np.einsum("kij,kj->ki", m, found["free"])
    assert entries(back, s.tau) < 1e-8


def test_a_vector_of_the_world_is_an_argument():
    robot, s = robot_of("framed"), state_of("framed")
    w = leaf("w", World, One)
    f = hinge.compile(H @ phi @ M @ phi.T @ E0.T @ w, robot)
    base = np.array([0.3, -0.1, 0.2, 1.0, 2.0, 3.0])
    rows = [
        np.linalg.multi_dot(
            [reference.jacobian(robot, s.q[0], n.name).T, n.inertia.matrix(), x.matrix(), base]
        )
        for n, x in zip(robot.bodies, reference.forward_kinematics(robot, s.q[0]), strict=True)
    ]
    assert np.allclose(f(s.q[0], w=base), sum(rows))


@pytest.mark.parametrize("name", ["framed", "partial_rotors"])
def test_a_block_diagonal_operator_of_ones_own_is_an_argument(name):
    robot, s = robot_of(name), state_of(name)
    gear, spring = (leaf(x, Joint, Joint, Structure.DIAGONAL) for x in ("gear", "spring"))
    f = hinge.compile({"force": gear @ MASS @ qd + spring @ qd, "square": spring.T @ MASS @ spring}, robot)
    rng, given = np.random.default_rng(1), dict[str, np.ndarray]()
    for x in ("gear", "spring"):
        given[x] = np.zeros((4, robot.nv, robot.nv))
        for j in robot.joints:
            given[x][:, j.qd_slice, j.qd_slice] = rng.standard_normal((4, j.nv, j.nv))
    found = f(s.q, s.qd, **given)
    m = reference.mass_matrix(robot, s.q)
    force = np.einsum("kij,kj->ki", given["gear"] @ m + given["spring"], s.qd)
    assert matrix(found["force"], force) < BOUND
    assert matrix(found["square"], np.swapaxes(given["spring"], -1, -2) @ m @ given["spring"]) < BOUND


def test_a_spring_between_nodes_and_the_world_is_an_argument():
    robot, s = robot_of("framed"), state_of("framed")
    spring, nodes = leaf("spring", Node, Node, Structure.DIAGONAL), ["tip", "upper_mark"]
    f = hinge.compile(JACOBIAN.T @ spring @ JACOBIAN, robot, nodes=nodes)
    blocks = np.random.default_rng(1).standard_normal((2, 6, 6))
    given = np.zeros((12, 12))
    given[:6, :6], given[6:, 6:] = blocks
    j = [reference.jacobian(robot, s.q, n) for n in nodes]
    wanted = sum(np.swapaxes(x, -1, -2) @ k @ x for x, k in zip(j, blocks, strict=True))
    assert matrix(f(s.q, spring=given), wanted) < BOUND


def test_the_number_of_arguments_is_that_of_the_letters():
    f = hinge.compile(CATALOGUE["forward_dynamics"], robot_of("chain"), nodes=["tip"])
    assert set(f.inputs) == {"qd", "tau", "g", "f_ext"}
    text = repr(f)
    assert "chain(6)" in text and "gravity" in text and "tau" in text and "f_ext" in text


# Nodes.


@pytest.mark.parametrize("name", ROBOTS)
def test_nodes_come_in_the_order_that_they_were_asked_for(name):
    robot, s = robot_of(name), state_of(name)
    nodes = some_frames(robot)
    rows = hinge.compile({"v": JACOBIAN @ qd, "J": JACOBIAN}, robot, nodes=nodes)(s.q, s.qd)
    assert rows["v"].shape == (4, len(nodes), 6) and rows["J"].shape == (4, 6 * len(nodes), robot.nv)
    for k, node in enumerate(nodes):
        j = reference.jacobian(robot, s.q, node)
        assert matrix(rows["J"][:, 6 * k : 6 * k + 6], j) < BOUND
        assert matrix(rows["v"][:, k], np.einsum("kij,kj->ki", j, s.qd)) < BOUND


@pytest.mark.parametrize("name", ROBOTS)
def test_forces_on_nodes_are_rows_in_their_axes(name):
    robot, s = robot_of(name), state_of(name)
    nodes = some_frames(robot)
    f = hinge.compile(H @ phi @ B @ f_ext, robot, nodes=nodes)
    push = np.random.default_rng(1).standard_normal((4, len(nodes), 6))
    wanted = sum(
        np.einsum("kij,ki->kj", reference.jacobian(robot, s.q, n), push[:, k]) for k, n in enumerate(nodes)
    )
    assert matrix(f(s.q, f_ext=push), wanted) < BOUND


def test_a_node_may_have_a_vector_of_its_own():
    robot, s = robot_of("framed"), state_of("framed")
    pull = leaf("pull", Node, One)
    f = hinge.compile(H @ phi @ B @ (f_ext - pull), robot, nodes=["tip"])
    x, y = np.random.default_rng(1).standard_normal((2, 4, 1, 6))
    wanted = np.einsum("kij,ki->kj", reference.jacobian(robot, s.q, "tip"), (x - y)[:, 0])
    assert matrix(f(s.q, f_ext=x, pull=y), wanted) < BOUND


@pytest.mark.parametrize("name", ["partial_rotors", "quadruped", "spacecraft"])
def test_the_operational_space_inertia_agrees_with_dense_algebra(name):
    robot, s = robot_of(name), state_of(name)
    found = hinge.compile((JACOBIAN @ MASS.inv() @ JACOBIAN.T).inv(), robot, nodes=[tip_of(robot)])(s.q)
    j = reference.jacobian(robot, s.q, tip_of(robot))
    dense = np.linalg.inv(j @ np.linalg.solve(reference.mass_matrix(robot, s.q), np.swapaxes(j, -1, -2)))
    assert found.shape == (4, 6, 6) and mass(found, dense) < 1e-8


def test_the_operational_space_inertia_acts_on_vectors():
    robot, s = robot_of("spacecraft"), state_of("spacecraft")
    push = leaf("push", Node, One)
    hands = ["left_hand", "right_hand"]
    f = hinge.compile((JACOBIAN @ MASS.inv() @ JACOBIAN.T).inv() @ push, robot, nodes=hands)
    given = np.random.default_rng(1).standard_normal((4, 2, 6))
    j = np.concatenate([reference.jacobian(robot, s.q, n) for n in hands], axis=-2)
    compliance = j @ np.linalg.solve(reference.mass_matrix(robot, s.q), np.swapaxes(j, -1, -2))
    dense = np.linalg.solve(compliance, given.reshape(4, 12, 1)).reshape(4, 2, 6)
    found = f(s.q, push=given)
    assert found.shape == (4, 2, 6) and matrix(found, dense) < 1e-8


# Bodies.


@pytest.mark.parametrize("name", PLACED)
def test_velocities_of_bodies_are_in_their_own_frames(name):
    robot = robot_of(name)
    s = random_state(robot, 1, 3)
    found = hinge.compile(phi.T @ H.T @ qd, robot)(s.q, s.qd)
    assert found.shape == (3, len(robot.bodies), 6)
    wanted = np.broadcast_arrays(*reference.velocities(robot, s.q, s.qd), np.zeros((3, 6)))[:-1]
    assert matrix(found, np.stack(wanted, axis=-2)) < BOUND


@pytest.mark.parametrize("name", PLACED)
def test_accelerations_of_bodies_are_those_of_their_own_origins(name):
    robot = robot_of(name)
    s = random_state(robot, 1, 3)
    found = hinge.compile(ALPHA, robot)(s.q, s.qd, qdd=s.qdd)
    assert matrix(found, classical(robot, s.q, s.qd, s.qdd)) < BOUND


@pytest.mark.parametrize("name", PLACED)
def test_forces_between_bodies_are_in_their_own_frames(name):
    robot = robot_of(name)
    s = random_state(robot, 1, 3)
    e = phi @ (M @ (ALPHA + phi.T @ E0.T @ g) + b)
    found = hinge.compile(e, robot)(s.q, s.qd, qdd=s.qdd)
    v = reference.velocities(robot, s.q, s.qd)
    acc = reference.accelerations(robot, s.q, s.qd, s.qdd, base=[0, 0, 0, *-robot.gravity])
    x = reference.link_transforms(robot, s.q)
    forces = [
        n.inertia.apply(ai) + force_cross(vi, n.inertia.apply(vi))
        for n, vi, ai in zip(robot.bodies, v, acc, strict=True)
    ]
    for i in reversed(range(len(forces))):
        if robot.tree.parents[i] >= 0:
            forces[robot.tree.parents[i]] = forces[robot.tree.parents[i]] + x[i].inv().force(forces[i])
    wanted = np.stack(np.broadcast_arrays(*forces, np.zeros((3, 6)))[:-1], axis=-2)
    assert found.shape == wanted.shape and matrix(found, wanted) < BOUND


@pytest.mark.parametrize("name", PLACED)
def test_vectors_of_bodies_that_come_in_are_in_their_own_frames(name):
    robot = robot_of(name)
    s = random_state(robot, 1)
    push = np.random.default_rng(1).standard_normal((len(robot.bodies), 6))
    found = hinge.compile(H @ phi @ leaf("w", Body, One), robot)(s.q, w=push)
    wanted = sum(
        reference.jacobian(robot, s.q, n.name).T @ w for n, w in zip(robot.bodies, push, strict=True)
    )
    assert matrix(found, wanted) < BOUND


@pytest.mark.parametrize("name", PLACED)
def test_operators_of_bodies_are_in_their_own_frames(name):
    robot = robot_of(name)
    s = random_state(robot, 1)
    found = hinge.compile(phi.T @ H.T, robot)(s.q)
    wanted = np.concatenate([reference.jacobian(robot, s.q, n.name) for n in robot.bodies])
    assert found.shape == wanted.shape and matrix(found, wanted) < BOUND


# Other expressions.


@pytest.mark.parametrize("name", [*ROBOTS, "tree3", "quadruped"])
def test_the_log_determinant_of_the_mass_matrix(name):
    robot, s = robot_of(name), state_of(name)
    sign, dense = np.linalg.slogdet(reference.mass_matrix(robot, s.q))
    found = hinge.compile(logdet(MASS), robot)(s.q)
    assert (sign == 1).all() and found.shape == (4,) and np.allclose(found, dense, rtol=0, atol=1e-9)
    assert np.isclose(hinge.compile(logdet(MASS), robot)(s.q[0]), dense[0], rtol=0, atol=1e-9)


def test_a_log_determinant_may_stand_beside_other_expressions():
    robot, s = robot_of("chain"), state_of("chain")
    found = hinge.compile({"l": logdet(MASS), "m": MASS}, robot)(s.q)
    assert np.allclose(found["l"], np.linalg.slogdet(found["m"])[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_factors_of_the_mass_matrix_may_be_asked_for(name):
    robot, s = robot_of(name), state_of(name)
    whiten = identity(Joint) - H @ psi @ K
    found = hinge.compile({"W": whiten, "Di": Di}, robot)(s.q)
    inverse = np.swapaxes(found["W"], -1, -2) @ found["Di"] @ found["W"]
    m = reference.mass_matrix(robot, s.q)
    assert matrix(inverse @ m, np.broadcast_to(np.eye(robot.nv), m.shape)) < 1e-8


@pytest.mark.parametrize("name", ["FD1", "FD3", "FD4"])
def test_the_published_forms_of_forward_dynamics_agree(name):
    robot, s = robot_of("partial_rotors"), state_of("partial_rotors")
    found = hinge.compile(dynamics.FORWARD_DYNAMICS[name], robot)(s.q, s.qd, tau=s.tau)
    wanted = reference.forward_dynamics(robot, s.q, s.qd, s.tau, gravity=(0, 0, 0))
    assert entries(found, wanted) < 1e-9


def test_prescribed_joints_split_the_mass_matrix():
    from hinge.algebra import Ha, Hp

    robot, s = robot_of("partial_rotors"), state_of("partial_rotors")
    held = [j.name for j in robot.joints[1::2]]
    blocks = {"pp": Hp @ phi @ M @ phi.T @ Hp.T, "pa": Hp @ phi @ M @ phi.T @ Ha.T}
    found = hinge.compile(blocks, robot, prescribed=held)(s.q)
    mask = np.zeros(robot.nv, dtype=bool)
    for name in held:
        mask[robot.joint(name).qd_slice] = True
    m = reference.mass_matrix(robot, s.q)
    assert matrix(found["pp"], m[:, ~mask][:, :, ~mask]) < BOUND
    assert matrix(found["pa"], m[:, ~mask][:, :, mask]) < BOUND


# What it says of itself.


def test_explain_tells_the_derivation_the_sweeps_and_the_counts():
    f = dynamics.compiled(robot_of("puma560"), "forward_dynamics")
    text = f.explain()
    assert "step 1:" in text and "JPL 88-11" in text and "given" in text
    assert "tip to base" in text and "base to tip" in text
    assert "for robot 'puma560'" in text and str(f.code.operations()) in text
    assert text.count(" mul, ") == 2 + len(f.derivation.program.stages)


def test_explain_begins_with_what_was_given():
    for e in (qd, MASS, MASS @ qd):
        assert hinge.compile(e, robot_of("chain")).explain().startswith("given")


def test_explain_names_a_dense_solve():
    robot = robot_of("chain")
    e = (JACOBIAN @ MASS.inv() @ JACOBIAN.T).inv()
    assert "dense solve" in hinge.compile(e, robot, nodes=["tip"]).explain()


@pytest.mark.parametrize("verb", ["inverse_dynamics", "mass_matrix_inverse", "kinetic_energy"])
def test_the_counts_that_explain_gives_add_up(verb):
    f = dynamics.compiled(robot_of("puma560"), verb)
    text = f.explain()
    rows = [line for line in text.splitlines() if " mul, " in line]
    numbers = [int(line.split(" mul")[0].split()[-1]) for line in rows]
    assert numbers[0] == sum(numbers[1:]) == f.code.operations().multiplications


def test_compiled_code_is_kept_for_a_robot_but_not_without_bound():
    robot = robots.chain(2)
    f = dynamics.compiled(robot, "mass_matrix")
    assert isinstance(f, Compiled) and f.robot is robot
    assert dynamics.compiled(robot, "mass_matrix") is f
    assert dynamics.compiled(robots.chain(2), "mass_matrix") is not f
    memory = cached.Memory()
    for k in range(cached.CAPACITY + 9):
        assert memory.put(k, str(k)) == str(k)
        assert memory.get(0) == "0"  # what is used is kept
    assert len(memory) == cached.CAPACITY and 8 not in memory and cached.CAPACITY + 8 in memory
    dynamics.forget()
    assert not any(map(len, (memory, cached.PROGRAMS, cached.CALLS, cached.JOINT_PROGRAMS)))
    cached._MEMORIES.remove(memory)


# Costs.


@pytest.fixture(scope="module")
def chains():
    return {n: robots.chain(n) for n in (10, 20, 30, 40)}


@pytest.mark.parametrize("verb", ["inverse_dynamics", "forward_dynamics", "bias_force", "momentum"])
def test_sweeps_cost_the_same_for_each_body(chains, verb):
    ten, twenty, forty = (operations(dynamics.compiled(chains[n], verb)) for n in (10, 20, 40))
    assert forty - twenty == 2 * (twenty - ten) > 0


def test_the_mass_matrix_of_a_chain_costs_the_square_of_its_length(chains):
    counts = [operations(dynamics.compiled(r, "mass_matrix")) for r in chains.values()]
    assert len(set(np.diff(counts, 2))) == 1 and np.diff(counts, 2)[0] > 0


def comb(legs, depth):
    """Return equal legs on a hub that floats."""
    made, rod = Builder("comb"), robots.solid_rod(1.0, 0.2, 0.02, (0, 0, 0.1))
    made.body("hub", joint=joints.Free(), inertia=rod)
    for leg in range(legs):
        parent = "hub"
        for k in range(depth):
            parent = made.body(
                f"leg{leg}_{k}", joint=joints.Revolute((k % 2, 1 - k % 2, 0)), parent=parent, inertia=rod,
                position=(0.1 * (leg + 1), 0.2, 0.3),
            )  # fmt: skip
    return made.build()


def test_the_mass_matrix_of_a_tree_costs_its_bodies_times_its_depth():
    legs = [operations(dynamics.compiled(comb(n, 4), "mass_matrix")) for n in (2, 4, 6)]
    depth = [operations(dynamics.compiled(comb(2, n), "mass_matrix")) for n in (2, 4, 6, 8)]
    assert np.diff(legs, 2)[0] == 0 and np.diff(depth, 3)[0] == 0
