"""Derivations, sweeps and kernels as they are printed, word for word.

A change of wording, of the search, of a cost or of the code at a body shows here first. To take over what is
printed now:

    python -m pytest tests/golden --update-golden

and read the difference of the text files before it is committed.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from itertools import groupby, product
from pathlib import Path

import pytest

import hinge
from hinge.algebra import E0, B, H, a, b, f_ext, g, passive, qdd, tau
from hinge.pipeline import derive
from hinge.sweeps import Call
from tests.expressions import COMPLIANCE, LOADED, M_AA, M_AP, MASS, bias
from tests.targets.replay import every_joint, options, verbs

HERE = Path(__file__).parent

PRINTED = {
    "forward_dynamics": MASS.inv() @ (tau - LOADED),
    "inverse_dynamics": bias(H, H.T @ qdd + a + E0.T @ g, b - B @ f_ext),
    "mass_matrix": MASS,
    "operational_space_compliance": COMPLIANCE,
    "hybrid_S_aa": M_AA - M_AP @ passive.mass.inv() @ M_AP.T,
}

VERBS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian", "hybrid_dynamics")
#: Robots, and the body whose kernels are printed in full.
ROBOTS = {"panda": "link4", "quadruped": "HR_thigh", "every_joint": "yoke"}


@pytest.fixture
def golden(request):
    """Compare a text with a file, or write it there if that is asked for."""

    def compare(file: Path, text: str) -> None:
        if request.config.getoption("update_golden"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8"), "--update-golden takes over what is printed now"

    return compare


@cache
def robot_of(name):
    return every_joint() if name == "every_joint" else getattr(hinge.robots, name)()


def digest(kernel):
    return sha256(str(kernel).encode()).hexdigest()[:16]


def written(verb, robot, body):
    """Return the sweeps of a verb, a line for each kernel in its place, and the kernels of a body in full."""
    f = hinge.compile(verb, robot, **options(verbs()[verb][1], robot), target="numpy")
    lines = [str(f.derivation.program), "", f"for robot {robot.name!r}: {f.code.operations()}"]
    for (stage, at), calls in groupby(f.code.calls, lambda c: (c.stage, getattr(c, "body", None))):
        lines.append(f"    stage {stage + 1} at {'all bodies' if at is None else robot.bodies[at].name}")
        lines += [f"        {place(c)}" for c in calls]
    here = robot.body_index(body)
    kernels = dict.fromkeys(c.kernel for c in f.code.calls if isinstance(c, Call) and c.body == here)
    assert kernels
    for kernel in kernels:
        lines += ["", f"kernel {digest(kernel)} at {body}", *(f"    {x}" for x in str(kernel).splitlines())]
    return "\n".join(lines) + "\n"


def place(call):
    """Return which kernel is called, and how many numbers go in and out; a solve by its size."""
    if not isinstance(call, Call):
        kind = "positive " if call.positive else ""
        return f"solve, {kind}{call.matrix.shape}, right sides {call.right.shape}"
    column = f", column {call.column.space} {call.column.body}" if call.column else ""
    slots = sha256(repr((call.loads, call.stores)).encode()).hexdigest()[:8]
    sizes = f"{len(call.loads)} numbers and {len(call.params)} of the model to {len(call.stores)}"
    return f"kernel {digest(call.kernel)}, {sizes}, slots {slots}{column}"


@pytest.mark.parametrize("name", PRINTED)
def test_a_derivation_is_printed_as_before(name, golden):
    golden(HERE / f"{name}.txt", str(derive(PRINTED[name])) + "\n")


@pytest.mark.parametrize(("verb", "robot"), [*product(VERBS, ROBOTS)])
def test_sweeps_and_kernels_are_as_before(verb, robot, golden):
    golden(HERE / "kernels" / f"{verb}_{robot}.txt", written(verb, robot_of(robot), ROBOTS[robot]))


def test_there_is_no_file_too_many():
    kernels = {f"kernels/{verb}_{robot}" for verb, robot in product(VERBS, ROBOTS)}
    found = {f.relative_to(HERE).with_suffix("").as_posix() for f in HERE.rglob("*.txt")}
    assert found == {*PRINTED, *kernels}
