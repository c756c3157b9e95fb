"""What each letter means at one body of a robot, in the frames chosen by the compiler.

A rotor is modelled as a part of its body that only its own hinge sees: the block of the Body space is
the 6-vector and one number for each rotor, H sees that number as it is, M holds the rotor's inertia, and
E does not carry it. Then H φ M φᵀ Hᵀ is the mass matrix with the rotors on its diagonal, D = H P Hᵀ
holds them too, and every identity stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from hinge.algebra import (
    Active,
    B,
    Body,
    H,
    Ha,
    Hp,
    Joint,
    Leaf,
    M,
    Node,
    Passive,
    Q,
    Space,
    World,
    a,
    a_n,
    b,
    v_n,
)
from hinge.binding.frames import Place, choose_frames, own_frames
from hinge.binding.steps import Chain, Link, Rotate, Shift, Turn
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.model import Robot, checked_robot
from hinge.model.joints import Cylindrical, Prismatic, Revolute, Screw
from hinge.spatial import Transform, cross, skew
from hinge.sweeps import Block, unit_block, zeros
from hinge.tree import WORLD, Tree

Expressed: TypeAlias = Literal["body", "world", "world-aligned"]


@dataclass(frozen=True, eq=False)
class RobotBinding:
    """The letters bound to a robot.

    `nodes` are names of frames (or bodies) that stand for the Node space, in order; `expressed` says in
    which axes Q shows them; `prescribed` names the joints that are active in hybrid dynamics. With
    `own_frames` vectors of the Body space are in the bodies' own frames, else in frames with cheap steps.
    """

    robot: Robot
    nodes: tuple[str, ...] = ()
    expressed: Expressed = "body"
    prescribed: frozenset[str] = frozenset()
    own_frames: bool = False

    def __post_init__(self) -> None:
        if self.expressed not in ("body", "world", "world-aligned"):
            raise ArgumentError(
                f"expressed: {self.expressed!r} is unknown; wanted 'body', 'world' or 'world-aligned'"
            )
        for name in self.nodes:
            self.robot.frame(name)
        for name in self.prescribed:
            self.robot.joint(name)

    @property
    def tree(self) -> Tree:
        """The tree of the robot's bodies."""
        return self.robot.tree

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The bodies in the frames that are worked in."""
        return own_frames(self.robot) if self.own_frames else choose_frames(self.robot)

    @cached_property
    def node_places(self) -> tuple[tuple[tuple[int, Transform], ...], ...]:
        """For each body its nodes: number, and transform from the chosen frame to the node's."""
        found: list[list[tuple[int, Transform]]] = [[] for _ in self.robot.bodies]
        for n, name in enumerate(self.nodes):
            frame = self.robot.frame(name)
            i = self.robot.body_index(frame.body)
            found[i].append((n, frame.placement @ self.places[i].chosen.inv()))
        return tuple(map(tuple, found))

    def _rotors(self, body: int) -> Sequence[int]:
        return np.flatnonzero(self.places[body].joint.rotor_inertia).tolist()

    def _dofs(self, space: Space, body: int) -> Sequence[int]:
        j = self.places[body].joint
        own = range(j.qd_slice.start, j.qd_slice.stop)
        active = j.name in self.prescribed
        return own if space is Joint or (space is Active) == active else ()

    def name(self, body: int) -> str:
        """Return what to call a body's hinge in a message."""
        j = self.places[body].joint
        return f"joint {j.name!r} of robot {self.robot.name!r}"

    def size(self, space: Space, body: int) -> int:
        """Return the block size of a space at a body."""
        if space is Body:
            return 6 if body == WORLD else 6 + len(self._rotors(body))
        return len(self.positions(space, body))

    def positions(self, space: Space, body: int) -> Sequence[int]:
        """Return where a block stands in the user's vector."""
        if space is World:
            return range(6) if body == WORLD else ()
        if body == WORLD:
            return ()
        if space is Joint:
            return self._dofs(space, body)
        if space is Body:
            return [*range(6 * body, 6 * body + 6), *(-1 for _ in self._rotors(body))]
        if space is Node:
            return [6 * n + k for n, _ in self.node_places[body] for k in range(6)]
        if space in (Passive, Active):
            order = {dof: k for k, dof in enumerate(self._all_dofs(space))}
            return [order[dof] for dof in self._dofs(space, body)]
        raise UnboundLeafError(f"space {space}: robot {self.robot.name!r} gives no meaning to it")

    def _all_dofs(self, space: Space) -> list[int]:
        return [dof for i in range(len(self.places)) for dof in self._dofs(space, i)]

    def length(self, space: Space) -> int:
        """Return the length of the user's vector of a space."""
        fixed = {World: 6, Joint: self.robot.nv, Body: 6 * len(self.places), Node: 6 * len(self.nodes)}
        return fixed[space] if space in fixed else len(self._all_dofs(space))

    def coordinates(self, body: int) -> range:
        """Return where the joint's coordinates stand in q."""
        s = self.places[body].joint.q_slice
        return range(s.start, s.stop)

    def hinge(self, body: int, q: Block) -> Block:
        """Return q, and what depends on it and is wanted in every pass: sines, placement, subspace."""
        kind, turned = self.places[body].type, self.places[body].turned
        match kind:
            case Revolute() | Cylindrical():
                more = _circle(q[0], *turned)
            case Prismatic():
                more = []
            case Screw():
                more = [*_circle(q[0], *turned), kind.pitch * q[0]]
            case _:
                x, s = kind.placement(q), kind.subspace(q)
                more = [*x.E.ravel(), *x.r, *s.ravel()]
        found = zeros(len(q) + len(more))
        found[:] = [*q, *more]
        return found

    def _joint_links(self, body: int, hinge: Block) -> tuple[Link, ...]:
        kind = self.places[body].type
        match kind:
            case Revolute():
                return (Turn(2, hinge[1], hinge[2]),)
            case Prismatic():
                return (Shift(_along_z(hinge[0])),)
            case Screw():
                return (Shift(_along_z(hinge[3])), Turn(2, hinge[1], hinge[2]))
            case Cylindrical():
                return (Shift(_along_z(hinge[1])), Turn(2, hinge[2], hinge[3]))
            case _ if kind.nv == 0:
                return ()
            case _:
                n = kind.nq
                return (Shift(hinge[n + 9 : n + 12]), Rotate(hinge[n : n + 9].reshape(3, 3)))

    def step(self, body: int, hinge: Block) -> Chain:
        """Return the way to the parent."""
        place = self.places[body]
        links = (*place.before, *self._joint_links(body, hinge), *place.after)
        parent = self.tree.parents[body]
        return Chain(links, self.size(Body, parent), self.size(Body, body))

    def subspace(self, body: int, hinge: Block) -> Block:
        """Return the motion subspace S (6, nv) in the body's frame."""
        kind, last = self.places[body].type, self.places[body].last
        found = zeros(6, kind.nv)
        if isinstance(kind, Revolute | Prismatic | Screw | Cylindrical) or kind.nv == 0:
            found[:] = kind.subspace(np.zeros(kind.nq))
        else:
            found[:] = hinge[kind.nq + 12 :].reshape(6, kind.nv)
        return found if last.is_identity() else _constants(last.matrix()) @ found

    def value(self, leaf: Leaf, body: int, hinge: Block) -> Block | None:
        """Return the block of an operator that the robot gives."""
        if leaf in (H, Hp, Ha):
            return self._hinge_map(leaf.range, body, hinge)
        if leaf is M:
            return self._inertia(body)
        if leaf is B:
            found = zeros(self.size(Body, body), self.size(Node, body))
            for k, (_, x) in enumerate(self.node_places[body]):
                found[:6, 6 * k : 6 * k + 6] = _constants(x.matrix().T)
            return found
        return None

    def _hinge_map(self, space: Space, body: int, hinge: Block) -> Block:
        rotors = self._rotors(body)
        if not self._dofs(space, body):
            return zeros(0, 6 + len(rotors))
        s = self.subspace(body, hinge)
        found = zeros(s.shape[1], 6 + len(rotors))
        found[:, :6] = s.T
        for k, dof in enumerate(rotors):
            found[dof, 6 + k] = 1.0
        return found

    def _inertia(self, body: int) -> Block:
        rotors = self._rotors(body)
        found = zeros(6 + len(rotors), 6 + len(rotors))
        found[:6, :6] = _inertia_constants(self.places[body].inertia.matrix())
        for k, dof in enumerate(rotors):
            found[6 + k, 6 + k] = float(self.places[body].joint.rotor_inertia[dof])
        return found

    def formula(self, leaf: Leaf, body: int, hinge: Block, needs: Sequence[Block]) -> Block:
        """Return a leaf that is a function of the motion at the body."""
        if leaf is a:
            return self._bias_acceleration(body, hinge, *needs)
        if leaf is b:
            return self._bias_force(body, *needs)
        if leaf is a_n:
            return self._node_bias(body, *needs)
        if leaf is v_n:
            return _centripetal(needs[0])
        if leaf is Q:
            return self._axes(body, *needs)
        raise UnboundLeafError(f"{leaf}: robot {self.robot.name!r} has no formula for it")

    def _bias_acceleration(self, body: int, hinge: Block, above: Block, qd: Block) -> Block:
        """Return a, (2.19) and (2.32) for any hinge, derivatives taken in the inertial frame.

        With ω the parent's angular velocity, S q̇ = [ω′; v′] across the hinge and ρ from the parent's
        origin to the body's: [ω × ω′; ω × (ω × ρ + 2 v′) + ω′ × v′] + Ṡ q̇. No linear velocity enters.
        """
        kind = self.places[body].type
        found = zeros(self.size(Body, body))
        if kind.nv:
            across = self.subspace(body, hinge) @ qd
            w, wj, vj = above[:3], across[:3], across[3:]
            rate = _constants(self.places[body].last.matrix()) @ kind.bias(hinge[: kind.nq], qd)
        else:
            w, wj, vj, rate = above[:3], zeros(3), zeros(3), zeros(6)
        rho = self.step(body, hinge).offset()
        found[:3] = cross(w, wj) + rate[:3]
        found[3:6] = cross(w, cross(w, rho) + 2.0 * vj) + cross(wj, vj) + rate[3:]
        return found

    def _bias_force(self, body: int, v: Block) -> Block:
        """Return b = [ω × I ω; ω × (ω × h)], (2.23)."""
        inertia = self._inertia(body)
        w = v[:3]
        h = np.array([inertia[2, 4], inertia[0, 5], inertia[1, 3]], dtype=object)
        found = zeros(len(v))
        found[:3] = cross(w, inertia[:3, :3] @ w)
        found[3:6] = cross(w, cross(w, h))
        return found

    def _node_bias(self, body: int, v: Block) -> Block:
        """Return [0; ω × (ω × r)] at each node in its axes, a(0) of (2.27)."""
        found = zeros(self.size(Node, body))
        w = v[:3]
        for k, (_, x) in enumerate(self.node_places[body]):
            found[6 * k + 3 : 6 * k + 6] = _constants(x.E) @ cross(w, cross(w, _constants(x.r)))
        return found

    def _axes(self, body: int, pose: Block) -> Block:
        """Return for each node the matrix from its own axes to those asked for.

        `pose` takes world coordinates to the body's: [E 0; −E r× E].
        """
        found = zeros(self.size(Node, body), self.size(Node, body))
        for k, (_, x) in enumerate(self.node_places[body]):
            whole = _constants(x.matrix()) @ pose[:6, :6]
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


def bind(
    robot: Robot,
    *,
    nodes: Iterable[str] = (),
    expressed: Expressed = "body",
    prescribed: Iterable[str] = (),
    own_frames: bool = False,
) -> RobotBinding:
    """Return what the letters mean for a robot."""
    checked_robot(robot)
    if isinstance(nodes, str):
        raise ArgumentError(f"nodes: the text {nodes!r} came; wanted a list of names, such as [{nodes!r}]")
    if not isinstance(nodes, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"nodes: {type(nodes).__name__} came; wanted a list of names of frames")
    if isinstance(prescribed, str):
        raise ArgumentError(
            f"prescribed: the text {prescribed!r} came; wanted a list, such as [{prescribed!r}]"
        )
    return RobotBinding(robot, tuple(nodes), expressed, frozenset(prescribed), own_frames)


def _circle(angle: Any, c: float, s: float) -> list[Any]:
    """Return cos and sin of an angle and a constant, given by its cosine and sine; right angles are exact."""
    if c and s:
        angle, c, s = angle + float(np.arctan2(s, c)), 1.0, 0.0
    x, y = np.cos(angle), np.sin(angle)
    return [c * x - s * y, s * x + c * y]


def _along_z(q: object) -> Block:
    found = zeros(3)
    found[2] = q
    return found


def _centripetal(v: Block) -> Block:
    """Return [0; ω × v] for the velocity of each node."""
    found = zeros(len(v))
    for k in range(0, len(v), 6):
        found[k + 3 : k + 6] = cross(v[k : k + 3], v[k + 3 : k + 6])
    return found


def _constants(x: Block) -> Block:
    """Return constant turns and shifts as objects; those that are zero or one but for rounding made so."""
    x = np.where(np.abs(x) < 1e-15, 0.0, x)
    return _objects(np.where(np.abs(np.abs(x) - 1.0) < 1e-15, np.sign(x), x))


def _inertia_constants(x: Block) -> Block:
    """Return an inertia as objects; entries that are zero but for rounding, by their diagonal, made so."""
    size = np.sqrt(np.abs(np.diagonal(x)))
    return _objects(np.where(np.abs(x) < 1e-15 * np.outer(size, size), 0.0, x))


def _objects(x: Block) -> Block:
    found = zeros(*x.shape)
    found[...] = x.astype(object)
    return found
