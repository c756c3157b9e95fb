"""Programs of formulas at joints: known by what the formula does, not by what they are called."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import hinge
from hinge import robots
from hinge.dynamics import joint_program
from hinge.model import Builder
from hinge.model.joints import Revolute, VectorJoint
from hinge.spatial import Inertia

PANDA = robots.panda()
X, Y = np.arange(7.0), np.full(7, 2.0)


def program(formula, robot=PANDA, name="mine", target=None):
    return joint_program(robot, name, {"x": "qd", "y": "qd"}, {"z": "qd"}, formula, target=target)


@pytest.mark.parametrize("target", ["llvm", "numpy"])
def test_a_name_with_another_formula_is_another_program(target):
    plus = program(lambda _, v: {"z": v["x"] + v["y"]}, target=target)
    minus = program(lambda _, v: {"z": v["x"] - v["y"]}, target=target)
    assert (plus({"x": X, "y": Y})["z"] == X + Y).all()
    assert (minus({"x": X, "y": Y})["z"] == X - Y).all()


def test_what_a_formula_closes_over_is_a_part_of_it():
    def scaled(by):
        return program(lambda _, v: {"z": by[0] * v["x"]})

    number = [2.0]
    twice = scaled(number)
    number[0] = 3.0
    thrice = scaled(number)
    assert (twice({"x": X, "y": Y})["z"] == 2 * X).all()
    assert (thrice({"x": X, "y": Y})["z"] == 3 * X).all()


def test_the_same_formula_is_the_same_program_whatever_it_is_called():
    one, other = (program(lambda _, v: {"z": v["x"] * v["y"]}, name=name) for name in ("one", "other"))
    assert one is other
    assert program(lambda _, v: {"z": v["y"] * v["x"]}) is one


def test_constants_that_differ_in_the_last_digit_differ():
    one, other = (
        program(lambda _, v, by=by: {"z": by * v["x"]}) for by in (0.1, float(np.nextafter(0.1, 1.0)))
    )
    assert one is not other


def test_formulas_of_the_package_are_traced_once(monkeypatch):
    calls = []
    module = sys.modules["hinge.dynamics.jointwise"]
    plain = module.jointwise
    monkeypatch.setattr(
        module, "jointwise", lambda *given, **how: calls.append(given) or plain(*given, **how)
    )
    for _ in range(3):
        hinge.simulate(PANDA, t=2e-3, control=hinge.sim.PD(np.zeros(7), 1.0, 1.0), integrator="midpoint")
    assert len(calls) == 3  # the feedback, the way to the middle, and the step
    for _ in range(2):
        program(lambda _, v: {"z": v["x"] + 3.0 * v["y"]})
    assert len(calls) == 5  # others' formulas may have changed


EDITED = """
import numpy as np
from hinge import robots
from hinge.dynamics import joint_program
formula = lambda _, v: {{"z": v["x"] {sign} v["y"]}}
found = joint_program(robots.panda(), "mine", {{"x": "qd", "y": "qd"}}, {{"z": "qd"}}, formula, target="llvm")
print(float(found({{"x": np.full(7, 5.0), "y": np.full(7, 2.0)}})["z"][0]))
"""


def test_an_edited_formula_does_not_get_old_machine_code_from_disk(tmp_path: Path):
    """Two processes share the cache; between them the file with the formula is edited."""
    pytest.importorskip("llvmlite")
    given = {k: v for k, v in os.environ.items() if k not in ("HINGE_CACHE", "HINGE_TARGET")}
    script, where = tmp_path / "law.py", {"HINGE_CACHE_DIR": str(tmp_path / "cache")}
    found, kept = [], []
    for sign in ("+", "-", "+"):
        script.write_text(EDITED.format(sign=sign))
        made = subprocess.run(
            [sys.executable, str(script)], env=given | where, capture_output=True, text=True, check=True
        )
        found.append(float(made.stdout))
        kept.append(len(list((tmp_path / "cache").glob("*.object"))))
    assert found == [7.0, 3.0, 7.0]
    assert kept[0] < kept[1] == kept[2]  # what comes back is read from disk


@dataclass(frozen=True)
class Geared(VectorJoint):
    """A joint that turns about z by ratio q: a type of the user's own."""

    ratio: float = 1.0

    kind = "geared"
    q_names = qd_names = ("angle",)
    lengths = (False,)

    def placement(self, q):
        return Revolute().placement(self.ratio * q)

    def subspace(self, q):
        return self.ratio * Revolute().subspace(q)

    def reversed(self):
        raise NotImplementedError


def test_types_of_the_users_own_are_told_apart_by_what_they_do():
    def spins(ratio):
        b = Builder("geared")
        b.body("wheel", joint=Geared(ratio=ratio), inertia=Inertia.from_com(1.0, (0, 0, 0), np.eye(3)))
        rows = {"q": "q", "qd": "qd"}
        return joint_program(
            b.build(), "spin", rows, {"spin": "qd"}, lambda k, v: {"spin": k.subspace(v["q"])[2] * v["qd"]}
        )

    given = {"q": np.ones(1), "qd": np.full(1, 2.0)}
    assert [spins(ratio)(given)["spin"][0] for ratio in (1.0, 3.0, 1.0)] == [2.0, 6.0, 2.0]
