from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hinge
from hinge.campaign import Campaign, Given, Normal, Uniform, read_specification, resume
from hinge.campaign.specification import of_data, to_data
from hinge.errors import HingeError
from hinge.io import to_json
from hinge.sim import PD, Adaptive, Event
from tests.campaign import functions
from tests.campaign.subjects import FUNCTIONS, pendulum

GOOD = """
robot = "robot.json"
samples = 50
t = 0.1
dt = 5e-3
seed = 3
design = "latin"
times = [0.05, 0.1]
control = {law = "PD", target = [0.1, 0.2], kp = 5.0, kd = 1.0}
[vary.offset]
elbow = {normal = [0.0, 0.1], low = -0.2}
[vary.own]
number = {choice = [1.0, 2.0], weights = [1, 3]}
"""


def written(folder, text):
    (folder / "robot.json").write_text(to_json(hinge.robots.double_pendulum()))
    (folder / "spec.toml").write_text(text)
    return folder / "spec.toml"


def same(a, b):
    left, right = (x.piece(0, x.samples) for x in (a, b))
    assert left.columns.keys() == right.columns.keys()
    assert all(np.array_equal(left.columns[n], right.columns[n], equal_nan=True) for n in left.columns)
    assert all(np.array_equal(left.arrays[n], right.arrays[n]) for n in left.arrays)


def test_a_file_is_the_campaign_that_it_says(tmp_path):
    found = read_specification(written(tmp_path, GOOD))
    robot = hinge.robots.double_pendulum()
    vary = {
        "offset": {"elbow": Normal(0.0, 0.1, low=-0.2)},
        "own": {"number": hinge.campaign.Choice([1.0, 2.0], weights=[1, 3])},
    }
    law = PD([0.1, 0.2], 5.0, 1.0)
    same(
        found,
        Campaign(
            robot,
            samples=50,
            t=0.1,
            dt=5e-3,
            seed=3,
            design="latin",
            times=(0.05, 0.1),
            control=law,
            vary=vary,
        ),
    )


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"control": PD([0.1, 0.2], {"elbow": 3.0}, 1.0, gravity_compensation=True)},
        {"control": [1.0, 2.0], "integrator": "semi-implicit", "passive": False},
        {"control": None, "integrator": Adaptive(1e-6, 1e-8), "gravity": [0, 0, -1.6]},
        {"external": {"lower": [0, 0, 0, 1, 0, 0]}, "rows": False, "q0": [0.1, 0.2], "qd0": [1, 2]},
        {"events": (Event(functions.low, name="low", direction=1),), "extremes": "tau", "record": 2},
        {"vary": {"gravity": Uniform([0, 0, -10], [0, 0, -9])}, "control": None, "measure": None},
    ],
    ids=["as it is", "law", "forces", "adaptive", "external", "events", "gravity"],
)
def test_data_come_back(tmp_path, more):
    campaign = pendulum(20, **more)
    data, files = to_data(campaign)
    assert not files.arrays
    same(of_data(data, Campaign, campaign.robot, tmp_path, trust=True), campaign)


def test_arrays_are_files_beside_the_data(tmp_path):
    results = pendulum(20, vary={"qd0": {"elbow": Given(np.arange(20.0))}, "own": {"gain": 0.5}}).run(
        tmp_path / "s"
    )
    again = results.store.plan(trust=True)
    assert np.array_equal(again.piece(3, 2).columns["qd0:elbow"], [3.0, 4.0])


def test_functions_of_a_file_are_named_by_it(tmp_path):
    path = written(tmp_path, GOOD.replace("times", 'measure = "own.py:measure"\ntimes'))
    (tmp_path / "own.py").write_text(Path(FUNCTIONS).read_text())
    with pytest.raises(HingeError, match=r"measure: expected no code of its own, got 'own.py:measure'"):
        read_specification(path)
    results = read_specification(path, trust=True).run(tmp_path / "store")
    (copy,) = (tmp_path / "store/code").iterdir()
    assert copy.name.endswith("_own.py")
    (tmp_path / "own.py").unlink()
    again = results.store.plan(trust=True)
    assert np.array_equal(again.piece(0, 5).columns["measure:speed"], results.column("measure:speed")[:5])
    resume(tmp_path / "store", trust=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("elbow", "elbwo"), "vary.offset: expected a joint of .*'elbwo'; did you mean 'elbow'"),
        (("normal = [0.0, 0.1]", "normal = [0.0]"), r"vary.offset.elbow: expected normal = \[mean, sd\]"),
        (("times = [0.05, 0.1]", "times = [0.0123]"), "times: expected multiples of dt"),
        (("samples", "sampels"), "expected a key of a campaign, got 'sampels'; did you mean 'samples'"),
        (('law = "PD"', 'law = "PID"'), "control.law: expected a law, got 'PID'; did you mean 'PD'"),
        (("kp = 5.0", "ki = 5.0"), "control: expected target, kp, kd, .*for PD"),
        (("robot.json", "missing.json"), "missing.json"),
        (("t = 0.1", "t = "), "is not TOML"),
        (("[vary.offset]", "[vary.ofset]"), "vary: expected a quantity, got 'ofset'; did you mean 'offset'"),
        (("choice = [1.0, 2.0]", 'file = "../secret.npy"'), "expected a file .npy in the folder"),
        (('"latin"', '"lattice"'), "design: expected a name of a design"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, change, said):
    assert change[0] in GOOD
    with pytest.raises((HingeError, OSError), match=said):
        read_specification(written(tmp_path, GOOD.replace(*change, 1)))
