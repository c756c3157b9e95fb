"""Continuous: a revolute joint without limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hinge.model.joints.revolute import Revolute


@dataclass(frozen=True)
class Continuous(Revolute):
    """Turn about `axis` without limits; q the angle in rad (nq = 1), which never wraps."""

    kind: ClassVar[str] = "continuous"

    def upright(self) -> Revolute:
        """Return the revolute joint about z: without limits it moves the same."""
        return Revolute()
