"""Straight-line scalar code: what happens at one body, traced from Python arithmetic.

Arithmetic with the `Scalar`s of a `Graph` writes instructions down; `finish` makes them a `Kernel`,
a value that can be read, counted, verified, interpreted and compiled. The table `OPS` says everything about
each operation.
"""

from hinge.kernels.adjoint import adjoint_of
from hinge.kernels.circle import CIRCLE_NUMBERS, CircleNumbers
from hinge.kernels.counting import Operations, count
from hinge.kernels.dual import Dual, duals, fresh_level, on_duals, rates, value_of
from hinge.kernels.elsewhere import operation_in
from hinge.kernels.fusing import FUSED, FusedStep, fused
from hinge.kernels.graph import BOUND, RUN, TRACED, Graph, Scalar, Value, apply
from hinge.kernels.kernel import Instruction, Kernel, Output, Uniform, finish, split, uniform
from hinge.kernels.ops import OPS, Op, on_arrays, on_floats
from hinge.kernels.tables import TABLES, table
from hinge.kernels.verification import verify

__all__ = [
    "BOUND",
    "CIRCLE_NUMBERS",
    "FUSED",
    "OPS",
    "RUN",
    "TABLES",
    "TRACED",
    "CircleNumbers",
    "Dual",
    "FusedStep",
    "Graph",
    "Instruction",
    "Kernel",
    "Op",
    "Operations",
    "Output",
    "Scalar",
    "Uniform",
    "Value",
    "adjoint_of",
    "apply",
    "count",
    "duals",
    "finish",
    "fresh_level",
    "fused",
    "on_arrays",
    "on_duals",
    "on_floats",
    "operation_in",
    "rates",
    "split",
    "table",
    "uniform",
    "value_of",
    "verify",
]
