"""The joint between the root of a file and the world."""

from __future__ import annotations

from hinge.io.xml import Element
from hinge.model import Body, Joint, joints


def hang_roots(root: Element, bodies: list[Body], moving: list[Joint], *, floating: bool) -> list[Joint]:
    """Return the joints and one more between the world and the only root link.

    It is fixed, or free with `floating`, and called "root_joint" (with underscores after it if the
    file uses that name itself).
    """
    carried = {j.child for j in moving}
    roots = [b.name for b in bodies if b.name not in carried]
    if len(roots) > 1:
        listed = ", ".join(map(repr, roots[:6])) + (" …" if len(roots) > 6 else "")
        root.fail(f"{len(roots)} links are nobody's child: {listed}; URDF has one root link")
    return [root_joint(roots[0], {j.name for j in moving}, floating=floating), *moving]


def root_joint(body: str, taken: set[str], *, floating: bool) -> Joint:
    """Return the joint between the world and a root body."""
    name = "root_joint"
    while name in taken:
        name += "_"
    return Joint(name, joints.Free() if floating else joints.Fixed(), None, body)
