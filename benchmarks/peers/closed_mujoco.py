"""Closed loops in MuJoCo: soft equality constraints, so only the time of mj_forward can be compared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from xml.etree import ElementTree as Et

import numpy as np

import hinge
from benchmarks.peers import PeerMissing
from benchmarks.subjects import States
from hinge.model import Joint, closure_ends, mujoco_map
from hinge.spatial import Array, Inertia, Transform, quaternion

try:
    import mujoco
except ImportError:
    mujoco: Any = None

#: Equality constraints by the kinds of the closures' joints.
EQUALITIES = {"fixed": "weld", "spherical": "connect"}


class ClosedMujoco:
    """A robot with closures in MuJoCo, made from Hinge's robot part by part."""

    def __init__(self, robot: hinge.Robot) -> None:
        if mujoco is None:
            raise PeerMissing("not installed")
        if any(c.joint.kind not in EQUALITIES for c in robot.closures):
            raise PeerMissing("no such constraint")
        self.model = mujoco.MjModel.from_xml_string(document(robot))
        self._data, self._map = mujoco.MjData(self.model), mujoco_map(robot, self.model)

    def loop(self, s: States) -> Callable[[], None]:
        """Return a loop over the states, its rows cut beforehand."""
        q, v, tau = self._map.to_q(s.q), self._map.to_qd(s.q, s.qd), self._map.to_tau(s.q, s.tau)
        for p in self._map.places:
            if p.joint.type.kind == "free":  # from the world, not from where the joint is
                q[:, p.q : p.q + 3] += np.array(p.joint.inner.position)
        return partial(_loop, self.model, self._data, list(zip(q, v, tau, strict=True)))


def document(robot: hinge.Robot) -> str:
    """Return a robot with its closures as a document of MuJoCo."""
    root = Et.Element("mujoco")
    Et.SubElement(root, "compiler", angle="radian", balanceinertia="true")
    Et.SubElement(root, "option", gravity=_text(robot.gravity))
    world = Et.SubElement(root, "worldbody")
    made = dict[str | None, Et.Element]({None: world})
    for j, body in zip(robot.joints, robot.bodies, strict=True):
        made[body.name] = at = Et.SubElement(made[j.parent], "body", name=body.name, **_placed(j.inner))
        _add_joint(at, j)
        if float(body.inertia.m):
            Et.SubElement(at, "inertial", **_inertial(body.inertia))
    equality = Et.SubElement(root, "equality")
    for k, c in enumerate(robot.closures):
        for side, (body, place) in zip("io", closure_ends(robot, c), strict=True):
            owner = None if body < 0 else robot.bodies[body].name
            Et.SubElement(made[owner], "site", name=f"{side}{k}", **_placed(place))
        Et.SubElement(equality, EQUALITIES[c.joint.kind], site1=f"i{k}", site2=f"o{k}")
    return Et.tostring(root, encoding="unicode")


def _add_joint(at: Et.Element, j: Joint) -> None:
    """Add the joint's element, of a universal joint one for each axis."""
    t: Any = j.type
    if t.kind == "free":
        Et.SubElement(at, "freejoint", name=j.name)
    elif t.kind in ("revolute", "continuous", "prismatic"):
        kind = "slide" if t.kind == "prismatic" else "hinge"
        armature = _text(j.gear_ratio**2 * j.rotor_inertia)
        Et.SubElement(at, "joint", name=j.name, type=kind, axis=_text(t.axis), armature=armature)
    elif t.kind != "fixed":
        raise PeerMissing(f"no {t.kind} joint")


def _inertial(x: Inertia) -> dict[str, str]:
    i = np.array(x.central) + 1e-9 * np.eye(3)  # it refuses the points of mass that files have
    moments = (i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2])
    return {"mass": str(float(x.m)), "pos": _text(x.h / x.m), "fullinertia": _text(moments)}


def _placed(x: Transform) -> dict[str, str]:
    return {"pos": _text(x.position), "quat": _text(quaternion.from_matrix(np.array(x.rotation)))}


def _text(x: Any) -> str:
    return " ".join(repr(float(y)) for y in np.atleast_1d(np.array(x)))


def _loop(model: Any, data: Any, rows: list[tuple[Array, ...]]) -> None:
    f = mujoco.mj_forward
    for q, v, tau in rows:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
        f(model, data)
