"""An implicit-explicit Runge–Kutta method, for stiff modes of flexible bodies, stiff springs and dampers,
and the gains of `PD`.

With A the part of the motion's derivative that K and D make at the start of a step, stages are

    (1 − γ h A) uᵢ = u + h Σ_k (âᵢₖ (f_k − A u_k) + aᵢₖ A u_k),     u′ = u + h Σ b_k f_k,

the pair ARK3(2)4L[2]SA of Kennedy and Carpenter (2003), of order three for any A, whose implicit part is
L-stable. With u = (q, q̇), A = [0 1; −𝓜⁻¹K −𝓜⁻¹D] and θ = γ h, a right side (y, w) is solved by

    q̇ᵢ = w + z,   qᵢ = y + θ q̇ᵢ,   z = −(𝓜 + κ)⁻¹ (θ K y + κ w),   κ = θ D + θ² K:

the articulated-body recursion with κ in D. No matrix of the whole robot is made, and A u = z/θ.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.binding import Row
from hinge.model.joints import JointType, VectorJoint
from hinge.sim.adjoint import Tape
from hinge.sim.integrators import NEXT, Integrator, combination, stage_buffers
from hinge.sim.laws import Law
from hinge.sim.plant import Plant, Stage
from hinge.spatial import Array
from hinge.sweeps import Block
from hinge.targets import StepCall

GAMMA = 1767732205903 / 4055673282236
#: The rows âᵢₖ of the explicit part, aᵢₖ of the implicit part without its diagonal γ, and the weights.
EXPLICIT = (
    (),
    (2 * GAMMA,),
    (5535828885825 / 10492691773637, 788022342437 / 10882634858940),
    (
        6485989280629 / 16251701735622,
        -4246266847089 / 9704473918619,
        10755448449292 / 10357097424841,
    ),
)
IMPLICIT = (
    (),
    (GAMMA,),
    (2746238789719 / 10658868560708, -640167445237 / 6845629431997),
    (
        1471266399579 / 7840856788654,
        -4482444167858 / 7529755066697,
        11266239266428 / 11593286722821,
    ),
)
WEIGHTS = (*IMPLICIT[3], GAMMA)


@dataclass(frozen=True)
class ImplicitExplicit(Integrator):
    """Four evaluations of forward dynamics and four solves; order three, with steps longer than stiff modes
    allow.

    Modes that are faster than the step are damped, as if they were rigid; those that are to be followed need
    steps that resolve them. What large elastic forces do to others through the motion of the bodies stays
    explicit, and bounds the step where they are far from balance.
    """

    name: str = "implicit"
    order: int = 3

    @property
    def nodes(self) -> tuple[float, ...]:
        """The row sums of the tableau."""
        return tuple(float(sum(row)) for row in EXPLICIT)

    def ops(self, plant: Plant, law: Law, signals: frozenset[str]) -> list[StepCall]:
        """Return the programs of all stages and of the step."""
        if type(law).accelerations is not Law.accelerations:
            raise NotImplementedError(
                f"control: {type(law).__name__} is not supported with integrator='implicit', which knows "
                "forces "
                "alone; track it with PD or ComputedTorque, or take another integrator"
            )
        parts = _Stages(plant, law)
        found = [parts.load()]
        for index, node in enumerate(self.nodes):
            q, qd = stage_buffers(index)
            stage = Stage(index, node, q, qd, signals)
            found += parts.solved(stage) if index else parts.started(stage)
            ops, _ = law.accelerations(plant, stage)
            found += ops
        return [*found, combination(plant, f"{self.name}: end", WEIGHTS, NEXT)]

    def reverse(self, tape: Tape, law: Law, signals: frozenset[str]) -> None:
        """Raise an error: there is no adjoint."""
        raise NotImplementedError(
            "integrator: gradients are not supported with 'implicit'; take 'rk4' or 'midpoint'"
        )


class _Stages:
    """The implicit part of the stages of a plant: A from its K and D where a step begins."""

    def __init__(self, plant: Plant, law: Law) -> None:
        self.plant, self.n = plant, plant.robot.nv
        k, d = plant.stiff
        kp, kd = law.gains(plant.robot) or (0.0, 0.0)
        self.k, self.d = k + np.diag(kp * self._straight), d + np.diag(kd * np.ones(self.n))
        #: For each velocity its coordinate, of joints whose q is a vector: the others have no K.
        self.place = np.zeros(self.n, dtype=int)
        for j in plant.robot.independent:
            if isinstance(j.type, VectorJoint):
                self.place[j.qd_slice] = range(j.q_slice.start, j.q_slice.stop)

    @property
    def _straight(self) -> Array:
        """One for velocities of joints whose q is a vector, zero for others."""
        found = np.zeros(self.n)
        for j in self.plant.robot.independent:
            found[j.qd_slice] = isinstance(j.type, VectorJoint)
        return found

    @property
    def _key(self) -> Hashable:
        return self.k.tobytes(), self.d.tobytes(), self.place.tobytes()

    def load(self) -> StepCall:
        """Return κ = θ D + θ² K."""

        def formula(x: Mapping[str, Block]) -> Mapping[str, Block]:
            return {"kappa": self._load(x["h"][0])}

        return self.plant.of_vectors("load", {"h": 1}, formula, {"h": "h"}, {"kappa": "kappa"}, self._key)

    def _load(self, h: Any) -> Block:
        theta = GAMMA * h
        return _scaled(self.d, theta) + _scaled(self.k, theta * theta)

    def started(self, stage: Stage) -> list[StepCall]:
        """Return A u at the start: −𝓜⁻¹ (K q + D q̇)."""

        def formula(x: Mapping[str, Block]) -> Mapping[str, Block]:
            return {"force": -(self.k @ x["q"][self.place] + self.d @ x["v"])}

        inputs = {"q": self.plant.robot.nq, "v": self.n}
        given, found = {"q": stage.q, "v": stage.qd}, {"force": stage.own("stiff")}
        force = self.plant.of_vectors("stiff force", inputs, formula, given, found, self._key)
        return [force, self.plant.solve(stage.q, stage.own("stiff"), stage.own("A u"))]

    def solved(self, stage: Stage) -> list[StepCall]:
        """Return the state of a stage, and A u there."""
        right = self._right(stage.index)
        y, w = (stage.own(n) for n in ("y", "w"))

        def force(x: Mapping[str, Block]) -> Mapping[str, Block]:
            h = x["h"][0]
            stiff = _scaled(self.k, GAMMA * h) @ x["y"][self.place] + self._load(h) @ x["w"]
            return {"force": -stiff}

        def state(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
            theta = GAMMA * x["h"][0]
            v = x["w"] + x["z"]
            q = x["y"] + theta * v if isinstance(kind, VectorJoint) else kind.normalized(x["y"])
            return {"q": q, "qd": v, "A u": x["z"] / theta}

        inputs = {"y": self.plant.robot.nq, "w": self.n, "h": 1}
        given, z = {"y": y, "w": w, "h": "h"}, stage.own("z")
        rows: dict[str, Row] = {"y": "q", "w": "qd", "z": "qd", "h": 1}
        shown: dict[str, Row] = {"q": "q", "qd": "qd", "A u": "qd"}
        found = {"q": stage.q, "qd": stage.qd, "A u": stage.own("A u")}
        return [
            right,
            self.plant.of_vectors(
                "stiff right side", inputs, force, given, {"force": stage.own("stiff")}, self._key
            ),
            self.plant.solve("q", stage.own("stiff"), z, load="kappa"),
            self.plant.at_joints("implicit stage", rows, shown, state, {**given, "z": z}, found),
        ]

    def _right(self, index: int) -> StepCall:
        """Return the right side of a stage: y of q, w of q̇."""
        outer, inner = EXPLICIT[index], IMPLICIT[index]
        inputs: dict[str, Row] = {"q": "q", "qd": "qd", "h": 1}
        given = {"q": "q", "qd": "qd", "h": "h"}
        for k in range(index):
            q, qd = stage_buffers(k)
            inputs |= {f"q{k}": "q", f"v{k}": "qd", f"a{k}": "qd", f"i{k}": "qd"}
            given |= {f"q{k}": q, f"v{k}": qd, f"a{k}": f"qdd#{k}", f"i{k}": f"A u#{k}"}

        def formula(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
            h, stages = x["h"][0], range(index)
            if isinstance(kind, VectorJoint):
                y = x["q"] + h * sum(inner[k] * x[f"v{k}"] for k in stages)
            else:
                y = x["q"] + h * sum(outer[k] * kind.rate(x[f"q{k}"], x[f"v{k}"]) for k in stages)
            w = sum(outer[k] * x[f"a{k}"] + (inner[k] - outer[k]) * x[f"i{k}"] for k in stages)
            return {"y": y, "w": x["qd"] + h * w}

        found = {"y": f"y#{index}", "w": f"w#{index}"}
        rows: dict[str, Row] = {"y": "q", "w": "qd"}
        return self.plant.at_joints(f"implicit right side {index}", inputs, rows, formula, given, found)


def _scaled(x: Block, by: Any) -> Block:
    """Return a constant matrix times a traced number, its zeros known."""
    found = np.zeros(x.shape, dtype=object)
    for at in zip(*np.nonzero(x), strict=True):
        found[at] = float(x[at]) * by
    return found
