"""All code on pages runs as it stands, links lead somewhere, and no page of the site is forgotten."""

from __future__ import annotations

import inspect
import re

import pytest

import hinge
from hinge import contents, set_threads, view
from hinge.cli.command import COMMANDS
from tests.examples.test_examples import RUNS
from tests.pages import DOCS, NEEDS, blocks, leads, links, made, maker, name_of, pages

WITH_CODE = [p for p in pages() if blocks(p.read_text(encoding="utf-8"), "python")]


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8")
    for package in NEEDS.findall(text):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    for name in ("show", "play"):  # these wait for Ctrl-C
        monkeypatch.setattr(view, name, _only_checked(getattr(view, name)))
    scope: dict[str, object] = {"__name__": "page"}
    try:
        for block in blocks(text, "python"):
            exec(compile(block, name_of(page), "exec"), scope)
    finally:
        set_threads(None)


def _only_checked(function):
    """Return a function that checks its arguments and does nothing."""
    return lambda *given, **named: inspect.signature(function).bind(*given, **named)


def test_code_in_python_is_marked_as_such():
    for page in pages():
        for block in blocks(page.read_text(encoding="utf-8"), ""):
            assert not re.search(r"^(import|from) \w|hinge\.\w+\(", block, re.MULTILINE), name_of(page)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    assert [link for link in links(text) if not leads(page, link)] == []


def test_a_broken_link_is_noticed():
    text = "[a](guides/robots.md) [b](guides/none.md) [c](guides/robots.md#edit) [d](guides/robots.md#none)"
    page = DOCS / "new.md"  # need not be there
    assert [leads(page, link) for link in links(text)] == [True, False, True, False]


def test_every_command_is_on_its_page():
    text = (DOCS / "guides" / "command.md").read_text(encoding="utf-8")
    assert {line.split()[1] for line in text.splitlines() if line.startswith("hinge ")} == set(COMMANDS)


def test_every_example_has_a_page():
    wanted = [f"examples/{name}.md" for name in [*RUNS, "index"]]
    assert [p for p in made() if p.startswith("examples/")] == wanted
    index = re.findall(
        r"^\| \[`(\w+)\.py`\]\((\w+)\.md\) \| \w", str(made()["examples/index.md"]), re.MULTILINE
    )
    assert [a for a, _ in index] == [b for _, b in index] == list(RUNS)
    assert "## The program" in str(made()["examples/01_first_dynamics.md"])


def test_the_reference_has_every_public_name_once():
    text = "\n".join(str(made()[p]) for p in made() if p.startswith("reference/"))
    shown = re.findall(r"^::: (\S+)$", text, flags=re.MULTILINE)
    assert len(shown) == len(set(shown))
    assert {f"hinge.{name}" for name in hinge.__all__} <= set(shown)
    for room in contents.ROOMS:
        assert f"reference/room_{room}.md" in made()


def test_the_tour_is_cut_at_its_headings():
    text = str(made()["theory/tour.md"])
    assert text.count("\n## ") == 8 and "def heading" not in text


def test_stars_of_the_table_of_contents_are_replaced():
    nav = [{"Examples": ["examples/*"]}, "index.md", {"Reference": ["reference/*"]}]
    paths = [
        "examples/02_b.md",
        "examples/01_a.md",
        "reference/x.md",
        "reference/index.md",
        "reference/room_y.md",
    ]
    assert maker()["expanded"](nav, paths) == [
        {"Examples": [{"A": "examples/01_a.md"}, {"B": "examples/02_b.md"}]},
        "index.md",
        {
            "Reference": [
                {"Overview": "reference/index.md"},
                "reference/x.md",
                {"Rooms": ["reference/room_y.md"]},
            ]
        },
    ]


def test_every_page_is_in_the_table_of_contents():
    listed = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:")[1]
    found = set(re.findall(r"[\w/-]+\.md|[\w/-]+/\*", listed))
    folders = {p.removesuffix("*") for p in found if p.endswith("*")}
    here = {p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")} | {
        p for p in made() if p.endswith(".md")
    }
    assert here == {p for p in here if p in found or any(p.startswith(f) for f in folders)}
    assert {p for p in found if p.endswith(".md")} <= here
