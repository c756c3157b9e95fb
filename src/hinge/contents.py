"""The public names by topic, read from `hinge/__init__.pyi`: to load them, and to make a reference."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import NamedTuple

from hinge.forks import LOADING


class Entry(NamedTuple):
    """A public name: its topic, the name, the room that it comes from."""

    topic: str
    name: str
    room: str


class Line(NamedTuple):
    """A line of a reference: an entry, what it stands for, and the first line of what is said about it."""

    entry: Entry
    value: object
    summary: str


#: The topic under which the list has the rooms themselves.
TOPIC_OF_ROOMS = "Rooms"


def _read(text: str) -> Iterator[Entry]:
    headings = {k: line[2:] for k, line in enumerate(text.splitlines(), 1) if line.startswith("# ")}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom):
            topic = headings[max(k for k in headings if k < node.lineno)]
            for name in node.names:
                yield Entry(topic, name.name, str(node.module))


_LIST = tuple(_read(Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8")))
#: The public names in the order of the list.
ENTRIES = tuple(e for e in _LIST if e.topic != TOPIC_OF_ROOMS)
ROOMS = tuple(e.name for e in _LIST if e.topic == TOPIC_OF_ROOMS)
_HOMES = {e.name: e.room for e in ENTRIES}


def names() -> list[str]:
    """Return the public names, classes first."""
    return sorted(_HOMES, key=lambda name: (not name[0].isupper(), name))


def load(name: str) -> object:
    """Return what a public name or a room of `hinge` stands for, or raise an AttributeError."""
    if name not in ROOMS and name not in _HOMES:
        raise AttributeError(f"module 'hinge' has no attribute {name!r}")
    with LOADING:
        if name in ROOMS:
            return import_module(f"hinge.{name}")
        return getattr(import_module(_HOMES[name]), name)


def reference() -> Iterator[Line]:
    """Yield every public name by topic, with what it stands for and the first line of its documentation."""
    for entry in ENTRIES:
        value = load(entry.name)
        yield Line(entry, value, (getdoc(value) or "").partition("\n")[0])
