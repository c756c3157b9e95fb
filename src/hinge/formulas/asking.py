"""`symbolic`: from what is asked for to formulas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hinge.binding import weights
from hinge.dynamics import Compiled, CompiledTree, compile
from hinge.errors import ArgumentError
from hinge.formulas.evaluation import Evaluation
from hinge.formulas.extras import sympy
from hinge.formulas.formulas import Formulas
from hinge.formulas.names import PARAMETERS, Symbols, checked_parameters, tree_symbols, weight_symbols
from hinge.model import Robot, WeightedTree, checked_robot
from hinge.targets import plain_target, without_solves

#: The most operations that formulas have unless a call allows more.
MOST = 20_000


def symbolic(
    what: Any,
    robot: Robot | WeightedTree,
    *,
    nodes: Iterable[str] = (),
    expressed: str = "body",
    parameters: Sequence[str] = (),
    shared: bool = False,
    most: int = MOST,
) -> Formulas:
    """Return a verb, or what `compile` takes or returns, as formulas of SymPy for a small robot.

    They come from the kernels that other targets run, and say the same. Symbols of coordinates have the names
    of their joints: q_shoulder, qd_shoulder, tau_shoulder. `parameters` names numbers of the model that are
    symbols too, where they are not zero: "inertias" (m_arm, cx_arm, Izz_arm: mass, centre of mass, central
    moments), "placements" (px_elbow: where a joint is on its parent; directions stay numbers), "rotors",
    "friction" and "gravity". Of a `WeightedTree` they are "E", "H" and "M". Other numbers are fractions or
    roots of them where they are these but for rounding. `nodes` and `expressed` as in `compile`.

    Nothing is simplified unless asked for, see `Formulas.simplified`. Formulas grow fast with the number of
    joints: those of more than `most` operations are refused. With `shared` what occurs more than once is
    written once, as `steps`, so that formulas are no longer than code.
    """
    sympy()
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"most: expected a number of operations, got {most!r}")
    own, gravity = _compiled(what, robot, list(nodes), expressed, parameters)
    code = without_solves(own.compilation(not gravity).traced)
    _refuse_large(
        str(own), code.operations().total, most, f"most={code.operations().total}, or hinge.export.c"
    )
    numbers: dict[Any, float] = {}
    inputs = {n: _symbols(own, n, len(s), numbers) for n, s in code.inputs.items() if s}
    evaluation = Evaluation(code, inputs)
    found = evaluation.results()
    entries = [x for each in found for x in each.flat]
    steps = evaluation.needed(entries)
    if not shared:
        size = evaluation.sizes(entries)
        _refuse_large(
            str(own), size, most, f"shared=True, which has them in {len(steps)} steps, or most={size}"
        )
        found = [evaluation.written_out(x) for x in found]
    names = [r.name if r.name not in code.inputs else f"{r.name}_out" for r in code.results]
    results = {n: _shown(x) for n, x in zip(names, found, strict=True)}
    given = {n: tuple(xs) for n, xs in inputs.items() if n not in PARAMETERS}
    return Formulas(str(own), results, given, numbers, steps if shared else ())


def _compiled(
    what: Any, robot: Robot | WeightedTree, nodes: list[str], expressed: str, parameters: Any
) -> tuple[Compiled | CompiledTree, bool]:
    """Return what is asked for as a function, and whether gravity is a symbol."""
    if isinstance(what, Compiled | CompiledTree):
        if nodes or expressed != "body" or parameters:
            raise ArgumentError(
                "what: expected an expression or a verb with nodes=, expressed= or parameters=, got a "
                "compiled function; give these to hinge.compile"
            )
        return what, False
    if isinstance(robot, WeightedTree):
        given, _ = checked_parameters(parameters, tree=True)
        if nodes or expressed != "body":
            raise ArgumentError("nodes, expressed: expected none for a WeightedTree; they are for robots")
        return compile(what, robot, given=given, target=plain_target()), False
    names, gravity = checked_parameters(parameters, tree=False)
    options: dict[str, Any] = {"nodes": nodes, "expressed": expressed, "parameters": names}
    return compile(what, checked_robot(robot), target=plain_target(), **options), gravity


def _refuse_large(title: str, count: int, most: int, remedy: str) -> None:
    """Refuse formulas of more operations than are allowed."""
    if count > most:
        shown = f"{count:,}" if count < 1e9 else f"{float(count):.0e}"
        raise ArgumentError(
            f"{title}: expected formulas of at most {most:,} operations, got {shown}; use {remedy}, or lock "
            "joints with hinge.lock"
        )


def _symbols(own: Compiled | CompiledTree, name: str, size: int, numbers: dict[Any, float]) -> list[Any]:
    """Return what stands for an input of code."""
    if isinstance(own, Compiled):
        return Symbols(own.robot, numbers).of(name, size)
    if name == weights.name:
        return weight_symbols(own.binding, numbers)
    return tree_symbols(own.model, name, size)


def _shown(x: np.ndarray[Any, Any]) -> Any:
    """Return a result as SymPy has it: a scalar, a matrix, a vector as a column, or an array."""
    sp = sympy()
    if x.ndim == 0:
        return x.item()
    if x.ndim <= 2:
        return sp.ImmutableMatrix(x.reshape(len(x), -1).tolist() if x.size else sp.zeros(*x.shape))
    return sp.ImmutableDenseNDimArray(x.tolist())
