"""The closures of a robot on the page: rows kept and dropped, the pattern of Ω, and how it is solved."""

from __future__ import annotations

from itertools import product

from hinge.algebra import Ac, inverted, leaves
from hinge.dynamics import Compiled
from hinge.explain.markup import Html, join, shortened, table, tag
from hinge.model import Closure, Robot, closure_ends

#: The side of a row of Ω in its picture, the most rows that are drawn, and the longest name.
SIDE, MOST, NAME = 9.0, 120, 48


def closures_section(c: Compiled) -> Html:
    """Return a table of the closures, the pattern of Ω = Jᶜ 𝓜⁻¹ Jᶜᵀ, and the kind of its solve."""
    kept = c.binding.rows
    rows: list[list[str]] = []
    sizes: list[int] = []
    for k, closure in enumerate(c.robot.closures):
        names = closure.constraints.names
        used = range(len(names)) if kept is None else kept[k]
        dropped = [n for j, n in enumerate(names) if j not in used]
        ends = [closure.inner or "the world", closure.outer]
        shown = [shortened(x, NAME) for x in (closure.name, closure.joint.kind, *ends)]
        rows.append([*shown, " ".join(names[j] for j in used), " ".join(dropped) or "–"])
        sizes.append(len(used))
    head = ["closure", "type", "from", "to", "rows", "dropped: others imply them"]
    parts = [table(head, rows, class_="letters")]
    if not any(Ac in leaves(x) for e in c.given.values() for x in inverted(e)):
        return join(parts)
    total = sum(sizes)
    said = (
        f"Ω has {total} rows. It is solved after it was scaled to a unit diagonal, by L D Lᵀ without "
        "exchanges: a pivot below the floor belongs to a row that others imply in that state, and its force "
        "is zero; one step of refinement follows. Closures whose ends move with a common body are coupled."
    )
    parts.append(tag("p", said, class_="note"))
    if 0 < total <= MOST:
        parts.append(tag("div", _pattern(c.robot, sizes), class_="pictures"))
    return join(parts)


def _pattern(robot: Robot, sizes: list[int]) -> Html:
    """Return Ω with a square for each pair of closures that are coupled."""
    moved = [_moving(robot, c) for c in robot.closures]
    starts = [SIDE * sum(sizes[:k]) for k in range(len(sizes))]
    whole = SIDE * sum(sizes)
    out = [tag("rect", x=0, y=0, width=whole, height=whole, class_="paper")]
    for i, j in product(range(len(sizes)), repeat=2):
        if moved[i] & moved[j] and sizes[i] and sizes[j]:
            title = tag("title", f"{robot.closures[i].name} ← {robot.closures[j].name}")
            place = {"x": starts[j] + 0.5, "y": starts[i] + 0.5}
            out.append(tag("rect", title, **place, width=SIDE * sizes[j] - 1, height=SIDE * sizes[i] - 1))
    svg = tag("svg", *out, viewBox=f"-1 -1 {whole + 2:g} {whole + 2:g}", width=whole + 2, height=whole + 2,
              class_="blocks is-dense", role="img")  # fmt: skip
    caption = tag("figcaption", tag("b", "Ω"), " ", tag("span", "Constraint ← Constraint", class_="spaces"))
    return tag("figure", svg, caption)


def _moving(robot: Robot, closure: Closure) -> set[int]:
    """Return the joints that move an end of a closure."""
    ends = {body for body, _ in closure_ends(robot, closure) if body >= 0}
    return {i for body in ends for i in robot.tree.support(body) if robot.joints[i].nv}
