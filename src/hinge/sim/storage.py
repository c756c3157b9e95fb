"""Runs on disk, as npz or Parquet, and as xarray datasets."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from hinge.errors import ArgumentError, FormatError, MissingExtraError
from hinge.io import from_json, to_json
from hinge.model import Robot, fingerprint
from hinge.sim.events import Hit
from hinge.sim.run import Ending, Run

VERSION = 1
ARRAYS = ("t", "q", "qd", "tau")


def save_run(run: Run, path: str | Path) -> Path:
    """Write a run to a file: `.npz`, or `.parquet` with one row for each state and time. Return the path.

    The file contains the robot, so that `load_run` needs nothing else. An existing file is replaced.
    """
    path = Path(path)
    if path.suffix not in (".npz", ".parquet"):
        raise ArgumentError(f"path: expected a name that ends in .npz or .parquet, got {str(path)!r}")
    head = json.dumps(_head(run))
    if path.suffix == ".npz":
        with path.open("wb") as file:
            np.savez_compressed(file, head=np.array(head), **{n: getattr(run, n) for n in ARRAYS})
        return path
    pa, parquet = _extra("pyarrow"), _extra("pyarrow.parquet")
    schema = pa.Table.from_pydict(_columns(run)).replace_schema_metadata({"hinge": head})
    parquet.write_table(schema, path)
    return path


def load_run(path: str | Path, *, robot: Robot | None = None) -> Run:
    """Return the run of a file; `robot`, which is optional, must be the robot of the run."""
    path = Path(path)
    read = {".npz": _read_npz, ".parquet": _read_parquet}.get(path.suffix)
    if read is None:
        raise ArgumentError(f"path: expected a name that ends in .npz or .parquet, got {str(path)!r}")
    head, arrays = read(path)
    if head.get("hinge run") != VERSION:
        raise FormatError(f"is not a run of version {VERSION}", source=str(path))
    if robot is not None and fingerprint(robot) != head["fingerprint"]:
        raise ArgumentError(f"robot: expected the robot of the run {str(path)!r}, got {robot.name!r}")
    found = robot or from_json(head["robot"], source=str(path))
    times, batch = len(arrays["t"]), tuple(head["batch"])
    sizes = {"q": found.nq, "qd": found.nv, "tau": found.nv}
    for name, n in sizes.items():
        if arrays[name].shape != (*batch, times, n):
            shape = arrays[name].shape
            raise FormatError(f"{name}: expected shape {(*batch, times, n)}, got {shape}", source=str(path))
    endings = tuple(Ending(tuple(s), t, why) for s, t, why in head["endings"])
    events = tuple(
        Hit(name, tuple(s), t, np.array(q, float), np.array(qd, float))
        for name, s, t, q, qd in head["events"]
    )
    t, q, qd, tau = (arrays[n] for n in ARRAYS)
    return Run(found, t, q, qd, tau, endings, events, head["settings"])


def to_xarray(run: Run) -> Any:
    """Return a run as an xarray Dataset with named dimensions and coordinates."""
    xr = _extra("xarray")
    batch = [f"state_{k}" if len(run.batch) > 1 else "state" for k in range(len(run.batch))]
    q, qd = coordinate_names(run.robot)
    rows = {"q": ("coordinate", run.q), "qd": ("dof", run.qd), "tau": ("dof", run.tau)}
    return xr.Dataset(
        {name: ([*batch, "time", last], x) for name, (last, x) in rows.items()}
        | {"energy": ([*batch, "time"], run.energy)},
        coords={"time": run.t, "coordinate": q, "dof": qd},
        attrs={k: str(v) for k, v in _head(run).items() if k not in ("robot", "events")}
        | {"robot": run.robot.name},
    )


def coordinate_names(robot: Robot) -> tuple[list[str], list[str]]:
    """Return names for the coordinates of q and of qd: joint, and coordinate if it has several."""
    q = [j.name if j.nq == 1 else f"{j.name}.{n}" for j in robot.independent for n in j.type.q_names]
    qd = [j.name if j.nv == 1 else f"{j.name}.{n}" for j in robot.independent for n in j.type.qd_names]
    return q, qd


def _head(run: Run) -> dict[str, Any]:
    """Return all of a run but its arrays, as JSON data."""
    return {
        "hinge run": VERSION,
        "robot": to_json(run.robot),
        "fingerprint": fingerprint(run.robot),
        "batch": run.batch,
        "settings": {k: _plain(v) for k, v in run.settings.items()},
        "endings": [(e.state, e.t, e.reason) for e in run.endings],
        "events": [(h.name, h.state, h.t, h.q.tolist(), h.qd.tolist()) for h in run.events],
    }


def _plain(x: Any) -> Any:
    return x.tolist() if isinstance(x, np.ndarray | np.generic) else x


def _columns(run: Run) -> dict[str, Any]:
    """Return the columns: index of the state, time, and each coordinate."""
    q, qd = coordinate_names(run.robot)
    states, times = int(np.prod(run.batch)), len(run.t)
    found: dict[str, Any] = {
        "state": np.repeat(np.arange(states), times),
        "t": np.tile(run.t, states),
    }
    for name, labels in (("q", q), ("qd", qd), ("tau", qd)):
        rows = getattr(run, name).reshape(states * times, len(labels))
        found |= {f"{name}:{label}": rows[:, k] for k, label in enumerate(labels)}
    return found


def _read_npz(path: Path) -> tuple[Mapping[str, Any], dict[str, Any]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return json.loads(str(file["head"])), {n: file[n] for n in ARRAYS}
    except (ValueError, KeyError, zipfile.BadZipFile, EOFError):
        raise FormatError("is not a run: not an archive that save_run wrote", source=str(path)) from None


def _read_parquet(path: Path) -> tuple[Mapping[str, Any], dict[str, Any]]:
    parquet, pa = _extra("pyarrow.parquet"), _extra("pyarrow")
    try:
        table = parquet.read_table(path)
        head = json.loads((table.schema.metadata or {})[b"hinge"])
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise FormatError(f"is not a run: {error}", source=str(path)) from None
    states = int(np.prod(head["batch"]))
    times = table.num_rows // max(1, states)
    found: dict[str, Any] = {"t": table["t"].to_numpy()[:times]}
    for name in ARRAYS[1:]:
        columns = [c for c in table.column_names if c.startswith(f"{name}:")]
        rows = np.stack([table[c].to_numpy() for c in columns], axis=-1) if columns else np.zeros((0, 0))
        found[name] = rows.reshape(*head["batch"], times, len(columns))
    return head, found


def _extra(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        root, *_ = package.split(".", maxsplit=1)
        raise MissingExtraError(f"this needs {root}: pip install hinge[data], or {root} itself") from None
