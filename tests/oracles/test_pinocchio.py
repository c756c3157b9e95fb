from __future__ import annotations

import pytest

pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for this platform")

from tests.oracles.data import example_urdfs
from tests.oracles.pinocchio import compare


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("path", example_urdfs(), ids=lambda p: f"{p.parent.parent.name}/{p.name}")
def test_dynamics_agrees_with_pinocchio(path, floating):
    row = compare(path, floating=floating, states=4)
    if path.name == "ur3.urdf":
        assert "no <link>" in row.refused
    else:
        assert row.passed, row


def test_the_robots_are_there():
    assert len(example_urdfs()) >= 60
