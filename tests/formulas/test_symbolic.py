"""Formulas against textbooks, and against the functions of the same expressions at random numbers."""

from __future__ import annotations

import builtins
import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import hinge
from hinge import Builder, Inertia, WeightedTree
from hinge.algebra import H, M, P, phi, tau
from hinge.errors import ArgumentError, MissingExtraError, UnboundLeafError
from hinge.formulas.names import Symbols
from hinge.formulas.numbers import exact
from hinge.model import joints
from hinge.robots import chain, double_pendulum, panda
from tests.dynamics.sweep_flexible import arm

sp = pytest.importorskip("sympy")

mass = H @ phi @ M @ phi.T @ H.T


def two_links():
    """Return a planar arm, its joints along z, gravity along −y."""
    b = Builder("two links", gravity=(0, -9.81, 0))
    turn = joints.Revolute((0, 0, 1))
    first = Inertia.from_com(2.0, (0.25, 0, 0), np.diag([0, 0, 0.03]))
    second = Inertia.from_com(1.5, (0.2, 0, 0), np.diag([0, 0, 0.02]))
    b.body("upper", joint=turn, joint_name="one", inertia=first)
    b.body("lower", parent="upper", joint=turn, joint_name="two", position=(0.5, 0, 0), inertia=second)
    b.frame("tool", "lower", position=(0.4, 0, 0))
    return b.build(strict=None)


def symbols():
    """Return the symbols of the arm: angles, rates, masses, centres, moments, length, gravity."""
    names = {
        "q": ("q_one", "q_two"), "qd": ("qd_one", "qd_two"), "c": ("cx_upper", "cx_lower"),
    }  # fmt: skip
    found = {k: [sp.Symbol(n, real=True) for n in v] for k, v in names.items()}
    found["m"] = [sp.Symbol(f"m_{n}", positive=True) for n in ("upper", "lower")]
    found["I"] = [sp.Symbol(f"Izz_{n}", positive=True) for n in ("upper", "lower")]
    return found, sp.Symbol("px_two", real=True), sp.Symbol("g", positive=True)


NUMBERS = ("inertias", "placements", "gravity")


def test_the_arm_of_the_textbooks():
    """Spong, Hutchinson, Vidyasagar, Robot Modeling and Control, (6.80)–(6.90)."""
    s, l1, g = symbols()
    (q1, q2), (v1, v2), (m1, m2), (i1, i2), (c1, c2) = (s[k] for k in ("q", "qd", "m", "I", "c"))
    robot = two_links()
    f = hinge.symbolic("mass_matrix", robot, parameters=NUMBERS)
    d12 = m2 * (c2**2 + l1 * c2 * sp.cos(q2)) + i2
    d11 = m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * sp.cos(q2)) + i1 + i2
    wanted = sp.Matrix([[d11, d12], [d12, m2 * c2**2 + i2]])
    assert sp.simplify(f.value - wanted) == sp.zeros(2, 2)
    h = -m2 * l1 * c2 * sp.sin(q2)
    g1 = (m1 * c1 + m2 * l1) * g * sp.cos(q1) + m2 * c2 * g * sp.cos(q1 + q2)
    bias = sp.Matrix([2 * h * v1 * v2 + h * v2**2 + g1, -h * v1**2 + m2 * c2 * g * sp.cos(q1 + q2)])
    found = hinge.symbolic("bias_force", robot, parameters=NUMBERS)
    assert sp.simplify(found.value - bias) == sp.zeros(2, 1)
    inverse = hinge.symbolic("mass_matrix_inverse", robot, parameters=NUMBERS).value
    at = {sp.cos(q2): sp.Rational(3, 5), sp.sin(q2): sp.Rational(4, 5), l1: 2, c2: 3, c1: 5, m1: 7, m2: 11}
    assert (inverse * wanted).subs(at).applyfunc(sp.cancel) == sp.eye(2)
    j = hinge.symbolic("jacobian", robot, nodes=["tool"], expressed="world-aligned").value
    reach = [sp.cos(q1) / 2 + 2 * sp.cos(q1 + q2) / 5, 2 * sp.cos(q1 + q2) / 5]
    assert sp.simplify(sp.Matrix(j[4, :]) - sp.Matrix([reach])) == sp.zeros(1, 2)
    assert f.numbers[m1] == 2.0 and f.numbers[l1] == 0.5 and g in found.numbers


def test_numbers_are_fractions_unless_they_are_asked_for_as_symbols():
    f = hinge.symbolic("mass_matrix", two_links())
    q2 = sp.Symbol("q_two", real=True)
    assert f.value[0, 1] == 3 * sp.cos(q2) / 20 + sp.Rational(2, 25)
    assert f.value.atoms(sp.Float) == set() and not f.numbers
    assert str(f).startswith("mass_matrix[0, 0] = 3*cos(q_two)/10 + 61/100\n")
    assert repr(f) == "<Formulas of mass_matrix for 'two links': mass_matrix (2, 2)>"


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        (0.5, "1/2"), (-9.81, "-981/100"), (0.0, "0"), (2**0.5 / 2, "sqrt(2)/2"),
        (-(3**0.5) / 2, "-sqrt(3)/2"),
        (1 / 3, "1/3"), (0.1 + 0.2, "3/10"), (1e-9, "1.00000000000000e-9"), (np.pi, "3.14159265358979"),
    ],
)  # fmt: skip
def test_floats_are_taken_for_short_fractions_and_roots(x, wanted):
    assert str(exact(float(x))) == wanted
    assert abs(float(exact(float(x))) - x) <= 1e-14 * abs(x)


def values_of(f, given):
    """Return the results of formulas for numbers by input."""
    flat = [x for n in f.inputs for x in np.ravel(given[n])] + list(f.numbers.values())
    found = {}
    for name, x in f.results.items():
        call = sp.lambdify(f.arguments, written_out(f, x), "numpy")
        found[name] = np.asarray(call(*flat), dtype=float)
    return found


def written_out(f, x):
    for symbol, e in reversed(f.steps):
        x = x.subs(symbol, e)
    return x


CASES = [
    ("mass_matrix", double_pendulum(), {}),
    ("forward_dynamics", double_pendulum(), {}),
    ("inverse_dynamics", chain(3), {"most": 50_000}),
    ("mass_matrix_inverse", two_links(), {"parameters": NUMBERS}),
    ("bias_force", chain(2), {}),
    ("kinetic_energy", two_links(), {"parameters": ["inertias"]}),
    ("momentum", chain(2), {}),
    ("forward_kinematics", two_links(), {"nodes": ["tool"], "parameters": ["placements"]}),
    ("operational_inverse_inertia", two_links(), {"nodes": ["tool"], "expressed": "world"}),
    (mass.inv() @ tau, two_links(), {"shared": True}),
    (
        {"a": mass @ tau, "b": tau.T @ mass.inv() @ tau},
        two_links(),
        {"shared": True, "parameters": ["rotors"]},
    ),
]


@pytest.mark.parametrize(("what", "robot", "options"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_formulas_are_worth_what_functions_give(what, robot, options):
    f = hinge.symbolic(what, robot, **options)
    plain = {k: options[k] for k in ("nodes", "expressed") if k in options}
    own = hinge.compile(what, robot, **plain)
    rng = np.random.default_rng(1)
    for _ in range(3):
        given = {n: rng.standard_normal(len(x)) for n, x in f.inputs.items()}
        given["q"] = hinge.random_configuration(robot, rng)
        vectors = {n: x for n, x in given.items() if n not in ("q", "qd") and n in own.inputs}
        qd = given.get("qd")
        wanted = own(given["q"], qd, **{n: np.zeros((0, 6)) for n in own.inputs if n == "f_ext"}, **vectors)
        wanted = wanted if isinstance(wanted, dict) else {next(iter(f.results)): wanted}
        for name, x in values_of(f, given).items():
            assert np.allclose(x.ravel(), np.ravel(wanted[name]), rtol=1e-9, atol=1e-9), name


def test_a_free_body_turns_by_a_quaternion():
    b = Builder("free")
    b.body("box", joint=joints.Free(), inertia=Inertia.from_com(2.0, (0, 0, 0), np.diag([1, 2, 3])))
    f = hinge.symbolic("mass_matrix", b.build(), parameters=["inertias"])
    assert f.value[:3, :3] == sp.diag(*[sp.Symbol(f"I{a}{a}_box", positive=True) for a in "xyz"])
    pose = hinge.symbolic("gravity_force", b.build(), parameters=["inertias", "gravity"])
    names = {str(x) for x in pose.value.free_symbols}
    assert {"m_box", "g"} < names and {"q_box_joint_qw", "q_box_joint_qx"} < names


def test_shared_coordinates_have_one_symbol():
    robot = arm()
    names = [str(x) for x in Symbols(robot).of("q", robot.nq)]
    assert len(names) == robot.nq and names[1] == "q_upper_modes_mode1" and names[3] == "q_lower_joint"


def test_springs_and_rotors_are_symbols():
    b = Builder("spring", gravity=(0, 0, 0))
    b.body(
        "wheel", joint=joints.Revolute((0, 0, 1)), joint_name="hub", rotor_inertia=0.3, damping=0.2,
        stiffness=5.0, inertia=Inertia.from_com(1.0, (0, 0, 0), np.eye(3)),
    )  # fmt: skip
    parts = hinge.dynamics.expression("forward_dynamics", passive=True)
    f = hinge.symbolic(parts, b.build(), parameters=["inertias", "rotors", "friction"])
    q, v, t = (sp.Symbol(f"{n}_hub", real=True) for n in ("q", "qd", "tau"))
    d, k = (sp.Symbol(f"{n}_hub", real=True) for n in ("damping", "stiffness"))
    i, j = sp.Symbol("Izz_wheel", positive=True), sp.Symbol("J_hub", positive=True)
    assert sp.simplify(f.value[0] - (t - d * v - k * q) / (i + j)) == 0


def test_what_is_shared_is_written_once():
    robot = two_links()
    long, short = (hinge.symbolic("mass_matrix_inverse", robot, shared=x) for x in (False, True))
    assert not long.steps and len(short.steps) >= 3
    assert sp.simplify(written_out(short, short.value) - long.value) == sp.zeros(2, 2)
    symbols = [s for s, _ in short.steps]
    for k, (_, x) in enumerate(short.steps):
        assert x.free_symbols & set(symbols) <= set(symbols[:k])
    large = hinge.symbolic("mass_matrix", panda(), shared=True)
    assert len(large.steps) < 400 and large.value.shape == (7, 7)


def test_latex_and_text():
    f = hinge.symbolic("mass_matrix", two_links(), parameters=["inertias", "placements"]).simplified()
    text = f.latex()
    assert r"\mathit{mass\_matrix} &= \left[\begin{matrix}" in text and r"\cos{\left(q_{two} \right)}" in text
    both = hinge.symbolic({"a": mass @ tau, "b": tau.T @ tau}, two_links())
    assert [n for n, _ in both.entries()] == ["a[0]", "a[1]", "b"]
    with pytest.raises(ArgumentError, match=r"value: expected one result, got a, b"):
        both.value  # noqa: B018
    assert f.simplified(sp.trigsimp).value == f.value


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler of C")
def test_c_computes_the_same(tmp_path):
    robot = two_links()
    f = hinge.symbolic("forward_dynamics", robot, shared=True, parameters=["inertias", "gravity"])
    (tmp_path / "f.c").write_text(f.c("two"))
    subprocess.run(
        ["cc", "-std=c99", "-shared", "-fPIC", "-Wall", "-Werror", "-O1", "f.c", "-o", "f.so", "-lm"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    given = [rng.standard_normal(2) for _ in range(3)]
    out = np.empty(2)
    arrays = [*given, np.array(list(f.numbers.values())), out]
    ctypes.CDLL(str(tmp_path / "f.so")).two(*(x.ctypes.data_as(ctypes.c_void_p) for x in arrays))
    assert np.allclose(out, hinge.forward_dynamics(robot, *given), rtol=1e-12)
    with pytest.raises(ArgumentError, match=r"name: expected a name of C, got '2'"):
        f.c("2")


def test_names_are_those_of_c():
    b = Builder("odd")
    b.body("an arm", joint=joints.Revolute((0, 0, 1)), joint_name="joint-1 (left)",
           inertia=Inertia.from_com(1.0, (0.1, 0, 0), np.eye(3)))  # fmt: skip
    f = hinge.symbolic("mass_matrix", b.build(), parameters=["inertias"])
    assert {str(x) for x in f.arguments} >= {"q_joint_1__left_", "m_an_arm"}


def test_a_ladder_of_resistors_as_a_formula():
    carry = np.array([[1.0, 0.0], [0.0, 0.0]])
    tree = WeightedTree(
        [-1, 0], [None, carry], [np.ones((1, 2))] * 2, [np.diag([2.0, 3.0])] * 2, names=["a", "b"]
    )
    own = hinge.compile(mass @ tau, tree, blocks={"P": P}, given=("M",))
    f = hinge.symbolic(own, tree)
    r1, s1, r2, s2 = (sp.Symbol(n, real=True) for n in ("M_a_00", "M_a_11", "M_b_00", "M_b_11"))
    assert sp.simplify(f.results["P"][0, 0, 0] - (r1 + r2 * s2 / (r2 + s2))) == 0
    assert f.numbers[s1] == 3.0
    g = hinge.symbolic(mass.inv() @ tau, tree, parameters=["M"])
    assert {str(x) for x in g.inputs["tau"]} == {"tau_a", "tau_b"}


def test_large_formulas_are_refused_with_a_remedy():
    text = "mass_matrix_inverse for 'panda': expected formulas of at most 20,000 operations, got 1e+13"
    with pytest.raises(ArgumentError, match=re.escape(text) + "; use shared=True, .* steps, or most="):
        hinge.symbolic("mass_matrix_inverse", panda())
    with pytest.raises(ArgumentError, match=r"at most 100 operations, got .*hinge.export.c, or lock joints"):
        hinge.symbolic("mass_matrix_inverse", panda(), shared=True, most=100)
    with pytest.raises(ArgumentError, match=r"most: expected a number of operations, got 0"):
        hinge.symbolic("mass_matrix", two_links(), most=0)


def test_what_is_wrong_is_named():
    robot = two_links()
    with pytest.raises(
        ArgumentError, match=r"parameters: expected names among inertias, .*gravity, got 'mass'"
    ):
        hinge.symbolic("mass_matrix", robot, parameters=["mass"])
    with pytest.raises(ArgumentError, match=r"parameters: expected names among .*, got 'inertias'"):
        hinge.symbolic("mass_matrix", robot, parameters="inertias")
    with pytest.raises(ArgumentError, match=r"verb: expected the name of a verb, got 'mass_matrxi'"):
        hinge.symbolic("mass_matrxi", robot)
    with pytest.raises(ArgumentError, match=r"what: expected an expression or a verb with nodes="):
        hinge.symbolic(hinge.compile("mass_matrix", robot), robot, nodes=["tool"])
    with pytest.raises(ArgumentError, match=r"robot: expected a Robot"):
        hinge.symbolic("mass_matrix", None)
    with pytest.raises(UnboundLeafError):
        hinge.symbolic("bias_force", WeightedTree([-1], [None], [np.eye(1)], [np.eye(1)]))
    contacts = hinge.on_ground(robot, ["tool"])
    with pytest.raises((ArgumentError, NotImplementedError)):
        hinge.symbolic("contact_dynamics", contacts)


def test_without_sympy_it_is_said_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "sympy":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r'pip install "hinge\[symbolic\]"'):
        hinge.symbolic("mass_matrix", two_links())
