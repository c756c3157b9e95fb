"""`hinge export`: verbs of a robot as code for other homes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hinge.cli.output import write
from hinge.cli.robot_argument import add_robot, robot_of
from hinge.errors import CommandLineError, HingeError
from hinge.export import CLibrary, c, objects
from hinge.model import Robot
from hinge.sim import INTEGRATORS, step

DESCRIPTION = """\
Write verbs of a robot as a library of C99: a header, a source file, a self-test and a page about them.
The code needs nothing but <math.h>, allocates nothing, and may run in several threads. Or write an object
file for another processor, with the same header; that takes no compiler. The verb `step` is a step of a
simulation.

  hinge export c arm.urdf forward_dynamics inverse_dynamics -o out
  hinge export c panda forward_dynamics_derivatives -o out --fma      bits of the native target
  hinge export c talos.urdf forward_dynamics -o out --float32 --rolled      for little memory
  hinge export c panda jacobian --frame tool --expressed world-aligned -o out
  hinge export c panda step --dt 1e-3 --integrator rk4 -o out
  hinge export c panda forward_dynamics --casadi -o out      for casadi.external and acados
  hinge export object panda forward_dynamics --triple wasm32-unknown-unknown -o out
  hinge export object panda inverse_dynamics --triple thumbv7em-none-eabihf --cpu cortex-m7 -o out
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge export`."""
    parser.add_argument("language", choices=["c", "object"], metavar="LANGUAGE", help="c or object")
    add_robot(parser)
    parser.add_argument("verbs", nargs="+", metavar="VERB", help="verbs, such as forward_dynamics; or step")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FOLDER", help="where files go")
    parser.add_argument("--prefix", metavar="NAME", help="how every name begins (default: the robot's name)")
    parser.add_argument("--float32", action="store_true", help="numbers are floats, not doubles")
    parser.add_argument("--fma", action="store_true", help="fuse products into sums, for processors that do")
    parser.add_argument("--casadi", action="store_true", help="c: CasADi's interface too, with Jacobians")
    parser.add_argument(
        "--triple", metavar="NAME", help="object: the processor, such as wasm32-unknown-unknown"
    )
    parser.add_argument("--cpu", metavar="NAME", help="object: which one, such as cortex-m7")
    parser.add_argument("--features", metavar="LIST", help="object: what it can do, such as +neon")
    parser.add_argument("--dt", type=float, metavar="S", help="step: its length (default: an argument)")
    parser.add_argument(
        "--integrator",
        metavar="NAME",
        help=f"step: {', '.join(n for n in INTEGRATORS if n != 'stepping')} (default: rk4)",
    )
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
        paths = _library(arguments, robot).write(arguments.out)
    except (HingeError, NotImplementedError) as error:
        raise CommandLineError(str(error)) from error
    except OSError as error:
        raise CommandLineError(f"--out: {error.strerror}: {error.filename}") from error
    sizes = (f"{path.name} {path.stat().st_size / 1000:.0f} kB" for path in paths)
    write(f"wrote {arguments.out}: {', '.join(sizes)}")


def _library(arguments: argparse.Namespace, robot: Robot) -> CLibrary:
    what = _what(arguments, robot)
    common: dict[str, Any] = {
        "prefix": arguments.prefix,
        "single": arguments.float32,
        "fma": arguments.fma,
        "roll": arguments.rolled,
        "nodes": arguments.frame,
        "expressed": arguments.expressed,
        "parameters": arguments.parameters,
    }
    if arguments.language == "object":
        if arguments.casadi:
            raise CommandLineError(
                "--casadi: expected with 'c', whose compiler makes a library of it, got 'object'"
            )
        if arguments.triple is None:
            raise CommandLineError(
                "--triple: expected the processor of the object file, such as aarch64-linux-gnu, got none"
            )
        processor = {"cpu": arguments.cpu or "", "features": arguments.features or ""}
        return objects(what, robot, arguments.triple, **processor, **common)
    for name in ("triple", "cpu", "features"):
        if getattr(arguments, name) is not None:
            raise CommandLineError(f"--{name}: expected with 'object', got 'c', which any compiler takes")
    return c(what, robot, casadi=arguments.casadi, **common)


def _what(arguments: argparse.Namespace, robot: Robot) -> dict[str, Any]:
    found: dict[str, Any] = {name: name for name in arguments.verbs}
    if "step" in found:
        found["step"] = step(robot, arguments.dt, integrator=arguments.integrator or "rk4")
        return found
    for name in ("dt", "integrator"):
        if getattr(arguments, name) is not None:
            raise CommandLineError(f"--{name}: expected with the verb step, got {', '.join(found)}")
    return found
