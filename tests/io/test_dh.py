from __future__ import annotations

import numpy as np
import pytest

from hinge import reference
from hinge.errors import ArgumentError
from hinge.io import DHRow, from_dh
from hinge.robots import random_inertia


def _rz(t: float) -> np.ndarray:
    c, s = np.cos(t), np.sin(t)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def _rx(t: float) -> np.ndarray:
    c, s = np.cos(t), np.sin(t)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])


def _shift(x: float, z: float) -> np.ndarray:
    m = np.eye(4)
    m[0, 3], m[2, 3] = x, z
    return m


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_poses_follow_the_product_of_elementary_matrices(convention):
    rng = np.random.default_rng(0)
    kinds = ["revolute", "prismatic", "revolute", "revolute"]
    table = rng.uniform(-1, 1, (4, 4))
    rows = [DHRow(*r, joint=k, inertia=random_inertia(rng)) for r, k in zip(table, kinds, strict=True)]
    robot = from_dh(rows, convention=convention)
    q = rng.uniform(-1, 1, 4)
    pose = np.eye(4)
    for (a, alpha, shift, turn), kind, qi in zip(table, kinds, q, strict=True):
        theta, d = (turn + qi, shift) if kind == "revolute" else (turn, shift + qi)
        if convention == "standard":
            pose = pose @ _rz(theta) @ _shift(0, d) @ _shift(a, 0) @ _rx(alpha)
        else:
            pose = pose @ _rx(alpha) @ _shift(a, 0) @ _rz(theta) @ _shift(0, d)
    assert np.allclose(reference.frame_placement(robot, q, "link4").homogeneous(), pose, atol=1e-14)


@pytest.mark.parametrize(
    "rows, convention, words",
    [
        ([], "standard", "rows: expected one DHRow for each joint, got an empty table"),
        ([DHRow()], "craig", "convention: expected 'standard' or 'modified', got 'craig'"),
        (
            [DHRow(joint="screw")],
            "modified",
            r"rows\[0\].joint: expected 'revolute' or 'prismatic', got 'screw'",
        ),  # type: ignore[arg-type]
    ],
)
def test_bad_tables_are_named(rows, convention, words):
    with pytest.raises(ArgumentError, match=words):
        from_dh(rows, convention=convention)
