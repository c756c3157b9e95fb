"""The joints of an embedded loop as one joint: coordinates of all of them, rates of the independent ones.

With J = [J_i J_d] the closures' Jacobian, q̇_d = −J_d⁻¹ J_i q̇_i. J_d is eliminated in an order that was
chosen when the loop was embedded, so that there are no branches, and the formulas hold for any scalar type.
Where a pivot vanishes, at a dead centre of the independent coordinates, results are not finite.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from hinge.errors import ModelError
from hinge.model.digests import digest
from hinge.model.joints import JointType
from hinge.model.loop_ways import LoopGeometry
from hinge.model.loops import Loop
from hinge.spatial import Array, Transform, back_substituted, eliminated, solved

#: Newton steps of `normalized`, which suffice from where a step of a simulation leads.
STEPS = 2
#: The longest piece of a motion that is followed at once, in rad or m, Newton steps at its end, what counts
#: as closed, and the largest correction, beyond which it is another branch.
PIECE, CORRECTIONS, CLOSED, JUMP = 0.1, 6, 1e-9, 0.3
#: A pivot of this size, of a Jacobian with entries of about one, lowers the quality of a chart from 1 to 0.7.
PIVOT = 2e-3
#: How often random configurations are drawn anew where they do not close within their limits.
TRIES = 20


class LoopMotion(JointType):
    """The coordinates of a loop: q (…, nq) of all joints in order, v (…, nv) of the independent ones."""

    kind = "loop"

    def __init__(self, loop: Loop, geometry: LoopGeometry) -> None:
        self.loop, self.geometry = loop, geometry
        joints = geometry.joints
        self.members = tuple(j.type for j in joints)
        q_names = tuple(f"{j.name}.{n}" for j in joints for n in j.type.q_names)
        at = {j.name: s.start for j, s in zip(joints, geometry.v_at, strict=True)}
        self.dependent = [at[name] + k for name, k in loop.pivots]
        self.independent = [k for k in range(geometry.rates) if k not in self.dependent]
        names = [f"{j.name}.{n}" for j in joints for n in j.type.qd_names]
        # Classes have these, and here each value has its own.
        vars(self).update(q_names=q_names, qd_names=tuple(names[k] for k in self.independent))
        starts = np.cumsum([0, *(len(w.rows.names) for w in geometry.ways)])
        self.rows = [int(starts[c]) + r for c, r in loop.rows]

    @cached_property
    def _key(self) -> Hashable:
        ways = tuple((w.inner, w.outer, w.rows.matrix) for w in self.geometry.ways)
        placed = tuple((j.inner, j.outer) for j in self.geometry.joints)
        return self.members, digest((ways, placed, tuple(self.dependent), tuple(self.rows)))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoopMotion) and self._key == other._key

    # The chart, for any scalar type.

    def all_rates(self, q: Array, v: Array) -> Array:
        """Return the rates (…, n) of all joints, G(q) v."""
        jacobian = self.geometry.jacobian(q)[..., self.rows, :]
        ahead = jacobian[..., self.independent] @ v[..., None]
        return self._with_dependent(-solved(jacobian[..., self.dependent], ahead[..., 0]), v)

    def quality(self, q: Array) -> Any:
        """Return how well the independent rates determine all others: from 1 to 0, at a dead centre.

        1/√(1 + ‖J_d⁻¹ J_i‖² / i + Σ (PIVOT / pivot)²) for i independent rates, with lengths as angles: their
        share in the motion when they alone are given, less where the order of elimination is bad.
        """
        return self.quality_by(self.geometry.scaled(q))

    def quality_by(self, scaled: Array) -> Any:
        """Return `quality` by the scaled Jacobian of all rows."""
        jacobian, each = scaled[..., self.rows, :], range(len(self.dependent))
        factors = eliminated([[jacobian[..., r, c][()] for c in self.dependent] for r in each])
        total: Any = 0.0
        for c in self.independent:
            for x in back_substituted(factors, [jacobian[..., r, c][()] for r in each]):
                total = total + x * x
        total = 1.0 + total * (1.0 / self.nv)
        for k in each:
            inverse = PIVOT * factors[k][k]
            total = total + inverse * inverse
        return 1.0 / np.sqrt(total)

    def _with_dependent(self, x: Array, v: Array) -> Array:
        """Return the rates of all joints from those of the dependent and of the independent ones."""
        order = np.argsort([*self.dependent, *self.independent])
        x, v = (
            np.broadcast_to(y, (*np.broadcast_shapes(x.shape[:-1], v.shape[:-1]), y.shape[-1]))
            for y in (x, v)
        )
        return np.concatenate([x, v], axis=-1)[..., order]

    def rate(self, q: Array, qd: Array) -> Array:
        """Return dq/dt of all joints."""
        with np.errstate(all="ignore"):
            return self._rate(q, self.all_rates(q, qd))

    def _rate(self, q: Array, rates: Array) -> Array:
        g = self.geometry
        pairs = zip(self.members, g.apart(q), g.v_at, strict=True)
        return np.concatenate([t.rate(x, rates[..., v]) for t, x, v in pairs], axis=-1)

    def unrate(self, q: Array, dq: Array) -> Array | None:
        """Return the velocities of the independent joints, None if a joint has none."""
        g = self.geometry
        pairs = zip(self.members, g.apart(q), g.apart(dq), strict=True)
        found = [v for t, x, dx in pairs if (v := t.unrate(x, dx)) is not None]
        if len(found) < len(self.members):
            return None
        return np.concatenate(found, axis=-1)[..., self.independent]

    def normalized(self, q: Array) -> Array:
        """Return q moved onto the closures by Newton steps of the dependent joints."""
        with np.errstate(all="ignore"):
            for _ in range(STEPS):
                q = self._corrected(q)
        return q

    def _corrected(self, q: Array) -> Array:
        """Return q after a Newton step."""
        q = self._each_normalized(q)
        error, jacobian = self.geometry.at(q)
        step = -solved(jacobian[..., self.rows, :][..., self.dependent], error[..., self.rows])
        still = np.zeros((*step.shape[:-1], self.nv))
        return self._each_normalized(q + self._rate(q, self._with_dependent(step, still)))

    def _each_normalized(self, q: Array) -> Array:
        parts = zip(self.members, self.geometry.apart(q), strict=True)
        return np.concatenate([t.normalized(x) for t, x in parts], axis=-1)

    def smooth_difference(self, q0: Array, q1: Array) -> Array | None:
        """Return the differences of the independent joints, None if one of them has none."""
        parts = self._independent_parts(q0, q1)
        found = [x for t, a, b in parts if (x := t.smooth_difference(a, b)) is not None]
        return np.concatenate(found, axis=-1) if len(found) == len(parts) else None

    # Configurations, in floats.

    def neutral(self) -> Array:
        """Return the configuration that the loop has as its home."""
        return self.loop.home

    def integrate(self, q: Array, v: Array) -> Array:
        """Return the q where the independent joints have moved by v and the others have followed.

        NaN where they cannot: the way leads through a dead centre.
        """
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        q, v = np.broadcast_to(q, (*batch, self.nq)), np.broadcast_to(v, (*batch, self.nv))
        finite = v[np.isfinite(v)]
        pieces = min(1000, max(1, int(np.ceil(np.abs(finite).max(initial=0.0) / PIECE))))
        found = q
        with np.errstate(all="ignore"):
            for k in range(1, pieces + 1):
                found = self._placed(found + self.rate(found, v) / pieces, q, v * (k / pieces))
        return np.where((self._left(found) <= CLOSED)[..., None], found, np.nan)

    def _placed(self, near: Array, q: Array, v: Array) -> Array:
        """Return the configuration near one that closes, whose independent joints are moved from q by v."""
        there = self.geometry.moved(
            q, self._with_dependent(np.zeros((*v.shape[:-1], len(self.dependent))), v)
        )
        independent = self._of_independent
        found = np.where(independent, there, near)
        for _ in range(CORRECTIONS):
            found = np.where(independent, found, self._corrected(found))
        jumps = (np.abs(found - near) > JUMP).any(axis=-1, keepdims=True)
        return np.where(jumps, np.nan, found)

    def open_by(self, q: Array) -> Array:
        """Return how far (…) q is from a configuration: of closures, and of quaternions from unit ones."""
        return np.maximum(self._left(q), np.abs(self._each_normalized(q) - q).max(axis=-1, initial=0.0))

    def _left(self, q: Array) -> Array:
        """Return the largest error (…) of the closures, infinite where it is no number."""
        error = np.abs(self.geometry.error(q)).max(axis=-1, initial=0.0)
        return np.where(np.isfinite(error), error, np.inf)

    @cached_property
    def _of_independent(self) -> Array:
        """Tell for each coordinate whether it is that of an independent joint."""
        joints = self.geometry.joints
        return np.array([j.name in self.loop.independent for j in joints for _ in range(j.nq)], dtype=bool)

    def _independent_parts(self, q0: Array, q1: Array) -> list[tuple[JointType, Array, Array]]:
        g = self.geometry
        pairs = zip(g.joints, g.apart(q0), g.apart(q1), strict=True)
        return [(j.type, a, b) for j, a, b in pairs if j.name in self.loop.independent]

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the differences of the independent joints; both configurations must be of one branch."""
        return np.concatenate([t.difference(a, b) for t, a, b in self._independent_parts(q0, q1)], axis=-1)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return random q that close, within the limits if that is found, on any branch of the loop."""
        g, free = self.geometry, np.arange(self.geometry.rates)
        found = np.broadcast_to(self.loop.home, (*shape, self.nq)).reshape(-1, self.nq).copy()
        quality = np.zeros(len(found))  # 1: closes, 2: within the limits too
        for _ in range(TRIES):
            left = np.flatnonzero(quality < 2)
            if not len(left):
                break
            q, error = g.closed(g.drawn(rng, (len(left),), lower, upper), free=free)
            inside = ((q >= lower - 1e-9) & (q <= upper + 1e-9)).all(axis=-1)
            good = np.where(error <= 1e-12, 1 + inside, 0)
            better = good > quality[left]
            found[left[better]], quality[left[better]] = q[better], good[better]
        return found.reshape(*shape, self.nq)

    def limits(self) -> tuple[Array, Array]:
        """Return the limits of the joints' types."""
        pairs = [t.limits() for t in self.members]
        return np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])

    @property
    def has_quaternion(self) -> bool:
        """Whether q begins with a unit quaternion: that is for its joints to say."""
        return False

    # What only single joints have.

    def placement(self, q: Array) -> Transform:
        """Refuse: a loop has no frame of its own."""
        self._refuse()

    def subspace(self, q: Array) -> Array:
        """Refuse: a loop has no frame of its own."""
        self._refuse()

    def reversed(self) -> JointType:
        """Refuse: a loop has no other side."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ModelError(f"{self.loop}: expected a single joint; use release_loops(robot)")
