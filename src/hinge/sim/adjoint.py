"""The adjoint of a step: its programs reversed, each replaced by that of its gradients.

A step is programs over named buffers, and so is its adjoint. Formulas at joints are reversed as kernels,
verbs by the adjoint of the operator that is their derivative. Weights and gradients of q are in the tangent
space, of length nv. What the adjoint reads of the step is computed again by formulas at joints, from the
state before it and from results of verbs, which are kept while the step runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from hinge.binding import Row, pulled
from hinge.dynamics import (
    PROJECTED,
    PROJECTION,
    pulled_accelerations,
    pulled_closed_accelerations,
    pulled_parts,
    pulled_projection,
    sum_program,
)
from hinge.model import Robot
from hinge.sim.plant import AtJoints, OfVerb, Plant
from hinge.targets import StepCall, StepSchedule, packed

#: The state after a step, whose weights a tape starts from, and the buffers of these weights.
STATE = ("q", "qd")
FORWARD = "forward_dynamics"
#: Inputs of verbs that gradients can be taken by, and numbers of the model, given or the robot's own.
VECTORS, NUMBERS = ("q", "qd", "qdd", "tau"), ("inertias", "placements", "rotors", "friction")


def weight(name: str) -> str:
    """Return the name of the buffer of the weights of a buffer."""
    return f"∂{name}"


def given_weight(name: str) -> str:
    """Return the name of the table of weights that a recorded state has by itself."""
    return f"∂{name} given"


class Tape:
    """Programs that run after a step, from weights of its results to gradients by its inputs.

    `by` are the buffers that gradients are wanted of. Gradients of a buffer come in parts, which are added
    where they are read.
    """

    def __init__(self, plant: Plant, by: Iterable[str]) -> None:
        self.plant, self.by = plant, tuple(by)
        self.ops: list[StepCall] = []
        self.kept: set[str] = set()
        self._parts: dict[str, list[str]] = {}
        self._count = 0

    def add(self, name: str, *parts: str) -> None:
        """Add buffers to the gradient of a buffer."""
        self._parts.setdefault(name, []).extend(parts)

    def take(self, name: str) -> list[str]:
        """Return the parts of a gradient, and forget them."""
        return self._parts.pop(name, [])

    def total(self, parts: Sequence[str], length: int) -> str:
        """Return a buffer with the sum of parts."""
        if len(parts) == 1:
            return parts[0]
        program, found = sum_program(len(parts), length, target=self.plant.target), self._fresh("sum")
        self.ops.append(StepCall(program, {f"x{k}": n for k, n in enumerate(parts)}, {"sum": found}))
        return found

    def pull(self, ops: Sequence[StepCall], varying: frozenset[str] = frozenset()) -> None:
        """Append the adjoints of programs, from the last one to the first.

        `varying` are buffers that vary beside those of which gradients are wanted.
        """
        moving = self._moved(ops, varying)
        for op in reversed(ops):
            if any(self._parts.get(b) for b in op.found.values()):
                self._reverse(op, moving)

    def _moved(self, ops: Sequence[StepCall], varying: frozenset[str]) -> set[str]:
        """Return the buffers that vary with those of which gradients are wanted."""
        found = {*self.by, *varying}
        for op in ops:
            own = isinstance(op.origin, OfVerb) and op.origin.of_plant
            if found.intersection((*op.inputs, *(NUMBERS if own else ()))):
                found.update(op.found.values())
        return found

    def _reverse(self, op: StepCall, moving: set[str]) -> None:
        match op.origin:
            case AtJoints() as formula:
                self._at_joints(op, formula, moving)
            case OfVerb() as verb:
                self._of_verb(op, verb, moving)
            case _:
                raise NotImplementedError(
                    f"control: the program for {', '.join(op.found.values())} has no adjoint; expected those "
                    "of plant.at_joints and plant.verb, or a function of (t, q, qd) with a method pull"
                )

    def _at_joints(self, op: StepCall, formula: AtJoints, moving: set[str]) -> None:
        weights = {result: self.take(buffer) for result, buffer in op.found.items()}
        names = {part: f"weight {k}" for k, part in enumerate(p for ps in weights.values() for p in ps)}
        by = [n for n, row in formula.inputs.items() if not isinstance(row, int) and op.given[n] in moving]
        rows = {result: [names[part] for part in parts] for result, parts in weights.items()}
        gradients = pulled(formula.inputs, formula.results, formula.formula, rows, by)
        inputs: dict[str, Row] = {**formula.inputs, **dict.fromkeys(names.values(), "qd")}
        reverse = AtJoints(
            formula.robot,
            f"adjoint of {formula.name}",
            inputs,
            dict.fromkeys(by, "qd"),
            gradients,
            formula.target,
        )
        found = {n: self._fresh(op.given[n]) for n in by}
        given = {**op.given, **{n: part for part, n in names.items()}}
        self.ops.append(reverse.call(given, found, lean=True))
        for n, buffer in found.items():
            self.add(op.given[n], buffer)

    def _of_verb(self, op: StepCall, verb: OfVerb, moving: set[str]) -> None:
        weights = {n: self.take(b) for n, b in op.found.items()}
        shapes = op.program.signature.results
        given = {f"c_{n}": self.total(p, prod(shapes[n])) for n, p in weights.items() if p}
        by = tuple(n for n in op.program.signature.inputs if n in VECTORS and op.given[n] in moving)
        by += tuple(n for n in NUMBERS if n in self.by and verb.of_plant)
        if verb.parts.verb == FORWARD:
            gradients = pulled_closed_accelerations if verb.robot.closures else pulled_accelerations
            parts = gradients(by, passive=self.plant.passive, flexible=verb.robot.is_flexible)
            given["qdd"] = op.found[FORWARD]
        elif verb.parts.verb in PROJECTION:
            by = tuple(n for n in by if n != "friction")
            parts = pulled_projection(verb.parts.verb, by, flexible=verb.robot.is_flexible)
            given[PROJECTED] = op.found[verb.parts.verb]
        else:
            of = tuple(n for n, p in weights.items() if p)
            parts = pulled_parts(verb.parts, of, by, flexible=verb.robot.is_flexible)
        reverse = OfVerb(verb.robot, parts, verb.nodes, verb.prescribed, verb.parameters)
        buffers = {n: op.given.get(n, n) for n in by}
        found = {f"by_{n}": self._fresh(buffers[n]) for n in by if f"by_{n}" in parts.expressions}
        self.ops.append(self.plant.op(reverse, {**op.given, **given}, found))
        for n in by:
            if f"by_{n}" in found:
                self.add(buffers[n], found[f"by_{n}"])

    def needed(self) -> set[str]:
        """Return the buffers that the programs read and do not make."""
        made = {b for op in self.ops for b in op.outputs}
        return {b for op in self.ops for b in op.inputs} - made

    def _fresh(self, name: str) -> str:
        """Return the name of a new buffer for a part of a gradient."""
        self._count += 1
        return f"{weight(name)} {self._count}"


@dataclass(frozen=True)
class Reversal:
    """The adjoint of a step as a schedule, and what it reads of the step.

    `kept` are buffers of the step that must be kept while it runs. The gradient by a buffer of `sums` is
    added up over the steps, that by one of `each` is of a step: the buffer of the schedule that has it.
    """

    schedule: StepSchedule
    kept: tuple[str, ...]
    sums: tuple[str, ...]
    each: Mapping[str, str]

    def row(self, robot: Robot) -> int:
        """Return how many numbers of a state are kept in a step."""
        return robot.nq + robot.nv + sum(self.schedule.lengths[n] for n in self.kept)


def reversal(
    tape: Tape, ops: Sequence[StepCall], lengths: Mapping[str, int], each: Iterable[str]
) -> Reversal:
    """Return the adjoint of a step whose programs are on a tape.

    `lengths` are those of gradients; those named in `each` are of a step, others added up over steps.
    """
    sources: dict[str, str] = {}
    of_step = set(each)
    for name, length in lengths.items():
        parts = tape.take(name)
        if name in STATE or name in of_step:
            sources[name] = tape.total(parts, length) if parts else ""
        else:
            sources[name] = tape.total([weight(name), *parts], length)
    again, kept = _again(ops, tape.needed(), tape.kept)
    copies = {weight(n): b for n, b in sources.items() if n not in of_step and b not in ("", weight(n))}
    schedule = StepSchedule(packed((*again, *tape.ops), sources.values()), copies, weight("qd"))
    sums = tuple(n for n in lengths if n not in of_step and n not in STATE)
    return Reversal(schedule, kept, sums, {n: sources[n] for n in of_step})


def _again(
    ops: Sequence[StepCall], needed: set[str], held: set[str]
) -> tuple[list[StepCall], tuple[str, ...]]:
    """Return the formulas at joints that make what is needed, and what must be kept of the step."""
    found: list[StepCall] = []
    held = held - set(STATE)
    kept, wanted = held & needed, needed - held
    for op in reversed(ops):
        used = wanted.intersection(op.outputs)
        if not used:
            continue
        wanted -= used
        if isinstance(op.origin, AtJoints):
            found.append(op)
            wanted.update(b for b in op.inputs if b not in held)
            kept.update(held.intersection(op.inputs))
        else:
            kept |= used
    return found[::-1], tuple(sorted(kept))
