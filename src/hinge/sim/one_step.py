"""A step of a simulation as one piece of code: integrator, law, dynamics and closures together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hinge.binding import gradient_along_velocities, gradient_by_coordinates
from hinge.dynamics import External, assemble, settle
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot, random_configuration, refuse_rolling, refuse_text, units
from hinge.pipeline import build, in_order
from hinge.sim.adaptive import Adaptive
from hinge.sim.adjoint import STATE, Tape, weight
from hinge.sim.integrators import CLOSED, NEXT, Integrator
from hinge.sim.laws import Law
from hinge.sim.plant import Parameters, Plant
from hinge.sim.setting import Control, law_of, rule_of
from hinge.sim.signals import Signal
from hinge.spatial import Array, ArrayLike
from hinge.sweeps import Code, Joined, KnownBlock
from hinge.targets import Executable, StepCall, Traced, best_target

#: Inputs that a step has no gradient by: its length, gravity, and placements, seven numbers with six ways to
#: move.
FIXED = ("dt", "g", "placements")
#: What a step is taken with in samples of its inputs, in seconds.
SAMPLE_DT = 1e-3


class StepCode:
    """A step of a simulation as a function (q, qd, …) → (next_q, next_qd) in one piece of code.

    `code` is what `hinge.export` and `hinge.casadi` take; a call runs it. `inputs` has the length of each
    argument by name.
    """

    #: What it is called where it is exported.
    name = "step"

    def __init__(self, made: _Made, code: Code, usual: Mapping[str, Array]) -> None:
        self._made, self.robot, self.code, self._usual = made, made.plant.robot, code, usual
        self.inputs: dict[str, int] = {name: len(slots) for name, slots in code.inputs.items()}

    def __repr__(self) -> str:
        return f"StepCode({self.robot.name!r}, {', '.join(self.inputs)})"

    def __call__(self, q: ArrayLike, qd: ArrayLike, **others: ArrayLike) -> tuple[Array, Array]:
        """Return q and qd after the step; other arguments by name, leading dimensions are batches."""
        given = {"q": q, "qd": qd, **others}
        if given.keys() != self.inputs.keys():
            raise ArgumentError(f"step: expected the arrays {', '.join(self.inputs)}, got {', '.join(given)}")
        arrays = {n: np.atleast_1d(np.asarray(given[n])) for n in self.inputs}
        single = all(x.dtype == np.float32 for x in arrays.values())
        arrays = {n: x.astype(np.float32 if single else np.float64, copy=False) for n, x in arrays.items()}
        for name, size in self.inputs.items():
            if arrays[name].shape[-1] != size:
                raise ArgumentError(f"{name}: expected shape (…, {size}), got {arrays[name].shape}")
        found = self.program()(arrays)
        return found["next_q"], found["next_qd"]

    def program(self) -> Executable:
        """Return the step as a program of the best target."""
        return self._program

    @cached_property
    def _program(self) -> Executable:
        label = f"a step of {self.robot.name}"
        return build(Traced(self.code, self.code.identity(), label), target=best_target())

    def gradients(self, by: Sequence[str] = ("q", "qd"), *, coordinates: bool = False) -> Code:
        """Return the gradients of Σ c_q · next_q + c_qd · next_qd as one piece of code, results by_<name>.

        Inputs are those of the step and the weights c_q and c_qd. Weights of q and gradients by q have length
        nv: they are in the tangent space, as in `Rollout.pull`; with `coordinates` they have length nq. `by`
        names q, qd and other inputs.
        """
        return self._made.gradients(by, self.inputs, coordinates)

    def samples(self, rng: np.random.Generator) -> dict[str, Array]:
        """Return a state that closes, and forces, by the names of the inputs."""
        robot = self.robot
        q, qd, tau = random_configuration(robot, rng), *rng.standard_normal((2, robot.nv))
        if robot.closures:
            q = assemble(robot, q).q
            qd = settle(robot, q, qd)
        found = {"q": q, "qd": qd, **self._usual}
        return found | ({"tau": tau} if "tau" in self.inputs else {})


def step(
    robot: Robot,
    dt: float | None = None,
    *,
    control: Control = None,
    integrator: str | Integrator = "rk4",
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = True,
    parameters: Parameters = None,
    project: bool = True,
    inputs: Iterable[str] = (),
) -> StepCode:
    """Return a step of `simulate` as one piece of code, to be called, exported to C or put into CasADi.

    Arguments are those of `simulate`. Without `dt` its length is an input, `dt`; without `control` the forces
    `tau` are, constant through the step. `inputs` names more numbers that calls give, such as "target_q",
    "target_qd", "kp" and "kd" of a law, "g" for the gravity given here, or "inertias"; all others are
    constants of the code. The step has the bits of the loop of `simulate`.
    """
    robot = checked_robot(robot)
    rule = _checked_rule(integrator)
    law, ask = law_of(control)
    if ask is not None:
        raise NotImplementedError(
            "control: a function of Python is not supported in a step that is code; give a law of hinge.sim, "
            "or none, and tau with each call"
        )
    plant = Plant(robot, external=external, gravity=gravity, passive=passive, parameters=parameters)
    numbers = _constant({**law.numbers(robot), **plant.numbers})
    free = ["tau"] if control is None else []
    usual = {} if dt is not None else {"dt": np.array([SAMPLE_DT])}
    if dt is not None:
        numbers["h"] = np.array([_checked_dt(dt)])
    free += [n for n in _checked_inputs(inputs, numbers) if n not in free]
    usual |= {n: numbers[n] for n in free}
    made = _Made(rule, law, plant, project and bool(robot.closures), numbers, tuple(free), dt is None)
    whole = Joined()
    buffers = made.start(whole)
    _run(whole, made.ops, buffers)
    code = whole.code(dict(zip(("next_q", "next_qd"), (buffers[n] for n in made.last), strict=True)))
    return StepCode(made, in_order(code), usual)


@dataclass(frozen=True, eq=False)
class _Made:
    """What a step is made of: its rule and law, the plant, its numbers, and which of these are inputs."""

    rule: Integrator
    law: Law
    plant: Plant
    project: bool
    numbers: Mapping[str, Array]
    free: tuple[str, ...]
    has_dt: bool

    @property
    def last(self) -> tuple[str, str]:
        """The buffers of the state after the step."""
        return CLOSED if self.project else NEXT

    @cached_property
    def closing(self) -> list[StepCall]:
        """The programs that take the state back to where closures hold."""
        return self.plant.projection(NEXT, CLOSED) if self.project else []

    @cached_property
    def ops(self) -> list[StepCall]:
        """The programs of the step."""
        return [*self.rule.ops(self.plant, self.law, frozenset()), *self.closing]

    def start(self, whole: Joined) -> dict[str, KnownBlock]:
        """Return the buffers at the start: inputs of the code, and its constants."""
        robot = self.plant.robot
        found = {"q": whole.input("q", robot.nq), "qd": whole.input("qd", robot.nv)}
        found |= {n: whole.input(n, self.numbers[n].size) for n in self.free}
        if self.has_dt:
            found["h"] = whole.input("dt", 1)
        return found | {n: x.astype(object) for n, x in self.numbers.items() if n not in found}

    def gradients(self, by: Sequence[str], inputs: Mapping[str, int], coordinates: bool) -> Code:
        """Return the code of gradients."""
        robot, (q, qd), whole = self.plant.robot, self.last, Joined()
        sizes = self._sizes(by, inputs)
        tape = Tape(self.plant, dict.fromkeys((*STATE, *by)))
        tape.add(q, weight("q"))
        tape.add(qd, weight("qd"))
        tape.pull(self.closing, frozenset(NEXT))
        self.rule.reverse(tape, self.law, frozenset())
        ends = {n: tape.total(parts, sizes[n]) if (parts := tape.take(n)) else "" for n in by}
        buffers, joints = self.start(whole), units(robot)
        _run(whole, self.ops, buffers)
        c = whole.input("c_q", robot.nq if coordinates else robot.nv)
        buffers[weight("q")] = gradient_along_velocities(whole, joints, buffers[q], c) if coordinates else c
        buffers[weight("qd")] = whole.input("c_qd", robot.nv)
        _run(whole, tape.ops, buffers)
        found = {n: buffers[b] if b else np.zeros(sizes[n], dtype=object) for n, b in ends.items()}
        if coordinates and "q" in found:
            found["q"] = gradient_by_coordinates(whole, joints, buffers["q"], found["q"])
        return in_order(whole.code({f"by_{n}": x for n, x in found.items()}))

    def _sizes(self, by: Sequence[str], inputs: Mapping[str, int]) -> dict[str, int]:
        """Return the lengths of gradients in the tangent space, or refuse what has none."""
        robot = self.plant.robot
        for u in units(robot):
            refuse_rolling(robot, u, "the gradient of a step")
        for name in by:
            if name not in inputs or name in FIXED:
                known = ", ".join(n for n in inputs if n not in FIXED)
                raise NotImplementedError(
                    f"{name}: the gradient of a step by it is not supported; expected some of {known}"
                )
        return {n: robot.nv if n == "q" else inputs[n] for n in by}


def _run(whole: Joined, ops: Iterable[StepCall], buffers: dict[str, KnownBlock]) -> None:
    """Add programs one after the other, from buffers to buffers."""
    for op in ops:
        code = op.program.code
        found = whole.add(code, {n: buffers[op.given[n]] for n in code.inputs})
        buffers |= {op.found[n]: x.ravel() for n, x in found.items()}


def _checked_rule(integrator: Any) -> Integrator:
    rule = rule_of(integrator, np.float64)
    if isinstance(rule, Adaptive):
        raise NotImplementedError(
            "integrator: 'adaptive' is not supported in a step that is code, since its steps depend on the "
            "state; give 'rk4' or 'rk5'"
        )
    if rule.name == "stepping":
        raise NotImplementedError(
            "integrator: 'stepping' is not supported in a step that is code, since the law of contact is "
            "solved by an iteration; use hinge.simulate, or give forces of contacts as external forces"
        )
    return rule


def _checked_dt(dt: Any) -> float:
    if isinstance(dt, bool) or not isinstance(dt, int | float | np.floating) or not 0 < dt < np.inf:
        raise ArgumentError(f"dt: expected a time in s above zero, or None for an input, got {dt!r}")
    return float(dt)


def _checked_inputs(inputs: Iterable[str], numbers: Mapping[str, Array]) -> list[str]:
    refuse_text("inputs", inputs)
    found = list(inputs)
    for name in found:
        if name not in numbers:
            raise ArgumentError(f"inputs: expected names among {', '.join(numbers)}, got {name!r}")
    return found


def _constant(numbers: Mapping[str, Array | Signal]) -> dict[str, Array]:
    """Return numbers that are the same at all times and for all states, or refuse them."""
    found: dict[str, Array] = {}
    for name, x in numbers.items():
        if isinstance(x, Signal):
            raise NotImplementedError(
                f"control: a Signal is not supported in a step that is code, got one for {name}; give an "
                f"array, and inputs=[{name!r}] to give its value with each call"
            )
        if np.ndim(x) != 1:
            raise ArgumentError(
                f"{name}: expected one set of numbers for all states, got shape {np.shape(x)}"
            )
        found[name] = np.asarray(x, dtype=np.float64)
    return found
