"""Runs on disk, as npz or Parquet, and as xarray datasets."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from math import prod
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, cast

import numpy as np

from hinge.errors import ArgumentError, MissingExtraError
from hinge.io import from_json, to_json
from hinge.model import Robot, fingerprint, release_loops
from hinge.sim.notebook import coordinate_names
from hinge.sim.run import Run, Touched
from hinge.sim.stored import MOST_HEAD, VERSION, Head, NpzFile, ParquetFile, check_times, sound
from hinge.spatial import Array

#: The bytes of arrays that are read of any file.
LARGEST = 256_000_000
#: Directions of the forces of a contact: normal and tangents.
AXES = ("n", "t1", "t2")


def save_run(run: Run, path: str | Path) -> Path:
    """Write a run to a file: `.npz`, or `.parquet` with one row for each state and time. Return the path.

    The file contains the robot, so that `load_run` needs nothing else. An existing file is replaced when the
    new one is complete; until then it stays as it is, whatever happens.
    """
    path = Path(path)
    if path.suffix not in (".npz", ".parquet"):
        raise ArgumentError(f"path: expected a name that ends in .npz or .parquet, got {str(path)!r}")
    head = json.dumps(_head(run))
    if len(head) > MOST_HEAD:
        raise ArgumentError(
            f"run: expected at most {MOST_HEAD} characters beside its arrays, got {len(head)}, of robot, "
            f"settings and {len(run.events)} events; save fewer states or events"
        )
    if path.suffix == ".npz":
        with replaced(path) as file:
            rows: dict[str, Any] = _rows(run)
            np.savez_compressed(file, head=np.array(head), t=run.t, **rows)
        return path
    pa, parquet = _extra("pyarrow"), _extra("pyarrow.parquet")
    table = pa.Table.from_pydict(_columns(run)).replace_schema_metadata({"hinge": head})
    with replaced(path) as file:
        parquet.write_table(table, file)
    return path


@contextmanager
def replaced(path: Path) -> Generator[IO[bytes], None, None]:
    """Open a new file beside a path, which takes its place when all is on the disk."""
    path = Path(os.path.realpath(path))
    new = path.with_name(f".{path.name}.{token_hex(8)}.part")
    try:
        with new.open("xb") as file:
            if path.exists():
                new.chmod(stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def load_run(path: str | Path, *, robot: Robot | None = None, largest: int | None = None) -> Run:
    """Return the run of a file; `robot`, which is optional, must be the robot of the run.

    Files are untrusted: what is said of sizes is read first, and no more than `largest` bytes of arrays are
    read, by default a hundred times the file's size, at least 256 MB. Damage of any kind is a FormatError.
    """
    path = Path(path)
    kind = {".npz": NpzFile, ".parquet": ParquetFile}.get(path.suffix)
    if kind is None:
        raise ArgumentError(f"path: expected a name that ends in .npz or .parquet, got {str(path)!r}")
    if kind is ParquetFile:
        _extra("pyarrow.parquet")
    with path.open("rb") as file, sound(str(path)):
        most = max(LARGEST, 100 * os.fstat(file.fileno()).st_size) if largest is None else largest
        stored = kind(file)
        head = Head.read(stored.head(MOST_HEAD))
        if robot is not None and fingerprint(robot) != head.fingerprint:
            raise ArgumentError(f"robot: expected the robot of the run {str(path)!r}, got {robot.name!r}")
        found = robot or from_json(head.robot, source=str(path))
        arrays = stored.arrays(head, _labels(found, head.touched, head.charted), most)
        check_times(arrays["t"])
        endings, events, changes = head.endings(), head.events(found), head.changes(found)
        settings = head.settings(found, arrays["q"].dtype)
    rates = arrays.pop("rates", None)
    t, q, qd, tau, *touched = arrays.values()
    contacts = _touched(*touched) if touched else None
    return Run(found, t, q, qd, tau, endings, events, settings, contacts, rates, changes)


def to_xarray(run: Run) -> Any:
    """Return a run as an xarray Dataset with named dimensions and coordinates."""
    xr = _extra("xarray")
    batch = [f"state_{k}" if len(run.batch) > 1 else "state" for k in range(len(run.batch))]
    q, qd = coordinate_names(run.robot)
    rows = {"q": ("coordinate", run.q), "qd": ("dof", run.qd), "tau": ("dof", run.tau)}
    data = {name: ([*batch, "time", last], x) for name, (last, x) in rows.items()}
    data["energy"] = ([*batch, "time"], run.energy)
    names: dict[str, Any] = {"time": run.t, "coordinate": q, "dof": qd}
    if run.contacts is not None:
        data["contact_forces"] = ([*batch, "time", "contact", "axis"], run.contacts.forces)
        data["contact_residual"] = ([*batch, "time"], run.contacts.residual)
        data["joint_forces"] = ([*batch, "time", "dof"], run.contacts.joints)
        names |= {"contact": [c.name for c in run.robot.contacts], "axis": list(AXES)}
    if run.rates is not None:
        data["rates"] = ([*batch, "time", "rate"], run.rates)
        names["rate"] = coordinate_names(release_loops(run.robot))[1]
    return xr.Dataset(
        data,
        coords=names,
        attrs={k: str(v) for k, v in _head(run).items() if k not in ("robot", "events")}
        | {"robot": run.robot.name},
    )


def _head(run: Run) -> dict[str, Any]:
    """Return all of a run but its arrays, as JSON data."""
    return {
        "hinge run": VERSION,
        "robot": to_json(run.robot),
        "fingerprint": fingerprint(run.robot),
        "batch": run.batch,
        "times": len(run.t) if prod(run.batch) else run.t.tolist(),
        "contacts": run.contacts is not None,
        "rates": run.rates is not None,
        "changes": [(c.state, c.t, c.independent) for c in run.changes],
        "settings": {k: _plain(v) for k, v in run.settings.items()},
        "endings": [(e.state, e.t, e.reason) for e in run.endings],
        "events": [(h.name, h.state, h.t, h.q.tolist(), h.qd.tolist()) for h in run.events],
    }


def _plain(x: Any) -> Any:
    if isinstance(x, Mapping):
        return {str(k): _plain(v) for k, v in cast("Mapping[Any, Any]", x).items()}
    return x.tolist() if isinstance(x, np.ndarray | np.generic) else x


def _labels(robot: Robot, touched: bool, charted: bool) -> dict[str, list[str]]:
    """Return the names of the numbers in a row of each array, in the order of `Run` and `Touched`."""
    q, qd = coordinate_names(robot)
    found = {"q": q, "qd": qd, "tau": qd}
    if touched:
        found["forces"] = [f"{c.name}:{axis}" for c in robot.contacts for axis in AXES]
        found["residual"] = ["contacts"]
        found["joints"] = qd
    if charted:
        found["rates"] = coordinate_names(release_loops(robot))[1]
    return found


def _rows(run: Run) -> dict[str, Array]:
    """Return the arrays (…, T, n) of a run, those of contacts as rows, too."""
    found = {"q": run.q, "qd": run.qd, "tau": run.tau}
    if run.contacts is not None:
        forces = run.contacts.forces
        found["forces"] = forces.reshape(*forces.shape[:-2], 3 * forces.shape[-2])
        found["residual"] = run.contacts.residual[..., None]
        found["joints"] = run.contacts.joints
    if run.rates is not None:
        found["rates"] = run.rates
    return found


def _touched(forces: Array, residual: Array, joints: Array) -> Touched:
    """Return what `_rows` made rows of."""
    return Touched(forces.reshape(*forces.shape[:-1], forces.shape[-1] // 3, 3), residual[..., 0], joints)


def _columns(run: Run) -> dict[str, Any]:
    """Return the columns: index of the state, time, and each coordinate."""
    states, times = prod(run.batch), len(run.t)
    found: dict[str, Any] = {
        "state": np.repeat(np.arange(states), times),
        "t": np.tile(run.t, states),
    }
    labels = _labels(run.robot, run.contacts is not None, run.rates is not None)
    for name, x in _rows(run).items():
        rows = x.reshape(states * times, len(labels[name]))
        found |= {f"{name}:{label}": rows[:, k] for k, label in enumerate(labels[name])}
    return found


def _extra(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        root, *_ = package.split(".", maxsplit=1)
        raise MissingExtraError(f"this needs {root}: pip install hinge[data], or {root} itself") from None
