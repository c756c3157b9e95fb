"""The search of inverse kinematics: damped least squares on a batch of starts, within the limits of joints.

The damping follows the error (Sugihara, Levenberg–Marquardt for singular problems): λ = μ |e|², and μ falls
while steps succeed and grows where they do not. A degree of freedom that stands at a limit and would go
beyond it takes no part in a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hinge.dynamics.verbs import forward_kinematics, jacobian
from hinge.model import Robot, integrate
from hinge.model.joints import VectorJoint
from hinge.spatial import Array, matvec, rotation, transpose

#: The first μ, its factors after success and failure, and its bounds.
DAMPING, LESS, MORE, LEAST_DAMPING, MOST_DAMPING = 0.5, 0.2, 4.0, 1e-6, 1e6
#: The least damping, relative to the size of J Jᵀ.
FLOOR = 1e-12
#: The longest step of a degree of freedom, in rad or in lengths of the robot.
STRIDE = 0.8
#: A start has stalled after this many steps that bring the squared error down by less than this share.
PATIENCE, PROGRESS = 15, 1e-3
#: How often a step is repeated without the coordinates that would exceed a limit.
HELD = 3

RUNNING, REACHED, STALLED, SPENT = range(4)


@dataclass(frozen=True, eq=False)
class Task:
    """The task: a frame of a robot, the joints that may move, tolerances and limits of the search."""

    robot: Robot
    frame: str
    moving: Array
    coordinates: Array
    lower: Array
    upper: Array
    straight: tuple[Array, Array]
    tolerances: tuple[float, float]
    iterations: int
    length: float = 1.0

    @classmethod
    def of(
        cls, robot: Robot, frame: str, names: frozenset[str], tolerances: tuple[float, float], iterations: int
    ) -> Task:
        """Return the task in which the joints of these names may move."""
        moving, coordinates = np.zeros(robot.nv, dtype=bool), np.zeros(robot.nq, dtype=bool)
        lower, upper = np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
        least, most = robot.lower, robot.upper
        straight: list[tuple[int, int]] = []
        together = {name for loop in robot.loops for name in loop.joints}  # they cannot be clipped one by one
        for j in robot.joints:
            if j.name in names:
                moving[j.qd_slice] = coordinates[j.q_slice] = True
            if j.name in names - together:
                lower[j.q_slice], upper[j.q_slice] = least[j.q_slice], most[j.q_slice]
            if isinstance(j.type, VectorJoint) and not j.follows and j.name not in together:
                straight += [(j.q_slice.start + k, j.qd_slice.start + k) for k in range(j.nv)]
        pairs = np.array(straight, dtype=int).reshape(-1, 2)
        both = pairs[:, 0], pairs[:, 1]
        return cls(robot, frame, moving, coordinates, lower, upper, both, tolerances, iterations)

    def clipped(self, q: Array) -> Array:
        """Return configurations within the limits."""
        return np.clip(q, self.lower, self.upper)

    def at_limits(self, q: Array, step: Array) -> Array:
        """Tell which degrees of freedom stand at a limit and would go beyond it."""
        found = np.zeros(step.shape, dtype=bool)
        at, dof = self.straight
        x, way = q[..., at], step[..., dof]
        found[..., dof] = ((x >= self.upper[at]) & (way > 0)) | ((x <= self.lower[at]) & (way < 0))
        return found

    def error(self, q: Array, goal: Array, turn: Array | None) -> tuple[Array, Array]:
        """Return [rotation vector; shift / length] that leads from the frame to the target, in its axes.

        And the two sizes (…, 2): of the shift in m and of the rotation in rad.
        """
        pose = forward_kinematics(self.robot, q, self.frame)
        shift = matvec(pose.E, goal - pose.position)
        angle = np.zeros_like(shift) if turn is None else rotation.log(pose.E @ turn)
        sizes = np.stack([np.linalg.norm(shift, axis=-1), np.linalg.norm(angle, axis=-1)], axis=-1)
        parts = [shift / self.length] if turn is None else [angle, shift / self.length]
        return np.concatenate(parts, axis=-1), sizes

    def slopes(self, q: Array, rows: int) -> Array:
        """Return the Jacobian of the last rows, lengths relative to the robot's, of what may move."""
        j = jacobian(self.robot, q, self.frame) * self.moving
        j[..., 3:, :] /= self.length
        return j[..., 6 - rows :, :]

    def sized(self, q: Array) -> Task:
        """Return the task with a typical length of the robot: how far a turn by one rad takes the frame."""
        j = jacobian(self.robot, q, self.frame)[..., 3:, :] * self.moving
        found = float(np.max(np.linalg.norm(j, axis=-2), initial=0.0))
        return replace(self, length=found or 1.0)

    def is_reached(self, sizes: Array) -> Array:
        """Tell where errors are within the tolerances."""
        return np.all(sizes <= self.tolerances, axis=-1, keepdims=True)[..., 0]


@dataclass(frozen=True, eq=False)
class Best:
    """The best start of each target: its configuration, errors, number of steps, and reason of failure."""

    q: Array
    rest: tuple[Array, Array, Array, Array, Array]


def searched(task: Task, q: Array, goal: Array, turn: Array | None, *, first_counts: bool) -> Best:
    """Return the best for targets (n, …) from starts q (s, n, nq).

    With `first_counts` the first start goes on although another has reached the target, and is preferred.
    """
    starts, n = q.shape[:2]
    task = task.sized(q.reshape(-1, q.shape[-1])[:1024])
    state = _State(
        q=q.reshape(starts * n, q.shape[-1]).copy(),
        goal=np.tile(goal, (starts, 1)),
        turn=None if turn is None else np.tile(turn, (starts, 1, 1)),
    )
    state.begin(task)
    for _ in range(task.iterations):
        state.stop_others(starts, n, first_counts)
        running = np.flatnonzero(state.status == RUNNING)
        if not len(running):
            break
        state.advance(task, running)
    state.status[state.status == RUNNING] = SPENT
    return _best(task, state, starts, n, first_counts)


@dataclass(eq=False)
class _State:
    """The state of the search of all starts."""

    q: Array
    goal: Array
    turn: Array | None

    def begin(self, task: Task) -> None:
        """Evaluate the errors of the starts."""
        count = len(self.q)
        self.e, self.sizes = task.error(self.q, self.goal, self.turn)
        self.cost = _squared(self.e)
        self.damping = np.full(count, DAMPING)
        self.slow, self.steps = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
        self.status = np.where(task.is_reached(self.sizes), REACHED, RUNNING)

    def stop_others(self, starts: int, n: int, first_counts: bool) -> None:
        """End the starts of targets that another start has reached."""
        status = self.status.reshape(starts, n)
        done = (status == REACHED).any(axis=0)
        later = status[1 if first_counts else 0 :]
        later[(later == RUNNING) & done] = STALLED

    def advance(self, task: Task, at: Array) -> None:
        """Take a step from the starts at these places."""
        q, turn = self.q[at], None if self.turn is None else self.turn[at]
        step = _step(task, q, self.e[at], self.damping[at] * self.cost[at])
        tried = task.clipped(integrate(task.robot, q, step))
        e, sizes = task.error(tried, self.goal[at], turn)
        cost = _squared(e)
        better = cost < self.cost[at]
        self.slow[at] = np.where(cost < (1 - PROGRESS) * self.cost[at], 0, self.slow[at] + 1)
        self.steps[at] += 1
        self.damping[at] = np.clip(
            self.damping[at] * np.where(better, LESS, MORE), LEAST_DAMPING, MOST_DAMPING
        )
        won = at[better]
        self.q[won], self.e[won], self.sizes[won] = tried[better], e[better], sizes[better]
        self.cost[won] = cost[better]
        self.status[at[self.slow[at] >= PATIENCE]] = STALLED
        self.status[won[task.is_reached(self.sizes[won])]] = REACHED


def _step(task: Task, q: Array, e: Array, damping: Array) -> Array:
    """Return Jᵀ (J Jᵀ + λ)⁻¹ e without the degrees of freedom that limits hold, of bounded length."""
    j = task.slopes(q, e.shape[-1])
    one = np.eye(e.shape[-1])
    step = np.zeros((len(q), task.robot.nv))
    for _ in range(HELD):
        a = j @ transpose(j)
        floor = FLOOR * np.maximum(np.trace(a, axis1=-2, axis2=-1), 1e-9)
        a += (damping + floor)[:, None, None] * one
        step = matvec(transpose(j), np.linalg.solve(a, e[..., None])[..., 0])
        held = task.at_limits(q, step)
        if not held.any():
            break
        j = np.where(held[:, None, :], 0.0, j)
    longest = np.abs(step).max(axis=-1, initial=0.0)
    return step * np.minimum(1.0, STRIDE / np.maximum(longest, 1e-30))[:, None]


def _squared(e: Array) -> Array:
    return np.einsum("ni,ni->n", e, e)


def _best(task: Task, state: _State, starts: int, n: int, first_counts: bool) -> Best:
    """Return for each target the first start that reached it, else the nearest one."""
    status, cost = state.status.reshape(starts, n), state.cost.reshape(starts, n)
    order = np.where(status == REACHED, state.steps.reshape(starts, n).astype(float), np.inf)
    if first_counts:
        order[0, status[0] == REACHED] = -1.0
    reached = (status == REACHED).any(axis=0)
    which = np.where(reached, order.argmin(axis=0), cost.argmin(axis=0))
    at = which * n + np.arange(n)
    why = np.array([_why(task, state, k) for k in at], dtype=object)
    position, angle = state.sizes[at].T
    return Best(state.q[at], (position, angle, state.steps[at], reached, why))


def _why(task: Task, state: _State, k: int) -> str:
    """Return why a start failed, an empty text if it did not."""
    if state.status[k] == REACHED:
        return ""
    j = task.slopes(state.q[k : k + 1], state.e.shape[-1])[0]
    pull = j.T @ state.e[k]
    held = task.at_limits(state.q[k], pull)
    names = [x.name for x in task.robot.joints if held[x.qd_slice].any()]
    if not np.any(j):
        return "no joint that may move moves the frame"
    if state.status[k] == SPENT:
        return f"{task.iterations} iterations were not enough"
    limits = f", held at the limits of {', '.join(names)}" if names else ""
    return f"no step comes nearer{limits}: the target is out of reach, or needs other starts"
