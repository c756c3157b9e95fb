"""What is said of a robot's bodies and hinges in messages."""

from __future__ import annotations

from abc import abstractmethod

from hinge.binding.frames import Place
from hinge.model import Robot


class Texts:
    """The texts of a binding to a robot."""

    robot: Robot

    @abstractmethod
    def members(self, body: int) -> tuple[Place, ...]:
        """Return the members of a body of the tree."""

    @property
    def title(self) -> str:
        """What the letters are bound to, in a text."""
        return f"robot {self.robot.name!r}"

    def name(self, body: int) -> str:
        """Return the name of a body's hinge for messages."""
        return f"joint {self.members(body)[0].joint.name!r} of {self.title}"

    def undetermined(self, body: int) -> str:
        """Return what to say of a hinge at which D has no inverse, and what to do."""
        return (
            f"{self.name(body)} carries no inertia, so its acceleration is not determined; give the bodies "
            "beyond it mass, or the joint rotor inertia, or make it fixed"
        )

    @property
    def remedy(self) -> str:
        """What to do about a body whose inertia has no inverse."""
        return "give its body mass and moments of inertia"
