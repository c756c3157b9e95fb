"""What readers of files share: the joint between root and world, and what they say of couplings."""

from __future__ import annotations

from collections.abc import Sequence

from hinge.io.xml import Element
from hinge.model import Body, Coupling, Joint, Problem, joints


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
    return Joint(free_name(taken), joints.Free() if floating else joints.Fixed(), None, body)


def free_name(taken: set[str]) -> str:
    """Return "root_joint", with underscores after it if the name is taken."""
    name = "root_joint"
    while name in taken:
        name += "_"
    return name


def recorded_couplings(couplings: Sequence[Coupling]) -> list[Problem]:
    """Return the note that coupled joints have coordinates of their own; none without couplings."""
    if not couplings:
        return []
    names = ", ".join(f"{c.joint!r} follows {c.master!r}" for c in couplings[:3])
    more = f" and {len(couplings) - 3} more" if len(couplings) > 3 else ""
    own = "have coordinates of their own" if len(couplings) > 1 else "has a coordinate of its own"
    message = f"{own} ({names}{more}); the relation is kept in robot.couplings (see embed_couplings)"
    where = f"{len(couplings)} coupled joint{'s' * (len(couplings) > 1)}"
    return [Problem(where, "couplings recorded", message, note=True)]
