"""Functions of JAX made of verbs and expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from hinge.algebra import Expr, Leaf, One, closed
from hinge.dynamics import Compiled, Parts, compiled, expression, shape_of
from hinge.errors import ArgumentError
from hinge.jax.arguments import by_name, flat_arrays
from hinge.jax.expressions import OfExpressions
from hinge.jax.extras import jax
from hinge.jax.primitive import call
from hinge.jax.routines import Routine
from hinge.model import Robot, checked_robot
from hinge.pipeline import named

#: The order of arrays in a call; others follow by name, numbers of the model at the end.
_ORDER = ("q", "qd", "qdd", "tau")
BACKENDS = ("auto", "native", "xla")


class Function:
    """A routine as a function of arrays (…, shape), for `jit`, `vmap`, `grad` and the rest of JAX.

    `arguments` are the shapes of a state's arrays by name, `results` those of its results. One result is an
    array, several are a dict by name.
    """

    def __init__(
        self,
        routine: Routine,
        arguments: Mapping[str, tuple[int, ...]],
        results: Mapping[str, tuple[int, ...]],
        robot: Robot,
    ) -> None:
        self.routine, self.robot = routine, robot
        self.arguments, self.results = dict(arguments), dict(results)
        self.__name__ = self.__qualname__ = "_".join(results)

    def __repr__(self) -> str:
        shown = ", ".join(self.arguments)
        return f"<hinge.jax function ({shown}) → {', '.join(self.results)} of {self.robot.name!r}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return the results; leading dimensions are a batch and broadcast."""
        given = by_name(self.__name__, list(self.arguments), args, named)
        flat = flat_arrays(given, self.arguments)
        found = call(self.routine, flat)
        shown = {n: x.reshape((*x.shape[:-1], *self.results[n])) for n, x in found.items()}
        return next(iter(shown.values())) if len(shown) == 1 else shown


def function(
    what: str | Expr | Parts | Mapping[str, Expr],
    robot: Robot,
    *,
    nodes: Sequence[str] = (),
    expressed: Any = "body",
    parameters: Sequence[str] = (),
    tangent: bool = False,
    backend: str = "auto",
) -> Function:
    """Return a verb or expressions of a robot as a function of JAX."""
    jax()
    robot = checked_robot(robot)
    _refuse_backend(backend)
    parts = parts_of(what, robot)
    options = {"nodes": tuple(nodes), "expressed": expressed, "parameters": tuple(parameters)}
    own = compiled(robot, parts, **options)
    letters = _letters(own)
    lengths = own.binding.length
    routine = OfExpressions(robot, parts.expressions, letters, lengths, options, own)
    arguments = {"q": (robot.nq,), **{n: shape_of((x.range, One), lengths) for n, x in letters.items()}}
    results = {n: shape_of((e.range, e.domain), lengths) for n, e in parts.expressions.items()}
    return Function(routine, arguments, results, robot)


def parts_of(what: Any, robot: Robot) -> Parts:
    """Return the expressions of what is asked for."""
    if isinstance(what, Parts):
        return what
    if isinstance(what, str):
        is_closed = what == "forward_dynamics" and bool(robot.closures)
        return expression(what, closed=is_closed)
    return Parts(dict(named(what)))


def _letters(own: Compiled) -> dict[str, Leaf]:
    """Return the letters that a call gives, in order."""
    given = own.inputs
    names = [n for n in own.vectors if n in given]
    numbers = {x.name for x in own.binding.parameters}
    key = {n: (n in numbers, _ORDER.index(n) if n in _ORDER else len(_ORDER), n) for n in names}
    found = {n: given[n] for n in sorted(names, key=lambda n: key[n])}
    for n, x in found.items():
        if x.domain is not One:
            raise NotImplementedError(
                f"{n}: letters that are operators are not supported in functions of JAX; give a vector, or "
                "numbers of the model by parameters"
            )
    return found


def _refuse_backend(backend: Any) -> None:
    if backend not in BACKENDS:
        raise ArgumentError(f"backend: expected {', '.join(map(repr, BACKENDS))}, got {backend!r}")
    if backend == "xla":
        raise NotImplementedError("backend: 'xla' is not there yet; give 'native' or 'auto'")
