"""The cost of one evaluation: operations for each body and sweep, and facts on the compiled code."""

from __future__ import annotations

from collections.abc import Sequence

from hinge.dynamics import Compiled
from hinge.explain.bodies import Worked
from hinge.explain.markup import Html, join, shortened, table, tag
from hinge.kernels import Operations
from hinge.sweeps import Call, DenseCall, Pass

#: Longest name of a body in a table.
NAME = 48


def counts_section(c: Compiled, bodies: Sequence[Worked]) -> Html:
    """Return a table of operations: a row for each body, a column for each stage, and the totals."""
    stages = c.derivation.program.stages
    counted = c.code.operations_by_body()
    columns = {-1: "hinges"} | {
        k: f"sweep {k + 1} {'→' if s.direction.value == 'base to tip' else '←'}"
        if isinstance(s, Pass)
        else f"stage {k + 1}, beside the solve"
        for k, s in enumerate(stages)
    }
    columns |= {k: "sums over bodies" for k, _ in counted if k == len(stages)}
    largest = max((n.total for n in counted.values()), default=1) or 1
    rows: list[list[Html]] = []
    names = {b.number: b for b in bodies} | ({-1: None} if any(b < 0 for _, b in counted) else {})
    for number, body in names.items():
        own = [counted.get((k, number), Operations()) for k in columns]
        rows.append([_who(body), *(_cell(n, largest) for n in own), _cell(sum(own, Operations()))])
    totals = [c.code.operations(k) for k in columns]
    rows.append([tag("td", tag("b", "total")), *map(_cell, totals), _cell(c.code.operations())])
    head = ["body", *columns.values(), "total"]
    words = [
        tag("tr", tag("td", name), tag("td", str(n)))
        for name, n in zip(columns.values(), totals, strict=True)
    ]
    words.append(tag("tr", tag("td", tag("b", "total")), tag("td", str(c.code.operations()))))
    kinds = tag("table", tag("tbody", *words), class_="plain")
    return join([kinds, table(head, rows, class_="counts")])


def _who(body: Worked | None) -> Html:
    if body is None:
        return tag("td", "world")
    number = tag("span", str(body.number), class_="index")
    what = f"{body.kind}, {body.dofs} dof" if body.dofs else body.kind
    kind = tag("span", what, class_="note")
    return tag("td", number, " ", shortened(body.name, NAME), " ", kind, title=body.title)


def _cell(n: Operations, largest: int = 0) -> Html:
    """Return a number of operations with a bar in proportion to the largest."""
    text = f"{n.total}" if n.total else "·"
    if not largest or not n.total:
        return tag("td", text, class_="count", title=str(n))
    return tag("td", text, class_="count", title=str(n), style=f"--part:{100 * n.total / largest:.0f}%")


def facts_section(c: Compiled) -> Html:
    """Return inputs, results and properties of the compiled code."""
    signature = c.program().signature
    calls = [x for x in c.code.calls if isinstance(x, Call)]
    solves = sum(isinstance(x, DenseCall) for x in c.code.calls)
    shapes = [f"{name} {_shape(shape)}" for name, shape in signature.results.items()]
    rows = {
        "goes in": ", ".join(f"{name} ({n},)" for name, n in signature.inputs.items()),
        "comes out": ", ".join(shapes),
        "sweeps": f"{c.derivation.program.shape} (S base to tip, G tip to base, X dense solve, "
        "W dense product)",
        "kernels": f"{len({x.kernel for x in calls})} different ones in {len(calls)} places"
        + (f", and {solves} dense solves" if solves else ""),
        "compiled": join(tag("div", line.strip()) for line in c.program().describe()),
    }
    cells = [tag("tr", tag("th", name), tag("td", value)) for name, value in rows.items()]
    return tag("div", tag("table", tag("tbody", *cells), class_="facts"), class_="scroll")


def _shape(shape: tuple[int, ...]) -> str:
    return str(shape) if shape else "one number"
