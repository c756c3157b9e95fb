"""The adjoint of a finished kernel: straight-line code for gradients of its outputs, reverse mode.

With c the weights of a kernel's outputs, its adjoint gives the gradients of Σ c · output by its inputs. It is
a kernel too: instructions are gone through from the last to the first, and each passes on its gradient times
its partial derivatives, which the table of operations has.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from hinge.kernels.graph import Graph, Value, apply
from hinge.kernels.kernel import Instruction, Kernel, finish
from hinge.kernels.ops import OPS


def adjoint_of(kernel: Kernel, by: Iterable[Hashable] | None = None) -> Kernel:
    """Return the kernel of the gradients by these inputs, all unless given.

    It takes the inputs of the kernel and the weights of its outputs: ("weight", key) for the output of a key.
    Its outputs have the keys of inputs; a gradient that is zero everywhere is the constant 0.
    """
    graph = Graph()
    values: list[Value] = [graph.input(key) for key in kernel.inputs]
    for step in kernel.instructions:
        args = [values[k] for k in step.operands]
        values.append(apply(step.op, *args) if step.constant is None else step.constant)
    gradients: list[Value] = [0.0] * len(values)
    for o in kernel.outputs:
        if o.value is not None:
            weight = graph.input(("weight", o.key))
            gradients[o.value] = gradients[o.value] + (-weight if o.negative else weight)
    steps = enumerate(kernel.instructions, len(kernel.inputs))
    for number, step in reversed(list(steps)):
        _pass_on(step, values, gradients, number)
    wanted = kernel.inputs if by is None else tuple(by)
    place = {key: k for k, key in enumerate(kernel.inputs)}
    return finish(graph, {key: gradients[place[key]] if key in place else 0.0 for key in wanted})


def _pass_on(step: Instruction, values: list[Value], gradients: list[Value], number: int) -> None:
    """Add what an instruction passes on to the gradients of its operands."""
    whole = gradients[number]
    if isinstance(whole, float) and whole == 0.0:
        return
    args = [values[k] for k in step.operands]
    for k, operand in enumerate(step.operands):
        partial = _partial(step.op, values[number], args, k)
        gradients[operand] = gradients[operand] + whole * partial


def _partial(op: str, value: Value, args: list[Value], k: int) -> Value:
    """Return the derivative of an operation by one argument."""
    match op:
        case "add":
            return 1.0
        case "sub":
            return -1.0 if k else 1.0
        case "mul":
            return args[1 - k]
        case "div":
            return -(value / args[1]) if k else 1.0 / args[1]
        case _:
            rate = OPS[op].rate
            along = [float(k == n) for n in range(len(args))]
            return 0.0 if rate is None else rate(apply, value, args, along)
