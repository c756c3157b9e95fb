"""Straight-line scalar code: what happens at one body, traced from Python arithmetic.

Arithmetic with the `Scalar`s of a `Graph` writes instructions down; `finish` makes them a `Kernel`,
a value that can be read, counted, verified, interpreted and compiled.
"""

from hinge.kernels.count import Operations, count
from hinge.kernels.graph import ARITY, Graph, Op, Scalar, Value
from hinge.kernels.kernel import SYMBOLS, Instruction, Kernel, Output, finish
from hinge.kernels.verify import verify

__all__ = [
    "ARITY",
    "SYMBOLS",
    "Graph",
    "Instruction",
    "Kernel",
    "Op",
    "Operations",
    "Output",
    "Scalar",
    "Value",
    "count",
    "finish",
    "verify",
]
