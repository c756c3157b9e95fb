"""A campaign that is quick, and the digest of a store."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import hinge
from hinge.campaign import Campaign, Normal, Uniform
from tests.campaign import functions

FUNCTIONS = str(Path(functions.__file__))


def pendulum(samples=300, **more):
    robot = hinge.robots.double_pendulum()
    upper, lower = (j.name for j in robot.joints if j.nv)
    given = {
        "vary": {
            "mass_factor": {robot.body_names[-1]: Uniform(0.5, 2.0)},
            "offset": {upper: Normal(0.0, 0.3), lower: Uniform(-1, 1)},
            "damping": {lower: Uniform(0, 0.1)},
            "own": {"gain": Uniform(0.1, 1.0)},
        },
        "times": (0.05, 0.1),
        "extremes": ("qd", "energy"),
        "measure": functions.measure,
        "control": functions.damped,
        "t": 0.1,
        "dt": 5e-3,
        "seed": 11,
    }
    return Campaign(robot, samples=samples, **(given | more))


def small_blocks(monkeypatch, size=64):
    """Make stores of small blocks, in this process; those who open a store read its size from it."""
    monkeypatch.setattr("hinge.campaign.store.BLOCK", size)


def digest(path):
    """Return the digest of all results of a store."""
    found = sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        name = file.relative_to(path)
        if name.parts[0] != "run":
            found.update(f"{name} {sha256(file.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()
