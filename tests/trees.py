"""Random trees with a property, found by looking for it: no seed is known to have one for good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from hinge.model import Robot
from hinge.robots import random_tree


def first_tree(
    n: int,
    fits: Callable[[Robot], bool],
    joints: Sequence[str] | None = None,
    *,
    start: int = 0,
    **options: Any,
) -> Robot:
    """Return the first random tree from a seed on that fits."""
    made = (random_tree(n, seed, joints, **options) for seed in count(start))
    return next(r for r in made if fits(r))


def tree_of_all(n: int, joints: Sequence[str], **options: Any) -> Robot:
    """Return a random tree of n bodies that has all these joint types."""
    return first_tree(n, lambda r: kinds_of(r) == set(joints), joints, **options)


def richest_tree(n: int, seeds: Sequence[int] = range(1, 41, 2)) -> Robot:
    """Return the random tree with the most joint types among some."""
    return max((random_tree(n, seed) for seed in seeds), key=lambda r: len(kinds_of(r)))


def kinds_of(robot: Robot) -> set[str]:
    """Return the kinds of a robot's joints."""
    return {j.type.kind for j in robot.joints}
