"""A finished kernel: straight-line scalar code as a value.

Values are numbered: the inputs first, then one for each instruction, and there the constants first, so
that the same code is the same kernel whatever dead code was traced beside it. A sign is not an
instruction; it is left over at the outputs alone. What is known when a model is bound is no part of a kernel:
uniform values enter it as inputs after the others, and a kernel of their own gives them (`split`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from hinge.kernels.graph import BOUND, Graph, Node, Scalar, Value, apply
from hinge.kernels.ops import OPS

LEAVES = ("const", "param", "input")


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
        values: list[Any] = [inputs[key] for key in self.inputs]
        with np.errstate(all="ignore"):
            for instruction in self.instructions:
                known, args = instruction.constant, [values[i] for i in instruction.operands]
                values.append(_applied(instruction.op, args) if known is None else known)
        return {o.key: _signed(o, values) for o in self.outputs}

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
    nodes = [
        ("param", Uniform(i)) if when == BOUND else node
        for i, (node, when) in enumerate(zip(graph.nodes, graph.known, strict=True))
    ]
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


def _output(graph: Graph, key: Hashable, value: Value) -> Output:
    if isinstance(value, Scalar):
        assert value.graph is graph, f"output {label(key)}: a scalar of another graph"
        return Output(key, value.index, value.negative, None)
    return Output(key, None, False, float(value) + 0.0)  # −0.0 becomes 0.0


def _pruned(nodes: Sequence[Node], outputs: Sequence[Output]) -> Kernel:
    """Return the kernel without dead code, its values renumbered."""
    needed = sorted(_needed(nodes, [o.value for o in outputs if o.value is not None]))
    inputs = [i for op in ("input", "param") for i in needed if nodes[i][0] == op]
    constants = sorted((i for i in needed if nodes[i][0] == "const"), key=lambda i: nodes[i][1])
    steps = constants + [i for i in needed if nodes[i][0] not in LEAVES]
    number = {old: new for new, old in enumerate(inputs + steps)}
    return Kernel(
        tuple(nodes[i][1] for i in inputs),
        tuple(_renumbered(nodes[i], number) for i in steps),
        tuple(o if o.value is None else o._replace(value=number[o.value]) for o in outputs),
    )


def _needed(nodes: Sequence[Node], roots: Iterable[int]) -> set[int]:
    """Return the roots and the nodes that they depend on."""
    stack = list(roots)
    found = set(stack)
    while stack:
        node = nodes[stack.pop()]
        if node[0] not in LEAVES:
            for i in node[1:]:
                if i not in found:
                    found.add(i)
                    stack.append(i)
    return found


def _renumbered(node: Node, number: Mapping[int, int]) -> Instruction:
    op, *args = node
    if op == "const":
        return Instruction("const", (args[0],))
    renamed = [number[i] for i in args]
    return Instruction(op, tuple(sorted(renamed) if OPS[op].commutes else renamed))


def _applied(op: str, args: Sequence[Any]) -> Any:
    if any(isinstance(x, Scalar) for x in args):
        return apply(op, *args)
    return OPS[op].arrays(*args)


def _signed(output: Output, values: Sequence[Any]) -> Any:
    if output.value is None:
        return output.constant
    return -values[output.value] if output.negative else values[output.value]
