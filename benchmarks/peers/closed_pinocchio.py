"""Closed loops in Pinocchio: constraintDynamics from Python, and built natively.

The model is made from Hinge's robot, part by part, since no file has closures that both read. A universal
joint is two revolute ones; bodies on fixed joints are part of those that carry them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import hinge
from benchmarks.peers import PeerMissing, build
from benchmarks.peers.pinocchio_native import model_arrays, opened_library, placement, pointer
from benchmarks.subjects import States
from hinge.model import Joint, closure_ends
from hinge.spatial import Array, Transform

try:
    import pinocchio as pin
except ImportError:
    pin: Any = None

#: Pinocchio's constraints, by the kinds of the closures' joints: the numbers of their rows.
ROWS = {"fixed": 6, "spherical": 3}
#: Where the parts of a free joint's q and qd are in Hinge, in Pinocchio's order.
FREE_Q, FREE_QD = [4, 5, 6, 1, 2, 3, 0], [3, 4, 5, 0, 1, 2]


class ClosedPinocchio:
    """A robot with closures in Pinocchio; redundant rows need its proximal steps."""

    def __init__(self, robot: hinge.Robot, *, redundant: bool) -> None:
        if pin is None:
            raise PeerMissing("not installed")
        if any(c.joint.kind not in ROWS for c in robot.closures):
            raise PeerMissing("no such constraint")
        self.redundant = redundant
        self.model, self._q, self._qd, held = _model(robot)
        self.ends = [_ends(robot, c, held) for c in robot.closures]
        self._data = self.model.createData()
        self._contacts, self._contact_data = (
            pin.StdVec_RigidConstraintModel(),
            pin.StdVec_RigidConstraintData(),
        )
        kinds = {3: pin.ContactType.CONTACT_3D, 6: pin.ContactType.CONTACT_6D}
        for rows, i, here, j, there in self.ends:
            contact = pin.RigidConstraintModel(kinds[rows], self.model, i, here, j, there, pin.LOCAL)
            self._contacts.append(contact)
            self._contact_data.append(contact.createData())
        pin.initConstraintDynamics(self.model, self._data, self._contacts, self._contact_data)
        more = (pin.ProximalSettings(1e-12, 1e-10, 10),) if redundant else ()
        self._more = (self._contacts, self._contact_data, *more)

    def arguments(self, s: States) -> list[Array]:
        """Return q, v and tau in Pinocchio's coordinates."""
        chosen = ((s.q, self._q), (s.qd, self._qd), (s.tau, self._qd))
        return [np.ascontiguousarray(x[:, k]) for x, k in chosen]

    def back(self, x: Array) -> Array:
        """Return accelerations in Hinge's coordinates."""
        out = np.empty_like(x)
        out[:, self._qd] = x
        return out

    def single(self) -> Callable[[Array, Array, Array], Array]:
        """Return the function of one state, in Pinocchio's coordinates."""
        f, model, data, more = pin.constraintDynamics, self.model, self._data, self._more
        return lambda q, v, tau: f(model, data, q, v, tau, *more)

    def loop(self, s: States) -> Callable[[], None]:
        """Return a loop over the states, its rows cut beforehand."""
        return partial(_loop, self.model, self._data, list(zip(*self.arguments(s), strict=True)), self._more)

    def values(self, s: States) -> Array:
        """Return the accelerations in Hinge's coordinates."""
        f = self.single()
        return self.back(np.array([np.array(f(*x)) for x in zip(*self.arguments(s), strict=True)]))


class ClosedNative:
    """The same robot as one compiler builds Pinocchio."""

    def __init__(self, at: ClosedPinocchio, compiler: build.Compiler) -> None:
        reason = build.missing()
        if reason:
            raise PeerMissing(reason)
        path = build.library(compiler)
        if path is None:
            raise PeerMissing("does not build")
        self.name, self._at = f"native {compiler.name}", at
        self._library = opened_library(path)
        self._handle = ctypes.c_void_p(self._library.robot_new(*model_arrays(at.model)))
        rows, firsts, here, seconds, there = zip(*at.ends, strict=True)
        self._library.robot_close(
            self._handle,
            len(rows),
            pointer(rows, np.int32),
            pointer(firsts, np.int32),
            pointer([placement(x) for x in here]),
            pointer(seconds, np.int32),
            pointer([placement(x) for x in there]),
        )

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._library.robot_delete(self._handle)

    def run(self, s: States) -> tuple[Callable[[], None], Array]:
        """Return one call that loops over the states, and the array that it writes for Pinocchio's v."""
        given, out = self._at.arguments(s), np.zeros((len(s), self._at.model.nv))
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*given, out)]
        f, count, variant = self._library.closed_dynamics, ctypes.c_long(len(s)), int(self._at.redundant)

        def run(_kept: object = (given, out)) -> None:
            f(self._handle, count, variant, *pointers)

        return run, out


def _model(robot: hinge.Robot) -> tuple[Any, list[int], list[int], list[tuple[int, Any]]]:
    """Return the model, where its q and v are in Hinge's, and the joint and placement of every body."""
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    q, qd, armature, held = list[int](), list[int](), list[float](), list[tuple[int, Any]]()
    for j, body in zip(robot.joints, robot.bodies, strict=True):
        last, at = (0, pin.SE3.Identity()) if j.parent is None else held[robot.body_index(j.parent)]
        at = at * _se3(j.inner)
        for k, made in enumerate(_made(j)):
            last, at = model.addJoint(last, made, at, f"{j.name}.{k}"), pin.SE3.Identity()
        at = at * _se3(j.outer.inv())
        held.append((last, at))
        if last and float(body.inertia.m):
            i = body.inertia
            solid = pin.Inertia(float(i.m), np.array(i.h / i.m), np.array(i.central))
            model.appendBodyToJoint(last, solid, at)
        free = j.type.kind == "free"
        q += [j.q_slice.start + k for k in (FREE_Q if free else range(j.nq))]
        places = [j.qd_slice.start + k for k in (FREE_QD if free else range(j.nv))]
        qd, armature = qd + places, armature + [float(robot.reflected_inertia[k]) for k in places]
    model.armature = np.array(armature)
    return model, q, qd, held


def _made(j: Joint) -> list[Any]:
    """Return the joint's models: none for a fixed one, two for a universal one."""
    t: Any = j.type
    if t.kind == "fixed":
        return []
    if t.kind == "free":
        return [pin.JointModelFreeFlyer()]
    if t.kind == "universal":
        return [_turning(np.array(a)) for a in (t.first, t.second)]
    if t.kind == "prismatic":
        return [_along(np.array(t.axis), "P", pin.JointModelPrismaticUnaligned)]
    if t.kind in ("revolute", "continuous"):
        return [_turning(np.array(t.axis))]
    raise PeerMissing(f"no {t.kind} joint")


def _turning(axis: Array) -> Any:
    return _along(axis, "R", pin.JointModelRevoluteUnaligned)


def _along(axis: Array, kind: str, other: Any) -> Any:
    """Return the model of an axis of coordinates, which is quicker, or that of any axis."""
    names = [n for n, e in zip("XYZ", np.eye(3), strict=True) if np.array_equal(axis, e)]
    return getattr(pin, f"JointModel{kind}{names[0]}")() if names else other(axis)


def _ends(robot: hinge.Robot, closure: Any, held: list[tuple[int, Any]]) -> tuple[int, int, Any, int, Any]:
    """Return the rows of a closure, and joint and placement of its outer and of its inner side."""
    inner, outer = closure_ends(robot, closure)
    found: list[Any] = []
    for body, place in (outer, inner):
        joint, at = (0, pin.SE3.Identity()) if body < 0 else held[body]
        found += [joint, at * _se3(place)]
    return (ROWS[closure.joint.kind], *found)


def _se3(x: Transform) -> Any:
    return pin.SE3(np.array(x.rotation), np.array(x.position))


def _loop(model: Any, data: Any, rows: list[tuple[Array, ...]], more: tuple[Any, ...]) -> None:
    f = pin.constraintDynamics
    for q, v, tau in rows:
        f(model, data, q, v, tau, *more)
