"""Serialisation of the completed tables that ship with the package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib import resources
from typing import Any

from hinge.algebra import STANDARD, Coefficient, Leaf, Letter, Word, leaf_of, letter_name, simplest
from hinge.rules.completion import Axiom, Rule, Use, ancestry

TABLES = "tables"


def load_rules(name: str, axioms: Sequence[Axiom]) -> list[Rule] | None:
    """Return the frozen rules of a theory, or None when there are none for these axioms."""
    file = resources.files("hinge.rules") / TABLES / f"{name}.json"
    if not file.is_file():
        return None
    data = json.loads(file.read_text(encoding="utf-8"))
    if data["axioms"] != [_described(a) for a in axioms]:
        return None
    known: dict[str, Axiom | Rule] = {f"axiom {k}": a for k, a in enumerate(axioms)}
    letters = {x.name: x for a in axioms for w in a.difference.terms for x in map(leaf_of, w)}

    def read(text: str) -> Word:
        return read_word(text, letters)

    for row in data["rules"]:
        proof = tuple(
            Use(read_number(c), read(left), known[source], read(right))
            for c, left, source, right in row["proof"]
        )
        rhs = {read(w): read_number(c) for c, w in row["rhs"]}
        known[f"rule {row['number']}"] = Rule(row["number"], read(row["lhs"]), rhs, proof)
    return [known[f"rule {n}"] for n in data["table"]]  # pyright: ignore[reportReturnType]


def dump_rules(axioms: Sequence[Axiom], rules: Sequence[Rule]) -> str:
    """Return the text of a frozen table: axioms, every rule that a proof uses, and the final table."""
    names: dict[Axiom | Rule, str] = {a: f"axiom {k}" for k, a in enumerate(axioms)}
    rows: list[dict[str, Any]] = []
    for rule in ancestry(rules):
        names[rule] = f"rule {rule.number}"
        rows.append(
            {
                "number": rule.number,
                "lhs": written_word(rule.lhs),
                "rhs": [
                    [str(c), written_word(w)]
                    for w, c in sorted(rule.rhs.items(), key=lambda t: written_word(t[0]))
                ],
                "proof": [
                    [str(u.coefficient), written_word(u.left), names[u.source], written_word(u.right)]
                    for u in rule.proof
                ],
            }
        )
    data = {"axioms": [_described(a) for a in axioms], "rules": rows, "table": [r.number for r in rules]}
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _described(axiom: Axiom) -> str:
    terms = sorted(f"{c} {written_word(w)}".strip() for w, c in axiom.difference.terms.items())
    return f"{axiom.name} [{axiom.source}]: " + " + ".join(terms) + " = 0"


def written_word(word: Word) -> str:
    """Return a word as the names of its letters."""
    return " ".join(map(letter_name, word))


def read_word(text: str, letters: Mapping[str, Leaf] = STANDARD) -> Word:
    """Return the word of these names, of the standard letters or of others."""
    return tuple(_letter(x, letters) for x in text.split())


def _letter(text: str, letters: Mapping[str, Leaf]) -> Letter:
    found = letters[text.removesuffix("'")]
    return found.T if text.endswith("'") else found  # pyright: ignore[reportReturnType]


def read_number(text: str) -> Coefficient:
    """Return a coefficient that was written with `str`."""
    return simplest(Fraction(text))
