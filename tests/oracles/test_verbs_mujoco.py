from __future__ import annotations

import pytest

pytest.importorskip("mujoco", reason="MuJoCo has no wheel for this platform")

from tests.dynamics.zoo import CASES
from tests.io.test_mjcf import MODEL
from tests.oracles.data import package_root
from tests.oracles.sweep_verbs import MJCFS, compare_mjcf, mjcf
from tests.tiers import daily

#: MuJoCo's accelerations are those of points.
NOT_IN_MUJOCO = {"accelerations", "jacobian_bias"}


@pytest.mark.parametrize("end", daily(MJCFS, lambda k, end: k % 2 == 0))
def test_the_verbs_agree_with_mujoco(end):
    path = mjcf(end)
    row = compare_mjcf(path, package_root(path), states=3)
    assert row.passed, row
    assert row.judged("MuJoCo") == row.found["MuJoCo"], row
    assert set(row.found["MuJoCo"]) == {*CASES, "residual"} - NOT_IN_MUJOCO


def test_rotors_references_and_anchors_agree(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(MODEL)
    row = compare_mjcf(path, tmp_path)
    assert row.passed, row
