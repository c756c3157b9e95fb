"""The native target gives what the NumPy target gives, the same bits in whatever way it runs."""

from __future__ import annotations

import gc
import threading
from functools import cache
from itertools import product

import numpy as np
import pytest
from llvmlite import binding as llvm

import hinge
from hinge import dynamics, robots
from hinge.algebra import tau
from hinge.dynamics import CATALOGUE
from hinge.errors import ArgumentError
from hinge.model import Builder, joints
from hinge.targets.llvm import cache as disk
from hinge.targets.llvm import native_program as program
from hinge.targets.llvm import pieces as code_pieces
from hinge.targets.llvm.host import this_host
from tests.dynamics.sweep_native import (
    BOUNDS,
    MASS,
    OTHERS,
    PRECISIONS,
    ROBOTS,
    SHAPES,
    SUBJECTS,
    VERBS,
    WIDTHS,
    arguments,
    difference,
    differences,
    native_robot,
    outputs,
    shapes_of,
    states,
    widths_of,
)
from tests.dynamics.zoo import robot_of
from tests.tiers import daily

#: What is compiled for the questions about bits: sweeps, solves written out and in loops, several outputs.
BITS = (
    ("forward_dynamics", "framed"),
    ("mass_matrix", "chain"),
    ("solve", "branched"),
    ("solve", "spherical"),
    ("log det", "branched"),
    ("nodes", "screw"),
)
bits = pytest.mark.parametrize(("subject", "robot"), BITS)
shapes = pytest.mark.parametrize("shape", SHAPES)


def some_of_all():
    """Return combinations in which every choice occurs, each subject twice."""
    found, turns = [], dict.fromkeys(SHAPES, 0)
    for k, name in enumerate([*SUBJECTS, *SUBJECTS]):
        subject = SUBJECTS[name]
        shape = SHAPES[(k + k // len(SUBJECTS)) % 3]
        n = turns[shape] = turns[shape] + 1
        few = ROBOTS if subject.robots[: len(ROBOTS)] == ROBOTS else subject.robots[:2]
        robot = few[k % len(few)]
        found.append((name, robot, shape, WIDTHS[n % 4], PRECISIONS[(n + n // 4) % 2]))
    return found


SOME = some_of_all()
#: The first turn, in which every choice occurs already, is for every day.
DAILY = SOME[: len(SUBJECTS)]
#: Long robots in the shape that is made for them.
LONG = [
    ("inverse_dynamics", "alternating", "H", 4, "float64"),
    ("forward_dynamics", "alternating", "H", 2, "float64"),
    ("forward_dynamics", "comb", "H", 4, "float64"),
    ("mass_matrix", "comb", "H", 4, "float32"),
    ("mass_matrix_inverse", "long", "H", 2, "float64"),
    ("jacobian", "alternating", "H", 4, "float64"),
    ("mass_matrix_inverse", "branched", "R", 2, "float64"),
]


@cache
def compiled(subject, robot, shape, lanes):
    return SUBJECTS[subject].compiled(native_robot(robot), target="llvm", shape=shape, lanes=lanes)


def given(subject, robot, size=11, dtype="float64"):
    return arguments(SUBJECTS[subject], compiled(subject, robot, "U", 1), states(robot, size), dtype)


def same_bits(x, y):
    """Tell whether results are the same to the last bit, NaN included."""
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(same_bits(x[name], y[name]) for name in x)
    kind = {8: np.int64, 4: np.int32}[x.itemsize]
    return x.shape == y.shape and x.dtype == y.dtype and np.array_equal(x.view(kind), y.view(kind))


def taken(arrays, which):
    return {name: x[which] for name, x in arrays.items()}


def pendulum(mass=1.0):
    b = Builder("pendulum")
    rod = robots.solid_rod(1.0, 0.2, 0.02, (0, 0, 0.1))
    b.body("upper", joint=joints.Revolute((1, 0, 0)), inertia=rod)
    heavy = robots.solid_rod(mass, 0.2, 0.02, (0, 0, 0.1))
    b.body("lower", parent="upper", joint=joints.Revolute((1, 0, 0)), position=(0, 0, 0.2), inertia=heavy)
    b.frame("tip", "lower", position=(0, 0, 0.2))
    return b.build()


# The same numbers as the NumPy target.


@pytest.mark.parametrize(
    ("subject", "robot", "shape", "width", "dtype"),
    daily([*SOME, *LONG], lambda k, case: case in (*DAILY, *LONG)),
)
def test_the_targets_agree(subject, robot, shape, width, dtype):
    assert difference(subject, robot, shape, width, dtype) <= BOUNDS[dtype]


@pytest.mark.slow
@pytest.mark.parametrize(("subject", "robot"), [(s.name, r) for s in SUBJECTS.values() for r in s.robots])
def test_the_targets_agree_in_every_shape_width_and_precision(subject, robot):
    found = dict(differences(subject, robot))
    assert len(found) == len(shapes_of(robot)) * len(widths_of(robot)) * len(PRECISIONS)
    assert not {k: off for k, off in found.items() if not off <= BOUNDS[k[2]]}


def test_some_of_all_is_of_all():
    assert {s for s, *_ in DAILY} == set(SUBJECTS) == {*CATALOGUE, *VERBS, *OTHERS}
    choices = [set(column) for column in zip(*DAILY, strict=True)]
    assert choices[1:] == [set(ROBOTS), set(SHAPES), set(WIDTHS), set(PRECISIONS)]
    assert {tuple(c[2:]) for c in DAILY} == set(product(SHAPES, WIDTHS, PRECISIONS))
    kinds = {j.type.kind for _, r, *_ in DAILY for j in native_robot(r).joints}
    assert kinds == set(joints.JOINT_TYPES)


def test_a_robot_that_cannot_move_is_no_exception():
    robot = robot_of("nothing_moves")
    for verb in ("inverse_dynamics", "mass_matrix", "jacobian", "momentum", "composite_inertia"):
        f, g = (VERBS[verb].compiled(robot, target=t) for t in ("llvm", "numpy"))
        for batch in ((), (3,), (9,)):
            s = arguments(VERBS[verb], f, hinge.testing.random_state(robot, 1, batch), "float64")
            assert np.allclose(f(**s), g(**s), rtol=1e-12, atol=1e-12)


# The same bits in every way.


@pytest.mark.parametrize("dtype", daily(PRECISIONS, lambda k, dtype: dtype == "float64"))
@shapes
@bits
def test_lanes_change_no_bit(subject, robot, shape, dtype):
    s = given(subject, robot, dtype=dtype)
    one, *others = (outputs(compiled(subject, robot, shape, w), s) for w in WIDTHS)
    assert all(same_bits(one, x) for x in others)


@shapes
@bits
def test_the_place_in_a_batch_changes_no_bit(subject, robot, shape):
    f, s = compiled(subject, robot, shape, 4), given(subject, robot, 23)
    whole = outputs(f, s)
    for which in (slice(5, None), slice(None, None, -1), slice(2, 6), slice(7, 9), [3] * 9, [4, 1] * 8):
        assert same_bits(outputs(f, taken(s, which)), taken(whole, which))
    for k in (0, 11, 22):
        assert same_bits(taken(outputs(f, taken(s, [k])), 0), taken(whole, k))


@shapes
@bits
def test_threads_change_no_bit(subject, robot, shape, monkeypatch):
    monkeypatch.setattr(program, "LEAST_WORK", 1)
    parts, run_parts = [], code_pieces.run_parts
    monkeypatch.setattr(code_pieces, "run_parts", lambda work, p: parts.append(len(p)) or run_parts(work, p))
    f, s = compiled(subject, robot, shape, 4), given(subject, robot, 203)
    found = []
    try:
        for n in (1, 2, 3):
            hinge.set_threads(n)
            found.append(f.evaluate(s["q"], {name: x for name, x in s.items() if name != "q"}))
    finally:
        hinge.set_threads(None)
    assert parts == [1, 2, 3]
    assert same_bits(found[0], found[1]) and same_bits(found[0], found[2])


@pytest.mark.parametrize("verb", ["forward_dynamics", "mass_matrix", "kinetic_energy", "momentum"])
def test_one_state_is_what_it_is_in_a_batch(verb):
    robot, s = native_robot("partial_rotors"), states("partial_rotors")
    call = getattr(dynamics, verb)
    arrays = {"forward_dynamics": (s.q, s.qd, s.tau), "mass_matrix": (s.q,)}.get(verb, (s.q, s.qd))
    whole = call(robot, *arrays)
    for k in range(3):
        assert same_bits(np.asarray(call(robot, *(x[k] for x in arrays))), whole[k])


# Many robots.


def test_every_robot_gets_its_own_code_however_many_there_are():
    q = np.array([0.3, -0.2])
    kept = [pendulum(1.0 + k) for k in range(12)]
    wanted = [hinge.compile(MASS, r, target="numpy")(q) for r in kept]
    for k in np.random.default_rng(1).integers(12, size=100):
        assert np.allclose(hinge.mass_matrix(kept[k], q), wanted[k], rtol=1e-12)


def test_a_robot_that_is_gone_leaves_nothing_to_the_next():
    q = np.array([0.3, -0.2])
    for k in range(5):
        robot = pendulum(1.0 + k)
        wanted = hinge.compile(MASS, robot, target="numpy")(q)
        assert all(np.allclose(hinge.mass_matrix(robot, q), wanted, rtol=1e-12) for _ in range(3))
        if k % 4 == 3:
            dynamics.forget()
        del robot
        gc.collect()


def test_threads_of_the_user_may_call_a_verb_at_once():
    robot, s = pendulum(3.5), hinge.testing.random_state(pendulum(), 1, 50)
    wanted = hinge.compile(MASS.inv() @ tau, robot, target="numpy")(s.q, tau=s.tau)
    found = {}

    def call(n):
        rows = [hinge.mass_matrix_inverse(robot, q) @ t for q, t in zip(s.q, s.tau, strict=True)]
        found[n] = np.allclose(rows, wanted, rtol=1e-9, atol=1e-9)

    callers = [threading.Thread(target=call, args=(n,)) for n in range(6)]
    for c in callers:
        c.start()
    for c in callers:
        c.join(60)
    assert found == dict.fromkeys(range(6), True)


# Numbers that are not finite.


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@shapes
@bits
def test_what_is_not_finite_stays_in_its_state(subject, robot, shape, bad):
    f, sound = compiled(subject, robot, shape, 4), given(subject, robot)
    right, others = outputs(f, sound), [k for k in range(11) if k != 5]
    spoilt = {name: x.copy() for name, x in sound.items()}
    for x in spoilt.values():
        x[5] = bad
    found = outputs(f, spoilt)
    assert same_bits(taken(found, others), taken(right, others))
    assert not all(np.isfinite(x[5]).all() for x in found.values())


@pytest.mark.parametrize("far", [2e5, -1e9, 1e300])
def test_angles_that_are_far_away_are_right_and_stay_in_their_state(far):
    robot, s = robot_of("chain"), states("chain")
    q = s.q.copy()
    q[3, 2] += far
    f, g = (hinge.compile(CATALOGUE["mass_matrix"], robot, target=t) for t in ("llvm", "numpy"))
    found, others = f(q), np.arange(11) != 3
    assert np.allclose(found, g(q), rtol=0, atol=1e-12 * np.abs(found).max())
    assert same_bits(found[others], f(s.q)[others])


# What it says of itself.


@shapes
def test_explain_names_shape_lanes_operations_bytes_and_time(shape):
    f = VERBS["inverse_dynamics"].compiled(native_robot("chain"), target="llvm", shape=shape, lanes=2)
    f(np.zeros(6), np.zeros(6), qdd=np.zeros(6), f_ext=np.zeros((1, 6)))
    text = f.explain()
    assert f"target llvm on {this_host().cpu}: 2 states at once" in text
    lines = [line for line in text.splitlines() if line.startswith("    float64")]
    assert sorted(line.split(":")[0].strip() for line in lines) == ["float64 × 1", "float64 × 2"]
    count = f.code.operations().total
    assert all(f"shape {shape}, {count} operations, " in line and " bytes, " in line for line in lines)
    assert all("compiled in 0." in line or "from the cache" in line for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_llvm_text_is_read_by_llvm_and_the_assembly_is_text(width):
    f = hinge.compile(MASS, robots.double_pendulum(), target="llvm", lanes=width)
    module = llvm.parse_assembly(f.llvm)
    module.verify()
    assert [x.name for x in module.functions if not x.is_declaration] == ["run"]
    assert ("double>" in f.llvm) == (width > 1)
    assert "run:" in f.asm and "ret" in f.asm


def test_the_numpy_target_has_no_such_text():
    f = hinge.compile(MASS, robots.double_pendulum(), target="numpy")
    for language in ("llvm", "asm"):
        with pytest.raises(ArgumentError, match=f"{language}: expected 'python' .*target='llvm'"):
            getattr(f, language)
    assert "target numpy" in f.explain()


def test_the_environment_names_the_target(monkeypatch):
    for name in ("numpy", "llvm"):
        monkeypatch.setenv("HINGE_TARGET", name)
        assert f"target {name}" in hinge.compile(MASS, robots.double_pendulum()).explain()
        robot, q = robots.double_pendulum(), np.ones(2)
        assert np.allclose(hinge.mass_matrix(robot, q), hinge.compile(MASS, robot)(q))
        assert f"target {name}" in dynamics.compiled(robot, "mass_matrix").explain()
    assert "target numpy" in hinge.compile(MASS, robots.double_pendulum(), target="numpy").explain()
    monkeypatch.setenv("HINGE_TARGET", "fortran")
    with pytest.raises(ArgumentError, match=r"HINGE_TARGET: expected 'llvm' or 'numpy'.*, got 'fortran'"):
        hinge.compile(MASS, robots.double_pendulum())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shape": "X"}, "shape: expected one of .*, got 'X'"),
        ({"lanes": 3}, "lanes: expected 1, 2, 4, 8, 16, or None .*, got 3"),
        ({"lanes": 0}, "lanes: expected 1, 2, 4, 8, 16, or None .*, got 0"),
        ({"lanes": "4"}, "lanes: expected 1, 2, 4, 8, 16, or None .*, got '4'"),
        ({"lanes": 2.0}, "lanes: expected 1, 2, 4, 8, 16, or None .*, got 2.0"),
        ({"shape": "U", "target": "numpy"}, "shape: expected none for target 'numpy', got 'U'; .* 'llvm'"),
        ({"lanes": 4, "target": "numpy"}, "lanes: expected none for target 'numpy', got 4; .* 'llvm'"),
    ],
)
def test_wrong_choices_are_named(options, words):
    with pytest.raises(ArgumentError, match=words):
        hinge.compile(MASS, robots.double_pendulum(), **{"target": "llvm", **options})


# What is kept on disk.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HINGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("HINGE_CACHE", raising=False)
    return tmp_path / "cache"


def pieces(f):
    """Return the machine code of a compiled expression for one state and for four."""
    return [f.program().piece("float64", w) for w in (1, 4)]


def from_cache(robot, e=CATALOGUE["forward_dynamics"], **options):
    """Return whether the machine code came from the cache, and what it computes."""
    f = hinge.compile(e, robot, target="llvm", lanes=4, **options)
    found = [p.from_cache for p in pieces(f)]
    s = arguments(VERBS["forward_dynamics"], f, hinge.testing.random_state(robot, 1, 5), "float64")
    return found, f(**s)


def test_equal_code_is_loaded_from_the_cache_with_the_same_bits(folder):
    before, x = from_cache(pendulum())
    after, y = from_cache(pendulum())
    assert before == [False, False] and after == [True, True] and same_bits(x, y)


def test_another_mass_expression_shape_or_precision_is_not_in_the_cache(folder):
    from_cache(pendulum())
    assert from_cache(pendulum(1 + 1e-15))[0] == [False, False]
    assert from_cache(pendulum(), CATALOGUE["bias_force"])[0] == [False, False]
    assert from_cache(pendulum(), shape="R")[0] == [False, False]
    assert from_cache(pendulum(), nodes=["tip"])[0] == [False, False]
    f = hinge.compile(CATALOGUE["forward_dynamics"], pendulum(), target="llvm", lanes=4)
    assert not f.program().piece("float32", 4).from_cache


def test_a_tampered_entry_is_compiled_again(folder):
    _, x = from_cache(pendulum())
    for entry in folder.glob("*.object"):
        data = bytearray(entry.read_bytes())
        data[-100] ^= 255
        entry.write_bytes(data)
    found, y = from_cache(pendulum())
    assert found == [False, False] and same_bits(x, y)
    assert from_cache(pendulum())[0] == [True, True]


def test_without_a_cache_the_bits_are_the_same(folder, monkeypatch):
    _, x = from_cache(pendulum())
    monkeypatch.setenv("HINGE_CACHE", "0")
    found, y = from_cache(pendulum())
    assert found == [False, False] and same_bits(x, y)


def test_the_verbs_keep_their_code_in_the_cache(folder):
    dynamics.forget()
    zero = np.zeros(2)
    x = hinge.forward_dynamics(pendulum(), zero, zero, zero)
    labels = {entry.label for entry in disk.entries()}
    assert labels == {"forward_dynamics for 'pendulum', float64 × 1"}
    again = dynamics.compiled(pendulum(), "forward_dynamics")
    assert again.program().piece("float64", 1).from_cache
    assert same_bits(x, hinge.forward_dynamics(pendulum(), zero, zero, zero))


def test_explain_names_the_cache(folder):
    for words in ("compiled in", "from the cache"):
        f = hinge.compile(MASS, pendulum(), target="llvm")
        f(np.zeros((8, 2)))
        assert words in f.explain()
