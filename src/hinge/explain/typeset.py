"""Formulas as HTML: the algebra's Unicode output with italics, superscripts and subscripts."""

from __future__ import annotations

import re
from functools import cache

from hinge.algebra import STANDARD
from hinge.explain.markup import Html, html, join, tag

#: Meanings of vector names in a formula.
SPELT = {"tau": "τ", "qd": "q̇", "qdd": "q̈"}
RAISED = {"ᵀ": "T", "⁻¹": "−1"}
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉ₐⱼₖₘₙₚₓᶜ", "0123456789ajkmnpxc", strict=True))

_TOKEN = re.compile(
    r"""
    (?P<source>\[(?:JPL|SOA)[^\]]*\])
  | (?P<digest>…[0-9a-f]{4})
  | (?P<sum>Σ(?:_(?P<over>c|roots)|ₖ)?)
  | (?P<at>\((?:[kpc0](?:,[kpc0])?|·)\))
  | (?P<word>a\ function\ of|[A-Za-z_][A-Za-z_]+)
  | (?P<letter>[A-Za-zα-ωΑ-ΩΥ𝓜𝒜][\u0300-\u036f]?)(?P<low>[₀-₉ₐⱼₖₘₙₚₓᶜ]+|⁻?½|(?<=[EΔ])[φψ][ₖₚ]?|\d+)?
  | (?P<raised>ᵀ|⁻¹)
    """,
    re.VERBOSE,
)


@cache
def _meanings() -> dict[str, str]:
    """Return the meanings of letters by their notation."""
    return {x.unicode_name: x.meaning for x in STANDARD.values()}


def typeset(text: str, *, titles: bool = True) -> Html:
    """Return a formula as HTML; with `titles` letters have tooltips."""
    out: list[str] = []
    end = 0
    for m in _TOKEN.finditer(text):
        out += [html(text[end : m.start()]), _token(m, titles)]
        end = m.end()
    return join([*out, html(text[end:])])


def formula(text: str, *, class_: str = "formula") -> Html:
    """Return lines of a formula as a block; indented lines are subordinate to the first."""
    lines = (
        tag("div", typeset(line.strip()), class_="where" if line.startswith(" ") else "line")
        for line in text.splitlines()
    )
    return tag("div", *lines, class_=class_)


def _token(m: re.Match[str], titles: bool) -> Html:
    text = m.group()
    match m.lastgroup:
        case "raised":
            return tag("sup", RAISED[text])
        case "digest":  # of a name that is shortened
            return html(text)
        case "at" | "source":
            return tag("span", text, class_=m.lastgroup)
        case "sum" | "over":
            below = m.group("over") or ("k" if text.endswith("ₖ") else "")
            return join(["Σ", tag("sub", below)] if below else ["Σ"])
        case "word":
            return tag("i", SPELT[text]) if text in SPELT else _word(text, titles)
        case _:
            return _letter(m.group("letter"), m.group("low") or "", titles)


def _word(text: str, titles: bool) -> Html:
    meaning = _meanings().get(text, "") if titles else ""
    return tag("span", text, class_="word", **({"title": meaning} if meaning else {}))


def _letter(letter: str, low: str, titles: bool) -> Html:
    meaning = _meanings().get(letter + low, "") if titles else ""
    kind = "op" if letter.isupper() or letter in "φψ𝓜𝒜" else "vec"
    named = {"title": meaning} if meaning else {}
    side = "sup" if low.endswith("½") else "sub"
    mark = [tag(side, "".join(LOWERED.get(c, c) for c in low).replace("⁻", "−"))] if low else []
    return tag("i", letter, *mark, class_=kind, **named)
