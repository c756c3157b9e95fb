"""A campaign as data: TOML for people, JSON in a store; arrays and code are files beside it.

A specification never has code in it, only references to functions; `Plan`'s arguments are its keys.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from hinge import sim
from hinge.campaign.distributions import Given, distribution
from hinge.campaign.functions import Own, own
from hinge.campaign.plan import Plan
from hinge.campaign.quantities import WHOLE
from hinge.errors import ArgumentError, FormatError, UnknownNameError, did_you_mean
from hinge.io import from_json, load
from hinge.model import Robot
from hinge.sim import Adaptive, Event, Law, Signal

P = TypeVar("P", bound=Plan)
#: Laws that a specification can have; a function does all else.
LAWS = {k.__name__: k for k in (sim.PD, sim.Torque, sim.GravityCompensation, sim.ComputedTorque)}
#: What `Plan` takes that is no data.
_NOT_DATA = ("robot", "folder", "trust")
_SIMPLE = (
    "samples", "t", "dt", "seed", "design", "passive", "limits", "law", "project", "record", "rows",
)  # fmt: skip
LARGEST = 16_000_000


class Files:
    """What a specification has beside it: arrays by name, functions by their references."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.functions: dict[str, Own] = {}

    def array(self, name: str, values: np.ndarray) -> dict[str, str]:
        """Add an array, and return what stands for it."""
        file = f"given/{len(self.arrays):04}.npy"
        self.arrays[file] = values
        return {"file": file}

    def function(self, name: str, found: Own) -> str:
        """Add a function, and return its reference."""
        self.functions[name] = found
        if found.file is None or not found.reference:
            return found.reference
        return f"code/{found.kept}:{found.reference.rpartition(':')[2]}"


def to_data(campaign: Plan) -> tuple[dict[str, Any], Files]:
    """Return a campaign as data, but for its robot, and the files beside it."""
    files, data = Files(), {n: getattr(campaign, n) for n in _SIMPLE if getattr(campaign, n) is not None}
    for name, x in zip(("q0", "qd0"), campaign.base, strict=True):
        if x is not None:
            data[name] = x.tolist()
    if campaign.gravity is not None:
        data["gravity"] = np.asarray(campaign.gravity, float).tolist()
    if campaign.external:
        data["external"] = {n: np.asarray(x, float).tolist() for n, x in campaign.external.items()}
    rule = campaign.integrator
    data["integrator"] = (
        {"rtol": rule.rtol, "atol": rule.atol}
        if isinstance(rule, Adaptive)
        else str(getattr(rule, "name", rule))
    )
    if campaign.times is not None:
        data["times"] = campaign.kept.tolist()
    if campaign.chosen_extremes:
        data["extremes"] = list(campaign.chosen_extremes)
    data["vary"] = _vary(campaign, files)
    if campaign.control is not None:
        data["control"] = _control(campaign, files)
    for name in ("measure", "gradient"):
        if name in campaign.owned:
            data[name] = files.function(name, campaign.owned[name])
    if campaign.chosen_events:
        data["events"] = [
            {"function": files.function(f"events.{k}", campaign.owned[f"events.{k}"]), "name": e.name,
             "direction": e.direction, "terminal": e.terminal, "tolerance": e.tolerance}
            for k, e in enumerate(campaign.chosen_events)
        ]  # fmt: skip
    return data, files


def _vary(campaign: Plan, files: Files) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for d in campaign.drawn:
        is_array = isinstance(d.distribution, Given)
        x = files.array(d.name, d.distribution.values) if is_array else d.distribution.data()  # pyright: ignore
        if d.quantity in WHOLE:
            found[d.quantity] = x
        else:
            found.setdefault(d.quantity, {})[d.part] = x
    return found


def _control(campaign: Plan, files: Files) -> Any:
    if campaign.controlling is not None:
        return files.function("control", campaign.controlling)
    law = campaign.control
    if not isinstance(law, Law):
        return np.asarray(law, float).tolist()
    kind = type(law).__name__
    if LAWS.get(kind) is not type(law):
        raise NotImplementedError(
            f"control: a law of class {kind} is not kept in a store; give one of {', '.join(LAWS)}, or a "
            "function of (t, q, qd) at the top of a file"
        )
    return {"law": kind, **{f.name: _plain(getattr(law, f.name), f.name) for f in fields(law)}}  # pyright: ignore[reportArgumentType]


def _plain(x: Any, name: str) -> Any:
    if isinstance(x, Signal):
        raise NotImplementedError(
            f"control: {name} as a Signal is not kept in a store; give a function of (t, q, qd) instead"
        )
    if isinstance(x, Mapping):
        return {str(k): np.asarray(v, float).tolist() for k, v in cast("Mapping[str, Any]", x).items()}
    return x if isinstance(x, bool) else np.asarray(x, float).tolist()


def of_data(data: Mapping[str, Any], kind: type[P], robot: Robot, folder: Path, *, trust: bool) -> P:
    """Return the campaign of data, whose files are in a folder; refuse keys that it does not have."""
    known = [f.name for f in fields(Plan) if f.name not in _NOT_DATA]
    for name in data:
        if name not in known:
            hint = did_you_mean(name, known) or f"keys are robot, {', '.join(known)}"
            raise UnknownNameError(f"specification: expected a key of a campaign, got {name!r}; {hint}")
    given = dict(data)
    if isinstance(given.get("integrator"), Mapping):
        given["integrator"] = Adaptive(**given["integrator"])
    if isinstance(given.get("control"), Mapping):
        given["control"] = _law(dict(given["control"]))
    if "events" in given:
        given["events"] = [_event(e, k, folder, trust) for k, e in enumerate(given["events"])]
    if "vary" in given:
        if not isinstance(given["vary"], Mapping):
            raise ArgumentError(f"vary: expected a table of quantities, got {given['vary']!r}")
        given["vary"] = {n: _read_part(n, x, folder) for n, x in given["vary"].items()}
    return kind(robot, folder=folder, trust=trust, **given)


def _read_part(name: str, given: Any, folder: Path) -> Any:
    if name in WHOLE or not isinstance(given, Mapping):
        return _drawn(given, f"vary.{name}", folder)
    parts = cast("Mapping[str, Any]", given)
    return {n: _drawn(x, f"vary.{name}.{n}", folder) for n, x in parts.items()}


def _drawn(given: Any, name: str, folder: Path) -> Any:
    if not (isinstance(given, Mapping) and "file" in given):
        return distribution(given, name) if isinstance(given, dict | int | float | list | tuple) else given
    file = str(cast("Mapping[str, Any]", given)["file"])
    path = (folder / file).resolve()
    if folder.resolve() not in path.parents or path.suffix != ".npy":
        raise ArgumentError(f"{name}: expected a file .npy in the folder of the specification, got {file!r}")
    try:
        return Given(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise FormatError(f"is not an array: {error}", source=str(path)) from None


def _law(given: dict[str, Any]) -> Law:
    kind = given.pop("law", None)
    if kind not in LAWS:
        hint = did_you_mean(kind, LAWS) or f"laws are {', '.join(LAWS)}"
        raise ArgumentError(f"control.law: expected a law, got {kind!r}; {hint}")
    try:
        return LAWS[kind](**{n: _as_array(x) for n, x in given.items()})
    except TypeError:
        wanted = ", ".join(f.name for f in fields(LAWS[kind]))
        raise ArgumentError(f"control: expected {wanted} for {kind}, got {', '.join(given)}") from None


def _as_array(x: Any) -> Any:
    return np.asarray(x, float) if isinstance(x, list) else x


def _event(given: Any, k: int, folder: Path, trust: bool) -> Event:
    if not isinstance(given, Mapping) or "function" not in given:
        raise ArgumentError(f"events[{k}]: expected a table with a function, got {given!r}")
    more = dict(cast("Mapping[str, Any]", given))
    return Event(own(more.pop("function"), f"events[{k}]", folder, trust=trust).call, **more)


def of_file(path: Path, kind: type[P], built_in: Mapping[str, Callable[[], Robot]], *, trust: bool) -> P:
    """Return the campaign of a TOML file, of a robot by name or of one in a file beside it."""
    data = toml(path)
    named = data.pop("robot", None)
    if not isinstance(named, str):
        raise ArgumentError(f"robot: expected the name of a robot or of a file, got {named!r}")
    robot = built_in[named]() if named in built_in else robot_in(path.parent / named)
    return of_data(data, kind, robot, path.parent, trust=trust)


def toml(path: Path) -> dict[str, Any]:
    """Return the data of a TOML file of a reasonable size."""
    size = path.stat().st_size
    if size > LARGEST:
        raise FormatError(f"has {size} bytes; at most {LARGEST} are read", source=str(path))
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"is not TOML: {error}", source=str(path)) from None


def robot_in(path: Path) -> Robot:
    """Return the robot of a file: JSON, or what `hinge.load` reads."""
    if path.suffix == ".json":
        return from_json(path.read_text(encoding="utf-8"), source=str(path))
    return load(path)
