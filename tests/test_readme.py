"""The README's code blocks run as they stand, and what it says `make demo` prints is what it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hinge import robots, set_threads, write_urdf
from hinge.cli.command import COMMANDS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_blocks_run(tmp_path, monkeypatch):
    write_urdf(_renamed_panda(), tmp_path / "panda.urdf")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        exec(compile(block, "README.md", "exec"), scope)
    assert scope["robot"].nv == 4  # type: ignore[attr-defined]
    set_threads(None)


def test_the_demo_prints_what_the_readme_shows(tmp_path):
    printed = [_without_numbers(line) for line in _printed("demo.py", tmp_path).splitlines()]
    for line in _shown("`make demo` prints"):
        assert _without_numbers(line) in printed, line
    assert (tmp_path / "demo-output" / "panda.npz").exists()


def test_the_first_example_prints_what_the_readme_shows(tmp_path):
    printed = _printed("01_first_dynamics.py", tmp_path)
    for line in _shown("`python examples/01_first_dynamics.py` ends with"):
        if line.strip() != "…" and "1000 random states" not in line:
            assert line in printed, line
    assert "they agree." in printed


def test_every_command_of_the_readme_is_there():
    listed = {line.split()[1] for line in README.splitlines() if line.startswith("hinge ")}
    assert listed == set(COMMANDS)


def _printed(example: str, folder: Path) -> str:
    """Return what an example prints when it is run in a folder."""
    path = ROOT / "examples" / example
    if not path.exists():
        pytest.skip("installed without the examples")
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, check=True, encoding="utf-8", cwd=folder
    )
    return done.stdout


def _shown(after: str) -> list[str]:
    """Return the lines of the block after some words of the README."""
    return README.split(after)[1].split("```")[1].strip().splitlines()


def _without_numbers(line: str) -> str:
    """Return a line without what differs from machine to machine: numbers, spaces, the folder of `hinge`."""
    line = re.sub(r"\S*/hinge ", "hinge ", line)
    return re.sub(r"[\d.,]+(e-\d+)?|\s+", "", line)


def _renamed_panda():
    """Return the arm with the names of its maker's description, and a base that has mass to float with."""
    from dataclasses import replace

    from hinge import Inertia
    from hinge.model import assemble

    robot = robots.panda()
    old = [b.name for b in robot.bodies]
    new = {name: f"panda_link{k}" for k, name in enumerate(old)}
    bodies = [replace(b, name=new[b.name]) for b in robot.bodies]
    bodies[0] = replace(bodies[0], inertia=Inertia.from_com(3.0, (0, 0, 0.05), 0.01 * np.eye(3)))
    joints = [
        replace(j, name=f"panda_{j.name}", parent=j.parent and new[j.parent], child=new[j.child])
        for j in robot.joints
    ]
    return assemble("panda", bodies, joints)
