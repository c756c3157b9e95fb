"""Derivatives of verbs as matrices, and as expressions.

A derivative by q is in the tangent space: along `integrate(q, ε d)` at ε = 0, d of length nv, with the
components of qd, qdd and tau held. Its columns are the joints' velocity coordinates, whatever the length of q
is. Rows are results, columns directions. What a call names `q` is the derivative by q.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple, ParamSpec, TypeVar

from hinge.algebra import (
    STANDARD,
    Expr,
    Leaf,
    context_of,
    f_ext,
    friction,
    g,
    inertias,
    placements,
    qd,
    qdd,
    rotors,
    tau,
    value,
)
from hinge.algebra import derivative as algebraic
from hinge.algebra import q as configuration
from hinge.dynamics.arguments import External, external_forces
from hinge.dynamics.cached import CALLS, ROWS, compiled, refuse_closures
from hinge.dynamics.derivative_forms import VALUE, Forms
from hinge.dynamics.expressions import Parts, expression
from hinge.dynamics.function import Compiled
from hinge.dynamics.moving import BaseMotion, base_inputs
from hinge.dynamics.results import filling
from hinge.dynamics.signatures import ARGUMENTS
from hinge.dynamics.values import checked_results
from hinge.errors import ArgumentError, did_you_mean
from hinge.model import Robot, checked_robot, refuse_text
from hinge.spatial import Array, ArrayLike
from hinge.targets import Dispatcher, dispatcher

P = ParamSpec("P")
R = TypeVar("R")

__all__ = [
    "CLOSED_FORMS",
    "Derivatives",
    "derivative",
    "derivative_parts",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
]

#: What derivatives can be taken by, beside q, by the caller's names.
LETTERS: dict[str, Leaf] = {
    "qd": qd, "qdd": qdd, "tau": tau, "external": f_ext, "gravity": g, "inertias": inertias,
    "placements": placements, "rotors": rotors, "friction": friction,
}  # fmt: skip
#: Numbers of the model: the robot's own, unless a call gives them.
NUMBERS = ("inertias", "placements", "rotors", "friction")


class Derivatives:
    """The value of a verb and its derivatives, each an attribute: `d.q`, `d.qd` …

    The value comes first, by its own name. Only what was asked for by `wrt` is there.
    """

    @staticmethod
    def of(found: dict[str, Array]) -> Derivatives:
        """Return results by name as attributes."""
        return _FILLED(found)

    def __getattr__(self, name: str) -> Array:
        there = ", ".join(self.__dict__)
        raise AttributeError(f"{name}: is not among {there}; ask for a derivative by wrt=({name!r}, …)")

    def __repr__(self) -> str:
        shapes = (f"{n} {x.shape}" for n, x in self.__dict__.items())
        return f"Derivatives({', '.join(shapes)})"


def derivative(what: str | Expr, by: Any, *, along: Expr | None = None, flexible: bool = False) -> Any:
    """Return the derivative of a verb, or of a vector expression, as an operator expression.

    `by` is `hinge.algebra.q`, a vector letter such as `qd`, or the name of one; for several a dict by name.
    The columns of the result are the matrix, `D @ x` is the change along x, `D.T @ c` the gradient of cᵀ e;
    `hinge.derive` prints its algorithm, `hinge.compile` makes it a function. `along` are joint rates along
    which an operator, such as the mass matrix, changes. Give `flexible=True` for robots with flexible bodies.
    """
    e = one_expression(what)
    if isinstance(by, list | tuple):
        return {_name_of(one): derivative(e, one, along=along, flexible=flexible) for one in by}
    return algebraic(e, thing(by), along=along, flexible=flexible)


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
        hint = did_you_mean(by, ("q", *LETTERS)) or f"such as {', '.join(LETTERS)}"
        raise ArgumentError(f"by: expected 'q' or the name of a vector letter, got {by!r}; {hint}")
    return found


def _name_of(by: Any) -> str:
    return by if isinstance(by, str) else "q" if by is configuration else by.name


# Matrices.


def _quick(f: Callable[P, R]) -> Callable[P, R]:
    """Return a function that goes straight into the code of robots it knows, as verbs do.

    With `wrt` as it is by default and without options but `passive`, a call with plain arrays runs no Python.
    """
    found = dispatcher(f, ("passive",))
    ROWS.append(found.forget)
    _DISPATCHERS[f.__name__.removesuffix("_derivatives")] = found
    return found.function


_FILLED = filling(Derivatives, reused=True)
_DISPATCHERS: dict[str, Dispatcher] = {}


@_quick
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
    out: Mapping[str, Array] | Derivatives | None = None,
    passive: bool = False,
) -> Derivatives:
    """Return tau and its derivatives by what `wrt` names, each (…, nv, nv).

    `wrt` may name "q", "qd", "qdd" (the mass matrix), "external" (…, nv, 6 n), columns [n; f] of each
    frame in turn, "gravity" (…, nv, 3) and numbers of the model: "inertias" (…, nv, bodies, 10),
    "placements" (…, nv, bodies, 6), columns [angular; linear] of motions of the joints' inner frames in their
    own axes, "rotors" (…, nv, nv), and with `passive` "friction" (…, nv, nv, 3). `out` are arrays for the
    results, by name, or what an earlier call returned. Other arguments as in `inverse_dynamics`.
    """
    how = _How(_names(wrt), external, gravity, base, passive, out)
    return _matrices("inverse_dynamics", robot, q, {"qd": qd, "qdd": qdd}, how)


@_quick
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
    out: Mapping[str, Array] | Derivatives | None = None,
    passive: bool = False,
) -> Derivatives:
    """Return qdd and its derivatives by what `wrt` names, each (…, nv, nv): ∂FD = −𝓜⁻¹ ∂ID at q̈ = FD.

    `wrt` may name "q", "qd", "tau" (𝓜⁻¹), "external", "gravity" and numbers of the model, and `out` is as
    in `inverse_dynamics_derivatives`; other arguments as in `forward_dynamics`.
    """
    how = _How(_names(wrt), external, gravity, base, passive, out)
    return _matrices("forward_dynamics", robot, q, {"qd": qd, "tau": tau}, how)


#: The verbs whose derivatives have closed forms: the name of the value, and what it can be differentiated by.
CLOSED_FORMS = {
    "inverse_dynamics": ("tau", ("q", "qd", "qdd", "external", "gravity", *NUMBERS)),
    "forward_dynamics": ("qdd", ("q", "qd", "tau", "external", "gravity", *NUMBERS)),
}


#: What has the derivatives of robots with closures.
CLOSED_DERIVATIVES = "closed_dynamics_derivatives"
#: What derivatives are taken by unless a call says so.
_USUAL = {"inverse_dynamics": ("q", "qd"), "forward_dynamics": ("q", "qd", "tau")}


class _How(NamedTuple):
    """The options of a call."""

    wrt: tuple[str, ...]
    external: External
    gravity: ArrayLike | None
    base: BaseMotion | None
    passive: bool
    out: Mapping[str, Array] | Derivatives | None

    @property
    def is_plain(self) -> bool:
        """Whether a call takes arrays alone, so that it is known by its names."""
        return self.external is None and self.gravity is None and self.base is None and self.out is None


def _matrices(
    verb: str, robot: Robot, q: ArrayLike, vectors: Mapping[str, ArrayLike], how: _How
) -> Derivatives:
    key = (verb, "derivatives", robot, how.wrt, type(how.passive), how.passive)
    known = CALLS.look(key) if how.is_plain else None
    if known is not None:
        return known(q, *vectors.values())
    refuse_closures(checked_robot(robot), f"{verb}_derivatives", CLOSED_DERIVATIVES)
    of, allowed = CLOSED_FORMS[verb]
    names = checked_names(how.wrt, allowed)
    nodes, forces = external_forces(how.external)
    moving = how.base is not None
    _refuse(names, nodes, moving)
    refuse_friction(names, passive=how.passive)
    parts = derivative_parts(verb, names, passive=how.passive, base=moving, flexible=robot.is_flexible)
    f = compiled(checked_robot(robot), parts, nodes)
    keys = (of, *names)
    if how.is_plain:
        entry = f.entry_for(finish=_finish(robot, names), names=keys)
        if how.wrt == _USUAL[verb]:
            _DISPATCHERS[verb].introduce(robot, entry, how.passive)
        return CALLS.put(key, entry)(q, *vectors.values())
    given: dict[str, Any] = {**vectors, **forces}
    if how.base is not None:
        given |= base_inputs(how.base, f.robot, how.gravity, {"q": q, **given})
    elif how.gravity is not None:
        given["gravity"] = how.gravity
    outputs = dict(zip(keys, (VALUE, *(f"by_{n}" for n in names)), strict=True))
    return _evaluated(f, q, given, outputs, how.out)


def _evaluated(
    f: Compiled,
    q: ArrayLike,
    given: Mapping[str, Any],
    outputs: Mapping[str, str],
    out: Mapping[str, Array] | Derivatives | None,
) -> Derivatives:
    """Return the results of a call, perhaps in arrays of the caller; `outputs` are the program's names."""
    if out is None:
        found = f.evaluate(q, given, called=ARGUMENTS)
        return as_derivatives({n: found[x] for n, x in outputs.items()}, f.robot)
    if not outputs.keys() & SHOWN.keys():
        to = _named(out, outputs)
        f.evaluate(q, given, called=ARGUMENTS, out={outputs[n]: x for n, x in to.items()})
        return Derivatives.of({n: to[n] for n in outputs})
    return into(out, _evaluated(f, q, given, outputs, None))  # some are shown in another form


def into(out: Mapping[str, Array] | Derivatives | None, found: Derivatives) -> Derivatives:
    """Return results, written into arrays of the caller's by their names if there are such."""
    if out is None:
        return found
    results = vars(found)
    to = _named(out, results)
    checked_results(to, {n: x.shape for n, x in results.items()}, (), next(iter(results.values())).dtype.type)
    for n, x in results.items():
        to[n][...] = x
    return Derivatives.of({n: to[n] for n in results})


def _named(out: Mapping[str, Array] | Derivatives, names: Iterable[str]) -> Mapping[str, Array]:
    """Return the caller's arrays by name, or raise an ArgumentError if these are other names."""
    to, wanted = vars(out) if isinstance(out, Derivatives) else out, list(names)
    if not isinstance(to, Mapping) or set(to) != set(wanted):  # pyright: ignore[reportUnnecessaryIsInstance]
        got = ", ".join(map(str, to)) if isinstance(to, Mapping) else type(to).__name__  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"out: expected arrays by the names {', '.join(wanted)}, got {got}")
    return to


def _refuse(names: tuple[str, ...], nodes: Sequence[str], moving: bool) -> None:
    if "external" in names and not nodes:
        raise ArgumentError("wrt: 'external' expects external={frame: [n; f]}, got none; zeros will do")
    if moving and "gravity" in names:
        raise ArgumentError("wrt: expected no 'gravity' with base=, whose acceleration has it, got both")


def refuse_friction(names: Sequence[str], *, passive: bool) -> None:
    """Refuse derivatives by numbers that do not act."""
    if "friction" in names and not passive:
        raise ArgumentError(
            "wrt: 'friction' expects passive=True, got False, with which the joints' own forces do not act"
        )


@cache
def derivative_parts(
    verb: str, wrt: tuple[str, ...], *, passive: bool = False, base: bool = False, flexible: bool = False
) -> Parts:
    """Return the value of a verb and its derivatives, by_q, by_qd …

    Those of `flexible` bodies have no closed forms, since their inertia depends on q.
    """
    e = one_expression(expression(verb, passive=passive, base=base))
    # The value is the letter that the derivatives of a solve have, so that it is computed once.
    shown = value(e, context=context_of(e)) if verb == "forward_dynamics" else e
    given = {VALUE: shown, **{f"by_{n}": algebraic(e, thing(n), flexible=flexible) for n in wrt}}
    closes = verb in CLOSED_FORMS and not flexible
    form = Forms(verb, e, given, passive, base).derivation if closes else None
    return Parts(given, form=form)


def _gravity(found: Array, robot: Robot) -> Array:
    """Return the derivative by gravity: g is the acceleration of the world that stands for it."""
    del robot
    return -found[..., 3:]


def in_rows(width: int) -> Callable[[Array, Robot], Array]:
    """Return what shows columns in rows of so many, one for each body or coordinate."""

    def shown(found: Array, robot: Robot) -> Array:
        del robot
        return found.reshape(*found.shape[:-1], found.shape[-1] // width, width)

    return shown


#: Derivatives that are shown in another form than programs have them in.
SHOWN: dict[str, Callable[[Array, Robot], Array]] = {
    "gravity": _gravity, "inertias": in_rows(10), "placements": in_rows(6), "friction": in_rows(3),
}  # fmt: skip


def as_derivatives(found: dict[str, Array], robot: Robot) -> Derivatives:
    """Return the results of a program, by their names, as they are shown."""
    for n in SHOWN.keys() & found.keys():
        found[n] = SHOWN[n](found[n], robot)
    return Derivatives.of(found)


def _finish(robot: Robot, names: tuple[str, ...]) -> Callable[[dict[str, Array]], Derivatives]:
    """Return what finishes calls, the same function for the same robot, so that entries are shared."""
    return _shown_for(robot) if SHOWN.keys() & set(names) else _FILLED


@lru_cache(maxsize=64)
def _shown_for(robot: Robot) -> Callable[[dict[str, Array]], Derivatives]:
    return partial(as_derivatives, robot=robot)


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
