"""Pages in a real browser: nothing goes wrong, nothing is asked for, nothing sticks out."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from functools import cache
from pathlib import Path

import pytest

import hinge
from hinge.dynamics import CATALOGUE, compile
from hinge.explain import page

BROWSER = next((b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b)), None)
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--proxy-server=127.0.0.1:9",
    "--enable-logging=stderr", "--dump-dom",
]  # fmt: skip
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
#: Writes how much wider the page is than the window into the title.
MEASURE = """<script>
const page = document.documentElement
document.title = "wider by " + (page.scrollWidth - page.clientWidth)
</script>"""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")]


def _file(name: str) -> Path:
    root = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
    found = sorted(root.rglob(name))
    if not found:
        pytest.skip("example-robot-data is not installed")
    return found[0]


@cache
def text_of(name: str) -> str:
    if name.endswith(".urdf"):
        robot = hinge.load(_file(name), floating=True, strict=None)
    else:
        robot = getattr(hinge.robots, name)()
    return page(compile({"forward_dynamics": CATALOGUE["forward_dynamics"]}, robot, target="llvm"))


def shown(text: str, folder: Path, width: int = 1200) -> tuple[str, list[str]]:
    """Return a page as the browser has it, and what the browser's console says."""
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    assert BROWSER is not None
    command = [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900"]
    done = subprocess.run(
        [*command, file.as_uri()], capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


ROBOTS = ["panda", "spacecraft", "solo12.urdf", "talos_reduced.urdf"]


@pytest.mark.parametrize("name", ROBOTS)
def test_no_complaint_and_no_request(name, tmp_path):
    text = text_of(name)
    dom, console = shown(text, tmp_path)
    assert console == []
    assert dom.count("<section") == 8 and dom.count("<svg") == text.count("<svg")
    assert len(text.encode()) < 2_000_000


@pytest.mark.parametrize("bad", ["<script>alert(1)</script>", '<img src="http://example.invalid/x.png">'])
def test_the_browser_would_complain(bad, tmp_path):
    _, console = shown(text_of("panda").replace("</main>", f"{bad}</main>"), tmp_path)
    assert any("Content Security Policy" in line for line in console)


@pytest.mark.parametrize("width", [1200, 600])
@pytest.mark.parametrize("name", ROBOTS)
def test_nothing_is_wider_than_the_window(name, width, tmp_path):
    text = (
        POLICY.sub("", text_of(name))
        .replace("</body>", f"{MEASURE}</body>")
        .replace("<details", "<details open")
    )
    dom, console = shown(text, tmp_path, width)
    assert console == []
    assert re.findall(r"<title>(wider by .*?)</title>", dom) == ["wider by 0"]
