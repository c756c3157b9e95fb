"""Random systems, and counterexamples on them: numbers that refute a false identity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hinge.algebra import (
    E0,
    STANDARD,
    Active,
    Body,
    Constraint,
    E,
    Expr,
    H,
    Ha,
    Hp,
    Joint,
    Leaf,
    Link,
    Mount,
    Na,
    Node,
    Np,
    One,
    Parameter,
    Passive,
    Placement,
    Resistance,
    World,
    all_letters,
    appendix,
    held,
)
from hinge.errors import ArgumentError, SpaceError
from hinge.targets.dense import CROSSED, MEANING, Array, SingularError, System, cross
from hinge.tree import WORLD

#: Two sides differ when they do by more than this part of the larger one …
TOLERANCE = 1e-8
#: … and by more than this part of their terms taken without signs, which cancellation may leave.
ROUNDING = 1e-12
#: Sizes of the blocks of bodies that random systems have: no identity is about six numbers.
NARROWEST, WIDEST = 4, 9
#: Letters that are about blocks of one size: S moves them to the parent as they are.
ONE_WIDTH = frozenset({appendix.S, appendix.Dphi, appendix.Dpsi, appendix.L, appendix.Phi, appendix.Psi})


def random_system(
    parents: Sequence[int],
    seed: int,
    dofs: Sequence[int] | None = None,
    widths: Sequence[int] | None = None,
    *,
    spatial: bool = False,
) -> System:
    """Return a system with random well-conditioned values for all letters that are given.

    The blocks of the Body space have 4 to 9 numbers unless `widths` says how many, at least 6 where a node
    sits. A hinge has 0 to 3 coordinates unless `dofs` says how many; each is passive or active. One to
    three nodes and two ends of closures sit on random bodies. Leaves of your own get random values when
    they are first met. With `spatial` blocks have six numbers and E, E₀ are changes of frames, which keep
    cross products.
    """
    n = len(parents)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 4, n)
    joint = tuple(int(k) for k in (drawn if dofs is None else dofs))
    widths = (6,) * n if spatial else widths
    most = (WIDEST,) * n if widths is None else tuple(int(k) for k in widths)
    if len(most) != n or min(most, default=0) < 0:
        raise ArgumentError(f"widths: expected {n} sizes of blocks, one for each body, got {most}")
    if len(joint) != n or any(not 0 <= k <= width for k, width in zip(joint, most, strict=True)):
        raise ArgumentError(
            f"dofs: expected {n} numbers, one for each hinge, from 0 to the size of the body's block {most}, "
            f"got {joint}"
        )
    is_passive = [rng.random(k) < 0.5 for k in joint]
    nodes = np.bincount(rng.integers(0, n, rng.integers(1, 4)), minlength=n) if n else drawn
    constraints = tuple(int(k) for k in rng.integers(0, 2, n))
    ends = np.bincount(np.random.default_rng([seed, 1]).integers(0, n, 2), minlength=n) if n else drawn
    least = [max(NARROWEST, k, 6 if at else 0) for k, at in zip(joint, nodes + ends, strict=True)]
    sizes = {
        Joint: joint,
        Body: most if widths is not None else tuple(int(rng.integers(k, WIDEST + 1)) for k in least),
        World: (6,),
        Node: tuple(6 * int(k) for k in nodes),
        Link: tuple(6 * int(k) for k in ends),
        Passive: tuple(int(p.sum()) for p in is_passive),
        Active: tuple(int((~p).sum()) for p in is_passive),
        Parameter: (10,) * n,
        Placement: (7,) * n,
        Mount: (6,) * n,
        Resistance: tuple(3 * k for k in joint),
        Constraint: constraints,
    }
    empty = System(tuple(parents), sizes, {}, seed)
    rows = np.concatenate([np.zeros(0, dtype=bool), *is_passive])
    one = np.eye(len(rows))
    values = {Hp: empty.matrix(H)[rows], Ha: empty.matrix(H)[~rows], Np: one[rows], Na: one[~rows]}
    values[held] = 1.0 - rows
    if spatial:
        values |= frame_changes(empty, rng)
    given = (x for x in STANDARD.values() if x not in MEANING and x is not appendix.S)
    values = {x: empty.evaluate(x) for x in given if x not in values} | values
    return replace(empty, values=values)


def frame_changes(system: System, rng: np.random.Generator) -> dict[Leaf, Array]:
    """Return values of E and E₀ that carry forces from frame to frame."""
    found = {x: np.zeros_like(system.matrix(x)) for x in (E, E0)}
    for child, parent in enumerate(system.parents):
        turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        turn *= np.linalg.det(turn)
        zero = np.zeros((3, 3))
        block = np.block([[turn, cross(rng.standard_normal(3)) @ turn], [zero, turn]])
        x, row = (E0, 0) if parent == WORLD else (E, parent)
        found[x][6 * row : 6 * row + 6, 6 * child : 6 * child + 6] = block
    return found


@dataclass(frozen=True)
class Counterexample:
    """Where two expressions differ: `random_system(parents, seed, dofs, widths, spatial=…)` is the system.

    `difference` is relative to the larger side. `block` is where it is largest: the row's body and the
    column's, −1 for the world; a vector has no column. `left` and `right` are the entries there.
    """

    parents: tuple[int, ...]
    seed: int
    dofs: tuple[int, ...]
    widths: tuple[int, ...]
    difference: float
    left_norm: float
    block: tuple[int, ...]
    left: float
    right: float
    spatial: bool = False

    def __str__(self) -> str:
        what = "block" if len(self.block) == 2 else "body"
        place = f"at {what} {self.block if len(self.block) == 2 else self.block[0]} " if self.block else ""
        return (
            f"differs on a tree with parents {self.parents}, dofs {self.dofs}, widths {self.widths}, "
            f"seed {self.seed}{', frames in space' if self.spatial else ''}: {place}"
            f"left is {self.left:.6g}, right is {self.right:.6g} "
            f"(relative difference {self.difference:.2g})"
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
    used = all_letters((left, right))
    one_width, spatial = bool(ONE_WIDTH & used), any(map(is_crossed, used))
    for seed in seeds:
        try:
            found = _difference(_example(seed, serial, one_width, spatial), left, right)
        except SingularError as error:
            failed.append(error)
        else:
            if found is not None:
                return replace(found, spatial=spatial)
    if failed and len(failed) == len(seeds):
        raise SingularError(f"seeds: none of these random trees can judge; pass others. {failed[0]}")
    return None


def is_crossed(x: Leaf) -> bool:
    """Tell whether a letter is a cross product, which is about six numbers."""
    return x.origin is not None and x.origin.kind in CROSSED


def _example(seed: int, serial: bool, one_width: bool, spatial: bool) -> System:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 7))
    branching = (WORLD, 0, 0, *(int(rng.integers(WORLD, i)) for i in range(3, n)))
    dofs = (6, *(int(k) for k in rng.integers(0, 4, n - 1))) if seed % 2 else None
    widths = (6,) * n if one_width else None
    parents = tuple(range(WORLD, n - 1)) if serial else branching
    return random_system(parents, seed, dofs, widths, spatial=spatial)


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
        system.parents, system.seed, system.sizes[Joint], system.sizes[Body], float(gap / scale),
        float(np.linalg.norm(one)), block, float(one[place]), float(other[place]),
    )  # fmt: skip
