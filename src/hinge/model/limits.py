"""Joint limits: reports of violations, and what stops and rubs where limits and dry friction act."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hinge.model.joints import Modes
from hinge.model.parts import Joint
from hinge.model.robot import Robot
from hinge.model.vectors import as_configuration, as_tangent, common_batch
from hinge.spatial import Array, ArrayLike


@dataclass(frozen=True, eq=False)
class LimitReport:
    """Signed violations of joint limits: positive above, negative below, zero inside.

    `position` (…, nq) is in rad or m, `velocity` (…, nv) is qd beyond ±velocity, `effort` (…, nv) tau beyond
    ±effort; None where no such vector was given.
    """

    robot: Robot
    position: Array
    velocity: Array | None = None
    effort: Array | None = None

    @property
    def ok(self) -> Array:
        """Whether each state (…) is within all limits; NaN is not."""
        parts = [x for x in (self.position, self.velocity, self.effort) if x is not None]
        return np.logical_and.reduce([np.asarray((x == 0).all(axis=-1)) for x in parts])

    def __str__(self) -> str:
        if self.position.ndim != 1:
            return (
                f"{int((~self.ok).sum())} of {self.ok.size} states exceed the limits of {self.robot.name!r}"
            )
        return "\n".join(self._lines()) or f"robot {self.robot.name!r} is within its limits"

    def _lines(self) -> Iterator[str]:
        parts = {"position": self.position, "velocity": self.velocity, "effort": self.effort}
        for j in self.robot.independent:
            for what, x in parts.items():
                own = () if x is None else x[j.q_slice if what == "position" else j.qd_slice]
                labels = j.type.q_names if what == "position" else j.type.qd_names
                for label, over in zip(labels, own, strict=False):
                    if np.isnan(over):
                        yield f"joint {j.name!r}: {what} of {label} is not a number"
                    elif over != 0:
                        side = "above" if over > 0 else "below"
                        yield f"joint {j.name!r}: {what} of {label} is {side} its limit by {abs(over):.4g}"


def limit_report(
    robot: Robot, q: ArrayLike, qd: ArrayLike | None = None, tau: ArrayLike | None = None
) -> LimitReport:
    """Return by how much q, and qd and tau if given, exceed the limits of the joints.

    Printed, it lists the violations of one state; for batches use its arrays and `.ok`.
    """
    given = {"q": as_configuration(robot, q)}
    given |= {n: as_tangent(robot, x, n) for n, x in {"qd": qd, "tau": tau}.items() if x is not None}
    batch = common_batch(given)
    given = {n: np.broadcast_to(x, (*batch, x.shape[-1])) for n, x in given.items()}
    speed, force = robot.velocity_limit, robot.effort_limit
    return LimitReport(
        robot,
        _beyond(given["q"], robot.lower, robot.upper),
        None if qd is None else _beyond(given["qd"], -speed, speed),
        None if tau is None else _beyond(given["tau"], -force, force),
    )


def _beyond(x: Array, lower: Array, upper: Array) -> Array:
    """Return x minus the violated limit, zero inside; NaN stays NaN."""
    with np.errstate(invalid="ignore"):
        return np.where(x > upper, x - upper, np.where(x < lower, x - lower, np.where(np.isnan(x), x, 0.0)))


@dataclass(frozen=True)
class Stops:
    """The limits and the dry friction of a joint, by its degrees of freedom.

    `limits` are (degree of freedom, lower, upper), of joints with one coordinate that have a finite limit;
    `rubs` are (degree of freedom, friction) with friction above zero.
    """

    limits: tuple[tuple[int, float, float], ...] = ()
    rubs: tuple[tuple[int, float], ...] = ()


def stops_of(joint: Joint) -> Stops:
    """Return the limits and the dry friction of a joint."""
    rubs = tuple((k, x) for k, x in enumerate(joint.friction.tolist()) if x > 0)
    if joint.nq != 1 or joint.nv != 1 or isinstance(joint.type, Modes):
        return Stops((), rubs)
    low, high = float(joint.lower[0]), float(joint.upper[0])
    return Stops(((0, low, high),) if np.isfinite([low, high]).any() else (), rubs)


@dataclass(frozen=True, eq=False)
class JointRows:
    """The degrees of freedom of a robot with limits, their coordinates and limits, and those that rub."""

    limited: tuple[int, ...] = ()
    coordinates: tuple[int, ...] = ()
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    rubbing: tuple[int, ...] = ()
    friction: tuple[float, ...] = ()

    @property
    def bounds(self) -> list[float]:
        """The bounds of forces by rows: none for limits, then friction."""
        return [*(0.0 for _ in self.limited), *self.friction]

    def __len__(self) -> int:
        return len(self.limited) + len(self.rubbing)


def joint_rows(robot: Robot) -> JointRows:
    """Return the limits and the dry friction of a robot's joints, joint by joint."""
    found = [(j, stops_of(j)) for j in robot.joints]
    limits = [(j.qd_slice.start + k, j.q_slice.start + k, *span) for j, s in found for k, *span in s.limits]
    rubs = [(j.qd_slice.start + k, x) for j, s in found for k, x in s.rubs]
    dofs, at, low, high = zip(*limits, strict=True) if limits else ((), (), (), ())
    rubbing, friction = zip(*rubs, strict=True) if rubs else ((), ())
    return JointRows(dofs, at, low, high, rubbing, friction)
