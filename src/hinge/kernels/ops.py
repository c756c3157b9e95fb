"""The table of operations: the facts about each instruction of a kernel, stated once.

Tracing, folding, printing, counting, verifying and every target read it. To add a function, add a row; if
LLVM has neither an instruction nor a function for it, write it in `targets/llvm/functions.py` too. Tables of
numbers add rows of their own (`tables`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

#: How the sign of an argument x goes through f: f(−x) = −f(x), f(−x) = f(x), or it must be written out.
Parity: TypeAlias = Literal["odd", "even", "none"]
#: The field of `Operations` that an instruction counts in.
Counted: TypeAlias = Literal["multiplications", "additions", "divisions", "functions"]


#: From what applies operations, the result, the arguments and their rates to the rate of the result.
Rate: TypeAlias = Callable[[Callable[..., Any], Any, Sequence[Any], Sequence[Any]], Any]


@dataclass(frozen=True)
class Op:
    """An operation on scalars, with a parity for each argument.

    `arrays` is its meaning: a function of NumPy arrays that gives inf and nan as IEEE says. `floats` is the
    same for Python floats, and folds constants; where `arrays` gives inf or nan it may raise an
    ArithmeticError or a ValueError. `symbol` is set for arithmetic, which Python writes between its operands.

    `rate` is the rate of its result: a function of what applies operations, the result, the arguments and
    their rates; None if the result is constant piece by piece. Arithmetic is differentiated by `Dual` itself.

    `llvm` is the name of LLVM's instruction for arithmetic ("fadd"), of its function for others ("sqrt" is
    @llvm.sqrt); empty where `targets/llvm/functions.py` writes the operation out. `method` is what NumPy
    calls for each element of an object array; empty where it calls none, and formulas use `apply`.
    """

    name: str
    arrays: Callable[..., Any]
    floats: Callable[..., float]
    parity: tuple[Parity, ...]
    symbol: str = ""
    commutes: bool = False
    counted: Counted = "functions"
    llvm: str = ""
    method: str = ""
    rate: Rate | None = None

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.parity)

    def written(self, args: Sequence[str]) -> str:
        """Return the operation on these arguments as text, which is Python too."""
        return f" {self.symbol} ".join(args) if self.symbol else f"{self.name}({', '.join(args)})"


def _sqrt(x: float) -> float:
    return math.sqrt(x) if x >= 0.0 else math.nan


def _log(x: float) -> float:
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


def _floor(x: float) -> float:
    return float(math.floor(x)) if math.isfinite(x) else x


def _larger(x: Any, y: Any) -> Any:
    return np.where(np.greater(x, y), x, y)


def _larger_of(x: float, y: float) -> float:
    return x if x > y else y


def _chosen(x: Any, y: Any, a: Any, b: Any) -> Any:
    return np.where(np.less(x, y), a, b)


def _chosen_of(x: float, y: float, a: float, b: float) -> float:
    return a if x < y else b


def _sin_rate(f: Callable[..., Any], _: Any, x: Sequence[Any], dx: Sequence[Any]) -> Any:
    return f("cos", x[0]) * dx[0]


def _cos_rate(f: Callable[..., Any], _: Any, x: Sequence[Any], dx: Sequence[Any]) -> Any:
    return -(f("sin", x[0]) * dx[0])


def _sqrt_rate(_f: Callable[..., Any], y: Any, _: Sequence[Any], dx: Sequence[Any]) -> Any:
    return dx[0] / (y + y)


def _log_rate(_f: Callable[..., Any], _: Any, x: Sequence[Any], dx: Sequence[Any]) -> Any:
    return dx[0] / x[0]


def _abs_rate(f: Callable[..., Any], _: Any, x: Sequence[Any], dx: Sequence[Any]) -> Any:
    return f("choose", x[0], 0.0, -dx[0], dx[0])


def _max_rate(f: Callable[..., Any], _: Any, x: Sequence[Any], dx: Sequence[Any]) -> Any:
    return f("choose", x[1], x[0], dx[0], dx[1])


def _choose_rate(f: Callable[..., Any], _: Any, x: Sequence[Any], dx: Sequence[Any]) -> Any:
    return f("choose", x[0], x[1], dx[2], dx[3])


#: Every operation by name. `max(x, y)` is y where either is NaN; `choose(x, y, a, b)` is a where x < y.
#: Constants, parameters and inputs are leaves, not operations.
OPS: dict[str, Op] = {
    op.name: op
    for op in (
        Op("add", operator.add, operator.add, ("none", "none"), "+", True, "additions", "fadd"),
        Op("sub", operator.sub, operator.sub, ("none", "none"), "-", False, "additions", "fsub"),
        Op("mul", operator.mul, operator.mul, ("odd", "odd"), "*", True, "multiplications", "fmul"),
        Op("div", np.divide, operator.truediv, ("odd", "odd"), "/", False, "divisions", "fdiv"),
        Op("sin", np.sin, math.sin, ("odd",), method="sin", rate=_sin_rate),
        Op("cos", np.cos, math.cos, ("even",), method="cos", rate=_cos_rate),
        Op("sqrt", np.sqrt, _sqrt, ("none",), llvm="sqrt", method="sqrt", rate=_sqrt_rate),
        Op("log", np.log, _log, ("none",), llvm="log", method="log", rate=_log_rate),
        Op("abs", np.abs, math.fabs, ("even",), llvm="fabs", rate=_abs_rate),
        Op("floor", np.floor, _floor, ("none",), llvm="floor"),
        Op("max", _larger, _larger_of, ("none", "none"), rate=_max_rate),
        Op("choose", _chosen, _chosen_of, ("none", "none", "none", "none"), rate=_choose_rate),
    )
}


def on_arrays(name: str) -> Callable[..., Any]:
    """Return what an operation does with arrays."""
    return OPS[name].arrays


def on_floats(name: str) -> Callable[..., float]:
    """Return what an operation does with Python floats."""
    return OPS[name].floats
