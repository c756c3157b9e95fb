from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import hinge
from hinge.campaign import Campaign, CampaignInterrupted, Given, Results, resume
from hinge.campaign.running import locked
from hinge.campaign.store import Store
from hinge.errors import ArgumentError, FormatError, HingeError, UnknownNameError
from tests.campaign import functions
from tests.campaign.subjects import digest, pendulum, small_blocks


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    small_blocks(monkeypatch)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A complete store, made in this process."""
    path = tmp_path_factory.mktemp("campaign") / "store"
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch)
        return pendulum().run(path)


def test_a_store_is_the_same_whoever_makes_it_and_in_whatever_chunks(stored, tmp_path):
    said = []
    pendulum().run(tmp_path / "two", workers=2, chunk=100, progress=lambda done, of: said.append((done, of)))
    pendulum().run(tmp_path / "one", chunk=1000)
    assert digest(tmp_path / "two") == digest(tmp_path / "one") == digest(stored.store.path)
    assert said[0] == (0, 300)
    assert said[-1] == (300, 300)


def test_what_is_stored_is_what_the_campaign_gives(stored):
    piece = pendulum().piece(0, 300)
    for name, x in piece.columns.items():
        assert np.array_equal(stored.column(name), x, equal_nan=True)
    for name, x in piece.arrays.items():
        assert np.array_equal(stored.array(name), x)
    table = stored.table()
    assert list(table.index) == list(range(300))
    assert np.array_equal(table["measure:speed"], piece.columns["measure:speed"])
    at = stored.worst("measure:speed", 3)
    assert at == list(np.argsort(-piece.columns["measure:speed"], kind="stable")[:3])


def test_readers_of_zarr_find_the_states(stored):
    pytest.importorskip("zarr")
    found = stored.dataset()
    assert found["q"].dims == ("sample", "time", "coordinate")
    assert np.array_equal(found["q"].to_numpy(), stored.array("q"))
    assert np.array_equal(found["time"], [0.05, 0.1])


def test_a_sample_runs_again_as_it_was(stored):
    run = stored.rerun(123, trust=True)
    assert np.array_equal(run.q[0, [10, 20]], stored.array("q")[123])
    with pytest.raises(ArgumentError, match="sample: expected a number from 0 to 299, got 300"):
        stored.rerun(300, trust=True)


def test_statistics_are_those_of_the_samples_and_need_no_rows(stored, tmp_path):
    lean = pendulum(rows=False).run(tmp_path / "lean")
    assert not (lean.store.path / "table").exists()
    a, b = stored.statistics, lean.statistics
    assert a.bytes() == b.bytes()
    k = a.names.index("measure:speed")
    assert np.isclose(a.mean[k], stored.column("measure:speed").mean(), rtol=1e-13)
    assert "measure:speed" in lean.summary()
    with pytest.raises(ArgumentError, match="rows=True"):
        lean.column("measure:speed")


def test_damaged_and_lost_blocks_are_simulated_again(stored, tmp_path):
    path = tmp_path / "store"
    results = pendulum().run(path)
    (path / "table/00000001.parquet").write_bytes(b"nothing")
    chunk = next((path / "arrays/q/c/2").rglob("0"))
    while chunk.is_dir():
        chunk = chunk / "0"
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"\x01")
    (path / "blocks/00000003.json").unlink()
    (path / "statistics/.00000000.npz.0123.part").write_bytes(b"half")
    assert results.verify() == [1, 2]
    assert results.status().stored == 300 - 64
    pendulum().run(path)
    assert digest(path) == digest(stored.store.path)


def test_an_interrupted_campaign_goes_on(stored, tmp_path):
    def stop(done, of):
        if done >= 128:
            raise KeyboardInterrupt

    with pytest.raises(CampaignInterrupted, match="interrupted; 2 of 5 blocks are stored") as told:
        pendulum().run(tmp_path / "store", progress=stop)
    assert told.value.results.status().stored == 128
    resume(tmp_path / "store", trust=True)
    assert digest(tmp_path / "store") == digest(stored.store.path)


def test_a_worker_that_is_killed_is_replaced_and_a_deadly_sample_is_named(tmp_path):
    numbers = {"own": {"number": Given(np.where(np.arange(300) == 200, functions.DEADLY, 100.0))}}
    campaign = pendulum(control=functions.deadly, vary=numbers)
    with pytest.raises(HingeError, match="blocks 3 lost their workers 3 times each, all others are stored"):
        campaign.run(tmp_path / "store", workers=2)
    assert Results(tmp_path / "store").store.done() == [0, 1, 2, 4]


def test_two_runs_do_not_write_one_store(stored):
    with locked(stored.store), pytest.raises(HingeError, match="being written by another run"):
        pendulum().run(stored.store.path)


def test_a_lock_goes_with_the_process_that_held_it(stored):
    script = (
        "import os; from hinge.campaign.store import Store; from hinge.campaign.running import locked\n"
        f"with locked(Store({str(stored.store.path)!r})): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    with locked(stored.store):
        pass


def test_stores_of_others_are_not_overwritten(stored, tmp_path):
    with pytest.raises(ArgumentError, match="whose specification is another one: seed is 11 there, 12 here"):
        pendulum(seed=12).run(stored.store.path)
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(ArgumentError, match="expected a new folder, an empty one, or the store of"):
        pendulum().run(tmp_path)
    with pytest.raises(ArgumentError, match="expected a folder with the results of a campaign"):
        Results(tmp_path)


def test_code_of_a_store_runs_only_where_it_is_trusted(stored):
    with pytest.raises(ArgumentError, match="expected no code, got 'control', 'measure'; give trust=True"):
        stored.store.plan()


def test_code_that_has_changed_is_noticed(tmp_path):
    results = pendulum().run(tmp_path / "store")
    head = tmp_path / "store/campaign.json"
    data = json.loads(head.read_text())
    data["code"]["control"] = "0" * 64
    head.write_text(json.dumps(data))
    with pytest.raises(HingeError, match=r"'tests\.campaign.functions:damped' has changed since"):
        Results(results.store.path).store.plan(trust=True)


def test_functions_without_a_file_work_in_this_process_alone(tmp_path):
    campaign = pendulum(control=lambda t, q, qd: -qd)
    with pytest.raises(ArgumentError, match="control: expected a function that other processes can find"):
        campaign.run(tmp_path / "store", workers=1)
    results = campaign.run(tmp_path / "store")
    assert results.status().is_complete
    with pytest.raises(ArgumentError, match="put the function at the top of a file"):
        results.store.plan(trust=True)


def test_a_campaign_of_which_nothing_works_is_refused_before_anything_is_stored(tmp_path):
    campaign = Campaign(hinge.robots.double_pendulum(), samples=100, t=0.1, control=_nothing)
    with pytest.raises(ArgumentError, match="each of the first 8 raises: ZeroDivisionError"):
        campaign.run(tmp_path / "store")
    assert not (tmp_path / "store").exists()


def _nothing(t, q, qd):
    return 1 / 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(block=0), "sizes below one"),
        (lambda d: d.update({"hinge campaign": 2}), "not a campaign of version 1"),
        (lambda d: d.pop("columns"), "lacks 'columns'"),
        (lambda d: d["specification"].update(samples="many"), "lacks"),
    ],
)
def test_heads_that_are_damaged_are_refused(stored, tmp_path, change, said):
    data = json.loads((stored.store.path / "campaign.json").read_text())
    change(data)
    (tmp_path / "campaign.json").write_text(json.dumps(data))
    with pytest.raises(FormatError, match=said):
        Results(tmp_path)


def test_records_cannot_lead_out_of_the_store(stored, tmp_path):
    path = tmp_path / "store"
    pendulum().run(path)
    record = json.loads((path / "blocks/00000000.json").read_text())
    record["files"] = {"../outside": "0" * 64}
    (path / "blocks/00000000.json").write_text(json.dumps(record))
    assert Results(path).verify() == [0]


def test_columns_that_are_not_there_have_a_hint(stored):
    with pytest.raises(UnknownNameError, match="did you mean 'measure:speed'"):
        stored.column("measure:sped")


def test_a_store_that_cannot_be_written_says_so(tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device", str(path))

    store = Store(pendulum().run(tmp_path / "store", progress=None).store.path)
    store.forget(1)
    monkeypatch.setattr("hinge.campaign.store.write", full)
    with pytest.raises(OSError, match="No space left"):
        pendulum().run(tmp_path / "store")
    assert store.done() == [0, 2, 3, 4]
