"""Forward kinematics: Featherstone section 8.2.2, composed along the tree as in 7.2."""

from __future__ import annotations

from hinge.model import Robot, as_configuration
from hinge.spatial import ArrayLike, Transform


def link_transforms(robot: Robot, q: ArrayLike) -> list[Transform]:
    """Return for each body i the transform ᵢX_λ from its parent's to its own coordinates."""
    q = as_configuration(robot, q)
    return [j.transform(q[..., j.q_slice]) for j in robot.joints]


def forward_kinematics(robot: Robot, q: ArrayLike) -> list[Transform]:
    """Return for each body i the transform ᵢX₀ from world to body coordinates.

    ᵢX₀ = ᵢX_λ λX₀, (2.17); `.rotation` and `.position` are the body's pose in the world.
    """
    found: list[Transform] = []
    for x, parent in zip(link_transforms(robot, q), robot.tree.parents, strict=True):
        found.append(x if parent < 0 else x @ found[parent])
    return found


def frame_placement(robot: Robot, q: ArrayLike, frame: str) -> Transform:
    """Return the transform from world to frame coordinates."""
    f = robot.frame(frame)
    return f.placement @ forward_kinematics(robot, q)[robot.body_index(f.body)]
