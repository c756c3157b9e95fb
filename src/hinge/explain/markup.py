"""HTML as values: markup has a type of its own, all other text is escaped.

So text from a file, such as the name of a body, can never be markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

#: Characters replaced: control characters, lone surrogates, and bidirectional marks.
UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
#: Void elements, without an end tag.
VOID = {"meta", "br"}


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def html(text: str) -> Html:
    """Return text as HTML, escaped unless it is HTML."""
    return text if isinstance(text, Html) else Html(escape(UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text)))


def join(parts: Iterable[str], between: str = "") -> Html:
    """Concatenate pieces, each escaped unless it is HTML."""
    return Html(html(between).join(map(html, parts)))


def tag(name: str, /, *content: str, **attributes: str | float) -> Html:
    """Return an element; `class_` is the attribute class, `stroke_width` is stroke-width."""
    marks = "".join(f' {_attribute(k)}="{html(_text(v))}"' for k, v in attributes.items())
    if name in VOID:
        return Html(f"<{name}{marks}>")
    return Html(f"<{name}{marks}>{join(content)}</{name}>")


def unfolds(summary: str, /, *content: str, **attributes: str | float) -> Html:
    """Return a <details> element."""
    return tag("details", tag("summary", summary), *content, **attributes)


def table(head: Iterable[str], rows: Iterable[Iterable[str]], **attributes: str | float) -> Html:
    """Return a table that scrolls horizontally on narrow pages."""
    top = tag("tr", *(tag("th", x) for x in head))
    body = (
        tag("tr", *(x if x.startswith("<td") and isinstance(x, Html) else tag("td", x) for x in r))
        for r in rows
    )
    return tag("div", tag("table", tag("thead", top), tag("tbody", *body), **attributes), class_="scroll")


def shortened(text: str, length: int) -> str:
    """Return text abbreviated in the middle to at most this length."""
    if len(text) <= length:
        return text
    half = (length - 1) // 2
    return f"{text[: length - 1 - half]}…{text[len(text) - half :] if half else ''}"


def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{round(value, 1):g}"
