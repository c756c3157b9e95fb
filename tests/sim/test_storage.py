"""Runs on disk: what is read is what was written; what is no run is named; runs go on."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import hinge
from hinge import sim
from hinge.errors import ArgumentError, FormatError, MissingExtraError
from hinge.io import from_json, to_json
from hinge.model import fingerprint
from hinge.robots import double_pendulum, panda, quadruped, random_tree, spacecraft
from hinge.sim import load_run, resume, save_run, to_xarray


@pytest.fixture(scope="module")
def run():
    q0 = np.array([[0.5, 0.1], [0.2, 0.3], [np.nan, 0.0]])
    low = sim.Event(lambda t, q, qd: q[..., 1] - 0.2, "low")
    return hinge.simulate(double_pendulum(), q0, t=0.4, dt=0.01, events=low)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_a_run_comes_back(run, suffix, tmp_path):
    path = save_run(run, tmp_path / f"a.{suffix}")
    found = load_run(path)
    for name in ("t", "q", "qd", "tau"):
        np.testing.assert_array_equal(getattr(found, name), getattr(run, name))
    assert fingerprint(found.robot) == fingerprint(run.robot)
    assert found.endings == run.endings and found.settings == run.settings
    assert [(h.name, h.state, h.t) for h in found.events] == [(h.name, h.state, h.t) for h in run.events]
    assert run.events
    assert load_run(path, robot=run.robot).robot is run.robot
    with pytest.raises(ArgumentError, match=r"robot: expected the robot of the run .*, got 'panda'"):
        load_run(path, robot=panda())


def test_one_state_comes_back(tmp_path):
    run = hinge.simulate(spacecraft(), t=0.003)
    for name in ("one.npz", "one.parquet"):
        found = load_run(save_run(run, tmp_path / name))
        np.testing.assert_array_equal(found.q, run.q)


@pytest.mark.parametrize(
    "robot", [panda(), spacecraft(), quadruped(), *(random_tree(9, seed=k) for k in range(6))],
    ids=lambda r: r.name,
)  # fmt: skip
def test_a_robot_is_the_same_after_json(robot):
    again = from_json(to_json(robot))
    assert fingerprint(again) == fingerprint(robot)
    assert [s.geometry for b in again.bodies for s in b.shapes] == [
        s.geometry for b in robot.bodies for s in b.shapes
    ]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"hinge robot": 1}', "[" * 100000, '{"hinge robot": 1, "name": "a", "bodies": 3}'],
)
def test_what_is_no_robot_is_named(text):
    with pytest.raises(FormatError):
        from_json(text)


def test_json_makes_nothing_but_parts_of_robots():
    data = json.loads(to_json(double_pendulum()))
    data["bodies"][0] = {"is": "Popen", "args": ["true"]}
    with pytest.raises(FormatError, match="expected a class of the model, got 'Popen'"):
        from_json(json.dumps(data))


@pytest.mark.parametrize("name", ["radius", "gravity", "axis"])
def test_integers_that_no_float_holds_are_refused(name):
    text = to_json(double_pendulum())
    large = re.sub(rf'("{name}"[^0-9]*)[0-9.]+', rf"\g<1>1{'0' * 400}", text, count=1)
    with pytest.raises(FormatError, match="integers of at most 300 digits"):
        from_json(large)


@pytest.mark.parametrize("name", ["a.npz", "a.parquet"])
def test_what_is_no_run_is_named(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(FormatError, match="is not a run"):
        load_run(path)
    with pytest.raises(ArgumentError, match=r"ends in .npz or .parquet"):
        load_run(tmp_path / "a.pickle")
    with pytest.raises(ArgumentError, match=r"ends in .npz or .parquet"):
        save_run(hinge.simulate(double_pendulum(), t=0.001), tmp_path / "a.csv")
    np.savez(tmp_path / "b.npz", head=np.array('{"hinge run": 7}'), t=[0], q=[0], qd=[0], tau=[0])
    with pytest.raises(FormatError, match="is not a run: expected a run of version 1, got 7"):
        load_run(tmp_path / "b.npz")


def test_a_dataset_has_names(run):
    found = to_xarray(run)
    assert found.q.dims == ("state", "time", "coordinate")
    assert list(found.dof.values) == [j.name for j in run.robot.joints if j.nv]
    np.testing.assert_array_equal(found.energy, run.energy)


def test_a_missing_package_is_named(run, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"this needs pyarrow: pip install hinge\[data\]"):
        save_run(run, tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["rk4", "adaptive"])
def test_a_run_goes_on_as_if_it_had_not_stopped(name, tmp_path):
    robot = spacecraft()
    whole = hinge.simulate(robot, t=0.02, integrator=name)
    half = load_run(save_run(hinge.simulate(robot, t=0.01, integrator=name), tmp_path / "half.npz"))
    joined = resume(half, t=0.01)
    np.testing.assert_allclose(joined.t, whole.t, rtol=1e-12)
    np.testing.assert_allclose(joined.q, whole.q, atol=1e-9)
    if name == "rk4":
        np.testing.assert_array_equal(joined.qd, whole.qd)
