"""How long does the operational space of several frames take, next to Pinocchio from Python?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.agreement import BOUND
from benchmarks.harness import Contender, Options, quickest, race, repeated
from benchmarks.peers import PeerMissing
from benchmarks.peers.pinocchio_python import ANGULAR_FIRST, PinocchioModel
from benchmarks.subjects import States, Subject, one_thread, subject
from benchmarks.tables import Cell, Table, ratio
from hinge.dynamics import Compiled, compiled
from hinge.spatial import Array

try:
    import pinocchio as pin
except ImportError:
    pin: Any = None

COLUMNS = (
    "robot", "quantity", "frames", "operations", "compiled [s]", "Hinge, one", "pin, one", "pin / Hinge",
    "Hinge, batch", "pin, loop", "loop / batch", "difference", "pin by",
)  # fmt: skip
#: Where the four limbs of the humanoid end.
LIMBS = ("arm_left_7_link", "arm_right_7_link", "leg_left_6_link", "leg_right_6_link")
#: Bytes of results in a batch, and states in a loop of Pinocchio.
RESULTS, LOOP = 2**26, 64


def tables(options: Options) -> Iterator[Table]:
    """Yield one table."""
    one_thread()
    table = Table("Operational space: µs per state, one thread, float64", COLUMNS)
    talos, panda = subject("talos"), subject("panda")
    moving = [j.child for j in talos.robot.joints if j.nv][:30]
    for on, names in ((panda, [panda.tip]), (talos, [talos.tip]), (talos, LIMBS), (talos, moving)):
        for quantity in ("operational_inverse_inertia", "operational_inertia"):
            if quantity.endswith("inverse_inertia") or 6 * len(names) <= on.robot.nv:
                table.rows.append(_row(on, quantity, names, options))
    table.notes += [
        "pin: the quicker of computeDelassusMatrix, and of computeJointJacobians, computeMinverse, products "
        "in NumPy; NumPy's inverse for the operational-space inertia. Batch: one call into an array.",
        f"difference: the largest, relative to the largest entry; above {BOUND:g} it would be wrong "
        "(of an inertia: that over what its condition lets be known).",
    ]
    yield table


def _row(on: Subject, quantity: str, names: Sequence[str], options: Options) -> list[Cell]:
    start = time.perf_counter()
    f = compiled(on.robot, quantity, tuple(names))
    rows = 6 * len(names)
    count = max(8, min(options.states, RESULTS // (8 * rows * rows)))
    s = on.states(count)
    out = np.empty((count, rows, rows))
    f(s.q, out=out)
    took = time.perf_counter() - start
    frame = names[0] if len(names) == 1 else tuple(names)
    single = repeated("one", partial(getattr(hinge, quantity), on.robot, s.q[0], frame), ())
    batch = Contender("batch", partial(f, s.q, out=out), count)
    head: list[Cell] = [on.name, quantity.replace("_", " "), len(names), _operations(f), took]
    try:
        ways = Ways(on, names, inverse=quantity == "operational_inertia")
    except PeerMissing as why:
        times = race([single, batch], budget=options.budget)
        one, many = (1e6 * times[k] for k in ("one", "batch"))
        return [*head, one, str(why), None, many, None, None, None, None]
    few = ways.at(s[:LOOP])
    off = ways.difference(out[: len(few)], few)
    calls = {name: repeated(name, way, (few[0],)) for name, way in ways.calls.items()}
    best = quickest(list(calls.values()))
    theirs = Contender("pin one", best.run, best.states)
    loop = Contender("loop", partial(_loop, ways.calls[best.name], list(few)), len(few))
    times = race([single, batch, theirs, loop], budget=options.budget)
    one, many, pin_one, pin_many = (1e6 * times[k] for k in ("one", "batch", "pin one", "loop"))
    said: Cell = off if off <= BOUND else f"wrong: {off:.0e}"
    by = best.name
    return [*head, one, pin_one, ratio(pin_one, one), many, pin_many, ratio(pin_many, many), said, by]


def _operations(f: Compiled) -> int:
    return f.code.operations().total


def _loop(way: Callable[[Array], Array], states: Sequence[Array]) -> None:
    for q in states:
        way(q)


class Ways:
    """Pinocchio's ways to J 𝓜⁻¹ Jᵀ of several frames, or to its inverse."""

    def __init__(self, on: Subject, names: Sequence[str], *, inverse: bool) -> None:
        self._at = at = PinocchioModel(on)
        self._inverse = inverse
        self._data = at.model.createData()
        self._frames = [at.model.getFrameId(name, pin.FrameType.BODY) for name in names]
        self._contacts, self._contact_data = (
            pin.StdVec_RigidConstraintModel(),
            pin.StdVec_RigidConstraintData(),
        )
        for k in self._frames:
            frame = at.model.frames[k]
            contact = pin.RigidConstraintModel(
                pin.ContactType.CONTACT_6D, at.model, frame.parentJoint, frame.placement, pin.LOCAL
            )
            self._contacts.append(contact)
            self._contact_data.append(contact.createData())
        self.calls: dict[str, Callable[[Array], Array]] = {
            "Delassus": self._delassus,
            "M⁻¹": self._products,
        }

    def at(self, s: States) -> Array:
        """Return configurations in Pinocchio's coordinates."""
        return self._at.arguments("mass_matrix", s)[0]

    def _delassus(self, q: Array) -> Array:
        found = pin.computeDelassusMatrix(self._at.model, self._data, q, self._contacts, self._contact_data)
        return np.linalg.inv(found) if self._inverse else found

    def _products(self, q: Array) -> Array:
        model, data = self._at.model, self._data
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        j = np.concatenate([pin.getFrameJacobian(model, data, k, pin.LOCAL) for k in self._frames])
        upper = np.triu(pin.computeMinverse(model, data, q))
        found = j @ (upper + np.triu(upper, 1).T) @ j.T
        return np.linalg.inv(found) if self._inverse else found

    def difference(self, ours: Array, q: Array) -> float:
        """Return the largest difference from Hinge's matrices, over what the condition lets be known."""
        order = [6 * k + i for k in range(len(self._frames)) for i in ANGULAR_FIRST]
        worst = 0.0
        for way in self.calls.values():
            theirs = np.array([np.array(way(x)) for x in q])[:, order][:, :, order]
            size = np.abs(theirs).max(axis=(1, 2))
            off = np.abs(ours - theirs).max(axis=(1, 2)) / size
            if self._inverse:
                off /= np.maximum(1.0, 1e-6 * np.linalg.cond(theirs))
            worst = max(worst, float(off.max()))
        return worst


if __name__ == "__main__":
    command.run({"operational": tables})
