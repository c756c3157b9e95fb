"""What moves and how, from the arguments that `simulate` and `Stepper` share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hinge.dynamics import External, FrictionLaw, Live, is_coulomb
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot
from hinge.sim.adaptive import Adaptive
from hinge.sim.integrators import Integrator
from hinge.sim.job import Function, Moving
from hinge.sim.laws import Law, Torque
from hinge.sim.methods import INTEGRATORS
from hinge.sim.plant import Parameters, Plant
from hinge.spatial import ArrayLike

#: A law, constant forces, or any function of (t, q, qd), called once a step for all states.
Control: TypeAlias = Law | ArrayLike | Function | None
Real: TypeAlias = type[np.float32] | type[np.float64]


@dataclass(frozen=True, eq=False)
class Setting:
    """What moves, by which integrator and in which precision.

    `parameters` are those given and, of a live robot, those that it holds; `masks` say what of it is frozen
    and which closures hold.
    """

    moving: Moving
    rule: Integrator | Adaptive
    dtype: Real
    parameters: Parameters
    masks: Mapping[str, Any]


def setting_of(
    robot: Robot | Live,
    start: tuple[ArrayLike | None, ArrayLike | None],
    control: Control,
    integrator: Any,
    *,
    external: External,
    gravity: ArrayLike | None,
    passive: bool,
    limits: bool,
    law: FrictionLaw,
    parameters: Parameters,
    project: bool,
    dtype: Real | None = None,
) -> Setting:
    """Return what these arguments of `simulate` say, `start` being (q0, qd0).

    Without `dtype` the precision is that of the arrays.
    """
    for name, flag in {"project": project, "limits": limits}.items():
        checked_flag(name, flag)
    drive, ask = law_of(control)
    plain, numbers, masks = subject_of(robot, parameters)
    stepping = getattr(integrator, "name", integrator) == "stepping"
    plant = Plant(
        plain,
        external=external,
        gravity=gravity,
        passive=passive,
        parameters=numbers,
        stepping=stepping,
        limits=limits,
        coulomb=coulomb_of(law, stepping),
        **masks,
    )
    if dtype is None:
        others = [gravity, *(external or {}).values(), *(parameters or {}).values(), *drive.arrays()]
        dtype = precision_of([x for x in start if x is not None], others)
    moving = Moving(drive, ask, plant, project and bool(plain.closures) and not stepping)
    return Setting(moving, rule_of(integrator, dtype), dtype, numbers, masks)


def coulomb_of(law: FrictionLaw, steps: bool) -> bool:
    """Tell whether friction is by Coulomb's law; refuse it where nothing steps over contacts."""
    if (found := is_coulomb(law)) and not steps:
        raise ArgumentError(
            f"law: expected integrator='stepping' with law={law!r}, got another one, which steps over no "
            "contacts; give integrator='stepping', or leave law out"
        )
    return found


def law_of(control: Control) -> tuple[Law, Function | None]:
    """Return the law, and the control function if the control is one."""
    if isinstance(control, Law):
        return control, None
    if isinstance(control, str):
        raise ArgumentError(
            f"control: expected forces or a law such as sim.PD(q, kp, kd), got the string {control!r}"
        )
    if isinstance(control, type):
        raise ArgumentError(
            f"control: expected a law, got the class {control.__name__}; did you mean {control.__name__}(…)?"
        )
    if callable(control):
        return Torque(0.0), control
    if isinstance(control, (list, tuple)) and any(isinstance(c, Law) or callable(c) for c in control):
        raise ArgumentError(
            "control: expected one law or one function of (t, q, qd), got several; "
            "a function that returns the sum of their forces combines them"
        )
    return Torque(0.0 if control is None else control), None


def subject_of(robot: Any, parameters: Parameters) -> tuple[Robot, Parameters, dict[str, Any]]:
    """Return the robot, the parameters, and of a live robot what is frozen and which closures hold."""
    if not isinstance(robot, Live):
        return checked_robot(robot), parameters, {}
    if parameters and "inertias" in parameters:
        raise ArgumentError(
            "parameters: expected no 'inertias' for a Live robot, whose payloads change them; give the robot "
            "itself, with parameters={'inertias': live.inertias + …}"
        )
    masks = {"fastened": robot.fastened} if robot.robot.closures else {"held": robot.held}
    if robot.robot.closures:
        robot.refuse_frozen()
    return robot.robot, {**(parameters or {}), "inertias": robot.inertias}, masks


def precision_of(states: list[Any], others: list[Any]) -> type[np.float32] | type[np.float64]:
    """Return single precision if the given states and all other arrays are of it."""
    arrays = [x for x in others if isinstance(x, np.ndarray)]
    single = all(getattr(x, "dtype", None) == np.float32 for x in (*states, *arrays))
    return np.float32 if states and single else np.float64


def rule_of(given: Any, dtype: type[np.floating[Any]]) -> Integrator | Adaptive:
    """Return the integrator of this name, or the given one."""
    if isinstance(given, Adaptive) and dtype is np.float32:
        return given.for_single()
    if isinstance(given, Integrator | Adaptive):
        return given
    if isinstance(given, str) and given == "adaptive":
        return Adaptive(1e-4, 1e-6) if dtype is np.float32 else Adaptive()
    if not isinstance(given, str) or given not in INTEGRATORS:
        names = ", ".join(map(repr, (*INTEGRATORS, "adaptive")))
        raise ArgumentError(f"integrator: expected one of {names}, got {given!r}")
    return INTEGRATORS[given]


def checked_flag(name: str, flag: bool) -> bool:
    """Return an option that is True or False, or raise an ArgumentError."""
    if not isinstance(flag, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"{name}: expected True or False, got {flag!r}")
    return flag
