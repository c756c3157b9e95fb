"""The sweeps of a program, drawn on the robot's tree: direction, and statements at a body."""

from __future__ import annotations

from collections.abc import Sequence

from hinge.algebra import E0, E
from hinge.dynamics import Compiled
from hinge.explain.bodies import Worked, short_names
from hinge.explain.markup import Html, join, shortened, tag
from hinge.explain.typeset import typeset
from hinge.sweeps import Apply, Direction, Meet, Pass, Solve, read_off

#: Largest width of a picture, least and largest distance of bodies, and distance of branches.
PAGE, NEAR, FAR, BRANCH = 960.0, 52.0, 120.0, 46.0
RADIUS, LETTER = 11.0, 5.9
TOP, LEFT = 22.0, 34.0


def sweeps_section(c: Compiled, bodies: Sequence[Worked]) -> Html:
    """Return every stage of the program with a picture and its statements, and the results."""
    program = c.derivation.program
    places = _places(bodies)
    stages = [_stage(stage, k + 1, bodies, places) for k, stage in enumerate(program.stages)]
    outputs = [tag("div", typeset(f"output {o.name}{read_off(o)}"), class_="line") for o in program.outputs]
    return join([*stages, tag("div", *outputs, class_="formula")])


def _stage(
    stage: Pass | Meet | Solve | Apply,
    number: int,
    bodies: Sequence[Worked],
    places: Sequence[tuple[float, float]],
) -> Html:
    if not isinstance(stage, Pass):
        head = tag("h3", stage.title(number).removesuffix(", beside"))
        return tag("div", head, tag("div", typeset(str(stage)), class_="formula"), class_="stage")
    way = "scatter" if stage.direction is Direction.SCATTER else "gather"
    still = "" if stage.edges else ", each body for itself"
    head = tag("h3", f"{stage.title(number)} ", tag("span", f"{way}{still}", class_=f"way {way}"))
    picture = tag("div", _tree(stage, way, bodies, places), class_="scroll")
    return tag("div", head, picture, _statements(stage), class_="stage")


def _statements(stage: Pass) -> Html:
    order = "tip … base" if stage.direction is Direction.GATHER else "base … tip"
    lines = [tag("div", f"for k = {order}", class_="loop")]
    for s in stage.statements:
        mark = [tag("span", f"for each column of {s.source}", class_="note")] if s.source else []
        lines.append(tag("div", typeset(s.at_body()), " ", *mark, class_="line"))
    return tag("div", *lines, class_="formula statements")


def _places(bodies: Sequence[Worked]) -> list[tuple[float, float]]:
    """Return the positions of bodies: depth runs across, branches run down."""
    children: dict[int, list[int]] = {}
    for b in bodies:
        children.setdefault(b.parent, []).append(b.number)
    depth: list[int] = []
    for b in bodies:
        depth.append(1 if b.parent < 0 else depth[b.parent] + 1)
    height: dict[int, float] = {}
    lowest = 0
    order = _in_order(children)
    for k in order:
        if k not in children:
            height[k] = float(lowest)
            lowest += 1
    for b in reversed(bodies):
        if b.number in children:
            height[b.number] = sum(height[x] for x in children[b.number]) / len(children[b.number])
    across = max(NEAR, min(FAR, (PAGE - 2 * LEFT) / (max(depth, default=1) + 0.5)))
    return [(LEFT + across * depth[b.number], TOP + BRANCH * height[b.number]) for b in bodies]


def _in_order(children: dict[int, list[int]]) -> list[int]:
    """Return all bodies, grouped by branch."""
    found: list[int] = []
    todo = [-1]
    while todo:
        k = todo.pop()
        found += [k] if k >= 0 else []
        todo += reversed(children.get(k, []))
    return found


def _tree(stage: Pass, way: str, bodies: Sequence[Worked], places: Sequence[tuple[float, float]]) -> Html:
    along = {E, E.T} & stage.edges
    beyond = {E0, E0.T} & stage.edges
    roots = [places[b.number][1] for b in bodies if b.parent < 0]
    world = LEFT - 12, sum(roots) / max(len(roots), 1)
    names = short_names([b.name for b in bodies])
    room = _room(names, places)
    turns = _turns(way, places)
    out: list[Html] = []
    for b in bodies:
        start = world if b.parent < 0 else places[b.parent]
        moves = bool(beyond if b.parent < 0 else along)
        out += _edge(start, places[b.number], way if moves else "still", turns[b.number])
    out.append(tag("rect", x=world[0] - 8, y=world[1] - 8, width=16, height=16, rx=3, class_="world"))
    out.append(tag("text", "world", x=world[0], y=world[1] + 22, text_anchor="middle", class_="name"))
    for b, short, (x, y) in zip(bodies, names, places, strict=True):
        circle = tag("circle", cx=x, cy=y, r=RADIUS)
        number = tag("text", str(b.number), x=x, y=y + 3.5, text_anchor="middle", class_="number")
        label = shortened(short, room)
        name = tag("text", label, x=x, y=y + RADIUS + 11, text_anchor="middle", class_="name")
        out.append(tag("g", tag("title", b.title), circle, number, name, class_="body"))
    width = max((x for x, _ in places), default=world[0]) + room * LETTER / 2 + 8
    height = max((y for _, y in places), default=world[1]) + BRANCH * 0.75
    return tag(
        "svg", *out, viewBox=f"0 0 {width:.0f} {height:.0f}", width=width, class_=f"tree {way}", role="img"
    )


def _room(names: Sequence[str], places: Sequence[tuple[float, float]]) -> int:
    """Return the number of characters of a name that fit."""
    first = min((x for x, _ in places), default=FAR + LEFT) - LEFT
    longest = max(map(len, names), default=0)
    return max(4, min(int(first / LETTER) - 1, longest))


def _turns(way: str, places: Sequence[tuple[float, float]]) -> list[int]:
    """Return the time step of each body in a sweep; bodies of one depth go together."""
    distances = sorted({x for x, _ in places}, reverse=way == "gather")
    return [distances.index(x) for x, _ in places]


def _edge(start: tuple[float, float], end: tuple[float, float], way: str, turn: int) -> list[Html]:
    """Return the edge between two bodies, with an arrow head if the sweep passes it."""
    (x0, y0), (x1, y1) = (start[0] + RADIUS, start[1]), (end[0] - RADIUS, end[1])
    middle = (x0 + x1) / 2
    curve = f"M{x0:.1f} {y0:.1f}C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"
    if way == "still":
        return [tag("path", d=curve, class_="edge still")]
    x, y, back = (x1, y1, -7) if way == "scatter" else (x0, y0, 7)
    head = f"M{x:.1f} {y:.1f}l{back} -4v8z"
    return [
        tag("path", d=curve, class_="edge moving", style=f"--turn:{turn}"),
        tag("path", d=head, class_="head"),
    ]
