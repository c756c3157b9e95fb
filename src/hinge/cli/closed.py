"""Robots with closures on the command line: where they close, and how they move there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.cli.output import table
from hinge.dynamics import Mobility, assemble, closure_rows, mobility
from hinge.errors import CommandLineError
from hinge.model import Problem, Robot, neutral, random_configuration

Array = NDArray[np.float64]
#: The largest error that counts as closed, and how often starts are drawn.
CLOSED, DRAWS = 1e-9, 20


def closed_configuration(robot: Robot) -> Array | None:
    """Return a configuration that closes: near the neutral one or a random one; None if none is found."""
    starts = np.stack([neutral(robot), *random_configuration(robot, 0, size=DRAWS)])
    q, error = assemble(robot, starts)
    good = np.flatnonzero(error <= CLOSED)
    return q[good[0]] if len(good) else None


def closed_starts(robot: Robot, q: Array, rng: np.random.Generator | None) -> Array:
    """Return configurations (…, nq) near q that close; others are drawn again if `rng` is given."""
    found, error = assemble(robot, q)
    for _ in range(DRAWS if rng is not None else 0):
        if (error <= CLOSED).all():
            break
        again, left = assemble(robot, random_configuration(robot, rng, size=q.shape[:-1]))
        take = (error > CLOSED) & (left <= CLOSED)
        found, error = np.where(take[..., None], again, found), np.where(take, left, error)
    if (error > CLOSED).any():
        raise CommandLineError(
            f"--q0: expected a configuration near one that closes {robot.name}, got one that leaves an error "
            f"of {float(np.max(error)):.3g}; give another one, or neutral"
        )
    return found


def told(robot: Robot) -> str:
    """Return how a robot with closures moves, and which rows the dynamics drops, as text."""
    q = closed_configuration(robot)
    if q is None:
        return "no configuration that closes was found near the neutral one and random ones"
    m = mobility(robot, q)
    counts = table(("closed robot", ""), [(k, str(v)) for k, v in _facts(robot, m).items()])
    dropped = ", ".join(f"{name}.{row}" for name, row in m.redundant)
    return counts + (f"\n\nrows that others imply, dropped from the dynamics: {dropped}" if dropped else "")


def _facts(robot: Robot, m: Mobility) -> dict[str, Any]:
    rows = len(closure_rows(robot))
    return {
        "degrees of freedom": m.freedoms
        if m.freedoms == m.generic
        else f"{m.freedoms} here, {m.generic} in general",
        "coordinates of the tree": robot.nv,
        "rows of closures": f"{rows}, {rows - len(m.redundant)} independent",
        "independent joints": ", ".join(m.independent) or "none",
    }


def closure_facts(robot: Robot) -> list[dict[str, Any]]:
    """Return the closures as data."""
    return [
        {
            "name": c.name,
            "type": c.joint.kind,
            "inner": c.inner,
            "outer": c.outer,
            "rows": list(c.constraints.names),
        }
        for c in robot.closures
    ]


def mobility_facts(robot: Robot) -> dict[str, Any] | None:
    """Return the mobility as data; None if nothing that closes was found."""
    q = closed_configuration(robot)
    if q is None:
        return None
    m = mobility(robot, q)
    return {
        "freedoms": m.freedoms,
        "generic": m.generic,
        "dropped": [list(x) for x in m.redundant],
        "independent": list(m.independent),
    }


def problems(robot: Robot) -> list[Problem]:
    """Return what is doubtful about the closures of a robot, and as notes what is dropped."""
    if not robot.closures:
        return []
    q = closed_configuration(robot)
    where = "closures " + ", ".join(repr(c.name) for c in robot.closures)
    if q is None:
        message = "no configuration that closes was found near the neutral one and random ones"
        return [Problem(where, "can close", message)]
    m = mobility(robot, q)
    found: list[Problem] = []
    if m.freedoms == 0:
        found.append(Problem(where, "can move", "the closed robot has no degree of freedom"))
    if m.redundant:
        dropped = ", ".join(f"{name}.{row}" for name, row in m.redundant)
        message = f"{len(m.redundant)} rows that others imply are dropped from the dynamics: {dropped}"
        found.append(Problem(where, "independent rows", message, note=True))
    return found
