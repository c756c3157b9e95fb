"""Pages of Markdown as tests see them: blocks of code, links, headings."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from runpy import run_path
from typing import Any
from urllib.parse import unquote

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
FENCE = re.compile(r"^(```+)(\w*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
#: What a page needs to be run: <!-- needs: mujoco -->
NEEDS = re.compile(r"<!-- needs: (\w+) -->")


def pages() -> list[Path]:
    """Return all pages that are files: the README and those of docs/."""
    return [README, *sorted(DOCS.rglob("*.md")), ROOT / "CONTRIBUTING.md"]


def name_of(page: Path) -> str:
    """Return the path of a page below the root."""
    return page.relative_to(ROOT).as_posix()


def blocks(text: str, language: str) -> list[str]:
    """Return the blocks of code in a language."""
    return [code for _, said, code in FENCE.findall(text) if said == language]


def links(text: str) -> list[str]:
    """Return the addresses that a page leads to and the pictures that it shows, not those inside of code."""
    plain = re.sub(r"`[^`\n]*`(?!\])", "", FENCE.sub("", text))
    return [a or b for a, b in LINK.findall(plain)]


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings."""
    found = re.findall(r"^#+ (.*)$", FENCE.sub("", text), flags=re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in found}


@cache
def maker() -> dict[str, Any]:
    """Return the names of docs/pages.py, which makes pages from the code."""
    return run_path(str(DOCS / "pages.py"))


@cache
def made() -> dict[str, str | bytes]:
    """Return the pages that are made, without running examples."""
    return maker()["made"](run=False)


def leads(page: Path, link: str) -> bool:
    """Tell whether a link of a page leads somewhere inside of the repository or the site."""
    if re.match(r"\w+:", link):
        return link.startswith("https://")
    path, _, anchor = unquote(link).partition("#")
    target = (page.parent / path).resolve() if path else page
    content = None
    if target.is_file() and target.suffix == ".md":
        content = target.read_text(encoding="utf-8")
    elif not target.exists():
        if DOCS not in target.parents or page == README:
            return False
        content = made().get(target.relative_to(DOCS).as_posix())
        if content is None:
            return False
    return not anchor or (isinstance(content, str) and anchor in anchors(content))
