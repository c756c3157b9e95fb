"""Random robots with coupled joints, and the dense projection that says what their dynamics is.

With q_full = G q + c of the robot whose couplings are only recorded, 𝓜 = Gᵀ 𝓜_full G and τ = Gᵀ τ_full.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hinge import reference, robots
from hinge.model import Coupling, Joint, Robot, carry_state, embed_couplings, joints, make_robot
from hinge.spatial import Array, matvec, transpose
from hinge.testing import State, random_state

#: Every type that can be coupled, and these with some that have no or several coordinates in between.
SINGLE = ("revolute", "prismatic", "screw", "continuous")
MIXED = (*SINGLE, "spherical", "planar", "fixed", "universal")


def coupled(robot: Robot, *couplings: tuple[str, str, float, float]) -> Robot:
    """Return the robot with couplings (joint, master, ratio, offset) recorded."""
    return make_robot(
        robot.name,
        robot.bodies,
        robot.joints,
        frames=robot.frames,
        couplings=[Coupling(*c) for c in couplings],
        gravity=robot.gravity,
    )


def random_coupled(n: int, seed: int, *, kinds: tuple[str, ...] | None = None, share: float = 0.6) -> Robot:
    """Return a random tree with random couplings: chains of them, between any bodies, several sets."""
    rng = np.random.default_rng(seed)
    robot = robots.random_tree(n, seed, kinds, branching=0.6)
    if kinds is not None and seed % 2:
        robot = _floating(robot)
    single = [j.name for j in robot.joints if j.nv == 1]
    rng.shuffle(single)
    found: list[tuple[str, str, float, float]] = []
    for k in range(1, len(single)):
        if rng.random() < share:
            ratio = float(rng.choice([1.0, -1.0, rng.uniform(-2, 2), rng.uniform(-2, 2)]))
            offset = float(rng.choice([0.0, rng.uniform(-1, 1)]))
            found.append((single[k], single[int(rng.integers(k))], ratio, offset))
    return coupled(robot, *found)


def _floating(robot: Robot) -> Robot:
    """Return the robot with its first body free."""
    first = robot.joints[0]
    free = Joint(first.name, joints.Free(), None, first.child)
    return make_robot(robot.name, robot.bodies, [free, *robot.joints[1:]], frames=robot.frames)


@dataclass(frozen=True, eq=False)
class Projected:
    """A robot with its couplings embedded, a state of it, and the same of the robot with all coordinates."""

    full: Robot
    seed: int = 0
    batch: tuple[int, ...] = ()

    @cached_property
    def robot(self) -> Robot:
        """The robot with fewer coordinates."""
        return embed_couplings(self.full)

    @cached_property
    def state(self) -> State:
        """A random state of it."""
        return random_state(self.robot, self.seed, self.batch)

    @cached_property
    def q(self) -> Array:
        """Its configuration in all coordinates."""
        return carry_state(self.robot, self.full, self.state.q, self.state.qd)[0]

    @cached_property
    def g(self) -> Array:
        """G (full nv, nv), from the couplings alone."""
        masters = {c.joint: c for c in self.full.couplings}
        found = np.zeros((self.full.nv, self.robot.nv))
        for j in self.full.joints:
            ratio, name = 1.0, j.name
            while name in masters:
                ratio, name = ratio * masters[name].ratio, masters[name].master
            found[j.qd_slice, self.robot.joint(name).qd_slice] = ratio * np.eye(j.nv)
        return found

    def wide(self, x: Array) -> Array:
        """Return G x."""
        return matvec(self.g, x)

    def narrow(self, x: Array) -> Array:
        """Return Gᵀ x."""
        return matvec(self.g.T, x)

    @cached_property
    def mass(self) -> Array:
        """Gᵀ 𝓜 G."""
        return transpose(self.g) @ reference.mass_matrix(self.full, self.q) @ self.g

    def forces(self, qdd: Array, **more: object) -> Array:
        """Return Gᵀ τ for the accelerations G q̈."""
        qd = self.wide(self.state.qd)
        return self.narrow(reference.inverse_dynamics(self.full, self.q, qd, self.wide(qdd), **more))

    def accelerations(self, tau: Array, **more: object) -> Array:
        """Return q̈ by a dense solve."""
        left = tau - self.forces(np.zeros(self.robot.nv), **more)
        return np.linalg.solve(self.mass, left[..., None])[..., 0]
