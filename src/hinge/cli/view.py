"""`hinge view`: show a robot in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from hinge.cli.robot_argument import add_robot, folder_of, robot_of
from hinge.cli.start import numbers, start_of
from hinge.view import show

HOST, PORT = "127.0.0.1", 8080

DESCRIPTION = """\
Show a robot in the browser, with a slider for each joint. The address is printed; Ctrl-C ends it.
This needs the extra packages of the viewer: pip install "hinge[view]"

  hinge view spacecraft                 a built-in robot
  hinge view arm.urdf                   the robot in a file, with its meshes
  hinge view panda --q0 random          in a random pose
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge view`."""
    add_robot(parser)
    parser.add_argument(
        "--q0",
        nargs="+",
        default=["neutral"],
        metavar="X",
        help="configuration: nq numbers, one for all, random, or neutral (default: neutral)",
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument(
        "--folder", type=Path, metavar="DIRECTORY", help="folder of the meshes (default: that of the file)"
    )
    add_address(parser)


def add_address(parser: argparse.ArgumentParser) -> None:
    """Add --host, --port and --allow."""
    parser.add_argument(
        "--port", type=int, default=PORT, help=f"port of the viewer, 0 for any free one (default: {PORT})"
    )
    parser.add_argument(
        "--host",
        default=HOST,
        help="address to listen on: 0.0.0.0 for the whole network (default: this machine)",
    )
    parser.add_argument(
        "--allow",
        nargs="+",
        default=(),
        metavar="HOST[:PORT]",
        help="further names by which pages may reach the viewer, for tunnels and proxies (default: none)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Show the robot until Ctrl-C."""
    robot = robot_of(arguments.robot, floating=arguments.floating)
    wanted = numbers(arguments.q0, "--q0", ("random", "neutral"))
    q, _ = start_of(robot, wanted, "random", states=1, seed=arguments.seed)
    folder = arguments.folder or folder_of(arguments.robot)
    show(robot, q, folder=folder, host=arguments.host, port=arguments.port, allow=arguments.allow)
