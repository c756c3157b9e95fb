"""Two robots with the same physics, joint by joint of the same name and coordinates."""

from __future__ import annotations

import numpy as np

from hinge import reference
from hinge.model import Robot
from hinge.testing import random_state


def assert_same_physics(a: Robot, b: Robot, *, tolerance: float = 1e-12) -> None:
    """Fail unless both have the same forces and kinetic energy at random states."""
    moving = {j.name: j for j in a.joints if j.nv}
    assert {n: j.type.kind for n, j in moving.items()} == {j.name: j.type.kind for j in b.joints if j.nv}
    s = random_state(a, 5, 3)
    q, qd, qdd = np.zeros((3, b.nq)), np.zeros((3, b.nv)), np.zeros((3, b.nv))
    for name, j in moving.items():
        other = b.joint(name)
        q[:, other.q_slice] = s.q[:, j.q_slice]
        qd[:, other.qd_slice], qdd[:, other.qd_slice] = s.qd[:, j.qd_slice], s.qdd[:, j.qd_slice]
    ours = reference.inverse_dynamics(a, s.q, s.qd, s.qdd)
    theirs = reference.inverse_dynamics(b, q, qd, qdd)
    scale = 1 + np.abs(ours).max(initial=0.0)
    for name, j in moving.items():
        difference = ours[:, j.qd_slice] - theirs[:, b.joint(name).qd_slice]
        assert np.abs(difference).max() <= tolerance * scale, name
    energies = reference.kinetic_energy(a, s.q, s.qd) - reference.kinetic_energy(b, q, qd)
    assert np.abs(energies).max() <= tolerance * scale
