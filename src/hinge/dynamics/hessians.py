"""Second derivatives of cᵀ value of a verb or of a vector expression."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from hinge.algebra import Expr, Joint, One, Zero, leaf, tangent
from hinge.algebra import derivative as algebraic
from hinge.dynamics.arguments import External, external_forces
from hinge.dynamics.cached import compiled
from hinge.dynamics.derivatives import thing
from hinge.dynamics.differentials import vjp
from hinge.dynamics.expressions import Parts
from hinge.model import Robot, checked_robot
from hinge.spatial import Array, ArrayLike

__all__ = ["second_derivatives"]


def second_derivatives(
    what: str | Expr,
    robot: Robot,
    q: ArrayLike,
    *arrays: ArrayLike,
    c: ArrayLike,
    wrt: Sequence[str] = ("q", "qd"),
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = False,
) -> dict[tuple[str, str], Array]:
    """Return the second derivatives of cᵀ value, blocks (…, nv, nv) by pairs of names, as `vjp` has them.

    `external`, `gravity` and `passive` are those of the verbs, and `wrt` may name "gravity" too. Directions
    are constant in the joints' velocity coordinates, so that the block ("q", "q") is symmetric for joints
    whose q is a vector only: for balls and free joints it differs by the bracket of their group.
    """
    nodes, forces = external_forces(external)
    pull = vjp(what, robot, wrt, nodes=nodes, passive=passive)
    pull.arrays = [n for n in pull.arrays if n not in forces]
    f = compiled(checked_robot(robot), _hessian_parts(pull.expression, pull.wrt, robot.is_flexible), nodes)
    given = {**pull.given(arrays), **forces, "c": c}
    loads = {} if gravity is None else {"gravity": gravity}
    found = f.evaluate(q, {**{n: z for n, z in given.items() if f.takes(n)}, **loads})
    batch = next(iter(found.values())).shape[:-2] if found else ()
    found = {n: _as_of_gravity(n, z) for n, z in found.items()}
    spaces = {n: Joint if n == "q" else tangent(thing(n)) for n in pull.wrt}
    sizes = {n: 3 if n == "gravity" else f.binding.length(s) for n, s in spaces.items()}
    shapes = {(m, n): (*batch, sizes[m], sizes[n]) for m in pull.wrt for n in pull.wrt}
    return {(m, n): found.get(f"{m}_{n}", np.zeros(shape)) for (m, n), shape in shapes.items()}


def _as_of_gravity(name: str, block: Array) -> Array:
    """Return a block with gravity (…, 3) for the acceleration of the world (…, 6) that stands for it."""
    block = -block[..., 3:] if name.endswith("_gravity") else block
    return -block[..., 3:, :] if name.startswith("gravity_") else block


@cache
def _hessian_parts(e: Expr, wrt: tuple[str, ...], flexible: bool) -> Parts:
    by = partial(algebraic, at_hinges=True, flexible=flexible)
    c = leaf("c", e.range, One, meaning="weights of the value")
    grads = {m: by(e, thing(m)).T @ c for m in wrt}
    found = {f"{m}_{n}": by(x, thing(n)) for m, x in grads.items() for n in wrt}
    return Parts({n: z for n, z in found.items() if not isinstance(z, Zero)})
