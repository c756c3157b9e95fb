"""Generated code, folded away and lightly coloured: the kernels, LLVM's text, assembly."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hinge.dynamics import Compiled
from hinge.explain.bodies import Worked
from hinge.explain.markup import Html, html, join, shortened, tag, unfolds
from hinge.kernels import OPS, Kernel
from hinge.sweeps import Call
from hinge.targets import listing, target_of

#: Most characters of a listing, and of all kernels together.
LONGEST, KERNELS = 200_000, 160_000

#: Syntax colours of each language: comments, keywords, labels; other languages as kernels.
_COLOURED = {
    "llvm": re.compile(
        r"(?P<comment>;[^\n]*)|(?P<label>^[\w.$-]+:)"
        r"|(?P<word>\b(?:define|declare|ret|br|phi|load|store|getelementptr|f(?:add|sub|mul|div|neg)|call|"
        r"insertelement|extractelement|shufflevector|icmp|add|mul|select|bitcast|target|attributes)\b)",
        re.MULTILINE,
    ),
    "asm": re.compile(r"(?P<comment>#[^\n]*)|(?P<label>^[\w.$]+:)|(?P<word>^\t[.\w]+)", re.MULTILINE),
    "kernel": re.compile(rf"(?P<comment>#[^\n]*)|(?P<word>\b(?:out|def|return|{'|'.join(OPS)})\b)"),
}


def listings_section(c: Compiled, bodies: Sequence[Worked]) -> Html:
    """Return all generated code, each listing folded."""
    parts = [unfolds("kernels: what happens at one body", _kernels(c, bodies))]
    program = c.program()
    for language, title in target_of(program).listings.items():
        parts.append(unfolds(title, _listing(listing(program, language), language)))
    return join(parts)


def _kernels(c: Compiled, bodies: Sequence[Worked]) -> Html:
    """Return each kernel once, with the places where it runs."""
    places: dict[Kernel, list[Call]] = {}
    for call in c.code.calls:
        if isinstance(call, Call):
            places.setdefault(call.kernel, []).append(call)
    names = {b.number: b.name for b in bodies} | {-1: "world"}
    out: list[Html] = []
    left = KERNELS
    for number, (kernel, calls) in enumerate(places.items(), 1):
        if left <= 0:
            out.append(
                tag("p", f"… and {len(places) - number + 1} more kernels, left out here", class_="note")
            )
            break
        text = str(_lettered(kernel, calls[0]))
        at = list(dict.fromkeys(f"{_stage(c, x.stage)} at {names[x.body]}" for x in calls))
        more = f" and {len(at) - 3} more" if len(at) > 3 else ""
        title = f"kernel {number}: {len(kernel.instructions)} instructions; "
        where = shortened("; ".join(at[:3]), 120)
        out.append(unfolds(f"{title}{where}{more}", _listing(text, "kernel", min(LONGEST, left))))
        left -= len(text)
    about = "x is what a kernel loads, y what it stores, c a number of the model, t a value in between."
    return join([tag("p", about, class_="note"), *out])


def _lettered(kernel: Kernel, call: Call) -> Kernel:
    """Return a kernel with names: x for inputs, c for model parameters, y for results."""
    count = len(call.loads)
    inputs = [f"x{k}" if k < count else f"c{k - count}" for k in range(len(kernel.inputs))]
    outputs = [o._replace(key=f"y{k}") for k, o in enumerate(kernel.outputs)]
    return Kernel(tuple(inputs), kernel.instructions, tuple(outputs))


def _stage(c: Compiled, k: int) -> str:
    count = len(c.derivation.program.stages)
    return "hinge" if k < 0 else "sum" if k >= count else f"sweep {k + 1}"


def _listing(text: str, language: str, longest: int | None = None) -> Html:
    """Return coloured code, truncated at the end of a line if it is too long."""
    longest = LONGEST if longest is None else longest
    shown = text if len(text) <= longest else text[: text.rfind("\n", 0, longest) + 1]
    rest = text.count("\n", len(shown))
    note = (
        [tag("p", f"… and {rest} more lines, left out here", class_="note")] if len(shown) < len(text) else []
    )
    out: list[Html] = []
    end = 0
    for m in _COLOURED.get(language, _COLOURED["kernel"]).finditer(shown):
        out += [html(shown[end : m.start()]), tag("span", m.group(), class_=f"c-{m.lastgroup}")]
        end = m.end()
    return join([tag("pre", *out, shown[end:]), *note])
