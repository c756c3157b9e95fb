"""The plant: the robot's dynamics as programs over named buffers, for laws and integrators."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from hinge.binding import Formula, Row
from hinge.dynamics import (
    LOADED_SOLVE,
    PROJECTION,
    SOLVE,
    Compiled,
    External,
    Parts,
    compiled,
    expression,
    external_forces,
    joint_program,
    rows_that_hold,
    step_parts,
    vector_program,
)
from hinge.errors import ArgumentError
from hinge.model import Robot, gravity_of, neutral, opened
from hinge.model.joints import JointType, VectorJoint
from hinge.sim.stepping import CONTACT_PARAMETERS, contact_mask, contact_numbers, refuse_stepping
from hinge.spatial import Array, ArrayLike
from hinge.sweeps import Block
from hinge.targets import StepCall


@dataclass(frozen=True, eq=False)
class AtJoints:
    """A formula at every joint, with its rows: the origin of a program without sweeps."""

    robot: Robot
    name: str
    inputs: Mapping[str, Row]
    results: Mapping[str, Row]
    formula: Formula
    target: str | None

    def call(self, given: Mapping[str, str], found: Mapping[str, str], *, lean: bool = False) -> StepCall:
        """Return the program with the buffers of its inputs and results."""
        program = joint_program(
            self.robot, self.name, self.inputs, self.results, self.formula, target=self.target, lean=lean
        )
        return StepCall(program, given, found, self)


@dataclass(frozen=True, eq=False)
class OfVerb:
    """Expressions of a robot with what was chosen for them: the origin of a program with sweeps.

    Those `of_plant` have the numbers of the robot as it moves, others those that laws know.
    """

    robot: Robot
    parts: Parts
    nodes: tuple[str, ...] = ()
    prescribed: frozenset[str] | None = frozenset()
    parameters: tuple[str, ...] = ()
    of_plant: bool = False

    @property
    def compiled(self) -> Compiled:
        """The compiled expressions."""
        return compiled(
            self.robot, self.parts, self.nodes, prescribed=self.prescribed, parameters=self.parameters
        )


@dataclass(frozen=True)
class Stage:
    """A stage of an integrator's step: the buffers of its state, and its fraction of the step.

    `signals` are the parameters that vary with time.
    """

    index: int
    node: float
    q: str
    qd: str
    signals: frozenset[str] = frozenset()

    def own(self, name: str) -> str:
        """Return the name of a buffer of this stage."""
        return f"{name}#{self.index}"

    def number(self, name: str) -> str:
        """Return the buffer name of a law's parameter; a signal has one for each fraction of the step."""
        return sampled(name, self.node) if name in self.signals else name


def sampled(name: str, node: float) -> str:
    """Return the table name of a signal's samples at a fraction of each step."""
    return f"{name}@{node}"


#: How many Newton steps take q back to where a robot closes, after a step that left it by a little.
NEWTON_STEPS = 2
#: Numbers of the model by name, as in `hinge.compile`.
Parameters: TypeAlias = Mapping[str, ArrayLike] | None


class Plant:
    """A robot under constant external forces [n; f] at frames and constant gravity.

    With `passive`, springs, dampers and friction of the joints act. `parameters` replace numbers of the model
    where the robot moves; `verb`, which laws use, has the robot's own. Coordinates in `held` (…, nv) have no
    acceleration. Of a robot with closures those in `fastened` (…, closures) hold, all by default. With
    `stepping` accelerations are those of a step over contacts, with `limits` also over the limits and the dry
    friction of joints, with `coulomb` by his law of friction.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        external: External = None,
        gravity: ArrayLike | None = None,
        passive: bool = True,
        target: str | None = None,
        parameters: Parameters = None,
        held: Array | None = None,
        fastened: Array | None = None,
        stepping: bool = False,
        limits: bool = False,
        coulomb: bool = False,
    ) -> None:
        self.robot: Robot = robot
        self.target: str | None = target
        self.parameters = _checked_names(parameters, passive)
        self.held, self.stepping, self.limits, self.coulomb = held, stepping, limits, coulomb
        if stepping:
            refuse_stepping(robot, held, limits)
        if limits:
            self._refuse_limits()
        self._tree = opened(robot)
        self._mask = () if fastened is None or not robot.closures else ("closed",)
        self.own_passive = passive and any(
            getattr(j, name).any() for j in robot.joints for name in ("damping", "friction", "stiffness")
        )
        self.passive = self.own_passive or "friction" in self.parameters
        self.nodes, forces = external_forces(external)
        self.numbers: dict[str, Array] = {"zero": np.zeros(robot.nv)}
        for name, f in forces.items():
            rows = np.asarray(f, dtype=np.float64)
            self.numbers[name] = rows.reshape(*rows.shape[:-2], 6 * len(self.nodes))
        self.own_gravity = gravity is None
        if gravity is not None:
            down = gravity_of(robot, gravity)
            if not np.isfinite(down).all():
                raise ArgumentError(f"gravity: expected three finite numbers (…, 3), got {gravity!r}")
            self.numbers["g"] = np.concatenate([np.zeros_like(down), -down], axis=-1)
        if held is not None:
            self.numbers["held"] = held.astype(np.float64)
        if fastened is not None and self._mask:
            self.numbers["closed"] = (
                contact_mask(robot, fastened, limits) if stepping else rows_that_hold(robot, fastened)
            )
        own = {n: x for n, x in (parameters or {}).items() if n in CONTACT_PARAMETERS}
        self.numbers |= contact_numbers(robot, own, stepping, limits)
        if parameters:
            f = self._forward().compiled
            rest = {n: x for n, x in parameters.items() if n not in own}
            self.numbers |= {name: f.flat_input(name, x) for name, x in rest.items()}
        if "friction" in self.parameters:
            self.numbers["friction_speed"], self.numbers["rest"] = np.zeros(robot.nv), neutral(robot)
            for j in robot.independent:
                self.numbers["friction_speed"][j.qd_slice] = j.friction_speed
                self.numbers["rest"][j.q_slice] = j.rest

    def on(self, robot: Robot) -> Plant:
        """Return the plant of a robot that moves alike, with other independent rates of its loops."""
        found = copy(self)
        found.robot, found._tree = robot, opened(robot)
        return found

    def _refuse_limits(self) -> None:
        """Refuse limits where nothing stops at them, and friction that they do not know."""
        if not self.stepping:
            raise ArgumentError(
                "limits: expected integrator='stepping' with limits=True, got another one, which leaves "
                "joint limits to events; give integrator='stepping', or limits=False"
            )
        if "friction" in self.parameters:
            raise NotImplementedError(
                "parameters: 'friction' is not supported with limits=True, where the dry friction of joints "
                "is the robot's own; give limits=False, or take hinge.with_parameters(robot, …)"
            )

    def verb(
        self, verb: str, stage: Stage, given: Mapping[str, str], out: str, *, passive: bool = False
    ) -> StepCall:
        """Return a verb's program at a stage, with its only result in a buffer of the stage.

        With `passive` the joints' own forces are in it, if these act. Of a robot with closures it is that of
        the tree.
        """
        parts = expression(verb, passive=passive and self.own_passive)
        return self.op(OfVerb(self._tree, parts), {"q": stage.q, **given}, {verb: stage.own(out)})

    def forward(self, stage: Stage, tau: str) -> list[StepCall]:
        """Return forward dynamics at a stage, into its buffer qdd."""
        given = {"q": stage.q, "qd": stage.qd, "tau": tau}
        if self.stepping:
            found = {"qdd": stage.own("qdd"), **{n: n for n in ("forces", "residual", "rounds")}}
            return [self.op(self._forward(), given | {"pace": "pace", "lam_0": "lam_0"}, found)]
        if self.held is None:
            return [self.op(self._forward(), given, {"forward_dynamics": stage.own("qdd")})]
        found = {"accelerations": stage.own("qdd"), "forces": stage.own("held")}
        given |= {"tau": stage.own("free"), "qdd": "zero"}
        return [self._free(stage, tau), self.op(self._forward(), given, found)]

    def hybrid(self, stage: Stage, tau: str, qdd: str, joints: Sequence[str]) -> StepCall:
        """Return hybrid dynamics with these joints prescribed, into the buffers qdd and held."""
        if self.held is not None:
            raise NotImplementedError(
                "control: Prescribed is not supported for Live robots; give the robot itself, and the frozen "
                "joints as prescribed ones"
            )
        if self.stepping:
            raise NotImplementedError(
                "control: Prescribed is not supported with integrator='stepping'; track it with PD"
            )
        if self.robot.closures:
            raise NotImplementedError(
                f"control: Prescribed is not supported for robots with closures ({self.robot.name!r}); "
                "track it with PD or ComputedTorque, or give opened(robot)"
            )
        parts = expression("hybrid_dynamics", passive=self.passive)
        verb = OfVerb(self.robot, parts, tuple(self.nodes), frozenset(joints), self.parameters, True)
        found = {"accelerations": stage.own("qdd"), "forces": stage.own("held")}
        return self.op(verb, {"q": stage.q, "qd": stage.qd, "tau": tau, "qdd": qdd}, found)

    def _forward(self) -> OfVerb:
        """Return forward dynamics, a step over contacts, or hybrid dynamics if a mask says what is frozen."""
        if self.stepping:
            names = (*(CONTACT_PARAMETERS.get(n, n) for n in self.parameters), *self._mask, "lam_0")
            parts = step_parts(self.passive, self.limits, self.coulomb)
            return OfVerb(self.robot, parts, tuple(self.nodes), parameters=names, of_plant=True)
        verb = "forward_dynamics" if self.held is None else "hybrid_dynamics"
        return OfVerb(
            self.robot,
            expression(verb, passive=self.passive, closed=bool(self.robot.closures)),
            tuple(self.nodes),
            frozenset() if self.held is None else None,
            (*self.parameters, *self._mask),
            True,
        )

    # Stiffness.

    @cached_property
    def stiff(self) -> tuple[Array, Array]:
        """K and D (nv, nv) of flexible bodies, and of joints' springs and dampers where these act."""
        robot = self.robot
        k, d = np.zeros((2, robot.nv, robot.nv))
        for body, j in zip(robot.bodies, robot.joints, strict=True):
            at = j.qd_slice
            if body.flexible is not None:
                k[at, at] += body.flexible.stiffness
                d[at, at] += body.flexible.damping
            if self.own_passive and isinstance(j.type, VectorJoint) and not j.follows:
                k[at, at] += np.diag(j.stiffness)
                d[at, at] += np.diag(j.damping)
        return k, d

    def solve(self, q: str, force: str, out: str, *, load: str | None = None) -> StepCall:
        """Return 𝓜⁻¹ of a force, or (𝓜 + κ)⁻¹ of it with κ in the buffer `load`."""
        if self.stepping or self.robot.closures or self.held is not None or self.robot.loops:
            raise NotImplementedError(
                "integrator: 'implicit' is not supported for robots with closures or embedded loops, over "
                "contacts, "
                "or for Live robots; take 'rk4', or 'midpoint' with short steps"
            )
        numbers = tuple(n for n in self.parameters if n != "friction")
        parts = SOLVE if load is None else LOADED_SOLVE
        verb = OfVerb(self.robot, parts, parameters=numbers, of_plant=True)
        given = {"q": q, "tau": force} | ({} if load is None else {"kappa": load})
        return self.op(verb, given, {"solved": out})

    def of_vectors(
        self,
        name: str,
        inputs: Mapping[str, int],
        formula: Callable[[Mapping[str, Block]], Mapping[str, Block]],
        given: Mapping[str, str],
        found: Mapping[str, str],
        key: Hashable,
    ) -> StepCall:
        """Return the program of a formula of whole vectors; name and key tell formulas apart."""
        title, own = f"{name} of {self.robot.name}", (name, tuple(inputs.items()), key)
        program = vector_program(inputs, formula, title, key=own, target=self.target)
        return StepCall(program, given, found)

    # Closures.

    def closing(self, verb: str, stage: Stage) -> StepCall:
        """Return a program of `PROJECTION` at a stage, its result in a buffer of the verb's name."""
        others = ("friction", *CONTACT_PARAMETERS)
        given = (*(n for n in self.parameters if n not in others), *self._mask)
        f = OfVerb(self.robot, PROJECTION[verb], parameters=given, of_plant=True)
        return self.op(f, {"q": stage.q, "qd": stage.qd}, {verb: stage.own(verb)})

    def projection(self, before: tuple[str, str], out: tuple[str, str]) -> list[StepCall]:
        """Return programs that take a state onto the closures: Newton steps of q, velocities that fit."""
        found: list[StepCall] = []
        q, qd = before
        for k in range(NEWTON_STEPS):
            stage = Stage(k, 0.0, q, qd)
            q = out[0] if k + 1 == NEWTON_STEPS else f"{out[0]}~{k + 1}"
            found += [self.closing("closing_step", stage), self._moved(stage, q)]
        settled = self.closing("settle", Stage(NEWTON_STEPS, 0.0, q, qd))
        return [*found, StepCall(settled.program, settled.given, {"settle": out[1]}, settled.origin)]

    def _moved(self, stage: Stage, out: str) -> StepCall:
        """Return q moved along the step that closes it."""
        inputs: dict[str, Row] = {"q": "q", "step": "qd"}
        given = {"q": stage.q, "step": stage.own("closing_step")}
        return self.at_joints("closing step", inputs, {"q": "q"}, _along_step, given, {"q": out})

    def _free(self, stage: Stage, tau: str) -> StepCall:
        """Return the forces at the coordinates that are not held, zero at the others."""
        return self.at_joints(
            "forces of free coordinates",
            {"tau": "qd", "held": "qd"},
            {"free": "qd"},
            lambda _, x: {"free": x["tau"] - x["held"] * x["tau"]},
            {"tau": tau, "held": "held"},
            {"free": stage.own("free")},
        )

    # Programs.

    def at_joints(
        self,
        name: str,
        inputs: Mapping[str, Row],
        results: Mapping[str, Row],
        formula: Formula,
        given: Mapping[str, str],
        found: Mapping[str, str],
    ) -> StepCall:
        """Return the program of a formula at every joint, with the buffers of its inputs and results."""
        return AtJoints(self.robot, name, inputs, results, formula, self.target).call(given, found)

    def op(self, verb: OfVerb, given: Mapping[str, str], found: Mapping[str, str]) -> StepCall:
        """Return the program of a verb, which also has the numbers of the plant that it takes."""
        own = {name: name for name in self.numbers}
        return StepCall(verb.compiled.program(self.own_gravity), {**own, **given}, found, verb)


def _along_step(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
    return {"q": kind.normalized(x["q"] + kind.rate(x["q"], x["step"]))}


def _checked_names(parameters: Parameters, passive: bool) -> tuple[str, ...]:
    """Return the names of given parameters; `compiled` checks them further."""
    if parameters is None:
        return ()
    if not isinstance(parameters, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            "parameters: expected a dict of arrays such as {'inertias': …}, got "
            f"{type(parameters).__name__}"
        )
    if "friction" in parameters and not passive:
        raise ArgumentError(
            "parameters: expected no 'friction' with passive=False, which leaves it out; give passive=True"
        )
    return tuple(parameters)
