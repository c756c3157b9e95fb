"""Quasi-velocities: coordinates of the velocity in which the mass matrix is the identity.

The mass matrix is a product 𝓜 = L Lᵀ with L = (I + H φ K) D½, which the algebra proves and each robot has
without any factorisation of numbers. With ν = Lᵀ q̇ the kinetic energy is ½ νᵀ ν: every ν has the same share
in it, whichever joint moves. Two things follow at once. Velocities of a robot in a heat bath are q̇ = L⁻ᵀ w
with w normal, so that each ν has the mean energy ½ kT. And ν tells how energy goes around while an arm falls.
"""

from __future__ import annotations

import sys

import numpy as np

import hinge

#: How far energies may be off, relative, and how many standard errors a mean.
ERROR, ERRORS = 1e-12, 5.0


def main(samples: int = 100_000) -> int:
    """Print shares of energy; the exit code is 1 when ½ νᵀ ν is not the energy."""
    robot = hinge.robots.panda()
    q = hinge.random_configuration(robot, seed=1)
    qd = np.linspace(-1.0, 1.0, robot.nv)
    nu = hinge.quasi_velocities(robot, q, qd)
    energy = float(hinge.kinetic_energy(robot, q, qd))
    print(f"½ q̇ᵀ 𝓜 q̇ = {energy:.12f} J,  ½ νᵀ ν = {nu @ nu / 2:.12f} J")
    back = hinge.from_quasi_velocities(robot, q, nu)
    off = max(abs(nu @ nu / 2 - energy) / energy, float(np.abs(back - qd).max()))

    kT = 2.0
    warm = hinge.sample_velocities(robot, q, kT, seed=2, size=samples)
    mean = (hinge.quasi_velocities(robot, q, warm) ** 2 / 2).mean(axis=0)
    spread = kT / np.sqrt(2 * samples)  # of the mean of ½ ν²
    print(f"heat bath with kT = {kT:g} J, mean of ½ ν² [J]: {mean.round(3)}")
    worst = float(np.abs(mean - kT / 2).max() / spread)

    run = hinge.simulate(robot, q, t=1.0, dt=1e-3, record=200)
    shares = hinge.quasi_velocities(robot, run.q, run.qd) ** 2 / 2
    print(
        "\nfalling, ½ ν² of each joint [J]\nt [s]  " + "  ".join(f"{j.name:>7}" for j in robot.joints if j.nv)
    )
    for t, row in zip(run.t, shares, strict=True):
        print(f"{t:5.2f}  " + "  ".join(f"{x:7.3f}" for x in row))
    fall = float(np.abs(shares.sum(axis=-1) - run.kinetic_energy).max() / run.kinetic_energy.max())
    good = max(off, fall) < ERROR and worst < ERRORS
    print("\nthe shares add up." if good else "\nTHE SHARES DO NOT ADD UP.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
