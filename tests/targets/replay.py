"""A digest of the LLVM text of every verb on four robots: python -m tests.targets.replay > digests.txt.

A change that must not change the code that comes out is judged by the difference of two such files. Nothing
but `hinge.compile` and the text it gives is used, so that the same script runs beside older sources too: the
lanes are fixed, the shape is what the compiler chooses, and no robot is drawn at random.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np

import hinge
from hinge import dynamics
from hinge.algebra import B, Ha, Hp, Na, Np, Q, f_ext, leaves
from hinge.dynamics import CATALOGUE, SEVERAL
from hinge.errors import HingeError
from hinge.model import Builder, Robot, joints
from hinge.spatial import Inertia, rotation
from tests.oracles.data import example

#: States at once, on whatever machine.
LANES = 4


def every_joint() -> Robot:
    """Return a tree with every joint type, some with rotors, springs, dampers and friction."""
    b = Builder("every_joint", gravity=(0.5, -1.0, -9.0))
    tree = {
        "hull": (None, joints.Free()),
        "hip": ("hull", joints.Revolute((0.6, 0, 0.8))),
        "shin": ("hip", joints.Prismatic((0, 0.8, -0.6))),
        "bolt": ("shin", joints.Screw((0.48, 0.6, 0.64), 0.13)),
        "wheel": ("hull", joints.Continuous((0, 1, 0))),
        "tube": ("hull", joints.Cylindrical((0.8, 0, 0.6))),
        "plate": ("tube", joints.Fixed()),
        "sledge": ("plate", joints.Planar((0.36, 0.48, 0.8))),
        "yoke": ("sledge", joints.Universal((1, 0, 0), (0, 0.6, 0.8))),
        "ball": ("yoke", joints.Spherical()),
        "wrist": ("ball", joints.SphericalAngles(((0, 0, 1), (0, 1, 0), (1, 0, 0)))),
        "stage": ("hip", joints.Translational()),
        "marble": ("stage", joints.RollingBall(0.2, (0, 0.6, 0.8))),
        "cart": ("stage", joints.Wheeled((0, 0, 1))),
    }
    for k, (name, (parent, kind)) in enumerate(tree.items(), 1):
        centre = (0.02 * k, -0.05 + 0.01 * k, 0.3 / k)
        inertia = Inertia.from_com(0.5 + 0.25 * k, centre, np.diag([0.03, 0.04, 0.05]) + 2e-4 * k)
        b.body(
            name,
            parent=parent,
            joint=kind,
            inertia=inertia,
            position=(0.1 + 0.03 * k, 0.2 - 0.04 * k, 0.05 * k),
            rotation=rotation.from_rpy((0.3 * k, 1.1 - 0.2 * k, 0.7 + 0.1 * k)),
            rotor_inertia=tuple(0.01 * (k + n) * (k % 3 == 2) for n in range(kind.nv)),
            damping=tuple(0.1 * (k + n) * (k % 2) for n in range(kind.nv)),
            friction=tuple(0.2 * (k + n) * (k % 5 == 2) for n in range(kind.nv)),
            stiffness=tuple(3.0 * (k + n) * (k in (3, 6, 9, 10)) for n in range(kind.nv)),
        )
    b.frame("tip", "wrist", position=(0.1, 0.2, 0.3), rotation=rotation.from_rpy((0.3, -0.4, 0.5)))
    return b.build()


def robots() -> dict[str, Robot]:
    """Return an arm, a quadruped and a humanoid from files, and a tree with every joint type."""
    found = {"panda": hinge.robots.panda()}
    for name, file in (("solo12", "solo12.urdf"), ("talos", "talos_reduced.urdf")):
        found[name] = hinge.io.read_urdf(example(file), floating=True, strict=None)
    return found | {"every_joint": every_joint()}


def verbs() -> dict[str, tuple[Any, set[Any]]]:
    """Return what is compiled for every verb, and its letters; options have the prefixes of older names."""
    found: dict[str, tuple[Any, set[Any]]] = {verb: (verb, set(leaves(e))) for verb, e in CATALOGUE.items()}
    for verb, parts in SEVERAL.items():
        found[verb] = (verb, _letters(parts))
    if hasattr(dynamics, "expression"):
        for verb in ("inverse_dynamics", "forward_dynamics", "bias_force", "hybrid_dynamics"):
            for prefix, option in (("passive", "passive"), ("moving", "base")):
                parts = dynamics.expression(verb, **{option: True})
                found[f"{prefix}_{verb}"] = (parts, _letters(parts))
    return dict(sorted(found.items()))


def _letters(parts: Any) -> set[Any]:
    return {x for e in (*parts.expressions.values(), *parts.blocks.values()) for x in leaves(e)}


def options(letters: set[Any], robot: Robot) -> dict[str, Any]:
    """Return a frame where a verb has nodes, axes where it shows them, joints where it splits coordinates."""
    found: dict[str, Any] = {}
    if letters & {B, f_ext}:
        found["nodes"] = [robot.frames[-1].name if robot.frames else robot.bodies[-1].name]
    if Q in letters:
        found["expressed"] = "world-aligned"
    if letters & {Ha, Hp, Na, Np}:
        moving = [j.name for j in robot.joints if j.nv]
        found["prescribed"] = moving[1::2]
    return found


def text_of(verb: Any, robot: Robot, given: dict[str, Any]) -> str:
    """Return the LLVM text of a verb, or the error that says why there is none."""
    try:
        return hinge.compile(verb, robot, target="llvm", lanes=LANES, **given).llvm
    except (HingeError, NotImplementedError) as error:
        return f"{type(error).__name__}"


def digests(wanted: Callable[[str], bool] = lambda line: True) -> Iterator[str]:
    """Yield a line for each verb and robot: verb, robot, digest of the text."""
    known = robots()
    for verb, (what, letters) in verbs().items():
        for name, robot in known.items():
            if wanted(f"{verb} {name}"):
                text = text_of(what, robot, options(letters, robot))
                shown = sha256(text.encode()).hexdigest() if "\n" in text else text
                yield f"{verb} {name} {shown}"


def main(words: list[str]) -> int:
    """Print the digests, of verbs and robots whose names contain one of the words if there are some."""
    for line in digests(lambda line: not words or any(w in line for w in words)):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
