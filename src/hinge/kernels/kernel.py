"""A finished kernel: straight-line scalar code as a value.

Values are numbered: the inputs first, then one for each instruction, and there the constants first, so
that the same code is the same kernel whatever dead code was traced beside it. A sign is not an
instruction; it is left over at the outputs alone. What is known when a model is bound is no part of a kernel:
uniform values enter it as inputs after the others, and a kernel of their own gives them (`split`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from hinge.kernels.graph import BOUND, Graph, Node, Scalar, Value, apply
from hinge.kernels.ops import OPS

LEAVES = frozenset({"const", "param", "input"})
#: The operations whose arguments may change places.
COMMUTE = frozenset(op.name for op in OPS.values() if op.commutes)


class Instruction(NamedTuple):
    """One step: an op of `OPS` on earlier values, by number, or "const" with the float itself."""

    op: str
    args: tuple[float, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        """The numbers of the earlier values that it takes; none for a constant."""
        return () if self.op == "const" else cast("tuple[int, ...]", self.args)

    @property
    def constant(self) -> float | None:
        """The number that a constant stands for; None for anything else."""
        return self.args[0] if self.op == "const" else None


class Uniform(NamedTuple):
    """The key of an input that is known at binding time: the node of the graph that it comes from."""

    node: int


class Output(NamedTuple):
    """One result: a value with a sign, or else a constant."""

    key: Hashable
    value: int | None
    negative: bool
    constant: float | None


@dataclass(frozen=True)
class Kernel:
    """Straight-line code from named inputs to named outputs. Equal code is equal and hashes equal."""

    inputs: tuple[Hashable, ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[Output, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.inputs, self.instructions, self.outputs))

    def evaluate(self, inputs: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the outputs for these inputs, step by step.

        Takes floats, arrays that broadcast together, or traced scalars, which trace the kernel into
        their graph. An output that is constant is a float, whatever the inputs' shape.
        """
        with np.errstate(all="ignore"):
            found = self.runner(on_any)(inputs[key] for key in self.inputs)
        return {o.key: x for o, x in zip(self.outputs, found, strict=True)}

    def runner(self, operation: Callable[[str], Callable[..., Any]]) -> Callable[[Iterable[Any]], list[Any]]:
        """Return a function from the inputs to the outputs, in order, that runs step by step.

        `operation` gives for each name of `OPS` what it does: `on_arrays`, `on_floats`.
        """
        constants = [i.constant for i in self.instructions if i.constant is not None]
        steps = [(operation(i.op), i.operands) for i in self.instructions[len(constants) :]]
        ends = [(o.value, o.negative, o.constant) for o in self.outputs]

        def run(inputs: Iterable[Any]) -> list[Any]:
            values: list[Any] = [*inputs, *constants]
            for f, operands in steps:
                values.append(f(*[values[k] for k in operands]))
            return [x if k is None else -values[k] if minus else values[k] for k, minus, x in ends]

        return run

    def restricted(self, keys: Iterable[Hashable]) -> Kernel:
        """Return the kernel of a subset of the outputs, in their order, without dead code."""
        wanted = set(keys)
        unknown = wanted - {o.key for o in self.outputs}
        assert not unknown, f"no outputs {sorted(map(label, unknown))}"
        nodes: list[Node] = [("input", key) for key in self.inputs]
        nodes += [(i.op, *i.args) for i in self.instructions]
        return _pruned(nodes, [o for o in self.outputs if o.key in wanted])

    def __str__(self) -> str:
        names = [label(key) for key in self.inputs]
        lines: list[str] = []
        for number, instruction in enumerate(self.instructions, len(self.inputs)):
            if instruction.op == "const":
                names.append(repr(instruction.constant))
            else:
                written = OPS[instruction.op].written([names[i] for i in instruction.operands])
                names.append(f"t{number}")
                lines.append(f"t{number} = {written}")
        for o in self.outputs:
            value = repr(o.constant) if o.value is None else names[o.value]
            lines.append(f"out {label(o.key)} = {'-' if o.negative else ''}{value}")
        return "\n".join(lines)


def finish(graph: Graph, outputs: Mapping[Any, Value]) -> Kernel:
    """Return the kernel of these outputs, without dead code and unused inputs.

    Inputs keep the order in which the graph was asked for them, outputs that of the mapping. Uniform values
    are inputs too, after the others, under `Uniform` keys.
    """
    nodes = graph.nodes.copy()
    for i, when in enumerate(graph.known):
        if when == BOUND:
            nodes[i] = _given(i)
    return _pruned(nodes, [_output(graph, key, value) for key, value in outputs.items()])


def uniform(graph: Graph, indices: Iterable[int]) -> Kernel:
    """Return the kernel from parameters to the uniform values of these nodes, under `Uniform` keys."""
    return _pruned(graph.nodes, [Output(Uniform(i), i, False, None) for i in indices])


def split(graph: Graph, outputs: Mapping[Any, Value]) -> tuple[Kernel, Kernel]:
    """Return the kernel of the uniform values, and the kernel of these outputs, which takes them too."""
    kernel = finish(graph, outputs)
    return uniform(graph, [x.node for x in kernel.inputs if isinstance(x, Uniform)]), kernel


def label(key: Hashable) -> str:
    """Return a short name of an input or output: ("z", 0, 1) is z[0,1]."""
    if isinstance(key, tuple) and len(key) > 1:
        first, *rest = cast("tuple[object, ...]", key)
        return f"{first}[{','.join(map(str, rest))}]"
    return str(key)


@lru_cache(maxsize=1 << 12)
def _given(node: int) -> Node:
    """Return what stands for a uniform node where it is an input."""
    return "param", Uniform(node)


def _output(graph: Graph, key: Hashable, value: Value) -> Output:
    if isinstance(value, Scalar):
        assert value.graph is graph, f"output {label(key)}: a scalar of another graph"
        return Output(key, value.index, value.negative, None)
    return Output(key, None, False, float(value) + 0.0)  # −0.0 becomes 0.0


def _pruned(nodes: Sequence[Node], outputs: Sequence[Output]) -> Kernel:
    """Return the kernel without dead code, its values renumbered."""
    leaves: dict[str, list[int]] = {op: [] for op in LEAVES}
    steps: list[int] = []
    for i in _needed(nodes, [o.value for o in outputs if o.value is not None]):
        leaves.get(nodes[i][0], steps).append(i)
    constants = sorted(leaves["const"], key=lambda i: nodes[i][1])
    inputs = leaves["input"] + leaves["param"]
    number = {old: new for new, old in enumerate([*inputs, *constants, *steps])}
    known = [Instruction("const", (nodes[i][1],)) for i in constants]
    return Kernel(
        tuple([nodes[i][1] for i in inputs]),
        (*known, *_renumbered(nodes, steps, number)),
        tuple([o if o.value is None else Output(o[0], number[o.value], o[2], o[3]) for o in outputs]),
    )


def _needed(nodes: Sequence[Node], roots: Sequence[int]) -> list[int]:
    """Return the roots and the nodes that they depend on, in order; nodes depend on earlier ones."""
    end = max(roots, default=-1) + 1
    found = bytearray(end)
    for i in roots:
        found[i] = 1
    for i in range(end - 1, -1, -1):
        if found[i]:
            node = nodes[i]
            if node[0] not in LEAVES:
                for k in node[1:]:
                    found[k] = 1
    return [i for i, x in enumerate(found) if x]


def _renumbered(
    nodes: Sequence[Node], steps: Iterable[int], number: Mapping[int, int]
) -> Iterator[Instruction]:
    """Yield instructions with new numbers, those of factors and summands in order."""
    for i in steps:
        node = nodes[i]
        op = node[0]
        if len(node) == 3:
            x, y = number[node[1]], number[node[2]]
            yield Instruction(op, (y, x) if y < x and op in COMMUTE else (x, y))
            continue
        renamed = [number[k] for k in node[1:]]
        yield Instruction(op, tuple(sorted(renamed) if op in COMMUTE else renamed))


def on_any(name: str) -> Callable[..., Any]:
    """Return what an operation does with floats, arrays and traced scalars."""

    def do(*args: Any) -> Any:
        return apply(name, *args) if any(isinstance(x, Scalar) for x in args) else OPS[name].arrays(*args)

    return do
