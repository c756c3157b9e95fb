"""The values of letters at bodies of one kind: formulas over numbers that may be traced.

A rotor is modelled as a part of its body that only its own hinge sees: the block of the Body space is
the 6-vector and one number for each rotor, H sees that number as it is, M holds the rotor's inertia, and
E does not carry it. Then H φ M φᵀ Hᵀ is the mass matrix with the rotors on its diagonal, D = H P Hᵀ
holds them too, and every identity stays as it is.

The limits and the dry friction of a joint need its rate by itself. It stands in the block as that of a rotor
without inertia: H sees it, E does not carry it, and Bᶜ shows it at the world, of a limit with the sign that
makes it the rate of the distance from the nearer one. Then Aᶜ Bᶜᵀ φᵀ Hᵀ has rows of joints among those of
closures and contacts.

Which coordinates are prescribed can be a matter of the code (a joint is active or passive, and Hₚ or Hₐ has
no rows there) or of an input σ, with ones where accelerations are given. Then N = diag(1 − σ) and
S = diag(σ) choose, and a lock is modelled as a rotor is: one number of the body's block for each coordinate,
of inertia 1, that E does not carry. Hₚ = N H on the rest and S on the locks, Hₐ = S H: the passive mass
matrix is N 𝓜 N + S, what is prescribed has a row of its own there that nothing else touches, and every
identity of the passive hinges stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from hinge.algebra import (
    A,
    B,
    Bc,
    H,
    Ha,
    Hp,
    Leaf,
    M,
    Na,
    Np,
    Q,
    W,
    a,
    a_m,
    a_n,
    b,
    b_m,
    c_j,
    d_c,
    friction,
    held,
    inertias,
    placements,
    rotors,
    s_c,
    tau_j,
    v_n,
)
from hinge.binding.hinge_site import HingeSite, Kind, LinkKind
from hinge.binding.joint_forces import PassiveNumbers, passive_force
from hinge.binding.limits import nearer_limit
from hinge.binding.partials import varied
from hinge.binding.steps import Link, Rotate, Shift, Turn, traced_turns
from hinge.errors import UnboundLeafError
from hinge.kernels import duals
from hinge.spatial import Inertia, Transform, cross, rotation, skew
from hinge.sweeps import Block, block_of, unit_block, zeros

Expressed: TypeAlias = Literal["body", "world", "world-aligned"]


@dataclass(frozen=True, eq=False)
class NodeSite:
    """A node: E, −E r× and r of the transform from the body's frame to the node's."""

    turn: Block
    low: Block
    r: Block

    @property
    def matrix(self) -> Block:
        """The 6 × 6 matrix that takes motions to the node."""
        return _motion_matrix(self.turn, self.low)


class RobotSite(HingeSite):
    """The letters at a body of a kind, with numbers in the order in which they are taken here."""

    def __init__(self, kind: Kind, numbers: Sequence[Any], expressed: Expressed, robot: str) -> None:
        self.kind, self.expressed, self.robot = kind, expressed, robot
        left = iter(numbers)
        self.before: list[Link] = [_link(k, left) for k in kind.before]
        self.last_turn: Turn | None = None
        self.angle = next(left) if kind.turned is None else 0.0
        self.after = [_link(k, left) for k in kind.after]
        self.last = _motion_matrix(taken(left, 3, 3), taken(left, 3, 3)) if kind.apart else None
        self.around = [_pose(left) for _ in range(2 if placements in kind.given else 0)]
        self.mount = _pose(left) if kind.mounted else None
        self.members = [_pose(left) for _ in range(kind.members)]
        self.body = taken(left, 10) if kind.inertia else zeros(10)
        self.rotors = taken(left, 0 if rotors in kind.given else len(kind.rotors))
        numbers_of_forces = 4 * kind.type.nv + kind.type.nq if kind.joint_forces else 0
        self.passive = PassiveNumbers(taken(left, numbers_of_forces), kind.type.nv)
        self.held = zeros(self.locks)
        nodes = [
            NodeSite(taken(left, 3, 3), taken(left, 3, 3), taken(left, 3))
            for _ in range(kind.nodes + kind.ends)
        ]
        self.nodes, self.ends = nodes[: kind.nodes], nodes[kind.nodes :]
        self.limits = [
            (next(left) if low else None, next(left) if high else None) for _, low, high in kind.stops
        ]
        self._take_points(left)
        assert not list(left), "numbers of a body that nothing takes"

    def _take_points(self, numbers: Iterator[Any]) -> None:
        """Take the numbers of a flexible body, which this is not."""

    # Parameters.

    def derived(self, parameters: Block) -> Block:
        """Return the values derived from given parameters: m, h and I of the body, turns and r to the joint.

        Those that are used as they come stay as they are.
        """
        nv = self.kind.type.nv
        counts = {inertias: 10 * len(self.members), placements: 7, rotors: nv, friction: 3 * nv, held: nv}
        found = self._apart(parameters, counts)
        if inertias in found:
            found[inertias] = self._together(found[inertias])
        if placements in found:
            found[placements] = self._way(found[placements])
        return np.concatenate([zeros(0), *found.values()])

    def _apart(self, numbers: Block, counts: Mapping[Leaf, int]) -> dict[Leaf, Block]:
        ends = np.cumsum([counts[x] for x in self.kind.given])
        return {x: numbers[end - counts[x] : end] for x, end in zip(self.kind.given, ends, strict=True)}

    def _way(self, placement: Block) -> Block:
        """Return turns and r from the parent's frame to the joint's, given the joint's placement."""
        after, before = self.around
        given = Transform.place(rotation.from_quaternion(placement[:4]), placement[4:])
        found = after @ given @ before
        return np.array([*traced_turns(found.E), *found.r], dtype=object)

    def _together(self, parameters: Block) -> Block:
        """Return m, h and I of the body from those of its members in their own frames."""
        total = zeros(10)
        for k in range(len(self.members)):
            total = total + self._share(k, parameters[10 * k : 10 * k + 10])
        return total

    def _share(self, member: int, parameters: Block) -> Block:
        """Return m, h and I of a member of the body, given those in its own frame."""
        return self.members[member].inertia(Inertia.from_parameters(parameters)).parameters()

    def with_derived(self, derived: Block) -> RobotSite:
        """Return the site with the values of `derived`."""
        nv = self.kind.type.nv
        counts = {inertias: 10, placements: 9, rotors: nv, friction: 3 * nv, held: nv}
        parts = self._apart(derived, counts)
        found = self._with_body(parts.get(inertias, self.body))
        found.held, found.rotors = parts.get(held, self.held), parts.get(rotors, self.rotors)
        if placements in parts:
            theta, alpha, gamma, r = np.split(parts[placements], [2, 4, 6])
            found.before = [Shift(r), Turn(2, *theta), Turn(0, *alpha)]
            found.last_turn = Turn(2, *gamma)
        if friction in parts:
            found.passive = self.passive.with_given(parts[friction])
        return found

    def _with_body(self, body: Block) -> RobotSite:
        found = copy(self)
        found.body = body
        found.__dict__.pop("inertia", None)
        return found

    @property
    def spans(self) -> list[slice]:
        """Where the spatial vector of the body stands in its block."""
        return [slice(0, 6)]

    # Operators.

    def value(self, leaf: Leaf, hinge: Block) -> Block | None:
        """Return the block of an operator that the robot gives."""
        if leaf is H:
            return self._hinge_map(hinge)
        if leaf in (Hp, Ha, Np, Na):
            return self._part(leaf, hinge)
        if leaf is M:
            return self.inertia if self._knows_inertias else None
        if leaf is W:
            return None if self.mount is None else self._mount_map(hinge)
        if leaf in (B, Bc):
            nodes = self.nodes if leaf is B else self.ends
            senses = self._senses(hinge) if leaf is Bc else []
            found = zeros(self.size, 6 * len(nodes) + len(senses))
            for k, node in enumerate(nodes):
                found[:6, 6 * k : 6 * k + 6] = node.matrix.T
            for k, sign in enumerate(senses):
                found[6 + len(self.kind.rotors) + k, 6 * len(nodes) + k] = sign
            return found
        return None

    def _senses(self, hinge: Block) -> list[Any]:
        """Return for each rate its sign: towards the inside at the nearer limit."""
        signs = [nearer_limit(hinge[dof], *span)[1] for (dof, *_), span in self._spans]
        return [*signs, *(1.0 for _ in self.kind.rubs)]

    @property
    def _spans(self) -> Iterator[tuple[tuple[int, bool, bool], tuple[Any, Any]]]:
        return zip(self.kind.stops, self.limits, strict=True)

    @property
    def _knows_inertias(self) -> bool:
        return self.kind.inertia or inertias in self.kind.given

    def _hinge_map(self, hinge: Block) -> Block:
        s = self.subspace(hinge)
        found = zeros(s.shape[1], self.size)
        found[:, :6] = s.T
        for k, dof in enumerate(self.kind.rotors):
            found[dof, 6 + k] = 1.0
        for k, dof in enumerate(self.kind.senses):
            found[dof, 6 + len(self.kind.rotors) + k] = 1.0
        return found

    def _mount_map(self, hinge: Block) -> Block:
        """Return the matrix that takes forces on the body to the inner frame of its joint."""
        found, moved = zeros(6, self.size), unit_block(6)
        for link in (*self._to_the_joint, *self.motion_links(hinge), *self.after):
            moved = link.motion(moved)
        found[:, :6] = moved.T
        return found

    @property
    def _to_the_joint(self) -> tuple[Link, ...]:
        """The constant links from the inner frame of the joint, of the model, to where its motion begins."""
        assert self.mount is not None
        return Shift(self.mount.r), Rotate(self.mount.E)

    def _part(self, leaf: Leaf, hinge: Block) -> Block:
        """Return passive or active rows: of the hinge map, or of the identity."""
        rows = self._hinge_map(hinge) if leaf in (Hp, Ha) else unit_block(self.kind.type.nv)
        if not self.kind.switched:
            return rows if self.kind.active == (leaf in (Ha, Na)) else rows[:0]
        active, passive = self.held, 1.0 - self.held
        found = (active if leaf in (Ha, Na) else passive)[:, None] * rows
        for k in range(self.locks if leaf is Hp else 0):
            found[k, self.size - self.locks + k] = active[k]
        return found

    @cached_property
    def inertia(self) -> Block:
        """M at the body: [I h×; h×ᵀ m1], the rotors, nothing for rates, and ones for locks."""
        rigid = Inertia.from_parameters(self.body)
        found = zeros(self.size, self.size)
        found[:3, :3] = rigid.I
        found[:3, 3:6] = skew(rigid.h)
        found[3:6, :3] = found[:3, 3:6].T
        for k in range(3):
            found[3 + k, 3 + k] = rigid.m[()]
        for k, x in enumerate(self.rotors, 6):
            found[k, k] = x
        for k in range(self.size - self.locks, self.size):
            found[k, k] = 1.0
        return found

    # Functions of the motion.

    def formula(self, leaf: Leaf, hinge: Block, needs: Sequence[Block]) -> Block:
        """Return a leaf that is a function of the motion at the body."""
        if leaf.origin is not None:
            return varied(self, leaf, hinge, needs)
        formulas: dict[Leaf, Callable[..., Block]] = {
            a_n: self._node_bias,
            v_n: _centripetal,
            Q: self._axes,
            s_c: self._end_bias,
        }
        if self._knows_inertias:
            formulas |= {b: self._bias_force, b_m: self._bias_force}
        if self.members:
            formulas[A] = self._regressor
        if leaf in formulas:
            return formulas[leaf](*needs)
        if leaf in (a, a_m):
            return self._bias_acceleration(hinge, *needs)
        if leaf is tau_j and self.kind.joint_forces:
            return passive_force(self.kind.type, self.passive, hinge[: self.kind.type.nq], needs[0])
        if leaf is c_j:
            return self.kind.type.turning(needs[0])
        if leaf is d_c:
            return self._distances(hinge)
        raise UnboundLeafError(f"{leaf}: robot {self.robot!r} is bound without it")

    def _bias_acceleration(self, hinge: Block, above: Block, qd: Block) -> Block:
        """Return a, (2.19) and (2.32) for any hinge, derivatives taken in the inertial frame.

        With ω the parent's angular velocity, S q̇ = [ω′; v′] across the hinge and ρ from the parent's
        origin to the body's: [ω × ω′; ω × (ω × ρ + 2 v′) + ω′ × v′] + Ṡ q̇. No linear velocity enters.
        """
        kind = self.kind.type
        found = zeros(self.size)
        if kind.nv:
            across, rate = self.subspace(hinge) @ qd, kind.bias(hinge[: kind.nq], qd)
            w, wj, vj = above[:3], across[:3], across[3:]
            rate = rate if self.last is None else self.last @ rate
        else:
            w, wj, vj, rate = above[:3], zeros(3), zeros(3), zeros(6)
        rho = self.step(hinge).offset()
        found[:3] = cross(w, wj) + rate[:3]
        found[3:6] = cross(w, cross(w, rho) + 2.0 * vj) + cross(wj, vj) + rate[3:]
        return found

    def _bias_force(self, v: Block) -> Block:
        """Return b = [ω × I ω; ω × (ω × h)], (2.23)."""
        w, h = v[:3], self.body[1:4]
        found = zeros(len(v))
        found[:3] = cross(w, self.inertia[:3, :3] @ w)
        found[3:6] = cross(w, cross(w, h))
        return found

    def coriolis(self, v: Block) -> Block:
        """Return [T 0; −2p× 0], p = m v + ω × h and T = ω× (2I − tr I) + 2 (v · h) − 2 v hᵀ."""
        w, u, h = v[:3], v[3:6], 2.0 * self.body[1:4]
        twice = 2.0 * self.inertia[:3, :3]
        half = 0.5 * (twice[0, 0] + twice[1, 1] + twice[2, 2])
        found = zeros(self.size, self.size)
        found[:3, :3] = skew(w) @ (twice - half * unit_block(3)) - np.multiply.outer(u, h)
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            found[k, k] = w[i] * twice[j, k] - w[j] * twice[i, k] + u[i] * h[i] + u[j] * h[j]
        found[3:6, :3] = -skew(2.0 * (self.inertia[3:6, :6] @ v[:6]))
        return found

    def _regressor(self, alpha: Block, v: Block) -> Block:
        """Return 𝒜 (n, 10 k): M α + b for each of the parameters alone, which it is linear in."""
        found = zeros(self.size, 10 * len(self.members))
        for k in range(found.shape[1]):
            member, one = divmod(k, 10)
            alone = self._with_body(self._share(member, unit_block(10)[one]))
            found[:6, k] = alone.inertia[:6, :6] @ alpha[:6] + alone._bias_force(v)[:6]
        return found

    # Numbers of the model that vary.

    def directions(self, numbers: Leaf) -> int:
        """Return in how many directions numbers of the model vary here."""
        nv = self.kind.type.nv
        return {inertias: 10 * len(self.members), placements: 6, rotors: nv, friction: 3 * nv}[numbers]

    def towards(self, numbers: Leaf, n: int, hinge: Block, level: int) -> tuple[RobotSite, Block]:
        """Return the site with numbers of the model that vary in a direction, and `hinge`, which does not."""
        unit = unit_block(self.directions(numbers))[n]
        if numbers is inertias:
            member, one = divmod(n, 10)
            return self._with_body(duals(self.body, self._share(member, unit_block(10)[one]), level)), hinge
        found = copy(self)
        if numbers is rotors:
            found.rotors = duals(self.rotors, unit, level)
            found.__dict__.pop("inertia", None)
        elif numbers is friction:
            found.passive = self.passive.with_given(duals(self.passive.given, unit, level))
        else:
            found.displaced = (*self.displaced, *self._displacement(unit, level))
        return found, hinge

    def _displacement(self, motion: Block, level: int) -> tuple[Link, ...]:
        """Return the small move of the inner frame of the joint, where the joint's motion begins."""
        for link in self._to_the_joint:
            motion = link.motion(motion)
        turn = duals(unit_block(3).ravel(), -skew(motion[:3]).ravel(), level).reshape(3, 3)
        return Shift(duals(zeros(3), motion[3:], level)), Rotate(turn)

    def _node_bias(self, v: Block) -> Block:
        """Return [0; ω × (ω × r)] at each node in its axes, a(0) of (2.27)."""
        found = zeros(6 * len(self.nodes))
        w = v[:3]
        for k, node in enumerate(self.nodes):
            found[6 * k + 3 : 6 * k + 6] = node.turn @ cross(w, cross(w, node.r))
        return found

    def _end_bias(self, v: Block) -> Block:
        """Return −[0; ω × v] of the body at each end, in its axes: spatial less classical acceleration."""
        found = zeros(6 * len(self.ends) + len(self.kind.senses))
        for k, end in enumerate(self.ends):
            found[6 * k + 3 : 6 * k + 6] = end.turn @ cross(v[3:6], v[:3])
        return found

    def _distances(self, hinge: Block) -> Block:
        """Return the distances from the nearer limits, zeros for all else."""
        found = zeros(6 * len(self.ends) + len(self.kind.senses))
        for k, ((dof, *_), span) in enumerate(self._spans, 6 * len(self.ends)):
            found[k] = nearer_limit(hinge[dof], *span)[0]
        return found

    def _axes(self, pose: Block) -> Block:
        """Return for each node the matrix from its own axes to the requested ones.

        `pose` takes world coordinates to the body's: [E 0; −E r× E].
        """
        found = zeros(6 * len(self.nodes), 6 * len(self.nodes))
        for k, node in enumerate(self.nodes):
            whole = node.matrix @ pose[:6, :6]
            back = whole[:3, :3].T
            at = slice(6 * k, 6 * k + 6)
            block = zeros(6, 6)
            block[:3, :3] = block[3:, 3:] = back
            if self.expressed == "world":
                block[3:, :3] = skew(position(whole)) @ back
            found[at, at] = unit_block(6) if self.expressed == "body" else block
        return found


def position(pose: Block) -> Block:
    """Return r of a motion transform [E 0; −E r× E]."""
    rx = -(pose[:3, :3].T @ pose[3:, :3])
    return np.array([rx[2, 1], rx[0, 2], rx[1, 0]], dtype=pose.dtype)


def taken(numbers: Iterator[Any], *shape: int) -> Block:
    """Take the next numbers as an array that can hold traced scalars."""
    return block_of([next(numbers) for _ in range(prod(shape))], *shape)


def _pose(numbers: Iterator[Any]) -> Transform:
    """Take the next numbers as E and r of a transform."""
    return Transform(taken(numbers, 3, 3), taken(numbers, 3))


def _link(kind: LinkKind, numbers: Iterator[Any]) -> Link:
    if kind == "shift":
        return Shift(taken(numbers, 3))
    return Turn(kind, next(numbers), next(numbers))


def _motion_matrix(turn: Block, low: Block) -> Block:
    found = zeros(6, 6)
    found[:3, :3] = found[3:, 3:] = turn
    found[3:, :3] = low
    return found


def _centripetal(v: Block) -> Block:
    """Return [0; ω × v] for the velocity of each node."""
    found = zeros(len(v))
    for k in range(0, len(v), 6):
        found[k + 3 : k + 6] = cross(v[k : k + 3], v[k + 3 : k + 6])
    return found
