"""A kernel as IR: its instructions one after the other, products fused into the sums that take them up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from hinge.kernels import OPS, TABLES, Kernel, Op
from hinge.targets.llvm.functions import CIRCLE, WRITTEN, looked_up
from hinge.targets.llvm.text import Writer

#: Steps that are no operations of kernels: x y + z, x y − z, z − x y.
FUSED = ("fma", "fms", "fnma")


class Step(NamedTuple):
    """What is written for one value: an instruction, or x y + z (fma), x y − z (fms), z − x y (fnma)."""

    value: int
    op: str
    operands: tuple[int, ...]
    constant: float | None = None


def write_kernel(w: Writer, kernel: Kernel, inputs: Sequence[str]) -> list[str]:
    """Write a kernel for these inputs, and return its outputs."""
    values = [*inputs, *[""] * len(kernel.instructions)]
    negated: dict[str, str] = {}
    with w.own_circles():
        for value, op, operands, constant in fused(kernel):
            if constant is not None:
                values[value] = w.lanes.constant(constant)
            elif op in FUSED:
                x, y, z = [values[k] for k in operands]
                if op == "fms":
                    z = _negative(w, z, negated)
                elif op == "fnma":
                    x, y = (x, negated[y]) if y in negated else (_negative(w, x, negated), y)
                values[value] = w.fma(x, y, z)
            else:
                values[value] = _written(w, OPS[op], [values[k] for k in operands])
    return [_output(w, o.value, o.negative, o.constant, values) for o in kernel.outputs]


def _negative(w: Writer, x: str, negated: dict[str, str]) -> str:
    """Return −x, written once in a kernel."""
    if x not in negated:
        negated[x] = w.negative(x)
    return negated[x]


def _written(w: Writer, op: Op, x: list[str]) -> str:
    if op.symbol:
        return w.binary(op.llvm, *x)
    if op.name in TABLES:
        return looked_up(w, op.name, *x)
    return w.intrinsic(op.llvm, *x) if op.llvm else WRITTEN[op.name](w, *x)


def angles(kernel: Kernel) -> set[int]:
    """Return the inputs of which the kernel takes sine or cosine."""
    found = {i.operands[0] for i in kernel.instructions if i.op in CIRCLE}
    return {k for k in found if k < len(kernel.inputs)}


def _output(
    w: Writer, value: int | None, negative: bool, constant: float | None, values: Sequence[str]
) -> str:
    if value is None:
        assert constant is not None
        return w.lanes.constant(constant)
    return w.negative(values[value]) if negative else values[value]


@lru_cache(maxsize=1 << 12)
def fused(kernel: Kernel) -> tuple[Step, ...]:
    """Return the steps of a kernel, where a product that one sum alone uses is part of that sum."""
    start = len(kernel.inputs)
    uses = [0] * (start + len(kernel.instructions))
    every = [(i.op, i.operands) for i in kernel.instructions if i.op != "const"]
    for k in chain.from_iterable([operands for _, operands in every]):
        uses[k] += 1
    for o in kernel.outputs:
        if o.value is not None:
            uses[o.value] += 1
    constants = [i.constant for i in kernel.instructions if i.op == "const"]
    steps: list[Step | None] = [Step(start + k, "const", (), c) for k, c in enumerate(constants)]
    for number, (op, operands) in enumerate(every, start + len(constants)):
        step = Step(number, op, operands)
        if op in ("add", "sub"):
            taken = _product(start, operands, uses, steps)
            if taken is not None:
                product = steps[taken - start]
                assert product is not None
                step = _with_product(step, taken, product.operands)
                steps[taken - start] = None
        steps.append(step)
    return tuple([s for s in steps if s is not None])


def _product(
    start: int, operands: tuple[int, ...], uses: Sequence[int], steps: Sequence[Step | None]
) -> int | None:
    """Return the operand of a sum that is a product without other uses, preferring the later one."""
    for k in sorted(operands, reverse=True):
        step = steps[k - start] if k >= start else None
        if step is not None and step.op == "mul" and uses[k] == 1:
            return k
    return None


def _with_product(step: Step, taken: int, factors: tuple[int, ...]) -> Step:
    x, y = step.operands
    rest = y if taken == x else x
    if step.op == "add":
        return Step(step.value, "fma", (*factors, rest))
    return Step(step.value, "fms" if taken == x else "fnma", (*factors, rest))
