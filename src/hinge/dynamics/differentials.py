"""Changes along directions, and gradients: derivatives in sweeps of linear cost, without their matrices.

With D the operator that `derivative` returns, a change along x is D x and a gradient Dᵀ c: forward and
reverse mode are the same expression and its adjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from hinge.algebra import (
    Expr,
    Joint,
    Leaf,
    One,
    Zero,
    context_of,
    f_ext,
    g,
    leaf,
    leaves,
    letters_of,
    tangent,
    tau_j,
    value,
)
from hinge.algebra import derivative as algebraic
from hinge.binding import Expressed
from hinge.dynamics.arguments import shaped
from hinge.dynamics.cached import compiled, refuse_closures
from hinge.dynamics.derivative_forms import VALUE
from hinge.dynamics.derivatives import (
    CLOSED_DERIVATIVES,
    CLOSED_FORMS,
    NUMBERS,
    checked_names,
    derivative_parts,
    one_expression,
    refuse_friction,
    thing,
)
from hinge.dynamics.expressions import OPEN_ONLY, Parts, expression
from hinge.dynamics.function import Compiled
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot, refuse_text
from hinge.spatial import Array, ArrayLike

__all__ = [
    "Pull",
    "Push",
    "gradient",
    "jacobian_parts",
    "jvp",
    "pulled_parts",
    "second_derivatives",
    "vjp",
]


class _Differential:
    """A vector expression with its derivative applied: what `jvp` and `vjp` return."""

    def __init__(
        self,
        what: str | Expr | Parts,
        robot: Robot,
        wrt: Iterable[str] | None,
        options: Mapping[str, Any],
    ) -> None:
        e = one_expression(what)
        verb = what.verb if isinstance(what, Parts) else what
        if isinstance(verb, str) and (verb in OPEN_ONLY or verb == "forward_dynamics"):
            refuse_closures(checked_robot(robot), f"{type(self).__name__} of {verb}", CLOSED_DERIVATIVES)
        if e.domain is not One or e.range is One:
            raise ArgumentError(
                f"what: expected a vector, got {e}: {e.range} ← {e.domain}; see hinge.gradient"
            )
        inputs = {x.name: x for x in letters_of([e]) if x.domain is One and not x.needs and x is not g}
        if f_ext.name in inputs and not options.get("nodes"):
            inputs.pop(f_ext.name)
        self.expression, self.robot = e, checked_robot(robot)
        self.arrays = sorted(inputs, key=lambda n: (_ORDER.index(n) if n in _ORDER else len(_ORDER), n))
        refuse_text("parameters", options["parameters"])
        self.arrays += [n for n in NUMBERS if n in options["parameters"]]
        allowed = dict.fromkeys(["q", *self.arrays, *NUMBERS])
        self.wrt = checked_names(["q", *self.arrays] if wrt is None else wrt, list(allowed))
        refuse_friction(self.wrt, passive=tau_j in leaves(e))
        self.compiled: Compiled = compiled(self.robot, self._parts(inputs), **options)

    def _parts(self, inputs: Mapping[str, Leaf]) -> Parts:
        raise NotImplementedError

    def _finished(self, found: Any) -> Any:
        """Return what a call returns, given the results of the program."""
        raise NotImplementedError

    @property
    def _results(self) -> tuple[str, ...]:
        """The names of results for `_finished`, in the order of the expressions."""
        raise NotImplementedError

    @cached_property
    def _entry(self) -> Callable[..., Any]:
        """The way of plain arrays into the code, in the order of the program."""
        return self.compiled.entry_for(finish=self._finished, names=self._results)

    @property
    def shown(self) -> Expr:
        """The value as an output: a letter that is computed once where it is a solve."""
        return value(self.expression, context=context_of(self.expression))

    def _by(self, name: str, inputs: Mapping[str, Leaf]) -> Expr:
        by = inputs[name] if name in inputs else thing(name)
        return algebraic(self.expression, by, flexible=self.robot.is_flexible)

    def given(self, arrays: Sequence[ArrayLike]) -> dict[str, ArrayLike]:
        """Return the arrays beside q by name, or raise a TypeError if they are too few or too many."""
        if len(arrays) != len(self.arrays):
            wanted = ", ".join(["q", *self.arrays])
            raise TypeError(
                f"{type(self).__name__.lower()}: expected the arrays {wanted}, got {1 + len(arrays)}"
            )
        return dict(zip(self.arrays, arrays, strict=True))


#: The order of arrays in a call; others follow by name.
_ORDER = ("qd", "qdd", "tau")


class Push(_Differential):
    """f(q, …, q=dq, qd=dqd …) → (value, change along the directions)."""

    def _parts(self, inputs: Mapping[str, Leaf]) -> Parts:
        total: Expr | None = None
        for n in self.wrt:
            D = self._by(n, inputs)
            part = D @ leaf(f"d_{n}", D.domain, One, unicode=f"δ{n}", meaning=f"a change of {n}")
            total = part if total is None else total + part
        assert total is not None
        return Parts({VALUE: self.shown, "change": total})

    def __call__(self, q: ArrayLike, *arrays: ArrayLike, **directions: ArrayLike) -> tuple[Array, Array]:
        """Return the value and its change; a direction that is not given is zero."""
        unknown = [n for n in directions if n.removeprefix("d_") not in self.wrt]
        if unknown:
            raise ArgumentError(f"{unknown[0]}: expected directions d_{', d_'.join(self.wrt)}, got this one")
        given: dict[str, Any] = self.given(arrays)
        for n in (f"d_{n}" for n in self.wrt):
            along = directions.get(n)
            given[n] = self._still(n) if along is None else along
        return self._entry(q, *(given[n] for n in self.compiled.vectors))

    def _still(self, direction: str) -> Array:
        """Return the zeros of a direction that is not given."""
        space = self.compiled.inputs[direction].range
        size = self.compiled.binding.length(space)
        return shaped(np.zeros(size), (space, One))

    @property
    def _results(self) -> tuple[str, ...]:
        return VALUE, "change"

    def _finished(self, found: Any) -> tuple[Array, Array]:
        return found[VALUE], found["change"]


class Pull(_Differential):
    """f(q, …, c) → (value, {"q": ∂(cᵀ value)/∂q, …})."""

    def _parts(self, inputs: Mapping[str, Leaf]) -> Parts:
        c = leaf("c", self.expression.range, One, meaning="weights of the value")
        grads = {f"by_{n}": self._by(n, inputs).T @ c for n in self.wrt}
        return Parts({VALUE: self.shown, **grads})

    def __call__(self, q: ArrayLike, *arrays_and_c: ArrayLike) -> tuple[Array, dict[str, Array]]:
        """Return the value and the gradients of cᵀ value, c the last argument."""
        if len(arrays_and_c) != len(self.arrays) + 1:
            wanted = ", ".join(["q", *self.arrays, "c"])
            raise TypeError(f"pull: expected the arrays {wanted}, got {1 + len(arrays_and_c)}")
        taken = self._taken
        return self._entry(q, *(arrays_and_c if taken is None else [arrays_and_c[k] for k in taken]))

    @cached_property
    def _taken(self) -> list[int] | None:
        """Which arrays after q the program takes, in its order; None if all as they come."""
        names = [*self.arrays, "c"]
        found = [names.index(n) for n in self.compiled.vectors]
        return None if found == list(range(len(names))) else found

    @property
    def _results(self) -> tuple[str, ...]:
        return VALUE, *self.wrt

    def _finished(self, found: Any) -> tuple[Array, dict[str, Array]]:
        return found.pop(VALUE), found


def jvp(
    what: str | Expr | Parts,
    robot: Robot,
    wrt: Iterable[str] | None = None,
    *,
    nodes: Sequence[str] = (),
    expressed: Expressed = "body",
    parameters: Sequence[str] = (),
) -> Push:
    """Return the change of a verb or of a vector expression along directions, as a function: forward mode.

    `push = jvp("forward_dynamics", robot)`; `push(q, qd, tau, d_q=…, d_qd=…)` gives the value and its change
    (…, n) along these directions, each of the length of qd, in sweeps of linear cost. `wrt` names what may
    vary, all arrays unless given, and may name numbers of the model: "inertias" (…, bodies, 10), "placements"
    (…, bodies, 6), motions of the joints' inner frames in their own axes, "rotors" (…, nv), and "friction"
    (…, nv, 3) of expressions with the joints' own forces. These are the robot's own, or with `parameters`
    arrays that calls take after the others. `nodes` and `expressed` as in `compile`.
    """
    return Push(what, robot, wrt, {"nodes": nodes, "expressed": expressed, "parameters": parameters})


def vjp(
    what: str | Expr | Parts,
    robot: Robot,
    wrt: Iterable[str] | None = None,
    *,
    nodes: Sequence[str] = (),
    expressed: Expressed = "body",
    parameters: Sequence[str] = (),
) -> Pull:
    """Return the gradients of cᵀ value of a verb or of a vector expression, as a function: reverse mode.

    `pull = vjp("forward_dynamics", robot)`; `pull(q, qd, tau, c)` gives the value and a dict of gradients by
    name, each (…, nv), in sweeps of linear cost: it is the adjoint of the operator that `derivative` returns.
    Gradients by numbers of the model have the shapes of their directions; options as in `jvp`.
    """
    return Pull(what, robot, wrt, {"nodes": nodes, "expressed": expressed, "parameters": parameters})


def jacobian_parts(what: str | Expr | Parts, names: Sequence[str], *, flexible: bool = False) -> Parts:
    """Return the derivatives of a vector or a number by q and by inputs, by_q …, those that are not zero.

    Those by q are in the tangent space. Inverse and forward dynamics have their closed forms, and their value
    beside them.
    """
    parts = what if isinstance(what, Parts) else None if isinstance(what, Expr) else expression(what)
    for verb in CLOSED_FORMS:
        for passive in (False, True):
            if parts == expression(verb, passive=passive):
                return derivative_parts(verb, tuple(names), passive=passive, flexible=flexible)
    e = one_expression(what)
    if e.domain is not One:
        raise ArgumentError(f"what: expected a vector or a number, got {e}: {e.range} ← {e.domain}")
    known = {x.name: x for x in letters_of([e])}
    found = {n: algebraic(e, thing(n) if n == "q" else known[n], flexible=flexible) for n in names}
    shown = {f"by_{n}": x.T if e.range is One else x for n, x in found.items()}
    return Parts({n: x for n, x in shown.items() if not isinstance(x, Zero)})


@cache
def pulled_parts(parts: Parts, of: tuple[str, ...], by: tuple[str, ...], *, flexible: bool = False) -> Parts:
    """Return gradients of Σ cᵀ result over these results of a verb: by_q …, those that are not zero.

    The weights of a result are the letter c_<result>.
    """
    total: dict[str, Expr] = {}
    for name in of:
        e = parts.expressions[name]
        c = leaf(f"c_{name}", e.range, One, meaning=f"weights of {name}")
        for n in by:
            part = algebraic(e, thing(n), flexible=flexible).T @ c
            total[n] = total[n] + part if n in total else part
    return Parts({f"by_{n}": x for n, x in total.items() if not isinstance(x, Zero)})


def gradient(what: str | Expr, robot: Robot, wrt: str = "q", *, nodes: Sequence[str] = ()) -> Compiled:
    """Return the gradient of a number, such as "kinetic_energy", as a function of arrays: (…, nv).

    The gradient of the potential energy is `gravity_force`.
    """
    if what == "potential_energy":
        if wrt != "q":
            raise NotImplementedError(
                f"wrt: the gradient of the potential energy is supported by 'q' alone, got {wrt!r}; its "
                "gradient by q is hinge.gravity_force, whose derivative by other things hinge.vjp has"
            )
        return compiled(robot, "gravity_force")
    e = one_expression(what)
    if (e.range, e.domain) != (One, One):
        raise ArgumentError(
            f"what: expected a number, such as 'kinetic_energy', got {e.range} ← {e.domain}; see hinge.vjp"
        )
    return compiled(robot, _gradient_parts(e, wrt, checked_robot(robot).is_flexible), nodes)


@cache
def _gradient_parts(e: Expr, wrt: str, flexible: bool) -> Parts:
    return Parts({"gradient": algebraic(e, thing(wrt), flexible=flexible).T})


def second_derivatives(
    what: str | Expr,
    robot: Robot,
    q: ArrayLike,
    *arrays: ArrayLike,
    c: ArrayLike,
    wrt: Sequence[str] = ("q", "qd"),
) -> dict[tuple[str, str], Array]:
    """Return the second derivatives of cᵀ value, blocks (…, nv, nv) by pairs of names, as `vjp` has them.

    Directions are constant in the joints' velocity coordinates, so that the block ("q", "q") is symmetric for
    joints whose q is a vector only: for balls and free joints it differs by the bracket of their group.
    """
    e = one_expression(what)
    pull = vjp(what, robot, wrt)
    f = compiled(checked_robot(robot), _hessian_parts(e, pull.wrt, robot.is_flexible))
    given = {**pull.given(arrays), "c": c}
    found = f.evaluate(q, {n: z for n, z in given.items() if f.takes(n)})
    batch = next(iter(found.values())).shape[:-2] if found else ()
    sizes = {n: f.binding.length(Joint if n == "q" else tangent(thing(n))) for n in pull.wrt}
    shapes = {(m, n): (*batch, sizes[m], sizes[n]) for m in pull.wrt for n in pull.wrt}
    return {(m, n): found.get(f"{m}_{n}", np.zeros(shape)) for (m, n), shape in shapes.items()}


@cache
def _hessian_parts(e: Expr, wrt: tuple[str, ...], flexible: bool) -> Parts:
    by = partial(algebraic, flexible=flexible)
    c = leaf("c", e.range, One, meaning="weights of the value")
    found = {f"{m}_{n}": by(by(e, thing(m)).T @ c, thing(n)) for m in wrt for n in wrt}
    return Parts({n: z for n, z in found.items() if not isinstance(z, Zero)})
