"""`hinge export`: verbs of a robot as source code for other homes."""

from __future__ import annotations

import argparse
from pathlib import Path

from hinge.cli.output import write
from hinge.cli.robot_argument import add_robot, robot_of
from hinge.errors import CommandLineError, HingeError
from hinge.export import c

DESCRIPTION = """\
Write verbs of a robot as a library of C99: a header, a source file, a self-test and a page about them.
The code needs nothing but <math.h>, allocates nothing, and may run in several threads.

  hinge export c arm.urdf forward_dynamics inverse_dynamics -o out
  hinge export c panda forward_dynamics_derivatives -o out --fma      bits of the native target
  hinge export c talos.urdf forward_dynamics -o out --float32 --rolled      for little memory
  hinge export c panda jacobian --frame tool --expressed world-aligned -o out
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge export`."""
    parser.add_argument("language", choices=["c"], metavar="LANGUAGE", help="c")
    add_robot(parser)
    parser.add_argument("verbs", nargs="+", metavar="VERB", help="verbs, such as forward_dynamics")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FOLDER", help="where files go")
    parser.add_argument("--prefix", metavar="NAME", help="how every name begins (default: the robot's name)")
    parser.add_argument("--float32", action="store_true", help="numbers are floats, not doubles")
    parser.add_argument("--fma", action="store_true", help="fuse products into sums, for processors that do")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument(
        "--rolled", action="store_true", default=None, help="write each kernel once: small code"
    )
    shape.add_argument(
        "--written-out",
        action="store_false",
        dest="rolled",
        default=None,
        help="write every call out: quick code",
    )
    parser.add_argument("--frame", action="append", default=[], metavar="NAME", help="a frame of the verbs")
    parser.add_argument(
        "--expressed", default="body", choices=["body", "world", "world-aligned"], help="axes of frames"
    )
    parser.add_argument(
        "--parameters",
        nargs="+",
        default=[],
        metavar="NAME",
        help="numbers of the model that become arguments: inertias, placements, rotors, friction",
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the files."""
    robot = robot_of(arguments.robot, floating=arguments.floating)
    try:
        library = c(
            arguments.verbs,
            robot,
            prefix=arguments.prefix,
            single=arguments.float32,
            fma=arguments.fma,
            roll=arguments.rolled,
            nodes=arguments.frame,
            expressed=arguments.expressed,
            parameters=arguments.parameters,
        )
        paths = library.write(arguments.out)
    except HingeError as error:
        raise CommandLineError(str(error)) from error
    except OSError as error:
        raise CommandLineError(f"--out: {error.strerror}: {error.filename}") from error
    sizes = (f"{path.name} {path.stat().st_size / 1000:.0f} kB" for path in paths)
    write(f"wrote {arguments.out}: {', '.join(sizes)}")
