"""Targets: what runs a program. `dense` for looking and checking, `numpy` for batches."""

from hinge.targets.blocks import block_structure, plot_blocks
from hinge.targets.dense import System, system_of
from hinge.targets.numpy import NumpyProgram, source
from hinge.targets.random_systems import Counterexample, SingularError, counterexample, random_system

__all__ = [
    "Counterexample",
    "NumpyProgram",
    "SingularError",
    "System",
    "block_structure",
    "counterexample",
    "plot_blocks",
    "random_system",
    "source",
    "system_of",
]
