"""Hybrid dynamics against the dense partition, the book, and the verbs that are its two ends."""

from __future__ import annotations

import runpy
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import hinge
from hinge import dynamics, reference
from hinge.algebra import (
    Body,
    E,
    H,
    Ha,
    Hp,
    Joint,
    M,
    Na,
    Np,
    Structure,
    identity,
    leaf,
    passive,
    phi,
    qdd,
    tau,
    whole,
    zero,
)
from hinge.dynamics import SEVERAL, Partition
from hinge.errors import ArgumentError, UnknownNameError
from hinge.pipeline import derive, prove
from hinge.rules import equation
from hinge.testing import State, random_state
from tests.dynamics.partitions import counted_programs, held_by, residual
from tests.dynamics.zoo import partial_rotors

BOUND = 1e-10
PANDA = hinge.robots.panda()
#: Free base, every kind of joint that its seed draws, rotors; and one with rotors on some directions only.
ROBOTS = {"panda": PANDA, "tree": hinge.robots.random_tree(5, 3), "partial_rotors": partial_rotors()}


def hybrid(robot, s, prescribed, **more):
    return dynamics.hybrid_dynamics(robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=prescribed, **more)


def every_second(robot):
    return [j.name for j in robot.joints[::2]]


def with_own_code(robot, names, verb="hybrid_dynamics"):
    """Return the names, and see to it that the set has code of its own."""
    dynamics.compiled(robot, verb, prescribed=names)
    return names


def fresh():
    """Return a robot for which nothing is compiled yet."""
    return hinge.robots.chain(4)


# The expression.


def test_the_partition_is_derived_to_the_slides_algorithm():
    found = derive(SEVERAL["hybrid_dynamics"].expressions)
    assert found.program.shape == "S G S"
    assert found.cost.solves == 0 and found.cost.passes == 3


PLACES = [
    *equation("rows", Hp, Np @ H, "a choice of rows"),
    *equation("rows", Ha, Na @ H, "a choice of rows"),
    *equation("parts", Np.T @ Np + Na.T @ Na, identity(Joint), "every coordinate is passive or active"),
    *equation("passive", Np @ Np.T, identity(Np.range), "a choice"),
    *equation("active", Na @ Na.T, identity(Na.range), "a choice"),
    *equation("apart", Np @ Na.T, zero(Np.range, Na.range), "no coordinate is both"),
]


def test_what_comes_out_solves_the_equation_of_motion():
    """𝓜 q̈ + C = τ for the full vectors that are returned, and what was given is in them."""
    e = SEVERAL["hybrid_dynamics"].expressions
    accelerations, forces = e["accelerations"], e["forces"]
    load = dynamics.CATALOGUE["bias_force"]
    assert prove(whole.mass @ accelerations + load, forces, axioms=[PLACES])
    assert prove(Na @ accelerations, Na @ qdd, axioms=[PLACES])
    assert prove(Np @ forces, Np @ tau, axioms=[PLACES])


def test_locks_make_room_for_what_is_prescribed():
    """With N and S that choose, and locks L that only Hₚ sees, the passive mass matrix is N 𝓜 N + S."""
    n, s = (leaf(x, Joint, Joint, Structure.DIAGONAL, self_adjoint=True) for x in ("chosen", "other"))
    lock = leaf("lock", Joint, Body, Structure.DIAGONAL)
    rows = leaf("rows", Joint, Body, Structure.DIAGONAL)
    facts = [
        *equation("rows", rows, n @ H + s @ lock, "what Hₚ is where the set is an input"),
        *equation("either", n + s, identity(Joint), "every coordinate is passive or active"),
        *equation("choice", s @ s, s, "zeros and ones"),
        *equation("not carried", E @ lock.T, zero(Body, Joint), "E takes nothing from locks"),
        *equation("not carried", lock @ E, zero(Joint, Body), "and gives nothing to them"),
        *equation("unit inertia", M @ lock.T, lock.T, "a lock has inertia 1 and touches nothing else"),
        *equation("apart", H @ lock.T, zero(Joint, Joint), "H does not see locks"),
        *equation("unit", lock @ lock.T, identity(Joint), "one lock for each coordinate"),
    ]
    assert prove(rows @ phi @ M @ phi.T @ rows.T, n @ whole.mass @ n + s, axioms=[facts])


# Numbers.


@pytest.mark.parametrize("name", ROBOTS)
def test_both_forms_agree_with_the_dense_partition_and_the_book(name):
    robot = ROBOTS[name]
    names, s = every_second(robot), random_state(robot, 2, (5,))
    held = held_by(robot, names)
    own, switched = hybrid(robot, s, with_own_code(robot, names)), hybrid(robot, s, held)
    assert residual(robot, s, own, held) < BOUND
    assert residual(robot, s, switched, held) < BOUND
    book = reference.hybrid_dynamics(robot, s.q, s.qd, s.tau, s.qdd, prescribed=names)
    for ours, theirs in zip(own, book, strict=True):
        assert np.abs(ours - theirs).max() < BOUND * np.abs(theirs).max()
    mask = np.random.default_rng(1).random((5, robot.nv)) < 0.5  # coordinates of one joint differ
    assert residual(robot, s, hybrid(robot, s, mask), mask) < BOUND


@pytest.mark.parametrize("as_mask", [False, True])
def test_the_two_ends_are_inverse_and_forward_dynamics(as_mask):
    robot = ROBOTS["tree"]
    s = random_state(robot, 4, (5,))
    everything, nothing = (with_own_code(robot, x) for x in ([j.name for j in robot.joints], []))
    if as_mask:
        everything, nothing = np.ones(robot.nv, dtype=bool), np.zeros(robot.nv, dtype=bool)
    accelerations, forces = hybrid(robot, s, everything)
    wanted = dynamics.inverse_dynamics(robot, s.q, s.qd, s.qdd)
    assert np.array_equal(accelerations, s.qdd)
    assert np.abs(forces - wanted).max() < 1e-13 * np.abs(wanted).max()
    accelerations, forces = hybrid(robot, s, nothing)
    wanted = dynamics.forward_dynamics(robot, s.q, s.qd, s.tau)
    assert np.array_equal(forces, s.tau)
    assert np.abs(accelerations - wanted).max() < 1e-12 * np.abs(wanted).max()


def test_with_nothing_prescribed_the_code_is_that_of_forward_dynamics():
    none = dynamics.compiled(PANDA, "hybrid_dynamics", prescribed=[])
    forward = dynamics.compiled(PANDA, "forward_dynamics")
    assert none.code.operations().total == forward.code.operations().total


def test_a_robot_that_cannot_move():
    robot = hinge.robots.random_tree(3, 2, ["fixed"])
    s = random_state(robot, 1, (2,))
    for prescribed in ([robot.joints[0].name], [], np.zeros(0, bool)):
        accelerations, forces = hybrid(robot, s, prescribed)
        assert accelerations.shape == forces.shape == (2, 0)


@pytest.mark.parametrize("shape", [(), (3, 4), (0,)])
def test_batches(shape):
    s, names = random_state(PANDA, 5, shape), with_own_code(PANDA, every_second(PANDA))
    for prescribed in (names, held_by(PANDA, names)):
        found = hybrid(PANDA, s, prescribed)
        assert found[0].shape == found[1].shape == (*shape, PANDA.nv)
        assert residual(PANDA, s, found, held_by(PANDA, names)) < BOUND


def test_one_state_and_many_sets():
    s, rng = random_state(PANDA, 6), np.random.default_rng(6)
    masks = rng.random((4, PANDA.nv)) < 0.5
    found = hybrid(PANDA, s, masks)
    assert found[0].shape == (4, PANDA.nv)
    assert residual(PANDA, s, found, masks) < BOUND


@pytest.mark.parametrize("as_mask", [False, True])
def test_gravity_and_external_forces(as_mask):
    robot = fresh()  # the names come first: they get code of their own
    s, names = random_state(robot, 7, 3), every_second(robot)
    more = {"external": {robot.bodies[-1].name: np.arange(6.0)}, "gravity": np.array([1.0, 2.0, -3.0])}
    held = held_by(robot, names)
    found = hybrid(robot, s, held if as_mask else names, **more)
    assert residual(robot, s, found, held, **more) < BOUND


@pytest.mark.parametrize("as_mask", [False, True])
def test_what_is_not_given_may_be_anything(as_mask):
    s, names = random_state(PANDA, 8, 3), with_own_code(PANDA, every_second(PANDA))
    held = held_by(PANDA, names)
    blank = State(s.q, s.qd, np.where(held, s.qdd, np.nan), np.where(held, np.inf, s.tau))
    prescribed = held if as_mask else names
    for one, other in zip(hybrid(PANDA, s, prescribed), hybrid(PANDA, blank, prescribed), strict=True):
        assert np.array_equal(one, other)


def test_single_precision():
    s, names = random_state(PANDA, 9, 3), with_own_code(PANDA, every_second(PANDA))
    small = State(*(np.asarray(x, np.float32) for x in (s.q, s.qd, s.qdd, s.tau)))
    for prescribed in (names, held_by(PANDA, names)):
        wanted, found = hybrid(PANDA, s, prescribed), hybrid(PANDA, small, prescribed)
        for one, other in zip(wanted, found, strict=True):
            assert other.dtype == np.float32
            assert np.abs(one - other).max() < 1e-4 * np.abs(one).max()


def test_the_numpy_target(monkeypatch):
    monkeypatch.setenv("HINGE_TARGET", "numpy")
    robot = hinge.robots.random_tree(4, 5)
    s, names = random_state(robot, 9, 3), every_second(robot)
    held = held_by(robot, names)
    for prescribed in (names, held):
        assert residual(robot, s, hybrid(robot, s, prescribed), held) < BOUND


# Which form is taken.


def test_a_change_of_the_set_compiles_nothing():
    robot = fresh()
    s, names = random_state(robot, 10), [j.name for j in robot.joints]
    sets = [names[:k] for k in range(len(names) + 1)]
    hybrid(robot, s, sets[3])  # the first has code of its own
    hybrid(robot, s, sets[1])  # and the second is the first of all others
    with counted_programs() as programs:
        for chosen in sets:
            held = held_by(robot, chosen)
            ways = (chosen, tuple(reversed(chosen)), set(chosen), np.array(chosen, dtype=str), held)
            for prescribed in (*ways, *ways):
                assert residual(robot, s, hybrid(robot, s, prescribed), held) < BOUND
        assert not programs
        dynamics.compiled(robot, "inverse_dynamics")
        assert programs  # what counts does count


def test_a_set_that_was_compiled_ahead_has_code_of_its_own(monkeypatch):
    robot = fresh()
    s, other = random_state(robot, 11), [robot.joints[1].name]
    hybrid(robot, s, every_second(robot))
    before = hybrid(robot, s, other)
    with_own_code(robot, other)
    taken = []
    form = import_module("hinge.dynamics.hybrid")._Switched
    monkeypatch.setattr(form, "__call__", lambda self, *args, **more: taken.append(self))
    after = hybrid(robot, s, other)
    assert not taken
    for x, y in zip(before, after, strict=True):
        assert np.abs(x - y).max() < BOUND * np.abs(x).max()
    hybrid(robot, s, [robot.joints[2].name])
    assert len(taken) == 1


def test_after_masks_no_list_of_names_compiles():
    robot = fresh()
    s, names = random_state(robot, 12), every_second(robot)
    hybrid(robot, s, held_by(robot, names))
    with counted_programs() as programs:
        hybrid(robot, s, names)
    assert not programs


def test_what_is_forgotten_is_compiled_again():
    robot = fresh()
    s, names = random_state(robot, 13), every_second(robot)
    before = hybrid(robot, s, names)
    dynamics.forget()
    with counted_programs() as programs:
        after = hybrid(robot, s, names)
    assert programs
    assert all(map(np.array_equal, before, after))


# The partitioned mass matrix.


@pytest.mark.parametrize("name", ["panda", "tree"])
def test_partitioned_quantities(name):
    robot = ROBOTS[name]
    names, s = every_second(robot), random_state(robot, 3, (2,))
    held = held_by(robot, names)
    m = reference.mass_matrix(robot, s.q)
    a, p = np.flatnonzero(held), np.flatnonzero(~held)
    pp = np.linalg.inv(m[:, p[:, None], p])
    ap = m[:, a[:, None], p] @ pp
    aa = m[:, a[:, None], a] - ap @ m[:, p[:, None], a]
    with_own_code(robot, names, "partitioned")
    for found in (dynamics.partitioned(robot, s.q, names), dynamics.partitioned(robot, s.q, held)):
        assert isinstance(found, Partition)
        assert np.array_equal(found.active, a) and np.array_equal(found.passive, p)
        for ours, theirs in ((found.S_aa, aa), (found.S_ap, ap), (found.S_pp, pp)):
            assert ours.shape == theirs.shape
            assert np.abs(ours - theirs).max(initial=0) < BOUND * np.abs(theirs).max(initial=0)
        assert np.array_equal(found.S_aa, np.swapaxes(found.S_aa, -1, -2))


def test_the_ends_of_the_partition():
    robot = fresh()
    q, nv = random_state(robot, 1).q, robot.nv
    nothing = dynamics.partitioned(robot, q, [])
    assert nothing.S_aa.shape == (0, 0) and nothing.S_ap.shape == (0, nv)
    inverse = dynamics.mass_matrix_inverse(robot, q)
    assert np.abs(nothing.S_pp - inverse).max() < BOUND * np.abs(inverse).max()
    names = with_own_code(robot, [j.name for j in robot.joints], "partitioned")
    for prescribed in (names, np.ones(nv, bool)):
        everything = dynamics.partitioned(robot, q, prescribed)
        assert everything.S_pp.shape == (0, 0) and everything.S_ap.shape == (nv, 0)
        m = dynamics.mass_matrix(robot, q)
        assert np.abs(everything.S_aa - m).max() < BOUND * np.abs(m).max()


def test_the_passive_mass_matrix_is_where_the_two_forms_differ():
    """The form that takes the set has rows for all coordinates, with ones for those that are prescribed."""
    robot, s = PANDA, random_state(PANDA, 2)
    f = hinge.compile(passive.mass, robot, prescribed=None)
    held = held_by(robot, every_second(robot)).astype(float)
    m = dynamics.mass_matrix(robot, s.q)
    n = np.diag(1 - held)
    assert np.allclose(f(s.q, held=held), n @ m @ n + np.diag(held), rtol=0, atol=1e-12)


# Wrong arguments.


S = random_state(PANDA, 0)
WRONG = {
    "text": (
        "lift",
        r"prescribed: expected a list of joint names, got the string 'lift'; did you mean \['lift'\]",
    ),
    "number": (
        3,
        r"prescribed: expected a list of joint names, or an array of booleans \(…, 7\), got int",
    ),
    "numbers": ([1, 2], "prescribed: expected a list of joint names, .*, got 1 among the names"),
    "lists": ([["a"]], r"prescribed: expected .*, got \['a'\] among the names"),
    "booleans in a list": (
        [True] * 7,
        "prescribed: expected .* array of booleans .*, got True among the names",
    ),
    "zeros and ones": (np.zeros(7), "prescribed: expected .* booleans .*, got dtype float64 and shape"),
    "too short": (np.zeros(6, bool), r"prescribed: expected .* \(…, 7\), got dtype bool and shape \(6,\)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_prescribed_must_be_names_or_booleans(case):
    prescribed, message = WRONG[case]
    with pytest.raises(ArgumentError, match=message):
        hybrid(PANDA, S, prescribed)
    with pytest.raises(ArgumentError, match=message):
        dynamics.partitioned(PANDA, S.q, prescribed)


def test_an_unknown_joint_is_named():
    with pytest.raises(UnknownNameError, match=r"prescribed: robot 'panda' has no joint 'lift'"):
        hybrid(PANDA, S, ["lift"])


@pytest.mark.parametrize("prescribed", [[], np.zeros(7, bool)], ids=["names", "mask"])
def test_wrong_vectors_are_named(prescribed):
    call = dynamics.hybrid_dynamics
    for name in ("tau", "qdd"):
        given = {"tau": S.tau, "qdd": S.qdd, name: np.zeros(6)}
        with pytest.raises(ArgumentError, match=rf"{name}: expected shape \(…, 7\), got \(6,\)"):
            call(PANDA, S.q, S.qd, prescribed=prescribed, **given)
        with pytest.raises(ArgumentError, match=rf"{name}: expected .*, got dtype"):
            call(PANDA, S.q, S.qd, prescribed=prescribed, **{**given, name: np.zeros(7, bool)})
        with pytest.raises(ArgumentError, match="batch shapes do not broadcast"):
            many = {"tau": np.zeros((2, 7)), "qdd": np.zeros((3, 7))}
            call(PANDA, S.q, S.qd, prescribed=prescribed, **many)
    with pytest.raises(ArgumentError, match=r"qd: expected shape .*, got"):
        call(PANDA, S.q, np.zeros(3), tau=S.tau, qdd=S.qdd, prescribed=prescribed)
    with pytest.raises(ArgumentError, match="robot: expected a Robot, got str"):
        call("panda", S.q, S.qd, tau=S.tau, qdd=S.qdd, prescribed=prescribed)


def test_masks_of_another_batch_are_named():
    s = random_state(PANDA, 0, 3)
    with pytest.raises(ArgumentError, match=r"prescribed, qdd, tau: batch shapes do not broadcast"):
        hybrid(PANDA, s, np.zeros((2, 7), bool))
    with pytest.raises(ArgumentError, match=r"prescribed: expected shape \(7,\), got \(2, 7\)"):
        dynamics.partitioned(PANDA, s.q, np.zeros((2, 7), bool))


def test_prescribed_joints_are_for_verbs_that_split_coordinates():
    with pytest.raises(ArgumentError, match="prescribed: mass_matrix does not split"):
        dynamics.compiled(PANDA, "mass_matrix", prescribed=["a"])
    with pytest.raises(ArgumentError, match="prescribed: expected a list of joint names, got the string 'a'"):
        dynamics.compiled(PANDA, "hybrid_dynamics", prescribed="a")


# The example.


def test_momentum_is_conserved_through_docking(capsys):
    file = Path(__file__).parents[2] / "examples" / "06_docking.py"
    if not file.exists():
        pytest.skip("the examples are not here")
    assert runpy.run_path(str(file))["main"]() == 0
    assert "momentum is conserved." in capsys.readouterr().out
