"""The bodies that a compiled expression works with: those of the robot, fixed ones as parts of others."""

from __future__ import annotations

from dataclasses import dataclass

from hinge.binding import RobotBinding


@dataclass(frozen=True)
class Worked:
    """A body as it is worked with: its number and name, what is fixed on it, and its joint."""

    number: int
    name: str
    fixed: tuple[str, ...]
    joint: str
    kind: str
    dofs: int
    parent: int

    @property
    def title(self) -> str:
        """The body in words, for who points at it."""
        carried = f", with {', '.join(self.fixed)} fixed on it" if self.fixed else ""
        return f"{self.number}: {self.name}{carried}; joint {self.joint}, {self.kind}"


def worked_bodies(binding: RobotBinding) -> list[Worked]:
    """Return the bodies that are worked with, base first."""
    parts: list[list[str]] = [[] for _ in binding.places]
    for body, carrier in zip(binding.robot.bodies, binding.carriers, strict=True):
        parts[carrier].append(body.name)
    joints = (place.joint for place in binding.places)
    return [
        Worked(k, j.child, tuple(n for n in parts[k] if n != j.child), j.name, j.type.kind, j.nv, parent)
        for k, (j, parent) in enumerate(zip(joints, binding.tree.parents, strict=True))
    ]
