"""Changes of a joint's configuration over a step of an integrator, by dual numbers: joint-wise formulas.

A step is normalized(q + Σ hₖ N(qₖ) vₖ) over stages k, N(q) v the rate of q. Inputs are q, qₖ, vₖ and hₖ, and
in velocity coordinates the directions dq, dqₖ and dvₖ in which they change.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hinge.kernels import duals, fresh_level, rates
from hinge.model.joints import JointType, VectorJoint
from hinge.sweeps import Block, symmetric_inverse


def move_change(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
    """Return the configuration after the move, and its change in velocity coordinates there."""
    level = fresh_level()
    end = kind.normalized(_sum(kind, x, level))
    q = _without(end, level)
    return {"q": q, "dq": _unrate(kind, q, rates(end, level))}


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


def _unrate(kind: JointType, q: Block, dq: Block) -> Block:
    """Return the velocity whose rate is dq: least squares, zero along a unit quaternion itself."""
    if isinstance(kind, VectorJoint):
        return dq
    unit = np.eye(kind.nv).astype(object)
    columns = np.stack([np.asarray(kind.rate(q, e), dtype=object) for e in unit], axis=-1)
    return symmetric_inverse(columns.T @ columns) @ (columns.T @ dq)
