"""What may vary from sample to sample: the quantities of a robot, by name, and how they enter a simulation.

Each quantity is a row of `QUANTITIES`: whose names its distributions are given by, the numbers of each, and
what becomes of them. Quantities of other names are a campaign's own (`own`), and reach its functions alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from hinge.errors import ArgumentError, UnknownNameError, did_you_mean
from hinge.model import (
    Robot,
    friction_parameters,
    inertial_parameters,
    integrate,
    neutral,
)
from hinge.spatial import Array


@dataclass
class Start:
    """What `simulate` is given for some samples: states, parameters, external forces and gravity."""

    robot: Robot
    count: int
    q: Array
    qd: Array
    parameters: dict[str, Array] = field(default_factory=dict[str, Array])
    external: dict[str, Array] = field(default_factory=dict[str, Array])
    gravity: Array | None = None

    @classmethod
    def of(cls, robot: Robot, count: int, q: Array | None, qd: Array | None) -> Start:
        """Return the base state, for each sample."""
        q = neutral(robot) if q is None else q
        qd = np.zeros(robot.nv) if qd is None else qd
        return cls(robot, count, np.tile(q, (count, 1)), np.tile(qd, (count, 1)))

    def parameter(self, name: str, own: Callable[[Robot], Array]) -> Array:
        """Return the parameters of each sample, the robot's own until they are changed."""
        if name not in self.parameters:
            one = own(self.robot)
            self.parameters[name] = np.tile(one, (self.count, *(1,) * one.ndim))
        return self.parameters[name]


#: Enter numbers (count, *shape) of the part of this name into what a simulation is given.
Enter: TypeAlias = Callable[[Start, str, Array], None]


@dataclass(frozen=True)
class Quantity:
    """A quantity: whose names it goes by, the shape for one of them, how it enters, and its unit of words."""

    parts: Callable[[Robot], Sequence[str]]
    shape: Callable[[Robot, str], tuple[int, ...]]
    enter: Enter
    whose: str


def _joints(robot: Robot) -> list[str]:
    return [j.name for j in robot.rated if j.nv]


def _independent(robot: Robot) -> list[str]:
    return [j.name for j in robot.independent if j.nq]


def _bodies(robot: Robot) -> list[str]:
    return list(robot.body_names)


def _of_mass(robot: Robot, part: str) -> tuple[int, ...]:
    body = robot.body(part)
    if body.flexible is not None:
        raise ArgumentError(
            f"vary: expected a rigid body, got {part!r}, whose mass is that of the points of a flexible "
            "body, which do not vary; build a robot for each"
        )
    if not inertial_parameters(robot)[list(robot.body_names).index(part)].any():
        raise ArgumentError(f"vary: expected a body with a mass, got {part!r}, which has none to scale")
    return ()


def _frames(robot: Robot) -> list[str]:
    return [*robot.body_names, *(f.name for f in robot.frames)]


def _contacts(robot: Robot) -> list[str]:
    return [c.name for c in robot.contacts]


def _scalar(_robot: Robot, _part: str) -> tuple[int, ...]:
    return ()


def _of_velocities(robot: Robot, part: str) -> tuple[int, ...]:
    nv = robot.joint(part).nv
    return () if nv == 1 else (nv,)


def _of_positions(robot: Robot, part: str) -> tuple[int, ...]:
    joint = robot.joint(part)
    return () if joint.nq == 1 else (joint.nq,)


def _four(_robot: Robot, _part: str) -> tuple[int, ...]:
    return (4,)


def _turning(robot: Robot) -> list[str]:
    return [j.name for j in robot.independent if j.type.has_quaternion]


def _q(start: Start, part: str, x: Array) -> None:
    start.q[:, start.robot.joint(part).q_slice] = x.reshape(start.count, -1)


def _qd(start: Start, part: str, x: Array) -> None:
    start.qd[:, start.robot.joint(part).qd_slice] = x.reshape(start.count, -1)


def _attitude(start: Start, part: str, x: Array) -> None:
    at = start.robot.joint(part).q_slice.start
    start.q[:, at : at + 4] = x


def _offset(start: Start, part: str, x: Array) -> None:
    along = np.zeros((start.count, start.robot.nv))
    along[:, start.robot.joint(part).qd_slice] = x.reshape(start.count, -1)
    start.q = integrate(start.robot, start.q, along)


def _mass(start: Start, part: str, x: Array) -> None:
    rows = start.parameter("inertias", inertial_parameters)
    k = list(start.robot.body_names).index(part)
    if not (rows[:, k, 0] > 0).all():
        raise ArgumentError(f"mass: expected a body with a mass, got {part!r}, which has none to scale")
    rows[:, k] *= (x / rows[:, k, 0])[:, None]


def _mass_factor(start: Start, part: str, x: Array) -> None:
    start.parameter("inertias", inertial_parameters)[:, list(start.robot.body_names).index(part)] *= x[
        :, None
    ]


def _frictional(column: int) -> Enter:
    def enter(start: Start, part: str, x: Array) -> None:
        rows = start.parameter("friction", friction_parameters)
        rows[:, start.robot.joint(part).qd_slice, column] = x.reshape(start.count, -1)

    return enter


def _rotor(start: Start, part: str, x: Array) -> None:
    rows = start.parameter("rotors", lambda robot: np.asarray(robot.reflected_inertia))
    rows[:, start.robot.joint(part).qd_slice] = x.reshape(start.count, -1)


def _of_contacts(name: str, own: str) -> Enter:
    def enter(start: Start, part: str, x: Array) -> None:
        rows = start.parameter(name, lambda robot: np.array([getattr(c, own) for c in robot.contacts], float))
        rows[:, _contacts(start.robot).index(part)] = x

    return enter


def _external(start: Start, part: str, x: Array) -> None:
    start.external[part] = x


def _gravity(start: Start, _part: str, x: Array) -> None:
    start.gravity = x


QUANTITIES: dict[str, Quantity] = {
    "q0": Quantity(_independent, _of_positions, _q, "joint"),
    "attitude": Quantity(_turning, _four, _attitude, "joint with a quaternion"),
    "offset": Quantity(_joints, _of_velocities, _offset, "joint"),
    "qd0": Quantity(_joints, _of_velocities, _qd, "joint"),
    "mass": Quantity(_bodies, _of_mass, _mass, "body"),
    "mass_factor": Quantity(_bodies, _of_mass, _mass_factor, "body"),
    "damping": Quantity(_joints, _of_velocities, _frictional(0), "joint"),
    "friction": Quantity(_joints, _of_velocities, _frictional(1), "joint"),
    "stiffness": Quantity(_joints, _of_velocities, _frictional(2), "joint"),
    "rotor": Quantity(_joints, _of_velocities, _rotor, "joint"),
    "contact_friction": Quantity(_contacts, _scalar, _of_contacts("contact_friction", "friction"), "contact"),
    "restitution": Quantity(_contacts, _scalar, _of_contacts("restitution", "restitution"), "contact"),
    "external": Quantity(_frames, lambda _robot, _part: (6,), _external, "frame"),
}
#: Quantities of the robot as a whole.
WHOLE: dict[str, tuple[tuple[int, ...], Enter]] = {"gravity": ((3,), _gravity)}
#: The quantity whose names are a campaign's own.
OWN = "own"


def checked_part(robot: Robot, quantity: str, part: str) -> tuple[int, ...]:
    """Return the shape of the numbers of a part, or raise an error that names what there is."""
    row = QUANTITIES[quantity]
    parts = row.parts(robot)
    if part not in parts:
        if row.parts is _joints and any(j.name == part and j.nv for j in robot.joints):
            raise ArgumentError(
                f"vary.{quantity}: expected a joint with rates of its own, got {part!r}, which moves as "
                f"others do; vary {', '.join(map(repr, parts[:8]))}"
            )
        near = did_you_mean(part, parts) or f"there are {', '.join(map(repr, parts[:8])) or 'none'}"
        raise UnknownNameError(
            f"vary.{quantity}: expected a {row.whose} of {robot.name!r}, got {part!r}; {near}"
        )
    return row.shape(robot, part)


def checked_quantity(name: str) -> None:
    """Refuse a name that is no quantity."""
    known = (*QUANTITIES, *WHOLE, OWN)
    if name not in known:
        hint = did_you_mean(name, known) or f"quantities are {', '.join(known)}; others go under {OWN!r}"
        raise UnknownNameError(f"vary: expected a quantity, got {name!r}; {hint}")


def entered(start: Start, quantity: str, part: str, x: Array) -> None:
    """Enter the numbers of a part into what a simulation is given."""
    if quantity in WHOLE:
        WHOLE[quantity][1](start, part, x)
    elif quantity != OWN:
        QUANTITIES[quantity].enter(start, part, x)


def column_names(quantity: str, part: str, shape: tuple[int, ...]) -> list[str]:
    """Return the names of the numbers of a part in tables: quantity, part, index if there are several."""
    name = quantity if quantity in WHOLE else f"{quantity}:{part}"
    if not shape:
        return [name]
    return [f"{name}.{'.'.join(map(str, k))}" for k in np.ndindex(*shape)]


def parts_of(given: Any) -> Mapping[str, Any]:
    """Return the parts that a quantity is given by, or raise an ArgumentError."""
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"vary: expected a distribution for each name, such as {{'link': Uniform(1, 2)}}, got {given!r}"
        )
    return given  # pyright: ignore[reportUnknownVariableType]
