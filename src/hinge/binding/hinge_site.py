"""The joint of a body: what the passes know of q, the step to the parent, and the motion subspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from hinge.algebra import Leaf
from hinge.binding.steps import Chain, Link, Rotate, Shift, Turn
from hinge.kernels import duals, fresh_level, rates
from hinge.model.joints import JointType
from hinge.spatial import skew
from hinge.sweeps import Block, zeros

#: A constant link without its numbers: a shift, or a turn about an axis.
LinkKind: TypeAlias = Literal["shift", 0, 1, 2]


@dataclass(frozen=True)
class Kind:
    """Everything except numbers that determines the code at a body.

    `before` and `after` are the constant links around the joint; `turned` is cos and sin of a right angle
    added to the joint's own, None where the angle is a number of the body. With `apart` the body's frame is
    not the joint's; `active` means that the joint is prescribed, `switched` that this is an input of a call;
    `above` is the parent's block size. `members` is the number of merged bodies of the robot, where each has
    parameters of its own; with `inertia` the inertia is among the body's numbers. `given` are the parameters
    that are inputs of a call; with `joint_forces` the numbers include those of the joint's own forces;
    `ends` is the number of ends of closures. `stops` are the limits and `rubs` the dry friction that have
    rows beside those: degrees of freedom, of limits with whether there is a lower and an upper one. If it is
    `mounted`, the numbers include the way from the joint's inner frame. A flexible body has so many `modes`
    and rows of `points`, 0 where inertias are not asked for, and a quadratic field if `second`.
    """

    type: JointType
    before: tuple[LinkKind, ...]
    after: tuple[LinkKind, ...]
    turned: tuple[float, float] | None
    apart: bool
    rotors: tuple[int, ...]
    nodes: int
    active: bool
    switched: bool
    above: int
    members: int = 0
    inertia: bool = True
    given: tuple[Leaf, ...] = ()
    joint_forces: bool = False
    ends: int = 0
    stops: tuple[tuple[int, bool, bool], ...] = ()
    rubs: tuple[int, ...] = ()
    mounted: bool = False
    modes: int = 0
    points: int = 0
    second: bool = False

    @property
    def senses(self) -> tuple[int, ...]:
        """The degrees of freedom whose rates stand in the block, of limits and of friction."""
        return (*(dof for dof, _, _ in self.stops), *self.rubs)


class HingeSite:
    """The joint at a body of a kind, with constant links before and after it.

    `angle` is added to the joint's own, `last_turn` and `last` are the last turn of a placement that is given
    and the matrix from the joint's frame to the body's; `displaced` are moves of the placement that are
    followed, after it; `size` is that of the body's block.
    """

    kind: Kind
    before: list[Link]
    after: list[Link]
    angle: Any
    last_turn: Turn | None
    last: Block | None
    displaced: tuple[Link, ...] = ()

    @property
    def size(self) -> int:
        """The size of the body's block."""
        return 6 + len(self.kind.rotors) + len(self.kind.senses) + self.kind.modes + self.locks

    @property
    def locks(self) -> int:
        """The number of locks, the last entries of the block."""
        return self.kind.type.nv if self.kind.switched else 0

    def hinge(self, q: Block) -> Block:
        """Return q, and the functions of q that every pass uses.

        For a motion along an axis these are cos and sin of the angle, and the shift unless it is just a
        coordinate; else placement and subspace.
        """
        kind, axial = self.kind.type, self.kind.type.axial
        if axial is None:
            x, s = kind.placement(q), kind.subspace(q)
            more = [*x.E.ravel(), *x.r, *s.ravel()]
        else:
            more = [] if axial.turn is None else self._circle(q[axial.turn])
            more += [axial.pitch * q[axial.slide]] if axial.pitched else []
        found = zeros(len(q) + len(more))
        found[:] = [*q, *more]
        return found

    @property
    def hinge_size(self) -> int:
        """The number of values of `hinge`."""
        kind, axial = self.kind.type, self.kind.type.axial
        if axial is None:
            return kind.nq + 12 + 6 * kind.nv
        return kind.nq + 2 * (axial.turn is not None) + axial.pitched

    def _circle(self, angle: Any) -> list[Any]:
        """Return cos and sin of an angle and the constant that is added to it; right angles are exact."""
        c, s = self.kind.turned or (1.0, 0.0)
        x, y = np.cos(angle + self.angle), np.sin(angle + self.angle)
        return [c * x - s * y, s * x + c * y]

    def _joint_links(self, hinge: Block) -> tuple[Link, ...]:
        """Return the links of the joint, and before them the last turn of a placement that is given.

        A turn of the joint is about the same axis, so that both are one.
        """
        links, first = self.motion_links(hinge), self.last_turn
        if first is None:
            return (*self.displaced, *links)
        if not self.displaced and links and isinstance(links[-1], Turn):
            return (*links[:-1], first.then(links[-1].c, links[-1].s))
        return (first, *self.displaced, *links)

    def motion_links(self, hinge: Block) -> tuple[Link, ...]:
        """Return the links of the joint's own motion."""
        kind, axial = self.kind.type, self.kind.type.axial
        n = kind.nq
        if kind.nv == 0:
            return ()
        if axial is None:
            return Shift(hinge[n + 9 : n + 12]), Rotate(hinge[n : n + 9].reshape(3, 3))
        links: tuple[Link, ...] = ()
        if axial.slide is not None:
            links = (Shift(_along_z(hinge[self.hinge_size - 1 if axial.pitched else axial.slide])),)
        return links if axial.turn is None else (*links, Turn(2, hinge[n], hinge[n + 1]))

    def step(self, hinge: Block) -> Chain:
        """Return the step to the parent."""
        return Chain((*self.before, *self._joint_links(hinge), *self.after), self.kind.above, self.size)

    def subspace(self, hinge: Block) -> Block:
        """Return the motion subspace S (6, nv) in the body's frame."""
        kind, axial = self.kind.type, self.kind.type.axial
        found = zeros(6, kind.nv)
        if axial is None:
            found[:] = hinge[kind.nq + 12 : kind.nq + 12 + 6 * kind.nv].reshape(6, kind.nv)
        else:
            if axial.turn is not None:
                found[2, axial.turn] = 1.0
            if axial.slide is not None:
                found[5, axial.slide] = axial.pitch
        return found if self.last is None else self.last @ found

    def hinge_rates(self, hinge: Block) -> list[Block]:
        """Return the rates of the values of `hinge` along each degree of freedom."""
        return [self._hinge_rate(hinge, k) for k in range(self.kind.type.nv)]

    def _hinge_rate(self, hinge: Block, k: int) -> Block:
        """Return the rate along one velocity; for a motion along an axis no sine is computed again.

        Else the outer frame moves with s, a column of S: δX = −ad(s) X, so that δE = −ω× E and δr = Eᵀ v.
        """
        kind, axial = self.kind.type, self.kind.type.axial
        n, found = kind.nq, zeros(len(hinge))
        unit = zeros(kind.nv)
        unit[k] = 1.0
        found[:n] = kind.rate(hinge[:n], unit)
        if axial is not None:
            if axial.turn == k:
                found[n], found[n + 1] = -hinge[n + 1], hinge[n]
            if axial.pitched and axial.slide == k:
                found[-1] = axial.pitch
            return found
        turn, s = hinge[n : n + 9].reshape(3, 3), hinge[n + 12 :].reshape(6, kind.nv)[:, k]
        found[n : n + 9] = -(skew(s[:3]) @ turn).ravel()
        found[n + 9 : n + 12] = turn.T @ s[3:]
        level = fresh_level()
        moved = kind.subspace(duals(hinge[:n], found[:n], level))
        found[n + 12 :] = rates(np.asarray(moved, dtype=object), level).ravel()
        return found


def _along_z(q: object) -> Block:
    return np.array([0.0, 0.0, q], dtype=object)
