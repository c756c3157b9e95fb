"""The glossary of letters is printed from their cards: pytest tests/api/test_glossary.py --update-golden."""

from __future__ import annotations

from pathlib import Path

from hinge.algebra import STANDARD

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
START = "## The algebra\n"
INTRODUCTION = """
Operators, range ← domain, with the letters of J and of the SOA slides; `hinge.algebra` has them under the
names in the second column, the last seven, of J's appendix, in `hinge.algebra.appendix`. Block-diagonal
ones have one block for each body.
"""


def printed() -> str:
    """Return the section of the glossary on letters."""
    operators = [x for x in STANDARD.values() if not x.is_vector]
    vectors = [x for x in STANDARD.values() if x.is_vector]
    lines = ["| letter | name | range ← domain | structure | meaning, source |", "|---|---|---|---|---|"]
    for x in operators:
        kind = x.structure.value
        lines.append(f"| {x} | `{x.name}` | {x.range} ← {x.domain} | {kind} | {x.meaning} |")
    lines += ["", "| vector | name | space | meaning, source |", "|---|---|---|---|"]
    lines += [f"| {x} | `{x.name}` | {x.range} | {x.meaning} |" for x in vectors]
    return "\n".join([START + INTRODUCTION, *lines, ""])


def test_the_glossary_has_every_letter_as_its_card_says(request):
    text = GLOSSARY.read_text(encoding="utf-8")
    before = text[: text.index(START)]
    if request.config.getoption("update_golden"):
        GLOSSARY.write_text(before + printed(), encoding="utf-8")
    assert GLOSSARY.read_text(encoding="utf-8") == before + printed()
