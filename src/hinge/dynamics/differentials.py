"""Changes along directions, and gradients: derivatives in sweeps of linear cost, without their matrices.

With D the operator that `derivative` returns, a change along x is D x and a gradient Dᵀ c: forward and
reverse mode are the same expression and its adjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hinge.algebra import (
    Expr,
    Leaf,
    One,
    Zero,
    context_of,
    f_ext,
    g,
    leaf,
    leaves,
    letters_of,
    tau_j,
    value,
)
from hinge.algebra import derivative as algebraic
from hinge.binding import Expressed
from hinge.dynamics.arguments import precision, shaped
from hinge.dynamics.cached import compiled, refuse_closures
from hinge.dynamics.called import Called
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
from hinge.dynamics.results import Apart
from hinge.dynamics.values import checked_results
from hinge.errors import ArgumentError
from hinge.model import Robot, as_vector, checked_robot, refuse_text
from hinge.spatial import Array, ArrayLike
from hinge.targets import Way

__all__ = [
    "Pull",
    "Push",
    "gradient",
    "gradient_parts",
    "jacobian_parts",
    "jvp",
    "pulled_parts",
    "push_parts",
    "vjp",
]


class _Differential(Called):
    """A vector expression with its derivative applied: what `jvp` and `vjp` return."""

    def __init__(
        self,
        what: str | Expr | Parts,
        robot: Robot,
        wrt: Iterable[str] | None,
        options: Mapping[str, Any],
        passive: bool,
    ) -> None:
        self.begin()
        if passive is not False:
            if not isinstance(what, str):
                raise ArgumentError("passive: expected a verb by its name with it, got an expression")
            what = expression(what, passive=passive)
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
        loads = ["gravity"] if g in letters_of([e]) else []
        allowed = dict.fromkeys(["q", *self.arrays, *loads, *NUMBERS])
        self.wrt = checked_names(["q", *self.arrays] if wrt is None else wrt, list(allowed))
        # Operators of the user's own are arrays of a call, but nothing is differentiated by them.
        self.arrays += sorted(x.name for x in letters_of([e]) if x.card.given and x.domain is not One)
        refuse_friction(self.wrt, passive=tau_j in leaves(e))
        self.compiled: Compiled = compiled(self.robot, self._parts(inputs), **options)

    def _parts(self, inputs: Mapping[str, Leaf]) -> Parts:
        raise NotImplementedError

    @property
    def _finished(self) -> Callable[[Any], Any]:
        """What makes of the results of the program what a call returns."""
        raise NotImplementedError

    @property
    def _way(self) -> Way:
        """The way of a call's arguments to the inputs of the program."""
        raise NotImplementedError

    @property
    def _taken(self) -> tuple[str, ...]:
        """The inputs of the program, in its order."""
        return "q", *self.compiled.vectors

    @property
    def _results(self) -> tuple[str, ...]:
        """The names of results for `_finished`, in the order of the expressions."""
        raise NotImplementedError

    @cached_property
    def _entry(self) -> Callable[..., Any]:
        """The function of plain arrays in the order of the program; calls go to it natively from now on."""
        found = self.compiled.entry_for(finish=self._finished, names=self._results)
        self.enter(self.compiled.program(), found, self._way)
        return found

    @property
    def shown(self) -> Expr:
        """The value as an output: a letter that is computed once where it is a solve."""
        return value(self.expression, context=context_of(self.expression))

    def _by(self, name: str, inputs: Mapping[str, Leaf]) -> Expr:
        by = inputs[name] if name in inputs else thing(name)
        return algebraic(self.expression, by, at_hinges=True, flexible=self.robot.is_flexible)

    def given(self, arrays: Sequence[ArrayLike]) -> dict[str, ArrayLike]:
        """Return the arrays beside q by name, or raise a TypeError if they are too few or too many."""
        if len(arrays) != len(self.arrays):
            wanted = ", ".join(["q", *self.arrays])
            raise TypeError(
                f"{type(self).__name__.lower()}: expected the arrays {wanted}, got {1 + len(arrays)}"
            )
        return dict(zip(self.arrays, arrays, strict=True))

    def _evaluated(self, q: ArrayLike, given: Mapping[str, Any], gravity: Any, out: Any) -> Any:
        """Return what a call returns, with gravity given or results in arrays of the caller's."""
        vectors = dict(given) if gravity is None else {**given, "gravity": gravity}
        found = self.compiled.evaluate(q, vectors)
        results = dict(zip(self._results, found.values(), strict=True))
        shown = self._finished(dict(results))
        if out is None:
            return shown
        flat = {VALUE: shown[0], **shown[1]} if isinstance(shown[1], dict) else results
        to = checked_results(out, {n: x.shape for n, x in flat.items()}, (), shown[0].dtype)
        assert to is not None
        for n, x in flat.items():
            to[n][...] = x
        return self._finished_in(to)

    def _finished_in(self, to: dict[str, Array]) -> Any:
        """Return what a call returns, of the caller's arrays."""
        raise NotImplementedError


def _is_known(name: str) -> bool:
    """Tell whether all expressions may vary with it."""
    return name == "q" or name in NUMBERS


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

    def in_python(
        self,
        q: ArrayLike,
        *arrays: ArrayLike,
        gravity: ArrayLike | None = None,
        out: Mapping[str, Array] | None = None,
        **directions: ArrayLike,
    ) -> tuple[Array, Array]:
        """Return the value and its change; a direction that is not given is zero.

        `gravity` (…, 3) as in the verbs; `out` are arrays by the names "value" and "change".
        """
        unknown = [n for n in directions if n not in self._directions]
        if unknown:
            raise ArgumentError(f"{unknown[0]}: expected directions d_{', d_'.join(self.wrt)}, got this one")
        given: dict[str, Any] = self.given(arrays)
        for n in self._directions:
            along = directions.get(n)
            given[n] = self._still(n) if along is None else _of_world(along) if n == _DOWN else along
        if gravity is not None or out is not None:
            return self._evaluated(q, {n: given[n] for n in self.compiled.vectors}, gravity, out)
        return self._entry(q, *(given[n] for n in self.compiled.vectors))

    if TYPE_CHECKING:
        __call__ = in_python

    @cached_property
    def _directions(self) -> dict[str, None]:
        return {f"d_{n}": None for n in self.wrt}

    def _still(self, direction: str) -> Array:
        """Return the zeros of a direction that is not given."""
        space = self.compiled.inputs[direction].range
        size = self.compiled.binding.length(space)
        return shaped(np.zeros(size), (space, One))

    @property
    def _way(self) -> Way:
        arrays = ["q", *self.arrays]
        inputs = ((arrays.index(n), None, None) if n in arrays else self._along(n) for n in self._taken)
        return Way(tuple(inputs), len(arrays), len(arrays), out=True)

    def _along(self, direction: str) -> tuple[int, str | None, object]:
        """Return how a direction comes: gravity's in another form than the program has, so not natively."""
        return -1, None if direction == _DOWN else direction, self._still(direction)

    @property
    def _results(self) -> tuple[str, ...]:
        return VALUE, "change"

    @property
    def _finished(self) -> Callable[[Any], tuple[Array, Array]]:
        return _PUSHED

    def _finished_in(self, to: dict[str, Array]) -> tuple[Array, Array]:
        return to[VALUE], to["change"]


class Pull(_Differential):
    """f(q, …, c) → (value, {"q": ∂(cᵀ value)/∂q, …})."""

    def _parts(self, inputs: Mapping[str, Leaf]) -> Parts:
        c = leaf("c", self.expression.range, One, meaning="weights of the value")
        grads = {f"by_{n}": self._by(n, inputs).T @ c for n in self.wrt}
        return Parts({VALUE: self.shown, **grads})

    def in_python(
        self,
        q: ArrayLike,
        *arrays_and_c: ArrayLike,
        gravity: ArrayLike | None = None,
        out: Mapping[str, Array] | None = None,
    ) -> tuple[Array, dict[str, Array]]:
        """Return the value and the gradients of cᵀ value, c the last argument.

        `gravity` (…, 3) as in the verbs; `out` are arrays by "value" and the names of what varies.
        """
        if len(arrays_and_c) != len(self.arrays) + 1:
            wanted = ", ".join(["q", *self.arrays, "c"])
            raise TypeError(f"pull: expected the arrays {wanted}, got {1 + len(arrays_and_c)}")
        given = dict(zip((*self.arrays, "c"), arrays_and_c, strict=True))
        vectors = {n: given[n] for n in self.compiled.vectors}
        if gravity is not None or out is not None:
            return self._evaluated(q, vectors, gravity, out)
        return self._entry(q, *vectors.values())

    if TYPE_CHECKING:
        __call__ = in_python

    @property
    def _way(self) -> Way:
        names = ["q", *self.arrays, "c"]
        inputs = tuple((names.index(n), None, None) for n in self._taken)
        return Way(inputs, len(names), len(names), out=True)

    @property
    def _results(self) -> tuple[str, ...]:
        return VALUE, *self.wrt

    @property
    def _finished(self) -> Callable[[Any], tuple[Array, dict[str, Array]]]:
        return _pulled_by_gravity if "gravity" in self.wrt else _PULLED

    def _finished_in(self, to: dict[str, Array]) -> tuple[Array, dict[str, Array]]:
        return to[VALUE], {n: to[n] for n in self.wrt}


#: What calls return: (value, change), and (value, gradients by name).
_PUSHED, _PULLED = Apart(2), Apart(1)


def _pulled_by_gravity(found: dict[str, Array]) -> tuple[Array, dict[str, Array]]:
    """Return what a call returns, gravity (…, 3) in place of the acceleration (…, 6) that stands for it."""
    value, by = _PULLED(found)
    return value, {**by, "gravity": -by["gravity"][..., 3:]}


#: The direction of gravity in the letters of a program.
_DOWN = "d_gravity"


def _of_world(change: ArrayLike) -> Array:
    """Return the change of g, the acceleration of the world (…, 6) that stands for gravity (…, 3)."""
    dtype = precision(change)
    down = as_vector(change, _DOWN, 3, "it is a change of gravity", dtype=dtype)
    return np.concatenate([np.zeros_like(down), -down], axis=-1)


def jvp(
    what: str | Expr | Parts,
    robot: Robot,
    wrt: Iterable[str] | None = None,
    *,
    nodes: Sequence[str] = (),
    expressed: Expressed = "body",
    parameters: Sequence[str] = (),
    passive: bool = False,
) -> Push:
    """Return the change of a verb or of a vector expression along directions, as a function: forward mode.

    `push = jvp("forward_dynamics", robot)`; `push(q, qd, tau, d_q=…, d_qd=…)` gives the value and its change
    (…, n) along these directions, each of the length of qd, in sweeps of linear cost. `wrt` names what may
    vary, all arrays unless given, and may name numbers of the model: "inertias" (…, bodies, 10), "placements"
    (…, bodies, 6), motions of the joints' inner frames in their own axes, "rotors" (…, nv), and "friction"
    (…, nv, 3) of expressions with the joints' own forces. These are the robot's own, or with `parameters`
    arrays that calls take after the others. It may name "gravity" (…, 3) too, and calls take `gravity=`.
    `nodes` and `expressed` as in `compile`: with nodes the forces f_ext (…, nodes, 6) on them are an array of
    the call. With `passive` the joints' own forces act, as in the verb.
    """
    options = {"nodes": nodes, "expressed": expressed, "parameters": parameters}
    return Push(what, robot, wrt, options, passive)


def vjp(
    what: str | Expr | Parts,
    robot: Robot,
    wrt: Iterable[str] | None = None,
    *,
    nodes: Sequence[str] = (),
    expressed: Expressed = "body",
    parameters: Sequence[str] = (),
    passive: bool = False,
) -> Pull:
    """Return the gradients of cᵀ value of a verb or of a vector expression, as a function: reverse mode.

    `pull = vjp("forward_dynamics", robot)`; `pull(q, qd, tau, c)` gives the value and a dict of gradients by
    name, each (…, nv), in sweeps of linear cost: it is the adjoint of the operator that `derivative` returns.
    Gradients by numbers of the model have the shapes of their directions; options as in `jvp`.
    """
    options = {"nodes": nodes, "expressed": expressed, "parameters": parameters}
    return Pull(what, robot, wrt, options, passive)


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
    found = {n: algebraic(e, known[n] if n in known else thing(n), flexible=flexible) for n in names}
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
            part = algebraic(e, thing(n), at_hinges=True, flexible=flexible).T @ c
            total[n] = total[n] + part if n in total else part
    return Parts({f"by_{n}": x for n, x in total.items() if not isinstance(x, Zero)})


def is_number(e: Expr) -> bool:
    """Tell whether an expression is a number."""
    return (e.range, e.domain) == (One, One)


def push_parts(given: Mapping[str, Expr], by: tuple[str, ...], *, flexible: bool = False) -> Parts:
    """Return the changes of vectors along d_<name>, those that are not zero, and the gradients of numbers.

    A change has the name of its vector, a gradient is <number>_by_<name>.
    """
    found: dict[str, Expr] = {}
    for name, e in given.items():
        for n, D in _derivatives(e, by, flexible).items():
            if is_number(e):
                found[f"{name}_by_{n}"] = D.T
                continue
            part = D @ leaf(f"d_{n}", D.domain, One, unicode=f"δ{n}", meaning=f"a change of {n}")
            found[name] = found[name] + part if name in found else part
    return Parts({n: x for n, x in found.items() if not isinstance(x, Zero)})


def gradient_parts(given: Mapping[str, Expr], by: tuple[str, ...], *, flexible: bool = False) -> Parts:
    """Return gradients of Σ cᵀ vector, by_<name>, with weights c_<vector>, and those of numbers.

    What is zero is left out; the gradient of a number is <number>_by_<name>.
    """
    found: dict[str, Expr] = {}
    for name, e in given.items():
        c = leaf(f"c_{name}", e.range, One, meaning=f"weights of {name}")
        for n, D in _derivatives(e, by, flexible).items():
            if is_number(e):
                found[f"{name}_by_{n}"] = D.T
                continue
            part = D.T @ c
            found[f"by_{n}"] = found[f"by_{n}"] + part if f"by_{n}" in found else part
    return Parts({n: x for n, x in found.items() if not isinstance(x, Zero)})


def _derivatives(e: Expr, by: tuple[str, ...], flexible: bool) -> dict[str, Expr]:
    """Return the derivatives of an expression by q and by letters of its own, or numbers of the model."""
    own = {x.name: x for x in letters_of([e]) if x.domain is One and not x.needs}
    there = [n for n in by if n in own or _is_known(n)]
    return {
        n: algebraic(e, own[n] if n in own else thing(n), at_hinges=True, flexible=flexible) for n in there
    }


def gradient(
    what: str | Expr,
    robot: Robot,
    wrt: str = "q",
    *,
    nodes: Sequence[str] = (),
    expressed: Expressed = "body",
    parameters: Sequence[str] = (),
) -> Compiled:
    """Return the gradient of a number, such as "kinetic_energy", as a function of arrays: (…, nv).

    The gradient of the potential energy is `gravity_force`. Options as in `compile`.
    """
    if what == "potential_energy":
        if wrt != "q":
            raise NotImplementedError(
                f"wrt: the gradient of the potential energy is supported by 'q' alone, got {wrt!r}; its "
                "gradient by q is hinge.gravity_force, whose derivative by other things hinge.vjp has"
            )
        return compiled(robot, "gravity_force", nodes, expressed, parameters=parameters)
    e = one_expression(what)
    if (e.range, e.domain) != (One, One):
        raise ArgumentError(
            f"what: expected a number, such as 'kinetic_energy', got {e.range} ← {e.domain}; see hinge.vjp"
        )
    parts = _gradient_parts(e, wrt, checked_robot(robot).is_flexible)
    return compiled(robot, parts, nodes, expressed, parameters=parameters)


@cache
def _gradient_parts(e: Expr, wrt: str, flexible: bool) -> Parts:
    return Parts({"gradient": algebraic(e, thing(wrt), at_hinges=True, flexible=flexible).T})
