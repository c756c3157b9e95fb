"""A robot's coordinates as sliders: ranges, and the configuration of given values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hinge.model import Joint, Robot
from hinge.spatial import Array, quaternion, rotation
from hinge.view.coordinates import has_quaternion, position_coordinates

#: Range of a coordinate without limits, ± in rad and m.
SPAN = {"rad": np.pi, "m": 1.0}
#: Ends of ranges are rounded inwards to multiples of this.
STEP = 1e-3
#: A wider range counts as no limit.
WIDEST = 1e4

_ANGLES = (("roll", np.pi), ("pitch", np.pi / 2), ("yaw", np.pi))


@dataclass(frozen=True)
class Slider:
    """A slider: joint, name, unit, range and initial value."""

    joint: str
    name: str
    unit: str
    low: float
    high: float
    start: float


def sliders(robot: Robot, q: Array) -> list[Slider]:
    """Return the sliders of a robot at q, in the order of its joints.

    A quaternion is shown as roll, pitch and yaw. A coupled joint follows its master and has no slider.
    """
    coupled = {c.joint for c in robot.couplings}
    return [s for j in robot.joints if j.name not in coupled for s in _of_joint(j, q[j.q_slice])]


def configuration(robot: Robot, values: Sequence[float]) -> Array:
    """Return q for the values of a robot's sliders, in the order of `sliders`."""
    q = np.zeros(robot.nq)
    rest = list(values)
    coupled = {c.joint: c for c in robot.couplings}
    for joint in robot.joints:
        if joint.name in coupled:
            continue
        turns = has_quaternion(joint)
        count = joint.nq - turns
        own, rest = np.array(rest[:count]), rest[count:]
        if not turns:
            q[joint.q_slice] = own
        else:
            turn = quaternion.from_matrix(rotation.from_rpy(own[:3]))
            q[joint.q_slice] = np.concatenate([turn, own[3:]])
    return _coupled(robot, q)


def _coupled(robot: Robot, q: Array) -> Array:
    """Return q with the coupled joints at the positions given by their masters, along chains too."""
    for _ in robot.couplings:
        for c in robot.couplings:
            q[robot.joint(c.joint).q_slice] = c.ratio * q[robot.joint(c.master).q_slice] + c.offset
    return q


def _of_joint(joint: Joint, q: Array) -> list[Slider]:
    rows = zip(position_coordinates(joint), joint.lower, joint.upper, q, strict=True)
    plain = [_slider(joint, c.name, c.unit, float(a), float(b), float(x)) for c, a, b, x in rows if c.unit]
    if not has_quaternion(joint):
        return plain
    angles = rotation.to_rpy(rotation.from_quaternion(quaternion.normalize(q[:4])))
    found = [
        _slider(joint, name, "rad", -span, span, float(x))
        for (name, span), x in zip(_ANGLES, angles, strict=True)
    ]
    return found + plain


def _slider(joint: Joint, name: str, unit: str, lower: float, upper: float, start: float) -> Slider:
    """Return a slider within the limits, widened to its initial value."""
    span = SPAN[unit]
    if np.isfinite(upper - lower) and upper - lower > WIDEST:
        lower, upper = -np.inf, np.inf
    low = lower if np.isfinite(lower) else min(-span, upper - 2 * span)
    high = upper if np.isfinite(upper) else max(span, low + 2 * span)
    low, high = np.ceil(low / STEP) * STEP, np.floor(high / STEP) * STEP
    return Slider(joint.name, name, unit, float(min(low, start)), float(max(high, start, low)), start)
