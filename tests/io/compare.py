"""Two robots with the same physics, joint by joint of the same name."""

from __future__ import annotations

import numpy as np

from hinge import reference
from hinge.model import Robot, carry_state
from hinge.testing import random_state


def assert_same_physics(a: Robot, b: Robot, *, tolerance: float = 1e-12) -> None:
    """Fail unless both have the same dynamics and energies at random states."""
    s = random_state(a, 5, 3)
    q, qd = carry_state(a, b, s.q, s.qd)
    _, qdd = carry_state(a, b, s.q, s.qdd)
    moving = {j.name for j in a.joints if j.nv}
    assert moving == {j.name for j in b.joints if j.nv}
    ours = reference.inverse_dynamics(a, s.q, s.qd, s.qdd)
    theirs = reference.inverse_dynamics(b, q, qd, qdd)
    scale = 1 + np.abs(ours).max(initial=0.0)
    for name in moving:
        x, y = ours[..., a.joint(name).qd_slice], theirs[..., b.joint(name).qd_slice]
        assert np.abs(x - y).max() <= tolerance * scale, name
    for energy in (reference.kinetic_energy(a, s.q, s.qd) - reference.kinetic_energy(b, q, qd),):
        assert np.abs(energy).max() <= tolerance * scale
