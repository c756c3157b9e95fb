"""The README is short, its numbers are those of other pages, and what pages say is printed is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import DOCS, README, ROOT, blocks

PERFORMANCE = DOCS / "performance.md"
MARKS = re.compile(r"(?<=<!-- speed: begin -->\n).*?(?=<!-- speed: end -->)", re.DOTALL)
#: The rows of the table of speed.
ROWS = [(r, x) for r in ("panda", "talos") for x in ("forward dynamics", "inverse dynamics", "mass matrix")]


def readme() -> str:
    return README.read_text(encoding="utf-8")


def test_it_is_short():
    text = readme()
    assert len(text.splitlines()) <= 130
    twelve, eight = ([line for line in b.splitlines() if line] for b in blocks(text, "python"))
    assert (len(twelve), len(eight)) == (12, 8)


def test_it_says_how_the_tests_end():
    assert re.search(r"`make test` ends with a line such as `\d+ passed, \d+ skipped in [\d.]+s`", readme())


def test_the_table_of_speed_is_that_of_the_page(request):
    """Write it anew with --update-golden."""
    text = readme()
    wanted = MARKS.sub(lambda _: speed(), text)
    if request.config.getoption("update_golden"):
        README.write_text(wanted, encoding="utf-8")
    assert readme() == wanted


def speed() -> str:
    """Return the table of speed, taken from docs/performance.md."""
    page = PERFORMANCE.read_text(encoding="utf-8")
    one = table(page, "One state")
    lines = [
        "| | Hinge, batch | Hinge, one call | Pinocchio in C++ | Pinocchio from Python | MuJoCo |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for robot, quantity in ROWS:
        many = next(r for r in table(page, f"Batch, {quantity}") if r["robot"] == robot)
        single = next(r for r in one if (r["robot"], r["quantity"]) == (robot, quantity))
        cells = [many["Hinge"], single["Hinge"]]
        cells += [many[x] for x in ("Pinocchio native", "pin from Python", "MuJoCo")]
        lines.append(f"| {robot} (nv = {many['nv']}), {quantity} | {' | '.join(cells)} |")
    facts = dict(re.findall(r"^- ([\w ]+): (.*)$", page, flags=re.MULTILINE))
    machine = f"{facts['processor']}, {facts['instruction set']}, {facts['cores']} cores"
    versions = ", ".join(f"{x} {facts[x]}" for x in ("hinge", "pin", "mujoco"))
    return "\n".join([*lines, "", f"Processor {machine}; {versions}; results agree to 1e-9.", ""])


def table(page: str, title: str) -> list[dict[str, str]]:
    """Return the rows of the table below a heading that begins with a title."""
    section = page.split(f"\n### {title}")[1].split("\n### ", 1)[0]
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in section.splitlines() if "|" in line]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]


def test_the_demo_prints_what_the_first_page_shows(tmp_path):
    printed = [_without_numbers(line) for line in _printed("demo.py", tmp_path).splitlines()]
    for line in _shown("index.md", "prints"):
        assert _without_numbers(line) in printed, line
    assert (tmp_path / "demo-output" / "panda.npz").exists()


def test_the_first_example_prints_what_the_page_on_algebra_shows(tmp_path):
    printed = _printed("01_first_dynamics.py", tmp_path)
    for line in _shown("guides/algebra.md", "`python examples/01_first_dynamics.py` ends with"):
        if line.strip() != "…" and "1000 random states" not in line:
            assert line in printed, line
    assert "they agree." in printed


def test_the_citation_has_the_version():
    import hinge

    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {hinge.__version__}\n" in text


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda p: p.stem)
def test_actions_are_pinned_by_commit_and_keep_no_credentials(path):
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", line) for line in used)
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def _printed(example: str, folder: Path) -> str:
    """Return what an example prints when it is run in a folder."""
    path = ROOT / "examples" / example
    if not path.exists():
        pytest.skip("installed without the examples")
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, check=True, encoding="utf-8", cwd=folder
    )
    return done.stdout


def _shown(page: str, after: str) -> list[str]:
    """Return the lines of the block of text after some words of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return blocks(text.split(after, 1)[1], "text")[0].strip().splitlines()


def _without_numbers(line: str) -> str:
    """Return a line without what differs from machine to machine: numbers, spaces, the folder of `hinge`."""
    line = re.sub(r"\S*/hinge ", "hinge ", line)
    return re.sub(r"[\d.,]+(e-\d+)?|\s+", "", line)
