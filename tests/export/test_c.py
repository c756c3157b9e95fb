"""C99 against the native target: the same bits with fused products, to rounding without."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

import hinge
from hinge.algebra import H, Joint, M, One, leaf, phi, qd
from hinge.cli import main
from hinge.errors import ArgumentError
from hinge.export import c
from hinge.export.c_text import header
from hinge.export.dialect import Dialect
from tests.dynamics.sweep_flexible import arm
from tests.sweeps.models import every_joint_type
from tests.tiers import daily

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FLAGS = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
_BUILDER = hinge.Builder("rock")
_BUILDER.body("rock")
NOTHING_MOVES = _BUILDER.build()
needs_a_compiler = pytest.mark.skipif(not COMPILERS, reason="no compiler of C")


def errors(library, folder, compiler=None, flags=()):
    """Compile the self-test of a library, run it, and return the errors that it prints, by what it names."""
    library.write(folder)
    p = library.prefix
    files = [f"{p}.c", f"{p}_test.c"]
    subprocess.run(
        [compiler or COMPILERS[0], *FLAGS, *flags, *files, "-lm", "-o", "check"],
        cwd=folder,
        check=True,
        timeout=300,
    )
    ran = subprocess.run([folder / "check"], capture_output=True, text=True, check=False, timeout=60)
    found = re.findall(r"^(.*?) +largest error (\S+?)(, too large)?$", ran.stdout, re.MULTILINE)
    assert (ran.returncode == 0) == all(not bad for *_, bad in found)
    return {name: float(x) for name, x, _ in found}


CASES = {
    "pendulum": (hinge.robots.double_pendulum, ["forward_dynamics", "kinetic_energy"], {}),
    "panda": (hinge.robots.panda, ["forward_dynamics", "inverse_dynamics", "kinetic_energy"], {}),
    "frames": (hinge.robots.panda, ["jacobian", "forward_dynamics"], {"nodes": ["tool"]}),
    "quadruped": (hinge.robots.quadruped, ["forward_dynamics", "mass_matrix"], {}),
    "closed": (hinge.robots.four_bar, ["closed_dynamics", "closure_error"], {}),
    "derivatives": (hinge.robots.double_pendulum, ["forward_dynamics_derivatives"], {}),
    "masses": (hinge.robots.double_pendulum, ["inverse_dynamics"], {"parameters": ["inertias"]}),
    "every joint": (lambda: every_joint_type(0).robot, ["forward_dynamics", "mass_matrix_inverse"], {}),
}


@needs_a_compiler
@pytest.mark.parametrize("roll", [False, True])
@pytest.mark.parametrize("name", daily(CASES, lambda _, n: n in ("pendulum", "closed", "masses")))
def test_fused_products_give_the_bits_of_the_native_target(name, roll, tmp_path):
    make, verbs, options = CASES[name]
    found = errors(c(verbs, make(), fma=True, roll=roll, **options), tmp_path)
    assert len(found) >= 5 * len(verbs) and set(found.values()) == {0.0}


@needs_a_compiler
@pytest.mark.parametrize("single", [False, True])
def test_other_precisions_and_plain_products(single, tmp_path):
    verbs = ["forward_dynamics", "inverse_dynamics"]
    robot = hinge.robots.double_pendulum()
    plain = errors(c(verbs, robot, single=single, prefix="arm"), tmp_path)
    assert max(plain.values()) < (1e-4 if single else 1e-13)
    exact = errors(c(verbs, robot, single=single, prefix="arm", fma=True), tmp_path)
    assert max(exact.values()) == 0.0


@needs_a_compiler
def test_own_expressions(tmp_path):
    robot = hinge.robots.double_pendulum()
    momentum = H @ phi @ M @ phi.T @ H.T @ qd
    library = c({"momentum": momentum, "both": {"p": momentum, "again": 2 * momentum}}, robot)
    found = errors(library, tmp_path)
    assert {name.split(",")[0] for name in found} == {"momentum", "both"} and max(found.values()) < 1e-13


@needs_a_compiler
@pytest.mark.parametrize("roll", [False, True])
def test_names_of_a_user_meet_no_others(roll, tmp_path):
    """Results named as inputs or as other results, letters named as variables, functions named as words."""
    robot = hinge.robots.double_pendulum()
    momentum = H @ phi @ M @ phi.T @ H.T @ qd
    ours = H @ phi @ M @ phi.T @ H.T @ (leaf("w", Joint, One) + leaf("t1", Joint, One))
    names = ("q", "w", "at", "int", "qdd", "forward_dynamics", "value")
    several = {name: k * momentum for k, name in enumerate(names, 1)}
    library = c({"int": several, "own": ours}, robot, prefix="int", roll=roll)
    found = errors(library, tmp_path)
    assert len(found) == 5 * (len(names) + 1) and max(found.values()) < 1e-13


@needs_a_compiler
def test_a_wrong_number_fails_the_self_test(tmp_path):
    library = c("mass_matrix", hinge.robots.double_pendulum(), prefix="arm")
    text = library.files["arm_test.c"]
    start = text.index("M_wanted")
    wrong = text[:start] + re.sub(r"\{", "{7e9 + ", text[start:], count=1)
    found = errors(type(library)("arm", {**library.files, "arm_test.c": wrong}, library.functions), tmp_path)
    assert max(found.values()) > 0.1


def test_names_of_a_file_cannot_leave_a_comment():
    robot = replace(hinge.robots.double_pendulum(), name="*/ int main(void) {}")
    for text in c("mass_matrix", robot).files.values():
        assert "int main(void) {}" not in text and text.count("/*") == text.count("*/")


def test_the_command(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["export", "c", "double_pendulum", "mass_matrix", "-o", str(out), "--prefix", "arm"]) == 0
    assert {p.name for p in out.iterdir()} == {"arm.h", "arm.c", "arm_test.c", "README.md"}
    assert "arm.c" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: c("mass_matrix", r, prefix="two words"), "prefix: expected a name of C"),
        (lambda r: c([], r), "what: expected at least one verb"),
        (lambda r: c({"a b": "mass_matrix"}, r), "what: expected a name of C"),
        (lambda r: c("mass_matrx", r), "mass_matrix"),
        (lambda r: c({"fingerprint": "mass_matrix"}, r), "expected another name than 'fingerprint'"),
        (lambda r: c({"circle": "mass_matrix"}, r), "expected another name than 'circle'"),
        (lambda r: c({"NQ": "mass_matrix"}, r, prefix="ARM"), "expected another name than 'NQ'"),
        (lambda r: c({"f": "mass_matrix", "f_0": "kinetic_energy"}, r, roll=True), "another name than 'f_0'"),
        (lambda r: c({"f": {"pä": qd}}, r), "f: expected a name of C"),
        (lambda r: c({"f": leaf("int", Joint, One) + qd}, r), "other names than 'int'"),
        (lambda r: c({"f": leaf("sqrt", Joint, One) + qd}, r), "other names than 'sqrt'"),
        (lambda r: c("mass_matrix", r, prefix="_a", casadi=True), "casadi: expected names that begin"),
        (lambda r: c({"f_": "mass_matrix"}, r, casadi=True), "casadi: expected names that begin"),
        (lambda r: c(hinge.sim.step(r), r, parameters=["inertias"]), "parameters: expected a verb"),
        (lambda r: c("mass_matrix", NOTHING_MOVES), "no joint moves"),
        (lambda r: c("kinetic_energy", NOTHING_MOVES, casadi=True), "casadi: expected functions of q"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ArgumentError, match=message):
        call(hinge.robots.double_pendulum())


@pytest.mark.parametrize("robot", [arm(), hinge.embed_loops(hinge.robots.four_bar())], ids=lambda r: r.name)
def test_a_header_names_each_coordinate_once(robot):
    words = header(robot, [], Dialect("x")).split("*/")[0]
    q, qd = (x.strip().splitlines() for x in words.split("   q\n")[1].split("   qd, qdd, tau\n"))
    assert (len(q), len(qd)) == (robot.nq, robot.nv)
