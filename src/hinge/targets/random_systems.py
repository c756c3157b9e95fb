"""Random systems, and counterexamples on them: numbers that refute a false identity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hinge.algebra import (
    STANDARD,
    Active,
    Body,
    Constraint,
    Expr,
    H,
    Ha,
    Hp,
    Joint,
    Na,
    Node,
    Np,
    One,
    Parameter,
    Passive,
    Placement,
    Resistance,
    World,
    appendix,
    held,
)
from hinge.errors import ArgumentError, SpaceError
from hinge.targets.dense import MEANING, SingularError, System
from hinge.tree import WORLD

#: Two sides differ when they do by more than this part of the larger one …
TOLERANCE = 1e-8
#: … and by more than this part of their terms taken without signs, which cancellation may leave.
ROUNDING = 1e-12


def random_system(parents: Sequence[int], seed: int, dofs: Sequence[int] | None = None) -> System:
    """Return a system with random well-conditioned values for all letters that are given.

    A hinge has 0 to 3 coordinates unless `dofs` says how many; each is passive or active. One to three
    nodes sit on random bodies. Leaves of your own get random values when they are first met.
    """
    n = len(parents)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 4, n)
    joint = tuple(int(k) for k in (drawn if dofs is None else dofs))
    if len(joint) != n or any(not 0 <= k <= 6 for k in joint):
        raise ArgumentError(f"dofs: {joint} came; wanted {n} numbers from 0 to 6, one for each hinge")
    is_passive = [rng.random(k) < 0.5 for k in joint]
    nodes = np.bincount(rng.integers(0, n, rng.integers(1, 4)), minlength=n) if n else drawn
    sizes = {
        Joint: joint,
        Body: (6,) * n,
        World: (6,),
        Node: tuple(6 * int(k) for k in nodes),
        Passive: tuple(int(p.sum()) for p in is_passive),
        Active: tuple(int((~p).sum()) for p in is_passive),
        Parameter: (10,) * n,
        Placement: (7,) * n,
        Resistance: tuple(3 * k for k in joint),
        Constraint: tuple(int(k) for k in rng.integers(0, 2, n)),
    }
    empty = System(tuple(parents), sizes, {}, seed)
    rows = np.concatenate([np.zeros(0, dtype=bool), *is_passive])
    one = np.eye(len(rows))
    values = {Hp: empty.matrix(H)[rows], Ha: empty.matrix(H)[~rows], Np: one[rows], Na: one[~rows]}
    values[held] = 1.0 - rows
    given = (x for x in STANDARD.values() if x not in MEANING and x is not appendix.S)
    values = {x: empty.evaluate(x) for x in given if x not in values} | values
    return replace(empty, values=values)


@dataclass(frozen=True)
class Counterexample:
    """Where two expressions differ: `random_system(parents, seed, dofs)` is the system.

    `difference` is relative to the larger side. `block` is where it is largest: the row's body and the
    column's, −1 for the world; a vector has no column. `left` and `right` are the entries there.
    """

    parents: tuple[int, ...]
    seed: int
    dofs: tuple[int, ...]
    difference: float
    left_norm: float
    block: tuple[int, ...]
    left: float
    right: float

    def __str__(self) -> str:
        what = "block" if len(self.block) == 2 else "body"
        place = f"at {what} {self.block if len(self.block) == 2 else self.block[0]} " if self.block else ""
        return (
            f"differs on a tree with parents {self.parents}, dofs {self.dofs}, seed {self.seed}: {place}"
            f"left is {self.left:.6g}, right is {self.right:.6g} (relative difference {self.difference:.2g})"
        )


def counterexample(
    left: Expr, right: Expr, seeds: Iterable[int] = range(8), serial: bool = False
) -> Counterexample | None:
    """Return the first random tree on which two expressions differ, or None when they agree on all.

    The trees branch unless `serial`. Every second one has a free base, so that a node can move in all
    ways. A tree on which an inverse does not exist says nothing; when all are so, that is an error.
    """
    if (left.range, left.domain) != (right.range, right.domain):
        raise SpaceError(
            f"counterexample: {left} is {left.range} ← {left.domain}, but {right} is {right.range} ← "
            f"{right.domain}; expressions to compare share both spaces"
        )
    seeds, failed = tuple(seeds), list[SingularError]()
    for seed in seeds:
        try:
            found = _difference(_example(seed, serial), left, right)
        except SingularError as error:
            failed.append(error)
        else:
            if found is not None:
                return found
    if failed and len(failed) == len(seeds):
        raise SingularError(f"seeds: none of these random trees can judge; pass others. {failed[0]}")
    return None


def _example(seed: int, serial: bool) -> System:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 7))
    branching = (WORLD, 0, 0, *(int(rng.integers(WORLD, i)) for i in range(3, n)))
    dofs = (6, *(int(k) for k in rng.integers(0, 4, n - 1))) if seed % 2 else None
    return random_system(tuple(range(WORLD, n - 1)) if serial else branching, seed, dofs)


def _difference(system: System, left: Expr, right: Expr) -> Counterexample | None:
    one, other = system.matrix(left), system.matrix(right)
    gap, scale = np.linalg.norm(one - other), max(np.linalg.norm(one), np.linalg.norm(other))
    terms = np.linalg.norm(system.magnitude(left)) + np.linalg.norm(system.magnitude(right))
    number = left.range is One and left.domain is One  # a log determinant is of the order of one
    if gap <= TOLERANCE * scale or gap <= ROUNDING * terms or (number and gap <= TOLERANCE):
        return None
    place = np.unravel_index(np.argmax(np.abs(one - other)), one.shape)
    block = tuple(
        WORLD if space is World else int(np.searchsorted(system.bounds(space), at, side="right")) - 1
        for space, at in zip((left.range, left.domain), place, strict=True)
        if space is not One
    )
    assert system.seed is not None
    return Counterexample(
        system.parents, system.seed, system.sizes[Joint], float(gap / scale), float(np.linalg.norm(one)),
        block, float(one[place]), float(other[place]),
    )  # fmt: skip
