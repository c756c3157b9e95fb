"""`Stepper`: states that go on by some steps when they are asked to, with commands that change in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hinge.dynamics import External, FrictionLaw, Live
from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, as_tangent, as_vector
from hinge.sim.adaptive import Adaptive
from hinge.sim.chart_loop import fixed_loop
from hinge.sim.integrators import Integrator
from hinge.sim.job import Job, checked_times
from hinge.sim.laws import Law
from hinge.sim.plant import Parameters
from hinge.sim.setting import Setting, setting_of
from hinge.spatial import Array, ArrayLike

#: Robot, law, integrator, dt, and what is around.
Given: TypeAlias = tuple[Any, Any, Any, Any, dict[str, Any]]
#: No stepper comes to its end: 10⁴ years of steps of 1 ms. A power of two, so that t / steps is dt again.
FOREVER = 2**49
#: How many steps are expected at a time, for the choice of threads.
USUAL = 8


class Stepper:
    """States of a robot that go on when they are asked to: `hinge.simulate` in pieces.

        s = hinge.Stepper(robot, q0, qd0, dt=1e-3, control=PD(target, 60.0, 2.0))
        s.step(10, target=new)        # ten steps towards targets (…, nq) of now
        s.q, s.qd                     # the states (…, nq), (…, nv)
        s.put(s.ended, q0, qd0)       # those that ended begin again

    The states are a batch, or one. `control` is None for forces tau that `step` is given, or a law, whose
    targets may be given anew with every call (`commands` names what may); what is not given stays.
    All else is as in `hinge.simulate`, and `dtype` may say "float32" or "float64" whatever the arrays are.
    The loop over steps is native code, prepared once. States in which something is not finite any more are
    `ended`, and stay so until they are `put` anew. Copies, also by pickle, go on by themselves.
    """

    def __init__(
        self,
        robot: Robot | Live,
        q0: ArrayLike | None = None,
        qd0: ArrayLike | None = None,
        *,
        dt: float = 1e-3,
        control: Law | None = None,
        integrator: str | Integrator = "rk4",
        external: External = None,
        gravity: ArrayLike | None = None,
        passive: bool = True,
        limits: bool = False,
        law: FrictionLaw = "associated",
        parameters: Parameters = None,
        project: bool = True,
        dtype: DTypeLike | None = None,
    ) -> None:
        around = {
            "external": external,
            "gravity": gravity,
            "passive": passive,
            "limits": limits,
            "law": law,
            "parameters": parameters,
            "project": project,
            "dtype": _precision(dtype),
        }
        self._begin((robot, control, integrator, dt, around), q0, qd0)

    def _begin(self, given: Given, q0: ArrayLike | None, qd0: ArrayLike | None) -> None:
        """Prepare the loop from states."""
        self._given, (robot, control, integrator, dt, around) = given, given
        setting = setting_of(robot, (q0, qd0), control, integrator, **around)
        rule, drive = _checked(setting), setting.moving.law
        _, dt, _ = checked_times(0.0, dt, 0.0)
        job = Job(setting.moving, q0, qd0, (FOREVER * dt, dt, 0.0), 0, setting.dtype)
        if job.signals:
            raise NotImplementedError(
                "control: a Signal is not supported in a Stepper; give its values to step, or take "
                "hinge.simulate"
            )
        self.robot, self.dt, self.batch = job.robot, job.dt, job.batch
        self._commands = {name: drive.commands[name] for name in sorted(drive.commands)}
        for buffer in self._commands.values():
            row = job.arrays[buffer]
            wide = np.broadcast_to(row, (job.states, row.shape[-1]))
            job.arrays[buffer] = np.array(wide, order="C")
        self._job, self._loop = job, fixed_loop(job, rule)
        self._loop.prepare(USUAL)

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles have: how it was made, where it began, and all numbers of now."""
        job = self._job
        q, qd = (x[:, 0].copy() for x in (job.kept_q, job.kept_qd))
        q[~job.alive] = np.nan  # so that they have ended there, too
        numbers = {name: x.copy() for name, x in job.arrays.items()}
        now = {**numbers, "q": self.q.copy(), "qd": self.qd.copy()}
        return {"given": self._given, "q0": job.in_batch(q), "qd0": job.in_batch(qd), "now": now}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make it anew, and go on where the other one was."""
        self._begin(state["given"], state["q0"], state["qd0"])
        job = self._job
        for name, x in state["now"].items():
            place = {"q": job.q, "qd": job.qd}.get(name)
            place = job.arrays[name] if place is None else place
            place[...] = x.reshape(place.shape)

    def __repr__(self) -> str:
        batch = "×".join(map(str, self.batch)) or "one"
        return (
            f"<Stepper of {self.robot.name!r}: {batch} state{'s' if self.batch else ''}, dt = {self.dt:g} s>"
        )

    @property
    def commands(self) -> tuple[str, ...]:
        """The names of what `step` may be given anew."""
        return tuple(self._commands)

    @property
    def q(self) -> Array:
        """The configurations (…, nq) now; a view, which changes with the next step and cannot be written."""
        return _view(self._job.in_batch(self._job.q))

    @property
    def qd(self) -> Array:
        """The velocities (…, nv) now, in the rates of `robot`; read-only, as `q` is."""
        return _view(self._job.in_batch(self._loop.seen()[1]))

    @property
    def ended(self) -> NDArray[np.bool_]:
        """The states (…) in which something is not finite any more."""
        return self._job.in_batch(~self._job.alive)

    @property
    def contact_forces(self) -> Array:
        """The forces of contacts (…, contacts, 3) in the last step, of robots that step over contacts."""
        if not self._job.moving.plant.stepping:
            raise ArgumentError(
                f"integrator: expected 'stepping' for forces of contacts, got {self._loop.rule.name!r}"
            )
        contacts = len(self.robot.contacts)
        rows = self._job.arrays["lam_0"]
        found = rows[:, rows.shape[1] - 3 * contacts :].reshape(len(rows), contacts, 3)
        return _view(self._job.in_batch(found))

    def step(self, count: int = 1, **commands: ArrayLike) -> None:
        """Go on by so many steps, under commands such as tau (…, nv) or target (…, nq), by name."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"count: expected a number of steps, got {count!r}")
        self._command(commands)
        if self._job.left:
            self._loop.advance(self._loop.done + count)

    def put(self, where: ArrayLike, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> None:
        """Put states anew: `where` is True (…), q (n, nq) and qd (n, nv) for those n, or one for all of them.

        What is not given stays, velocities are zero where q alone is given. Forces of contacts begin at zero.
        """
        job, chosen = self._job, self._chosen(where)
        if q is not None and qd is None:
            qd = np.zeros(self.robot.nv)
        new_q, new_qd = (x.copy() for x in self._loop.seen()[:2])
        if q is not None:
            new_q[chosen] = self._fit(as_configuration(self.robot, q), chosen, "q")
        if qd is not None:
            new_qd[chosen] = self._fit(as_tangent(self.robot, qd, "qd"), chosen, "qd")
        job.check_configurations(new_q[chosen])
        job.check_closures(new_q, new_qd)
        job.q[chosen], job.qd[chosen] = new_q[chosen], new_qd[chosen]
        if job.moving.plant.stepping:
            job.arrays["lam_0"][chosen] = job.arrays["residual"][chosen] = 0.0
        self._loop.revive(chosen)

    def _command(self, given: Mapping[str, ArrayLike]) -> None:
        """Write commands into their buffers, after all of them have been checked."""
        found = dict[str, Array]()
        for name, x in given.items():
            if name not in self._commands:
                known = ", ".join(self._commands) or "none"
                raise ArgumentError(f"{name}: expected a command of this control ({known}), got another name")
            rows = self._job.arrays[self._commands[name]]
            value = as_vector(x, name, rows.shape[1], f"a command of {self.robot.name!r}")
            found[self._commands[name]] = self._rows(value, name)
        for buffer, x in found.items():
            self._job.arrays[buffer][...] = x

    def _rows(self, x: Array, name: str) -> Array:
        """Return numbers (…, n) as rows, one for each state or the same for all."""
        if x.shape[:-1] not in ((), self.batch):
            raise ArgumentError(
                f"{name}: expected shape {(*self.batch, x.shape[-1])} or ({x.shape[-1]},), got {x.shape}"
            )
        return x.reshape(-1, x.shape[-1])

    def _chosen(self, where: ArrayLike) -> NDArray[np.bool_]:
        """Return which rows are meant."""
        mask = np.asarray(where)
        if mask.dtype != bool or mask.shape not in ((), self.batch):
            raise ArgumentError(
                f"where: expected True or False for each state, shape {self.batch}, got an array of "
                f"{mask.dtype} of shape {mask.shape}"
            )
        return np.broadcast_to(mask, self.batch).reshape(self._job.states)

    @staticmethod
    def _fit(x: Array, chosen: NDArray[np.bool_], name: str) -> Array:
        """Return x (n,) or (chosen, n); refuse other shapes."""
        count = int(chosen.sum())
        if x.ndim > 2 or x.shape[:-1] not in ((), (count,)):
            raise ArgumentError(
                f"{name}: expected shape {(count, x.shape[-1])} or ({x.shape[-1]},) for {count} states, "
                f"got {x.shape}"
            )
        return x


def _precision(dtype: DTypeLike | None) -> type[np.float32] | type[np.float64] | None:
    """Return the precision that is asked for, None for that of the arrays."""
    try:
        known: dict[Any, Any] = {None: None, np.dtype("f4"): np.float32, np.dtype("f8"): np.float64}
        return known[None if dtype is None else np.dtype(dtype)]
    except (KeyError, TypeError):
        raise ArgumentError(f"dtype: expected 'float32', 'float64' or None, got {dtype!r}") from None


def _checked(setting: Setting) -> Integrator:
    """Return the integrator of what a stepper can do."""
    if isinstance(setting.rule, Adaptive):
        raise NotImplementedError(
            "integrator: 'adaptive' is not supported in a Stepper, whose states share their times; give "
            "'rk4' or 'rk5', or take hinge.simulate"
        )
    if setting.moving.ask is not None:
        raise ArgumentError(
            "control: expected a law or None, got a function; call it between steps, and give what it "
            "returns as step(tau=…)"
        )
    return setting.rule


def _view(x: Array) -> Array:
    found = x.view()
    found.flags.writeable = False
    return found
