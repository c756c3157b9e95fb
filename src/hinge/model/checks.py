"""Checks of a robot's physics, by body or joint and condition.

| condition | severity |
|---|---|
| mass finite and ≥ 0, inertia and placements finite, rotations orthogonal, limits not NaN | always an error |
| physics of joints finite, friction_speed > 0 where there is friction | always an error |
| inertia symmetric, positive, triangle inequality; massless yet with a moment | warning |
| joint axis of unit length (a reader says so; it is normalised) | warning |
| limits ordered | warning |
| a movable joint carries no inertia (forward dynamics is singular) | warning |
| limits of angles look like degrees | warning |
| with q: the closures are closed | warning |

`strict=True` makes every warning an error, `strict=None` silences them. Names, connectedness and
loops are not here: no `Robot` can be made that violates them (see `make_robot`).
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hinge.errors import ArgumentError, ModelError, ModelWarning
from hinge.model.closing import closure_transform, every_closure
from hinge.model.closures import closure_error_of
from hinge.model.joints import Flexure, JointType, Modes
from hinge.model.parts import Body, Joint
from hinge.model.robot import Robot
from hinge.model.vectors import as_configuration
from hinge.spatial import Array, ArrayLike, Inertia, transpose

#: Relative slack for the triangle inequality and positivity, for numbers rounded in a file.
TOLERANCE = 1e-6
#: Limits of angles beyond this, two turns, look like degrees if they are multiples of half a degree.
TWO_TURNS = 4 * np.pi + 0.1
#: The most that is taken for degrees: larger limits stand for none.
MOST_DEGREES = 720.0
#: Axes of a joint that are dependent up to this cost more than six digits.
NEAR_LOCK = 1e-3

_PACKAGE = str(Path(__file__).parents[1])


@dataclass(frozen=True)
class Problem:
    """A violated condition: where ("body 'arm'"), which condition, a message, and whether it is fatal.

    `line` is the line of the file that the robot was read from, where known. A `note` is worth knowing, and
    never an error.
    """

    where: str
    condition: str
    message: str
    fatal: bool = False
    line: int | None = None
    note: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.message} [{self.condition}]"


def check(robot: Robot, q: ArrayLike | None = None) -> list[Problem]:
    """Return all problems of a robot, in the order of its bodies; an empty list is a sound robot.

    With a configuration (nq,) also those of q: not finite, a quaternion that is not unit (both
    errors; dynamics uses q as given), outside the limits, near a place where the axes of a joint line up,
    closures that are open.
    """
    found: list[Problem] = []
    if q is not None:
        values = as_configuration(robot, q)
        if values.ndim != 1:
            raise ArgumentError(
                f"q: expected one configuration of shape ({robot.nq},), got shape {values.shape}"
            )
        for j in robot.joints:
            found.extend(configuration_problems(j, j.type.own(values[j.q_slice])))
        if not any(p.fatal for p in found):
            found.extend(_open_closures(robot, values))
    found.extend(_body_problems(robot.bodies))
    found.extend(_placement_problems(robot))
    carries = _carried_inertia(robot)
    moving = {j.q_slice.start for j, inertia in zip(robot.joints, carries, strict=True) if j.nv and inertia}
    for joint, inertia in zip(robot.joints, carries, strict=True):
        found.extend(_joint_problems(joint))
        if joint.depends or (joint.nv and joint.q_slice.start in moving):
            continue  # it moves together with a joint that carries inertia
        if joint.nv and not inertia and not (joint.reflected_inertia > 0).all():
            message = "moves no mass and no inertia, so forward dynamics is singular"
            found.append(Problem(f"joint {joint.name!r}", "carries inertia", message))
    found.extend(_degree_problems(robot.joints))
    return found


def enforce(
    robot: Robot,
    *,
    strict: bool | None = False,
    found: Sequence[Problem] = (),
) -> Robot:
    """Return the robot if it is sound; warn of doubts, raise ModelError on errors.

    With `strict` every doubt is an error; with `strict=None` doubts are ignored. `found` are
    problems that the caller found already, such as values corrected by the reader of a file.
    """
    problems = [*found, *check(robot)]
    bad = [p for p in problems if p.fatal or (strict and not p.note)]
    if bad:
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise ModelError(f"robot {robot.name!r}: {bad[0]}{more}")
    warn_of(robot, problems if strict is not None else ())
    return robot


def warn_of(robot: Robot, problems: Iterable[Problem]) -> None:
    """Warn of problems of a robot; the warnings point at the line that called Hinge."""
    for p in problems:
        warnings.warn(ModelWarning(f"robot {robot.name!r}: {p}", p), stacklevel=_callers_level())


def _callers_level() -> int:
    """Return the stacklevel, seen from the function that calls this one, of the line that called Hinge."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return names as text, abbreviated after a few."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def _degree_problems(joints: Sequence[Joint]) -> Iterator[Problem]:
    """Point out, once, all limits of angles that look like degrees."""
    found = [j for j in joints if j.nv and j.type.q_units == ("rad",) and _like_degrees(j)]
    if found:
        names = listed([j.name for j in found])
        spans = f"{found[0].lower[0]:g} … {found[0].upper[0]:g} rad"
        message = f"limits such as {spans} look like degrees; convert them to radians"
        yield Problem(f"joint{'s' * (len(found) > 1)} {names}", "limits in radians", message)


def _like_degrees(joint: Joint) -> bool:
    ends = np.abs(np.concatenate([joint.lower, joint.upper]))
    largest = float(ends.max())
    return TWO_TURNS < largest <= MOST_DEGREES and not (2 * ends % 1).any()


def _body_problems(bodies: Sequence[Body]) -> Iterator[Problem]:
    """Check all bodies at once, vectorised."""
    if not bodies:
        return
    parts = [(b.inertia.m, b.inertia.h, b.inertia.I) for b in bodies]
    all_of_them = Inertia(*(np.stack(column) for column in zip(*parts, strict=True)))
    yield from inertia_problems(all_of_them, lambda k: f"body {bodies[k].name!r}")


def inertia_problems(inertias: Inertia, name: Callable[[int], str]) -> Iterator[Problem]:
    """Check n inertias, m (n,), h (n, 3), I (n, 3, 3), of bodies with these names."""
    m, h, i = inertias.m, inertias.h, inertias.I
    if not len(m):
        return
    finite = np.isfinite(m) & np.isfinite(h).all(axis=-1) & np.isfinite(i).all(axis=(-1, -2))
    m, h = np.where(finite, m, 0.0), np.where(finite[:, None], h, 0.0)
    i = np.where(finite[:, None, None], i, 0.0)
    scale = np.abs(i).max(axis=(-1, -2))
    skewed = np.abs(i - transpose(i)).max(axis=(-1, -2)) > TOLERANCE * scale
    central = Inertia(m, h, i).central
    a, b, c = np.linalg.eigvalsh(0.5 * (central + transpose(central))).T
    slack = TOLERANCE * np.maximum(scale, 1e-300)
    odd = (m < 0) | skewed | ((m == 0) & h.any(axis=-1)) | (a < -slack) | (a + b < c - slack)
    for k in map(int, np.flatnonzero(~finite | odd)):
        where = name(k)
        moments = f"principal moments {a[k]:.4g}, {b[k]:.4g}, {c[k]:.4g} kg m² about the centre of mass"
        if not finite[k]:
            yield Problem(where, "inertia finite", "its mass or inertia is not finite", True)
        elif m[k] < 0:
            yield Problem(where, "mass ≥ 0", f"expected a mass ≥ 0, got {m[k]:g} kg", True)
        elif skewed[k]:
            yield Problem(where, "inertia symmetric", "its inertia matrix is not symmetric")
        else:
            if m[k] == 0 and h[k].any():
                message = "its mass is zero, but its first moment of mass is not"
                yield Problem(where, "massless has no moment", message)
            if a[k] < -slack[k]:
                yield Problem(where, "inertia positive", f"its inertia is not positive: {moments}")
            elif a[k] + b[k] < c[k] - slack[k]:
                message = (
                    f"no rigid body has its inertia: {moments}; the largest exceeds the sum of the others"
                )
                yield Problem(where, "triangle inequality", message)


def _placement_problems(robot: Robot) -> Iterator[Problem]:
    """Check that every placement is finite and its rotation proper orthogonal."""
    placed = [(f"joint {j.name!r}", "inner placement", j.inner) for j in robot.joints]
    placed += [(f"joint {j.name!r}", "outer placement", j.outer) for j in robot.joints]
    placed += [(f"frame {f.name!r}", "placement", f.placement) for f in robot.frames]
    placed += [(f"closure {c.name!r}", "placement", c.placement) for c in every_closure(robot)]
    if not placed:
        return
    e, r = np.stack([x.E for _, _, x in placed]), np.stack([x.r for _, _, x in placed])
    finite = np.atleast_1d(np.isfinite(np.concatenate([e.reshape(-1, 9), r], axis=-1)).all(axis=-1))
    e = np.where(finite[:, None, None], e, np.eye(3))
    off = np.abs(e @ transpose(e) - np.eye(3)).max(axis=(-1, -2))
    turned = (off > TOLERANCE) | (np.linalg.det(e) < 0)
    for k in map(int, np.flatnonzero(~finite | turned)):
        where, what, _ = placed[k]
        if not finite[k]:
            yield Problem(where, "placement finite", f"its {what} is not finite", True)
        else:
            message = f"the rotation of its {what} is not orthogonal and right-handed"
            yield Problem(where, "placement a rotation", message, True)


def configuration_problems(joint: Joint, q: Array) -> Iterator[Problem]:
    """Yield the problems of a joint's own configuration (nq,)."""
    where = f"joint {joint.name!r}"
    if not np.isfinite(q).all():
        yield Problem(where, "q finite", f"its configuration {q} is not finite", True)
        return
    if joint.type.has_quaternion:
        norm = float(np.linalg.norm(q[:4]))
        if abs(norm - 1) > TOLERANCE:
            message = f"its quaternion has norm {norm:.6g}; normalise it, or start from neutral(robot)"
            yield Problem(where, "quaternion unit", message, True)
    for k in np.flatnonzero((q < joint.lower - TOLERANCE) | (q > joint.upper + TOLERANCE)):
        span = f"[{joint.lower[k]:g}, {joint.upper[k]:g}]"
        yield Problem(where, "q within limits", f"{joint.type.q_names[k]} = {q[k]:g} is outside {span}")
    yield from _lock_problems(joint, q)


def warn_near_lock(robot: Robot, q: Array, name: str) -> None:
    """Warn, once, of joints whose axes nearly line up in one of the configurations (states, nq)."""
    found: list[Problem] = []
    for joint in robot.independent:
        if type(joint.type).bias is not JointType.bias:  # else S is constant
            own = q[:, joint.q_slice]
            found.extend(_lock_problems(joint, own[np.isfinite(own).all(axis=-1)]))
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        warning = ModelWarning(f"{name}: {found[0]}{more}", found[0])
        warnings.warn(warning, stacklevel=_callers_level())


def _lock_problems(joint: Joint, q: Array) -> Iterator[Problem]:
    """Yield a problem if the axes nearly line up in one of the joint's own, finite configurations (…, nq)."""
    if joint.nv < 2 or not q.size or isinstance(joint.type, Modes | Flexure):
        return
    axes = np.linalg.svd(joint.type.subspace(q), compute_uv=False)
    least = float((axes[..., -1] / axes[..., 0]).min())
    if least < NEAR_LOCK:
        message = (
            f"its axes line up to within {least:.2g} of a turn by one; forward dynamics loses "
            "digits with the square of that; take Spherical, or three Revolute joints"
        )
        yield Problem(f"joint {joint.name!r}", "axes independent", message)


def _open_closures(robot: Robot, q: Array) -> Iterator[Problem]:
    """Yield the closures that q (nq,) does not close."""
    for c in every_closure(robot):
        off = float(np.abs(closure_error_of(c.constraints, closure_transform(robot, c, q))).max(initial=0.0))
        if not off < TOLERANCE:
            message = f"q leaves it open by {off:.3g} m or rad; start from a configuration that closes it"
            yield Problem(f"closure {c.name!r}", "closed", message)


_PHYSICS = ("rotor_inertia", "damping", "friction", "stiffness")


def _joint_problems(joint: Joint) -> Iterator[Problem]:
    where = f"joint {joint.name!r}"
    if joint.nv == 0:
        return
    low, high = joint.lower, joint.upper
    for name in ("lower", "upper", "velocity", "effort"):
        if np.isnan(getattr(joint, name)).any():
            yield Problem(where, "limits are numbers", f"its {name} is not a number", True)
    for name in (*_PHYSICS, "gear_ratio", "friction_speed", "rest"):
        if not np.isfinite(getattr(joint, name)).all():
            yield Problem(where, f"{name} finite", f"its {name} is not finite", True)
    if (joint.friction_speed <= 0)[joint.friction != 0].any():
        message = f"expected friction_speed > 0 where there is friction, got {joint.friction_speed}"
        yield Problem(where, "friction_speed > 0", message, True)
    for k in np.flatnonzero(low > high):
        label = joint.type.q_names[k]
        message = f"expected lower ≤ upper for {label}, got lower {low[k]:g}, upper {high[k]:g}"
        yield Problem(where, "limits ordered", message)
    for name in ("velocity", "effort", *_PHYSICS):
        values = getattr(joint, name)
        if values.min() < 0:
            yield Problem(where, f"{name} ≥ 0", f"its {name} is negative: {values}")


def _carried_inertia(robot: Robot) -> list[bool]:
    """Tell for each joint whether any body that it carries has mass or inertia."""
    carries = [bool(b.mass != 0 or b.inertia.I.any()) for b in robot.bodies]
    for i in reversed(range(len(carries))):
        parent = robot.tree.parents[i]
        if parent >= 0 and carries[i]:
            carries[parent] = True
    return carries
