"""Joint-wise formulas, such as q + h q̇: code without sweeps.

A formula is a function of a joint type and of rows of numbers by name, written for any scalar type. Joints of
one type share a kernel. The joints of an embedded loop are one joint, `hinge.model.LoopMotion`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Literal, TypeAlias, cast

import numpy as np

from hinge.kernels import Graph, Kernel, finish
from hinge.model import Robot, Unit, units
from hinge.model.joints import JointType
from hinge.sweeps import Block, Call, Code, Result, Slot

#: Rows like q, rows like qd, or so many numbers that all joints share.
Row: TypeAlias = Literal["q", "qd"] | int
Formula: TypeAlias = Callable[[JointType, Mapping[str, Block]], Mapping[str, Block]]


def jointwise(robot: Robot, inputs: Mapping[str, Row], results: Mapping[str, Row], formula: Formula) -> Code:
    """Return the code of a formula at every joint of a robot."""
    lengths = {name: _length(robot, row) for name, row in inputs.items()}
    starts = dict(zip(lengths, np.cumsum([0, *lengths.values()]).tolist(), strict=False))
    found = {name: np.zeros(_length(robot, row), dtype=object) for name, row in results.items()}
    kernels: dict[JointType, Kernel] = {}
    calls: list[Call] = []
    slots = sum(lengths.values())
    for body, unit in enumerate(units(robot)):
        if unit.type.nv == 0:
            continue
        if unit.type not in kernels:
            kernels[unit.type] = _traced(unit.type, inputs, formula)
        kernel = kernels[unit.type]
        loads = tuple(starts[n] + _at(unit, inputs[n], k) for n, k in _keys(kernel.inputs))
        stores = range(slots, slots + len(kernel.outputs))
        slots += len(stores)
        calls.append(Call(kernel, loads, (), tuple(stores), -1, body))
        for (name, k), slot in zip(_keys(o.key for o in kernel.outputs), stores, strict=True):
            found[name][_at(unit, results[name], k)] = Slot(slot)
    given = {name: tuple(range(starts[name], starts[name] + n)) for name, n in lengths.items()}
    return Code(tuple(calls), given, tuple(Result(n, x) for n, x in found.items()), slots)


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
