"""Arguments of the compiler: one expression, several, or several by name; and their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from hinge.algebra import Expr, Leaf, common_terms, factored, leaf, letters_of, with_names
from hinge.errors import ArgumentError
from hinge.rules import determinant_steps, has_determinant, theory_of

Expressions: TypeAlias = Expr | Sequence[Expr] | Mapping[str, Expr]

#: Sums of at most this many words are printed as they are, longer ones factored.
FLAT_WORDS = 4


def named(expressions: Expressions) -> dict[str, Expr]:
    """Return expressions by name; without names they are y, or y1, y2 …"""
    if isinstance(expressions, Expr):
        expressions = {"y": expressions}
    if isinstance(expressions, Mapping):
        found = dict(expressions)
    elif isinstance(expressions, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        found = {f"y{k + 1}": e for k, e in enumerate(expressions)}
    else:
        raise ArgumentError(
            f"expressions: expected an expression of hinge.algebra, a list of them, or a dict by name, got "
            f"{type(expressions).__name__}"
        )
    for name, e in found.items():
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"expressions: expected strings as names, got the key {name!r}")
        if not isinstance(e, Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"{name}: expected an expression of hinge.algebra, got {type(e).__name__}")
        if not name.isidentifier():
            raise ArgumentError(
                f"name: expected a Python identifier, since outputs become variables, got {name!r}"
            )
    if not found:
        raise ArgumentError("expressions: expected at least one, got none")
    distinct_names(*found.values())
    return found


def distinct_names(*expressions: Expr) -> None:
    """Refuse two letters of one name: arguments, words and proofs go by names."""
    seen: dict[str, Leaf] = {}
    for x in letters_of(expressions):
        if seen.setdefault(x.name, x) is not x:
            raise ArgumentError(
                f"{x.name}: two different letters have this name, {seen[x.name].range} ← "
                f"{seen[x.name].domain} and {x.range} ← {x.domain}; give yours another name"
            )


def determined(e: Expr) -> list[tuple[str, str, Expr]]:
    """Return the forms of an expression while its log determinants are taken apart, with rule and source."""
    return [("given", "", e), *determinant_steps(e)]


def written(name: str, e: Expr) -> list[str]:
    """Return an expression as lines of text: common subterms under names of their own."""
    if has_determinant(e):
        return [f"{name} = {e}"]
    p, _ = theory_of(e).multiplied_out(e)
    if len(p.terms) <= FLAT_WORDS:
        return [f"{name} = {e}"]
    whole = factored(p)
    names: dict[Expr, Expr] = {}
    letters = iter("νμελκ")
    for term in (t for t in common_terms([whole]) if len(str(t)) > 8):
        glyph = next(letters, f"x{len(names)}")
        names[term] = leaf(f"n{len(names)}", term.range, term.domain, unicode=glyph, meaning="a common term")
    lines = [f"{name} = {with_names(whole, names, top=True)}"]
    lines += [f"    {x} = {with_names(t, names, top=True)}" for t, x in reversed(names.items())]
    return lines
