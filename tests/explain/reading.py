"""Read a page back: a strict reader of HTML that refuses what is not well-formed."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

from hinge.explain.markup import VOID


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    parent: Element | None = None
    content: list[Element | str] = field(default_factory=list)

    @property
    def children(self) -> list[Element]:
        return [x for x in self.content if isinstance(x, Element)]

    @property
    def texts(self) -> list[str]:
        return [x for x in self.content if isinstance(x, str)]

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

    def all(self, name: str = "", class_: str = "") -> list[Element]:
        return [e for e in self.walk() if name in ("", e.name) and (not class_ or class_ in e.classes)]

    def text(self) -> str:
        return "".join(x if isinstance(x, str) else x.text() for x in self.content)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.at = Element("", {})

    def handle_starttag(self, tag, attrs):
        assert len({k for k, _ in attrs}) == len(attrs), f"<{tag}>: an attribute twice"
        e = Element(tag, {k: v or "" for k, v in attrs}, self.at)
        self.at.content.append(e)
        if tag not in VOID:
            self.at = e

    def handle_endtag(self, tag):
        assert tag == self.at.name, f"</{tag}> ends <{self.at.name}>"
        assert self.at.parent is not None
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.content.append(data)


def read(text: str) -> Element:
    """Return the page as a tree, or fail if it is not well-formed."""
    assert text.startswith("<!DOCTYPE html>\n")
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.at is reader.root, f"<{reader.at.name}> is not closed"
    (page,) = reader.root.children
    return page


#: All elements and attributes that a page is made of; none of them loads or runs anything.
ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "nav", "section", "h1", "h2", "h3",
    "p", "a", "b", "i", "span", "div", "sup", "sub", "pre", "details", "summary", "table", "thead", "tbody",
    "tr", "th", "td", "figure", "figcaption", "svg", "g", "rect", "circle", "path", "text",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "id", "class", "href", "title", "style", "viewbox",
    "width", "height", "x", "y", "rx", "cx", "cy", "r", "d", "role", "text-anchor",
}  # fmt: skip


def is_harmless(page: Element, text: str) -> None:
    """Fail if a page has anything that could load or run something."""
    for e in page.walk():
        assert e.name in ELEMENTS, e.name
        assert set(e.attributes) <= ATTRIBUTES, e.attributes
        assert e.attributes.get("href", "#").startswith("#")
        if "style" in e.attributes:
            assert e.attributes["style"].startswith("--"), e.attributes["style"]
    (style,) = page.all("style")
    assert not any(word in style.text() for word in ("@import", "url(", "http", "expression("))
    policies = [e for e in page.all("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert [e.attributes["content"] for e in policies] == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert not any(word in text for word in ("<script", "<link", "<img", "<iframe", " src=", " onload="))
