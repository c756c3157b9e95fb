"""The documents of an MJCF model: read, checked, and copied with every file name resolved.

MuJoCo opens every file that a model names. So the model and all documents that it includes or attaches are
read here first. Names are resolved as MuJoCo does, against the main document, or else against the one that
names them; what leads out of the root, by `..`, an absolute name or a link, is refused. MuJoCo is given
copies, in which all names are absolute and free of links, with every element at its line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from xml.sax.saxutils import quoteattr

from hinge.errors import FormatError
from hinge.io.xml import Element, parse, read_bytes

MAX_FILES = 100

#: Repeating elements, the attributes whose product is their count, and its bound. Larger counts are refused
#: at once; what smaller ones amount to together is bounded by the process that compiles.
BOUNDS: dict[str, tuple[tuple[str, ...], float]] = {
    "replicate": (("count",), 1_000),
    "composite": (("count",), 10_000),
    "flexcomp": (("count",), 10_000),
    "texture": (("width", "height"), 2**24),
    "hfield": (("nrow", "ncol"), 2**22),
}
#: The bound on each number of <size>.
MAX_SIZE = 1_000_000
#: Numbers of <size> that only a simulation by MuJoCo uses; they are left out of the copy.
_SIMULATED = ("memory", "njmax", "nconmax", "nstack")
#: Attributes in which MuJoCo would take NaN for "not given".
_NUMBERS = {
    *("mass", "density", "diaginertia", "fullinertia", "pos", "quat", "axis", "size", "fromto", "euler"),
    *(
        "axisangle",
        "xyaxes",
        "zaxis",
        "gear",
        "armature",
        "damping",
        "stiffness",
        "frictionloss",
        "springref",
    ),
    *("ref", "range", "gravity", "polycoef", "coef"),
}
_NAN = re.compile(r"(?<!\S)[+-]?nan(?!\S)", re.IGNORECASE)


def copied(path: Path, root: Path, folder: Path) -> Path:
    """Return the copy in `folder` of the model at `path`; raise a FormatError if it is refused."""
    return _Copier(root, folder).model(path)


@dataclass
class _Copier:
    """Copies a model and the models that it attaches."""

    root: Path
    folder: Path
    copies: dict[str, Path] = field(default_factory=dict[str, Path])
    count: int = 0

    def model(self, path: Path) -> Path:
        """Copy a model: its main document, and those that it includes."""
        found = self._documents(path)
        if found[path].tag != "mujoco":
            found[path].fail(f"expected the root element <mujoco>, got <{found[path].tag}>")
        copies = {p: self._place(p) for p in found}
        self.copies[os.path.realpath(path)] = copies[path]
        elements = [e for document in found.values() for e in document.walk()]
        settings = _settings(elements)
        for folder in (settings["meshdir"], settings["texturedir"]):
            self._refuse_outside(found[path], str(path.parent / folder), folder)
        for p, document in found.items():
            for e in document.walk():
                _refuse_growth(e)
                _refuse_nan(e)
                self._resolve_files(e, p, path, settings, copies)
            copies[p].write_text(_text(document), encoding="utf-8")
        return copies[path]

    def _documents(self, path: Path) -> dict[Path, Element]:
        """Return the main document and those that it includes, parsed."""
        found: dict[Path, Element] = {}
        waiting, seen = [path], set[str]()
        while waiting:
            current = waiting.pop()
            seen.add(os.path.realpath(current))
            found[current] = parse(read_bytes(current), str(current))
            for e in found[current].walk():
                if e.tag != "include":
                    continue
                include = Path(self._resolved(e, e.need("file"), (path.parent, current.parent)))
                if str(include) in seen:
                    e.fail(f"<include> names {e.get('file')!r} again; a document is included once")
                seen.add(str(include))
                waiting.append(include)
                e.attributes["file"] = str(include)
        return found

    def _place(self, path: Path) -> Path:
        """Return where a document is copied to: a folder of its own, so that its name stays."""
        self.count += 1
        if self.count > MAX_FILES:
            raise FormatError(f"names more than {MAX_FILES} documents, the limit", source=str(path))
        folder = self.folder / str(self.count)
        folder.mkdir()
        return folder / path.name

    def _resolve_files(
        self, e: Element, path: Path, main: Path, settings: dict[str, str], copies: dict[Path, Path]
    ) -> None:
        """Replace the names of files in an element by absolute ones."""
        if e.tag == "compiler":
            for name in (*_FOLDERS, "strippath"):
                e.attributes.pop(name, None)
        if e.tag == "include":
            e.attributes["file"] = str(copies[Path(e.attributes["file"])])
            return
        for name in [n for n in e.attributes if n.startswith("file")]:
            file = e.attributes[name]
            if settings["strippath"] == "true":
                file = re.split(r"[/\\]", file)[-1]
            inner = {"texture": settings["texturedir"], "model": ""}.get(e.tag, settings["meshdir"])
            found = self._resolved(e, file, (main.parent / inner, path.parent / inner))
            e.attributes[name] = str(self._attached(e, Path(found))) if e.tag == "model" else found

    def _attached(self, e: Element, path: Path) -> Path:
        """Copy a model that is attached, once."""
        if str(path) not in self.copies:
            self.model(path)
        if not self.copies[str(path)].exists():
            e.fail(f"<model> names {path.name!r}, which attaches itself")
        return self.copies[str(path)]

    def _resolved(self, e: Element, file: str, folders: tuple[Path, ...]) -> str:
        """Return the real path of a file in the first folder that has it; it lies in the root."""
        places = [os.path.realpath(folder / file) for folder in folders]
        there = [p for p in places if os.path.isfile(p)]  # noqa: PTH113 (a Path raises on long names)
        self._refuse_outside(e, (there or places)[0], file)
        if not there:
            e.fail(f"<{e.tag}> names {_short(file)!r}, which is not a file in {str(folders[0])!r}")
        return there[0]

    def _refuse_outside(self, e: Element, place: str, file: str) -> None:
        absolute = PurePosixPath(file).is_absolute() or PureWindowsPath(file).is_absolute()
        root, real = os.path.realpath(self.root), os.path.realpath(place)
        if absolute or not Path(real).is_relative_to(root):
            e.fail(
                f"<{e.tag}> names {_short(file)!r} outside the folder {str(self.root)!r}; move it inside, or "
                "pass root= with a folder that you trust"
            )


_FOLDERS = ("meshdir", "texturedir", "assetdir")


def _settings(elements: list[Element]) -> dict[str, str]:
    """Return the folders of assets, and whether paths are stripped; later elements prevail."""
    found = dict.fromkeys((*_FOLDERS, "strippath"), "")
    for e in elements:
        if e.tag == "compiler":
            found |= {n: value for n, value in e.attributes.items() if n in found}
    assets = found.pop("assetdir")
    return {n: value or (assets if n in _FOLDERS else "") for n, value in found.items()}


def _refuse_growth(e: Element) -> None:
    if e.tag == "size":
        for name in _SIMULATED:
            e.attributes.pop(name, None)
        for name, value in e.attributes.items():
            if _amount(value) > MAX_SIZE:
                e.fail(f"<size> asks for {name}={value!r}; the limit is {MAX_SIZE}")
    names, bound = BOUNDS.get(e.tag, ((), 0.0))
    amounts = [_amount(e.attributes[n]) for n in names if n in e.attributes]
    if amounts and prod(amounts) > bound:
        e.fail(f"<{e.tag}> asks for {' × '.join(names)} = {prod(amounts):g}; the limit is {bound:g}")


def _refuse_nan(e: Element) -> None:
    for name in _NUMBERS.intersection(e.attributes):
        if _NAN.search(e.attributes[name]):
            e.fail(f"<{e.tag}> {name}: expected finite numbers, got {_short(e.attributes[name])!r}")


def _amount(text: str) -> float:
    """Return the product of the numbers in an attribute; a word counts as one."""
    found = 1.0
    for word in text.split()[:8]:
        try:
            found *= max(1.0, abs(float(word)))
        except ValueError:
            continue
    return found


def _text(document: Element) -> str:
    """Return a document as text, each element on its line."""
    return "".join(_pieces(document))


def _pieces(document: Element) -> Iterator[str]:
    line = 1
    waiting: list[Element | str] = [document]
    while waiting:
        e = waiting.pop()
        if isinstance(e, str):
            yield e
            continue
        yield "\n" * (e.line - line)
        line = max(line, e.line)
        attributes = "".join(f" {n}={quoteattr(value)}" for n, value in e.attributes.items())
        yield f"<{e.tag}{attributes}>"
        waiting.append(f"</{e.tag}>")
        waiting.extend(reversed(e.children))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
