"""What other homes of arrays need: verbs, expressions and steps as functions with changes and gradients.

A `Home` is a program from arrays to arrays, with `push` and `pull`, forward and reverse mode, which are homes
too, so that derivatives of any order are there. Where the results are vectors and numbers whose derivatives
are expressions, `push` and `pull` are D x and Dᵀ c, as in `jvp` and `vjp`; all else, matrices, poses, robots
with closures and steps, is differentiated as it is computed, call by call (`hinge.sweeps.pulled_code`).

q is an array of numbers, as other homes have it: the function is q ↦ f(q / |q|) where there are quaternions,
and placements alike, and gradients are the exact ones of that, zero along a quaternion itself. With `tangent`
a change dq (…, nv) is one more array, the last: the function is f(q ⊕ dq), along `integrate`, and varies with
dq in place of q.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from hinge.algebra import Ask, Expr, One, closed, letters_of, placements
from hinge.binding import Coordinates, Expressed, placed, placed_displaced, placed_gradient
from hinge.dynamics.arguments import shaped
from hinge.dynamics.cached import compiled
from hinge.dynamics.differentials import gradient_parts, is_number, push_parts
from hinge.dynamics.expressions import Parts, expression
from hinge.dynamics.function import Compiled
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot, refuse_text
from hinge.pipeline import build, in_order, named
from hinge.sweeps import Code, Joined, KnownBlock, pulled_code, pushed_code
from hinge.targets import Executable, best_target

__all__ = ["Home", "home"]

#: Shapes of the arrays of one state by name.
Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
_Blocks: TypeAlias = dict[str, KnownBlock]


@runtime_checkable
class HasCode(Protocol):
    """What has code of its own, such as a step of a simulation."""

    robot: Robot

    @property
    def code(self) -> Code:
        """The traced code."""
        ...


class HomeSource:
    """Code that is made when it is first asked for: what a target builds a program from."""

    def __init__(self, make: Callable[[], Code], identity: str | None, label: str) -> None:
        self._make, self.identity, self.label = make, identity, label

    @property
    def code(self) -> Code:
        """The code, its inputs in the order of a call."""
        return self._code

    @cached_property
    def _code(self) -> Code:
        return in_order(self._make())

    def made(self, how: str, make: Callable[[], Code]) -> HomeSource:
        """Return the source of code that is made in a known way of what this one is made of."""
        identity = None if self.identity is None else f"{how} of {self.identity}"
        return HomeSource(make, identity, f"{how} of {self.label}")


#: Results that tell how well others hold.
_STILL = ("residual",)


class Home:
    """A program from arrays to arrays that can be pushed and pulled.

    `inputs` and `results` have the shapes of one state, in the order of the program; `varying` names the
    inputs that it can be differentiated by, `moving` the results that have derivatives: all but residuals,
    which are zero, where a length has none.
    """

    def __init__(self, source: HomeSource, inputs: Shapes, results: Shapes, varying: Sequence[str]) -> None:
        self.source, self.inputs, self.results = source, dict(inputs), dict(results)
        self.varying = tuple(varying)
        self.moving = tuple(n for n in results if n not in _STILL)
        self._made: dict[tuple[str, tuple[str, ...]], Home] = {}

    def __repr__(self) -> str:
        return f"<Home {self.source.label}: {', '.join(self.inputs)} → {', '.join(self.results)}>"

    @cached_property
    def executable(self) -> Executable:
        """The program on the best target; it takes and gives each array of a state in one row."""
        return build(self.source, target=best_target())

    def push(self, by: Sequence[str]) -> Home:
        """Return the changes of moving results: it takes the inputs, and d_<name> for each of these."""
        names = self._checked(by)
        inputs = {**self.inputs, **{f"d_{n}": self.inputs[n] for n in names}}
        return self._home("push", names, inputs, {n: self.results[n] for n in self.moving})

    def pull(self, by: Sequence[str]) -> Home:
        """Return gradients of Σ c · result by these inputs, by_<name>, given the inputs and c_<result>."""
        names = self._checked(by)
        inputs = {**self.inputs, **{f"c_{n}": self.results[n] for n in self.moving}}
        return self._home("pull", names, inputs, {f"by_{n}": self.inputs[n] for n in names})

    def _home(self, mode: str, by: tuple[str, ...], inputs: Shapes, results: Shapes) -> Home:
        found = self._made.get((mode, by))
        if found is None:
            source = self.source.made(f"{mode} by {', '.join(by)}", lambda: self._code(mode, by, inputs))
            varying = [n for n in inputs if n in self.varying or n not in self.inputs]
            found = self._made.setdefault((mode, by), Home(source, inputs, results, varying))
        return found

    def _code(self, mode: str, by: tuple[str, ...], inputs: Shapes) -> Code:
        """Return code that pushes or pulls; `inputs` are those that it takes."""
        return (pushed_code if mode == "push" else pulled_code)(self.source.code, by, self.moving)

    def _checked(self, by: Sequence[str]) -> tuple[str, ...]:
        refuse_text("by", by)
        for n in by:
            if n not in self.varying:
                raise ArgumentError(f"by: expected names among {', '.join(self.varying)}, got {n!r}")
        if not by:
            raise ArgumentError(f"by: expected at least one of {', '.join(self.varying)}, got none")
        return tuple(n for n in self.varying if n in set(by))


class _OfVectors(Home):
    """Vectors and numbers of a robot, whose derivatives are expressions."""

    def __init__(self, f: Compiled, options: Mapping[str, Any], around: _Around) -> None:
        super().__init__(*_described(f, around))
        self._f, self._options, self._around = f, options, around

    def _code(self, mode: str, by: tuple[str, ...], inputs: Shapes) -> Code:
        make = push_parts if mode == "push" else gradient_parts
        try:
            parts = make(self._f.given, tuple(map(_letter, by)), flexible=self._f.robot.is_flexible)
        except (ArgumentError, NotImplementedError):  # letters that are not differentiated
            return super()._code(mode, by, inputs)
        whole = Joined()
        raw = {n: whole.input(n, prod(shape)) for n, shape in inputs.items()}
        values = {**raw, **self._around.given(whole, raw)}
        if mode == "push":
            values |= {f"d_{_letter(n)}": self._around.displaced(whole, n, raw) for n in by}
        found: _Blocks = {}
        if parts.expressions:
            code = compiled(self._f.robot, parts, **self._options).code
            found = whole.add(code, {n: values.get(n, _NONE) for n in code.inputs})
        if mode == "push":
            return whole.code(self._changes(whole, by, found, values))
        return whole.code(self._gradients(whole, by, found, raw))

    def _changes(self, whole: Joined, by: Sequence[str], found: _Blocks, values: _Blocks) -> _Blocks:
        """Return the changes of results: those of numbers are gradients times directions."""
        shown: _Blocks = {}
        for r, e in self._f.given.items():
            if is_number(e):
                slopes = [(found.get(f"{r}_by_{n}"), values[f"d_{n}"]) for n in map(_letter, by)]
                shown[r] = _sum(whole, slopes)
            else:
                shown[r] = found[r] if r in found else np.zeros(prod(self.results[r]), dtype=object)
        return shown

    def _gradients(self, whole: Joined, by: Sequence[str], found: _Blocks, raw: _Blocks) -> _Blocks:
        """Return the gradients by inputs: those of numbers have one weight."""
        numbers, shown = [r for r, e in self._f.given.items() if is_number(e)], dict[str, KnownBlock]()
        for n in by:
            terms = [(found.get(f"{r}_by_{_letter(n)}"), raw[f"c_{r}"]) for r in numbers]
            total = _scaled_sum(whole, found.get(f"by_{_letter(n)}"), terms)
            if total is None:
                shown[f"by_{n}"] = np.zeros(prod(self.inputs[n]), dtype=object)
            else:
                shown[f"by_{n}"] = self._around.gradient(whole, n, total, raw)
        return shown


def _letter(name: str) -> str:
    """Return what expressions are differentiated by where an input of this name varies."""
    return "q" if name == "dq" else name


_NONE = np.zeros(0, dtype=object)


def _sum(whole: Joined, pairs: Sequence[tuple[KnownBlock | None, KnownBlock]]) -> KnownBlock:
    """Return Σ gᵀ d, without what is None."""
    there = [(g.ravel(), d) for g, d in pairs if g is not None]
    if not there:
        return np.zeros((), dtype=object)
    both = [np.concatenate(x) for x in zip(*there, strict=True)]
    return whole.apply(lambda x: x[: len(x) // 2] @ x[len(x) // 2 :], np.concatenate(both))


def _scaled_sum(
    whole: Joined, first: KnownBlock | None, terms: Sequence[tuple[KnownBlock | None, KnownBlock]]
) -> KnownBlock | None:
    """Return first + Σ g c, without what is None, and None if all is; each c is a number."""
    found = first if first is None else first.ravel()
    for g, c in terms:
        if g is not None:
            part = whole.apply(lambda x: x[1:] * x[0], np.append(c, g.ravel()))
            both = part if found is None else np.append(found, part)
            found = (
                part if found is None else whole.apply(lambda x: x[: len(x) // 2] + x[len(x) // 2 :], both)
            )
    return found


class _Around:
    """The numbers of calls as what code takes: configurations, and placements with unit quaternions."""

    def __init__(self, coordinates: Coordinates, *, placed: bool) -> None:
        self.coordinates, self.placed = coordinates, placed

    @property
    def name(self) -> str:
        """What tells it from others for one robot."""
        return "f(q ⊕ dq)" if self.coordinates.tangent else "f(q / |q|)"

    @property
    def is_plain(self) -> bool:
        """Whether code takes the numbers as they are."""
        return self.coordinates.are_plain and not self.placed

    def given(self, whole: Joined, raw: _Blocks) -> _Blocks:
        """Return what code takes in place of numbers of a call."""
        found = {"q": self.coordinates.at(whole, raw["q"], raw.get("dq"))} if len(raw["q"]) else {}
        return found | ({placements.name: placed(whole, raw[placements.name])} if self.placed else {})

    def displaced(self, whole: Joined, name: str, raw: _Blocks) -> KnownBlock:
        """Return the change of what code takes along a change of an input, in the tangent space."""
        change = raw[f"d_{name}"]
        if name in ("q", "dq"):
            return self.coordinates.displaced(whole, change, raw["q"], raw.get("dq"))
        return placed_displaced(whole, change, raw[name]) if name == placements.name else change

    def gradient(self, whole: Joined, name: str, weights: KnownBlock, raw: _Blocks) -> KnownBlock:
        """Return the gradient by an input, given that in the tangent space."""
        if name in ("q", "dq"):
            return self.coordinates.gradient(whole, weights, raw["q"], raw.get("dq"))
        return placed_gradient(whole, weights, raw[name]) if name == placements.name else weights


def home(
    what: Any,
    robot: Robot,
    *,
    nodes: Sequence[str] = (),
    expressed: Expressed = "body",
    parameters: Sequence[str] = (),
    tangent: bool = False,
) -> Home:
    """Return a verb, an expression, several by name, or a step of a simulation, as a `Home`.

    `nodes`, `expressed` and `parameters` as in `compile`; `tangent` as in this module's words.
    """
    robot = checked_robot(robot)
    coordinates = Coordinates(robot, tangent=tangent)
    if isinstance(what, HasCode):
        if what.robot is not robot:
            raise ArgumentError(
                f"what: expected code of robot {robot.name!r}, got that of {what.robot.name!r}"
            )
        if isinstance(what, Compiled):
            return Home(*_described(what, _Around(coordinates, placed=_has_placements(what))))
        return _of_code(what, coordinates)
    parts = _parts(what)
    options: dict[str, Any] = {"nodes": tuple(nodes), "expressed": expressed, "parameters": tuple(parameters)}
    f = compiled(robot, parts, **options)
    around = _Around(coordinates, placed=_has_placements(f))
    if _has_expressions(parts, f):
        return _OfVectors(f, options, around)
    return Home(*_described(f, around))


def _parts(what: Any) -> Parts:
    if isinstance(what, Parts):
        return what
    if isinstance(what, str):
        return expression(what)
    return Parts({"value": what} if isinstance(what, Expr) else dict(named(what)))


def _has_placements(f: Compiled) -> bool:
    return placements.name in f.signature.inputs


def _has_expressions(parts: Parts, f: Compiled) -> bool:
    """Tell whether derivatives are those of expressions: of vectors and numbers, on a tree, by vectors."""
    if parts.blocks or parts.readout is not None or f.readout is not None or parts.touch or parts.splits:
        return False
    if any(e.domain is not One for e in parts.expressions.values()):
        return False
    letters = letters_of(parts.expressions.values())
    return not any(Ask.CLOSURES in x.card.asks for x in letters) and all(
        f.inputs[n].domain is One for n in f.vectors
    )


def _described(f: Compiled, around: _Around) -> tuple[HomeSource, Shapes, Shapes, list[str]]:
    """Return the source of a compiled function, the shapes of its arrays, and what it varies with."""
    compilation = f.compilation()
    flat = {n: size for n, size in f.signature.inputs.items() if size or n == "q"}
    inputs = {n: (size,) if n == "q" else _shape(f, n, size) for n, size in flat.items()}
    base = HomeSource(lambda: compilation.code, compilation.identity, str(f))
    source, inputs, varying = _with_coordinates(base, inputs, around)
    return source, inputs, f.result_shapes, varying


def _shape(f: Compiled, name: str, size: int) -> tuple[int, ...]:
    """Return the shape of an input for one state: rows of nodes and bodies, or a matrix."""
    x = f.inputs[name]
    if x.domain is not One:
        return f.binding.length(x.range), f.binding.length(x.domain)
    return shaped(np.empty(size), (x.range, One)).shape


def _of_code(what: HasCode, coordinates: Coordinates) -> Home:
    """Return what has code of its own as a home."""
    code = what.code
    inputs: dict[str, tuple[int, ...]] = {n: (len(s),) for n, s in code.inputs.items() if s or n == "q"}
    if placements.name in inputs:
        inputs[placements.name] = (len(what.robot.bodies), 7)
    around = _Around(coordinates, placed=placements.name in inputs)
    base = HomeSource(lambda: code, code.identity(), str(getattr(what, "name", "code")))
    source, inputs, varying = _with_coordinates(base, inputs, around)
    return Home(source, inputs, {r.name: r.values.shape for r in code.results}, varying)


def _with_coordinates(
    base: HomeSource, inputs: dict[str, tuple[int, ...]], around: _Around
) -> tuple[HomeSource, dict[str, tuple[int, ...]], list[str]]:
    """Return the source of code of the numbers of calls, its inputs, and what it varies with."""
    if around.coordinates.tangent:
        inputs = {**inputs, "dq": (around.coordinates.robot.nv,)}
    varying = [n for n in inputs if n != closed.name and not (n == "q" and "dq" in inputs)]
    if around.is_plain:
        return base, inputs, varying

    def make() -> Code:
        code, whole = base.code, Joined()
        raw = {n: whole.input(n, prod(shape)) for n, shape in inputs.items()}
        values = {**raw, **around.given(whole, raw)}
        return whole.code(whole.add(code, {n: values.get(n, _NONE) for n in code.inputs}))

    return base.made(around.name, make), inputs, varying
