"""Joint-wise formulas, such as q + h q̇: code without sweeps.

A formula is a function of a joint type and of rows of numbers by name, written for any scalar type. Joints of
one type share a kernel. The joints of an embedded loop are one joint, `hinge.model.LoopMotion`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from hinge.kernels import Graph, Kernel, adjoint_of, finish
from hinge.model import Robot, Unit, units
from hinge.model.joints import JointType
from hinge.sweeps import Block, Call, Code, Result, Slot

#: Rows like q, rows like qd, or so many numbers that all joints share.
Row: TypeAlias = Literal["q", "qd"] | int
Formula: TypeAlias = Callable[[JointType, Mapping[str, Block]], Mapping[str, Block]]


def jointwise(
    robot: Robot,
    inputs: Mapping[str, Row],
    results: Mapping[str, Row],
    formula: Formula,
    *,
    lean: bool = False,
) -> Code:
    """Return the code of a formula at every joint of a robot; if `lean`, without inputs that it ignores."""
    kinds = dict.fromkeys(unit.type for unit in units(robot) if unit.type.nv)
    kernels = {kind: _traced(kind, inputs, formula) for kind in kinds}
    if lean:
        used = {name for kernel in kernels.values() for name, _ in _keys(kernel.inputs)}
        inputs = {name: row for name, row in inputs.items() if name in used}
    lengths = {name: _length(robot, row) for name, row in inputs.items()}
    starts = dict(zip(lengths, np.cumsum([0, *lengths.values()]).tolist(), strict=False))
    found = {name: np.zeros(_length(robot, row), dtype=object) for name, row in results.items()}
    calls: list[Call] = []
    slots = sum(lengths.values())
    for body, unit in enumerate(units(robot)):
        if unit.type.nv == 0:
            continue
        kernel = kernels[unit.type]
        loads = tuple(starts[n] + _at(unit, inputs[n], k) for n, k in _keys(kernel.inputs))
        stores = range(slots, slots + len(kernel.outputs))
        slots += len(stores)
        calls.append(Call(kernel, loads, (), tuple(stores), -1, body))
        for (name, k), slot in zip(_keys(o.key for o in kernel.outputs), stores, strict=True):
            found[name][_at(unit, results[name], k)] = Slot(slot)
    given = {name: tuple(range(starts[name], starts[name] + n)) for name, n in lengths.items()}
    return Code(tuple(calls), given, tuple(Result(n, x) for n, x in found.items()), slots)


def pulled(
    inputs: Mapping[str, Row],
    results: Mapping[str, Row],
    formula: Formula,
    weights: Mapping[str, Sequence[str]],
    by: Sequence[str],
) -> Formula:
    """Return the formula of gradients of a formula: its adjoint, in the tangent space of the joint.

    `weights` names for results of the formula the rows of weights, whose sum counts, and `by` the rows like q
    or qd to differentiate by. The gradient by a row has its name. Weights of q and gradients by q are of
    length nv, along velocities: q moves with `rate`, and what q comes out as moves with `unrate`.
    """

    def gradients(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
        kernel = _traced(kind, inputs, formula)
        given: dict[Hashable, Any] = {(name, k): x[name][k] for name, k in _keys(kernel.inputs)}
        shown = kernel.evaluate(given)
        for name, row in results.items():
            found = _block([shown[name, k] for k in range(_size(kind, row))])
            rows = [x[weight] for weight in weights.get(name, ())]
            weight = sum(rows[1:], rows[0]) if rows else np.zeros(kind.nv)
            coordinates = transposed(kind.unrate, kind.nq, found, weight) if row == "q" else weight
            given |= {("weight", (name, k)): c for k, c in enumerate(coordinates)}
        wanted = [(name, k) for name in by for k in range(_size(kind, inputs[name]))]
        whole = adjoint_of(kernel, wanted).evaluate(given)
        blocks = {name: _block([x for key, x in whole.items() if key[0] == name]) for name in by}
        return {
            name: transposed(kind.rate, kind.nv, x[name], g) if inputs[name] == "q" else g
            for name, g in blocks.items()
        }

    return gradients


def transposed(linear: Callable[[Block, Block], Any], size: int, q: Block, weight: Block) -> Block:
    """Return the adjoint of a linear function of `size` numbers at q, applied to weights."""
    columns = (linear(q, e) for e in np.eye(size))
    return _block([(column * weight).sum() for column in columns])


def _block(values: Sequence[Any]) -> Block:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def of_vectors(
    inputs: Mapping[str, int], formula: Callable[[Mapping[str, Block]], Mapping[str, Block]]
) -> Code:
    """Return the code of a formula of whole vectors of these lengths, traced as one kernel."""
    graph = Graph()
    starts = dict(zip(inputs, np.cumsum([0, *inputs.values()]).tolist(), strict=False))
    shown = formula({name: _inputs(graph, name, n) for name, n in inputs.items()})
    values: dict[Hashable, Any] = {
        (n, at): x[at] for n, x in shown.items() for at in np.ndindex(x.shape) if not _is_zero(x[at])
    }
    kernel = finish(graph, values)
    slots = sum(inputs.values())
    stores = range(slots, slots + len(kernel.outputs))
    found = {n: np.zeros(x.shape, dtype=object) for n, x in shown.items()}
    for o, slot in zip(kernel.outputs, stores, strict=True):
        name, at = cast("tuple[str, tuple[int, ...]]", o.key)
        found[name][at] = Slot(slot)
    loads = tuple(starts[n] + k for n, k in _keys(kernel.inputs))
    given = {name: tuple(range(starts[name], starts[name] + n)) for name, n in inputs.items()}
    call = Call(kernel, loads, (), tuple(stores), -1, 0)
    return Code((call,), given, tuple(Result(n, x) for n, x in found.items()), slots + len(stores))


def _is_zero(x: Any) -> bool:
    return isinstance(x, float | int) and x == 0


def summed(rows: int, length: int) -> Code:
    """Return the code of the sum of so many rows of numbers, x0, x1 …"""
    graph = Graph()
    kernel = finish(graph, {"sum": sum(map(graph.input, range(rows)))})
    given = {f"x{n}": tuple(range(n * length, n * length + length)) for n in range(rows)}
    stores = range(rows * length, rows * length + length)
    calls = [
        Call(kernel, tuple(n * length + k for n in range(rows)), (), (at,), -1, 0)
        for k, at in enumerate(stores)
    ]
    return Code(tuple(calls), given, (Result("sum", _block(list(map(Slot, stores)))),), stores.stop)


def _traced(kind: JointType, inputs: Mapping[str, Row], formula: Formula) -> Kernel:
    graph = Graph()
    rows = {name: _inputs(graph, name, _size(kind, row)) for name, row in inputs.items()}
    shown = formula(kind, rows)
    return finish(graph, {(name, k): x for name, row in shown.items() for k, x in enumerate(row)})


def _inputs(graph: Graph, name: str, size: int) -> Block:
    found = np.empty(size, dtype=object)
    found[:] = [graph.input((name, k)) for k in range(size)]
    return found


def _size(kind: JointType, row: Row) -> int:
    return row if isinstance(row, int) else kind.nq if row == "q" else kind.nv


def _length(robot: Robot, row: Row) -> int:
    return row if isinstance(row, int) else robot.nq if row == "q" else robot.nv


def _at(unit: Unit, row: Row, k: int) -> int:
    return k if isinstance(row, int) else (unit.q if row == "q" else unit.qd)[k]


def _keys(keys: Iterable[Hashable]) -> list[tuple[str, int]]:
    return [cast("tuple[str, int]", key) for key in keys]
