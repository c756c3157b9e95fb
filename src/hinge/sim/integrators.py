"""Integrators as programs: a step of (q, q̇) from accelerations.

q is integrated by its rate N(q) v in coordinate space, and quaternions are normalised in every stage and at
the end of a step, which keeps the order of accuracy: dynamics sees unit quaternions only. The programs act
on single states, so that a batch of any size runs the same code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hinge.binding import Row
from hinge.model.joints import JointType
from hinge.sim.adjoint import STATE, Tape
from hinge.sim.laws import Law
from hinge.sim.plant import Plant, Stage
from hinge.sweeps import Block
from hinge.targets import StepCall

#: Weights of stages.
Weights = Sequence[float]
#: The buffers of the state after the step, and of the same state where closures hold.
NEXT, CLOSED = ("q'", "qd'"), ("q''", "qd''")


class Integrator(ABC):
    """A method with fixed steps; `order` is that of its global error."""

    name: str
    order: int

    @property
    @abstractmethod
    def nodes(self) -> tuple[float, ...]:
        """The fractions of a step at which the law is evaluated, in order."""

    @abstractmethod
    def ops(self, plant: Plant, law: Law, signals: frozenset[str]) -> list[StepCall]:
        """Return the programs of a step from buffers q, qd with h to buffers q', qd'."""

    def reverse(self, tape: Tape, law: Law, signals: frozenset[str]) -> None:
        """Put the adjoint of a step on a tape that has the weights of q' and qd'."""
        tape.pull(self.ops(tape.plant, law, signals))


def _joints(
    plant: Plant,
    name: str,
    inputs: Mapping[str, Row],
    formula: Callable[[JointType, Mapping[str, Block]], Mapping[str, Block]],
    given: Mapping[str, str],
    out: tuple[str, str],
) -> StepCall:
    rows: dict[str, Row] = {"q": "q", "qd": "qd"}
    return plant.at_joints(name, inputs, rows, formula, given, dict(zip(rows, out, strict=True)))


@dataclass(frozen=True)
class RungeKutta(Integrator):
    """An explicit Runge–Kutta method by its Butcher tableau: rows of stages, and final weights."""

    name: str
    order: int
    rows: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]

    @property
    def nodes(self) -> tuple[float, ...]:
        """The row sums of the tableau."""
        return (0.0, *(sum(row) for row in self.rows))

    def ops(self, plant: Plant, law: Law, signals: frozenset[str]) -> list[StepCall]:
        """Return the programs of all stages."""
        found: list[StepCall] = []
        for index, node in enumerate(self.nodes):
            stage = Stage(index, node, *stage_buffers(index), signals)
            ops, _ = law.accelerations(plant, stage)
            last = index + 1 == len(self.nodes)
            row = self.weights if last else self.rows[index]
            out = NEXT if last else stage_buffers(index + 1)
            found += [*ops, combination(plant, f"{self.name}: stage {index + 1}", row, out)]
        return found


def stage_buffers(index: int) -> tuple[str, str]:
    """Return the buffer names of the state of a stage."""
    return (f"q#{index}", f"qd#{index}") if index else ("q", "qd")


def stage_rows(stages: Iterable[int]) -> tuple[dict[str, Row], dict[str, str]]:
    """Return the inputs for the states and accelerations of stages, and their buffers."""
    inputs: dict[str, Row] = {}
    given: dict[str, str] = {}
    for k in stages:
        q, qd = stage_buffers(k)
        inputs |= {f"q{k}": "q", f"v{k}": "qd", f"a{k}": "qd"}
        given |= {f"q{k}": q, f"v{k}": qd, f"a{k}": f"qdd#{k}"}
    return inputs, given


def combination(plant: Plant, name: str, weights: Weights, out: tuple[str, str]) -> StepCall:
    """Return q + h Σ w N(q) q̇, normalised, and q̇ + h Σ w q̈ over stages, in two buffers."""
    used = [k for k, w in enumerate(weights) if w]
    stages, buffers = stage_rows(used)
    inputs: dict[str, Row] = {"q": "q", "qd": "qd", "h": 1, **stages}

    def formula(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
        h = x["h"][0]
        q = x["q"] + h * sum(weights[k] * kind.rate(x[f"q{k}"], x[f"v{k}"]) for k in used)
        v = x["qd"] + h * sum(weights[k] * x[f"a{k}"] for k in used)
        return {"q": kind.normalized(q), "qd": v}

    given = {"q": "q", "qd": "qd", "h": "h", **buffers}
    return _joints(plant, f"{name} {tuple(weights)}", inputs, formula, given, out)


@dataclass(frozen=True)
class SemiImplicitEuler(Integrator):
    """Semi-implicit Euler: q̇ first, then q with the new q̇; order one, symplectic where 𝓜 is constant."""

    name: str = "semi-implicit"
    order: int = 1

    @property
    def nodes(self) -> tuple[float, ...]:
        """The beginning."""
        return (0.0,)

    def ops(self, plant: Plant, law: Law, signals: frozenset[str]) -> list[StepCall]:
        """Return the accelerations and the step."""
        ops, qdd = law.accelerations(plant, Stage(0, 0.0, "q", "qd", signals))

        inputs: dict[str, Row] = {"q": "q", "qd": "qd", "qdd": "qd", "h": 1}
        given = {"q": "q", "qd": "qd", "qdd": qdd, "h": "h"}
        return [*ops, _joints(plant, self.name, inputs, self.moved, given, NEXT)]

    @staticmethod
    def moved(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
        """Return the new velocities, and q moved with them."""
        h = x["h"][0]
        v = x["qd"] + h * x["qdd"]
        return {"q": kind.normalized(x["q"] + h * kind.rate(x["q"], v)), "qd": v}


@dataclass(frozen=True)
class Stepping(SemiImplicitEuler):
    """Steps over contacts: semi-implicit Euler with the accelerations that the law of contact gives.

    Velocities are along the axes at the start of the step until it is over, so that those of a body that
    turns keep their length.
    """

    name: str = "stepping"

    @staticmethod
    def moved(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
        """Return q moved with the new velocities, and these along the axes at the end."""
        h = x["h"][0]
        v = x["qd"] + h * x["qdd"]
        return {"q": kind.normalized(x["q"] + h * kind.rate(x["q"], v)), "qd": kind.turned_velocity(v, h * v)}


@dataclass(frozen=True)
class Midpoint(Integrator):
    """The implicit midpoint rule by fixed-point iteration: order two, symmetric, without energy drift.

    A symmetric method nearly conserves the energy of a reversible system over very long times; the midpoint
    rule also conserves the norm of quaternions. The iteration converges where h times the largest rate of
    the motion is well below 2.
    """

    iterations: int = 8
    name: str = "midpoint"
    order: int = 2

    @property
    def nodes(self) -> tuple[float, ...]:
        """The middle."""
        return (0.5,)

    def ops(self, plant: Plant, law: Law, signals: frozenset[str]) -> list[StepCall]:
        """Return the iterations for the midpoint, and the step."""
        found: list[StepCall] = []
        q, qd = "q", "qd"
        for index in range(self.iterations):
            last = index + 1 == self.iterations
            ops, qdd = law.accelerations(plant, Stage(index, 0.5, q, qd, signals))
            found += [*ops, self._step(plant, q, qd, qdd, index + 1, last)]
            q, qd = stage_buffers(index + 1)
        return found

    def reverse(self, tape: Tape, law: Law, signals: frozenset[str]) -> None:
        """Put the adjoint on a tape, by the implicit function theorem and not through the iterations.

        The middle z solves z = G(z, x), and the step from x ends at F(z, x). With weights c of the end, those
        of the middle solve w = (∂F/∂z)ᵀ c + (∂G/∂z)ᵀ w, by as many iterations as the step has, and the
        gradient is (∂F/∂x)ᵀ c + (∂G/∂x)ᵀ w.
        """
        middle = self.iterations - 1
        z, plant = stage_buffers(middle), tape.plant
        ops, qdd = law.accelerations(plant, Stage(middle, 0.5, *z, signals))
        end, half = (self._step(plant, *z, qdd, middle + 1, last) for last in (True, False))
        varying = frozenset((*z, qdd))
        tape.pull([end], varying)
        direct = {name: tape.take(name) for name in dict.fromkeys((*z, qdd, *STATE, *tape.by))}
        weights: list[list[str]] = [[], []]
        for _ in range(self.iterations):
            for name in tape.by:
                tape.take(name)
            for name, parts in zip(half.outputs, weights, strict=True):
                tape.add(name, *parts)
            tape.pull([half], varying)
            tape.add(qdd, *direct[qdd])
            tape.pull(ops, varying)
            weights = [[*direct[name], *tape.take(name)] for name in z]
        for name in dict.fromkeys((*STATE, *tape.by)):
            tape.add(name, *direct[name])
        tape.kept.update(varying)

    def _step(self, plant: Plant, q: str, qd: str, qdd: str, index: int, last: bool) -> StepCall:
        share = 1.0 if last else 0.5

        def formula(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
            h = share * x["h"][0]
            moved = x["q"] + h * kind.rate(x["middle"], x["velocity"])
            return {"q": kind.normalized(moved), "qd": x["qd"] + h * x["qdd"]}

        inputs: dict[str, Row] = {
            "q": "q",
            "qd": "qd",
            "qdd": "qd",
            "middle": "q",
            "velocity": "qd",
            "h": 1,
        }
        given = {"q": "q", "qd": "qd", "qdd": qdd, "middle": q, "velocity": qd, "h": "h"}
        out = NEXT if last else stage_buffers(index)
        return _joints(plant, f"{self.name} {share}", inputs, formula, given, out)


#: Dormand and Prince (1980); the last row is the end of the step, and the first stage of the next.
DORMAND_PRINCE = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
