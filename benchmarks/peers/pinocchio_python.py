"""Pinocchio from Python: a loop over states that does nothing but call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Contender, quickest
from benchmarks.peers import PeerMissing
from benchmarks.subjects import ARRAYS, DERIVATIVES, States, Subject
from hinge.model import pinocchio_map
from hinge.spatial import Array

try:
    import pinocchio as pin
except ImportError:
    pin: Any = None

ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


class PinocchioModel:
    """The robot in Pinocchio, and the way from Hinge's coordinates and back."""

    def __init__(self, subject: Subject) -> None:
        if pin is None:
            raise PeerMissing("not installed")
        root = (pin.JointModelFreeFlyer(),) if subject.floating else ()
        self.model = model = pin.buildModelFromUrdf(str(subject.path), *root)
        self.tip = model.getFrameId(subject.tip, pin.FrameType.BODY)
        self._map = pinocchio_map(subject.robot, model)
        matrices = self._map.velocity_matrix(subject.states(2).q)
        self._theirs = np.argmax(matrices[0], axis=1)  # v_pinocchio = qd[theirs]
        self._ours = np.argmax(matrices[0], axis=0)
        assert np.array_equal(matrices[1], np.eye(model.nv)[:, self._ours])

    def arguments(self, quantity: str, s: States) -> list[Array]:
        """Return the arrays that a quantity takes, in Pinocchio's coordinates."""
        names = ARRAYS[quantity][1:]
        vectors = [getattr(s, name)[:, self._theirs] for name in names]
        return [np.ascontiguousarray(x) for x in (self._map.to_q(s.q), *vectors)]

    def back(self, quantity: str, x: Array) -> Array:
        """Return what Pinocchio computed in Hinge's coordinates."""
        if quantity in ("mass_matrix", "mass_matrix_inverse"):
            return _filled(x)[:, self._ours][:, :, self._ours]
        if quantity in DERIVATIVES:
            x = np.array(x)
            x[:, 2:] = _filled(x[:, 2:])  # by tau: half of the inverse of the mass matrix
            return x[:, :, self._ours][:, :, :, self._ours]
        if quantity == "jacobian":
            return x[:, ANGULAR_FIRST][:, :, self._ours]
        if quantity == "operational_inertia":
            return x[:, ANGULAR_FIRST][:, :, ANGULAR_FIRST]
        return x[:, self._ours]


def _filled(x: Array) -> Array:
    """Return symmetric matrices of which the upper halves are given."""
    return np.triu(x) + np.swapaxes(np.triu(x, 1), -1, -2)


class Pinocchio:
    """Pinocchio as its Python package has it, by the quicker of its conventions."""

    name = "pin"

    def __init__(self, subject: Subject) -> None:
        self._at = at = PinocchioModel(subject)
        self._data = at.model.createData()
        frame = at.model.frames[at.tip]
        contact = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_6D, at.model, frame.parentJoint, frame.placement, pin.LOCAL
        )
        self._contacts, self._contact_data = (
            pin.StdVec_RigidConstraintModel(),
            pin.StdVec_RigidConstraintData(),
        )
        self._contacts.append(contact)
        self._contact_data.append(contact.createData())

    def calls(self, quantity: str) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
        """Return the ways to a quantity: functions (model, data, *arrays of a state, *more)."""
        world = pin.Convention.WORLD
        ways: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
            "forward_dynamics": [(pin.aba, ()), (pin.aba, (world,))],
            "inverse_dynamics": [(pin.rnea, ())],
            "mass_matrix": [(pin.crba, ()), (pin.crba, (world,))],
            "mass_matrix_inverse": [(pin.computeMinverse, ())],
            "jacobian": [(pin.computeFrameJacobian, (self._at.tip, pin.LOCAL))],
            "operational_inertia": [(pin.computeDelassusMatrix, (self._contacts, self._contact_data))],
            "inverse_dynamics_derivatives": [(pin.computeRNEADerivatives, ())],
            "forward_dynamics_derivatives": [(pin.computeABADerivatives, ())],
        }
        return ways[quantity]

    def contender(self, quantity: str, s: States) -> Contender:
        """Return the loop over the states, its rows cut beforehand."""
        rows = list(zip(*(list(x) for x in self._at.arguments(quantity, s)), strict=True))
        loop = _inverted if quantity == "operational_inertia" else _LOOPS[len(rows[0])]
        ways = [partial(loop, f, self._at.model, self._data, rows, more) for f, more in self.calls(quantity)]
        return quickest([Contender(self.name, run, len(s)) for run in ways])

    def single(self, quantity: str, s: States) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
        """Return the ways to compute the first state: functions and their arguments."""
        state = [x[0] for x in self._at.arguments(quantity, s)]
        inverse = quantity == "operational_inertia"
        return [
            (_inverse_of if inverse else f, (self._at.model, self._data, *state, *more))
            for f, more in self.calls(quantity)
        ]

    def values(self, quantity: str, s: States) -> Array:
        """Return the quantity in Hinge's coordinates."""
        f, more = self.calls(quantity)[0]
        rows = zip(*self._at.arguments(quantity, s), strict=True)
        parts = (
            len(DERIVATIVES[quantity][1]) if quantity in DERIVATIVES else None
        )  # the last is not asked for
        found = np.array([np.array(f(self._at.model, self._data, *row, *more)[:parts]) for row in rows])
        found = np.linalg.inv(found) if quantity == "operational_inertia" else found
        return self._at.back(quantity, found)


def _inverse_of(*args: Any) -> Array:
    return np.linalg.inv(pin.computeDelassusMatrix(*args))


def _inverted(f: Any, model: Any, data: Any, rows: Sequence[Any], more: tuple[Any, ...]) -> Array:
    """Gather the matrices J 𝓜⁻¹ Jᵀ of all states and invert them at once, which is quickest."""
    return np.linalg.inv(np.array([f(model, data, q, *more) for (q,) in rows]))


def _of_one(f: Any, model: Any, data: Any, rows: Sequence[Any], more: tuple[Any, ...]) -> None:
    for (q,) in rows:
        f(model, data, q, *more)


def _of_three(f: Any, model: Any, data: Any, rows: Sequence[Any], more: tuple[Any, ...]) -> None:
    if more:
        (last,) = more
        for q, v, x in rows:
            f(model, data, q, v, x, last)
    else:
        for q, v, x in rows:
            f(model, data, q, v, x)


_LOOPS = {1: _of_one, 3: _of_three}
