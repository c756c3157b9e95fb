"""The equations of motion of an arm as formulas: as in a textbook, and as C without a library.

The kernels that run as machine code are evaluated with symbols of SymPy in place of numbers: for coordinates,
and for masses, lengths and inertias if they are asked for. Nothing is derived anew, so that the formulas say
what the functions compute; for a few joints SymPy makes them as short as those of a book.
"""

from __future__ import annotations

import sys

import numpy as np
import sympy as sp

import hinge
from hinge import Builder, Inertia
from hinge.model import joints

NUMBERS = ("inertias", "placements", "gravity")


def arm() -> hinge.Robot:
    """Return two links in a plane, gravity along −y."""
    b = Builder("arm", gravity=(0, -9.81, 0))
    turn = joints.Revolute((0, 0, 1))
    one = Inertia.from_com(2.0, (0.25, 0, 0), np.diag([0, 0, 0.03]))
    two = Inertia.from_com(1.5, (0.2, 0, 0), np.diag([0, 0, 0.02]))
    b.body("1", joint=turn, joint_name="1", inertia=one)
    b.body("2", parent="1", joint=turn, joint_name="2", position=(0.5, 0, 0), inertia=two)
    return b.build(strict=None)


def main() -> int:
    """Print the formulas; the exit code is 1 if they are not worth what the functions give."""
    robot = arm()
    matrix = hinge.symbolic("mass_matrix", robot, parameters=NUMBERS).simplified()
    bias = hinge.symbolic("bias_force", robot, parameters=NUMBERS).simplified()
    print(f"{matrix}\n\n{bias}\n\nthe robot's own numbers: {matrix.numbers}\n\n{matrix.latex()}\n")
    fd = hinge.symbolic("forward_dynamics", robot, shared=True)
    print(fd.c("arm_forward_dynamics"))

    rng = np.random.default_rng(1)
    off = 0.0
    for f, verb in ((matrix, hinge.mass_matrix), (bias, hinge.bias_force)):
        call = sp.lambdify(f.arguments, f.value, "numpy")
        state = [rng.standard_normal(2) for _ in f.inputs]
        found = np.asarray(call(*np.concatenate(state), *f.numbers.values()), dtype=float)
        wanted = verb(robot, *state)
        off = max(off, float(np.abs(found.reshape(wanted.shape) - wanted).max()))
    print(f"off the functions: {off:.1e}")
    print("the formulas agree." if off < 1e-12 else "THE FORMULAS DISAGREE.")
    return 0 if off < 1e-12 else 1


if __name__ == "__main__":
    sys.exit(main())
