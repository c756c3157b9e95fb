from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from hinge.algebra import (
    E0,
    B,
    Body,
    D,
    E,
    H,
    Hp,
    Joint,
    M,
    Node,
    One,
    Passive,
    Structure,
    Ups,
    World,
    a,
    b,
    f_ext,
    g,
    identity,
    leaf,
    leaves,
    phi,
    psi,
    qd,
    qdd,
    tau,
    tau_p,
)
from hinge.binding import Needs, bind
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.kernels import count
from hinge.model import Builder, joints
from hinge.pipeline import as_given, derive
from hinge.robots import chain, panda, quadruped, random_tree
from hinge.spatial import Inertia
from hinge.sweeps import DenseCall, Slot, family, symmetric_inverse, trace
from hinge.sweeps.factor import half_solved, inverse_factor, scaled_by_pivots, solved
from hinge.targets import NumpyProgram
from tests.sweeps.expressions import OWN, SHAPES, compliance, forward, mass, node
from tests.sweeps.models import code, distance, every_joint_type, matrices, model, state

D_body = H.T @ D @ H
#: A dense solve wants one node that can move in all ways, so these robots have a free base.
SOLVED = ("operational-space inertia", "weighted pseudoinverse")
FREE = 1, {"nodes": ("tip",)}


@cache
def models(name):
    """Return the models on which an expression is judged; some of the joints are prescribed."""
    if name in SOLVED:
        return (model(FREE[0], 5, **FREE[1]),)
    return model(2, 6), model(5, 5, branching=0.7)


def check(binding, expressions, seed=0, *, tolerance=1e-11, given=None):
    """Compare traced code with explicit matrices at a random state."""
    program, _, run = code(binding, expressions if given is None else given)
    inputs = state(binding, seed, program.inputs)
    named = expressions if isinstance(expressions, dict) else {"y": expressions}
    own = [x for x in OWN if any(x in leaves(e) for e in named.values())]
    wanted = matrices(binding, named, inputs, own)
    found = run(inputs)
    assert set(found) == set(named)
    for name in named:
        assert distance(found[name], wanted[name]) < tolerance, name
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_code_gives_the_numbers_of_the_matrices(name):
    for binding in models(name):
        check(binding, SHAPES[name][0], tolerance=1e-9)


#: Without a search there is no program, or no number that NumPy can run.
NOT_AS_GIVEN = ("log determinant", "log determinants", "a quadratic form of the inverse")


@pytest.mark.parametrize("name", [n for n in list(SHAPES)[::2] if n not in NOT_AS_GIVEN])
def test_code_of_what_is_given_gives_the_same_numbers(name):
    e = SHAPES[name][0]
    check(models(name)[0], e, tolerance=1e-8, given=as_given(e))


def test_a_scalar_beside_a_dense_solve():
    e = tau.T @ mass.inv() @ tau
    check(model(2, 4, nodes=(), prescribed=()), e, given=as_given(e))


EVERY = (
    forward,
    mass,
    *(
        SHAPES[name][0]
        for name in (
            "inverse dynamics",
            "node accelerations",
            "passive accelerations",
            "momentum",
            "kinetic energy",
        )
    ),
)


@pytest.mark.parametrize("seed", [1, 2])
def test_every_joint_type(seed):
    binding = every_joint_type(seed)
    assert {j.type.kind for j in binding.robot.joints} == set(joints.JOINT_TYPES)
    for e in EVERY:
        check(binding, e, seed, tolerance=1e-9)


@pytest.mark.parametrize("expressed", ["body", "world", "world-aligned"])
def test_axes_of_the_nodes(expressed):
    binding = model(3, 5, expressed=expressed)
    names = ("Jacobian in the world", "node velocities", "node accelerations")
    check(binding, {n.replace(" ", "_"): SHAPES[n][0] for n in names})


def test_several_outputs_share_code():
    binding = model(2, 6)
    both = {"qdd": forward, "node": SHAPES["node velocities"][0], "energy": SHAPES["kinetic energy"][0]}
    check(binding, both)
    together = code(binding, both)[1].operations().total
    apart = sum(code(binding, e)[1].operations().total for e in both.values())
    assert together < 0.9 * apart


def test_batches():
    binding = model(2, 5)
    program, _, run = code(binding, {"qdd": forward, "mass": mass, "energy": SHAPES["kinetic energy"][0]})
    singles = [state(binding, seed, program.inputs) for seed in range(3)]
    batch = {name: np.stack([s[name] for s in singles]) for name in singles[0]}
    found = run(batch)
    for k, single in enumerate(singles):
        for name, value in run(single).items():
            np.testing.assert_allclose(found[name][k], value, rtol=1e-12, atol=1e-12)


def test_a_batch_of_dense_solves():
    binding = models(SOLVED[0])[0]
    program, _, run = code(binding, compliance.inv() @ node @ forward)
    singles = [state(binding, seed, program.inputs) for seed in range(2)]
    found = run({name: np.stack([s[name] for s in singles]) for name in singles[0]})["y"]
    for k, single in enumerate(singles):
        np.testing.assert_allclose(found[k], run(single)["y"], rtol=1e-9)


# The kernel of chains.

SPLIT = B.T @ (Ups @ psi + psi.T @ Ups - Ups) @ B


@pytest.mark.parametrize("seed", [1, 4])
def test_the_compliance_kernel_on_a_chain(seed):
    binding = model(seed, 6, branching=0.0)
    split, whole = check(binding, SPLIT, tolerance=1e-9)["y"], check(binding, compliance, tolerance=1e-9)["y"]
    np.testing.assert_allclose(split, whole, rtol=1e-7, atol=1e-9)


def test_a_derivation_for_chains_gives_the_numbers_of_the_matrices():
    inertia = compliance.inv()
    for e, binding in (
        (compliance, model(4, 6, branching=0.0)),
        (inertia, model(1, 5, branching=0.0, nodes=("tip",))),
        (SHAPES["S_aa"][0], model(4, 5, branching=0.0)),
    ):
        check(binding, e, tolerance=1e-8, given=derive(e, serial=True))


# Dead code.


def operations(robot, e, **options):
    return trace(derive(e).program, bind(robot, **options)).operations().total


def arm(offset):
    """Return three links on axes across each other, the joints an offset apart."""
    builder = Builder("arm")
    parent = None
    for k, axis in enumerate(((0, 0, 1), (0, 1, 0), (1, 0, 0))):
        inertia = Inertia.from_com(1.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.2, 0.1]))
        shift = offset * np.array([0.2, 0.3, 0.4])
        parent = builder.body(
            f"link{k}", joint=joints.Revolute(axis), parent=parent, inertia=inertia, position=shift
        )
    return builder.build()


def test_linear_velocities_are_not_computed_where_nothing_reads_them():
    near, far = arm(0.0), arm(1.0)
    assert operations(near, phi.T @ H.T @ qd) < operations(far, phi.T @ H.T @ qd)
    assert operations(near, b) == operations(far, b)  # b is a function of the angular velocity alone
    motion = {"a": a, "b": b}
    assert operations(far, motion) < operations(far, motion | {"v": phi.T @ H.T @ qd})
    assert operations(near, motion) <= operations(near, motion | {"v": phi.T @ H.T @ qd})


def test_an_output_that_only_some_bodies_have_is_computed_only_there():
    robot = random_tree(8, 4, branching=0.6)
    near, far = "body0", "body7"
    assert operations(robot, node @ qd, nodes=[near]) < operations(robot, node @ qd, nodes=[near, far])
    code_ = trace(derive(node @ qd).program, bind(robot, nodes=[near]))
    assert {c.body for c in code_.calls} == {0}


def test_gravity_along_an_axis_is_cheaper_than_in_all_directions():
    arm = panda()
    with_gravity = SHAPES["inverse dynamics"][0]
    without = H @ phi @ (M @ phi.T @ (H.T @ qdd + a) + b)
    assert operations(arm, without) < operations(arm, with_gravity)


def test_what_is_constant_is_no_slot():
    robot = chain(3)
    found = trace(derive(H @ M @ H.T).program, bind(robot))
    assert not any(isinstance(x, Slot) for x in found.results[0].values.flat)
    assert not found.calls
    assert found.operations().total == 0


def test_a_slot_is_stored_once_and_before_it_is_loaded():
    for e in (forward, mass, compliance.inv(), SHAPES["S_aa"][0]):
        found = trace(derive(e).program, model(1, 5, nodes=("tip",)))
        known = {s for slots in found.inputs.values() for s in slots}
        for call in found.calls:
            if isinstance(call, DenseCall):
                reads = {
                    x.index for part in (call.matrix, call.right) for x in part.flat if isinstance(x, Slot)
                }
                writes = [x.index for x in call.result.flat]
            else:
                reads, writes = set(call.loads), list(call.stores)
                assert len(call.loads) + len(call.params) == len(call.kernel.inputs)
                assert len(call.stores) == len(call.kernel.outputs)
            assert reads <= known
            assert not known & set(writes) and len(set(writes)) == len(writes)
            known |= set(writes)
        results = {x.index for r in found.results for x in r.values.flat if isinstance(x, Slot)}
        assert results <= known and max(known) < found.slots


def test_equal_kernels_are_shared_between_bodies():
    found = trace(derive(forward).program, bind(chain(12)))
    kernels = {c.kernel for c in found.calls}
    assert len(kernels) < len(found.calls) / 2


def test_operations_by_stage_add_up():
    found = trace(derive(forward).program, model(2, 5))
    parts = [found.operations(k).total for k in range(-1, len(derive(forward).program.stages) + 1)]
    assert sum(parts) == found.operations().total


# Errors.


def test_an_operator_that_cannot_be_given_is_named():
    w = leaf("W", Joint, World, Structure.DIAGONAL)
    e = w @ g
    with pytest.raises(UnboundLeafError, match=rf"W: is {w.range} ← {w.domain}"):
        code(model(2, 3, nodes=(), prescribed=()), e)


def test_an_operator_of_your_own():
    binding = model(2, 4, nodes=(), prescribed=())
    w = leaf("W", Joint, Joint, Structure.DIAGONAL)
    damping = np.diag(np.arange(1.0, binding.robot.nv + 1))
    inputs = state(binding, 1, (qd, tau))
    found = code(binding, mass.inv() @ (tau - w @ qd))[2]({**inputs, "W": damping.ravel()})["y"]
    direct = code(binding, mass.inv() @ tau)[2]({**inputs, "tau": inputs["tau"] - damping @ inputs["qd"]})[
        "y"
    ]
    np.testing.assert_allclose(found, direct, rtol=1e-10, atol=1e-12)


def test_a_hinge_without_inertia_is_named():
    builder = Builder("massless")
    builder.body("rod", joint=joints.Revolute((0, 0, 1)), inertia=Inertia.zero())
    robot = builder.build(strict=None)
    with pytest.raises(ArgumentError, match="carries no inertia, so its acceleration is not determined"):
        code(bind(robot), forward)
    assert code(bind(robot), mass)[2]({"q": np.zeros(1)})["y"] == 0


# Spaces of bodies: what goes in and what comes out is in the user's frames.


def nodes_everywhere(robot):
    return bind(robot, Needs(own_frames=True), nodes=[b.name for b in robot.bodies])


def test_vectors_of_bodies_come_out_in_the_frames_of_the_user():
    robot = random_tree(5, 6)
    binding = nodes_everywhere(robot)
    program, _, run = code(binding, {"bodies": phi.T @ H.T @ qd, "nodes": node @ qd})
    found = run(state(binding, 1, program.inputs))
    np.testing.assert_allclose(found["bodies"], found["nodes"], atol=1e-12)


def test_the_jacobian_of_all_bodies_comes_out_in_the_frames_of_the_user():
    binding = nodes_everywhere(random_tree(5, 6))
    found = code(binding, {"bodies": phi.T @ H.T, "nodes": node})[2](state(binding, 1, ()))
    np.testing.assert_allclose(found["bodies"], found["nodes"], atol=1e-12)


def test_forces_on_bodies_are_taken_in_the_frames_of_the_user():
    binding = nodes_everywhere(random_tree(5, 6))
    force = leaf("force", Body, One)
    program, _, run = code(binding, {"bodies": H @ phi @ force, "nodes": H @ phi @ B @ f_ext})
    inputs = state(binding, 1, program.inputs)
    inputs["force"] = inputs["f_ext"]
    found = run(inputs)
    np.testing.assert_allclose(found["bodies"], found["nodes"], atol=1e-12)


def test_inertias_come_out_in_the_frames_of_the_user():
    robot = random_tree(3, 6, rotors=False)
    binding = bind(robot, Needs(own_frames=True))
    found = code(binding, M)[2]({"q": state(binding, 1, ())["q"]})["y"]
    for i, body in enumerate(robot.bodies):
        at = slice(6 * i, 6 * i + 6)
        np.testing.assert_allclose(found[at, at], body.inertia.matrix(), atol=1e-12)


@pytest.mark.parametrize("e", [H @ E @ E @ H.T @ tau, E0 @ E @ H.T @ tau], ids=str)
def test_two_steps(e):
    check(model(2, 6), e)


@pytest.mark.parametrize("e", [H @ (M + D_body).inv() @ H.T @ tau, H @ (phi + psi).inv() @ b], ids=str)
def test_dense_solves_in_the_space_of_bodies(e):
    check(model(2, 4, nodes=(), prescribed=(), rotors=False), e)


SPACES = {
    "nodes": (identity(Node) + compliance).inv() @ node @ qd,
    "passive hinges": (identity(Passive) + Hp @ M @ Hp.T).inv() @ tau_p,
    "the world": (E0 @ phi @ M @ phi.T @ E0.T).inv() @ E0 @ phi @ M @ phi.T @ H.T @ qd,
    "the world, columns": (E0 @ phi @ M @ phi.T @ E0.T).inv() @ E0 @ phi @ M @ phi.T @ H.T,
}


@pytest.mark.parametrize("name", SPACES)
def test_dense_solves_in_every_other_space(name):
    check(model(2, 5), SPACES[name])


def test_row_vectors():
    check(model(2, 4, nodes=(), prescribed=()), qd.T @ mass)


# Inverses of small blocks.


@pytest.mark.parametrize("n", range(1, 7))
def test_the_symmetric_inverse(n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        root = rng.standard_normal((n, 2 * n))
        x = root @ root.T
        found = symmetric_inverse(x.astype(object)).astype(float)
        np.testing.assert_allclose(found, np.linalg.inv(x), rtol=1e-9, atol=1e-11)
        np.testing.assert_array_equal(found, found.T)
        kept = x.copy()
        symmetric_inverse(x)
        np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize("columns", [(), (4,)])
def test_products_with_an_inverse_go_by_its_factors(n, columns):
    rng = np.random.default_rng(n)
    root, y = rng.standard_normal((n, 2 * n)), rng.standard_normal((n, *columns))
    x, given = root @ root.T, y.astype(object)
    factor = inverse_factor(x.astype(object))
    wanted = np.linalg.solve(x, y)
    np.testing.assert_allclose(solved(factor, given).astype(float), wanted, rtol=1e-9, atol=1e-11)
    half = half_solved(factor, given)
    squares = (half.T @ scaled_by_pivots(factor, half)) * np.ones(1)
    np.testing.assert_allclose(squares.astype(float), (y.T @ wanted) * np.ones(1), rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(given, y)


def test_the_inverse_at_a_free_joint_is_not_written_out():
    builder = Builder("floating")
    builder.body("base", joint=joints.Free(), inertia=Inertia.from_com(1.0, (0, 0, 0), np.eye(3)))
    lever = Inertia.from_com(1.0, (0.3, 0.1, 0.2), np.eye(3))
    builder.body("lever", parent="base", joint=joints.Revolute((0, 0, 1)), inertia=lever)
    found = trace(derive(forward).program, bind(builder.build()))
    assert found.operations().divisions <= 6, "one for each pivot that is not known"
    assert found.operations_by_body()[1, 0].total <= 151, "an inverse that is written out takes 70 more"


def test_the_symmetric_inverse_of_nothing_and_of_zero():
    assert symmetric_inverse(np.zeros((0, 0))).shape == (0, 0)
    with pytest.raises(ZeroDivisionError):
        symmetric_inverse(np.array([[0.0]], dtype=object))


def test_the_code_runs_without_a_robot_that_moves():
    builder = Builder("rock")
    builder.body("rock", inertia=Inertia.from_com(1.0, (0, 0, 0), np.eye(3)))
    binding = bind(builder.build())
    program = derive(forward).program
    found = NumpyProgram(trace(program, binding))(
        {"q": np.zeros(0), "qd": np.zeros(0), "tau": np.zeros(0), "f_ext": np.zeros(0), "g": np.zeros(6)}
    )
    assert found["y"].shape == (0,)
    assert binding.length(g.range) == 6 and D.range is Joint


# Wide reads.


@pytest.fixture
def wide(monkeypatch):
    """Let columns be read wide from the first on."""
    monkeypatch.setattr(family, "MOST_TRACED", -1)


@pytest.mark.parametrize("name", SHAPES)
def test_code_with_wide_reads_gives_the_numbers_of_the_matrices(name, wide):
    for binding in models(name):
        check(binding, SHAPES[name][0], tolerance=1e-9)


def test_wide_reads_make_fewer_kernels_and_no_more_work(monkeypatch):
    robot = quadruped()
    binding = bind(robot, nodes=tuple(b.name for b in robot.bodies))
    program = derive(compliance).program
    plain = trace(program, binding)
    monkeypatch.setattr(family, "MOST_TRACED", -1)
    shared = trace(program, binding)
    kernels = [sum(count(k).total for k in {c.kernel for c in code.calls}) for code in (plain, shared)]
    assert kernels[1] < 0.9 * kernels[0]
    assert shared.operations().total < 1.05 * plain.operations().total
    q = {"q": np.random.default_rng(0).normal(size=(3, robot.nq))}
    wanted, found = (NumpyProgram(code)(q) for code in (plain, shared))
    assert distance(found["y"], wanted["y"]) < 1e-11
