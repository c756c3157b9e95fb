"""A kernel as IR: its instructions one after the other, products fused into the sums that take them up."""

from __future__ import annotations

from collections.abc import Sequence

from hinge.kernels import OPS, TABLES, FusedStep, Kernel, fused
from hinge.targets.llvm.functions import CIRCLE, WRITTEN, looked_up
from hinge.targets.llvm.text import Writer


def write_kernel(w: Writer, kernel: Kernel, inputs: Sequence[str]) -> list[str]:
    """Write a kernel for these inputs, and return its outputs."""
    values = [*inputs, *[""] * len(kernel.instructions)]
    with w.own_circles():
        for step in fused(kernel):
            values[step.value] = _written(w, step, values)
    return [_output(w, o.value, o.negative, o.constant, values) for o in kernel.outputs]


def _written(w: Writer, step: FusedStep, values: Sequence[str]) -> str:
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
