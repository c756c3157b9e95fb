"""The joint-space inertia matrix by composite rigid bodies: Featherstone chapter 5 with 7.2, 7.4."""

from __future__ import annotations

import numpy as np

from hinge.model import Robot, as_configuration
from hinge.reference.arguments import refuse_loops
from hinge.reference.flexible import flexible_mass
from hinge.reference.joint_motion import subspaces
from hinge.reference.kinematics import link_transforms
from hinge.spatial import Array, ArrayLike, transpose


def mass_matrix(robot: Robot, q: ArrayLike) -> Array:
    """Return H (…, nv, nv).

    I^C_i = Iᵢ + Σ_μ ᵢXⱼ I^C_j ⱼXᵢ (5.11), F = I^C_i Sᵢ (5.12), carried towards the base (5.13),
    H_ij = H_jiᵀ = Fᵀ Sⱼ (5.14, 7.18); rotor inertias on the diagonal. Joints
    that follow others add to the rows and columns of these; flexible bodies as in `flexible`.
    """
    refuse_loops(robot)
    q = as_configuration(robot, q)
    x, s, parents = link_transforms(robot, q), subspaces(robot, q), robot.tree.parents
    composite = [b.inertia for b in robot.bodies]
    out = np.zeros((*q.shape[:-1], robot.nv, robot.nv))
    for i in reversed(range(len(robot.bodies))):
        own = robot.joints[i].qd_slice
        f = composite[i].matrix() @ s[i]
        out[..., own, own] += transpose(s[i]) @ f
        j = i
        while parents[j] >= 0:
            f = x[j].inv().forces(f)
            j = parents[j]
            other = robot.joints[j].qd_slice
            block = transpose(f) @ s[j]
            out[..., own, other] += block
            out[..., other, own] += transpose(block)
        if parents[i] >= 0:
            composite[parents[i]] = composite[parents[i]] + x[i].inv().inertia(composite[i])
    return out + np.diag(robot.reflected_inertia) + flexible_mass(robot, q)
