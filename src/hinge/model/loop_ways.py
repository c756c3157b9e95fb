"""The way round a loop: errors and Jacobians of closures as functions of its joints, for any scalar type.

Everything is relative to the nearest body that carries both ends of a closure, so that its motion does not
enter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from hinge.model.closing import closure_ends
from hinge.model.closures import Closure, Rows, closure_error_of, rows_of
from hinge.model.parts import Joint
from hinge.model.robot import Robot
from hinge.spatial import Array, Transform

#: A singular value below this part of the largest one is zero.
RANK = 1e-7
#: The largest step of an assembly, in rad or m.
LONGEST = 0.5


@dataclass(frozen=True, eq=False)
class Way:
    """A closure seen from the nearest body that carries both its ends.

    `inner` and `outer` are the steps from there to the ends: numbers of joints of the loop, or constant
    transforms.
    """

    inner: tuple[int | Transform, ...]
    outer: tuple[int | Transform, ...]
    rows: Rows


@dataclass(frozen=True, eq=False)
class LoopGeometry:
    """The closures of a loop as functions of the coordinates (…, nq) of its joints, one after the other."""

    joints: tuple[Joint, ...]
    ways: tuple[Way, ...]

    @cached_property
    def q_at(self) -> list[slice]:
        """Where the coordinates of each joint stand."""
        return _slices(j.nq for j in self.joints)

    @cached_property
    def v_at(self) -> list[slice]:
        """Where the rates of each joint stand among all rates."""
        return _slices(j.nv for j in self.joints)

    @property
    def rates(self) -> int:
        """The number of rates of all joints."""
        return self.v_at[-1].stop

    @cached_property
    def size(self) -> float:
        """The size of the loop in m, by which lengths are compared with angles."""
        sizes = [np.linalg.norm(j.inner.r) + np.linalg.norm(j.outer.r) for j in self.joints]
        return max(float(np.mean([s for s in sizes if s > 0] or [1.0])), 1e-3)

    @cached_property
    def row_scales(self) -> Array:
        """What rows are multiplied by (m,), so that lengths count as angles."""
        lengths = [not name.startswith("w") for w in self.ways for name in w.rows.names]
        return np.where(lengths, 1.0 / self.size, 1.0)

    @cached_property
    def rate_scales(self) -> Array:
        """The rate (n,) of each coordinate that counts as 1 rad/s."""
        sliding = [u == "m" for j in self.joints for u in j.type.qd_units]
        return np.where(sliding, self.size, 1.0)

    def scaled(self, q: Array) -> Array:
        """Return the Jacobian (…, m, n) with lengths as angles, in units of the size of the loop."""
        return self.jacobian(q) * self.row_scales[:, None] * self.rate_scales

    def error(self, q: Array) -> Array:
        """Return the errors (…, m) of all rows."""
        return self.at(q)[0]

    def jacobian(self, q: Array) -> Array:
        """Return the Jacobian (…, m, n) of all rows, with a column for each rate of the joints."""
        return self.at(q)[1]

    def at(self, q: Array) -> tuple[Array, Array]:
        """Return errors and Jacobian."""
        parts, found, errors = self.apart(q), list[Array](), list[Array]()
        for way in self.ways:
            x, columns = self._across(way, parts)
            errors.append(closure_error_of(way.rows, x))
            rows = [
                way.rows.matrix @ columns[k]
                if k in columns
                else np.zeros((*q.shape[:-1], len(way.rows.matrix), j.nv))
                for k, j in enumerate(self.joints)
            ]
            found.append(np.concatenate(rows, axis=-1))
        return np.concatenate(errors, axis=-1), np.concatenate(found, axis=-2)

    def _across(self, way: Way, parts: Sequence[Array]) -> tuple[Transform, dict[int, Array]]:
        """Return the transform from the inner to the outer end, and the columns of velocities across."""
        inner, found = self._outwards(way.inner, parts)
        outer, columns = self._outwards(way.outer, parts)
        x = outer @ inner.inv()
        return x, columns | {k: -x.motions(s) for k, s in found.items()}

    def _outwards(
        self, steps: Sequence[int | Transform], parts: Sequence[Array]
    ) -> tuple[Transform, dict[int, Array]]:
        """Return the transform to an end, and the velocities there for the rates of each joint on the way."""
        x, columns = Transform.identity(), dict[int, Array]()
        for step in reversed(steps):
            if isinstance(step, Transform):
                x = x @ step
            else:
                joint, q = self.joints[step], parts[step]
                columns[step] = x.motions(joint.subspace(q))
                x = x @ joint.transform(q)
        return x, columns

    def apart(self, q: Array) -> list[Array]:
        """Return the coordinates of each joint."""
        return [q[..., s] for s in self.q_at]

    def moved(self, q: Array, step: Array) -> Array:
        """Return the configuration reached from q by the rates (…, n) in unit time."""
        pairs = zip(self.joints, self.q_at, self.v_at, strict=True)
        return np.concatenate([j.type.integrate(q[..., a], step[..., v]) for j, a, v in pairs], axis=-1)

    def closed(
        self, q: Array, *, free: Array, tolerance: float = 1e-13, steps: int = 40
    ) -> tuple[Array, Array]:
        """Return configurations near q that close, and the largest error (…) left in each.

        By steps of least squares over all rows, of the rates in `free`, none longer than `LONGEST`.
        """
        held = np.array([h for w in self.ways for h in w.rows.holonomic], dtype=bool)
        best, least = q, np.full(q.shape[:-1], np.inf)
        for _ in range(steps + 1):
            error, jacobian = self.at(q)
            error = error[..., held]
            size = np.abs(error).max(axis=-1, initial=0.0)
            better = size < least
            best, least = np.where(better[..., None], q, best), np.where(better, size, least)
            if np.all(least <= tolerance):
                break
            rows = jacobian[..., held, :][..., free]
            rows, left = (np.where(np.isfinite(x), x, 0.0) for x in (rows, error))
            step = np.zeros((*q.shape[:-1], self.rates))
            step[..., free] = -(np.linalg.pinv(rows, rcond=RANK) @ left[..., None])[..., 0]
            longest = np.abs(step).max(axis=-1, keepdims=True, initial=0.0)
            q = self.moved(q, step * np.minimum(1.0, LONGEST / np.maximum(longest, LONGEST)))
        return best, least

    def drawn(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return random configurations of the joints (*shape, nq), each on its own."""
        pairs = zip(self.joints, self.q_at, strict=True)
        return np.concatenate([j.type.random(rng, shape, lower[s], upper[s]) for j, s in pairs], axis=-1)


def loop_geometry(robot: Robot, closures: Sequence[Closure]) -> LoopGeometry:
    """Return the geometry of the loop that these closures of a robot's tree make."""
    paths = [loop_path(robot, c) for c in closures]
    used = sorted({i for path in paths for i in path if robot.joints[i].nv})
    local = {i: k for k, i in enumerate(used)}
    ways: list[Way] = []
    for c in closures:
        (i, inner), (o, outer) = closure_ends(robot, c)
        top = robot.tree.common_ancestor(i, o)
        ways.append(
            Way(
                (*_steps(robot, i, top, local), inner),
                (*_steps(robot, o, top, local), outer),
                rows_of(c.joint),
            )
        )
    return LoopGeometry(tuple(robot.joints[i] for i in used), tuple(ways))


def loop_path(robot: Robot, closure: Closure) -> tuple[int, ...]:
    """Return the bodies whose joints lie between the two ends of a closure."""
    (i, _), (o, _) = closure_ends(robot, closure)
    return robot.tree.path(i, o)


def _steps(robot: Robot, body: int, top: int, local: dict[int, int]) -> list[int | Transform]:
    return [
        local[i] if i in local else robot.joints[i].transform(np.zeros(0))
        for i in robot.tree.support(body)
        if i > top
    ]


def _slices(sizes: Iterable[int]) -> list[slice]:
    return [slice(a, b) for a, b in pairwise(accumulate(sizes, initial=0))]
