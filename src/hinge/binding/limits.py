"""Distances from joint limits, as formulas that can be traced."""

from __future__ import annotations

from typing import Any

from hinge.kernels import on_duals as apply


def nearer_limit(q: Any, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Return the distance of a coordinate from the nearer limit, negative outside, and the sign of its rate.

    None is no limit.
    """
    if lower is None or upper is None:
        return (upper - q, -1.0) if lower is None else (q - lower, 1.0)
    above, below = q - lower, upper - q
    return apply("choose", above, below, above, below), apply("choose", above, below, 1.0, -1.0)
