"""The moves of a derivation: named identities read from left to right, and their adjoints.

A move rewrites one word wherever it stands. Each is a consequence of the axioms (a test proves them), so
any sequence of moves keeps an expression equal to what it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from hinge.algebra import (
    E0,
    Articulated,
    Body,
    Coefficient,
    D,
    Di,
    Dr,
    Dri,
    Expr,
    Joint,
    Leaf,
    M,
    Polynomial,
    R,
    Ups,
    Word,
    identity,
    loaded,
    no_inverse,
    passive,
    phi,
    polynomial,
    whole,
)
from hinge.rules.completion import Rule, Table
from hinge.rules.theory import has_roots, is_hybrid, is_loaded


@dataclass(frozen=True, eq=False)
class Move:
    """left → right, where left is one word; with the name of the identity and its source.

    `holds_on` guards it: a move that holds on "serial chains" only is not made for trees.
    """

    name: str
    left: Expr
    right: Expr
    source: str
    holds_on: str = "trees"

    @cached_property
    def table(self) -> Table:
        """The move and its adjoint as rewriting rules."""
        left, right = polynomial(self.left, no_inverse), polynomial(self.right, no_inverse)
        pairs = {self._word(left): right.terms}
        if left.T.key != left.key:
            pairs[self._word(left.T)] = right.T.terms
        return Table.of([Rule(0, w, terms, ()) for w, terms in pairs.items()])

    @staticmethod
    def _word(p: Polynomial) -> Word:
        (word,) = p.terms
        return word

    def apply(self, terms: Mapping[Word, Coefficient]) -> Mapping[Word, Coefficient] | None:
        """Return the terms with the move applied everywhere, or None if it does not apply."""
        found, uses = self.table.normal_form(terms)
        return found if uses else None

    def __str__(self) -> str:
        return f"{self.name}: {self.left} = {self.right}  [{self.source}]"


def family_moves(x: Articulated) -> Iterator[Move]:
    """Yield the moves of one articulated-body family."""
    one = identity(Body)
    w = identity(x.H.range) - x.H @ x.psi @ x.K
    yield Move("inverse of the mass matrix", x.Mi, w.T @ x.Di @ w, "JPL 88-11 (4.16)")
    yield Move("propagation φ from ψ", x.psi @ x.K @ x.H @ phi, phi - x.psi, "JPL 88-11 (a.18)")
    yield Move("propagation ψ from φ", phi @ x.K @ x.H @ x.psi, phi - x.psi, "JPL 88-11 (a.28)")
    split = x.psi @ x.P + x.P @ phi.T - x.P
    yield Move("split of ψ M φᵀ", x.psi @ M @ phi.T, split, "JPL 88-11 (a.46)")
    if x.load is None:
        split = x.psi @ x.P + x.P @ x.psi.T - x.P
        yield Move("split of ψ M ψᵀ", x.psi @ M @ x.psi.T, split, "JPL 88-11 (a.47)")
    yield Move("definition of the gain", x.P @ x.H.T @ x.Di, x.G, "JPL 88-11 (a.2)")
    seen = x.D if x.load is None else x.D - x.load
    yield Move("definition of D", x.H @ x.P @ x.H.T, seen, "JPL 88-11 (a.1)")
    yield Move("shifted gain", phi @ x.G, x.G + phi @ x.K, "JPL 88-11 (a.13)")
    if x.load is None:
        yield Move("what is filtered stays", x.psi @ x.G, x.G, "SOA slides, ψ P Hᵀ = P Hᵀ")
    yield Move("inertia seen by the hinge", x.P @ x.H.T, x.G @ x.D, "JPL 88-11 (a.2)")
    joint = identity(x.H.range)
    seen = joint if x.load is None else joint - x.load @ x.Di
    yield Move("hinge of the gain", x.H @ x.G, seen, "JPL 88-11 (a.1), (a.2)")
    yield Move("D and its inverse", x.D @ x.Di, identity(x.H.range), "definition of D⁻¹")
    yield Move("D⁻¹ and its inverse", x.Di @ x.D, identity(x.H.range), "definition of D⁻¹")
    yield Move("articulated shift", x.Es, x.definitions()[x.Es], "SOA slides, Eψ = E − K H")
    yield Move("ψ is the sum of its steps", x.psi @ x.Es, x.psi - one, "JPL 88-11 (a.8)")


def common_moves() -> Iterator[Move]:
    """Yield the moves that need no articulated bodies."""
    yield Move("split of φ M φᵀ", phi @ M @ phi.T, phi @ R + R @ phi.T - R, "SOA slides, composite bodies")
    yield Move("composite body at the base", phi @ R @ E0.T, R @ E0.T, "nothing lies beyond the base")
    yield Move("no step beyond the base", phi @ E0.T, E0.T, "nothing lies beyond the base")


def serial_moves(x: Articulated) -> Iterator[Move]:
    """Yield the moves that hold on serial chains only."""
    kernel = x.psi.T @ x.H.T @ x.Di @ x.H @ x.psi
    split = Ups @ x.psi + x.psi.T @ Ups - Ups
    yield Move("split of ψᵀ Hᵀ D⁻¹ H ψ", kernel, split, "operational-space recursion", "serial chains")


def root_moves() -> Iterator[Move]:
    """Yield the moves of the square root of D."""
    one = identity(Joint)
    yield Move("square of the root of D", Dr @ Dr.T, D, "definition of D½")
    yield Move("square of the root of D⁻¹", Dri.T @ Dri, Di, "definition of D½")
    yield Move("root of D and its inverse", Dr @ Dri, one, "definition of D⁻½")
    yield Move("D⁻½ and its inverse", Dri @ Dr, one, "definition of D⁻½")
    yield Move("root of D from its inverse", D @ Dri.T, Dr, "definition of D½")
    yield Move("root of D⁻¹ from its inverse", Di @ Dr, Dri.T, "definition of D½")


COMMON: tuple[Move, ...] = tuple(common_moves())
MOVES: tuple[Move, ...] = (*family_moves(whole), *COMMON)
HYBRID_MOVES: tuple[Move, ...] = (*family_moves(passive), *MOVES)
LOADED_MOVES: tuple[Move, ...] = (*family_moves(loaded), *MOVES)
SERIAL_MOVES: tuple[Move, ...] = (*MOVES, *serial_moves(whole))
ROOT_MOVES: tuple[Move, ...] = (*root_moves(), *MOVES)


def moves_for(letters: set[Leaf], holds_on: str = "trees") -> tuple[Move, ...]:
    """Return the moves that may apply to expressions with these letters, on trees or on serial chains."""
    if holds_on == "serial chains":
        return SERIAL_MOVES
    if is_hybrid(letters):
        return HYBRID_MOVES
    if is_loaded(letters):
        return LOADED_MOVES
    return ROOT_MOVES if has_roots(letters) else MOVES
