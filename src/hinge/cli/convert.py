"""`hinge convert`: write a robot to another kind of file."""

from __future__ import annotations

import argparse
from pathlib import Path

from hinge.cli.output import writable, write
from hinge.cli.robot_argument import add_robot, robot_of
from hinge.io import to_json, to_urdf

DESCRIPTION = """\
Read a robot and write it to another file. The extension selects the format: .urdf, which other programs read,
or .json, which keeps every field of the robot exactly.
Warnings list what is left out: parts of the file that Hinge has no place for, fields that URDF lacks.

  hinge convert model.xml arm.urdf      MJCF to URDF
  hinge convert panda panda.urdf        a built-in robot to a file
  hinge convert arm.urdf arm.json       nothing is lost or rounded
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge convert`."""
    add_robot(parser)
    parser.add_argument("file", metavar="FILE", type=Path, help="the new file, .urdf or .json")


def run(arguments: argparse.Namespace) -> None:
    """Write the robot."""
    path: Path = arguments.file
    writable(path, "FILE", (".urdf", ".json"))
    robot = robot_of(arguments.robot, floating=arguments.floating)
    text = to_json(robot) if path.suffix == ".json" else to_urdf(robot)
    path.write_text(text, encoding="utf-8")
    write(f"wrote {path}: {robot.name}, {len(robot.bodies)} bodies, {len(text.encode()) / 1000:.0f} kB")
