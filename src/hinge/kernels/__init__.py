"""Straight-line scalar code: what happens at one body, traced from Python arithmetic.

Arithmetic with the `Scalar`s of a `Graph` writes instructions down; `finish` makes them a `Kernel`,
a value that can be read, counted, verified, interpreted and compiled.
"""

from hinge.kernels.count import Operations, count
from hinge.kernels.graph import ARITY, BOUND, RUN, TRACED, Graph, Op, Scalar, Value
from hinge.kernels.kernel import (
    SYMBOLS,
    Instruction,
    Kernel,
    Output,
    Uniform,
    finish,
    split,
    uniform,
)
from hinge.kernels.verify import verify

__all__ = [
    "ARITY",
    "BOUND",
    "RUN",
    "SYMBOLS",
    "TRACED",
    "Graph",
    "Instruction",
    "Kernel",
    "Op",
    "Operations",
    "Output",
    "Scalar",
    "Uniform",
    "Value",
    "count",
    "finish",
    "split",
    "uniform",
    "verify",
]
