"""CONTRIBUTING counts the files under src that a new letter, verb, function, joint or target touches."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from tests.api.law import PACKAGE
from tests.api.recipes import RECIPES, apply

CONTRIBUTING = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
NUMBERS = {"two": 2, "three": 3, "four": 4}

USE = """
import numpy as np, hinge
from hinge import reference
from hinge.algebra import H, h_b, phi
from hinge.kernels import OPS, Graph, apply, finish
from hinge.model.joints import JOINT_TYPES, Slanted
from hinge.targets import TARGETS

robot = hinge.robots.quadruped()
rng = np.random.default_rng(0)
q, qd, tau = hinge.random_configuration(robot, 1), *rng.standard_normal((2, robot.nv))
momenta = hinge.mass_matrix(robot, q) @ qd
for target in TARGETS:
    assert np.allclose(hinge.compile(H @ phi @ h_b, robot, target=target)(q, qd), momenta)
assert np.allclose(hinge.joint_momenta(robot, q, qd), momenta)
slow = hinge.compile("forward_dynamics", robot, target="slow")
assert slow.program().target == "slow"
assert np.allclose(slow(q, qd, tau=tau), reference.forward_dynamics(robot, q, qd, tau))

builder, inertia = hinge.Builder("arm"), hinge.Inertia.from_com(1.0, (0.1, 0, 0), np.eye(3))
builder.body("a", joint=Slanted(), inertia=inertia)
builder.body("b", parent="a", joint=JOINT_TYPES["slanted"](), inertia=inertia)
arm = builder.build()
assert np.allclose(hinge.mass_matrix(arm, [0.3, 0.4]), [[4.0, 2.0], [2.0, 2.0]])

graph = Graph()
x, y = graph.input("x"), graph.input("y")
kernel = finish(graph, {"z": apply("larger", x, y) + 1.0})
assert kernel.evaluate({"x": 2.0, "y": 5.0})["z"] == 6.0 and "larger" in str(kernel)
"""


@pytest.mark.parametrize("what", RECIPES)
def test_contributing_counts_the_places_to_touch(what):
    section = re.search(rf"## A new {what}\n(.*?)\n## ", CONTRIBUTING, re.S)
    assert section is not None
    count = re.search(r"\b(two|three|four) files", section[1], re.I)
    assert count is not None, "say how many files are touched"
    assert len(RECIPES[what]) == NUMBERS[count[1].lower()]


def test_what_the_recipes_add_works(tmp_path):
    copytree(PACKAGE, tmp_path / "hinge", ignore=ignore_patterns("__pycache__"))
    for recipe in RECIPES.values():
        apply(recipe, tmp_path / "hinge")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HINGE_CACHE": "0"}
    environment.pop("HINGE_TARGET", None)
    run = subprocess.run(
        [sys.executable, "-c", USE], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
