"""Inverse kinematics: configurations that bring a frame to a target, for many targets and starts at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import index

import numpy as np

from hinge.dynamics.cached import one_name
from hinge.dynamics.ik_search import Task, searched
from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, checked_robot, neutral, random_configuration, units
from hinge.model.joints import VectorJoint
from hinge.spatial import Array, ArrayLike, Transform, quaternion, rotation

__all__ = ["InverseKinematics", "inverse_kinematics"]

Target = Transform | ArrayLike

#: The number of reasons in the text of a result.
MOST_REASONS = 5


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """What `inverse_kinematics` found, for each target of a batch (…).

    `q` (…, nq) is the solution, or where there is none the best that was found; `position_error` in m and
    `rotation_error` in rad are what is left (rotations that were not asked for leave none); `iterations` are
    those of the start that led to q; `reason` says why there is no solution and is empty where there is one.
    """

    robot: Robot
    frame: str
    q: Array
    position_error: Array
    rotation_error: Array
    iterations: Array
    converged: Array
    reason: Array

    def __str__(self) -> str:
        count, done = self.converged.size, int(np.sum(self.converged))
        head = f"{self.frame!r} of robot {self.robot.name!r}: "
        if count == 0:
            return head + "no targets"
        if count == 1 and done:
            return head + f"reached in {self.iterations.item()} iterations, {self._left(self.converged)} left"
        if count == 1:
            return head + f"not reached, {self._left(~self.converged)} left: {self.reason.item()}"
        lines = [head + f"{done} of {count} targets reached"]
        if done:
            most = self.iterations[self.converged].max()
            lines[0] += f", in at most {most} iterations, with at most {self._left(self.converged)} left"
        reasons = Counter(self.reason[~self.converged].tolist()).most_common()
        for why, number in reasons[:MOST_REASONS]:
            lines.append(f"    {number} not, with at most {self._left(self.reason == why)} left: {why}")
        others = sum(number for _, number in reasons[MOST_REASONS:])
        return "\n".join([*lines, *([f"    {others} not, for other reasons"] if others else [])])

    def __repr__(self) -> str:
        return f"<InverseKinematics {self}>"

    def _left(self, chosen: Array) -> str:
        """Return the largest errors among some of the targets."""
        parts = ((self.position_error, "m"), (self.rotation_error, "rad"))
        return ", ".join(f"{np.max(np.where(chosen, x, 0.0)):.1e} {unit}" for x, unit in parts)


def inverse_kinematics(
    robot: Robot,
    frame: str,
    target: Target,
    *,
    q0: ArrayLike | None = None,
    joints: Sequence[str] | None = None,
    starts: int = 16,
    seed: int | np.random.Generator = 0,
    position_tolerance: float = 1e-6,
    rotation_tolerance: float = 1e-6,
    iterations: int = 200,
) -> InverseKinematics:
    """Return configurations within the limits of the joints at which the frame is where the target says.

    `target` is a Transform as `forward_kinematics` gives it, a pose as a matrix (…, 4, 4) or as (…, 7),
    quaternion w x y z and position, or a position alone (…, 3). All is in the world.

    The search is damped least squares (Levenberg–Marquardt) on the frame's Jacobian. It begins at `q0`
    (…, nq), the middle of the joints' range unless given, and at `starts` − 1 random ones drawn with `seed`,
    all at once; where a q0 is given and leads to the target, its solution is the one returned. `joints` names
    those that may move, all but modes of flexible bodies unless given; the others stay at q0. At most
    `iterations` steps are made from each start.
    """
    name = one_name(frame)
    checked_robot(robot).frame(name)
    r, p = _pose_of(target)
    first = _middle(robot) if q0 is None else as_configuration(robot, q0, "q0")
    if not np.isfinite(first).all():
        raise ArgumentError("q0: expected finite numbers, got nan or inf")
    try:
        batch = np.broadcast_shapes(p.shape[:-1], first.shape[:-1])
    except ValueError:
        raise ArgumentError(
            f"target, q0: batch shapes do not broadcast: target {p.shape[:-1]}, q0 {first.shape[:-1]}"
        ) from None
    given = {"position_tolerance": position_tolerance, "rotation_tolerance": rotation_tolerance}
    near, turned = (_positive(name, value) for name, value in given.items())
    count, most = _whole("starts", starts), _whole("iterations", iterations)
    task = Task.of(robot, name, _moving(robot, joints), (near, turned), most)
    flat = int(np.prod(batch))
    begin = np.broadcast_to(first, (*batch, robot.nq)).reshape(flat, robot.nq)
    others = random_configuration(robot, seed, (count - 1, flat))
    q = np.concatenate([begin[None], np.where(task.coordinates, others, begin)])
    goal = np.broadcast_to(p, (*batch, 3)).reshape(flat, 3)
    turn = None if r is None else np.broadcast_to(r, (*batch, 3, 3)).reshape(flat, 3, 3)
    found = searched(task, task.clipped(q), goal, turn, first_counts=q0 is not None)
    return InverseKinematics(
        robot, name, found.q.reshape(*batch, robot.nq), *(x.reshape(batch) for x in found.rest)
    )


def _pose_of(target: Target) -> tuple[Array | None, Array]:
    """Return rotation and position of a target, no rotation where it is a position."""
    if isinstance(target, Transform):
        r, p = np.asarray(target.rotation), np.asarray(target.position)
    else:
        r, p = _pose_of_array(target)
    if not (np.isfinite(p).all() and (r is None or np.isfinite(r).all())):
        raise ArgumentError("target: expected finite numbers, got nan or inf")
    if r is not None:
        off = np.abs(np.swapaxes(r, -1, -2) @ r - np.eye(3)).max(initial=0.0)
        if off > 1e-6 or (np.linalg.det(r) < 0).any():
            raise ArgumentError(
                f"target: expected a rotation with RᵀR = I and det R = 1, got RᵀR off by {off:.1e}, or a "
                "reflection"
            )
        batch = np.broadcast_shapes(r.shape[:-2], p.shape[:-1])
        r, p = np.broadcast_to(r, (*batch, 3, 3)), np.broadcast_to(p, (*batch, 3))
    return r, p


def _pose_of_array(target: ArrayLike) -> tuple[Array | None, Array]:
    try:
        x = np.asarray(target, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"target: {_EXPECTED}, got no array of numbers: {error}") from None
    if x.ndim >= 2 and x.shape[-2:] == (4, 4):
        if np.abs(x[..., 3, :] - [0.0, 0.0, 0.0, 1.0]).max(initial=0.0) > 1e-9:
            raise ArgumentError("target: expected (0, 0, 0, 1) as the last row of a pose (…, 4, 4)")
        return x[..., :3, :3], x[..., :3, 3]
    if x.ndim and x.shape[-1] == 7:
        if (np.abs(np.linalg.norm(x[..., :4], axis=-1) - 1) > 1e-6).any():
            raise ArgumentError("target: expected a unit quaternion w x y z as the first four of (…, 7)")
        return rotation.from_quaternion(quaternion.normalize(x[..., :4])), x[..., 4:]
    if x.ndim and x.shape[-1] == 3:
        return None, x
    raise ArgumentError(f"target: {_EXPECTED}, got shape {x.shape}")


_EXPECTED = "expected a Transform, a pose (…, 4, 4) or (…, 7), or a position (…, 3)"


def _middle(robot: Robot) -> Array:
    """Return the configuration in the middle of the limits, neutral where there are none."""
    found, lower, upper = neutral(robot), robot.lower, robot.upper
    straight = [robot.joint(u.name).q_slice for u in units(robot) if isinstance(u.type, VectorJoint)]
    for at in straight:
        bounded = np.isfinite(lower[at]) & np.isfinite(upper[at])
        found[at][bounded] = (lower[at][bounded] + upper[at][bounded]) / 2
    return found


def _moving(robot: Robot, names: Sequence[str] | None) -> frozenset[str]:
    if names is None:
        return frozenset(j.name for j in robot.joints if not j.flexes)
    if isinstance(names, str) or not isinstance(names, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"joints: expected a list of joint names, or None for all, got {names!r}")
    return frozenset(robot.joint(n).name for n in names)


def _whole(name: str, value: int) -> int:
    try:
        found = index(value)
    except TypeError:
        found = 0
    if found < 1:
        raise ArgumentError(f"{name}: expected an integer ≥ 1, got {value!r}")
    return found


def _positive(name: str, value: float) -> float:
    if not isinstance(value, int | float | np.floating) or not 0 < value < np.inf:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"{name}: expected a number above zero, got {value!r}")
    return float(value)
