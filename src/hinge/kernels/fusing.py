"""Products fused into the sums that take them up: the steps that a processor with fused products executes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from hinge.kernels.kernel import Instruction, Kernel


class FusedStep(NamedTuple):
    """What is written for one value: an instruction, or x y + z (fma), x y − z (fms), z − x y (fnma)."""

    value: int
    op: str
    operands: tuple[int, ...]
    constant: float | None = None


@lru_cache(maxsize=1 << 12)
def fused(kernel: Kernel) -> tuple[FusedStep, ...]:
    """Return the steps of a kernel, where a product that one sum alone uses is part of that sum."""
    start = len(kernel.inputs)
    uses = Counter(k for i in kernel.instructions for k in i.operands)
    uses.update(o.value for o in kernel.outputs if o.value is not None)
    steps: list[FusedStep | None] = []
    for number, i in enumerate(kernel.instructions):
        step = FusedStep(start + number, i.op, i.operands, i.constant)
        if i.op in ("add", "sub"):
            taken = _product(kernel, i, uses, steps)
            if taken is not None:
                step = _with_product(step, taken, kernel.instructions[taken - start].operands)
                steps[taken - start] = None
        steps.append(step)
    return tuple(s for s in steps if s is not None)


def _product(
    kernel: Kernel, i: Instruction, uses: Counter[int], steps: Sequence[FusedStep | None]
) -> int | None:
    """Return the operand of a sum that is a product without other uses, preferring the later one."""
    start = len(kernel.inputs)
    for k in sorted(i.operands, reverse=True):
        step = steps[k - start] if k >= start else None
        if step is not None and step.op == "mul" and uses[k] == 1:
            return k
    return None


def _with_product(step: FusedStep, taken: int, factors: tuple[int, ...]) -> FusedStep:
    x, y = step.operands
    rest = y if taken == x else x
    if step.op == "add":
        return FusedStep(step.value, "fma", (*factors, rest))
    return FusedStep(step.value, "fms" if taken == x else "fnma", (*factors, rest))
