"""Checks of a robot: what is wrong with it, by body or joint and condition.

| condition | severity |
|---|---|
| mass finite and ≥ 0, inertia and placements finite, limits not NaN | always an error |
| inertia symmetric, positive, triangle inequality; massless yet with a moment | warning |
| joint axis of unit length (a reader says so; it is normalised) | warning |
| limits ordered | warning |
| a movable joint carries no inertia (forward dynamics is singular) | warning |

`strict=True` makes every warning an error, `strict=None` silences them. Names, connectedness and
loops are not here: no `Robot` can be made that violates them (see `assemble`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hinge.errors import ModelError, ModelWarning
from hinge.model.parts import Body, Joint
from hinge.model.robot import Robot

#: Relative slack for the triangle inequality and positivity, for numbers rounded in a file.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where ("body 'arm'"), which condition, in words, and how badly."""

    where: str
    condition: str
    message: str
    fatal: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.message} [{self.condition}]"


def check(robot: Robot) -> list[Problem]:
    """Return all problems of a robot, in the order of its bodies; an empty list is a sound robot."""
    found: list[Problem] = []
    carries = _carried_inertia(robot)
    for body, joint, inertia in zip(robot.bodies, robot.joints, carries, strict=True):
        found.extend(_body_problems(body))
        found.extend(_joint_problems(joint))
        if joint.nv and not inertia and not (joint.rotor_inertia > 0).all():
            message = "moves no mass and no inertia, so forward dynamics is singular"
            found.append(Problem(f"joint {joint.name!r}", "carries inertia", message))
    for frame in robot.frames:
        if not (np.isfinite(frame.placement.E).all() and np.isfinite(frame.placement.r).all()):
            message = "its placement is not finite"
            found.append(Problem(f"frame {frame.name!r}", "placement finite", message, True))
    return found


def enforce(
    robot: Robot, *, strict: bool | None = False, found: Sequence[Problem] = (), stacklevel: int = 2
) -> Robot:
    """Return the robot if it is sound; warn of doubts, raise ModelError on errors.

    With `strict` every doubt is an error; with `strict=None` doubts are passed over. `found` are
    problems that the caller has met already, such as a reader of a file that had to mend something.
    """
    problems = [*found, *check(robot)]
    bad = [p for p in problems if p.fatal or strict]
    if bad:
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise ModelError(f"robot {robot.name!r}: {bad[0]}{more}")
    for p in problems if strict is not None else ():
        warnings.warn(f"robot {robot.name!r}: {p}", ModelWarning, stacklevel=stacklevel + 1)
    return robot


def _body_problems(body: Body) -> Iterator[Problem]:
    where, inertia = f"body {body.name!r}", body.inertia
    m = float(inertia.m)
    if not (np.isfinite(m) and np.isfinite(inertia.h).all() and np.isfinite(inertia.I).all()):
        yield Problem(where, "inertia finite", "its mass or inertia is not finite", True)
        return
    if m < 0:
        yield Problem(where, "mass ≥ 0", f"its mass is {m:g} kg; wanted a mass ≥ 0", True)
        return
    scale = float(np.abs(inertia.I).max())
    if np.abs(inertia.I - inertia.I.T).max() > TOLERANCE * scale:
        yield Problem(where, "inertia symmetric", "its inertia matrix is not symmetric")
        return
    if m == 0 and np.abs(inertia.h).max() > 0:
        yield Problem(where, "massless has no moment", "it has no mass but a first moment of mass")
    yield from _moment_problems(where, inertia.central, scale)


def _moment_problems(where: str, central: np.ndarray, scale: float) -> Iterator[Problem]:
    """Check the principal moments about the centre of mass."""
    a, b, c = np.linalg.eigvalsh(0.5 * (central + central.T))
    slack = TOLERANCE * max(scale, 1e-300)
    moments = f"principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m² about the centre of mass"
    if a < -slack:
        yield Problem(where, "inertia positive", f"its inertia is not positive: {moments}")
    elif a + b < c - slack:
        message = f"no distribution of mass has its inertia: {moments}, the last exceeds the others' sum"
        yield Problem(where, "triangle inequality", message)


_SIZES = ("velocity", "effort", "rotor_inertia", "damping", "friction", "stiffness")


def _joint_problems(joint: Joint) -> Iterator[Problem]:
    where = f"joint {joint.name!r}"
    for side in ("inner", "outer"):
        x = getattr(joint, side)
        if not (np.isfinite(x.E).all() and np.isfinite(x.r).all()):
            yield Problem(where, "placement finite", f"its {side} placement is not finite", True)
    if joint.nv == 0:
        return
    low, high = joint.lower, joint.upper
    sizes = {name: getattr(joint, name) for name in _SIZES}
    for name, values in {"lower": low, "upper": high, "rest": joint.rest, **sizes}.items():
        if np.isnan(values).any():
            yield Problem(where, "limits are numbers", f"its {name} is not a number", True)
    for k in np.flatnonzero(low > high):
        label = joint.type.q_names[k]
        message = f"its limits of {label} are the wrong way round: lower {low[k]:g}, upper {high[k]:g}"
        yield Problem(where, "limits ordered", message)
    for name, values in sizes.items():
        if values.min() < 0:
            yield Problem(where, f"{name} ≥ 0", f"its {name} is negative: {values}")


def _carried_inertia(robot: Robot) -> list[bool]:
    """Tell for each joint whether any body that it carries has mass or inertia."""
    carries = [bool(float(b.inertia.m) != 0 or b.inertia.I.any()) for b in robot.bodies]
    for i in reversed(range(len(carries))):
        parent = robot.tree.parents[i]
        if parent >= 0 and carries[i]:
            carries[parent] = True
    return carries
