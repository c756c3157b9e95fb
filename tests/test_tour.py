"""The tour of the algebra runs, and prints what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOUR = Path(__file__).parents[1] / "docs" / "tour.py"


def test_the_tour_runs():
    done = subprocess.run(
        [sys.executable, str(TOUR)], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    wanted = (
        "59 rules", "proved on trees", "refuted: differs on a tree", "proved on serial chains",
        "step 6: propagation ψ from φ", "cheapest of", "FD4: equal to 𝓜⁻¹(τ − C): True",
        "y = log det D", "X is a reflection", "sweep 3, base to tip",
    )  # fmt: skip
    for text in wanted:
        assert text in done.stdout, text
    assert "False" not in done.stdout
