"""A verb of a robot explained on one self-contained page of HTML, without network or scripts."""

from __future__ import annotations

from importlib import resources

from hinge.algebra import STANDARD, Ask, Expr, Leaf, leaves
from hinge.dynamics import Compiled
from hinge.explain.bodies import worked_bodies
from hinge.explain.closures import closures_section
from hinge.explain.counts import counts_section, facts_section
from hinge.explain.derivation import derivation_section
from hinge.explain.listings import listings_section
from hinge.explain.markup import Html, html, join, shortened, table, tag, unfolds
from hinge.explain.operators import legend, operators_section
from hinge.explain.sweeps import sweeps_section
from hinge.explain.typeset import formula, typeset

#: Content security policy: load nothing, run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"

#: What letters are that differentiation makes of one vector, as `hinge.algebra.derived_letters` says.
MADE = {"ad": "y ↦ x × y, where x is", "bar": "y ↦ y ×* f, where f is", "value": "the value of"}


def page(compiled: Compiled) -> str:
    """Return the page that explains a compiled expression, from derivation to machine code."""
    if not isinstance(compiled, Compiled):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise NotImplementedError(
            f"page: expected a function for a robot, got {compiled!r}, for which there are no pages; its "
            "explain() is the same as text"
        )
    c, bodies = compiled, worked_bodies(compiled.binding)
    sections = {
        "expression": ("The expression", _expression(c)),
        "letters": ("The letters", _letters(c)),
        "derivation": ("The derivation", derivation_section(c.derivation)),
        "operators": ("The operators of this robot", join([_about_blocks(), operators_section(c, bodies)])),
        "closures": ("The closures", closures_section(c)),
        "sweeps": ("The sweeps", sweeps_section(c, bodies)),
        "operations": ("Operations", counts_section(c, bodies)),
        "machine": ("What is compiled", facts_section(c)),
        "code": ("The code", listings_section(c, bodies)),
    }
    if not c.robot.closures or not any(
        Ask.CLOSURES in x.card.asks for e in c.given.values() for x in leaves(e)
    ):
        del sections["closures"]
    contents = tag("nav", *(tag("a", title, href=f"#{name}") for name, (title, _) in sections.items()))
    body = [tag("section", tag("h2", title), content, id=name) for name, (title, content) in sections.items()]
    return str(_document(", ".join(c.given), _header(c, len(bodies)), contents, *body))


def _document(title: str, *content: Html) -> Html:
    style = (resources.files("hinge.explain") / "page.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Html(style)),
    )
    return Html(f"<!DOCTYPE html>\n{tag('html', head, tag('body', tag('main', *content)), lang='en')}\n")


def _header(c: Compiled, worked: int) -> Html:
    robot = c.robot
    base = "floating" if robot.is_floating else "fixed"
    fixed = len(robot.bodies) - worked
    facts = f"{len(robot.bodies)} bodies, {robot.nv} degrees of freedom, {base} base, {robot.mass:.4g} kg"
    many = f"; {fixed} bodies on fixed joints are parts of those that carry them"
    merged = "; 1 body on a fixed joint is part of that which carries it" if fixed == 1 else many
    first = ", ".join(shortened(name, 60) for name in c.binding.nodes[:8])
    nodes = f"; nodes: {first}{' …' if len(c.binding.nodes) > 8 else ''}"
    said = f"{facts}{merged if fixed else ''}{nodes if c.binding.nodes else ''}"
    verb = tag("span", ", ".join(c.given), class_="verb")
    title = tag("h1", verb, tag("span", " for ", class_="note"), shortened(robot.name, 120))
    return tag("header", title, tag("p", said, class_="note"))


def _expression(c: Compiled) -> Html:
    """Return the expression, also as Python and LaTeX source."""
    shown = [formula(f"{name} = {e}", class_="formula display") for name, e in c.given.items()]
    sources = [f"{name}: {e!r}\n{e.latex()}" for name, e in c.given.items()]
    return join([*shown, unfolds("as Python and as LaTeX", tag("pre", "\n".join(sources), class_="wrap"))])


def _letters(c: Compiled) -> Html:
    """Return the letters in use, with their spaces and meanings."""
    steps = (*c.derivation.inner, *c.derivation.computed.values(), c.derivation)
    lines = [e for d in steps for line in d.lines for e in line.expressions.values()]
    used = {x for e in (*c.given.values(), *lines) for x in leaves(e)}
    used |= {
        x for p in c.derivation.program.passes for s in p.statements for e in s.expressions for x in leaves(e)
    }
    used |= {y for x in used for e in x.needs for y in leaves(e)}
    order = {x: k for k, x in enumerate(STANDARD.values())}
    rows = [
        [typeset(str(x), titles=False), _spaces(x), x.structure.value, _meaning(x)]
        for x in sorted(used, key=lambda x: (order.get(x, len(order)), str(x)))
        if x in order or x.origin is not None
    ]
    return table(["letter", "leads", "blocks", "meaning"], rows, class_="letters")


def _meaning(x: Leaf) -> Html:
    """Return what a letter means; one that differentiation made, with all that it is a function of."""
    if x.origin is None:
        return html(x.meaning)
    of = typeset("; ".join(map(str, x.needs)), titles=False)
    return join([html(f"{MADE[x.origin.kind]} "), of] if x.origin.kind in MADE else [typeset(x.meaning)])


def _spaces(e: Expr | Leaf) -> str:
    return f"{e.range}" if e.is_vector else f"{e.range} ← {e.domain}"


def _about_blocks() -> Html:
    text = (
        "Each picture is a matrix, its blocks drawn by body, base first, at one random configuration of the "
        "robot. What is blank is zero; a faint block is the identity. Point at a block to see which body it "
        "leads from and to."
    )
    return join([tag("p", text, class_="note"), tag("p", legend(), class_="legend")])
