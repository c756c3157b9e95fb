"""`hinge explain`: the derivation of a verb's algorithm, as text or HTML."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from textwrap import fill

from hinge.algebra import B, Q, f_ext, leaves
from hinge.cli.robot_argument import BUILT_IN, CHAIN, FILES, add_floating, robot_of
from hinge.dynamics import CATALOGUE, Compiled, compiled
from hinge.errors import CommandLineError, HingeError
from hinge.explain import page

#: Verbs computed from the result of another one.
READ_OFF = {"potential_energy": "composite_inertia", "center_of_mass": "composite_inertia"}

DESCRIPTION = f"""\
Show a verb for a robot: the operator expression, the derivation step by step with its identities,
the sweeps over the bodies, the cost of one evaluation, and the compiled code.

  hinge explain forward_dynamics                                  for the built-in panda, as text
  hinge explain mass_matrix --robot arm.urdf --html mass.html     for a file, as a page for a browser
  hinge explain jacobian --robot spacecraft --frame left_hand     for a frame of the robot

The page is one file that needs no network; it shows proofs, pictures and the generated code as well.

verbs:
{fill(", ".join([*CATALOGUE, *READ_OFF]), 96, initial_indent="  ", subsequent_indent="  ")}
"""

#: Verbs of one frame; other verbs of frames take all bodies by default.
OF_ONE_FRAME = ("jacobian", "jacobian_bias", "classical_jacobian_bias")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge explain`."""
    parser.add_argument("verb", help="the verb, such as forward_dynamics; see the list above")
    parser.add_argument(
        "--robot",
        default="panda",
        metavar="ROBOT",
        help=f"{FILES}, or one of {', '.join(BUILT_IN)}, {CHAIN}N (default: panda)",
    )
    add_floating(parser)
    parser.add_argument(
        "--frame",
        action="append",
        default=[],
        metavar="NAME",
        help="a frame or body of the verb's result, or of an external force; may be given several times "
        "(default: the last body for Jacobians, all bodies for velocities and accelerations)",
    )
    parser.add_argument(
        "--expressed", default="body", choices=["body", "world", "world-aligned"], help="axes of frames"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page of HTML to this file")


def run(arguments: argparse.Namespace) -> None:
    """Print the explanation, or write it as a page."""
    try:
        found = explained(
            arguments.verb, arguments.robot, arguments.frame, arguments.expressed, arguments.floating
        )
        if arguments.html is None:
            sys.stdout.write(f"{found.explain()}\n")
            return
        text = page(found)
        arguments.html.write_text(text, encoding="utf-8")
    except HingeError as error:
        raise CommandLineError(str(error)) from error
    except OSError as error:
        raise CommandLineError(
            f"{error.filename}: {error.strerror}" if error.filename else str(error)
        ) from error
    sys.stdout.write(f"wrote {arguments.html}, {len(text.encode()) / 1000:.0f} kB\n")


def explained(verb: str, robot: str, frames: list[str], expressed: str, floating: bool) -> Compiled:
    """Return the compiled verb of a command line."""
    name = READ_OFF.get(verb, verb)
    if name not in CATALOGUE:
        verbs = ", ".join([*CATALOGUE, *READ_OFF])
        raise CommandLineError(f"verb: expected a verb, got {verb!r}; the verbs are {verbs}")
    letters = leaves(CATALOGUE[name])
    if frames and B not in letters:
        raise CommandLineError(f"--frame: {verb} takes no frame; leave it out")
    if expressed != "body" and Q not in letters:
        raise CommandLineError(f"--expressed: {verb} takes no axes; leave it out")
    if expressed == "world" and name.startswith("classical"):
        raise CommandLineError(
            "--expressed: expected 'body' or 'world-aligned', got 'world', which moves the origin"
        )
    found = robot_of(robot, floating=floating, argument="--robot")
    if not frames and B in letters and f_ext not in letters:
        names = [b.name for b in found.bodies]
        frames = names[-1:] if name in OF_ONE_FRAME else names
    return compiled(found, name, tuple(frames), expressed)  # pyright: ignore[reportArgumentType] - checked by argparse
