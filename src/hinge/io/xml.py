"""Untrusted XML as a small tree with line numbers.

Built on expat, without document types (hence no entities and no external subsets) and with bounded
size, depth and number of elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from hinge.errors import ArgumentError, FormatError

MAX_BYTES = 4 * 2**20
MAX_DEPTH = 100
MAX_ELEMENTS = 100_000

#: Encodings that a document may declare; some of Python's codecs are not text encodings.
ENCODINGS = {
    "utf-8",
    "utf8",
    "utf-16",
    "utf-16le",
    "utf-16be",
    "us-ascii",
    "ascii",
    "iso-8859-1",
    "latin-1",
    "latin1",
    "windows-1252",
}


@dataclass
class Element:
    """An XML element: tag, attributes, children and the line it starts on."""

    tag: str
    attributes: dict[str, str]
    line: int
    source: str
    children: list[Element] = field(default_factory=list["Element"])

    def all(self, tag: str) -> Iterator[Element]:
        """Yield the children of this tag."""
        return (c for c in self.children if c.tag == tag)

    def first(self, tag: str) -> Element | None:
        """Return the first child of this tag, or None."""
        return next(self.all(tag), None)

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return an attribute, or the default."""
        return self.attributes.get(name, default)

    def need(self, name: str, where: str = "") -> str:
        """Return a required attribute; `where` names the owner of the element in errors."""
        value = self.attributes.get(name)
        if value is None:
            self.fail(f"{where}: <{self.tag}> has no attribute {name!r}".removeprefix(": "))
        return value

    def walk(self) -> Iterator[Element]:
        """Yield this element and all below it, in the order of the document."""
        waiting: list[Element] = [self]
        while waiting:
            e = waiting.pop()
            yield e
            waiting.extend(reversed(e.children))

    def fail(self, message: str) -> NoReturn:
        """Raise a FormatError at this element."""
        raise FormatError(message, source=self.source, line=self.line)


def read_bytes(path: str | Path) -> bytes:
    """Return a file's bytes, or raise a FormatError if it is missing or too large."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", source=str(path)) from error
    if len(data) > MAX_BYTES:
        raise FormatError(f"is larger than {MAX_BYTES // 2**20} MiB, the limit", source=str(path))
    return data


def parse(data: bytes | str, source: str = "<string>") -> Element:
    """Return the root element of a document."""
    try:
        raw = data.encode() if isinstance(data, str) else data
    except UnicodeEncodeError as error:
        raise FormatError(f"cannot be encoded: {error.reason}", source=source) from None
    if len(raw) > MAX_BYTES:
        raise FormatError(f"is larger than {MAX_BYTES // 2**20} MiB, the limit", source=source)
    if not raw.strip():
        raise FormatError("expected an XML document, got an empty file", source=source)
    reader = _Reader(source)
    return reader.read(raw)


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.XmlDeclHandler = self.declaration
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype
        self.parser.EntityDeclHandler = self.refuse_doctype

    def read(self, raw: bytes) -> Element:
        try:
            self.parser.Parse(raw, True)
        except expat.ExpatError as error:
            message = f"is not well-formed XML: {expat.ErrorString(error.code)}"
            raise FormatError(message, source=self.source, line=error.lineno) from None
        except (LookupError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"cannot be decoded: {error}", source=self.source) from None
        if self.root is None:
            raise ArgumentError("data: expected an element, got none")
        return self.root

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= MAX_DEPTH:
            self.fail(f"nests elements deeper than {MAX_DEPTH}, the limit")
        if self.count > MAX_ELEMENTS:
            self.fail(f"holds more than {MAX_ELEMENTS} elements, the limit")
        element = Element(tag, attributes, self.parser.CurrentLineNumber, self.source)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        self.open.pop()

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            self.fail(f"expected the encoding to be one of {', '.join(sorted(ENCODINGS))}, got {encoding!r}")

    def refuse_doctype(self, *_: object) -> None:
        self.fail("holds a DOCTYPE or entity declaration, which is refused; remove it")

    def fail(self, message: str) -> NoReturn:
        raise FormatError(message, source=self.source, line=self.parser.CurrentLineNumber)
