"""Closures in robot JSON: to the last bit, and nothing but closures."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hinge
from hinge.errors import FormatError
from hinge.io import from_json, to_json
from hinge.model import fingerprint
from hinge.robots import chain, delta, four_bar, panda, stewart_platform, two_pandas_with_plate
from hinge.spatial import rotation
from tests.model.test_closures import every_joint

RNG = np.random.default_rng(8)
TURN = rotation.about((0, 0.6, 0.8), 0.7)


@pytest.mark.parametrize("joint", every_joint(5), ids=lambda j: j.kind)
def test_closures_of_every_type_come_back_to_the_last_bit(joint):
    place = {"rotation": TURN, "position": RNG.standard_normal(3)}
    robot = hinge.close(chain(3), "link1", "tip", joint=joint, rows=joint_rows(joint), **place)
    again = from_json(to_json(robot))
    assert fingerprint(again) == fingerprint(robot)
    assert again.closures[0].joint == joint and again.closures[0].rows == robot.closures[0].rows


def joint_rows(joint):
    return hinge.model.rows_of(joint).names[1:]


@pytest.mark.parametrize("make", [four_bar, stewart_platform, delta, two_pandas_with_plate])
def test_the_built_in_closed_robots_come_back(make):
    assert fingerprint(from_json(to_json(make()))) == fingerprint(make())


def test_a_robot_of_a_file_without_closures_is_open():
    data = json.loads(to_json(chain(2)))
    del data["closures"]
    assert from_json(json.dumps(data)).closures == ()


BROKEN = {
    "no such frame": {"outer": "elsewhere"},
    "a number for a name": {"name": 3},
    "a list for a frame": {"inner": ["tool"]},
    "no frame": {"outer": None},
    "a joint that cannot close": {"joint": {"is": "Free"}},
    "a joint that is none": {"joint": {"is": "Body", "name": "x"}},
    "no joint": {"joint": 3},
    "unknown rows": {"rows": ["x"]},
    "a number for rows": {"rows": 3},
    "rows in rows": {"rows": [["vx"]]},
    "an unknown field": {"spring": 3.0},
    "a class that is none of the model's": {"is": "Path"},
    "a placement of another shape": {
        "placement": {"is": "Transform", "E": {"array": [1.0]}, "r": {"array": [0.0]}}
    },
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_closures_are_refused(what):
    data = json.loads(to_json(hinge.close(panda(), None, "tool")))
    data["closures"][0] |= BROKEN[what]
    with pytest.raises(FormatError, match="is not a robot"):
        from_json(json.dumps(data))
