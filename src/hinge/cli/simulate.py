"""`hinge simulate`: simulate a robot, print a summary, and save the run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from hinge.cli.command import DONE, FAILED, INTERRUPTED
from hinge.cli.ground import Array, add_ground, dropped, free_base, grounded, stance
from hinge.cli.output import PICTURES, needed, writable, write, write_json
from hinge.cli.robot_argument import add_robot, robot_of
from hinge.cli.start import CONTROLS, control_of, every, numbers, start_of, warn_beyond
from hinge.cli.summary import shown, summary
from hinge.errors import CommandLineError
from hinge.model import Robot
from hinge.sim import INTEGRATORS, Adaptive, Bar, Interrupted, Run, save_run, simulate
from hinge.view import plot_energy, plot_joints, plot_phase, plot_strip

#: Kinds of pictures.
DRAWINGS = {"strip": plot_strip, "joints": plot_joints, "energy": plot_energy, "phase": plot_phase}

DESCRIPTION = """\
Simulate a robot, and print a summary.
Without arguments the built-in panda falls from a random pose.

  hinge simulate                                            try it
  hinge simulate arm.urdf --t 10 --out fall.npz             save the run; hinge play fall.npz shows it
  hinge simulate double_pendulum --q0 2 1 --picture p.png   from a given pose, with a picture
  hinge simulate panda --control hold --qd0 0.5             pushed, and held by a controller
  hinge simulate panda --states 10000 --t 1                 many random states at once
  hinge simulate double_pendulum --integrator adaptive      with adaptive steps
  hinge simulate quadruped --ground --out drop.npz          dropped on its feet, and held by a controller
  hinge simulate quadruped --ground --law coulomb           what slides does not rise

Ctrl-C ends it early: the run so far is still shown and saved.

exit codes: 0 success, 1 failure, 2 invalid command line, 130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge simulate`."""
    add_robot(parser, default="panda")
    add = parser.add_argument
    add("--t", type=float, default=5.0, metavar="SECONDS", help="duration (default: 5)")
    add("--dt", type=float, default=1e-3, metavar="SECONDS", help="step size (default: 1e-3)")
    names = (*INTEGRATORS, "adaptive")
    add("--integrator", choices=names, help="integrator (default: rk4; stepping for a robot with contacts)")
    add("--rtol", type=float, metavar="X", help="relative tolerance of adaptive steps (default: 1e-8)")
    add("--states", type=int, default=1, metavar="N", help="states in the batch (default: 1)")
    add("--seed", type=int, default=0, help="random seed (default: 0)")
    add(
        "--q0",
        nargs="+",
        metavar="X",
        help="initial configuration: nq numbers, one for all, random (within the limits), or neutral "
        "(default: random, without --ground)",
    )
    add(
        "--qd0",
        nargs="+",
        default=["0"],
        metavar="X",
        help="initial velocity: nv numbers, one for all, or random (default: 0)",
    )
    add(
        "--control",
        choices=CONTROLS,
        help="none: no forces; gravity: gravity compensation; hold: PD control to the initial configuration, "
        "with gravity compensation for a fixed robot (default: none; hold for a free robot with --ground)",
    )
    add(
        "--gravity",
        nargs=3,
        type=float,
        metavar=("X", "Y", "Z"),
        help="in m/s², instead of the robot's own",
    )
    add(
        "--no-passive",
        dest="passive",
        action="store_false",
        help="ignore springs, dampers and friction of the joints",
    )
    add(
        "--record",
        type=int,
        metavar="N",
        help="record every N-th step, 0 for first and last only (default: about 1000 times in all)",
    )
    add("--out", type=Path, metavar="FILE", help="save the run to this file, .npz or .parquet")
    add("--picture", type=Path, metavar="FILE", help=f"draw a picture, {', '.join(PICTURES)}")
    add("--draw", choices=DRAWINGS, default="strip", help="kind of picture (default: strip)")
    add("--json", action="store_true", help="write the summary as JSON")
    add("--quiet", action="store_true", help="show no progress")
    add_ground(parser)


def run(arguments: argparse.Namespace) -> int:
    """Simulate, show the summary and save the run, also after an interruption."""
    writable(arguments.out, "--out", (".npz", ".parquet"))
    writable(arguments.picture, "--picture", PICTURES)
    if arguments.out is not None and arguments.out.suffix == ".parquet":
        needed("pyarrow", "--out", "data")
    if arguments.picture is not None:
        needed("matplotlib", "--picture", "view")
    robot = grounded(robot_of(arguments.robot, floating=arguments.floating), arguments)
    if arguments.states < 1:
        raise CommandLineError(f"--states: expected an integer ≥ 1, got {arguments.states}")
    if arguments.seed < 0:
        raise CommandLineError(f"--seed: expected an integer ≥ 0, got {arguments.seed}")
    record = every(robot, arguments)
    q0, qd0 = _start(robot, arguments)
    warn_beyond(robot, q0)
    rule = _rule(robot, arguments)
    adaptive = isinstance(rule, Adaptive)
    control = arguments.control or ("hold" if arguments.ground and free_base(robot) is not None else "none")
    law = control_of(robot, control, q0, gravity=arguments.gravity, dt=arguments.dt)
    more: dict[str, Any] = {"dt": arguments.dt, "control": law, "integrator": rule}
    more |= {"gravity": arguments.gravity, "passive": arguments.passive, "law": arguments.law}
    stopped = False
    per = arguments.t / 1000 if adaptive else 1.0
    with Bar(
        "s of motion" if adaptive else "state-steps", per=arguments.states * per, quiet=arguments.quiet
    ) as bar:
        try:
            simulate(robot, q0, qd0, t=arguments.dt, record=0, **more)  # one step, to compile
            bar.prepared()
            found = simulate(robot, q0, qd0, t=arguments.t, record=record, progress=bar, **more)
        except Interrupted as stop:
            if not bar.ready or len(stop.run.t) == 1:
                raise KeyboardInterrupt("interrupted before a step was recorded; nothing is saved") from None
            found, stopped = stop.run, True
    data = summary(found, bar, control=control, interrupted=stopped)
    if stopped:
        sys.stderr.write(f"hinge simulate: interrupted at t = {found.t[-1]:g} s of {arguments.t:g} s\n")
    if not arguments.json:
        write(shown(data))  # before writing files, which may fail
    files = _kept(found, arguments)
    if arguments.json:
        write_json({**data, "files": list(files)})
    else:
        write("".join(f"wrote {path}{hint}\n" for path, hint in files.items()))
    if len(found.endings) == arguments.states:
        sys.stderr.write("hinge simulate: error: no state reached the end; take a shorter --dt\n")
        return FAILED
    return INTERRUPTED if stopped else DONE


def _start(robot: Robot, arguments: argparse.Namespace) -> tuple[Array, Array]:
    """Return q0 and qd0: those given, or on the ground a stance, else random ones."""
    stands = stance(robot, arguments) if arguments.ground else None
    if arguments.q0 is not None:
        wanted = numbers(arguments.q0, "--q0", ("random", "neutral"))
    elif stands is not None:
        wanted = stands
    else:
        wanted = "neutral" if arguments.ground and free_base(robot) is not None else "random"
    rates = numbers(arguments.qd0, "--qd0", ("random",))
    q0, qd0 = start_of(robot, wanted, rates, states=arguments.states, seed=arguments.seed)
    return (dropped(robot, q0, arguments) if arguments.ground else q0), qd0


def _rule(robot: Robot, arguments: argparse.Namespace) -> str | Adaptive:
    """Return the integrator: the one given, or the one that the robot needs."""
    name = arguments.integrator or ("stepping" if robot.contacts else "rk4")
    if arguments.ground and name != "stepping":
        raise CommandLineError(f"--integrator: expected stepping with --ground, got {name}; leave it out")
    if arguments.law == "coulomb" and name != "stepping":
        raise CommandLineError(
            "--law: expected a robot on contacts with coulomb, as with --ground; leave it out, or give both"
        )
    if name == "adaptive":
        return Adaptive(arguments.rtol or Adaptive.rtol)
    if arguments.rtol is not None:
        raise CommandLineError("--rtol: expected --integrator adaptive with it; leave it out")
    return name


def _kept(found: Run, arguments: argparse.Namespace) -> dict[str, str]:
    """Write the requested files, and return their names with hints for use."""
    files: dict[str, str] = {}
    if arguments.out is not None:
        save_run(found, arguments.out)
        files[str(arguments.out)] = f"; watch it with: hinge play {arguments.out}"
    if arguments.picture is not None:
        DRAWINGS[arguments.draw](found).savefig(arguments.picture, dpi=150)
        files[str(arguments.picture)] = ""
    return files
