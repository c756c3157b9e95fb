"""`hinge explain`: the derivation of a verb's algorithm, as text or HTML."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from hinge.algebra import B, Q, Zero, f_ext
from hinge.cli.ground import touching
from hinge.cli.robot_argument import BUILT_IN, CHAIN, FILES, add_floating, robot_of
from hinge.dynamics import (
    CATALOGUE,
    CLOSED_FORMS,
    CLOSURES,
    CONTACTS,
    SEVERAL,
    Compiled,
    Parts,
    compiled,
    derivative,
    derivative_parts,
    expression,
)
from hinge.errors import CommandLineError, HingeError, did_you_mean
from hinge.explain import page
from hinge.model import Robot

#: Verbs computed from the result of another one.
READ_OFF = {
    "potential_energy": "composite_inertia",
    "center_of_mass": "composite_inertia",
    "floating_inverse_dynamics": "hybrid_dynamics",
    "sample_velocities": "from_quasi_velocities",
    "base_parameters": "inertial_regressor",
}
#: Verbs that are no operator expression, and what they are.
WITHOUT = {
    "inverse_kinematics": "is a search, not an expression; explain forward_kinematics or jacobian",
    "natural_frequencies": "are eigenvalues, not an expression; explain mass_matrix or bias_force",
    "elastic_energy": "is a sum over the joints, not an expression; explain passive_force",
    "closed_inverse_dynamics": "chooses forces by numbers; explain inverse_dynamics or closure_jacobian",
    "assemble": "is a search, not an expression; explain closure_error or closure_jacobian",
    "mobility": "is a rank, not an expression; explain closure_jacobian",
    "closure_rows": "lists names, it computes nothing; explain closure_jacobian",
    "internal_forces": "is a projection by numbers; explain closure_jacobian",
    "squeeze": "is a product with closure_jacobian; explain that",
    "contact_frames": "reads axes off the rows of contacts; explain contact_jacobian",
    "grasp_report": "reads forces off, it has no expression; explain closed_dynamics",
    **{
        verb: f"is a derivative; give --by with the verb itself, as in hinge explain {of} --by q"
        for verb, of in {
            "derivative": "forward_dynamics",
            "inverse_dynamics_derivatives": "inverse_dynamics",
            "forward_dynamics_derivatives": "forward_dynamics",
            "jvp": "forward_dynamics",
            "vjp": "forward_dynamics",
            "gradient": "kinetic_energy",
            "second_derivatives": "inverse_dynamics",
            "velocity_derivatives": "velocities",
            "acceleration_derivatives": "accelerations",
            "jacobian_derivatives": "velocities",
            "mass_matrix_derivatives": "mass_times",
            "coriolis_matrix": "coriolis_force",
            "centroidal_momentum_derivatives": "momentum",
            "closed_dynamics_derivatives": "closure_velocity",
            "contact_dynamics_derivatives": "closure_velocity",
            "christoffel_symbols": "mass_times",
            "log_determinant_gradient": "log_determinant",
        }.items()
    },
}
#: Verbs of robots with closures.
OF_CLOSED = (*CLOSURES, "closed_dynamics")
#: Verbs of robots with contacts.
OF_CONTACTS = tuple(CONTACTS)
VERBS = (*CATALOGUE, *SEVERAL, *OF_CLOSED, *OF_CONTACTS, *READ_OFF)

DESCRIPTION = f"""\
Show a verb for a robot: the operator expression, the derivation step by step with its identities,
the sweeps over the bodies, the cost of one evaluation, and the compiled code.

  hinge explain forward_dynamics                                  for the built-in panda, as text
  hinge explain mass_matrix --robot arm.urdf --html mass.html     for a file, as a page for a browser
  hinge explain jacobian --robot spacecraft --frame left_hand     for a frame of the robot
  hinge explain hybrid_dynamics --prescribed joint4               where joint4 moves as told
  hinge explain forward_dynamics --by q                           its derivative, in the tangent space

The page is one file that needs no network; it shows proofs, pictures and the generated code as well.

verbs:
{fill(", ".join(VERBS), 96, initial_indent="  ", subsequent_indent="  ")}
"""

#: Verbs of one frame; other verbs of frames take all bodies by default.
OF_ONE_FRAME = ("jacobian", "jacobian_bias", "classical_jacobian_bias", "generalized_jacobian")
#: Verbs of robots on a free base.
OF_FREE_BASES = ("floating_inverse_dynamics", "generalized_jacobian", "disturbance_jacobian")
#: The robots that are taken for these and for other verbs unless one is given.
FREE, CLOSED, ON_FEET, FIXED = "spacecraft", "four_bar", "quadruped", "panda"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge explain`."""
    parser.add_argument("verb", metavar="VERB", help="the verb, such as forward_dynamics; see the list above")
    parser.add_argument(
        "--robot",
        metavar="ROBOT",
        help=f"{FILES}, or one of {', '.join(BUILT_IN)}, {CHAIN}N (default: {FIXED}, or {FREE} for verbs of "
        f"robots on a free base, {CLOSED} for those of closures, {ON_FEET} on its feet for contacts)",
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
        "--prescribed",
        nargs="+",
        default=[],
        metavar="JOINT",
        help="joints whose motion is given, for verbs that split the coordinates "
        "(default: all but a free base, or the last joint)",
    )
    parser.add_argument(
        "--expressed", default="body", choices=["body", "world", "world-aligned"], help="axes of frames"
    )
    parser.add_argument(
        "--by",
        nargs="+",
        default=[],
        metavar="NAME",
        help="show derivatives by these: q, in the tangent space, qd, qdd, tau, external, gravity, inertias",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page of HTML to this file")


def run(arguments: argparse.Namespace) -> None:
    """Print the explanation, or write it as a page."""
    try:
        found = explained(
            arguments.verb,
            arguments.robot,
            arguments.frame,
            arguments.expressed,
            arguments.floating,
            arguments.prescribed,
            arguments.by,
            closed_form=arguments.html is None,
        )
        if arguments.html is None:
            sys.stdout.write(f"{found.explain()}\n")
            return
        text = page(found)
        arguments.html.write_text(text, encoding="utf-8")
    except (HingeError, NotImplementedError) as error:
        raise CommandLineError(str(error)) from error
    except OSError as error:
        raise CommandLineError(
            f"{error.filename}: {error.strerror}" if error.filename else str(error)
        ) from error
    sys.stdout.write(f"wrote {arguments.html}, {len(text.encode()) / 1000:.0f} kB\n")


def explained(
    verb: str,
    robot: str | None,
    frames: Sequence[str],
    expressed: str,
    floating: bool,
    prescribed: Sequence[str] = (),
    by: Sequence[str] = (),
    *,
    closed_form: bool = False,
) -> Compiled:
    """Return the compiled verb of a command line, or its derivatives by what `by` names.

    With `closed_form` these are derived as the verb's own derivatives are, else by the rules alone.
    """
    name = READ_OFF.get(verb, verb)
    if verb not in VERBS:
        raise CommandLineError(f"VERB: {_instead(verb)}")
    parts = CONTACTS[verb] if verb in OF_CONTACTS else expression(name)
    if frames and B not in parts.letters:
        raise CommandLineError(f"--frame: {verb} takes no frame; leave it out")
    if prescribed and not parts.splits:
        raise CommandLineError(f"--prescribed: {verb} does not split coordinates; leave it out")
    if expressed != "body" and Q not in parts.letters:
        raise CommandLineError(f"--expressed: {verb} takes no axes; leave it out")
    if expressed == "world" and name.startswith("classical"):
        raise CommandLineError(
            "--expressed: expected 'body' or 'world-aligned', got 'world', which moves the origin"
        )
    usual = FREE if verb in OF_FREE_BASES else CLOSED if verb in OF_CLOSED else FIXED
    usual = ON_FEET if verb in OF_CONTACTS else usual
    found = robot_of(robot or usual, floating=floating, argument="--robot")
    if verb in OF_CONTACTS:
        return _on_contacts(verb, found, robot or usual, by)
    if not frames and B in parts.letters and f_ext not in parts.letters:
        frames = found.body_names[-1:] if name in OF_ONE_FRAME else found.body_names
    active = _active(found, verb, prescribed) if parts.splits else ()
    shown = expression(name, closed=bool(found.closures))
    if by:
        form = _closed_form(verb, found, by) if closed_form else None
        shown = form or _derived(verb, shown, by, flexible=found.is_flexible)
    return compiled(found, shown, tuple(frames), expressed, prescribed=active)  # pyright: ignore[reportArgumentType] - checked by argparse


def _on_contacts(verb: str, robot: Robot, name: str, by: Sequence[str]) -> Compiled:
    """Return a verb of contacts: the robot's own, or those of its feet or shapes with the ground."""
    found = touching(robot, name)
    if not found.contacts:
        raise CommandLineError(
            f"--robot: expected one with contacts, or with shapes that can touch the ground, for {verb}, got "
            f"{robot.name!r}; take {ON_FEET}"
        )
    parts = CONTACTS[verb]
    return compiled(found, _derived(verb, parts, by, flexible=found.is_flexible) if by else parts)


def _closed_form(verb: str, robot: Robot, by: Sequence[str]) -> Parts | None:
    """Return what the verb's `_derivatives` compute, its value too, if they have these in closed form."""
    _, names = CLOSED_FORMS.get(verb, ("", ()))
    if robot.closures or not set(by) <= set(names) - {"friction"}:
        return None
    return derivative_parts(verb, tuple(dict.fromkeys(by)), flexible=robot.is_flexible)


def _derived(verb: str, parts: Parts, by: Sequence[str], *, flexible: bool) -> Parts:
    """Return the derivatives of a verb's expressions."""
    if parts.readout is not None or parts.blocks:
        raise CommandLineError(
            f"--by: {verb} is read off {', '.join(parts.expressions)}; explain a verb that is an expression, "
            "such as forward_dynamics or closure_velocity"
        )
    one = len(parts.expressions) == 1
    found = {
        f"{verb if one else name}_by_{n}": derivative(e, n, flexible=flexible)
        for name, e in parts.expressions.items()
        for n in by
    }
    constant = [name for name, D in found.items() if isinstance(D, Zero)]
    if constant:
        raise CommandLineError(f"--by: {verb} does not depend on {constant[0].rpartition('by_')[2]}")
    return Parts(found)


def _instead(verb: str) -> str:
    if verb in WITHOUT:
        return f"{verb} {WITHOUT[verb]}"
    hint = did_you_mean(verb, VERBS) or f"the verbs are {', '.join(VERBS)}"
    return f"expected a verb, got {verb!r}; {hint}"


def _active(robot: Robot, verb: str, prescribed: Sequence[str]) -> tuple[str, ...]:
    """Return the joints whose motion is given: all but a free base, or the last one, unless told."""
    base = [j.name for j in robot.joints if j.parent is None and j.type.kind == "free"]
    moving = [j.name for j in robot.rated if j.nv]
    others = tuple(name for name in moving if name not in base)
    if verb not in OF_FREE_BASES:
        return tuple(robot.joint(name).name for name in prescribed) or (others if base else others[-1:])
    if len(base) != 1:
        raise CommandLineError(
            f"--robot: expected a robot on a free base for {verb}, got {robot.name!r}; take {FREE}, or give "
            "--floating with a file"
        )
    if prescribed:
        raise CommandLineError(f"--prescribed: {verb} has all joints but the base prescribed; leave it out")
    return others
