"""Build a robot by hand, body after body."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hinge.errors import ArgumentError, ModelError
from hinge.model.checks import enforce
from hinge.model.closures import Closure, SoftFinger
from hinge.model.contacts import Contact
from hinge.model.flexible import Flexible
from hinge.model.flexible_tree import flexible_parts
from hinge.model.geometry import Shape
from hinge.model.joints import Fixed, JointType
from hinge.model.parts import Body, Coupling, Frame, Joint
from hinge.model.robot import STANDARD_GRAVITY, Robot, make_robot
from hinge.spatial import ArrayLike, Inertia, Transform


class Builder:
    """Collect bodies and frames, then `build()` a frozen robot.

    b = Builder("pendulum")
    b.body("rod", joint=Revolute((0, 1, 0)), inertia=Inertia.from_com(1.0, (0, 0, -0.5), np.zeros((3, 3))))
    b.frame("tip", "rod", position=(0, 0, -1))
    robot = b.build()
    """

    def __init__(self, name: str, *, gravity: ArrayLike = STANDARD_GRAVITY) -> None:
        self.name = name
        self.gravity = gravity
        self._bodies: list[Body] = []
        self._joints: list[Joint] = []
        self._frames: list[Frame] = []
        self._couplings: list[Coupling] = []
        self._closures: list[Closure] = []
        self._contacts: list[Contact] = []

    def body(
        self,
        name: str,
        *,
        joint: JointType | None = None,
        parent: str | None = None,
        inertia: Inertia | None = None,
        rotation: ArrayLike | None = None,
        position: ArrayLike | None = None,
        joint_name: str | None = None,
        shapes: tuple[Shape, ...] = (),
        flexible: Flexible | None = None,
        **physics: Any,
    ) -> str:
        """Add a body carried by a joint (fixed unless given) on its parent (None: the world).

        `rotation` and `position` place the joint's inner frame on the parent; the body's frame is
        the joint's outer frame. `physics` are further fields of `Joint`: outer, lower, upper,
        velocity, effort, rotor_inertia, gear_ratio, damping, friction, friction_speed, stiffness,
        rest, effort_subspace.

        With `flexible` the body is the rigid part of a flexible one, whose floating frame is the body's: it
        carries "<name>_flexible" on the joint "<name>_modes", and that a body "<name>_<attachment>" for each
        place where others may hang. Shapes must vanish where the joint is, unless it is free.
        """
        inner = _placed(f"body {name!r}", rotation, position)
        label = joint_name or f"{name}_joint"
        unknown = set(physics) - _PHYSICS
        if unknown:
            raise ModelError(
                f"body {name!r}: expected fields of a joint, got {', '.join(sorted(unknown))}; "
                f"the fields are {', '.join(sorted(_PHYSICS))}"
            )
        self._joints.append(Joint(label, joint or Fixed(), parent, name, inner, **physics))
        self._bodies.append(Body(name, inertia or Inertia.zero(), shapes))
        if flexible is not None:
            bodies, made = flexible_parts(self._joints[-1], flexible)
            self._bodies += bodies
            self._joints += made
        return name

    def frame(
        self,
        name: str,
        body: str,
        *,
        rotation: ArrayLike | None = None,
        position: ArrayLike | None = None,
    ) -> str:
        """Add a named frame on a body."""
        self._frames.append(Frame(name, body, _placed(f"frame {name!r}", rotation, position)))
        return name

    def couple(self, joint: str, master: str, *, ratio: float = 1.0, offset: float = 0.0) -> None:
        """Record q(joint) = ratio q(master) + offset."""
        self._couplings.append(Coupling(joint, master, ratio, offset))

    def close(
        self,
        name: str,
        inner: str | None,
        outer: str,
        *,
        joint: JointType | SoftFinger | None = None,
        rotation: ArrayLike | None = None,
        position: ArrayLike | None = None,
        rows: tuple[str, ...] | None = None,
    ) -> None:
        """Close a loop by a joint (fixed unless given) between frames or bodies; see `hinge.close`."""
        place = _placed(f"closure {name!r}", rotation, position)
        self._closures.append(Closure(name, inner, outer, joint or Fixed(), place, rows))

    def contact(self, name: str, frame: str, on: str | None = None, **more: Any) -> None:
        """Add a pair that may touch; `more` are further fields of `hinge.Contact`."""
        unknown = set(more) - {f.name for f in fields(Contact)}
        if unknown:
            raise ModelError(
                f"contact {name!r}: expected fields of a Contact, got {', '.join(sorted(unknown))}"
            )
        self._contacts.append(Contact(name, frame, on, **more))

    def build(self, *, strict: bool | None = False) -> Robot:
        """Return the robot; doubtful physics is a warning, with `strict` an error, with None ignored."""
        robot = make_robot(
            self.name,
            self._bodies,
            self._joints,
            frames=self._frames,
            couplings=self._couplings,
            gravity=self.gravity,
            closures=self._closures,
            contacts=self._contacts,
        )
        return enforce(robot, strict=strict)


def _placed(where: str, rotation: ArrayLike | None, position: ArrayLike | None) -> Transform:
    try:
        return Transform.place(rotation, position)
    except ArgumentError as error:
        raise ModelError(f"{where}: {error}") from None


#: The fields of a joint that `Builder.body` does not set itself.
_PHYSICS = {f.name for f in fields(Joint)} - {
    "name",
    "type",
    "parent",
    "child",
    "inner",
    "q_slice",
    "qd_slice",
}
