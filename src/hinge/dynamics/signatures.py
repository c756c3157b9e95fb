"""Verbs from their signatures: a function's parameters define the call of the expression of its name.

    @verb
    def forward_dynamics(robot, q, qd, tau, *, external=None, gravity=None, passive=False, …): …

The positions after `robot` are arrays, each the letter of its name unless `@verb(force=f_ext)` says
otherwise. `frame` and `expressed` choose frames and axes; `external`, `gravity`, `base`, `passive` and `out`
mean the same in all verbs. A function that returns a dataclass has its fields filled by the parts of the
expression; what others show beside the value of an expression is in `views`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cached_property, wraps
from inspect import Parameter, Signature, signature
from operator import itemgetter
from typing import Any, ParamSpec, TypeVar, cast, overload

import numpy as np

from hinge.algebra import Leaf, Node, closed
from hinge.binding import Expressed
from hinge.dynamics.arguments import external_forces, precision, rows_that_hold
from hinge.dynamics.cached import CALLS, ROWS, Frames, Key, checked_axes, names_of, program
from hinge.dynamics.expressions import CATALOGUE, CLOSURES, VERBS, WITH_OPTIONS, Parts, expression
from hinge.dynamics.function import Compiled, Finish
from hinge.dynamics.moving import CALLED, base_inputs
from hinge.dynamics.results import filling
from hinge.dynamics.views import VIEWS
from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, as_vector, checked_robot, common_batch
from hinge.spatial import Array, ArrayLike
from hinge.targets import Dispatcher, best_target, dispatcher

P = ParamSpec("P")
R = TypeVar("R")

#: Arguments that choose the code of a verb beside the robot.
CHOICES = ("frame", "expressed", "passive")
#: Arguments with the same meaning in all verbs, and their neutral values.
OPTIONS: dict[str, Any] = {
    "external": None,
    "gravity": None,
    "base": None,
    "out": None,
    "passive": False,
    "held": None,
}
#: The caller's names of inputs.
ARGUMENTS = {"f_ext": "external", closed.name: "held", **CALLED}


@overload
def verb(f: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def verb(**letters: Leaf) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def verb(f: Callable[..., Any] | None = None, /, **letters: Leaf) -> Any:
    """Return a function that evaluates the expression of its name; see the module for the conventions.

    It is a native function that goes straight into the code of robots it knows where the best target has one;
    each other call asks for the target. Arrays stand for the letters of their names, or for `letters`.
    """
    if f is None:
        return lambda g: Verb(g, letters).function  # pyright: ignore[reportUnknownLambdaType]
    return Verb(f, letters).function


class Verb:
    """A verb: the arguments of its signature, and the computation of its value."""

    def __init__(self, f: Callable[..., Any], letters: Mapping[str, Leaf]) -> None:
        self.name: str = f.__name__.lstrip("_")
        parameters = signature(f).parameters
        fixed = [n for n, p in parameters.items() if p.kind is not Parameter.KEYWORD_ONLY]
        self.positions = tuple(fixed)
        self.arrays = {n: letters[n].name if n in letters else n for n in fixed[2:] if n not in CHOICES}
        self.at_nodes = {n for n, x in letters.items() if x.range is Node}
        self.choices = tuple(n for n in CHOICES if n in parameters)
        self.options = {n: x for n, x in OPTIONS.items() if n in parameters}
        self._view = VIEWS.get(self.name)
        is_known = self.name in VERBS or self._view is not None
        self._is_direct = is_known and not self.at_nodes
        self.defaults = {n: p.default for n, p in parameters.items() if p.default is not Parameter.empty}
        self._names, self._given = set(parameters), f
        self._forms: dict[tuple[Hashable, ...], Form] = {}
        self._dispatcher: Dispatcher | None = None
        self.function = self._python = self._checking(f)
        if is_known:
            self._dispatcher = dispatcher(self._python, self.choices)
            self.function = self._dispatcher.function
            ROWS.append(self._dispatcher.forget)

    def _checking(self, f: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            form = self._forms.get((len(args), *kwargs)) or self._form(args, kwargs)
            values = (form, *args, *kwargs.values()) if kwargs else (form, *args)
            key = form.key(values)
            known = CALLS.look(key)
            if known is not None:
                return known(*form.arrays(values))
            return self._value(self.defaults | dict(zip(form.names, values[1:], strict=True)), key)

        return call

    def _form(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Form:
        """Return the form of a call that is the first of its form, or raise the TypeError of a wrong call."""
        names = *self.positions[: len(args)], *kwargs
        if len(set(names)) < len(args) + len(kwargs) or self._names != {*self.defaults, *names}:
            self._given(*args, **kwargs)
        return self._forms.setdefault((len(args), *kwargs), Form(names, ("q", *self.arrays)))

    @cached_property
    def _types(self) -> Signature:
        return signature(self._given, eval_str=True)

    def _value(self, given: dict[str, Any], key: tuple[Hashable, ...]) -> Any:
        """Return the value of the verb for all its arguments by name; `key` is what the call is known by."""
        robot, q = checked_robot(given["robot"]), given["q"]
        if self._view is not None and self._view.check is not None:
            self._view.check(robot)
        chosen = {n: given[n] for n in self.options if given[n] is not self.options[n]}
        parts = self._expression(chosen, bool(robot.closures))
        frame: Frames = self._frame(given)
        nodes, forces = external_forces(chosen.get("external"))
        nodes = names_of(robot, frame) if "frame" in self.choices else nodes
        axes = self._axes(given)
        vectors = {x: given[n] for n, x in self.arrays.items()}
        vectors |= {self.arrays[n]: _at_frames(robot, q, given[n], n, frame) for n in self.at_nodes}
        given_numbers = (closed.name,) if "held" in chosen else ()
        f = program(Key(best_target(), robot, parts, nodes, axes, parameters=given_numbers))
        entry = f.entry_for(one_node=isinstance(frame, str), finish=self._finish(frame))
        if chosen.keys() <= {"passive", "out"}:
            self._introduce(robot, entry, given | {"expressed": axes})
        if not chosen.keys() <= {"passive"}:
            return self._slowly(f, frame, q, vectors | forces, chosen)
        if self._is_direct:
            CALLS.put(key, entry)
        return entry(q, *vectors.values())

    def _finish(self, frame: Frames) -> Finish | None:
        """Return what makes of the results what the verb returns, if that is not an array."""
        if self._view is not None:
            return self._view.one if isinstance(frame, str) else self._view.several
        return None if self.name in CATALOGUE or self.name in CLOSURES else self._as_dataclass

    @cached_property
    def _as_dataclass(self) -> Finish:
        made: Any = self._types.return_annotation
        assert is_dataclass(made)
        return filling(cast("type[Any]", made))

    def _expression(self, chosen: Mapping[str, Any], is_closed: bool) -> Parts:
        if self._view is not None:
            return self._view.parts
        if self.name not in WITH_OPTIONS:
            return expression(self.name, closed=is_closed)
        own, moving = chosen.get("passive", False), "base" in chosen
        return expression(self.name, passive=own, base=moving, closed=is_closed)

    def _frame(self, given: Mapping[str, Any]) -> Frames:
        return given["frame"] if "frame" in self.choices else ()

    def _axes(self, given: Mapping[str, Any]) -> Expressed:
        if "expressed" not in self.choices:
            return "body"
        axes = checked_axes(given["expressed"])
        if axes == "world" and self._types.parameters["expressed"].annotation is not Expressed:
            raise ArgumentError(
                "expressed: expected 'body' or 'world-aligned' for a classical acceleration, got 'world', "
                "which moves the origin away from the frame"
            )
        return axes

    def _introduce(self, robot: Robot, entry: Callable[..., Any], given: Mapping[str, Any]) -> None:
        """Register an entry for a robot and choices with the native function."""
        chosen = [given[n] for n in self.choices]
        if self._dispatcher is not None and all(c is None or type(c) in (str, bool) for c in chosen):
            self._dispatcher.introduce(robot, entry, *chosen)

    def _slowly(
        self,
        f: Compiled,
        frame: Frames,
        q: ArrayLike,
        vectors: Mapping[str, ArrayLike],
        chosen: Mapping[str, Any],
    ) -> Any:
        """Return the value of a call with options, by `evaluate`."""
        given, base, gravity = dict(vectors), chosen.get("base"), chosen.get("gravity")
        if "held" in chosen:
            given[closed.name] = rows_that_hold(f.robot, chosen["held"])
        if base is not None:
            given |= base_inputs(base, f.robot, gravity, {"q": q, **given})
        elif gravity is not None:
            given["gravity"] = gravity
        one = isinstance(frame, str)
        if one:
            given |= {
                x: np.asarray(given[x])[..., None, :] for n, x in self.arrays.items() if n in self.at_nodes
            }
        found = f.evaluate(q, given, called=ARGUMENTS, out=self._target(f, chosen.get("out")))
        if self.name not in f.given:
            return self._as_dataclass(found)
        return f.of_one_node(self.name, found[self.name]) if one else found[self.name]

    def _target(self, f: Compiled, out: Any) -> Mapping[str, Any] | None:
        """Return the arrays of `out` by name: one, or those of the dataclass that the verb returns."""
        if out is None or self.name in f.given:
            return None if out is None else {self.name: out}
        made = self._types.return_annotation
        if not isinstance(out, made):
            raise ArgumentError(f"out: expected an object of {made.__name__}, got {type(out).__name__}")
        return vars(out)


class Form:
    """How many arguments come by position and which by name, and where in all such calls things are.

    The values of a call are its form, then what comes for `names`. `arrays` takes the arrays out of them, and
    `key` what the call is known by: the form and all that are no arrays.
    """

    def __init__(self, names: Sequence[str], arrays: Sequence[str]) -> None:
        at = {n: k for k, n in enumerate(names, 1)}
        self.names, self.arrays = names, _taking([at[n] for n in arrays])
        self._frame, self._passive = at.get("frame", 0), at.get("passive", 0)
        self._chosen = _taking([0, *(k for n, k in at.items() if n not in (*arrays, "frame"))])
        self.key = self._checked_key if self._frame or self._passive else self._chosen

    def _checked_key(self, values: tuple[Any, ...]) -> tuple[Hashable, ...]:
        """Return the key, in which a list of frames is as good as a tuple, and `passive=1` is not `True`."""
        frame = values[self._frame]
        names = tuple(cast("list[str]", frame)) if type(frame) is list else frame
        return self._chosen(values), names, type(values[self._passive])


def _taking(places: Sequence[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return what takes these items out of a tuple, quickly."""
    first, end = places[0], places[-1] + 1
    return itemgetter(slice(first, end)) if [*range(first, end)] == [*places] else itemgetter(*places)


def _at_frames(robot: Robot, q: ArrayLike, value: ArrayLike, name: str, frame: Frames) -> Array:
    """Return spatial vectors at one frame (…, 6), or at several (…, n, 6), checked against q."""
    dtype = precision(q, value)
    found = as_vector(value, name, 6, "a spatial vector has six numbers", dtype=dtype)
    count = len(names_of(robot, frame))
    if not isinstance(frame, str) and (found.ndim < 2 or found.shape[-2] != count):
        raise ArgumentError(
            f"{name}: expected shape (…, {count}, 6), a row for each frame, got {found.shape}"
        )
    batch = found if isinstance(frame, str) else found[..., 0] if count else found.reshape(-1)
    common_batch({"q": as_configuration(robot, q, dtype=dtype), name: batch})
    return found
