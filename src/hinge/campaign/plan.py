"""What a campaign does for each sample: draw its numbers, simulate, measure; no store, no workers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from math import gcd, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from hinge.campaign.distributions import Distribution, distribution
from hinge.campaign.draws import DESIGNS, design
from hinge.campaign.functions import Own, own
from hinge.campaign.pieces import Piece, joined
from hinge.campaign.quantities import (
    OWN,
    WHOLE,
    Start,
    checked_part,
    checked_quantity,
    column_names,
    entered,
    parts_of,
)
from hinge.dynamics import FrictionLaw
from hinge.errors import ArgumentError, MissingExtraError, ModelWarning, did_you_mean
from hinge.model import Robot, as_configuration, as_tangent, checked_robot
from hinge.sim import Adaptive, Event, Law, Rollout, Run, coordinate_names, simulate
from hinge.spatial import Array, ArrayLike

#: The most samples, and the bytes of recorded states that are simulated at a time.
MOST, ROOM = 1 << 40, 64_000_000
#: Samples of a block, which is stored as a whole, unless its arrays would have more bytes than this.
BLOCK, LARGEST = 4096, 64_000_000
EXTREMES = ("q", "qd", "tau", "energy")
#: A reason that is none of a failure begins so: a terminal event.
EVENT = "event "


@dataclass(frozen=True)
class Drawn:
    """A part of a quantity: its distribution, and the shape of a sample's numbers."""

    quantity: str
    part: str
    distribution: Distribution
    shape: tuple[int, ...]

    @property
    def name(self) -> str:
        """The name of its stream of numbers."""
        return f"{self.quantity}:{self.part}"

    @property
    def width(self) -> int:
        """How many uniform numbers a sample takes."""
        return self.distribution.width(self.shape)

    @property
    def columns(self) -> list[str]:
        """The names of its numbers in tables."""
        return column_names(self.quantity, self.part, self.shape)


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """The arguments of `Campaign`, checked, and the results of any stretch of its samples."""

    robot: Robot
    _: KW_ONLY
    samples: int = 1000
    t: float = 1.0
    dt: float = 1e-3
    seed: int = 0
    design: str = "random"
    vary: Mapping[str, Any] = field(default_factory=dict[str, Any])
    q0: ArrayLike | None = None
    qd0: ArrayLike | None = None
    control: Any = None
    integrator: str | Adaptive = "rk4"
    gravity: ArrayLike | None = None
    external: Mapping[str, ArrayLike] | None = None
    passive: bool = True
    limits: bool = False
    law: FrictionLaw = "associated"
    project: bool = True
    times: Iterable[float] | None = None
    extremes: Iterable[str] = ()
    record: int | None = None
    events: Iterable[Event] = ()
    measure: Any = None
    gradient: Any = None
    rows: bool = True
    folder: Path | None = None
    trust: bool = True

    def __post_init__(self) -> None:
        checked_robot(self.robot)
        self._check_counts()
        if self.design not in DESIGNS:
            hint = did_you_mean(self.design, DESIGNS) or f"designs are {', '.join(DESIGNS)}"
            raise ArgumentError(f"design: expected a name of a design, got {self.design!r}; {hint}")
        for name in self.chosen_extremes:
            if name not in EXTREMES:
                raise ArgumentError(
                    f"extremes: expected some of {', '.join(EXTREMES)}, got {name!r}; measure returns others"
                )
        self._check_functions()
        _ = self.drawn, self.indices, self.base

    def __repr__(self) -> str:
        varied = ", ".join(d.name for d in self.drawn[:6]) + (", …" if len(self.drawn) > 6 else "")
        return (
            f"<{type(self).__name__} of {self.samples} samples of {self.robot.name!r}, {self.t:g} s each, "
            f"{self.design}, varied: {varied or 'nothing'}>"
        )

    def _check_counts(self) -> None:
        for name, most in (("samples", MOST), ("seed", 1 << 63)):
            x = getattr(self, name)
            least = 1 if name == "samples" else 0
            if isinstance(x, bool) or not isinstance(x, int | np.integer) or not least <= x <= most:
                raise ArgumentError(f"{name}: expected an integer from {least} to {most}, got {x!r}")
        for name in ("t", "dt"):
            x = getattr(self, name)
            if isinstance(x, bool) or not isinstance(x, int | float) or not isfinite(x) or x <= 0:
                raise ArgumentError(f"{name}: expected a number of seconds above zero, got {x!r}")

    def _check_functions(self) -> None:
        """Refuse what is no function or reference where one is wanted."""
        _ = self.controlling, self.measuring, self.costing
        for k, event in enumerate(self.chosen_events):
            if not isinstance(event, Event):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ArgumentError(f"events[{k}]: expected a hinge.sim.Event, got {event!r}")

    # What is drawn.

    @cached_property
    def drawn(self) -> tuple[Drawn, ...]:
        """The parts of quantities that vary, in the order given."""
        found: list[Drawn] = []
        for quantity, given in self.vary.items():
            checked_quantity(quantity)
            if quantity in WHOLE:
                found.append(self._part(quantity, "", given, WHOLE[quantity][0]))
                continue
            for part, x in parts_of(given).items():
                shape = () if quantity == OWN else checked_part(self.robot, quantity, part)
                found.append(self._part(quantity, part, x, shape))
        return tuple(found)

    def _part(self, quantity: str, part: str, given: Any, shape: tuple[int, ...]) -> Drawn:
        name = f"vary.{quantity}" + (f".{part}" if part else "")
        what = distribution(given, name)
        values = getattr(what, "values", None)
        if quantity == OWN and values is not None:
            shape = np.shape(values)[1:]
        what.check(shape, name)
        if isinstance(values, np.ndarray) and len(values) < self.samples:
            raise ArgumentError(
                f"{name}: expected numbers of {self.samples} samples, got those of {len(values)}"
            )
        return Drawn(quantity, part, what, shape)

    def draws(self, first: int, count: int) -> dict[str, Array]:
        """Return the numbers (count, …) of samples from `first` on, by the names of their streams."""
        widths = {d.name: d.width for d in self.drawn}
        uniform = design(self.design, self.seed, widths, self.samples, first, count)
        index = np.arange(first, first + count)
        return {d.name: d.distribution.at(uniform[d.name], index, d.shape) for d in self.drawn}

    # What is recorded.

    @cached_property
    def chosen_extremes(self) -> tuple[str, ...]:
        """The names whose extremes are kept."""
        return (self.extremes,) if isinstance(self.extremes, str) else tuple(self.extremes)

    @cached_property
    def chosen_events(self) -> tuple[Event, ...]:
        """The events."""
        return (self.events,) if isinstance(self.events, Event) else tuple(self.events)

    @cached_property
    def steps(self) -> int:
        """The number of steps, which `simulate` takes too."""
        return max(1, int(np.ceil(self.t / self.dt - 1e-9)))

    @cached_property
    def indices(self) -> tuple[int, ...]:
        """The numbers of the steps after which states are kept, the last always among them."""
        given = () if self.times is None else tuple(self.times)
        dt, found = self.t / self.steps, set[int]()
        for t in given:
            k = round(t / dt) if isfinite(t) else -1
            if not 0 <= k <= self.steps or abs(k * dt - t) > 1e-6 * dt:
                raise ArgumentError(
                    f"times: expected multiples of dt = {dt:g} s from 0 to {self.t:g}, got {t!r}"
                )
            found.add(k)
        return tuple(sorted(found | {self.steps}))

    @property
    def kept(self) -> Array:
        """The times (T,) at which states are kept."""
        return np.array(self.indices) * (self.t / self.steps)

    @cached_property
    def every(self) -> int:
        """Every so many steps are recorded while a sample is simulated."""
        wanted = 1 if self.chosen_extremes else gcd(*self.indices)
        return wanted if self.record is None else gcd(wanted, self.record)

    @cached_property
    def base(self) -> tuple[Array | None, Array | None]:
        """The state that the drawn numbers start from."""
        q = None if self.q0 is None else as_configuration(self.robot, self.q0, "q0")
        qd = None if self.qd0 is None else as_tangent(self.robot, self.qd0, "qd0")
        for name, x in (("q0", q), ("qd0", qd)):
            if x is not None and x.ndim != 1:
                raise ArgumentError(
                    f"{name}: expected one state, got shape {x.shape}; numbers of each sample go into vary, "
                    f"{{{name!r}: {{joint: array (samples, …)}}}}"
                )
        return q, qd

    # Functions of a user's own.

    def _own(self, given: Any, name: str) -> Own | None:
        return None if given is None else own(given, name, self.folder, trust=self.trust)

    @cached_property
    def controlling(self) -> Own | None:
        """The control function, if the control is one."""
        is_function = isinstance(self.control, str) or (
            callable(self.control) and not isinstance(self.control, Law | type)
        )
        return self._own(self.control, "control") if is_function else None

    @cached_property
    def measuring(self) -> Own | None:
        """The function that measures runs."""
        return self._own(self.measure, "measure")

    @cached_property
    def costing(self) -> Own | None:
        """The function of the cost whose gradient is wanted."""
        return self._own(self.gradient, "gradient")

    @property
    def owned(self) -> dict[str, Own]:
        """The functions of the user's own, by the names of their arguments."""
        given = {"control": self.controlling, "measure": self.measuring, "gradient": self.costing}
        found = {n: x for n, x in given.items() if x is not None}
        return found | {f"events.{k}": own(e.function, "events") for k, e in enumerate(self.chosen_events)}

    def _control(self, numbers: dict[str, Array]) -> Any:
        if self.controlling is None:
            return self.control
        call = self.controlling.call
        return partial(_with_own, call, numbers) if self.controlling.takes > 3 else call

    # Simulating.

    def start(self, numbers: Mapping[str, Array], count: int) -> Start:
        """Return what `simulate` is given for samples with these numbers."""
        found = Start.of(self.robot, count, *self.base)
        for d in self.drawn:
            entered(found, d.quantity, d.part, numbers[d.name])
        return found

    def piece(self, first: int, count: int) -> Piece:
        """Return the results of samples from `first` on.

        What raises is halved until the samples that raise are alone: these fail, with the reason, and no
        others.
        """
        numbers = self.draws(first, count)
        most = max(1, ROOM // self._bytes)
        parts = [(k, min(k + most, count)) for k in range(0, count, most)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # of single samples
            found = joined(p for a, b in parts for p in self._isolated(numbers, first, a, b))
        for d in self.drawn:
            rows = numbers[d.name].reshape(count, -1)
            found.columns |= {name: rows[:, k] for k, name in enumerate(d.columns)}
        return found

    @cached_property
    def _bytes(self) -> int:
        """The bytes that are recorded of a sample."""
        times = self.steps // self.every + 2
        return 8 * times * (self.robot.nq + 2 * self.robot.nv + 3 * len(self.robot.contacts) + 1)

    def _isolated(self, numbers: dict[str, Array], first: int, a: int, b: int) -> list[Piece]:
        here = {n: x[a:b] for n, x in numbers.items()}
        try:
            return [self._simulated(here, first + a, b - a)]
        except (MemoryError, MissingExtraError, NotImplementedError):
            raise
        except Exception as error:
            if b - a > 1:
                middle = (a + b) // 2
                return [
                    p for ends in ((a, middle), (middle, b)) for p in self._isolated(numbers, first, *ends)
                ]
            said = f"{type(error).__name__}: {error}"
            return [Piece(first + a, 1, {"ended": np.zeros(1)}, {}, [said[:500]])]

    def run_of(self, numbers: dict[str, Array], count: int, **more: Any) -> Run:
        """Return the run of samples with these numbers."""
        at = self.start(numbers, count)
        given: dict[str, Any] = {
            "control": self._control(self.own_of(numbers)),
            "integrator": self.integrator,
            "external": {**(self.external or {}), **at.external} or None,
            "gravity": self.gravity if at.gravity is None else at.gravity,
            "passive": self.passive,
            "limits": self.limits,
            "law": self.law,
            "project": self.project,
            "parameters": at.parameters or None,
            "events": self.chosen_events or None,
            "record": self.every,
        }
        return simulate(self.robot, at.q, at.qd, t=self.t, dt=self.dt, **given | more)

    def own_of(self, numbers: Mapping[str, Array]) -> dict[str, Array]:
        """Return the drawn numbers of the user's own, by name."""
        return {d.part: numbers[d.name] for d in self.drawn if d.quantity == OWN}

    def _simulated(self, numbers: dict[str, Array], first: int, count: int) -> Piece:
        run = self.run_of(numbers, count)
        found = Piece(first, count, reasons=[""] * count)
        found.columns["ended"] = np.full(count, np.nan)
        for e in run.endings:
            found.columns["ended"][e.state] = e.t
            if not e.reason.startswith(EVENT):
                found.reasons[e.state[0]] = e.reason
        found.arrays = {"q": self._at_times(run, run.q), "qd": self._at_times(run, run.qd)}
        found.columns |= self._events(run, count) | self._extremes(run) | self._contacts(run)
        found.columns |= self._measured(run, numbers, count)
        if self.costing is not None:
            self._add_gradient(self.costing, found, numbers)
        return found

    def _at_times(self, run: Run, x: Array) -> Array:
        """Return recorded states (states, T, n) at the times that are kept, NaN after all have ended."""
        at = np.array(self.indices)
        places = -(-at // self.every)  # the last step is recorded, whatever its number
        kept = np.full((len(x), len(at), x.shape[-1]), np.nan)
        there = places < x.shape[1]
        kept[:, there] = x[:, places[there]]
        return kept

    def _events(self, run: Run, count: int) -> dict[str, Array]:
        found = {f"first:{e.name}": np.full(count, np.nan) for e in self.chosen_events}
        for hit in reversed(run.events):
            found[f"first:{hit.name}"][hit.state] = hit.t
        return found

    def _extremes(self, run: Run) -> dict[str, Array]:
        q, qd = coordinate_names(self.robot)
        found: dict[str, Array] = {}
        for name in self.chosen_extremes:
            rows = run.energy[..., None] if name == "energy" else getattr(run, name)
            labels = {"q": [f"q:{n}" for n in q], "energy": ["energy"]}.get(name, [f"{name}:{n}" for n in qd])
            for k, label in enumerate(labels):
                there = np.isfinite(rows[..., k])
                found[f"least:{label}"] = _or_nan(np.where(there, rows[..., k], np.inf).min(-1))
                found[f"most:{label}"] = _or_nan(np.where(there, rows[..., k], -np.inf).max(-1))
        return found

    def _contacts(self, run: Run) -> dict[str, Array]:
        if run.contacts is None:
            return {}
        residual = run.contacts.residual
        return {"contacts:residual": _or_nan(np.where(np.isfinite(residual), residual, -np.inf).max(-1))}

    def _measured(self, run: Run, numbers: dict[str, Array], count: int) -> dict[str, Array]:
        if self.measuring is None:
            return {}
        given = (
            self.measuring.call(run, self.own_of(numbers))
            if self.measuring.takes > 1
            else (self.measuring.call(run))
        )
        if not isinstance(given, Mapping):
            raise ArgumentError(
                f"measure: expected it to return {{name: numbers}}, got {type(given).__name__}"
            )
        found: dict[str, Array] = {}
        for name, x in given.items():  # pyright: ignore[reportUnknownVariableType]
            rows = np.asarray(x, float)
            if rows.shape[:1] != (count,) or rows.ndim > 2:
                raise ArgumentError(
                    f"measure: expected {name!r} of shape ({count},) or ({count}, k), got {rows.shape}"
                )
            flat = {name: rows} if rows.ndim == 1 else {f"{name}.{k}": c for k, c in enumerate(rows.T)}
            found |= {f"measure:{n}": c for n, c in flat.items()}
        return found

    def _add_gradient(self, costing: Own, found: Piece, numbers: dict[str, Array]) -> None:
        """Add the cost of the last states, and its gradients by the start and by varied parameters."""
        at = self.start(numbers, found.count)
        roll = Rollout(
            self.robot,
            dt=self.t / self.steps,
            steps=self.steps,
            integrator=self.integrator,  # pyright: ignore[reportArgumentType]
            control=self._control(self.own_of(numbers)),
            external={**(self.external or {}), **at.external} or None,
            gravity=self.gravity if at.gravity is None else at.gravity,
            passive=self.passive,
            project=self.project,
        )
        end = roll(at.q, at.qd, parameters=at.parameters or None)
        cost, by_q, by_qd = costing.call(end.q, end.qd)
        found.columns["cost"] = np.broadcast_to(np.asarray(cost, float), (found.count,)).copy()
        weights = {"q": by_q, "qd": by_qd}
        for name, x in roll.pull(at.q, at.qd, parameters=at.parameters or None, **weights).items():
            found.arrays[f"gradient_{name}"] = x

    def rerun(self, sample: int, *, record: int = 1) -> Run:
        """Return the run of one sample, with every `record`-th state; `hinge.view.play` shows it."""
        if isinstance(sample, bool) or not isinstance(sample, int) or not 0 <= sample < self.samples:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"sample: expected a number from 0 to {self.samples - 1}, got {sample!r}")
        return self.run_of(self.draws(sample, 1), 1, record=record)


def _with_own(call: Any, numbers: dict[str, Array], t: Any, q: Array, qd: Array) -> ArrayLike:
    """Call a control function with the drawn numbers of the user's own."""
    return call(t, q, qd, numbers)


def _or_nan(x: Array) -> Array:
    """Return NaN where nothing was finite."""
    return np.where(np.isfinite(x), x, np.nan)
