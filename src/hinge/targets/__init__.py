"""Targets: what runs a program. `llvm` for speed, `numpy` without a compiler, `dense` for checking."""

from hinge.targets.blocks import Blocks, block_marks, block_structure, plot_blocks
from hinge.targets.dense import System, system_of
from hinge.targets.llvm.threads import set_threads, threads
from hinge.targets.native import Dispatcher, dispatcher, has_llvm, native_program, player
from hinge.targets.numpy import NumpyProgram, source
from hinge.targets.random_systems import Counterexample, SingularError, counterexample, random_system
from hinge.targets.signature import Executable, Signature
from hinge.targets.tally import code_made, note_code
from hinge.targets.tape import PlainPlayer, Player, Stretch, Tape, TapeOp

__all__ = [
    "Blocks",
    "Counterexample",
    "Dispatcher",
    "Executable",
    "NumpyProgram",
    "PlainPlayer",
    "Player",
    "Signature",
    "SingularError",
    "Stretch",
    "System",
    "Tape",
    "TapeOp",
    "block_marks",
    "block_structure",
    "code_made",
    "counterexample",
    "dispatcher",
    "has_llvm",
    "native_program",
    "note_code",
    "player",
    "plot_blocks",
    "random_system",
    "set_threads",
    "source",
    "system_of",
    "threads",
]
