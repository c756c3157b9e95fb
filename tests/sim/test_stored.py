"""Files of runs under attack: kill −9 and full disks lose nothing, damage is a FormatError."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

import hinge
from hinge.errors import FormatError, HingeError
from hinge.robots import double_pendulum
from hinge.sim import Run, load_run, save_run, storage

SUFFIXES = ["npz", "parquet"]
WRITER = """
import sys
import numpy as np
import hinge
from hinge.robots import double_pendulum
from hinge.sim import Run, save_run
robot, rng = double_pendulum(), np.random.default_rng(0)
t, q = np.arange(40000.0), rng.standard_normal((40000, 2))
print("ready", flush=True)
while True:
    save_run(Run(robot, t, q, q, q), sys.argv[1])
    print("saved", flush=True)
"""


@pytest.fixture(scope="module")
def run():
    return hinge.simulate(double_pendulum(), np.array([[0.5, 0.1], [0.2, 0.3]]), t=0.1, dt=0.01)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_killed_process_leaves_the_file_whole(run, suffix, tmp_path):
    path = save_run(run, tmp_path / f"a.{suffix}")
    for k in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, env={**os.environ}
        )
        assert child.stdout is not None
        for _ in range(1 + (k > 0)):
            assert child.stdout.readline()
        time.sleep(0.02 + 0.03 * k)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert len(load_run(path).t) in (len(run.t), 40000)


class FullDisk(io.BufferedWriter):
    """A file on a disk that is full after a few bytes."""

    left = 500

    def write(self, data):
        if (n := len(memoryview(data).cast("B"))) > self.left:
            raise OSError(28, "No space left on device")
        self.left -= n
        return super().write(data)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_leaves_the_file_whole(run, suffix, tmp_path, monkeypatch):
    path = save_run(run, tmp_path / f"a.{suffix}")
    before = path.read_bytes()

    def full(self, mode):
        return FullDisk(io.FileIO(self, mode.replace("b", "")))

    monkeypatch.setattr(storage.Path, "open", full)
    with pytest.raises(OSError, match="No space left on device"):
        save_run(run, path)
    monkeypatch.undo()
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_its_mode_and_its_place_behind_a_link(run, tmp_path):
    path = save_run(run, tmp_path / "a.npz")
    path.chmod(0o640)
    link = tmp_path / "b.npz"
    link.symlink_to(path)
    save_run(run, link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    assert load_run(link).q.shape == run.q.shape


# What a file may say.


def head_of(run, **changes):
    head = {**storage._head(run), **changes}
    return {k: v for k, v in head.items() if v is not ...}


def written(path, run, head=None, **arrays):
    given = {n: getattr(run, n) for n in ("t", "q", "qd", "tau")} | arrays
    text = json.dumps(head_of(run) if head is None else head)
    members = {n: x for n, x in {"head": np.array(text), **given}.items() if x is not ...}
    np.savez_compressed(path, **members)
    return path


HEADS = {
    "a list": [1, 2],
    "a text": "x",
    "no version": {"hinge run": ...},
    "no robot": {"robot": ...},
    "robot a number": {"robot": 5},
    "robot nonsense": {"robot": "{}"},
    "robot deep": {"robot": "[" * 100000},
    "robot too large a number": {"robot": '{"hinge robot": 1, "name": "a", "gravity": 1' + "0" * 400 + "}"},
    "no fingerprint": {"fingerprint": ...},
    "no batch": {"batch": ...},
    "batch of floats": {"batch": [2.0]},
    "batch negative": {"batch": [-2]},
    "batch huge": {"batch": [2**62, 2**62]},
    "batch another": {"batch": [3]},
    "batch long": {"batch": [1] * 60},
    "times another": {"times": 3},
    "times of text": {"times": "3"},
    "no settings": {"settings": ...},
    "settings a number": {"settings": 5},
    "dt of text": {"settings": {"dt": "1"}},
    "dt zero": {"settings": {"dt": 0}},
    "record negative": {"settings": {"record": -1}},
    "gravity of text": {"settings": {"gravity": "down"}},
    "gravity of two": {"settings": {"gravity": [1, 2]}},
    "gravity of others": {"settings": {"gravity": [[1, 2, 3]] * 5}},
    "parameters of text": {"settings": {"parameters": "x"}},
    "parameters unknown": {"settings": {"parameters": {"x": [1]}}},
    "parameters short": {"settings": {"parameters": {"rotors": [1]}}},
    "no endings": {"endings": ...},
    "endings of numbers": {"endings": [1]},
    "endings elsewhere": {"endings": [[[9], 0.1, "why"]]},
    "no events": {"events": ...},
    "events short": {"events": [["a", [0], 0.1]]},
    "events of text": {"events": [["a", [0], 0.1, ["x", "y"], [0, 0]]]},
    "events long": {"events": [["a", [0], 0.1, [0, 0, 0], [0, 0]]]},
}


@pytest.mark.parametrize("case", HEADS)
def test_heads_that_are_none_are_named(run, case, tmp_path):
    given = HEADS[case]
    head = head_of(run, **given) if isinstance(given, dict) else given
    with pytest.raises(FormatError):
        load_run(written(tmp_path / "a.npz", run, head))
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_pydict(storage._columns(run)).replace_schema_metadata({"hinge": json.dumps(head)})
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(FormatError):
        load_run(tmp_path / "a.parquet")


def arrays_of(run):
    t, q = run.t, run.q
    loose = np.array([(1.0, 2.0)] * len(t), dtype=[("a", float), ("b", float)])
    return {
        "q of text": {"q": q.astype(str)},
        "q complex": {"q": q.astype(complex)},
        "q of integers": {"q": q.astype(int)},
        "q of halves": {"q": q.astype(np.float16)},
        "q of objects": {"q": q.astype(object)},
        "t structured": {"t": loose},
        "t of pairs": {"t": np.stack([t, t], -1)},
        "t not finite": {"t": np.where(t > 0.05, np.nan, t)},
        "t falling": {"t": t[::-1].copy()},
        "t empty": {"t": t[:0], "q": q[:, :0], "qd": q[:, :0], "tau": q[:, :0]},
        "t a number": {"t": np.array(1.0)},
        "q too short": {"q": q[:, :-1]},
        "q of one state": {"q": q[0]},
        "no tau": {"tau": ...},
    }


def test_arrays_that_are_none_are_named(run, tmp_path):
    for case, arrays in arrays_of(run).items():
        with pytest.raises(FormatError):
            load_run(written(tmp_path / "a.npz", run, **arrays))
            pytest.fail(case)


def test_tables_that_are_none_are_named(run, tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    good = storage._columns(run)
    name = next(n for n in good if n.startswith("q:"))
    cases = {
        "text": {**good, name: good[name].astype(str)},
        "integers": {**good, name: good[name].astype(int)},
        "missing": {n: x for n, x in good.items() if n != name},
        "more": {**good, "x": good[name]},
        "short": {n: x[:-1] for n, x in good.items()},
        "falling": {**good, "t": good["t"][::-1]},
        "states": {**good, "state": good["state"][::-1]},
        "not finite": {**good, "t": good["t"] * np.nan},
    }
    for case, columns in cases.items():
        table = pa.Table.from_pydict(columns).replace_schema_metadata({"hinge": json.dumps(head_of(run))})
        parquet.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(FormatError):
            load_run(tmp_path / "a.parquet")
            pytest.fail(case)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_flipped_and_cut_bytes_are_named(run, suffix, tmp_path):
    good = save_run(run, tmp_path / f"a.{suffix}").read_bytes()
    rng, path = np.random.default_rng(0), tmp_path / f"b.{suffix}"
    for k in range(150):
        data = bytearray(good)
        if k % 5 == 0:
            data = data[: rng.integers(len(data))]
        else:
            for at in rng.integers(len(data), size=1 + k % 3):
                data[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        try:
            load_run(path)
        except HingeError as error:
            assert isinstance(error, FormatError), (k, error)


def test_bombs_are_refused_before_they_take_memory(run, tmp_path):
    """Zeros a thousand times as large as the file, and headers that promise what does not follow."""
    many = 12_000_000
    head = head_of(run, batch=[], times=many)
    zeros = np.zeros((many, 2))
    bomb = written(tmp_path / "bomb.npz", run, head, t=np.arange(many) * 0.0, q=zeros, qd=zeros, tau=zeros)
    liar = written(tmp_path / "liar.npz", run)
    with zipfile.ZipFile(liar) as old, zipfile.ZipFile(tmp_path / "new.npz", "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(b"(2, 11, 2)", b"(2, 10**9, 2)") if name == "q.npy" else data)
        form = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            form, {"descr": "<f8", "fortran_order": False, "shape": (5 * 10**9,)}
        )
    with zipfile.ZipFile(liar) as old, zipfile.ZipFile(tmp_path / "large.npz", "w") as new:
        for name in old.namelist():
            new.writestr(name, form.getvalue() if name == "q.npy" else old.read(name))
    tracemalloc.start()
    try:
        for path in (bomb, tmp_path / "new.npz", tmp_path / "large.npz"):
            with pytest.raises(FormatError):
                load_run(path)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    with pytest.raises(FormatError, match=r"load_run\(path, largest=672000000\) reads them"):
        load_run(bomb)


def test_strange_archives_are_named(run, tmp_path):
    good = save_run(run, tmp_path / "a.npz")
    np.save(tmp_path / "b.npy", np.zeros(3))
    (tmp_path / "b.npy").rename(tmp_path / "b.npz")
    data = bytearray(good.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1  # encrypted
    (tmp_path / "c.npz").write_bytes(data)
    deep = written(tmp_path / "d.npz", run, head=0)
    np.savez(deep, head=np.array("[" * 100000), t=run.t, q=run.q, qd=run.qd, tau=run.tau)
    for name in ("b.npz", "c.npz", "d.npz"):
        with pytest.raises(FormatError):
            load_run(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        load_run(tmp_path / "nobody.npz")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_runs_without_states_or_settings_come_back(suffix, tmp_path):
    robot = double_pendulum()
    for run in (
        hinge.simulate(robot, np.zeros((0, 3, 2)), t=0.01),
        Run(robot, np.arange(3.0), *[np.zeros((3, 2))] * 3),
    ):
        found = load_run(save_run(run, tmp_path / f"a.{suffix}"))
        assert found.q.shape == run.q.shape
        np.testing.assert_array_equal(found.t, run.t)
