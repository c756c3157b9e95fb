"""Sweep programs: state equations in passes over a tree, their lowering, cost and tracing."""

from hinge.sweeps.code import Call, Code, Column, DenseCall, KnownBlock, Result, Slot
from hinge.sweeps.code_rules import checked_code, checks_passes, verify_code
from hinge.sweeps.contract import (
    Binding,
    Block,
    Site,
    Step,
    block_of,
    has_blocks_at_bodies,
    is_met_at_world,
    unit_block,
    zeros,
)
from hinge.sweeps.costs import Cost, cost
from hinge.sweeps.factor import symmetric_inverse
from hinge.sweeps.joining import Joined
from hinge.sweeps.law import ForceLaw
from hinge.sweeps.lowering import Factors, lower
from hinge.sweeps.program import (
    Apply,
    BlockOutput,
    Direction,
    Meet,
    OperatorOutput,
    Pass,
    ProductOutput,
    Program,
    ProgramOutput,
    ScalarOutput,
    Solve,
    Statement,
    VectorOutput,
    WorldOutput,
    edges,
    is_congruence,
    operand,
    read_off,
    verify_program,
)
from hinge.sweeps.readout import Readout
from hinge.sweeps.reversing import pulled_code, pushed_code
from hinge.sweeps.tracing import trace, without_garbage

__all__ = [
    "Apply",
    "Binding",
    "Block",
    "BlockOutput",
    "Call",
    "Code",
    "Column",
    "Cost",
    "DenseCall",
    "Direction",
    "Factors",
    "ForceLaw",
    "Joined",
    "KnownBlock",
    "Meet",
    "OperatorOutput",
    "Pass",
    "ProductOutput",
    "Program",
    "ProgramOutput",
    "Readout",
    "Result",
    "ScalarOutput",
    "Site",
    "Slot",
    "Solve",
    "Statement",
    "Step",
    "VectorOutput",
    "WorldOutput",
    "block_of",
    "checked_code",
    "checks_passes",
    "cost",
    "edges",
    "has_blocks_at_bodies",
    "is_congruence",
    "is_met_at_world",
    "lower",
    "operand",
    "pulled_code",
    "pushed_code",
    "read_off",
    "symmetric_inverse",
    "trace",
    "unit_block",
    "verify_code",
    "verify_program",
    "without_garbage",
    "zeros",
]
