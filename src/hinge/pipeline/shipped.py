"""Searches whose results ship with the package: the derivations of the catalogue, found once and read back.

A table holds for each expression the steps to its cheapest form. It is a short cut and no authority: a test
derives all of it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from hinge.algebra import STANDARD, Expr, Leaf, Polynomial, leaf_of
from hinge.rules import Found, SearchStep, read_number, read_word, written_word
from hinge.sweeps import Cost

FOLDER, FILE = "tables", "derivations.json"
Items = Sequence[tuple[str, Expr]]


def key(items: Items) -> str:
    """Return the key of a search: the given expressions without their names."""
    return "; ".join(repr(e) for _, e in items)


def frozen_search(items: Items, start: Sequence[Polynomial], unknown: Iterable[Leaf]) -> Found[Cost] | None:
    """Return the shipped search for these expressions, or None."""
    row = _table().get(key(items))
    if row is None:
        return None
    own = {leaf_of(x) for p in start for word in p.terms for x in word}
    letters = {**STANDARD, **{x.name: x for x in (*own, *unknown)}}
    steps = tuple(
        SearchStep(
            s["name"],
            s["source"],
            tuple(_polynomial(p, t, letters) for p, t in zip(start, s["state"], strict=True)),
            Cost(*s["cost"]),
        )
        for s in row["steps"]
    )
    return Found(steps, row["weighed"])


def row_of(found: Found[Cost]) -> dict[str, Any]:
    """Return a search as a row of the table."""
    return {
        "weighed": found.weighed,
        "steps": [
            {
                "name": s.name,
                "source": s.source,
                "cost": [
                    s.cost.solves,
                    s.cost.quadratic,
                    s.cost.passes,
                    s.cost.recursions,
                    s.cost.operations,
                ],
                "state": [[[str(c), written_word(w)] for w, c in p.terms.items()] for p in s.state],
            }
            for s in found.steps
        ],
    }


def dumped(rows: Mapping[str, Any]) -> str:
    """Return the text of a table."""
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


@cache
def _table() -> Mapping[str, Any]:
    file = resources.files("hinge.pipeline") / FOLDER / FILE
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _polynomial(
    like: Polynomial, terms: Sequence[tuple[str, str]], letters: Mapping[str, Leaf]
) -> Polynomial:
    words = {read_word(w, letters): read_number(c) for c, w in terms}
    return Polynomial(like.range, like.domain, words)
