"""`hinge play`: play a saved run in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from hinge.cli.view import add_address
from hinge.errors import CommandLineError
from hinge.sim import load_run
from hinge.view import play

DESCRIPTION = """\
Play a run saved by hinge simulate --out or hinge.save_run in the browser, with a timeline.
Of a batch the first state is shown, and up to eight others as ghosts. The address is printed; Ctrl-C ends it.
This needs the extra packages of the viewer: pip install "hinge[view]"

  hinge simulate quadruped --out fall.npz
  hinge play fall.npz
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge play`."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a saved run, .npz or .parquet")
    parser.add_argument(
        "--runs",
        type=int,
        nargs="+",
        metavar="K",
        help="indices of states in the batch, from 0 (default: the first)",
    )
    parser.add_argument(
        "--folder", type=Path, metavar="DIRECTORY", help="folder of the robot's meshes (default: none)"
    )
    parser.add_argument(
        "--trace",
        nargs="+",
        default=(),
        metavar="FRAME",
        help="frames or bodies whose paths are drawn (default: none)",
    )
    add_address(parser)


def run(arguments: argparse.Namespace) -> None:
    """Play the run until Ctrl-C."""
    path: Path = arguments.file
    if not path.is_file():
        raise CommandLineError(f"FILE: {path} does not exist; hinge simulate --out {path.name} makes one")
    play(
        load_run(path),
        runs=arguments.runs,
        trace=arguments.trace,
        folder=arguments.folder,
        host=arguments.host,
        port=arguments.port,
        allow=arguments.allow,
    )
