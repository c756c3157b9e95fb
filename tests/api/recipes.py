# ruff: noqa: E501 (edits as they stand in the files)
"""What it takes to add something: the edits of files under src that CONTRIBUTING counts, as data.

A recipe maps files to edits (what stands there, what is put in its place), or to the text of a new file. The
test applies all of them to a copy of the package and uses what they add.
"""

from __future__ import annotations

from pathlib import Path

Edits = list[tuple[str, str]] | str

LETTER: dict[str, Edits] = {
    "algebra/letters.py": [
        ("__all__ = [\n", '__all__ = [\n    "h_b",\n'),
        (
            "tau_j = letter(",
            'h_b = letter("h_b", Body, One, "momenta of the bodies",\n'
            "             Card(FORCE, NUMBER, HAS, asks=INERTIA), needs=(_V,))\ntau_j = letter(",
        ),
    ],
    "binding/site.py": [
        ("from hinge.algebra import (\n", "from hinge.algebra import (\n    h_b,\n"),
        (
            "formulas |= {b: self._bias_force,",
            "formulas |= {h_b: lambda v: self.inertia @ v, b: self._bias_force,",
        ),
    ],
    "sweeps/costs.py": [
        ("from hinge.algebra import (\n", "from hinge.algebra import (\n    h_b,\n"),
        ("FORMULA = {", "FORMULA = {h_b: 42, "),
    ],
}

VERB: dict[str, Edits] = {
    "dynamics/expressions.py": [
        ('    "mass_times": mass @ x,', '    "mass_times": mass @ x,\n    "joint_momenta": mass @ qd,')
    ],
    "dynamics/factors.py": [
        ("__all__ = [\n", '__all__ = [\n    "joint_momenta",\n'),
        (
            "@verb\ndef mass_times(",
            "@verb\ndef joint_momenta(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:\n"
            '    """Return 𝓜 q̇ (…, nv), the momenta of the joint coordinates."""\n    ...\n\n\n'
            "@verb\ndef mass_times(",
        ),
    ],
    "__init__.pyi": [
        (
            "    mass_times as mass_times,",
            "    mass_times as mass_times,\n    joint_momenta as joint_momenta,",
        )
    ],
}

FUNCTION: dict[str, Edits] = {
    "kernels/ops.py": [
        (
            '        Op("sqrt", np.sqrt,',
            '        Op("larger", np.maximum, max, ("none", "none"), commutes=True),\n        Op("sqrt", np.sqrt,',
        )
    ],
    "targets/llvm/functions.py": [
        (
            "\n\ndef _near(w: Writer",
            'WRITTEN["larger"] = lambda w, x, y: w.select(w.compare("ogt", x, y), x, y)\n\n\ndef _near(w: Writer',
        )
    ],
}

JOINT: dict[str, Edits] = {
    "model/joints/slanted.py": '''"""Slanted: a slide along the diagonal of the xy plane."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.model.joints.contract import VectorJoint
from hinge.spatial import Transform


@dataclass(frozen=True)
class Slanted(VectorJoint):
    """q the displacement in m along (1, 1, 0)."""

    kind: ClassVar[str] = "slanted"
    q_names: ClassVar[tuple[str, ...]] = ("s",)
    qd_names: ClassVar[tuple[str, ...]] = ("s",)
    lengths: ClassVar[tuple[bool, ...]] = (True,)

    def placement(self, q):
        return Transform.place(position=q * np.array([1.0, 1.0, 0.0]))

    def subspace(self, q):
        found = np.zeros((*np.shape(q)[:-1], 6, 1), dtype=np.asarray(q).dtype)
        found[..., 3:5, 0] = 1.0
        return found

    def reversed(self):
        return self
''',
    "model/joints/__init__.py": [
        (
            "from hinge.model.joints.spherical import Spherical\n",
            "from hinge.model.joints.slanted import Slanted\nfrom hinge.model.joints.spherical import Spherical\n",
        ),
        ("        Wheeled,\n    )\n", "        Wheeled,\n        Slanted,\n    )\n"),
        ('__all__ = [\n    "JOINT_TYPES",\n', '__all__ = [\n    "JOINT_TYPES",\n    "Slanted",\n'),
    ],
}

TARGET: dict[str, Edits] = {
    "targets/slow.py": '''"""Slow: NumPy's programs under another name."""

from hinge.targets.numpy import NumpyProgram
from hinge.targets.target import Target


class SlowProgram(NumpyProgram):
    """A program of NumPy's."""

    target = "slow"


SLOW = Target("slow", lambda source: SlowProgram(source.code), listings={"python": "Python"})
''',
    "targets/registry.py": [
        (
            "from hinge.targets.numpy import NUMPY\n",
            "from hinge.targets.numpy import NUMPY\nfrom hinge.targets.slow import SLOW\n",
        ),
        ("(LLVM, NUMPY)", "(LLVM, NUMPY, SLOW)"),
    ],
}

#: What can be added, by what CONTRIBUTING calls it.
RECIPES = {
    "letter": LETTER,
    "verb": VERB,
    "kernel function": FUNCTION,
    "joint type": JOINT,
    "target": TARGET,
}


def apply(recipe: dict[str, Edits], package: Path) -> None:
    """Make the edits of a recipe to a copy of the package."""
    for name, edits in recipe.items():
        file = package / name
        if isinstance(edits, str):
            assert not file.exists(), name
            file.write_text(edits, encoding="utf-8")
            continue
        text = file.read_text(encoding="utf-8")
        for old, new in edits:
            assert text.count(old) == 1, (name, old, text.count(old))
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
