"""The same state in the coordinates of Pinocchio and MuJoCo, and back.

| | Hinge | Pinocchio | MuJoCo |
|---|---|---|---|
| free q | quaternion w x y z, position | position, quaternion x y z w | position, quaternion w x y z |
| free qd | ω, v in the body | v, ω in the body | v in the world, ω in the body |
| spherical q | w x y z | x y z w | w x y z |
| continuous q | angle | cos, sin | angle |
| planar q, qd | angle x y; ω vx vy | x y cos sin; vx vy ω | – |
| order of joints | depth first, in the file's order | its own | its own |
| spatial vectors | [ω; v] | [v; ω] | [ω; v] |

The peer's velocity is T qd, where T(q) is made of permutations and rotations, so that T⁻¹ = Tᵀ. Forces go by
T as velocities do, matrices by T M Tᵀ, columns of Jacobians by J Tᵀ, accelerations by T and its derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from hinge.errors import ArgumentError
from hinge.model.parts import Joint
from hinge.model.robot import Robot
from hinge.model.vectors import as_configuration, as_tangent, as_vector
from hinge.spatial import Array, ArrayLike, cross, matvec, quaternion, rotation, transpose

PeerName: TypeAlias = Literal["Pinocchio", "MuJoCo"]


@dataclass(frozen=True)
class PeerPlace:
    """A moving joint, where its coordinates start in the peer's q and v, and how many its q has there."""

    joint: Joint
    q: int
    v: int
    nq: int


@dataclass(frozen=True, eq=False, repr=False)
class PeerMap:
    """States, forces and matrices in a peer's coordinates (`to_…`), and from them (`from_…`).

    Made by `pinocchio_map` and `mujoco_map`. Every method takes batches; where it depends on the
    configuration, `q` is that of Hinge, of both directions: `from_q` gives it.
    """

    peer: PeerName
    nq: int
    nv: int
    places: tuple[PeerPlace, ...]
    robot: Robot

    def to_q(self, q: ArrayLike) -> Array:
        """Return the peer's configuration (…, nq of the peer)."""
        given = as_configuration(self.robot, q)
        out = np.zeros((*given.shape[:-1], self.nq))
        for p in self.places:
            out[..., p.q : p.q + p.nq] = _peer_q(self.peer, p, given[..., p.joint.q_slice])
        return out

    def from_q(self, q_peer: ArrayLike) -> Array:
        """Return q (…, nq) for the peer's configuration; of cosine and sine the angle within ±π."""
        given = as_vector(q_peer, "q_peer", self.nq, f"nq = {self.nq} of the {self.peer} model")
        out = np.zeros((*given.shape[:-1], self.robot.nq))
        for p in self.places:
            out[..., p.joint.q_slice] = _own_q(self.peer, p, given[..., p.q : p.q + p.nq])
        return out

    def velocity_matrix(self, q: ArrayLike) -> Array:
        """Return T (…, nv, nv), which is orthogonal: the peer's velocity is T qd."""
        given = as_configuration(self.robot, q)
        out = np.zeros((*given.shape[:-1], self.nv, self.robot.nv))
        for p in self.places:
            block = _velocity_block(self.peer, p.joint, given[..., p.joint.q_slice])
            out[..., p.v : p.v + p.joint.nv, p.joint.qd_slice] = block
        return out

    def to_qd(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the peer's velocity T qd."""
        return matvec(self.velocity_matrix(q), as_tangent(self.robot, qd, "qd"))

    def from_qd(self, q: ArrayLike, qd_peer: ArrayLike) -> Array:
        """Return qd (…, nv) for the peer's velocity."""
        return self._back(q, self._vector(qd_peer, "qd_peer"))

    def to_qdd(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the peer's acceleration T qdd + Ṫ qd."""
        moved = matvec(self.velocity_matrix(q), as_tangent(self.robot, qdd, "qdd"))
        return moved + self._bias(q, qd)

    def from_qdd(self, q: ArrayLike, qd: ArrayLike, qdd_peer: ArrayLike) -> Array:
        """Return qdd (…, nv) for the peer's acceleration; q and qd are Hinge's."""
        return self._back(q, self._vector(qdd_peer, "qdd_peer") - self._bias(q, qd))

    def to_tau(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return the peer's generalised forces T τ."""
        return matvec(self.velocity_matrix(q), as_tangent(self.robot, tau, "tau"))

    def from_tau(self, q: ArrayLike, tau_peer: ArrayLike) -> Array:
        """Return generalised forces (…, nv) for those of the peer."""
        return self._back(q, self._vector(tau_peer, "tau_peer"))

    def to_mass_matrix(self, q: ArrayLike, mass: ArrayLike) -> Array:
        """Return T M Tᵀ, the peer's mass matrix, or the inverse of it for M⁻¹."""
        t, n = self.velocity_matrix(q), self.robot.nv
        return t @ _matrix(mass, "mass", n, n) @ transpose(t)

    def from_mass_matrix(self, q: ArrayLike, mass_peer: ArrayLike) -> Array:
        """Return Tᵀ M T for the peer's mass matrix, or its inverse.

        Of Pinocchio's only the upper triangle counts, as its algorithms fill that one.
        """
        t, m = self.velocity_matrix(q), _matrix(mass_peer, "mass_peer", self.nv, self.nv)
        if self.peer == "Pinocchio":
            m = np.triu(m) + transpose(np.triu(m, 1))
        return transpose(t) @ m @ t

    def to_jacobian(self, q: ArrayLike, jacobian: ArrayLike) -> Array:
        """Return J Tᵀ, a matrix (…, n, nv) with a column for each velocity of the peer.

        Rows that are a multiple of six are spatial vectors, [ω; v] in Hinge and MuJoCo, [v; ω] in Pinocchio.
        """
        found = _matrix(jacobian, "jacobian", None, self.robot.nv) @ transpose(self.velocity_matrix(q))
        return self._rows(found)

    def from_jacobian(self, q: ArrayLike, jacobian_peer: ArrayLike) -> Array:
        """Return J T, a matrix (…, n, nv) with a column for each velocity; rows as in `to_jacobian`."""
        found = _matrix(jacobian_peer, "jacobian_peer", None, self.nv) @ self.velocity_matrix(q)
        return self._rows(found)

    def __repr__(self) -> str:
        return f"<PeerMap of robot {self.robot.name!r} and a {self.peer} model: nq={self.nq}, nv={self.nv}>"

    def _vector(self, x: ArrayLike, name: str) -> Array:
        return as_vector(x, name, self.nv, f"nv = {self.nv} of the {self.peer} model")

    def _back(self, q: ArrayLike, x: Array) -> Array:
        return matvec(transpose(self.velocity_matrix(q)), x)

    def _bias(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return Ṫ qd: a velocity in the world's axes turns with the body in whose axes it was."""
        given, v = as_configuration(self.robot, q), as_tangent(self.robot, qd, "qd")
        out = np.zeros((*np.broadcast_shapes(given.shape[:-1], v.shape[:-1]), self.nv))
        for p in self.places:
            if self.peer == "MuJoCo" and p.joint.type.kind == "free":
                w, linear = np.split(v[..., p.joint.qd_slice], [3], axis=-1)
                turn = given[..., p.joint.q_slice][..., :4]
                out[..., p.v : p.v + 3] = quaternion.rotate(turn, cross(w, linear))
        return out

    def _rows(self, x: Array) -> Array:
        """Exchange the halves of spatial vectors where the peer has the linear one first."""
        if self.peer != "Pinocchio" or x.shape[-2] % 6:
            return x
        halves = x.reshape(*x.shape[:-2], -1, 2, 3, x.shape[-1])
        return halves[..., ::-1, :, :].reshape(x.shape)


def _matrix(x: ArrayLike, name: str, rows: int | None, columns: int) -> Array:
    found = as_vector(x, name, columns, f"a matrix with {columns} columns")
    if found.ndim < 2 or (rows is not None and found.shape[-2] != rows):
        raise ArgumentError(f"{name}: expected shape (…, {rows or 'n'}, {columns}), got {found.shape}")
    return found


def _peer_q(peer: PeerName, p: PeerPlace, q: Array) -> Array:
    kind = p.joint.type.kind
    if kind == "free":
        turn, x = q[..., :4], q[..., 4:]
        return np.concatenate([x, turn if peer == "MuJoCo" else np.roll(turn, -1, axis=-1)], axis=-1)
    if kind == "spherical":
        return q if peer == "MuJoCo" else np.roll(q, -1, axis=-1)
    if kind == "planar":
        return np.concatenate([q[..., 1:], np.cos(q[..., :1]), np.sin(q[..., :1])], axis=-1)
    if p.nq == 2 and p.joint.nq == 1:
        return np.concatenate([np.cos(q), np.sin(q)], axis=-1)
    return q


def _own_q(peer: PeerName, p: PeerPlace, x: Array) -> Array:
    kind = p.joint.type.kind
    if kind == "free":
        turn = x[..., 3:] if peer == "MuJoCo" else np.roll(x[..., 3:], 1, axis=-1)
        return np.concatenate([turn, x[..., :3]], axis=-1)
    if kind == "spherical":
        return x if peer == "MuJoCo" else np.roll(x, 1, axis=-1)
    if kind == "planar":
        return np.concatenate([np.arctan2(x[..., 3:], x[..., 2:3]), x[..., :2]], axis=-1)
    if p.nq == 2 and p.joint.nq == 1:
        return np.arctan2(x[..., 1:], x[..., :1])
    return x


def _velocity_block(peer: PeerName, joint: Joint, q: Array) -> Array:
    """Return the joint's block of T."""
    kind, eye = joint.type.kind, np.eye(joint.nv)
    if kind == "free":
        out = np.zeros((*q.shape[:-1], 6, 6))
        out[..., :3, 3:] = rotation.from_quaternion(q[..., :4]) if peer == "MuJoCo" else np.eye(3)
        out[..., 3:, :3] = np.eye(3)
        return out
    if kind == "planar":
        return eye[[1, 2, 0]]
    return eye
