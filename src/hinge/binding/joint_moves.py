"""Changes of a joint's configuration over a step of an integrator, by dual numbers: joint-wise formulas.

A step is normalized(q + Σ hₖ N(qₖ) vₖ) over stages k, N(q) v the rate of q. Inputs are q, qₖ, vₖ and hₖ, and
in velocity coordinates the directions dq, dqₖ and dvₖ in which they change.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hinge.kernels import duals, fresh_level, rates
from hinge.model.joints import JointType
from hinge.sweeps import Block


def move_change(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
    """Return the configuration after the move, and its change in velocity coordinates there."""
    level = fresh_level()
    end = kind.normalized(_sum(kind, x, level))
    q = _without(end, level)
    change = kind.unrate(q, rates(end, level))
    assert change is not None, f"{kind.kind} joints are refused before"
    return {"q": q, "dq": change}


def move_rate(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
    """Return q, and how fast a change of q changes where the state moves on: δqd, and the turn of axes."""
    step = fresh_level()
    h = duals(x["h0"], [1.0], step)
    found = move_change(kind, {**x, "h0": h})
    return {"q": x["q"], "dq": rates(np.asarray(found["dq"], dtype=object), step)}


def _sum(kind: JointType, x: Mapping[str, Block], level: int) -> Block:
    """Return q + Σ h N(qₖ) vₖ on numbers with rates along the direction."""

    def at(name: str) -> Block:
        return duals(x[name], kind.rate(x[name], x[f"d{name}"]), level)

    total = at("q")
    for k in range(sum(name.startswith("h") for name in x)):
        v = duals(x[f"v{k}"], x[f"dv{k}"], level)
        total = total + x[f"h{k}"][0] * kind.rate(at(f"q{k}"), v)
    return np.asarray(total, dtype=object)


def _without(x: Block, level: int) -> Block:
    """Return numbers without their rates of a level."""
    found = np.empty(x.shape, dtype=object)
    found[:] = [y.value if getattr(y, "level", None) == level else y for y in x]
    return found
