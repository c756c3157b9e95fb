"""The plant: the robot's dynamics as programs over named buffers, for laws and integrators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hinge.dynamics import Compiled, External, compiled, expression, external_forces
from hinge.errors import ArgumentError
from hinge.model import Robot, gravity_of
from hinge.spatial import Array, ArrayLike
from hinge.targets import StepCall


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


class Plant:
    """A robot under constant external forces [n; f] at frames and constant gravity.

    With `passive`, springs, dampers and friction of the joints act.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        external: External = None,
        gravity: ArrayLike | None = None,
        passive: bool = True,
        target: str | None = None,
    ) -> None:
        self.robot: Robot = robot
        self.target: str | None = target
        self.passive = passive and any(
            getattr(j, name).any() for j in robot.joints for name in ("damping", "friction", "stiffness")
        )
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

    def verb(
        self, verb: str, stage: Stage, given: Mapping[str, str], out: str, *, passive: bool = False
    ) -> StepCall:
        """Return a verb's program at a stage, with its only result in a buffer of the stage.

        With `passive` the joints' own forces are in it, if these act.
        """
        f = compiled(self.robot, expression(verb, passive=passive and self.passive))
        return self._op(f, stage, given, {verb: stage.own(out)})

    def forward(self, stage: Stage, tau: str) -> StepCall:
        """Return forward dynamics at a stage, into its buffer qdd."""
        verb = "forward_dynamics"
        f = compiled(self.robot, expression(verb, passive=self.passive), self.nodes)
        return self._op(f, stage, {"qd": stage.qd, "tau": tau}, {verb: stage.own("qdd")})

    def hybrid(self, stage: Stage, tau: str, qdd: str, joints: Sequence[str]) -> StepCall:
        """Return hybrid dynamics with these joints prescribed, into the buffers qdd and held."""
        parts = expression("hybrid_dynamics", passive=self.passive)
        f = compiled(self.robot, parts, self.nodes, prescribed=joints)
        found = {"accelerations": stage.own("qdd"), "forces": stage.own("held")}
        return self._op(f, stage, {"qd": stage.qd, "tau": tau, "qdd": qdd}, found)

    def _op(self, f: Compiled, stage: Stage, given: Mapping[str, str], found: Mapping[str, str]) -> StepCall:
        own = {name: name for name in self.numbers}
        return StepCall(f.program(self.own_gravity), {"q": stage.q, **own, **given}, found)
