"""Jacobians of vectors as routines, by their inputs in coordinates: what solvers elsewhere ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hinge.binding import gradient_by_coordinates
from hinge.dynamics import Parts, compile, expression, jacobian_parts
from hinge.export.routine import Coded, Routine
from hinge.model import Robot, units
from hinge.pipeline import build
from hinge.sweeps import Joined, KnownBlock
from hinge.targets import Traced


def jacobian_of(r: Routine, robot: Robot, options: Mapping[str, Any]) -> Routine:
    """Return the derivatives of a routine by each of its inputs, jac_<result>_<input>.

    The routine must have one result, a vector or a number. Derivatives by q are by coordinates (…, nq), zero
    along quaternions. What has no derivative raises an ArgumentError or a NotImplementedError.
    """
    if isinstance(r.given, Coded) or len(r.results) != 1:
        raise NotImplementedError(
            f"jacobian: {r.name} has no derivative of its own, since it is not one vector expression; give "
            "jacobian=False, and CasADi differentiates it"
        )
    if "placements" in r.inputs:
        raise NotImplementedError(
            f"jacobian: derivatives of {r.name} by placements are along motions of the joints' frames, six "
            "for each body, not by the seven numbers of a placement; give jacobian=False"
        )
    parts = jacobian_parts(r.given, list(r.inputs), flexible=robot.is_flexible)
    code = compile(parts, robot, target=r.judge.target, **options).code
    (result, shape), whole = next(iter(r.results.items())), Joined()
    inputs = {n: whole.input(n, size) for n, size in r.inputs.items()}
    if "q" not in inputs:
        raise NotImplementedError(f"jacobian: {r.name} does not depend on q; give jacobian=False")
    nothing = np.zeros(0, dtype=object)
    found = whole.add(code, {n: inputs.get(n, nothing) for n in code.inputs})
    shown: dict[str, KnownBlock] = {}
    for n, size in r.inputs.items():
        rows = int(np.prod(shape, dtype=int))
        tangent = robot.nv if n == "q" else size
        block = found.get(f"by_{n}", np.zeros((rows, tangent), dtype=object)).reshape(rows, tangent)
        shown[f"jac_{result}_{n}"] = in_coordinates(whole, robot, inputs["q"], block) if n == "q" else block
    joined = whole.code(shown)
    judge = build(Traced(joined, joined.identity(), f"the Jacobian of {r.name}"), target=r.judge.target)
    results = {x.name: x.values.shape for x in joined.results}
    return replace(
        r, name=f"{r.name}_jacobian", given=parts, code=joined, judge=judge, results=results, samples=None
    )


def with_jacobians(asked: Sequence[Routine], robot: Robot, options: Mapping[str, Any]) -> list[Routine]:
    """Return routines, each followed by its Jacobian where there is one."""
    found: list[Routine] = []
    for r in asked:
        own = known_jacobian(r, robot, options)
        found += [r] if own is None else [r, own]
    return found


def known_jacobian(r: Routine, robot: Robot, options: Mapping[str, Any]) -> Routine | None:
    """Return the derivatives of a routine, or None where it has none of its own."""
    if not has_jacobian(r):
        return None
    try:
        return jacobian_of(r, robot, options)
    except NotImplementedError:  # such as those by placements, or of a robot that rolls
        return None


def has_jacobian(r: Routine) -> bool:
    """Tell whether a routine is one vector or number, so that it has a Jacobian of its own."""
    if isinstance(r.given, Coded) or len(r.code.results) != 1 or "q" not in r.inputs:
        return False
    parts = expression(r.given) if isinstance(r.given, str) else r.given
    if isinstance(parts, Parts) and (parts.readout is not None or parts.reader is not None or parts.blocks):
        return False
    return r.code.results[0].values.ndim < 2


def in_coordinates(whole: Joined, robot: Robot, q: KnownBlock, block: KnownBlock) -> KnownBlock:
    """Return rows (…, nv) of derivatives in the tangent space as ones by coordinates (…, nq): times N⁺."""
    rows = [gradient_by_coordinates(whole, units(robot), q, row) for row in block]
    return np.array(rows, dtype=object).reshape(len(block), robot.nq)
