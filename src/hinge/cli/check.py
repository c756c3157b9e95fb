"""`hinge check`: list the problems of a robot."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from hinge.cli.closed import problems
from hinge.cli.command import DONE, FAILED
from hinge.cli.output import write, write_json
from hinge.cli.robot_argument import add_robot, built_in, file_of, located, read
from hinge.errors import CommandLineError, FormatError, HingeError
from hinge.model import Problem, Robot, check

DESCRIPTION = """\
List the problems of a robot: a file that cannot be read, with the line; impossible masses and inertias;
reversed limits; limits in degrees; joints that move no mass; closures that cannot close; what of the file
is left out. An error makes dynamics impossible, a warning makes it doubtful, a note is neither.

  hinge check arm.urdf              one problem a line
  hinge check arm.urdf --strict     warnings count as errors
  hinge check arm.urdf --json       as JSON

exit codes: 0 no errors, 1 errors, 2 invalid command line
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge check`."""
    add_robot(parser)
    parser.add_argument("--strict", action="store_true", help="count warnings as errors")
    parser.add_argument("--json", action="store_true", help="write JSON")


def run(arguments: argparse.Namespace) -> int:
    """List the problems; the exit code is 1 if there are errors."""
    robot, found = _looked_at(arguments.robot, arguments.floating)
    errors = sum(p.fatal or (arguments.strict and not p.note) for p in found)
    if arguments.json:
        shown = [
            {"severity": _severity(p), "where": p.where, "condition": p.condition, "message": p.message}
            for p in found
        ]
        name = None if robot is None else robot.name
        write_json({"robot": name, "ok": not errors, "errors": errors, "problems": shown})
    else:
        name = arguments.robot if robot is None else robot.name
        total = f"{len(found) or 'no'} problem{'s' * (len(found) != 1)}"
        lines = [f"{_severity(p)}: {p}" for p in found]
        write("\n".join([*lines, f"{name}: {total}"]))
    return FAILED if errors else DONE


def _severity(p: Problem) -> str:
    if p.fatal:
        return "error"
    return "note" if p.note else "warning"


def _looked_at(name: str, floating: bool) -> tuple[Robot | None, list[Problem]]:
    """Return the robot, if it can be read, and its problems, corrections by the reader included."""
    robot = built_in(name)
    if robot is not None:
        return robot, [*check(robot), *problems(robot)]
    path = file_of(name)
    try:
        robot, found = read(path, floating=floating)
    except CommandLineError:
        raise
    except HingeError as error:
        return None, [_unreadable(error, path)]
    return robot, [*(replace(p, where=located(p, path)) for p in found), *check(robot), *problems(robot)]


def _unreadable(error: HingeError, path: Path) -> Problem:
    """Return the problem of a file that cannot be read, with its line."""
    where = str(path)
    if isinstance(error, FormatError):
        where = error.source if error.line is None else f"{error.source}:{error.line}"
    return Problem(where, "can be read", str(error).removeprefix(f"{where}: "), fatal=True)
