"""A campaign's results on disk: blocks of samples, each complete with a digest, or not there.

    campaign.json        the specification, versions, digests of code
    robot.json           the robot
    code/ given/         copies of functions' files, and given arrays
    arrays/              Zarr: q, qd (samples, times, …), a chunk for each block
    table/               Parquet: a row for each sample, a file for each block
    statistics/          what is known of all columns, a file for each block
    blocks/              a record for each block, with the digests of its files; written last
    run/                 the lock; no part of the results

Every file is written beside its place, brought to the disk, and then takes its place. A block is there when
its record is. What is written depends on the campaign alone, so that two stores of one campaign are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from io import BytesIO
from pathlib import Path
from shutil import copyfileobj
from typing import Any, cast

import numpy as np

from hinge.campaign import zarr_files
from hinge.campaign.extras import extra
from hinge.campaign.functions import TRUST, digest_of
from hinge.campaign.pieces import Piece
from hinge.campaign.plan import BLOCK, LARGEST, Plan
from hinge.campaign.specification import Files, of_data, to_data
from hinge.campaign.statistics import Statistics, statistics
from hinge.errors import ArgumentError, FormatError, HingeError
from hinge.io import from_json, to_json
from hinge.model import fingerprint
from hinge.sim import coordinate_names, replaced

VERSION = 1
HEAD, ROBOT = "campaign.json", "robot.json"
#: The most bytes of a head and of a record that are read.
MOST_HEAD = 64_000_000
#: The columns of every table beside those of the campaign.
SAMPLE, REASON = "sample", "reason"


class Store:
    """The folder of a campaign's results; `make` begins one, `Store(path)` opens one."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not (self.path / HEAD).is_file():
            raise ArgumentError(
                f"store: expected a folder with the results of a campaign, got {str(path)!r}; "
                "Campaign.run(store) makes one"
            )
        data = _read_json(self.path / HEAD)
        if data.get("hinge campaign") != VERSION:
            raise FormatError(f"is not a campaign of version {VERSION}", source=str(self.path / HEAD))
        self.head = data
        try:
            self.samples, self.block = int(data["specification"]["samples"]), int(data["block"])
            self.columns: list[str] = [str(x) for x in data["columns"]]
            self.shapes = {str(n): tuple(map(int, s)) for n, s in data["arrays"].items()}
            self.rows = bool(data["specification"]["rows"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"lacks {error}", source=str(self.path / HEAD)) from None
        if self.samples < 1 or self.block < 1 or any(k < 0 for s in self.shapes.values() for k in s):
            raise FormatError("has sizes below one", source=str(self.path / HEAD))

    @classmethod
    def make(cls, path: str | Path, campaign: Plan, probe: Piece) -> Store:
        """Begin a store, or open the one that is there if it is of the same campaign."""
        path = Path(path)
        head, files = _head(campaign, probe)
        if (path / HEAD).exists():
            store = cls(path)
            store.refuse_other(head)
            return store
        if path.exists() and (not path.is_dir() or any(p.name != "run" for p in path.iterdir())):
            raise ArgumentError(
                f"store: expected a new folder, an empty one, or the store of this campaign, got "
                f"{str(path)!r}"
            )
        path.mkdir(parents=True, exist_ok=True)
        _fill(path, campaign, head, files)
        return cls(path)

    def refuse_other(self, head: dict[str, Any]) -> None:
        """Refuse to go on where the campaign is another one than the store's."""
        for name in ("fingerprint", "specification", "code", "block", "columns", "hinge"):
            if self.head.get(name) != _through_json(head[name]):
                raise ArgumentError(
                    f"store: expected the store of this campaign, got {str(self.path)!r}, whose "
                    f"{'version of Hinge' if name == 'hinge' else name} is another one"
                    f"{_difference(self.head.get(name), _through_json(head[name]))}; give another folder"
                )

    def plan(self, *, trust: bool = False) -> Plan:
        """Return what the campaign does; with `trust`, its functions are loaded from the store, and run."""
        robot = from_json((self.path / ROBOT).read_text(encoding="utf-8"), source=str(self.path / ROBOT))
        if fingerprint(robot) != self.head.get("fingerprint"):
            raise FormatError("is not the robot of the campaign", source=str(self.path / ROBOT))
        specification = cast("dict[str, Any]", self.head["specification"])
        code = cast("dict[str, str]", self.head.get("code", {}))
        if code and not trust:
            raise ArgumentError(f"store: expected no code, got {', '.join(map(repr, code))}; {TRUST}")
        if "" in code.values():
            raise ArgumentError(
                "store: this campaign has a function that stands in no file, so that it goes on only from "
                "the program that made it; put the function at the top of a file"
            )
        found = of_data(specification, Plan, robot, self.path, trust=trust)
        for name, function in found.owned.items():
            if function.digest != code.get(name):
                raise HingeError(f"{name}: {function.reference!r} has changed since the campaign began")
        return found

    # Blocks.

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.samples // self.block)

    def extent(self, block: int) -> tuple[int, int]:
        """Return the first sample of a block, and how many it has."""
        first = block * self.block
        return first, min(self.block, self.samples - first)

    def record_file(self, block: int) -> Path:
        """Return the file of a block's record."""
        return self.path / "blocks" / f"{block:08}.json"

    def done(self) -> list[int]:
        """Return the blocks that are there."""
        names = (p.name for p in (self.path / "blocks").glob("*.json"))
        found = (int(n[:-5]) for n in names if n[:-5].isdecimal())
        return sorted(k for k in found if k < self.blocks)

    def record(self, block: int) -> dict[str, Any]:
        """Return the record of a block: digests of its files, and how many failed, by their reasons."""
        return _read_json(self.record_file(block))

    def is_sound(self, block: int) -> bool:
        """Tell whether all files of a block are what its record says."""
        try:
            files = cast("dict[str, str]", self.record(block)["files"])
            return all(self._inside(f) and digest_of(self.path / f) == d for f, d in files.items())
        except (HingeError, OSError, KeyError, AttributeError, TypeError, ValueError):
            return False

    def _inside(self, file: str) -> bool:
        return (self.path / file).resolve().is_relative_to(self.path.resolve())

    def forget(self, block: int) -> None:
        """Forget a block that is damaged."""
        self.record_file(block).unlink(missing_ok=True)

    def write(self, block: int, piece: Piece) -> None:
        """Write the files of a block, and then its record."""
        first, count = self.extent(block)
        assert (piece.first, piece.count) == (first, count)
        piece = piece.aligned(self.columns, self.shapes)
        files = {f"statistics/{block:08}.npz": self._statistics(piece)}
        if self.rows:
            files[f"table/{block:08}.parquet"] = self._table(piece)
            for name, x in piece.arrays.items():
                file = f"arrays/{zarr_files.chunk_file(name, block, x.ndim)}"
                files[file] = zarr_files.chunk(x, self.block)
        for file, data in files.items():
            write(self.path / file, data)
        failed: dict[str, int] = {}
        for why in piece.reasons:
            failed[why] = failed.get(why, 0) + 1
        done = failed.pop("", 0)
        digests = {f: sha256(d).hexdigest() for f, d in sorted(files.items())}
        record = {"block": block, "first": first, "count": count, "good": done, "failed": failed}
        record |= {"worst": piece.failed[:8], "files": digests}
        write(self.record_file(block), json.dumps(record, indent=1).encode())

    def _statistics(self, piece: Piece) -> bytes:
        good = np.array([not why for why in piece.reasons])
        columns = {n: np.where(good, x, np.nan) for n, x in piece.columns.items()}
        for name, labels in zip(("q", "qd"), self.labels, strict=True):
            last = piece.arrays[name][:, -1]
            columns |= {
                f"{name}:{label}": np.where(good, x, np.nan) for label, x in zip(labels, last.T, strict=True)
            }
        return statistics(columns).bytes()

    @property
    def labels(self) -> tuple[list[str], list[str]]:
        """The names of the coordinates of q and qd."""
        found = cast("list[list[str]]", self.head["coordinates"])
        return found[0], found[1]

    def _table(self, piece: Piece) -> bytes:
        pa, parquet = extra("pyarrow"), extra("pyarrow.parquet")
        columns: dict[str, Any] = {SAMPLE: np.arange(piece.first, piece.first + piece.count), **piece.columns}
        columns[REASON] = pa.array(piece.reasons).dictionary_encode()
        file = BytesIO()
        parquet.write_table(pa.table(columns), file)
        return file.getvalue()

    def statistics(self) -> Iterator[Statistics]:
        """Yield the statistics of the blocks that are there, in order."""
        for block in self.done():
            yield Statistics.read((self.path / f"statistics/{block:08}.npz").read_bytes())

    def clean(self) -> None:
        """Remove what writers that were killed have left."""
        for part in self.path.rglob(".*.part"):
            with suppress(OSError):
                part.unlink()

    def bytes(self) -> int:
        """Return the size of all files."""
        return sum(p.stat().st_size for p in self.path.rglob("*") if p.is_file())


def _head(campaign: Plan, probe: Piece) -> tuple[dict[str, Any], Files]:
    """Return what a store says of a campaign, and the files beside it."""
    data, files = to_data(campaign)
    shapes = {n: x.shape[1:] for n, x in probe.arrays.items()}
    widest = max((8 * int(np.prod(s)) for s in shapes.values()), default=8)
    head: dict[str, Any] = {
        "hinge campaign": VERSION,
        "hinge": import_module("hinge").__version__,
        "NumPy": np.__version__,
        "robot": campaign.robot.name,
        "fingerprint": fingerprint(campaign.robot),
        "specification": data,
        "code": {n: f.digest if f.reference else "" for n, f in files.functions.items()},
        "block": int(min(BLOCK, max(1, LARGEST // max(widest, 1)))),
        "columns": list(probe.columns),
        "arrays": shapes,
        "times": campaign.kept.tolist(),
        "coordinates": coordinate_names(campaign.robot),
    }
    return head, files


def _fill(path: Path, campaign: Plan, head: dict[str, Any], files: Files) -> None:
    """Write what a store begins with, its head last."""
    for name, values in files.arrays.items():
        file = BytesIO()
        np.save(file, np.asarray(values), allow_pickle=False)
        write(path / name, file.getvalue())
    for function in files.functions.values():
        if function.file is not None and function.reference:
            write(path / "code" / function.kept, function.file.read_bytes())
    write(path / ROBOT, to_json(campaign.robot).encode())
    if campaign.rows:
        write(path / "arrays/zarr.json", zarr_files.group({"robot": campaign.robot.name}))
        for name, shape in head["arrays"].items():
            inner = ("time", "coordinate" if name == "q" else "dof") if name in ("q", "qd") else tuple(
                f"{name}_{k}" for k in range(len(shape))
            )  # fmt: skip
            about = {"times": head["times"]} if name in ("q", "qd") else {}
            full = (campaign.samples, *shape)
            write(
                path / f"arrays/{name}/zarr.json",
                zarr_files.described(full, head["block"], (SAMPLE, *inner), about),
            )
    (path / "blocks").mkdir(exist_ok=True)
    write(path / HEAD, json.dumps(head, indent=1).encode())


def write(path: Path, data: bytes) -> None:
    """Write a file that is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as file:
        copyfileobj(BytesIO(data), file)


def _read_json(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        text = file.read(MOST_HEAD + 1)
    if len(text) > MOST_HEAD:
        raise FormatError(f"has more than {MOST_HEAD} bytes", source=str(path))
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", source=str(path)) from None
    if not isinstance(found, dict):
        raise FormatError("is not an object of JSON", source=str(path))
    return cast("dict[str, Any]", found)


def _through_json(x: Any) -> Any:
    return json.loads(json.dumps(x))


def _difference(there: Any, here: Any) -> str:
    """Say where two specifications differ first."""
    if not isinstance(there, dict) or not isinstance(here, dict):
        return f": {there!r} there, {here!r} here" if not isinstance(there, list) else ""
    theirs, ours = cast("dict[str, Any]", there), cast("dict[str, Any]", here)
    for name in {**ours, **theirs}:
        if theirs.get(name) != ours.get(name):
            return f": {name} is {str(theirs.get(name))[:60]} there, {str(ours.get(name))[:60]} here"
    return ""
