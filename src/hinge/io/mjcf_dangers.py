"""Refuse MJCF files that read outside their folder, or that expand without bound when compiled.

MuJoCo opens every file that a model names and expands every repetition. So the file and all files
that it includes or attaches are read here first, with bounds, before MuJoCo sees them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath

from hinge.errors import FormatError
from hinge.io.xml import Element, parse, read_bytes

MAX_FILES = 100

#: Repeating elements, the attributes whose product is their count, and its bound.
BOUNDS: dict[str, tuple[tuple[str, ...], float]] = {
    "replicate": (("count",), 1_000),
    "composite": (("count",), 10_000),
    "flexcomp": (("count",), 10_000),
    "texture": (("width", "height"), 2**24),
    "hfield": (("nrow", "ncol"), 2**22),
}
#: The bound on each number of <size> except `memory`, which only a simulation uses.
MAX_SIZE = 1_000_000

_FOLDERS = ("meshdir", "texturedir", "assetdir")


def refuse_dangers(path: Path, root: Path) -> None:
    """Raise a FormatError when the model at `path` names files outside `root` or grows too large."""
    documents = _documents(path, root)
    if documents[0].tag != "mujoco":
        documents[0].fail(f"expected the root element <mujoco>, got <{documents[0].tag}>")
    elements = [e for d in documents for e in d.walk()]
    folders = {""}
    for e in elements:
        for name in _FOLDERS:
            if name in e.attributes:
                _refuse_outside(e, path.parent, e.attributes[name], root)
                folders.add(e.attributes[name])
    for e in elements:
        _refuse_growth(e)
        for file in _files(e):
            for folder in folders:
                _refuse_outside(e, path.parent / folder, file, root)


def _documents(path: Path, root: Path) -> list[Element]:
    """Return the model and everything that it includes or attaches, parsed."""
    waiting, seen, found = [path], set[Path](), list[Element]()
    while waiting:
        current = waiting.pop()
        if current.resolve() in seen:
            continue
        seen.add(current.resolve())
        if len(seen) > MAX_FILES:
            raise FormatError(f"includes more than {MAX_FILES} files, the limit", source=str(path))
        found.append(parse(read_bytes(current), str(current)))
        for e in found[-1].walk():
            if e.tag in ("include", "model") and (file := e.get("file")) is not None:
                for folder in {path.parent, current.parent}:
                    _refuse_outside(e, folder, file, root)
                    if (folder / file).exists() or folder == path.parent:
                        waiting.append(folder / file)
    return found


def _files(e: Element) -> Iterator[str]:
    """Yield the files that an element names, in whatever attribute: file, fileright, …."""
    return (value for name, value in e.attributes.items() if name.startswith("file"))


def _refuse_outside(e: Element, folder: Path, file: str, root: Path) -> None:
    absolute = PurePosixPath(file).is_absolute() or PureWindowsPath(file).is_absolute()
    if absolute or not (folder / file).resolve().is_relative_to(root.resolve()):
        e.fail(
            f"<{e.tag}> names {file!r} outside the folder {str(root)!r}; move it inside, or pass root= "
            "with a folder that you trust"
        )


def _refuse_growth(e: Element) -> None:
    if e.tag == "size":
        for name, value in e.attributes.items():
            if name != "memory" and _amount(value) > MAX_SIZE:
                e.fail(f"<size> asks for {name}={value!r}; the limit is {MAX_SIZE}")
    names, bound = BOUNDS.get(e.tag, ((), 0.0))
    amounts = [_amount(e.attributes[n]) for n in names if n in e.attributes]
    if amounts and prod(amounts) > bound:
        e.fail(f"<{e.tag}> asks for {' × '.join(names)} = {prod(amounts):g}; the limit is {bound:g}")


def _amount(text: str) -> float:
    """Return the product of the numbers in an attribute; a word counts as one."""
    found = 1.0
    for word in text.split()[:8]:
        try:
            found *= max(1.0, abs(float(word)))
        except ValueError:
            continue
    return found
