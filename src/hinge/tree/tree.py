"""Topology of a system of hinged bodies: a parent array and what follows from it.

Bodies are numbered 0 … n − 1, base first, so that parent < child; the world is −1. Featherstone
section 7.2: λ is the parent array, μ the children, ν the subtree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hinge.errors import ModelError

WORLD = -1


@dataclass(frozen=True)
class Tree:
    """A forest of bodies hanging on the world, given by the parent of each body."""

    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        for child, parent in enumerate(self.parents):
            if not WORLD <= parent < child:
                raise ModelError(
                    f"parents[{child}]: expected -1 (the world) or a body before its child, got {parent}"
                    "; sort with base_first_order() first"
                )

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children μ of each body, in order."""
        found: list[list[int]] = [[] for _ in self.parents]
        for child, parent in enumerate(self.parents):
            if parent != WORLD:
                found[parent].append(child)
        return tuple(tuple(c) for c in found)

    @property
    def roots(self) -> tuple[int, ...]:
        """The bodies that hang on the world."""
        return tuple(i for i, p in enumerate(self.parents) if p == WORLD)

    @property
    def leaves(self) -> tuple[int, ...]:
        """The bodies without children."""
        inner = set(self.parents)
        return tuple(i for i in range(len(self)) if i not in inner)

    @property
    def depth(self) -> tuple[int, ...]:
        """The number of joints between the world and each body (1 for a root)."""
        found: list[int] = []
        for parent in self.parents:
            found.append(1 if parent == WORLD else found[parent] + 1)
        return tuple(found)

    def support(self, body: int) -> tuple[int, ...]:
        """Return the bodies from the root down to `body`, itself included."""
        path: list[int] = []
        while body != WORLD:
            path.append(body)
            body = self.parents[body]
        return tuple(reversed(path))

    def subtree(self, body: int) -> tuple[int, ...]:
        """Return `body` and all its descendants, ν of (7.8), in order."""
        inside = {body}
        for i in range(body + 1, len(self)):
            if self.parents[i] in inside:
                inside.add(i)
        return tuple(sorted(inside))

    def common_ancestor(self, a: int, b: int) -> int:
        """Return the nearest body that supports both, or −1 (the world)."""
        while a != b:
            if a > b:
                a = self.parents[a]
            else:
                b = self.parents[b]
        return a

    def path(self, a: int, b: int) -> tuple[int, ...]:
        """Return the bodies whose inner joints lie between a and b, those of a's side first."""
        top = self.common_ancestor(a, b)
        up = [i for i in reversed(self.support(a)) if i > top]
        down = [i for i in self.support(b) if i > top]
        return tuple(up + down)

    @property
    def runs(self) -> tuple[tuple[int, ...], ...]:
        """The unbranched runs: maximal chains in which each body is the only child of the last.

        Every body is in exactly one run. A run starts at a root or below a branching.
        """
        children = self.children
        starts = [i for i, p in enumerate(self.parents) if p == WORLD or len(children[p]) > 1]
        found: list[tuple[int, ...]] = []
        for body in starts:
            run = [body]
            while len(children[run[-1]]) == 1:
                run.append(children[run[-1]][0])
            found.append(tuple(run))
        return tuple(found)

    @property
    def is_serial(self) -> bool:
        """Whether it is one chain without branches."""
        return all(parent == child - 1 for child, parent in enumerate(self.parents))


def base_first_order(parents: Sequence[int]) -> tuple[int, ...]:
    """Return an order of the bodies in which every parent comes before its children.

    `parents` may be in any order, with −1 for the world. Depth first, children in the order given,
    so that an unbranched run keeps together. A cycle raises a ModelError that lists its members.
    """
    children: dict[int, list[int]] = {}
    for child, parent in enumerate(parents):
        if not WORLD <= parent < len(parents):
            raise ModelError(
                f"parents[{child}]: expected a number from -1 to {len(parents) - 1}, got {parent}"
            )
        children.setdefault(parent, []).append(child)
    order: list[int] = []
    waiting = list(reversed(children.get(WORLD, [])))
    while waiting:
        body = waiting.pop()
        order.append(body)
        waiting.extend(reversed(children.get(body, [])))
    if len(order) < len(parents):
        raise ModelError(f"parents: bodies {find_loop(parents)} form a loop")
    return tuple(order)


def find_loop(parents: Sequence[int]) -> list[int]:
    """Return the members of one loop of parents, in ascending order; none when all reach the world."""
    clear = {WORLD}
    for start in range(len(parents)):
        seen: dict[int, int] = {}
        body = start
        while body not in clear and body not in seen:
            seen[body] = len(seen)
            body = parents[body]
        if body in seen:
            return sorted(i for i, step in seen.items() if step >= seen[body])
        clear.update(seen)
    return []
