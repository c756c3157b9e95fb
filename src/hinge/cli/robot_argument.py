"""The robot of a command line: built in, or from a file."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

from hinge.errors import CommandLineError, HingeError, ModelWarning, did_you_mean
from hinge.io import from_json, load
from hinge.model import Problem, Robot, check
from hinge.robots import (
    chain,
    delta,
    double_pendulum,
    four_bar,
    panda,
    puma560,
    quadruped,
    slider_crank,
    spacecraft,
    stewart_platform,
    two_pandas_with_plate,
)

#: Robots that need no file.
BUILT_IN: dict[str, Callable[[], Robot]] = {
    "panda": panda,
    "puma560": puma560,
    "quadruped": quadruped,
    "spacecraft": spacecraft,
    "double_pendulum": double_pendulum,
    "chain": lambda: chain(6),
    "four_bar": four_bar,
    "slider_crank": slider_crank,
    "stewart_platform": stewart_platform,
    "delta": delta,
    "two_pandas": two_pandas_with_plate,
}
#: A chain of any length is chain:N.
CHAIN, MOST_LINKS = "chain:", 10_000
FILES = "a URDF, MJCF or robot JSON file"


def add_robot(parser: argparse.ArgumentParser, *, default: str | None = None) -> None:
    """Add the argument ROBOT, optional if there is a default, and --floating."""
    text = f"{FILES}, or one of {', '.join(BUILT_IN)}, {CHAIN}N"
    if default is None:
        parser.add_argument("robot", metavar="ROBOT", help=text)
    else:
        parser.add_argument(
            "robot", metavar="ROBOT", nargs="?", default=default, help=f"{text} (default: {default})"
        )
    add_floating(parser)


def add_floating(parser: argparse.ArgumentParser) -> None:
    """Add --floating."""
    parser.add_argument("--floating", action="store_true", help="give the robot of a file a free base")


def robot_of(name: str, *, floating: bool, argument: str = "ROBOT") -> Robot:
    """Return a built-in robot, or the one in a file; a CommandLineError names the argument.

    What the robot lost on the way from its file is a ModelWarning for each kind; `hinge check` lists doubtful
    physics.
    """
    found = built_in(name, argument)
    if found is not None:
        if floating:
            raise CommandLineError(f"--floating: expected the robot of a file, got {name}, which is built in")
        return found
    path = file_of(name, argument)
    try:
        robot, found = read(path, floating=floating)
    except HingeError as error:
        raise CommandLineError(f"{argument}: {error}") from error
    except OSError as error:
        raise CommandLineError(f"{argument}: {path}: {error.strerror or error}") from error
    for p in found:
        warnings.warn(ModelWarning(f"{located(p, path)}: {p.message} [{p.condition}]", p), stacklevel=2)
    return robot


def read(path: Path, *, floating: bool) -> tuple[Robot, list[Problem]]:
    """Return the robot in a file, and what its reader corrected or left out."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ModelWarning)
        robot = robot_in(path, floating=floating, strict=False)
    doubts = check(robot)
    problems = [w.message.problem for w in said if isinstance(w.message, ModelWarning)]
    return robot, [p for p in problems if isinstance(p, Problem) and p not in doubts]


def located(p: Problem, path: Path) -> str:
    """Return where a problem is in a file: path, line and part."""
    return f"{path}: {p.where}" if p.line is None else f"{path}:{p.line}: {p.where}"


def built_in(name: str, argument: str = "ROBOT") -> Robot | None:
    """Return the built-in robot of this name, or None."""
    if name.startswith(CHAIN):
        links = name.removeprefix(CHAIN)
        if not links.isdecimal() or not 1 <= int(links) <= MOST_LINKS:
            raise CommandLineError(f"{argument}: expected {CHAIN}N with N from 1 to {MOST_LINKS}, got {name}")
        return chain(int(links))
    return BUILT_IN[name]() if name in BUILT_IN else None


def file_of(name: str, argument: str = "ROBOT") -> Path:
    """Return the path of an existing robot file."""
    path = Path(name)
    if not path.exists():
        hint = did_you_mean(name, BUILT_IN) or f"the built-in robots are {', '.join(BUILT_IN)}, {CHAIN}N"
        raise CommandLineError(f"{argument}: expected a file or a built-in robot, got {name}; {hint}")
    if path.is_dir():
        raise CommandLineError(f"{argument}: expected {FILES}, got the directory {name}")
    return path


def robot_in(path: Path, *, floating: bool, strict: bool | None) -> Robot:
    """Return the robot in a file."""
    if path.suffix != ".json":
        return load(path, floating=floating, strict=strict)
    if floating:
        raise CommandLineError(
            "--floating: not supported for robot JSON files, which state the base themselves; leave it out"
        )
    return from_json(path.read_bytes(), source=str(path))


def folder_of(name: str) -> Path | None:
    """Return the folder of a robot's meshes: that of its file."""
    return None if name in BUILT_IN or name.startswith(CHAIN) else Path(name).resolve().parent
