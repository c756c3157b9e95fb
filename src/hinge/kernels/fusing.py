"""Products fused into the sums that take them up: the steps that a processor with fused products executes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

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
    instructions = kernel.instructions
    constants = sum(op == "const" for op, _ in instructions)  # they come first
    start = len(kernel.inputs)
    first = start + constants
    every: Any = instructions[constants:]
    uses = [0] * (first + len(every))
    for _, operands in every:
        for k in operands:
            uses[k] += 1
    for o in kernel.outputs:
        if o.value is not None:
            uses[o.value] += 1
    steps: list[tuple[Any, ...] | None] = [
        (start + k, "const", (), i.args[0]) for k, i in enumerate(instructions[:constants])
    ]
    for number, (op, operands) in enumerate(every, first):
        if op in ("add", "sub"):
            x, y = operands
            # The operand that is a product without other uses, preferably the later one.
            for k, rest in ((x, y), (y, x)) if x > y else ((y, x), (x, y)):
                step = steps[k - start] if k >= first and uses[k] == 1 else None
                if step is not None and step[1] == "mul":
                    steps[k - start] = None
                    op = "fma" if op == "add" else "fms" if k == x else "fnma"  # noqa: PLW2901
                    operands = (*step[2], rest)  # noqa: PLW2901
                    break
        steps.append((number, op, operands, None))
    return tuple([FusedStep(*s) for s in steps if s is not None])
