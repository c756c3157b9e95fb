from __future__ import annotations

import pytest

pytest.importorskip("pinocchio", reason="Pinocchio has no wheel for this platform")

from tests.dynamics.zoo import CASES
from tests.oracles.data import example
from tests.oracles.sweep_verbs import BOUND, URDFS, compare_pinocchio, compare_urdf
from tests.oracles.test_pinocchio import _pinocchio_chain
from tests.tiers import daily


@pytest.mark.parametrize(
    "name, floating",
    daily(
        [
            ("ur5_robot.urdf", False),
            ("panda.urdf", True),
            ("solo12.urdf", False),
            ("solo12.urdf", True),
            ("laikago.urdf", True),
            ("talos_reduced.urdf", True),
        ],
        lambda k, case: k in (1, 2, 4),
    ),
)
def test_the_verbs_agree_with_pinocchio(name, floating):
    row = compare_urdf(example(name), floating=floating, states=3)
    assert row.passed, row
    assert row.judged("Pinocchio") == row.found["Pinocchio"], row


@pytest.mark.parametrize(
    "kinds",
    [
        ["planar", "spherical"],
        ["free", "spherical", "planar", "continuous", "revolute", "prismatic", "translational"],
    ],
)
def test_the_verbs_agree_on_every_joint_that_pinocchio_has(kinds):
    row = compare_pinocchio(*_pinocchio_chain(kinds), label="chain", base="")
    assert max(row.found["Pinocchio"].values()) < BOUND, row


def test_every_verb_has_been_compared():
    row = compare_urdf(example("ur5_robot.urdf"), floating=False, states=2)
    for peer in ("reference", "Pinocchio"):
        assert set(row.found[peer]) == {*CASES, "residual"}


def test_the_sweep_has_robots_enough():
    assert len(set(URDFS)) == 20 and all(example(name).is_file() for name in URDFS)
