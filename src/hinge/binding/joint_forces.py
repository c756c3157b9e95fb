"""The forces of joints' own springs, dampers and friction, as formulas that can be traced.

A spring pulls along `difference(rest, q)` of the joint type, by its formula without branches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hinge.model.joints import JointType
from hinge.sweeps import Block, zeros

#: The numbers of a joint's own forces that can be given, in the order of `parameters["friction"]`.
PASSIVE = ("damping", "friction", "stiffness")


def passive_force(kind: JointType, numbers: PassiveNumbers, q: Block, qd: Block) -> Block:
    """Return −damping q̇ − friction q̇/√(q̇² + s²) − stiffness difference(rest, q); zeros cost nothing."""
    found = zeros(len(qd))
    for k, speed in enumerate(qd):
        if _is_there(numbers.damping[k]):
            found[k] = found[k] - numbers.damping[k] * speed
        if _is_there(numbers.friction[k]):
            size = np.sqrt(speed * speed + numbers.speed[k] * numbers.speed[k])
            found[k] = found[k] - numbers.friction[k] * (speed / size)
    if any(map(_is_there, numbers.stiffness)):
        found = found - numbers.stiffness * _stretch(kind, numbers.rest, q)
    return found


class PassiveNumbers:
    """The numbers of a joint's own forces: damping, friction, its speed, stiffness (nv,), and rest (nq,)."""

    def __init__(self, numbers: Block, nv: int) -> None:
        self.damping, self.friction, self.speed, self.stiffness = (
            numbers[k * nv : k * nv + nv] for k in range(4)
        )
        self.rest = numbers[4 * nv :]

    @property
    def given(self) -> Block:
        """Damping, friction and stiffness, three numbers for each coordinate."""
        return np.stack([self.damping, self.friction, self.stiffness], axis=-1).ravel()

    def with_given(self, given: Block) -> PassiveNumbers:
        """Return the same with other damping, friction and stiffness, three numbers for each coordinate."""
        damping, friction, stiffness = given.reshape(-1, 3).T
        whole = np.concatenate([damping, friction, self.speed, stiffness, self.rest])
        return PassiveNumbers(whole, len(damping))


def _stretch(kind: JointType, rest: Block, q: Block) -> Block:
    found = kind.smooth_difference(rest, q)
    if found is None:
        raise NotImplementedError(
            f"stiffness: not supported for {kind.kind} joints, whose difference(rest, q) does not compile, "
            "nor are derivatives by 'friction'; set their stiffness to zero and add the force to tau"
        )
    return found


def _is_there(x: Any) -> bool:
    return not isinstance(x, float) or x != 0.0
