"""Control laws, compiled into the loop over steps.

A law defines the programs that compute its forces from the state, and their parameters: constant arrays, or
signals, sampled at the times of an integrator's stages. Any other function of (t, q, qd) can control
as well; it is called from Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from hinge.binding import Row
from hinge.errors import ArgumentError
from hinge.model import Robot, units
from hinge.model.joints import JointType
from hinge.sim.plant import Plant, Stage
from hinge.sim.signals import Given, Signal, given_signal
from hinge.spatial import Array, ArrayLike, as_array
from hinge.sweeps import Block
from hinge.targets import StepCall

#: Gains for all coordinates, or by names of joints: a number, or one for each coordinate of the joint.
Gains: TypeAlias = ArrayLike | Mapping[str, ArrayLike]
#: The buffers of what feedback leads to.
_TARGETS = {"target": "target_q", "velocity": "target_qd"}


class Law(ABC):
    """A control law that can be compiled.

    `commands` are those of its arguments that a `Stepper` may be given anew, with their buffers.
    """

    commands: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def numbers(self, robot: Robot) -> dict[str, Array | Signal]:
        """Return its checked parameters by buffer name."""

    @abstractmethod
    def forces(self, plant: Plant, stage: Stage) -> tuple[list[StepCall], str]:
        """Return the programs that compute the forces, and the name of the result buffer."""

    def accelerations(self, plant: Plant, stage: Stage) -> tuple[list[StepCall], str]:
        """Return the programs that compute the accelerations, and the name of the result buffer."""
        ops, tau = self.forces(plant, stage)
        return [*ops, *plant.forward(stage, tau)], stage.own("qdd")

    def gains(self, robot: Robot) -> tuple[Array, Array] | None:
        """Return kp and kd (nv,) of feedback that is a spring and a damper at each coordinate, None for
        others.
        """
        del robot
        return None

    def arrays(self) -> list[Array]:
        """Return the arrays that it was given, whose precision decides about that of the motion."""
        found: list[Array] = []
        for x in vars(self).values():
            if isinstance(x, np.ndarray):
                found.append(x)
            elif isinstance(x, Signal):
                found.append(x.values)
            elif isinstance(x, Law):
                found += x.arrays()
        return found


@dataclass(frozen=True, eq=False)
class Torque(Law):
    """Given forces: a number, (nv,), (…, nv), or a `Signal` of them."""

    tau: Given

    commands: ClassVar[Mapping[str, str]] = {"tau": "tau"}

    def numbers(self, robot: Robot) -> dict[str, Array | Signal]:
        """Return the forces."""
        return {"tau": _tangent(self.tau, "tau", robot)}

    def forces(self, plant: Plant, stage: Stage) -> tuple[list[StepCall], str]:
        """Return no programs: the forces are an input."""
        return [], stage.number("tau")


@dataclass(frozen=True, eq=False)
class GravityCompensation(Law):
    """The forces that balance gravity at the current configuration."""

    def numbers(self, robot: Robot) -> dict[str, Array | Signal]:
        """Return none."""
        return {}

    def forces(self, plant: Plant, stage: Stage) -> tuple[list[StepCall], str]:
        """Return the gravity force."""
        return [plant.verb("gravity_force", stage, {}, "weight")], stage.own("weight")


@dataclass(frozen=True, eq=False)
class PD(Law):
    """τ = kp (target − q) + kd (target's velocity − q̇), optionally with gravity compensation.

    `target` (nq,) is a configuration and `velocity` (nv,) its velocity, each for all states, for each of
    them, or a `Signal`; `kp` and `kd` are numbers, (nv,), or numbers by names of joints, zero for those not
    named; a number holds for all joints, a free base that nothing drives among them. target − q is
    `difference(q, target)`, the velocity that leads there in unit time: for a rotation its angle, at most
    half a turn, along its axis. The angle of a planar joint does not wrap; a whole turn away from the target
    its difference has no bound.
    """

    target: Given
    kp: Gains
    kd: Gains
    velocity: Given = 0.0
    gravity_compensation: bool = False

    commands: ClassVar[Mapping[str, str]] = _TARGETS

    def __post_init__(self) -> None:
        _check_gains(self.kp, self.kd)

    def numbers(self, robot: Robot) -> dict[str, Array | Signal]:
        """Return target, velocity and gains."""
        return _tracking(robot, self.target, self.velocity, self.kp, self.kd)

    def gains(self, robot: Robot) -> tuple[Array, Array] | None:
        """Return kp and kd, the same for all states."""
        found = (_gains(robot, x, "gains") for x in (self.kp, self.kd))
        kp, kd = (np.asarray(_tangent(x, "gains", robot)) for x in found)
        return None if kp.ndim > 1 or kd.ndim > 1 else (kp, kd)

    def forces(self, plant: Plant, stage: Stage) -> tuple[list[StepCall], str]:
        """Return the feedback, with the gravity force if asked for."""
        found = [_feedback(plant, stage, "zero", "feedback")]
        if not self.gravity_compensation:
            return found, stage.own("feedback")
        found.append(plant.verb("gravity_force", stage, {}, "weight"))
        found.append(_sum(plant, stage.own("feedback"), stage.own("weight"), stage.own("tau")))
        return found, stage.own("tau")


@dataclass(frozen=True, eq=False)
class ComputedTorque(Law):
    """The forces that give q̈ = the target's + kp (target − q) + kd (target's velocity − q̇): inverse dynamics.

    Arguments as in `PD`; `acceleration` (nv,) is the target's.
    """

    target: Given
    kp: Gains
    kd: Gains
    velocity: Given = 0.0
    acceleration: Given = 0.0

    commands: ClassVar[Mapping[str, str]] = _TARGETS | {"acceleration": "target_qdd"}

    def __post_init__(self) -> None:
        _check_gains(self.kp, self.kd)

    def numbers(self, robot: Robot) -> dict[str, Array | Signal]:
        """Return target, velocity, acceleration and gains."""
        found = _tracking(robot, self.target, self.velocity, self.kp, self.kd)
        return found | {"target_qdd": _tangent(self.acceleration, "acceleration", robot)}

    def forces(self, plant: Plant, stage: Stage) -> tuple[list[StepCall], str]:
        """Return the desired acceleration and its inverse dynamics."""
        wanted = _feedback(plant, stage, stage.number("target_qdd"), "wanted")
        given = {"qd": stage.qd, "qdd": stage.own("wanted")}
        inverse = plant.verb("inverse_dynamics", stage, given, "tau", passive=True)
        return [wanted, inverse], stage.own("tau")


@dataclass(frozen=True, eq=False)
class Prescribed(Law):
    """Prescribed accelerations for some joints (hybrid dynamics), and another law for the rest.

    `acceleration` (nv,) is an array or a `Signal` of full length; its entries for other joints are ignored.
    The prescribed joints start from the initial state of the simulation.
    """

    joints: Sequence[str]
    acceleration: Given
    others: Law = Torque(0.0)

    def numbers(self, robot: Robot) -> dict[str, Array | Signal]:
        """Return the accelerations, and the parameters of the other law."""
        if isinstance(self.joints, str):
            raise ArgumentError(
                f"joints: expected a list of joint names, got the string {self.joints!r}; "
                f"did you mean [{self.joints!r}]?"
            )
        for name in self.joints:
            robot.joint(name)
        found = {"prescribed_qdd": _tangent(self.acceleration, "acceleration", robot)}
        return found | self.others.numbers(robot)

    def forces(self, plant: Plant, stage: Stage) -> tuple[list[StepCall], str]:
        """Return the forces of the other law; those of the prescribed joints come with the accelerations."""
        ops, qdd = self.accelerations(plant, stage)
        return ops, qdd.replace("qdd", "held")

    def accelerations(self, plant: Plant, stage: Stage) -> tuple[list[StepCall], str]:
        """Return hybrid dynamics."""
        ops, tau = self.others.forces(plant, stage)
        return [*ops, plant.hybrid(stage, tau, stage.number("prescribed_qdd"), self.joints)], stage.own("qdd")


@dataclass(frozen=True, eq=False)
class Driven(Law):
    """Forces that are given for each step, in the buffer u, beside those of a law."""

    law: Law | None

    def numbers(self, robot: Robot) -> dict[str, Array | Signal]:
        """Return those of the law."""
        return {} if self.law is None else self.law.numbers(robot)

    def forces(self, plant: Plant, stage: Stage) -> tuple[list[StepCall], str]:
        """Return the sum."""
        if self.law is None:
            return [], "u"
        ops, tau = self.law.forces(plant, stage)
        return [*ops, _sum(plant, tau, "u", stage.own("driven"))], stage.own("driven")


def _tracking(
    robot: Robot, target: Given, velocity: Given, kp: Gains, kd: Gains
) -> dict[str, Array | Signal]:
    for joint in units(robot):
        here = joint.type.neutral()
        if joint.type.smooth_difference(here, here) is None:
            raise NotImplementedError(
                f"joint {joint.name!r}: feedback is not supported for {joint.type.kind} joints; control "
                "with a function of (t, q, qd)"
            )
    return {
        "target_q": given_signal(target, "target", robot.nq, f"nq of robot {robot.name!r}"),
        "target_qd": _tangent(velocity, "velocity", robot),
        "kp": _tangent(_gains(robot, kp, "kp"), "kp", robot),
        "kd": _tangent(_gains(robot, kd, "kd"), "kd", robot),
    }


def _check_gains(kp: Gains, kd: Gains) -> None:
    """Refuse gains by name that are no numbers; which joints there are is known when a robot is."""
    for name, gains in (("kp", kp), ("kd", kd)):
        if isinstance(gains, Signal):
            raise ArgumentError(f"{name}: expected numbers that are constant, got a Signal")
        for joint, x in gains.items() if isinstance(gains, Mapping) else ():
            if not isinstance(joint, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ArgumentError(f"{name}: expected names of joints, got {joint!r}")
            _gain(x, f"{name}[{joint!r}]")


def _gain(x: ArrayLike, name: str) -> Array:
    try:
        found = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}: expected a number, or one for each coordinate, got {x!r}") from None
    if found.ndim > 1:
        raise ArgumentError(f"{name}: expected a number, or one for each coordinate, got shape {found.shape}")
    return found


def _gains(robot: Robot, given: Gains, name: str) -> ArrayLike:
    """Return gains by joint as a vector (nv,), others as they are."""
    if not isinstance(given, Mapping):
        return given
    found, moving = np.zeros(robot.nv), {j.name for j in robot.rated if j.nv}
    for joint, x in given.items():
        at, gain = robot.joint(joint), _gain(x, f"{name}[{joint!r}]")
        if joint not in moving:
            raise ArgumentError(
                f"{name}[{joint!r}]: expected a joint that moves by itself, got one that does not"
            )
        if gain.ndim and len(gain) != at.nv:
            raise ArgumentError(
                f"{name}[{joint!r}]: expected a number, or {at.nv}, one for each coordinate, got {len(gain)}"
            )
        found[at.qd_slice] = gain
    return found


def _tangent(x: Given, name: str, robot: Robot) -> Array | Signal:
    if not isinstance(x, Signal) and np.ndim(x) == 0:
        x = np.full(robot.nv, float(as_array(x)))
    return given_signal(x, name, robot.nv, f"nv of robot {robot.name!r}")


def _feedback(plant: Plant, stage: Stage, ahead: str, out: str) -> StepCall:
    """Return the program of kp e + kd ė + the feed-forward."""
    names = ("target_q", "target_qd", "kp", "kd")
    given = {"q": stage.q, "qd": stage.qd, "ahead": ahead, **{n: stage.number(n) for n in names}}
    return plant.at_joints(
        "feedback",
        {"q": "q", "qd": "qd", "target_q": "q", "target_qd": "qd", "kp": "qd", "kd": "qd", "ahead": "qd"},
        {"force": "qd"},
        lambda kind, x: {
            "force": x["ahead"]
            + x["kp"] * _error(kind, x["q"], x["target_q"])
            + x["kd"] * (x["target_qd"] - x["qd"])
        },
        given,
        {"force": stage.own(out)},
    )


def _sum(plant: Plant, x: str, y: str, out: str) -> StepCall:
    rows: dict[str, Row] = {"x": "qd", "y": "qd"}
    return plant.at_joints(
        "sum",
        rows,
        {"sum": "qd"},
        lambda _, v: {"sum": v["x"] + v["y"]},
        {"x": x, "y": y},
        {"sum": out},
    )


def _error(kind: JointType, q: Block, target: Block) -> Block:
    """Return the velocity that leads from q to the target in unit time."""
    found = kind.smooth_difference(q, target)
    assert found is not None, f"{kind.kind} joints are refused by `_tracking`"
    return found
