"""Operation counts of kernels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from hinge.kernels.kernel import Kernel
from hinge.kernels.ops import OPS


@dataclass(frozen=True)
class Operations:
    """Numbers of floating-point operations; `functions` are sin, cos and the like.

    A subtraction counts as an addition; a sign and a constant count nothing.
    """

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    functions: int = 0

    def __add__(self, other: Operations) -> Operations:
        return Operations(
            self.multiplications + other.multiplications,
            self.additions + other.additions,
            self.divisions + other.divisions,
            self.functions + other.functions,
        )

    @property
    def total(self) -> int:
        """The total number of operations."""
        return self.multiplications + self.additions + self.divisions + self.functions

    def __str__(self) -> str:
        text = f"{self.multiplications} mul, {self.additions} add"
        rare = ((self.divisions, "div"), (self.functions, "functions"))
        return text + "".join(f", {n} {name}" for n, name in rare if n)


@lru_cache(maxsize=1 << 12)
def count(kernel: Kernel) -> Operations:
    """Return the number of operations of each kind."""
    found: Counter[str] = Counter()
    for op, times in Counter([i.op for i in kernel.instructions if i.op != "const"]).items():
        found[OPS[op].counted] += times
    return Operations(**found)
