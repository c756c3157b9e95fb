"""A kernel as IR: its instructions one after the other, products fused into the sums that take them up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from hinge.kernels import OPS, TABLES, Instruction, Kernel
from hinge.targets.llvm.functions import CIRCLE, WRITTEN, looked_up
from hinge.targets.llvm.text import Writer


class Step(NamedTuple):
    """What is written for one value: an instruction, or x y + z (fma), x y − z (fms), z − x y (fnma)."""

    value: int
    op: str
    operands: tuple[int, ...]
    constant: float | None = None


def write_kernel(w: Writer, kernel: Kernel, inputs: Sequence[str]) -> list[str]:
    """Write a kernel for these inputs, and return its outputs."""
    values = [*inputs, *[""] * len(kernel.instructions)]
    with w.own_circles():
        for step in fused(kernel):
            values[step.value] = _written(w, step, values)
    return [_output(w, o.value, o.negative, o.constant, values) for o in kernel.outputs]


def _written(w: Writer, step: Step, values: Sequence[str]) -> str:
    if step.constant is not None:
        return w.lanes.constant(step.constant)
    op, x = OPS.get(step.op), [values[k] for k in step.operands]
    if op is None:
        return _fused(w, step.op, x)
    if op.symbol:
        return w.binary(op.llvm, *x)
    if op.name in TABLES:
        return looked_up(w, op.name, *x)
    return w.intrinsic(op.llvm, *x) if op.llvm else WRITTEN[op.name](w, *x)


def _fused(w: Writer, op: str, x: list[str]) -> str:
    if op == "fms":
        x[2] = w.negative(x[2])
    elif op == "fnma":
        x[0] = w.negative(x[0])
    return w.fma(*x)


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
    uses = Counter(k for i in kernel.instructions for k in i.operands)
    uses.update(o.value for o in kernel.outputs if o.value is not None)
    steps: list[Step | None] = []
    for number, i in enumerate(kernel.instructions):
        step = Step(start + number, i.op, i.operands, i.constant)
        if i.op in ("add", "sub"):
            taken = _product(kernel, i, uses, steps)
            if taken is not None:
                step = _with_product(step, taken, kernel.instructions[taken - start].operands)
                steps[taken - start] = None
        steps.append(step)
    return tuple(s for s in steps if s is not None)


def _product(kernel: Kernel, i: Instruction, uses: Counter[int], steps: Sequence[Step | None]) -> int | None:
    """Return the operand of a sum that is a product without other uses, preferring the later one."""
    start = len(kernel.inputs)
    for k in sorted(i.operands, reverse=True):
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
