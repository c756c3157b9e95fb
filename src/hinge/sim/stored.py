"""What a file says of a run, checked before anything large is read.

A file may be damaged or hostile. Shapes, types and sizes are read first and compared with each other; then so
many bytes are read, and no more. All damage is a FormatError.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from math import isfinite, prod
from typing import IO, Any, cast, get_args

import numpy as np

from hinge.dynamics import FrictionLaw
from hinge.errors import ArgumentError, FormatError
from hinge.model import Robot
from hinge.sim.events import Hit
from hinge.sim.run import ChartChange, Ending
from hinge.sim.stepping import CONTACT_PARAMETERS
from hinge.spatial import Array

VERSION = 1
#: The most characters of all that is not an array, and dimensions of a batch.
MOST_HEAD, MOST_DIMENSIONS = 64_000_000, 30
#: The bytes that are read at a time.
CHUNK = 1 << 20


@contextmanager
def sound(source: str) -> Generator[None, None, None]:
    """Turn whatever reading a damaged file raises into a FormatError."""
    try:
        yield
    except (FormatError, ArgumentError):
        raise
    except Exception as error:  # those of `expect`, and zlib, zipfile, ast, struct and pyarrow have many
        raise FormatError(f"is not a run: {str(error) or type(error).__name__}", source=source) from None


def expect(holds: bool, what: str, got: object) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise ValueError(f"expected {what}, got {repr(got)[:80]}")


def _is_number(x: object) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)


def _is_count(x: object) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and x >= 0


def _list(x: object, what: str) -> list[Any]:
    expect(isinstance(x, list), what, x)
    return cast("list[Any]", x)


@dataclass(frozen=True)
class Head:
    """All of a run but its arrays, as JSON data; what it has is checked when it is asked for.

    `times` is how many there are, None in files of old; for a run without states they are `empty_times`.
    """

    data: Mapping[str, Any]
    robot: str
    fingerprint: str
    batch: tuple[int, ...]
    times: int | None
    empty_times: list[float]

    @classmethod
    def read(cls, text: str | bytes) -> Head:
        """Return the checked head of a JSON text."""
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"its head is not JSON: {error}") from None
        expect(isinstance(given, dict), "an object as its head", given)
        data = cast("dict[str, Any]", given)
        expect(data.get("hinge run") == VERSION, f"a run of version {VERSION}", data.get("hinge run"))
        for name, kind in (("robot", str), ("fingerprint", str), ("settings", dict)):
            expect(isinstance(data.get(name), kind), f"{name} as {kind.__name__}", data.get(name))
        batch, times = _list(data.get("batch"), "batch as a list"), data.get("times")
        expect(all(map(_is_count, batch)) and len(batch) <= MOST_DIMENSIONS, "counts in batch", batch)
        listed: list[Any] = times if isinstance(times, list) else []
        expect(times is None or _is_count(times) or all(map(_is_number, listed)), "times as a count", times)
        count = len(listed) if isinstance(times, list) else times
        return cls(data, data["robot"], data["fingerprint"], tuple(batch), count, listed)

    @property
    def touched(self) -> bool:
        """Whether forces of contacts are recorded; files of old do not say."""
        found = self.data.get("contacts", False)
        expect(isinstance(found, bool), "contacts as true or false", found)
        return found

    @property
    def charted(self) -> bool:
        """Whether the rates of all joints are recorded; files of old do not say."""
        found = self.data.get("rates", False)
        expect(isinstance(found, bool), "rates as true or false", found)
        return found

    def changes(self, robot: Robot) -> tuple[ChartChange, ...]:
        """Return the changes of independent rates."""
        found: list[ChartChange] = []
        for row in _list(self.data.get("changes", []), "changes as a list"):
            expect(isinstance(row, list) and len(cast("list[Any]", row)) == 3, "changes of three parts", row)
            state, t, names = row
            expect(
                _is_number(t) and set(_list(names, "names of joints")) <= {*robot.joint_names}, "joints", row
            )
            found.append(ChartChange(self._state(state), float(t), tuple(names)))
        return tuple(found)

    def _state(self, x: object) -> tuple[int, ...]:
        found = _list(x, "an index of a state")
        inside = len(found) == len(self.batch) and all(map(_is_count, found))
        expect(inside and all(k < n for k, n in zip(found, self.batch, strict=True)), "a state", x)
        return tuple(found)

    def endings(self) -> tuple[Ending, ...]:
        """Return the states that ended early."""
        found: list[Ending] = []
        for row in _list(self.data.get("endings"), "endings as a list"):
            expect(isinstance(row, list) and len(cast("list[Any]", row)) == 3, "endings [state, t, why]", row)
            state, t, why = row
            expect(_is_number(t) and isinstance(why, str), "endings with a time and a reason", row)
            found.append(Ending(self._state(state), float(t), why))
        return tuple(found)

    def events(self, robot: Robot) -> tuple[Hit, ...]:
        """Return the located events."""
        found: list[Hit] = []
        for row in _list(self.data.get("events"), "events as a list"):
            expect(isinstance(row, list) and len(cast("list[Any]", row)) == 5, "events of five parts", row)
            name, state, t, q, qd = row
            expect(isinstance(name, str) and _is_number(t), "events with a name and a time", row)
            q, qd = _vector(q, robot.nq), _vector(qd, robot.nv)
            found.append(Hit(name, self._state(state), float(t), q, qd))
        return tuple(found)

    def settings(self, robot: Robot, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Return the settings; what `resume` and energies use is checked, parameters are of `dtype`."""
        found: dict[str, Any] = dict(self.data["settings"])
        for name, (holds, what) in _SETTINGS.items():
            if found.get(name) is not None:
                expect(holds(found[name]), f"settings[{name!r}] as {what}", found[name])
        if found.get("gravity") is not None:
            _block(found["gravity"], (3,), self.batch, "gravity")
        if found.get("fastened") is not None:
            mask = _block(found["fastened"], (len(robot.closures),), self.batch, "fastened")
            expect(
                bool(np.isin(mask, (0, 1)).all()), "settings['fastened'] of true and false", found["fastened"]
            )
            found["fastened"] = mask.astype(bool)
        pushed: dict[str, Any] = found.get("external") or {}
        known = {*robot.body_names, *(f.name for f in robot.frames)}
        expect(pushed.keys() <= known, "external forces at frames of the robot", list(pushed))
        if pushed:
            found["external"] = {n: _block(x, (6,), self.batch, n) for n, x in pushed.items()}
        shapes: dict[str, tuple[int, ...]] = {
            "inertias": (len(robot.bodies), 10),
            "placements": (len(robot.bodies), 7),
        }
        shapes |= {"rotors": (robot.nv,), "friction": (robot.nv, 3)}
        shapes |= dict.fromkeys(CONTACT_PARAMETERS, (len(robot.contacts),))
        given: dict[str, Any] = found.get("parameters") or {}
        expect(given.keys() <= shapes.keys(), f"parameters among {', '.join(shapes)}", list(given))
        if given:
            for n in CONTACT_PARAMETERS:  # one number for all contacts
                shapes[n] = shapes[n] if isinstance(given.get(n), list) else ()
            blocks = {n: _block(x, shapes[n], self.batch, n) for n, x in given.items()}
            found["parameters"] = {n: x.astype(dtype) for n, x in blocks.items()}
        return found


def _is_share(x: Any) -> bool:
    return _is_number(x) and 0 <= x < 1


def _is_duration(x: Any) -> bool:
    return _is_number(x) and isfinite(x) and x > 0


def _is_a(kind: type) -> Callable[[Any], bool]:
    return lambda x: isinstance(x, kind)


_SETTINGS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "integrator": (_is_a(str), "a name"),
    "dt": (_is_duration, "a number above zero"),
    "record": (_is_count, "a count"),
    "passive": (_is_a(bool), "true or false"),
    "project": (_is_a(bool), "true or false"),
    "limits": (_is_a(bool), "true or false"),
    "law": (lambda x: x in get_args(FrictionLaw), "a law of friction"),
    "rtol": (_is_share, "a number from 0 to 1"),
    "atol": (_is_share, "a number from 0 to 1"),
    "parameters": (_is_a(dict), "an object"),
    "external": (_is_a(dict), "an object"),
}


def _vector(x: object, size: int) -> Array:
    numbers = _list(x, f"{size} numbers")
    expect(len(numbers) == size and all(map(_is_number, numbers)), f"{size} numbers", x)
    return np.array(numbers, float)


def _block(x: object, last: tuple[int, ...], batch: tuple[int, ...], name: str) -> Array:
    """Return numbers (…, *last) for the states of a batch."""
    found = np.array(x, float)
    expect(found.shape[max(0, found.ndim - len(last)) :] == last, f"{name} of shape (…, {last})", found.shape)
    outer = found.shape[: found.ndim - len(last)]
    try:
        fits = np.broadcast_shapes(outer, batch) == batch
    except ValueError:
        fits = False
    expect(fits, f"{name} for the batch {batch}", found.shape)
    return found


def check_times(t: Array) -> None:
    """Refuse times that are not finite or fall."""
    expect(len(t) > 0 and bool(np.isfinite(t).all()), "finite times, at least one", t)
    expect(bool((np.diff(t) >= 0).all()), "times that rise", t)


def check_size(size: int, most: int) -> None:
    """Refuse arrays of more bytes than are allowed."""
    if size > most:
        raise ValueError(
            f"its arrays have {size} bytes, more than {most}; load_run(path, largest={size}) reads them"
        )


Labels = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Member:
    """An array whose bytes follow in a file."""

    file: IO[bytes]
    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """The bytes of the array."""
        return prod(self.shape) * self.dtype.itemsize

    def read(self) -> Array:
        """Return the array, in the machine's order of bytes."""
        found = np.empty(self.shape[::-1] if self.by_columns else self.shape, self.dtype)
        room, at = found.reshape(-1).view(np.uint8), 0
        while part := self.file.read(
            min(CHUNK, self.size - at + 1)
        ):  # one more: the end is seen, and checked
            expect(at + len(part) <= self.size, f"{self.size} bytes", "more")
            room[at : at + len(part)] = np.frombuffer(part, np.uint8)
            at += len(part)
        expect(at == self.size, f"{self.size} bytes", at)
        return (found.T if self.by_columns else found).astype(self.dtype.newbyteorder("="), copy=False)


class NpzFile:
    """An archive of arrays, as `save_run` writes it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.archive = zipfile.ZipFile(file)

    def head(self, most: int) -> str:
        """Return the text of the head, of at most so many characters."""
        with self._member("head") as found:
            expect(found.shape == () and found.dtype.kind == "U", "a text as head", found.dtype)
            expect(0 < found.dtype.itemsize <= 4 * most, f"a head of at most {most} characters", found.dtype)
            return str(found.read()[()])

    def arrays(self, head: Head, labels: Labels, most: int) -> dict[str, Array]:
        """Return the arrays, once all of them have the right shape and type and are small enough."""
        found: dict[str, Member] = {}
        for name in ("t", *labels):
            with self._member(name) as member:
                dtype = member.dtype
                expect(dtype.kind == "f" and dtype.itemsize in (4, 8), f"{name} of floats", dtype)
                found[name] = member
        times = found["t"].shape
        expect(len(times) == 1 and head.times in (None, *times), "t (T,)", times)
        for name, names in labels.items():
            wanted = (*head.batch, *times, len(names))
            expect(found[name].shape == wanted, f"{name} of shape {wanted}", found[name].shape)
        check_size(sum(x.size for x in found.values()), most)
        return {name: self._array(name) for name in found}

    def _array(self, name: str) -> Array:
        with self._member(name) as found:
            return found.read()

    @contextmanager
    def _member(self, name: str) -> Generator[Member, None, None]:
        """Yield a member behind its header, with shape, type and order; its size must fit these."""
        try:
            info = self.archive.getinfo(f"{name}.npy")
        except KeyError:
            raise ValueError(f"it has no {name!r}") from None
        with self.archive.open(info) as file:
            form: Any = np.lib.format
            version = form.read_magic(file)
            expect(version in ((1, 0), (2, 0), (3, 0)), "an array of NumPy's format 1 to 3", version)
            header = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
            shape, by_columns, dtype = header(file)
            expect(not dtype.hasobject and all(map(_is_count, shape)), f"{name} of numbers", dtype)
            found = Member(file, shape, by_columns, dtype)
            expect(
                info.file_size == file.tell() + found.size, f"{name} of {found.size} bytes", info.file_size
            )
            yield found


class ParquetFile:
    """A table with a row for each state and time, as `save_run` writes it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.table = import_module("pyarrow.parquet").ParquetFile(file)

    def head(self, most: int) -> bytes:
        """Return the text of the head, of at most so many characters."""
        found: bytes = (self.table.schema_arrow.metadata or {}).get(b"hinge", b"")
        expect(len(found) > 0, "metadata 'hinge'", None)
        expect(len(found) <= 4 * most, f"a head of at most {most} characters", len(found))
        return found

    def arrays(self, head: Head, labels: Labels, most: int) -> dict[str, Array]:
        """Return the arrays, once all columns are there and small enough."""
        states, rows = prod(head.batch), self.table.metadata.num_rows
        times = rows // states if states else head.times or 0
        expect(rows == states * times and head.times in (None, times), "a row for each state and time", rows)
        names = [f"{name}:{label}" for name, of in labels.items() for label in of]
        schema = self.table.schema_arrow
        expect(
            schema.names == ["state", "t", *names], f"the columns state, t, {', '.join(names)}", schema.names
        )
        for name in ("t", *names):
            expect(
                str(schema.field(name).type) in ("float", "double"), f"{name} of floats", schema.field(name)
            )
        expect(str(schema.field("state").type) == "int64", "state of integers", schema.field("state"))
        check_size(max(8 * rows * (2 + len(names)), self._claimed()), most)
        columns = self.table.read()
        found = {"t": self._times(columns, states, times) if states else np.array(head.empty_times, float)}
        for name, of in labels.items():
            parts = [columns[f"{name}:{label}"].to_numpy() for label in of]
            found[name] = np.stack(parts, -1) if parts else np.zeros((rows, 0))
            found[name] = found[name].reshape(*head.batch, times, len(of))
        return found

    def _claimed(self) -> int:
        """Return the bytes of all columns that the file claims to have."""
        meta = self.table.metadata
        groups = [meta.row_group(k) for k in range(meta.num_row_groups)]
        return sum(g.column(k).total_uncompressed_size for g in groups for k in range(g.num_columns))

    def _times(self, columns: Any, states: int, times: int) -> Array:
        """Return the times, which must be those of every state."""
        t, state = (columns[name].to_numpy() for name in ("t", "state"))
        expect(bool((t.reshape(states, times) == t[:times]).all()), "the same times for all states", t)
        expect(np.array_equal(state, np.repeat(np.arange(states), times)), "states in order", state)
        return np.array(t[:times])
