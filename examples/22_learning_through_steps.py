"""A network learns to swing a pendulum up, by gradients through the steps of a simulation.

The motor is too weak to lift the pendulum, so that it has to swing. A small network of PyTorch sees angle and rate
and gives the torque; `hinge.torch.step` is one step of 64 pendulums with its gradient. The cost of a second and a
half is differentiated through all steps and all calls of the network, and Adam does the rest.
"""

from __future__ import annotations

import numpy as np

import hinge

DT, STEPS, MANY, ROUNDS = 0.05, 40, 64, 150
MASS, LENGTH, STRONGEST = 1.0, 1.0, 4.0  # the torque that holds it level is 9.8 Nm


def pendulum() -> hinge.Robot:
    """Return a point mass on a rod that turns about y and hangs at zero."""
    b = hinge.Builder("pendulum")
    inertia = hinge.Inertia.from_com(MASS, (0.0, 0.0, -LENGTH), 1e-3 * np.eye(3))
    b.body("rod", joint=hinge.joints.Continuous(axis=(0, 1, 0)), inertia=inertia)
    return b.build()
