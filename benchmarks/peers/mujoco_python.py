"""MuJoCo from Python: contacts, constraints, limits and damping off, only what the quantity needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from xml.etree import ElementTree as Et

import numpy as np

import hinge
from benchmarks.harness import Contender, quickest
from benchmarks.peers import PeerMissing
from benchmarks.subjects import States, Subject
from hinge.model import mujoco_map
from hinge.spatial import Array, transpose

try:
    import mujoco
    from mujoco import rollout
except ImportError:
    mujoco: Any = None
    rollout: Any = None

OFF = ("CONTACT", "CONSTRAINT", "ACTUATION", "LIMIT", "FRICTIONLOSS", "EULERDAMP", "AUTORESET", "SENSOR")


class Mujoco:
    """MuJoCo's functions in a loop over states, each quantity by the quickest of its ways."""

    name = "MuJoCo"

    def __init__(self, subject: Subject) -> None:
        if mujoco is None:
            raise PeerMissing("not installed")
        self._subject = subject
        self.model = _model(subject)
        self.data, n = mujoco.MjData(self.model), self.model.nv
        self._map = mujoco_map(subject.robot, self.model)
        self._bias, self._solved, self._jacobian = np.zeros(n), np.zeros((1, n)), np.zeros((6, n))
        self._inverse, self._unit, self._half = np.zeros((n, n)), np.eye(n), np.zeros((6, n))
        self._mass, self._full = np.zeros((n, n)), _full_mass(self.model, self.data)

    def contender(self, quantity: str, s: States) -> Contender:
        """Return the loop over the states, its rows cut beforehand."""
        arguments = self._arguments(quantity, s)
        rows = list(zip(*(list(x) for x in arguments), strict=True))
        loop = _inverted if quantity == "operational_inertia" else _loop
        ways: list[Callable[[], object]] = [partial(loop, one, rows) for one in self._ways(quantity)]
        if quantity == "forward_dynamics":
            ways.append(self._rollout(arguments))
        return quickest([Contender(self.name, run, len(s)) for run in ways])

    def values(self, quantity: str, s: States) -> Array:
        """Return the quantity in Hinge's coordinates."""
        one, rows = self._ways(quantity)[-1], zip(*self._arguments(quantity, s), strict=True)
        found = np.array([one(*row).copy() for row in rows])
        q = s.q
        if quantity == "forward_dynamics":
            return self._map.from_qdd(q, s.qd, found)
        if quantity == "inverse_dynamics":
            return self._map.from_tau(q, found)
        if quantity in ("mass_matrix", "mass_matrix_inverse"):
            return self._map.from_mass_matrix(q, found)
        turn = np.kron(
            np.eye(2), hinge.forward_kinematics(self._subject.robot, q, self._subject.tip).rotation
        )
        if quantity == "jacobian":
            return self._map.from_jacobian(q, transpose(turn) @ found)
        return transpose(turn) @ np.linalg.inv(found) @ turn

    def _arguments(self, quantity: str, s: States) -> tuple[Array, ...]:
        """Return the arrays that a quantity takes, in MuJoCo's coordinates."""
        q, v = self._map.to_q(s.q), self._map.to_qd(s.q, s.qd)
        if quantity == "forward_dynamics":
            return q, v, self._map.to_tau(s.q, s.tau)
        if quantity == "inverse_dynamics":
            return q, v, self._map.to_qdd(s.q, s.qd, s.qdd)
        return (q,)

    def _ways(self, quantity: str) -> list[Callable[..., Array]]:
        """Return functions of one state that leave the quantity in an array and return that."""
        ways: dict[str, list[Callable[..., Array]]] = {
            "forward_dynamics": [self._forward_at_once, self._forward_by_stages],
            "inverse_dynamics": [self._inverse_at_once, self._inverse_by_stages],
            "mass_matrix": [self._mass_matrix],
            "mass_matrix_inverse": [self._mass_matrix_inverse],
            "jacobian": [self._tip_jacobian],
            "operational_inertia": [self._mobility],
        }
        return ways[quantity]

    def _forward_at_once(self, q: Array, v: Array, tau: Array) -> Array:
        data = self.data
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
        mujoco.mj_forward(self.model, data)
        return data.qacc

    def _forward_by_stages(self, q: Array, v: Array, tau: Array) -> Array:
        model, data = self.model, self.data
        self._factorised(q)
        data.qvel[:] = v
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 0, self._bias)
        mujoco.mj_solveM(model, data, self._solved, (tau - self._bias)[None])
        return self._solved[0]

    def _inverse_at_once(self, q: Array, v: Array, a: Array) -> Array:
        data = self.data
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_inverse(self.model, data)
        return data.qfrc_inverse

    def _inverse_by_stages(self, q: Array, v: Array, a: Array) -> Array:
        model, data = self.model, self.data
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 1, self._bias)
        return self._bias

    def _mass_matrix(self, q: Array) -> Array:
        model, data = self.model, self.data
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        self._full(self._mass)
        return self._mass

    def _mass_matrix_inverse(self, q: Array) -> Array:
        self._factorised(q)
        mujoco.mj_solveM(self.model, self.data, self._inverse, self._unit)
        return self._inverse

    def _tip_jacobian(self, q: Array) -> Array:
        model, data = self.model, self.data
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jacSite(model, data, self._jacobian[3:], self._jacobian[:3], 0)
        return self._jacobian

    def _mobility(self, q: Array) -> Array:
        """Return J 𝓜⁻¹ Jᵀ by half a solve."""
        model, data = self.model, self.data
        self._factorised(q)
        mujoco.mj_jacSite(model, data, self._jacobian[3:], self._jacobian[:3], 0)
        mujoco.mj_solveM2(model, data, self._half, self._jacobian, np.sqrt(data.qLDiagInv))
        return self._half @ self._half.T

    def _factorised(self, q: Array) -> None:
        model, data = self.model, self.data
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        mujoco.mj_factorM(model, data)

    def _rollout(self, arguments: tuple[Array, ...]) -> Callable[[], object]:
        """Return one step of MuJoCo's batched roll-out, which holds forward dynamics and a little more."""
        q, v, tau = arguments
        start = np.concatenate([np.zeros((len(q), 1)), q, v], axis=1)
        spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        f = partial(rollout.rollout, self.model, self.data, start, tau[:, None], control_spec=spec, nstep=1)
        return partial(f, state=np.zeros((len(q), 1, start.shape[1])), skip_checks=False)


def _model(subject: Subject) -> Any:
    """Load the file without shapes; free its base; put a site at the tip."""
    tree = Et.parse(subject.path).getroot()
    for link in tree.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    try:
        spec = mujoco.MjSpec.from_string(Et.tostring(tree, encoding="unicode"))
        if subject.floating:
            spec.worldbody.first_body().add_freejoint(name="root_joint")
        spec.body(subject.tip).add_site(name="tip")
        model = spec.compile()
    except ValueError as error:
        raise PeerMissing("does not load") from error
    for bit in OFF:
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{bit}", 0)
    model.dof_damping[:] = model.dof_frictionloss[:] = 0
    return model


def _full_mass(model: Any, data: Any) -> Callable[[Array], None]:
    """Return mj_fullM with the arguments of the MuJoCo that is installed."""
    try:
        mujoco.mj_fullM(model, data, np.zeros((model.nv, model.nv)))
    except TypeError:
        return lambda to: mujoco.mj_fullM(model, to, data.qM)
    return partial(mujoco.mj_fullM, model, data)


def _loop(one: Callable[..., Array], rows: Sequence[tuple[Array, ...]]) -> None:
    for row in rows:
        one(*row)


def _inverted(one: Callable[..., Array], rows: Sequence[tuple[Array, ...]]) -> Array:
    return np.linalg.inv(np.array([one(*row) for row in rows]))
