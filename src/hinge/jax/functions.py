"""Functions of JAX made of verbs, expressions and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from hinge.algebra import Expr, Leaf, One
from hinge.dynamics import Compiled, External, Parts, compiled, expression, shape_of
from hinge.errors import ArgumentError
from hinge.jax.arguments import by_name, flat_arrays
from hinge.jax.blocks import OfBlocks, refuse_blocks
from hinge.jax.charts import Chart
from hinge.jax.expressions import OfExpressions
from hinge.jax.extras import jax
from hinge.jax.gradients import OfClosed, OfStep
from hinge.jax.primitive import call
from hinge.jax.routines import Routine
from hinge.jax.values import OfValues
from hinge.model import Robot, checked_robot
from hinge.pipeline import named
from hinge.sim import Integrator
from hinge.sim import step as step_code
from hinge.spatial import ArrayLike

#: The order of arrays in a call; others follow by name, numbers of the model at the end.
ORDER = ("q", "qd", "qdd", "tau")
BACKENDS = ("auto", "native", "xla")
_Kind = TypeVar("_Kind", bound=OfExpressions)
#: How many numbers rows of a step's inputs have.
ROWS = {"inertias": 10, "placements": 7, "friction": 3, "f_ext": 6}


class Function:
    """A routine as a function of arrays, for `jit`, `vmap`, `grad` and the rest of JAX.

    `arguments` are the shapes of one state's arrays by name, `results` those of its results. One result is an
    array, several are a dict by name, those of a step a tuple. Quaternions are normalised first.
    """

    def __init__(
        self,
        name: str,
        routine: Routine,
        arguments: Mapping[str, tuple[int, ...]],
        results: Mapping[str, tuple[int, ...]],
        robot: Robot,
        *,
        tangent: bool = False,
        finish: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.robot, self._routine, self._finish = robot, routine, finish
        self.arguments, self.results = dict(arguments), dict(results)
        self._charts = {n: c for n in arguments if (c := Chart.of(robot, n)) is not None}
        self._tangent = tangent
        if tangent:
            own = list(self.arguments.items())
            self.arguments = dict([own[0], ("dq", (robot.nv,)), *own[1:]])
        self.__name__ = self.__qualname__ = name

    def __repr__(self) -> str:
        given, found = ", ".join(self.arguments), ", ".join(self.results)
        return f"<hinge.jax {self.__name__}({given}) → {found}, {self.robot.name!r}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return the results; leading dimensions are a batch and broadcast."""
        given = by_name(self.__name__, list(self.arguments), args, named)
        flat = flat_arrays(given, self.arguments)
        if self._tangent:
            flat["q"] = _moved(self._charts.get("q"), flat["q"], flat.pop("dq"))
        flat |= {n: chart.normalized(flat[n]) for n, chart in self._charts.items()}
        found = call(self._routine, flat)
        shown = {n: x.reshape((*x.shape[:-1], *self.results[n])) for n, x in found.items()}
        if self._finish is not None:
            return self._finish(shown)
        return next(iter(shown.values())) if len(shown) == 1 else shown


def _moved(chart: Chart | None, q: Any, dq: Any) -> Any:
    return q + dq if chart is None else chart.moved(q, dq)


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
    """Return a verb, an expression or several by name as a function of JAX.

        fd = hinge.jax.function("forward_dynamics", robot)
        jax.jit(jax.vmap(jax.grad(lambda q, qd, tau: fd(q, qd, tau).sum())))

    It takes q and the vectors of `hinge.compile` in its order, and numbers of the model that `parameters`
    names after them, (…, shape) each; leading dimensions are batches and broadcast. All are float32, or all
    float64, which JAX has with `jax_enable_x64`. `nodes` and `expressed` as in `compile`.

    `backend` "native", which "auto" takes, is machine code for the CPU. "xla" is blocks of all bodies in
    operations of XLA, for accelerators: vectors and numbers of trees, compiled in seconds.

    Derivatives are Hinge's, of any order: changes and gradients are programs too. Those by q are by its
    coordinates (nq), of q ↦ f(q / |q|) for quaternions; with `tangent` there is an argument dq (…, nv) after
    q, the value is that at normalized(q + N(q) dq), and derivatives by dq at zero are those of `hinge.jvp`
    and `hinge.vjp`. Operators change by columns. `forward_dynamics` of a robot with closures has first
    derivatives.
    """
    jax()
    robot = checked_robot(robot)
    if backend not in BACKENDS:
        raise ArgumentError(f"backend: expected one of {', '.join(map(repr, BACKENDS))}, got {backend!r}")
    if not isinstance(tangent, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"tangent: expected True or False, got {tangent!r}")
    parts = _parts_of(what, robot)
    options: dict[str, Any] = {"nodes": tuple(nodes), "expressed": expressed, "parameters": tuple(parameters)}
    own = compiled(robot, parts, **options)
    letters, lengths = _letters(own), own.binding.length
    arguments = {"q": (robot.nq,), **{n: shape_of((x.range, One), lengths) for n, x in letters.items()}}
    name = what if isinstance(what, str) else parts.verb or "_".join(parts.expressions)
    made = _Making(f"{name} of {robot.name}", robot, parts, own, letters, options)
    routine, results = made.of_blocks() if backend == "xla" else made.routine()
    return Function(name, routine, arguments, results, robot, tangent=tangent)


class _Making:
    """What a function is made of."""

    def __init__(
        self,
        name: str,
        robot: Robot,
        parts: Parts,
        own: Compiled,
        letters: Mapping[str, Leaf],
        options: Mapping[str, Any],
    ) -> None:
        self.name, self.robot, self.parts, self.own = name, robot, parts, own
        self.letters, self.options = letters, options

    def routine(self) -> tuple[Routine, dict[str, tuple[int, ...]]]:
        """Return the routine, and the shapes of its results."""
        parts, lengths = self.parts, self.own.binding.length
        inputs = {"q": self.robot.nq, **{n: lengths(x.range) for n, x in self.letters.items()}}
        if parts.readout is not None or parts.reader is not None or parts.blocks:
            shapes = dict(self.own.signature.results)
            return OfValues(self.name, self.own, inputs), shapes
        for passive in (False, True):
            if self.robot.closures and parts == _closed(passive):
                return OfClosed(self.own, inputs, passive=passive, options=self.options), self._shapes()
        return self._expressions(OfExpressions), self._shapes()

    def of_blocks(self) -> tuple[Routine, dict[str, tuple[int, ...]]]:
        """Return the routine as blocks of XLA, and the shapes of its results; refuse what has no blocks."""
        parts = self.parts
        missing = ["closures"] if self.robot.closures else []
        has_formula = parts.readout is not None or parts.reader is not None
        missing += ["results that are formulas"] if has_formula else []
        missing += [f"blocks {n}" for n in parts.blocks]
        refuse_blocks(self.name, missing)
        made = self._expressions(OfBlocks)
        _ = made.value
        return made, self._shapes()

    def _expressions(self, kind: type[_Kind]) -> _Kind:
        lengths = self.own.binding.length
        return kind(
            self.robot, self.parts.expressions, self.letters, lengths, self.options, self.own, self.name
        )

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        lengths = self.own.binding.length
        return {n: shape_of((e.range, e.domain), lengths) for n, e in self.parts.expressions.items()}


def _closed(passive: bool) -> Parts:
    return expression("forward_dynamics", passive=passive, closed=True)


def _parts_of(what: Any, robot: Robot) -> Parts:
    """Return the expressions of what is asked for."""
    if isinstance(what, Parts):
        found = what
    elif isinstance(what, str):
        found = expression(what)
    else:
        found = Parts(dict(named(what)))
    if robot.closures and found.verb == "forward_dynamics":
        for passive in (False, True):
            if found == expression("forward_dynamics", passive=passive):
                return _closed(passive)
    return found


def _letters(own: Compiled) -> dict[str, Leaf]:
    """Return the letters that a call gives, in order."""
    given = own.inputs
    names = [n for n in own.vectors if n in given]
    numbers = {x.name for x in own.binding.parameters}
    key = {n: (n in numbers, ORDER.index(n) if n in ORDER else len(ORDER), n) for n in names}
    found = {n: given[n] for n in sorted(names, key=lambda n: key[n])}
    for n, x in found.items():
        if x.domain is not One:
            raise NotImplementedError(
                f"{n}: letters that are operators are not supported in functions of JAX; give vectors, or "
                "numbers of the model by parameters"
            )
    return found


def step(
    robot: Robot,
    dt: float | None = None,
    *,
    integrator: str | Integrator = "rk4",
    control: Any = None,
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = True,
    parameters: Mapping[str, ArrayLike] | None = None,
    project: bool = True,
    inputs: Iterable[str] = (),
) -> Function:
    """Return a step of a simulation as a function of JAX, (q, qd, tau) → (next_q, next_qd), for `scan`.

    One call of machine code, whose gradients are another: those of `hinge.Rollout`. Arguments are those of
    `hinge.sim.step`: without `control` forces tau are an argument, constant through the step; without `dt`
    its length is; `inputs` names more numbers that calls give, such as "target_q" of a law, or "inertias" of
    `parameters`. There are first derivatives; changes along directions are made of gradients and cost as many
    as there are results. Derivatives by q are by coordinates.
    """
    jax()
    code = step_code(
        robot,
        dt,
        integrator=integrator,
        control=control,
        external=external,
        gravity=gravity,
        passive=passive,
        parameters=parameters,
        project=project,
        inputs=inputs,
    )
    shapes = {n: (size // ROWS[n], ROWS[n]) if n in ROWS else (size,) for n, size in code.inputs.items()}
    routine = OfStep(code, f"a step of {code.robot.name}")
    results = {n: (size,) for n, size in routine.results.items()}
    return Function("step", routine, shapes, results, code.robot, finish=_pair)


def _pair(found: dict[str, Any]) -> tuple[Any, Any]:
    return found["next_q"], found["next_qd"]


def plus(robot: Robot) -> Callable[[Any, Any], Any]:
    """Return (q, dq) ↦ normalized(q + N(q) dq) as a function of JAX: q moved in the tangent space.

    For coordinates that are vectors it is the sum. With it optimisers make a step of dq (…, nv).
    """
    jax()
    robot = checked_robot(robot)
    shapes = {"q": (robot.nq,), "dq": (robot.nv,)}
    chart = Chart.of(robot, "q")

    def moved(q: Any, dq: Any) -> Any:
        flat = flat_arrays({"q": q, "dq": dq}, shapes)
        return _moved(chart, flat["q"], flat["dq"])

    return moved
