"""A kernel as IR: its instructions one after the other, products fused into the sums that take them up."""

from __future__ import annotations

from collections.abc import Sequence

from hinge.kernels import FUSED, OPS, TABLES, Kernel, Op, fused
from hinge.targets.llvm.functions import CIRCLE, WRITTEN, looked_up
from hinge.targets.llvm.text import Writer


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
                values[value] = write_operation(w, OPS[op], [values[k] for k in operands])
    return [_output(w, o.value, o.negative, o.constant, values) for o in kernel.outputs]


def _negative(w: Writer, x: str, negated: dict[str, str]) -> str:
    """Return −x, written once in a kernel."""
    if x not in negated:
        negated[x] = w.negative(x)
    return negated[x]


def write_operation(w: Writer, op: Op, x: list[str]) -> str:
    """Write an operation on its operands."""
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
