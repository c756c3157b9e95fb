"""The same state in the coordinates of Pinocchio and MuJoCo.

| | Hinge | Pinocchio | MuJoCo |
|---|---|---|---|
| free q | quaternion w x y z, position | position, quaternion x y z w | position, quaternion w x y z |
| free qd | ω, v in the body | v, ω in the body | v in the world, ω in the body |
| spherical q | w x y z | x y z w | w x y z |
| continuous q | angle | cos, sin | – |
| planar q, qd | angle x y; ω vx vy | x y cos sin; vx vy ω | – |
| order of joints | depth first, in the file's order | its own, by name | its own, by name |

A peer's joints are found by name, so its order does not matter. Forces go by the transposed map,
accelerations by its derivative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hinge.errors import ArgumentError
from hinge.model.joints import Planar
from hinge.model.parts import Joint
from hinge.model.robot import Robot
from hinge.model.state import as_configuration, as_tangent
from hinge.spatial import Array, ArrayLike, cross, matvec, quaternion, rotation, transpose


@dataclass(frozen=True)
class _Place:
    """Where a joint sits in the peer's vectors."""

    joint: Joint
    q: int
    v: int


@dataclass(frozen=True)
class PeerMap:
    """Map states of a robot to a peer's coordinates and forces back.

    `places` says where each moving joint's coordinates start in the peer's q and v.
    """

    peer: str
    nq: int
    nv: int
    places: tuple[_Place, ...]
    robot: Robot

    def q(self, q: ArrayLike) -> Array:
        """Return the peer's configuration (…, nq of the peer)."""
        given = as_configuration(self.robot, q)
        out = np.zeros((*given.shape[:-1], self.nq))
        for p in self.places:
            part = _PEER_Q[self.peer](p.joint, given[..., p.joint.q_slice])
            out[..., p.q : p.q + part.shape[-1]] = part
        return out

    def velocity_matrix(self, q: ArrayLike) -> Array:
        """Return T (…, nv of the peer, nv) with v_peer = T qd; τ = Tᵀ τ_peer, M = Tᵀ M_peer T."""
        given = as_configuration(self.robot, q)
        out = np.zeros((*given.shape[:-1], self.nv, self.robot.nv))
        for p in self.places:
            block = _peer_velocity(self.peer, p.joint, given[..., p.joint.q_slice])
            out[..., p.v : p.v + p.joint.nv, p.joint.qd_slice] = block
        return out

    def qd(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the peer's velocity for qd at q."""
        return matvec(self.velocity_matrix(q), as_tangent(self.robot, qd, "qd"))

    def qdd(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the peer's acceleration: T qdd + Ṫ qd."""
        q, v = as_configuration(self.robot, q), as_tangent(self.robot, qd, "qd")
        out = matvec(self.velocity_matrix(q), as_tangent(self.robot, qdd, "qdd"))
        for p in self.places:
            if self.peer == "mujoco" and p.joint.type.kind == "free":
                part = v[..., p.joint.qd_slice]
                turned = quaternion.rotate(
                    q[..., p.joint.q_slice][..., :4], cross(part[..., :3], part[..., 3:])
                )
                out[..., p.v : p.v + 3] += turned
        return out

    def tau(self, q: ArrayLike, tau_peer: ArrayLike) -> Array:
        """Return generalised forces of the robot for those of the peer: Tᵀ τ_peer."""
        return matvec(transpose(self.velocity_matrix(q)), np.asarray(tau_peer, dtype=np.float64))


def pinocchio_map(
    robot: Robot, names: Sequence[str], idx_qs: Sequence[int], idx_vs: Sequence[int], nq: int, nv: int
) -> PeerMap:
    """Return the map to a Pinocchio model: pass its `names`, `idx_qs`, `idx_vs`, `nq`, `nv`.

    Coupled joints must be in the Pinocchio model what they are in the robot: independent, or, after
    `embed_couplings`, followers (mimic=True).
    """
    for j in robot.joints:
        if isinstance(j.type, Planar) and j.type.axis != (0.0, 0.0, 1.0):
            raise ArgumentError(
                f"robot: expected planar joints with axis z, got {j.type.axis} for {j.name!r}; Pinocchio's "
                "planar joint ignores the axis in the file, so no map exists"
            )
    starts = {n: (int(a), int(b)) for n, a, b in zip(names, idx_qs, idx_vs, strict=True)}
    return _peer_map("pinocchio", robot, starts, nq, nv)


def mujoco_map(
    robot: Robot,
    names: Sequence[str],
    qposadr: Sequence[int],
    dofadr: Sequence[int],
    nq: int,
    nv: int,
) -> PeerMap:
    """Return the map to a MuJoCo model: its joints' names, `jnt_qposadr`, `jnt_dofadr`, `nq`, `nv`."""
    starts = {n: (int(a), int(b)) for n, a, b in zip(names, qposadr, dofadr, strict=True)}
    return _peer_map("mujoco", robot, starts, nq, nv)


def _peer_map(peer: str, robot: Robot, starts: Mapping[str, tuple[int, int]], nq: int, nv: int) -> PeerMap:
    places: list[_Place] = []
    if len(robot.independent) < len(robot.joints) and nv != robot.nv:
        raise ArgumentError(
            f"nv: expected {robot.nv}, the nv of robot {robot.name!r} with its embedded couplings, got {nv}; "
            f"use a {peer} model with the same couplings, or release_couplings(robot)"
        )
    for j in robot.independent:
        if j.nv == 0:
            continue
        if j.name not in starts:
            raise ArgumentError(
                f"names: expected every joint of robot {robot.name!r}, got no {j.name!r} in the {peer} model"
            )
        places.append(_Place(j, *starts[j.name]))
    return PeerMap(peer, nq, nv, tuple(places), robot)


def _pinocchio_q(joint: Joint, q: Array) -> Array:
    kind = joint.type.kind
    if kind == "free":
        return np.concatenate([q[..., 4:], q[..., 1:4], q[..., :1]], axis=-1)
    if kind == "spherical":
        return np.concatenate([q[..., 1:], q[..., :1]], axis=-1)
    if kind == "continuous":
        return np.concatenate([np.cos(q), np.sin(q)], axis=-1)
    if kind == "planar":
        return np.concatenate([q[..., 1:], np.cos(q[..., :1]), np.sin(q[..., :1])], axis=-1)
    return q


def _mujoco_q(joint: Joint, q: Array) -> Array:
    if joint.type.kind == "free":
        return np.concatenate([q[..., 4:], q[..., :4]], axis=-1)
    return q


_PEER_Q = {"pinocchio": _pinocchio_q, "mujoco": _mujoco_q}


def _peer_velocity(peer: str, joint: Joint, q: Array) -> Array:
    """Return the joint's block of T."""
    kind, eye = joint.type.kind, np.eye(joint.nv)
    if kind == "free":
        out = np.zeros((*q.shape[:-1], 6, 6))
        out[..., :3, 3:] = rotation.from_quaternion(q[..., :4]) if peer == "mujoco" else np.eye(3)
        out[..., 3:, :3] = np.eye(3)
        return out
    if kind == "planar" and peer == "pinocchio":
        return eye[[1, 2, 0]]
    return eye
