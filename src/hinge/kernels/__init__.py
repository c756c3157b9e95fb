"""Straight-line scalar code: what happens at one body, traced from Python arithmetic.

Arithmetic with the `Scalar`s of a `Graph` writes instructions down; `finish` makes them a `Kernel`,
a value that can be read, counted, verified, interpreted and compiled. The table `OPS` says everything about
each operation.
"""

from hinge.kernels.counting import Operations, count
from hinge.kernels.graph import BOUND, RUN, TRACED, Graph, Scalar, Value, apply
from hinge.kernels.kernel import Instruction, Kernel, Output, Uniform, finish, split, uniform
from hinge.kernels.ops import OPS, Op, on_arrays, on_floats
from hinge.kernels.tables import TABLES, table
from hinge.kernels.verification import verify

__all__ = [
    "BOUND",
    "OPS",
    "RUN",
    "TABLES",
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
    "apply",
    "count",
    "finish",
    "on_arrays",
    "on_floats",
    "split",
    "table",
    "uniform",
    "verify",
]
