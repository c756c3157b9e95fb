"""Derivatives of verbs as matrices, and as expressions.

A derivative by q is in the tangent space: along `integrate(q, ε d)` at ε = 0, d of length nv, with the
components of qd, qdd and tau held. Its columns are the joints' velocity coordinates, whatever the length of q
is. Rows are results, columns directions. What a call names `q` is the derivative by q.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from hinge.algebra import (
    STANDARD,
    Expr,
    Leaf,
    context_of,
    f_ext,
    g,
    inertias,
    qd,
    qdd,
    tau,
    value,
)
from hinge.algebra import derivative as algebraic
from hinge.algebra import q as configuration
from hinge.dynamics.arguments import External, external_forces
from hinge.dynamics.cached import CALLS, compiled
from hinge.dynamics.expressions import Parts, expression
from hinge.dynamics.moving import BaseMotion, base_inputs
from hinge.dynamics.signatures import ARGUMENTS
from hinge.errors import ArgumentError, did_you_mean
from hinge.model import Robot, checked_robot, refuse_text
from hinge.spatial import Array, ArrayLike

__all__ = [
    "Derivatives",
    "derivative",
    "derivative_parts",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
]

#: What derivatives can be taken by, beside q, by the caller's names.
LETTERS: dict[str, Leaf] = {
    "qd": qd, "qdd": qdd, "tau": tau, "external": f_ext, "gravity": g, "inertias": inertias,
}  # fmt: skip


class Derivatives:
    """The value of a verb and its derivatives, each an attribute: `d.q`, `d.qd` …

    `of` names the value. Only what was asked for by `wrt` is there.
    """

    def __init__(self, of: str, found: Mapping[str, Array]) -> None:
        self.__dict__.update(found)
        self._of = of

    def __getattr__(self, name: str) -> Array:
        there = ", ".join(n for n in self.__dict__ if not n.startswith("_"))
        raise AttributeError(f"{name}: is not among {there}; ask for a derivative by wrt=({name!r}, …)")

    def __repr__(self) -> str:
        shapes = (f"{n} {x.shape}" for n, x in self.__dict__.items() if not n.startswith("_"))
        return f"Derivatives({', '.join(shapes)})"


def derivative(what: str | Expr, by: Any, *, along: Expr | None = None) -> Any:
    """Return the derivative of a verb, or of a vector expression, as an operator expression.

    `by` is `hinge.algebra.q`, a vector letter such as `qd`, or the name of one; for several a dict by name.
    The columns of the result are the matrix, `D @ x` is the change along x, `D.T @ c` the gradient of cᵀ e;
    `hinge.derive` prints its algorithm, `hinge.compile` makes it a function. `along` are joint rates along
    which an operator, such as the mass matrix, changes.
    """
    e = one_expression(what)
    if isinstance(by, list | tuple):
        return {_name_of(one): derivative(e, one, along=along) for one in by}
    return algebraic(e, thing(by), along=along)


def one_expression(what: str | Expr | Parts) -> Expr:
    """Return an expression, or that of a verb that has one."""
    if isinstance(what, Expr):
        return what
    parts = what if isinstance(what, Parts) else expression(what)
    if len(parts.expressions) != 1 or parts.readout is not None:
        shown = parts.verb or what
        raise ArgumentError(
            f"what: expected a verb with one expression, or an expression, got {shown!r}, which has "
            f"{', '.join(parts.expressions)}; take one of hinge.dynamics.expression({shown!r}).expressions"
        )
    return next(iter(parts.expressions.values()))


def thing(by: Any) -> Any:
    """Return q or a letter by its name."""
    if not isinstance(by, str):
        return by
    if by == "q":
        return configuration
    found = LETTERS.get(by) or STANDARD.get(by)
    if found is None:
        raise ArgumentError(
            f"by: expected 'q' or the name of a vector letter, got {by!r}{did_you_mean(by, LETTERS)}"
        )
    return found


def _name_of(by: Any) -> str:
    return by if isinstance(by, str) else "q" if by is configuration else by.name


# Matrices.


def inverse_dynamics_derivatives(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    wrt: Sequence[str] = ("q", "qd"),
    external: External = None,
    gravity: ArrayLike | None = None,
    base: BaseMotion | None = None,
    passive: bool = False,
) -> Derivatives:
    """Return tau and its derivatives by what `wrt` names, each (…, nv, nv).

    `wrt` may name "q", "qd", "qdd" (the mass matrix), "external" (…, nv, 6 n), columns [n; f] of each
    frame in turn, "gravity" (…, nv, 3) and "inertias" (…, nv, bodies, 10). Other arguments as in
    `inverse_dynamics`.
    """
    how = _How(_names(wrt), external, gravity, base, passive)
    return _matrices("inverse_dynamics", robot, q, {"qd": qd, "qdd": qdd}, how)


def forward_dynamics_derivatives(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    wrt: Sequence[str] = ("q", "qd", "tau"),
    external: External = None,
    gravity: ArrayLike | None = None,
    base: BaseMotion | None = None,
    passive: bool = False,
) -> Derivatives:
    """Return qdd and its derivatives by what `wrt` names, each (…, nv, nv): ∂FD = −𝓜⁻¹ ∂ID at q̈ = FD.

    `wrt` may name "q", "qd", "tau" (𝓜⁻¹), "external", "gravity" and "inertias", as in
    `inverse_dynamics_derivatives`; other arguments as in `forward_dynamics`.
    """
    how = _How(_names(wrt), external, gravity, base, passive)
    return _matrices("forward_dynamics", robot, q, {"qd": qd, "tau": tau}, how)


#: The name of each verb's value, and what it can be differentiated by.
_VERBS = {
    "inverse_dynamics": ("tau", ("q", "qd", "qdd", "external", "gravity", "inertias")),
    "forward_dynamics": ("qdd", ("q", "qd", "tau", "external", "gravity", "inertias")),
}


class _How(NamedTuple):
    """The options of a call."""

    wrt: tuple[str, ...]
    external: External
    gravity: ArrayLike | None
    base: BaseMotion | None
    passive: bool

    @property
    def is_plain(self) -> bool:
        """Whether a call takes arrays alone, so that it is known by its names."""
        return self.external is None and self.gravity is None and self.base is None


def _matrices(
    verb: str, robot: Robot, q: ArrayLike, vectors: Mapping[str, ArrayLike], how: _How
) -> Derivatives:
    key = (verb, "derivatives", robot, how.wrt, type(how.passive), how.passive)
    known = CALLS.look(key) if how.is_plain else None
    if known is not None:
        return known(q, *vectors.values())
    of, allowed = _VERBS[verb]
    names = checked_names(how.wrt, allowed)
    nodes, forces = external_forces(how.external)
    moving = how.base is not None
    _refuse(names, nodes, moving)
    parts = derivative_parts(verb, names, passive=how.passive, base=moving)
    f = compiled(checked_robot(robot), parts, nodes)
    finish = as_derivatives(of, robot)
    if how.is_plain:
        return CALLS.put(key, f.entry_for(finish=finish))(q, *vectors.values())
    given: dict[str, Any] = {**vectors, **forces}
    if how.base is not None:
        given |= base_inputs(how.base, f.robot, how.gravity, {"q": q, **given})
    elif how.gravity is not None:
        given["gravity"] = how.gravity
    return finish(f.evaluate(q, given, called=ARGUMENTS))


def _refuse(names: tuple[str, ...], nodes: Sequence[str], moving: bool) -> None:
    if "external" in names and not nodes:
        raise ArgumentError("wrt: 'external' expects external={frame: [n; f]}, got none; zeros will do")
    if moving and "gravity" in names:
        raise ArgumentError("wrt: expected no 'gravity' with base=, whose acceleration has it, got both")


@cache
def derivative_parts(verb: str, wrt: tuple[str, ...], *, passive: bool = False, base: bool = False) -> Parts:
    """Return the value of a verb and its derivatives, by_q, by_qd …"""
    e = one_expression(expression(verb, passive=passive, base=base))
    # The value is the letter that the derivatives of a solve have, so that it is computed once.
    shown = value(e, context=context_of(e)) if verb == "forward_dynamics" else e
    return Parts({VALUE: shown, **{f"by_{n}": algebraic(e, thing(n)) for n in wrt}})


#: The name of the value among the outputs of a program; derivatives are named by_q, by_qd …
VALUE = "value"


def as_derivatives(of: str, robot: Robot) -> Callable[[Any], Derivatives]:
    """Return what makes of the results of a program what a verb returns, its value under the name `of`."""
    bodies = len(robot.bodies)

    def made(found: Mapping[str, Array]) -> Derivatives:
        shown = {of: found[VALUE]}
        shown |= {name.removeprefix("by_"): x for name, x in found.items() if name != VALUE}
        if "gravity" in shown:  # g is the acceleration of the world that stands for gravity
            shown["gravity"] = -shown["gravity"][..., 3:]
        if "inertias" in shown:
            whole = shown["inertias"]
            shown["inertias"] = whole.reshape(*whole.shape[:-1], bodies, 10)
        return Derivatives(of, shown)

    return made


def checked_names(wrt: Any, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return the names of what derivatives are taken by, each once, or raise an ArgumentError."""
    names = _names(wrt)
    for n in names:
        if n not in allowed:
            raise ArgumentError(f"wrt: expected names among {', '.join(allowed)}, got {n!r}")
    if not names:
        raise ArgumentError(f"wrt: expected at least one of {', '.join(allowed)}, got none")
    return tuple(dict.fromkeys(names))


def _names(wrt: Any) -> tuple[str, ...]:
    refuse_text("wrt", wrt)
    return tuple(wrt)
