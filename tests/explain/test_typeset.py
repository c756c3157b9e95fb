from __future__ import annotations

import re

import pytest

from hinge.algebra import STANDARD
from hinge.explain.bodies import short_names
from hinge.explain.markup import Html, html, join, shortened, table, tag
from hinge.explain.typeset import typeset


def plain(text: str) -> str:
    """Return a formula as HTML without classes and titles."""
    return re.sub(r"<(\w+)[^>]*>", r"<\1>", typeset(text))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("H φᵀ", "<i>H</i> <i>φ</i><sup>T</sup>"),
        ("D⁻¹", "<i>D</i><sup>−1</sup>"),
        ("E₀ fₓ", "<i>E<sub>0</sub></i> <i>f<sub>x</sub></i>"),
        ("Eψ P", "<i>E<sub>ψ</sub></i> <i>P</i>"),
        ("Eψₚ", "<i>E<sub>ψp</sub></i>"),
        ("P(k)", "<i>P</i><span>(k)</span>"),
        ("φ(k,c)", "<i>φ</i><span>(k,c)</span>"),
        ("Σ_c z", "Σ<sub>c</sub> <i>z</i>"),
        ("Σₖ x2", "Σ<sub>k</sub> <i>x<sub>2</sub></i>"),
        ("qdd = tau", "<i>q̈</i> = <i>τ</i>"),
        ("q̈", "<i>q̈</i>"),
        ("log det D", "<span>log</span> <span>det</span> <i>D</i>"),
        ("a < b & c", "<i>a</i> &lt; <i>b</i> &amp; <i>c</i>"),
        ("[JPL 88-11 (a.2)]", "<span>[JPL 88-11 (a.2)]</span>"),
        ("", ""),
    ],
)
def test_formulas(text, wanted):
    assert plain(text) == wanted


@pytest.mark.parametrize("name", STANDARD)
def test_every_letter_says_what_it_is(name):
    x = STANDARD[name]
    base = x.unicode_name.removesuffix("⁻¹")
    if base == x.unicode_name:
        assert html(x.meaning) in typeset(str(x))


def test_nothing_is_taken_for_markup_but_markup():
    assert tag("p", "<b>", Html("<b></b>"), title='"<') == '<p title="&quot;&lt;">&lt;b&gt;<b></b></p>'
    assert join(["<", Html("<br>")], "&") == "&lt;&amp;<br>"
    assert table(["<"], [["<td>"]]).count("&lt;") == 2
    assert tag("meta", charset="utf-8", x=1.26) == '<meta charset="utf-8" x="1.3">'


def test_what_cannot_be_shown_is_replaced():
    assert html("a\x00b\ud800c\u202ed\ne") == "a\ufffdb\ufffdc\ufffdd\ne"


def test_long_names_lose_their_middle():
    assert shortened("abcdefghij", 5) == "ab…ij"
    assert [len(shortened("x" * 50, n)) for n in (2, 4, 7, 60)] == [2, 4, 7, 50]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["arm_1_link", "arm_2_link", "head_link"], ["arm_1", "arm_2", "head"]),
        (["panda_link1", "panda_link2"], ["link1", "link2"]),
        (["a_link", "a"], ["a_link", "a"]),
        (["one", "two"], ["one", "two"]),
        (["_link", "x_link"], ["_link", "x_link"]),
        ([], []),
    ],
)
def test_short_names_stay_different(names, wanted):
    assert short_names(names) == wanted
