"""Products fused into the sums that take them up: the steps that a processor with fused products executes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from hinge.kernels.kernel import Kernel

#: Steps that are no operations of kernels: x y + z, x y − z, z − x y.
FUSED = ("fma", "fms", "fnma")


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
    uses = [0] * (start + len(kernel.instructions))
    every = [(i.op, i.operands) for i in kernel.instructions if i.op != "const"]
    for k in chain.from_iterable([operands for _, operands in every]):
        uses[k] += 1
    for o in kernel.outputs:
        if o.value is not None:
            uses[o.value] += 1
    constants = [i.constant for i in kernel.instructions if i.op == "const"]
    steps: list[FusedStep | None] = [FusedStep(start + k, "const", (), c) for k, c in enumerate(constants)]
    for number, (op, operands) in enumerate(every, start + len(constants)):
        step = FusedStep(number, op, operands)
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
    start: int, operands: tuple[int, ...], uses: Sequence[int], steps: Sequence[FusedStep | None]
) -> int | None:
    """Return the operand of a sum that is a product without other uses, preferring the later one."""
    for k in sorted(operands, reverse=True):
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
