"""Sweep programs: state equations in passes over a tree, their lowering, cost and tracing."""

from hinge.sweeps.contract import USER_FORCE, USER_MOTION, WORLD, Binding, Block, Step, zeros
from hinge.sweeps.cost import Cost, cost
from hinge.sweeps.lowering import lower
from hinge.sweeps.program import (
    Direction,
    Operator,
    Output,
    Pass,
    Program,
    Scalar,
    Solve,
    Statement,
    Vector,
    WorldBlock,
    verify,
)
from hinge.sweeps.trace import Call, Code, Column, DenseCall, Result, Slot, symmetric_inverse, trace

__all__ = [
    "USER_FORCE",
    "USER_MOTION",
    "WORLD",
    "Binding",
    "Block",
    "Call",
    "Code",
    "Column",
    "Cost",
    "DenseCall",
    "Direction",
    "Operator",
    "Output",
    "Pass",
    "Program",
    "Result",
    "Scalar",
    "Slot",
    "Solve",
    "Statement",
    "Step",
    "Vector",
    "WorldBlock",
    "cost",
    "lower",
    "symmetric_inverse",
    "trace",
    "verify",
    "zeros",
]
