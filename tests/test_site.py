"""The site is built without a complaint, asks for nothing outside of itself, and can be searched as files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import hinge
from tests.pages import ROOT
from tests.view.browser import BROWSER, Page, until

pytestmark = pytest.mark.slow
#: What a page loads by itself: tags and the attribute that says from where.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
#: Links of these kinds are no requests.
ONLY_SAID = {"canonical", "next", "prev", "alternate", "edit"}
#: Widths of a telephone and of a screen.
WIDTHS = [400, 1400]
LOOKED_AT = ["index.html", "guides/dynamics.html", "reference/04_dynamics_forces_and_accelerations.html"]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    blocked = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    environment = {**os.environ, **blocked, "HINGE_DOCS_RUN": "0"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Loads(HTMLParser):
    """Collect what a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and set((given.get("rel") or "").split()) <= ONLY_SAID:
            return
        if tag in LOADED and given.get(LOADED[tag]):
            self.found.append(str(given[LOADED[tag]]))


def loads(text: str) -> list[str]:
    """Return what a page loads from elsewhere, by tags or by styles."""
    parser = Loads()
    parser.feed(text)
    styled = re.findall(r"(?:url\(|@import\s)\s*[\"']?((?:https?:)?//[^\"')\s]+)", text)
    return [x for x in parser.found if re.match(r"(https?:)?//", x)] + styled


def test_pages_load_nothing_from_elsewhere(site):
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(files) > 60
    assert {f.name: found for f in files if (found := loads(f.read_text(encoding="utf-8")))} == {}


def test_what_comes_from_elsewhere_is_noticed():
    assert loads('<script src="https://unpkg.com/x"></script><a href="https://x.org">x</a>') == [
        "https://unpkg.com/x"
    ]
    assert loads("<style>@import url(https://fonts.googleapis.com/css)</style>")
    assert loads('<link rel="stylesheet" href="//x.org/y.css">') == ["//x.org/y.css"]
    assert loads('<link rel="next" href="https://x.org"><img src="images/a.png">') == []


def test_every_public_name_is_in_the_reference_with_its_arguments(site):
    text = "\n".join(p.read_text(encoding="utf-8") for p in (site / "reference").glob("*.html"))
    missing = [n for n in hinge.__all__ if f'id="hinge.{n}"' not in text]
    assert missing == []
    assert "base_force" in text


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_fits_and_asks_for_nothing(site, name, width, tmp_path):
    pytest.importorskip("websockets")
    with Page((site / name).as_uri(), tmp_path, width=width) as page:
        until(lambda: page.run("document.readyState") == "complete", 30, "the page")
        wider = page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0
        assert [r for r in page.requests if not r.startswith("file:")] == []
        assert [line for line in page.console if line.startswith("error")] == []


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
def test_pages_opened_as_files_can_be_searched(site, tmp_path):
    pytest.importorskip("websockets")
    with Page((site / "index.html").as_uri(), tmp_path, width=1400) as page:
        until(lambda: page.run("document.readyState") == "complete", 30, "the page")
        page.run("document.querySelector('#__search').click()")
        page.run(
            "(() => { const x = document.querySelector('.md-search__input'); x.value = 'quasi_velocities';"
            "x.dispatchEvent(new KeyboardEvent('keyup')); x.dispatchEvent(new Event('input')) })()"
        )
        found = until(
            lambda: page.run("[...document.querySelectorAll('.md-search-result__link')].map(x => x.href)"),
            30,
            "a result",
        )
        assert any("reference" in link or "quasi" in link for link in found)
