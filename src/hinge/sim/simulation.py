"""`simulate`: a robot's motion from an initial state under a control law."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from hinge.dynamics import External, FrictionLaw, Live, closure_velocity
from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, as_tangent, neutral, release_loops
from hinge.sim.adaptive import Adaptive, AdaptiveLoop
from hinge.sim.chart_adaptive import Whole
from hinge.sim.chart_loop import fixed_loop
from hinge.sim.events import Event
from hinge.sim.fixed import FixedLoop
from hinge.sim.integrators import Integrator
from hinge.sim.job import OPEN, OPEN_SINGLE, Function, Job, events_of
from hinge.sim.plant import Parameters
from hinge.sim.run import Progress, Run, Touched
from hinge.sim.setting import Control, setting_of
from hinge.spatial import Array, ArrayLike


class Interrupted(KeyboardInterrupt):
    """A simulation interrupted by the user; `run` holds the motion so far."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"interrupted at t = {run.t[-1]:g} s")
        self.run = run


def simulate(
    robot: Robot | Live,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    *,
    t: float,
    dt: float = 1e-3,
    control: Control = None,
    integrator: str | Integrator | Adaptive = "rk4",
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = True,
    limits: bool = False,
    law: FrictionLaw = "associated",
    parameters: Parameters = None,
    events: Event | Function | Iterable[Event | Function] | None = None,
    record: int = 1,
    start: float = 0.0,
    project: bool = True,
    progress: Progress | None = None,
) -> Run:
    """Return the motion from a state q0, qd0 or a batch of them, over `t` seconds in steps of `dt`.

    The default q0 is the neutral configuration, the default qd0 zero. `control` is None for no forces, an
    array (…, nv) of constant forces, a law such as `PD` or `ComputedTorque`, which is compiled into the loop
    over steps, or a function of (t, q, qd) that returns forces (…, nv); it is called once a step with all
    states, and its forces are held for the step.

    `integrator` is "rk4", "rk5", "semi-implicit", "midpoint", whose energy does not drift, "implicit", whose
    steps may be longer than stiff modes, springs and dampers allow, "adaptive", or
    a value with other settings such as `Adaptive(rtol=1e-10)`. Adaptive steps are chosen for each state; `dt`
    is then the time between recorded states, and a control function is called in every stage, with the times
    (…,) of the states. `dt` is shortened slightly where t is no multiple of it.

    `external` are constant forces {frame: [n; f]}, `gravity` (…, 3) replaces the robot's; with `passive`, the
    default, springs, dampers and friction of the joints act, see `passive_force`. With `limits`, for
    "stepping", joint limits stop joints, and friction is dry, and `law` is that of the friction of contacts:
    see `contact_step`.

    `parameters` replace numbers of the model through the run, one set for all states or one for each, without
    compiling for each set: {"inertias": (…, bodies, 10), "placements": (…, bodies, 7), "rotors": (…, nv),
    "friction": (…, nv, 3)} in the layouts of `compile(parameters=…)`, `check_parameters` judges them. Laws
    that use a model, such as `ComputedTorque`, `GravityCompensation` and `PD` with it, know the robot's own
    numbers only. A `Live` robot moves with what it holds; its frozen joints have no acceleration.

    The states of a robot with embedded loops change the independent rates where these come to an end, at
    dead centres; `run.changes` tells where. q, qd, forces, and what laws, functions and events see, are those
    of `robot` all the same. qd0 may also be the rates of all joints, as `release_loops(robot)` has them: at a
    dead centre only these tell the motion.

    A robot with closures must start closed, with velocities that fit: `hinge.assemble` and `hinge.settle`
    give such states. With `project`, the default, each step ends with two Newton steps of q back to where the
    closures hold and with velocities that fit; without it they drift apart. The implicit midpoint rule keeps
    its energy for trees only.

    `events` are functions of
    (t, q, qd) whose zeros are located, see `Event`. Every `record`-th state is recorded, the first and the
    last always, with 0 only these; recording stops when all states have ended. `progress` is called with
    (done, total).

    If q0 and qd0, those given, are float32 arrays, and all other arrays too, the motion is computed in single
    precision, with float32 results; times are float64. Else all is float64.

    A state that becomes non-finite ends its own run only: the run's `endings` list which and when. Ctrl-C
    raises `Interrupted`, a KeyboardInterrupt with the run so far.
    """
    given = setting_of(
        robot,
        (q0, qd0),
        control,
        integrator,
        external=external,
        gravity=gravity,
        passive=passive,
        limits=limits,
        law=law,
        parameters=parameters,
        project=project,
    )
    moving, rule, dtype, watched = given.moving, given.rule, given.dtype, events_of(events)
    plant, plain = moving.plant, moving.robot
    qd0, rates = _parted(plain, q0, qd0)
    job = Job(moving, q0, qd0, (t, dt, start), record, dtype)
    settings: dict[str, Any] = {"integrator": rule.name, "dt": job.dt, "record": record}
    settings["control"] = _name(control)
    settings |= _settings(
        plain, dtype, given.parameters, gravity, external, {"project": project, "passive": passive}
    )
    rare = {**given.masks, "limits": limits or None, "law": law if plant.coulomb else None}
    settings |= {name: x for name, x in rare.items() if x is not None}
    if isinstance(rule, Adaptive):
        settings |= {"rtol": rule.rtol, "atol": rule.atol}
        loop = Whole(job, rule, watched, rates) if plain.loops else AdaptiveLoop(job, rule, watched)
    else:
        loop = fixed_loop(job, rule, watched, rates)
    try:
        loop.run(progress)
    except KeyboardInterrupt:
        loop.broken_off()
        raise Interrupted(_result(job, loop, settings)) from None
    return _result(job, loop, settings)


def _parted(
    robot: Robot, q0: ArrayLike | None, qd0: ArrayLike | None
) -> tuple[ArrayLike | None, Array | None]:
    """Return velocities, and the rates of all joints of a robot with embedded loops if these are given."""
    cut = release_loops(robot)
    if qd0 is None or not robot.loops or np.shape(qd0)[-1:] != (cut.nv,):
        return qd0, None
    q, rates = as_configuration(cut, neutral(robot) if q0 is None else q0, "q0"), as_tangent(cut, qd0, "qd0")
    with np.errstate(all="ignore"):
        left = np.abs(closure_velocity(cut, q, rates)).max(initial=0.0, where=np.isfinite(rates).all())
    most = OPEN if rates.dtype == np.float64 else OPEN_SINGLE
    if left > most * max(1.0, np.abs(rates).max(initial=0.0)):
        raise ArgumentError(
            f"qd0: expected rates of all joints that fit the loops of {robot.name!r}, got {left:.3g} that is "
            "left across them; hinge.settle(hinge.release_loops(robot), q0, qd0) are the nearest"
        )
    at = (cut.joint(j.name).qd_slice for j in robot.rated)
    return rates[..., [k for s in at for k in range(s.start, s.stop)]], rates


def _result(job: Job, loop: FixedLoop | AdaptiveLoop, settings: dict[str, Any]) -> Run:
    """Return what a loop has recorded."""
    run = job.result(_recorded(job, loop.done), settings)
    return run if loop.charts is None else loop.charts.put_into(run, job)


def _settings(
    robot: Robot,
    dtype: type[np.floating[Any]],
    numbers: Parameters,
    gravity: ArrayLike | None,
    external: External,
    flags: dict[str, bool],
) -> dict[str, Any]:
    """Return the settings of a run that say what acted on the robot."""
    found: dict[str, Any] = {"gravity": deepcopy(gravity), "passive": flags["passive"]}
    found["hinge"] = import_module("hinge").__version__
    if numbers:
        found["parameters"] = {name: np.array(x, dtype) for name, x in numbers.items()}
    if robot.closures:
        found["project"] = flags["project"]
    if external:
        found["external"] = {frame: np.asarray(x, dtype=np.float64) for frame, x in external.items()}
    return found


def resume(run: Run, *, t: float, control: Control = None, external: External = None, **more: Any) -> Run:
    """Return the run continued for `t` seconds, old and new part as one.

    Integrator, step, gravity and `record` are those of the run unless given; `control` and `external` must be
    given again. States that ended stay ended.
    """
    settings = run.settings
    if settings.get("held") is not None or settings.get("fastened") is not None:
        raise NotImplementedError(
            "run: a run of a Live robot does not go on by itself; simulate(live, run.q[..., -1, :], "
            "run.qd[..., -1, :], …) does"
        )
    rule: Any = settings["integrator"]
    if rule == "adaptive":
        rule = Adaptive(settings["rtol"], settings["atol"])
    kept = ("dt", "gravity", "passive", "record")
    given = {"integrator": rule, **{name: settings[name] for name in kept}}
    given |= {"parameters": settings.get("parameters"), "project": settings.get("project", True)}
    given |= {"limits": settings.get("limits", False), "law": settings.get("law", "associated"), **more}
    later = simulate(
        run.robot,
        run.q[..., -1, :],
        (run.qd if run.rates is None else run.rates)[..., -1, :],
        t=t,
        start=float(run.t[-1]),
        control=control,
        external=external,
        **given,
    )
    ended = {e.state for e in run.endings}
    new = tuple(e for e in later.endings if e.state not in ended)
    return replace(
        later,
        t=np.concatenate([run.t, later.t[1:]]),
        q=np.concatenate([run.q, later.q[..., 1:, :]], axis=-2),
        qd=np.concatenate([run.qd, later.qd[..., 1:, :]], axis=-2),
        tau=np.concatenate([run.tau, later.tau[..., 1:, :]], axis=-2),
        endings=tuple(sorted((*run.endings, *new), key=lambda e: e.state)),
        events=(*run.events, *later.events),
        contacts=_joined(run.contacts, later.contacts),
        rates=_joined_rates(run, later),
        changes=(*run.changes, *later.changes),
    )


def _joined_rates(run: Run, later: Run) -> Array | None:
    """Return the rates of all joints of a run that went on, if either part has them."""
    if run.rates is None and later.rates is None:
        return None
    first, second = (x.released().qd if x.rates is None else x.rates for x in (run, later))
    return np.concatenate([first, second[..., 1:, :]], axis=-2)


def _joined(first: Touched | None, later: Touched | None) -> Touched | None:
    """Return the contacts of a run that went on, if both parts step over them."""
    if first is None or later is None:
        return None
    return Touched(
        np.concatenate([first.forces, later.forces[..., 1:, :, :]], axis=-3),
        np.concatenate([first.residual, later.residual[..., 1:]], axis=-1),
        np.concatenate([first.joints, later.joints[..., 1:, :]], axis=-2),
    )


def _name(control: Control) -> str:
    """Return the name of a control for the settings of a run."""
    if control is None:
        return "none"
    return getattr(control, "__name__", type(control).__name__)


def _recorded(job: Job, done: int) -> int:
    """Return the number of recorded times after a number of steps."""
    return int((job.recorded <= done).sum())
