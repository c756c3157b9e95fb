"""The bodies of a compiled program: those of the robot, fixed ones merged into their parents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hinge.algebra import Joint
from hinge.binding import RobotBinding
from hinge.explain.markup import shortened


@dataclass(frozen=True)
class Worked:
    """A body of a program: its number and name, the bodies fixed on it, and its joint."""

    number: int
    name: str
    fixed: tuple[str, ...]
    joint: str
    kind: str
    dofs: int
    parent: int

    @property
    def title(self) -> str:
        """The tooltip of the body."""
        carried = f", with {', '.join(self.fixed)} fixed on it" if self.fixed else ""
        return shortened(f"{self.number}: {self.name}{carried}; joint {self.joint}, {self.kind}", 300)


def worked_bodies(binding: RobotBinding) -> list[Worked]:
    """Return the bodies of the program, base first."""
    parts: list[list[str]] = [[] for _ in binding.tree.parents]
    for body, carrier in zip(binding.robot.bodies, binding.carriers, strict=True):
        parts[carrier].append(body.name)
    found: list[Worked] = []
    for k, parent in enumerate(binding.tree.parents):
        joints = [place.joint for place in binding.members(k)]
        own = [j.child for j in joints]
        names, kinds = " + ".join(j.name for j in joints), " + ".join(j.type.kind for j in joints)
        fixed = tuple(n for n in parts[k] if n not in own)
        found.append(Worked(k, " + ".join(own), fixed, names, kinds, binding.size(Joint, k), parent))
    return found


def short_names(names: Sequence[str]) -> list[str]:
    """Return the names without their common prefix and usual suffix, if they stay distinct.

    panda_link1, panda_link2, … become link1, link2; left_1_link, right_1_link, … become left_1, right_1.
    """
    ends = Counter(name[name.rfind("_") :] for name in names if name.rfind("_") > 0)
    end, count = max(ends.items(), key=lambda x: x[1], default=("", 0))
    found = [name.removesuffix(end) for name in names] if 2 * count > len(names) else list(names)
    starts = {name[: name.find("_") + 1] for name in found}
    if len(starts) == 1 and len(found) > 1:
        found = [name.removeprefix(next(iter(starts))) for name in found]
    return found if len(set(found)) == len(set(names)) and all(found) else list(names)
