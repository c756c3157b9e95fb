"""The README's code blocks run as they stand, and what it says `make demo` prints is what it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hinge import robots, set_threads, write_urdf

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


def test_the_demo_prints_what_the_readme_shows():
    demo = ROOT / "examples" / "demo.py"
    if not demo.exists():
        pytest.skip("installed without the examples")
    done = subprocess.run(
        [sys.executable, demo], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    shown = README.split("`make demo` prints")[1].split("```")[1]
    for line in shown.strip().splitlines():
        if "…" not in line and "1000 random states" not in line:
            assert line in done.stdout, line
    assert "they agree." in done.stdout


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
