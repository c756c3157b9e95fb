"""Pictures of the operators of an expression: their nonzero blocks, body by body."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hinge.algebra import (
    DEFINITIONS,
    STANDARD,
    Body,
    Expr,
    Leaf,
    Mi,
    One,
    Structure,
    leaves,
    letters_of,
    whole,
)
from hinge.dynamics import Compiled
from hinge.errors import UnboundLeafError
from hinge.explain.bodies import Worked
from hinge.explain.markup import Html, join, shortened, tag
from hinge.explain.typeset import typeset
from hinge.model import random_configuration
from hinge.targets import Blocks, SingularError, System, block_marks, system_of

#: Width of a picture with a block for each body, and the largest share of a number in it.
WIDTH, LARGEST = 222.0, 9.0
#: Smaller pictures are enlarged, at most twice.
SMALL = 140.0
#: Smaller blocks have no number beside them.
NUMBERED = 11.0
#: Pictures of more blocks have no tooltips.
NAMED = 2500
#: Most bodies: the matrices cost the fourth power of their number.
MOST = 80
#: The order of the operators.
ORDER = ("H", "M", "E", "E0", "phi", "B", "Q", "R", "P", "D", "Di", "G", "K", "Es", "psi")

Array: TypeAlias = NDArray[np.float64]
#: Labels of rows or columns, and their drawn lengths.
Lines: TypeAlias = Sequence[tuple[str, float]]


def operators_section(c: Compiled, bodies: Sequence[Worked]) -> Html:
    """Return a picture of every operator of the derivation, at one random state of the robot."""
    if len(bodies) > MOST:
        return tag(
            "p", f"{len(bodies)} bodies are too many to draw; there is room for {MOST}.", class_="note"
        )
    _, system = numbers(c)
    unit = min(LARGEST, WIDTH / max(sum(map(sqrt, system.blocks(Body))), 1.0))
    pictures = [_picture(system, name, e, unit, bodies) for name, e in _shown(c).items()]
    return tag("div", *pictures, class_="pictures")


def numbers(c: Compiled) -> tuple[dict[str, Array], System]:
    """Return one random state, with what calls give beside it, and the matrices there."""
    rng = np.random.default_rng(1)
    qd, qdd = rng.normal(size=(2, c.robot.nv))
    given = {"q": random_configuration(c.robot, 1), "qd": qd, "qdd": qdd}
    given["g"] = np.array([0.0, 0.0, 0.0, *-c.robot.gravity])
    # Letters of derivatives are functions of such vectors; operators of dynamics are not.
    own = [x for x in letters_of(c.given.values()) if x.origin is not None]
    inside = letters_of(e for x in own for e in x.needs)
    for x in sorted(inside, key=lambda x: x.name):
        if x.is_vector and not x.needs and x.name not in given:
            given[x.name] = rng.normal(size=c.binding.length(x.range))
    return given, system_of(c.binding, given, own)


def _shown(c: Compiled) -> dict[str, Expr]:
    """Return the operators to draw: those of all intermediate forms, and the result."""
    lines = c.derivation.lines
    # Inverses that are not expanded have letters of their own in the derivation.
    inverses = c.derivation.inverses
    letters = _closure(
        (
            x
            for e in (*c.given.values(), *(e for n in lines for e in n.expressions.values()))
            for x in leaves(e)
        ),
        {**DEFINITIONS, **inverses},
    )
    found: dict[str, Expr] = {
        str(x): inverses[x].inv() if x in inverses else x for x in sorted(letters, key=_place) if x is not Mi
    }
    if Mi in letters:
        found |= {"𝓜 = H φ M φᵀ Hᵀ": whole.mass, str(Mi): Mi}
    found |= {
        name: e for name, e in c.given.items() if One not in (e.range, e.domain) and e not in found.values()
    }
    return found


def _closure(letters: Iterable[Leaf], definitions: Mapping[Leaf, Expr]) -> set[Leaf]:
    """Return the operators and those in their definitions."""
    found: set[Leaf] = set()
    todo = list(letters)
    while todo:
        x = todo.pop()
        if x not in found and not x.is_vector:
            found.add(x)
            todo += leaves(definitions[x]) if x in definitions else ()
    return found


def _place(x: Leaf) -> tuple[int, str]:
    known = x.name in ORDER and STANDARD.get(x.name) is x
    return (ORDER.index(x.name) if known else len(ORDER)), x.name


def _picture(system: System, name: str, e: Expr, unit: float, bodies: Sequence[Worked]) -> Html:
    try:
        blocks = block_marks(system, e)
    except SingularError:
        return _figure(name, e, tag("p", "does not exist: D is singular for this robot", class_="note"))
    except UnboundLeafError:
        said = "does not exist: what it is a function of is singular for this robot"
        return _figure(name, e, tag("p", said, class_="note"))
    if not any(n for _, n in blocks.rows) or not any(n for _, n in blocks.columns):
        return Html("")
    return _figure(name, e, _drawn(blocks, unit, bodies, _kind(e)))


def _figure(name: str, e: Expr, picture: Html) -> Html:
    meaning = [tag("span", _said(e), class_="meaning")] if _said(e) else []
    kind = tag("span", f"{e.range} ← {e.domain}", class_="spaces")
    return tag("figure", picture, tag("figcaption", tag("b", typeset(name)), " ", kind, *meaning))


def _said(e: Expr) -> str:
    return e.meaning if isinstance(e, Leaf) else "mass matrix, (3.20)" if e is whole.mass else "the result"


def _kind(e: Expr) -> str:
    names = {Structure.DIAGONAL: "diagonal", Structure.STEP: "step", Structure.RESOLVENT: "resolvent"}
    return names.get(e.structure, "dense") if isinstance(e, Leaf) else "dense"


def _drawn(blocks: Blocks, unit: float, bodies: Sequence[Worked], kind: str) -> Html:
    """Return the blocks as rectangles, sized by the square root of their dimensions to show small ones."""
    longest = unit * max(sum(sqrt(n) for _, n in x) for x in (blocks.rows, blocks.columns))
    unit *= max(1.0, min(2.0, SMALL / longest))
    rows, columns = ([(label, unit * sqrt(n)) for label, n in x] for x in (blocks.rows, blocks.columns))
    height, width = (sum(n for _, n in x) for x in (rows, columns))
    margin = 14.0
    out = [tag("rect", x=0, y=0, width=width, height=height, class_="paper")]
    out += _rectangles(rows, columns, blocks.marks, _names(bodies))
    out += _numbers(rows, across=False) + _numbers(columns, across=True)
    box = f"{-margin:g} {-margin:g} {width + margin + 1:.1f} {height + margin + 1:.1f}"
    size = {"width": width + margin + 1, "height": height + margin + 1}
    return tag("svg", *out, viewBox=box, **size, class_=f"blocks is-{kind}", role="img")


def _rectangles(
    rows: Lines, columns: Lines, marks: Sequence[Sequence[str]], names: Mapping[str, str]
) -> Iterator[Html]:
    """Yield a rectangle for each nonzero block, without tooltips where there are many."""
    named = sum(mark != "·" for line in marks for mark in line) <= NAMED
    y = 0.0
    for (row, h), line in zip(rows, marks, strict=True):
        x = 0.0
        for (column, w), mark in zip(columns, line, strict=True):
            if mark != "·" and w and h:
                gap = min(1.0, w / 8, h / 8)
                title = [tag("title", f"{names[row]} ← {names[column]}")] if named else []
                shape = {"x": x + gap / 2, "y": y + gap / 2, "width": w - gap, "height": h - gap}
                yield tag("rect", *title, **shape, **({"class_": "one"} if mark == "I" else {}))
            x += w
        y += h


def _names(bodies: Sequence[Worked]) -> Mapping[str, str]:
    return {**{str(b.number): shortened(b.name, 60) for b in bodies}, "w": "world"}


def _numbers(lines: Lines, *, across: bool) -> list[Html]:
    """Return the body numbers along an edge of a picture, where they fit."""
    out: list[Html] = []
    at = 0.0
    for label, length in lines:
        if length >= NUMBERED:
            middle = at + length / 2
            x, y = (middle, -3.0) if across else (-4.0, middle + 3)
            out.append(tag("text", label, x=x, y=y, text_anchor="middle" if across else "end"))
        at += length
    return out


def legend() -> Html:
    """Return the legend of the colours."""
    kinds = {
        "diagonal": "block-diagonal: each body for itself",
        "step": "one step towards the base",
        "resolvent": "all steps towards the base",
        "dense": "made of several",
    }
    return join(
        tag("span", tag("i", class_=f"swatch is-{k}"), f" {text}", class_="key") for k, text in kinds.items()
    )
