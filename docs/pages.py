"""The pages of the site that are made from the code, and the hooks by which MkDocs gets them (mkdocs.yml).

`python docs/pages.py` lists them. Nothing here needs MkDocs but the hooks.
"""

from __future__ import annotations

import ast
import base64
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hinge
from hinge import contents
from hinge.algebra import Leaf
from hinge.dynamics import expression

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: Derivations are shown on a page for each of these groups of verbs.
DERIVED = {
    "Dynamics": ("inverse_dynamics", "forward_dynamics", "bias_force", "hybrid_dynamics"),
    "Mass matrix": ("mass_matrix", "mass_matrix_inverse", "mass_solve", "mass_root", "log_determinant"),
    "Jacobians": ("jacobian", "generalized_jacobian", "jacobian_solve"),
    "Closed loops": ("closed_dynamics", "settle"),
    "Operational space": ("operational_inverse_inertia", "operational_inertia", "force_correction"),
}
#: Whether examples and the tour are run, so that pages show what they print.
RUN = "HINGE_DOCS_RUN"

Pages = dict[str, str | bytes]


def made(*, run: bool = True) -> Pages:
    """Return all pages that are made, by path; without `run` examples do not show what they print."""
    pages: Pages = {}
    for part in (examples(run), tour(run), notebooks(), derivations(), reference(), borrowed()):
        pages.update(part)
    return pages


def examples(run: bool) -> Iterator[tuple[str, str]]:
    """Yield a page for each file of examples/: what it is about, prints, and is; and one for all."""
    rows: list[tuple[str, str, str]] = []
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        first, _, rest = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
        code = re.sub(r'\A""".*?"""\n+', "", text, flags=re.DOTALL)
        parts = [f"# {title_of(path.stem)}", f"**{first}**", rest.strip()]
        command = f"`python examples/{path.name}`"
        parts += [f"{command} prints", block(printed(path), "text")] if run else [command]
        parts += ["## The program", block(code.strip(), "python")]
        yield f"examples/{path.stem}.md", "\n\n".join(parts) + "\n"
        rows.append((f"{path.stem}.md", path.name, first))
    said = "Each is a page to read and a program to run, and checks itself the laws that it is about."
    yield "examples/index.md", "\n".join(["# Examples", "", said, "", *_table(rows), ""])


def title_of(stem: str) -> str:
    """Return a title for the name of a file: 04_arm_control is Arm control."""
    words = re.sub(r"^\d+[_-]", "", stem).replace("_", " ").replace("-", " ")
    return {"demo": "The demonstration"}.get(stem, words[:1].upper() + words[1:])


def printed(path: Path) -> str:
    """Return what a program prints, run in a folder of its own."""
    with TemporaryDirectory(prefix="hinge-docs-") as folder:
        done = subprocess.run(
            [sys.executable, path],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            check=True,
            env={
                **os.environ,
                "PYTHONIOENCODING": "utf-8",
                "PYTHONPATH": str(Path(hinge.__file__).parents[1]),
            },
        )
    # The command is shown without its folder.
    return re.sub(r"\S+/hinge ", "hinge ", done.stdout.replace(f"{folder}/", "")).strip()


def block(text: str, language: str) -> str:
    """Return a block of code; the fence is longer than any inside."""
    fence = "`" * max(3, 1 + max((len(m) for m in re.findall(r"`{3,}", text)), default=2))
    return f"{fence}{language}\n{text}\n{fence}"


def tour(run: bool) -> Iterator[tuple[str, str]]:
    """Yield docs/tour.py as a page: each part of the program, and what it prints."""
    text = (DOCS / "tour.py").read_text(encoding="utf-8")
    said = ast.get_docstring(ast.parse(text)) or ""
    before, *sections = re.split(r'^heading\("(.*?)"\)\n', text, flags=re.MULTILINE)
    shown = re.split(r"\n?^(.*)\n─+\n", printed(DOCS / "tour.py") if run else "", flags=re.MULTILINE)[1:]
    outputs = dict(zip(shown[::2], shown[1::2], strict=True))
    imports = re.sub(r'\A""".*?"""\n+', "", before, flags=re.DOTALL).split("\n\ndef heading")[0]
    parts = ["# A tour of the algebra", said, block(imports.strip(), "python")]
    for title, code in zip(sections[::2], sections[1::2], strict=True):
        parts += [f"## {title}", block(code.strip(), "python")]
        if run:
            parts.append(block(outputs[title].strip("\n"), "text"))
    yield "theory/tour.md", "\n\n".join(parts) + "\n"


def notebooks() -> Iterator[tuple[str, str | bytes]]:
    """Yield the notebooks of docs/notebooks with the outputs that are kept in them, and their pictures."""
    for path in sorted((DOCS / "notebooks").glob("*.ipynb")):
        parts: list[str] = []
        for k, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            source = "".join(cell["source"])
            parts.append(source if cell["cell_type"] == "markdown" else block(source, "python"))
            for n, output in enumerate(cell.get("outputs", ())):
                data: dict[str, Any] = output.get("data", {"text/plain": output.get("text", "")})
                if "image/png" in data:
                    name = f"{path.stem}_{k}_{n}.png"
                    yield f"notebooks/{name}", base64.b64decode(data["image/png"])
                    parts.append(f"![what the cell shows]({name})")
                elif "text/html" in data:
                    parts.append("".join(data["text/html"]))
                else:
                    parts.append(block("".join(data["text/plain"]).rstrip(), "text"))
        parts.append(f"The notebook itself is `docs/notebooks/{path.name}`.")
        yield f"notebooks/{path.stem}.md", "\n\n".join(parts) + "\n"


def derivations() -> Iterator[tuple[str, str]]:
    """Yield a page of derivations for each group of verbs."""
    for k, (title, verbs) in enumerate(DERIVED.items(), 1):
        parts = [
            f"# Derivations: {title.lower()}",
            "Each is printed by `hinge.derive` when the site is built.",
        ]
        for verb in verbs:
            parts += [f"## {verb}", block(str(hinge.derive(expression(verb).expressions)), "text")]
        name = title.lower().replace(" ", "_")
        yield f"theory/derivations/{k}_{name}.md", "\n\n".join(parts) + "\n"


def reference() -> Iterator[tuple[str, str]]:
    """Yield a page for each topic of `hinge/__init__.pyi`, one for each room, and one with all names."""
    lines = list(contents.reference())
    overview = ["# Reference", "Every public name of `hinge`, by topic.", ""]
    for k, (topic, group) in enumerate(groupby(lines, key=lambda line: line.entry.topic), 1):
        entries = list(group)
        file = f"{k:02}_{'_'.join(re.findall('[a-z]+', topic.lower()))}.md"
        rows = [(line.entry.name, line.summary) for line in entries]
        overview += [f"## {topic}", "", *_table([(f"{file}#hinge.{n}", n, s) for n, s in rows]), ""]
        parts = [f"# {topic}", "\n".join(_table([(f"#hinge.{n}", n, s) for n, s in rows]))]
        yield f"reference/{file}", "\n\n".join([*parts, *(f"::: hinge.{n}" for n, _ in rows)]) + "\n"
    overview += ["## Rooms", "", "Names that belong to a part of the package, for those who need more.", ""]
    rooms: list[tuple[str, str, str]] = []
    for room in (*contents.ROOMS, "model.joints"):
        module = importlib.import_module(f"hinge.{room}")
        yield f"reference/room_{room.replace('.', '_')}.md", _room(room, module)
        rooms.append(
            (f"room_{room.replace('.', '_')}.md", f"hinge.{room}", (module.__doc__ or "").split("\n")[0])
        )
    yield "reference/index.md", "\n".join([*overview, *_table(rooms), ""])


def _table(rows: list[tuple[str, str, str]]) -> list[str]:
    """Return a table of links, names and what is said about them."""
    said = [(link, name, text.replace("|", "\\|")) for link, name, text in rows]
    return ["| | |", "|---|---|", *(f"| [`{name}`]({link}) | {text} |" for link, name, text in said)]


def _room(room: str, module: Any) -> str:
    """Return the page of a room: what `hinge` itself does not show."""
    front = {e.name for e in contents.ENTRIES if e.room == f"hinge.{room}"}
    names = [n for n in public_names(module) if n not in front]
    described = [n for n in names if inspect.isclass(v := getattr(module, n)) or inspect.isfunction(v)]
    letters = [n for n in names if isinstance(getattr(module, n), Leaf)]
    values = [n for n in names if n not in described and n not in letters]
    parts = [f"# hinge.{room}", module.__doc__ or ""]
    if front:
        shown = ", ".join(f"[`{n}`][hinge.{n}]" for n in sorted(front))
        parts.append(f"`hinge` itself shows {shown}.")
    if letters:
        shown = ", ".join(f"`{n}`" for n in letters)
        parts.append(f"Letters, explained in the [glossary](../glossary.md): {shown}.")
    if values:
        parts.append("Values and types: " + ", ".join(f"`{n}`" for n in values) + ".")
    return "\n\n".join([*parts, *(f"::: hinge.{room}.{n}" for n in described)]) + "\n"


def public_names(module: Any) -> list[str]:
    """Return the public names of a module: its list, or the classes that it defines."""
    own = (n for n, v in vars(module).items() if inspect.isclass(v) and v.__module__ == module.__name__)
    return list(getattr(module, "__all__", own))


def borrowed() -> Iterator[tuple[str, str]]:
    """Yield pages that are files of the root: how to contribute, and what has changed."""
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        yield name.lower(), text.replace("](docs/", "](")


def expanded(nav: Any, paths: list[str]) -> Any:
    """Return a table of contents in which folder/* is replaced by the pages of the folder."""
    if isinstance(nav, list):
        return [y for x in nav for y in (_pages_of(x[:-1], paths) if _is_star(x) else [expanded(x, paths)])]
    return {title: expanded(value, paths) for title, value in nav.items()} if isinstance(nav, dict) else nav


def _is_star(entry: Any) -> bool:
    return isinstance(entry, str) and entry.endswith("*")


def _pages_of(folder: str, paths: list[str]) -> list[Any]:
    """Return the pages of a folder: an index first, those of rooms under a title of their own."""
    found = sorted(p for p in paths if p.startswith(folder) and p.endswith(".md"))
    index = [p for p in found if p == f"{folder}index.md"]
    rooms = [p for p in found if Path(p).name.startswith("room_")]
    others: list[Any] = [p for p in found if p not in index and p not in rooms]
    if folder == "examples/":
        others = [{title_of(Path(p).stem): p} for p in others]
    return [*({"Overview": p} for p in index), *others, *([{"Rooms": rooms}] if rooms else [])]


def on_config(config: Any) -> Any:
    """Make the pages, and put them into the table of contents."""
    _MADE.clear()
    _MADE.update(made(run=os.environ.get(RUN, "1") != "0"))
    here = [p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")]
    config.nav = expanded(config.nav, [*_MADE, *here])
    return config


def on_files(files: Any, config: Any) -> Any:
    """Give the pages to MkDocs."""
    from mkdocs.structure.files import File  # noqa: PLC0415 the only place that needs it

    for path, content in _MADE.items():
        files.append(File.generated(config, path, content=content))
    return files


#: The pages of the build that is under way.
_MADE: Pages = {}

if __name__ == "__main__":
    print("\n".join(made(run=False)))
