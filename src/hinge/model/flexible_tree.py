"""A flexible body in a tree: what its rigid part carries, and what is left of it where its modes are
locked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hinge.errors import ModelError
from hinge.model.flexible import Attachment, Flexible
from hinge.model.joints import Fixed, Flexure, Free, Modes
from hinge.model.parts import Body, Joint
from hinge.spatial import Array, Transform

#: Shapes that move the joint by less than this part of their largest motion vanish there.
VANISHING = 1e-9


def flexible_parts(joint: Joint, flexible: Flexible) -> tuple[list[Body], list[Joint]]:
    """Return the bodies and joints of a flexible body whose rigid part is carried by a joint.

    parent ──joint──▶ name ──Modes──▶ name_flexible ──Flexure──▶ name_attachment
    """
    name = joint.child
    if not isinstance(flexible, Flexible):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"body {name!r}: flexible: expected a hinge.Flexible, got {flexible!r}")
    if not isinstance(joint.type, Free):
        _refuse_motion(name, joint, flexible)
    body = Body(f"{name}_flexible", flexible=flexible)
    limit = flexible.limit
    modes = Joint(f"{name}_modes", Modes(flexible.modes), name, body.name, lower=-limit, upper=limit)
    bodies, joints = [body], [modes]
    for f in flexible.frames:
        bodies.append(Body(f"{name}_{f.name}"))
        title, child = f"{name}_{f.name}_flexure", f"{name}_{f.name}"
        joints.append(Joint(title, flexure_of(f), body.name, child, f.placement, lower=-limit, upper=limit))
    return bodies, joints


def flexure_of(f: Attachment) -> Flexure:
    """Return the joint type of an attachment, its shapes in the attachment's axes."""
    e = f.placement.E
    shapes = np.concatenate([e @ f.shapes[:3], e @ f.shapes[3:]])
    second = None if f.second is None else np.einsum("ab,bjk->ajk", e, f.second)
    return Flexure(shapes, second)  # pyright: ignore[reportArgumentType]


def _refuse_motion(name: str, joint: Joint, flexible: Flexible) -> None:
    """Refuse shapes that move an attachment where the joint is: it would not be the joint that moves."""
    size = max(float(np.abs(flexible.shapes).max()), 1e-300)
    for f in flexible.frames:
        here = np.allclose(f.placement.r, joint.outer.r, rtol=0, atol=1e-12)
        if here and np.abs(f.shapes).max() > VANISHING * size:
            raise ModelError(
                f"body {name!r}: expected shapes that vanish where its {joint.type.kind} joint is, got "
                "some that "
                f"move attachment {f.name!r} there; take flexible.at({f.name!r})"
            )


def locked_modes(joints: Sequence[Joint], at: dict[str, Array]) -> Iterator[Joint]:
    """Yield the joints that are fixed where these modes are locked: the modes, and their attachments."""
    flexed = {j.child: at[j.name] for j in joints if j.name in at and isinstance(j.type, Modes)}
    for j in joints:
        if j.child in flexed:
            yield Joint(j.name, Fixed(), j.parent, j.child, j.inner, j.outer)
        elif j.parent in flexed:
            inner = j.type.placement(flexed[j.parent]) @ j.inner
            yield Joint(j.name, Fixed(), j.parent, j.child, inner, j.outer)


def rigid_at(body: Body, eta: Array) -> Body:
    """Return a flexible body as a rigid one, held at η."""
    assert body.flexible is not None
    return Body(body.name, body.inertia + body.flexible.inertia(eta), body.shapes)


def moved_body(body: Body, x: Transform) -> Body:
    """Return a body in another frame."""
    shapes = tuple(replace(s, placement=s.placement @ x.inv()) for s in body.shapes)
    flexible = None if body.flexible is None or x.is_identity() else body.flexible.in_frame(x)
    return Body(body.name, x.inertia(body.inertia), shapes, flexible or body.flexible)
