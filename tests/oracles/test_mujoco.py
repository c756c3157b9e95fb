from __future__ import annotations

import pytest

pytest.importorskip("mujoco", reason="MuJoCo has no wheel for this platform")

from tests.io.test_mjcf import MODEL
from tests.oracles.compare import BOUND
from tests.oracles.data import package_root, packaged_mjcfs
from tests.oracles.mujoco import compare
from tests.tiers import daily

#: Reasons for which a file may be refused: it is no whole model, lacks files, or MuJoCo itself refuses it.
REASONS = (
    "expected at least one body",
    "MuJoCo does not compile it",
    "got <element>",
    "cannot be read",
    "is not a file",
)


@pytest.mark.parametrize(
    "path", daily(packaged_mjcfs(), lambda k, path: k % 5 == 0), ids=lambda p: "/".join(p.parts[-3:])
)
def test_dynamics_agrees_with_mujoco(path):
    row = compare(path, package_root(path), states=4)
    assert row.passed or any(r in row.refused for r in REASONS), row


def test_references_springs_and_anchors_agree(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(MODEL)
    row = compare(path, tmp_path)
    assert row.passed and max(row.found.values()) < BOUND, row


def test_the_models_are_there():
    assert len(packaged_mjcfs()) >= 70
