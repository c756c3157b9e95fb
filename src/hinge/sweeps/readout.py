"""Readouts: formulas of a program's outputs, in a kernel behind its last pass.

An output is what an operator expression is; a readout shows it in the form that a caller wants, such as the
rotation and the position of a motion transform. The formula is written for any scalar type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hinge.kernels import Graph, Kernel, Scalar, finish
from hinge.sweeps.code import Call, KnownBlock, Result, Slot
from hinge.sweeps.contract import Block
from hinge.sweeps.slots import Memory
from hinge.tree import WORLD

#: From the outputs by name to results by name.
Readout: TypeAlias = Callable[[Mapping[str, Block]], Mapping[str, Block]]


class _Behind(NamedTuple):
    """The call of a readout's kernel, all of whose outputs are live."""

    call: Call

    def close(self, live: bytearray, kernels: dict[Kernel, Kernel]) -> Call | None:
        """Return the call; its loads become live."""
        for s in self.call.loads:
            live[s] = 1
        kernels.setdefault(self.call.kernel, self.call.kernel)
        return self.call


def read_out(readout: Readout, results: Sequence[Result], memory: Memory, stage: int) -> tuple[Result, ...]:
    """Return the results of a readout, and add its call to the memory's."""
    graph = Graph()
    shown = readout({r.name: _scalars(graph, r.values) for r in results})
    made: dict[int, int] = {}
    found = tuple(Result(name, _entries(graph, x, made, memory.slots)) for name, x in shown.items())
    if made:
        kernel = finish(graph, {k: Scalar(graph, node, False) for node, k in made.items()})
        loads: Any = kernel.inputs
        plain = Kernel(tuple(range(len(loads))), kernel.instructions, kernel.outputs)
        stores = tuple(memory.new_slots(len(made)))
        memory.calls.append(_Behind(Call(plain, tuple(loads), (), stores, stage, WORLD)))
    return found


def _scalars(graph: Graph, values: KnownBlock) -> Block:
    """Return an output as traced scalars and numbers."""
    found = np.empty(values.shape, dtype=object)
    for at, x in np.ndenumerate(values):
        if isinstance(x, Slot):
            scalar = graph.input(x.index)
            found[at] = -scalar if x.negative else scalar
        else:
            found[at] = float(x)
    return found


def _entries(graph: Graph, values: Block, made: dict[int, int], start: int) -> KnownBlock:
    """Return a result: slots of outputs where it only passes them on, else new ones, kept in `made`."""
    shown = np.asarray(values, dtype=object)
    found = np.empty(shown.shape, dtype=object)
    for at, x in np.ndenumerate(shown):
        if not isinstance(x, Scalar):
            found[at] = float(x)
        elif graph.nodes[x.index][0] == "input":
            found[at] = Slot(graph.nodes[x.index][1], x.negative)
        else:
            found[at] = Slot(start + made.setdefault(x.index, len(made)), x.negative)
    return found
