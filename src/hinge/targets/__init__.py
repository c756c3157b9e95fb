"""Targets, which run programs: `llvm` for speed, `numpy` without a compiler, `dense` for checking."""

from hinge.targets.blocks import Blocks, block_marks, block_structure, plot_blocks
from hinge.targets.dense import System, system_of
from hinge.targets.expanded import without_solves
from hinge.targets.floored import FLOORS
from hinge.targets.llvm.threads import set_threads, threads
from hinge.targets.native import has_llvm, object_file, xla_handler
from hinge.targets.numpy import NumpyProgram, source
from hinge.targets.random_systems import Counterexample, SingularError, counterexample, random_system
from hinge.targets.registry import (
    TARGETS,
    best_target,
    checked_target,
    dispatcher,
    listing,
    plain_target,
    runner,
    target_of,
)
from hinge.targets.signature import Executable, Signature, Source, Traced
from hinge.targets.step_schedule import PlainRunner, Runner, StepCall, Steps, StepSchedule, Stretch, packed
from hinge.targets.tally import code_made, note_code
from hinge.targets.target import Dispatcher, PlainDispatcher, Target

__all__ = [
    "FLOORS",
    "TARGETS",
    "Blocks",
    "Counterexample",
    "Dispatcher",
    "Executable",
    "NumpyProgram",
    "PlainDispatcher",
    "PlainRunner",
    "Runner",
    "Signature",
    "SingularError",
    "Source",
    "StepCall",
    "StepSchedule",
    "Steps",
    "Stretch",
    "System",
    "Target",
    "Traced",
    "best_target",
    "block_marks",
    "block_structure",
    "checked_target",
    "code_made",
    "counterexample",
    "dispatcher",
    "has_llvm",
    "listing",
    "note_code",
    "object_file",
    "packed",
    "plain_target",
    "plot_blocks",
    "random_system",
    "runner",
    "set_threads",
    "source",
    "system_of",
    "target_of",
    "threads",
    "without_solves",
    "xla_handler",
]
