"""Configurations as arrays of numbers: changes of coordinates as changes in the tangent space, and back.

Elsewhere q is an array of nq numbers, each of which has a derivative. A function of such arrays is
q ↦ f(q / |q|) where q has quaternions; or, with a change dq of length nv beside q, dq ↦ f(q ⊕ dq).
Derivatives of f are in the tangent space: changes of numbers become displacements there by N⁺, and gradients
come back by its adjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from hinge.binding.coordinates import unrated
from hinge.binding.joint_code import transposed
from hinge.kernels import Dual, duals, fresh_level, rates
from hinge.model import PLACEMENT, Robot, Unit, units
from hinge.model.joints import JointType, VectorJoint
from hinge.sweeps import Block, Joined, KnownBlock


class Coordinates:
    """The numbers of q, and of placements, as coordinates of what f takes.

    With `tangent` the numbers that vary are a change dq (…, nv) beside q.
    """

    def __init__(self, robot: Robot, *, tangent: bool = False) -> None:
        self.robot, self.tangent = robot, tangent
        for u in units(robot) if tangent else ():
            if u.type.nv and u.type.smooth_integrate(u.type.neutral(), np.zeros(u.type.nv)) is None:
                raise NotImplementedError(
                    f"joint {u.name!r}: q ⊕ dq is not supported for {u.type.kind} joints, which have no "
                    "formula for it; give tangent=False"
                )

    @property
    def are_plain(self) -> bool:
        """Whether q is a vector that f takes as it is."""
        return not self.tangent and all(isinstance(u.type, VectorJoint) for u in units(self.robot))

    def at(self, whole: Joined, q: KnownBlock, dq: KnownBlock | None = None) -> KnownBlock:
        """Return the configuration of f."""
        found = np.empty(self.robot.nq, dtype=object)
        for u, given, _ in self._units(q, dq):
            found[list(u.q)] = whole.apply(partial(_at, u.type), given)
        return found

    def displaced(
        self, whole: Joined, change: KnownBlock, q: KnownBlock, dq: KnownBlock | None = None
    ) -> Any:
        """Return the displacement (nv) of that configuration along a change of what varies."""
        found = np.zeros(self.robot.nv, dtype=object)
        for u, given, own in self._units(q, dq):
            along = partial(_displaced, u)
            found[list(u.qd)] = whole.apply(_split(along, len(given)), np.append(given, change[own]))
        return found

    def gradient(
        self, whole: Joined, weights: KnownBlock, q: KnownBlock, dq: KnownBlock | None = None
    ) -> Any:
        """Return the gradient by what varies, given that in the tangent space."""
        found = np.zeros(self.robot.nv if self.tangent else self.robot.nq, dtype=object)
        for u, given, own in self._units(q, dq):
            back = partial(transposed, partial(_displaced, u), len(own))
            found[own] = whole.apply(_split(back, len(given)), np.append(given, weights[list(u.qd)]))
        return found

    def _units(self, q: KnownBlock, dq: KnownBlock | None) -> Iterator[tuple[Unit, KnownBlock, list[int]]]:
        """Yield joints, what their configuration is made of, and the places of what varies."""
        for u in units(self.robot):
            if u.type.nv:
                more = () if dq is None else dq[list(u.qd)]
                yield u, np.append(q[list(u.q)], more), list(u.q if dq is None else u.qd)


def placed(whole: Joined, placements: KnownBlock) -> KnownBlock:
    """Return placements (7 n) with quaternions of length one."""
    rows = [whole.apply(PLACEMENT.normalized, row) for row in placements.reshape(-1, 7)]
    return np.concatenate([*rows, placements[:0]])


def placed_displaced(whole: Joined, change: KnownBlock, placements: KnownBlock) -> KnownBlock:
    """Return the motions (6 n) of the joints' frames along a change of the numbers of placements."""
    pairs = zip(placements.reshape(-1, 7), change.reshape(-1, 7), strict=True)
    rows = [whole.apply(_split(_of_pose, 7), np.append(x, d)) for x, d in pairs]
    return np.concatenate([*rows, placements[:0]])


def placed_gradient(whole: Joined, weights: KnownBlock, placements: KnownBlock) -> KnownBlock:
    """Return the gradient by the numbers of placements, given that by these motions."""
    pairs = zip(placements.reshape(-1, 7), weights.reshape(-1, 6), strict=True)
    back = _split(partial(transposed, _of_pose, 7), 7)
    return np.concatenate([*(whole.apply(back, np.append(x, w)) for x, w in pairs), placements[:0]])


def _split(f: Callable[[Block, Block], Any], count: int) -> Callable[[Block], Any]:
    """Return a function of two vectors as one of both after each other."""
    return lambda x: f(x[:count], x[count:])


def _at(kind: JointType, given: Block) -> Any:
    """Return the configuration of a joint from q, or from q and dq."""
    q, dq = given[: kind.nq], given[kind.nq :]
    return kind.smooth_integrate(q, dq) if len(dq) else kind.normalized(q)


def _displaced(u: Unit, given: Block, change: Block) -> Any:
    """Return the displacement of a joint where what varies changes."""
    kind, level = u.type, fresh_level()
    moving = kind.nq if len(given) > kind.nq else 0
    there = _at(kind, np.append(given[:moving], duals(given[moving:], change, level)))
    values = _values(there, level)
    return unrated(u, values, rates(there, level))


def _of_pose(given: Block, change: Block) -> Any:
    level = fresh_level()
    there = PLACEMENT.normalized(duals(given, change, level))
    return PLACEMENT.unrate(_values(there, level), rates(there, level))


def _values(x: Block, level: int) -> Block:
    """Return numbers without their rates along a direction."""
    found = np.empty(len(x), dtype=object)
    found[:] = [y.value if isinstance(y, Dual) and y.level == level else y for y in x]
    return found
