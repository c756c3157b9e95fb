"""The registry of targets. To add one, write its file and name it here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hinge.errors import ArgumentError
from hinge.targets.forks import survive_forks
from hinge.targets.native import LLVM
from hinge.targets.numpy import NUMPY
from hinge.targets.signature import Executable
from hinge.targets.step_schedule import PlainRunner, Runner, StepSchedule
from hinge.targets.target import Dispatcher, PlainDispatcher, Target

#: Targets by name. The first that is available is taken where neither a call nor the environment names one.
TARGETS: dict[str, Target] = {target.name: target for target in (LLVM, NUMPY)}
#: The environment variable that names the target where a call does not.
VARIABLE = "HINGE_TARGET"
survive_forks()


def best_target() -> str:
    """Return the name of the target that the environment names, else of the first that is available."""
    named = os.environ.get(VARIABLE)
    if named:
        return checked_target(VARIABLE, named)
    for name, target in TARGETS.items():
        if target.available():
            return name
    raise AssertionError("no target is available")


def plain_target() -> str:
    """Return the name of the target that is always available, since it needs no compiler."""
    return NUMPY.name


def checked_target(argument: str, name: str) -> str:
    """Return a target's name, or raise an ArgumentError that lists the targets."""
    if name not in list(TARGETS):
        raise ArgumentError(f"{argument}: expected {_either(TARGETS)}, got {name!r}")
    return name


def target_of(program: Executable) -> Target:
    """Return the target that made a program."""
    return TARGETS[program.target]


def dispatcher(fallback: Callable[..., Any], choices: Sequence[str] = ()) -> Dispatcher:
    """Return a dispatcher around a Python function of a module, native where the best target is.

    `choices` are arguments of the function that choose an entry of the subject.
    """
    target = TARGETS[best_target()]
    return (target.dispatcher if target.available() else PlainDispatcher)(fallback, choices)


def runner(schedule: StepSchedule) -> Runner:
    """Return the runner of a schedule: that of its target if all its programs are of one, else Python's."""
    targets = {op.program.target for op in schedule.ops}
    return TARGETS[targets.pop()].runner(schedule) if len(targets) == 1 else PlainRunner(schedule)


def listing(program: Executable, language: str) -> str:
    """Return a program as text in a language that its target has, or raise an ArgumentError."""
    shown = target_of(program).listings
    if language not in shown:
        able = [t.name for t in TARGETS.values() if language in t.listings]
        remedy = f"; compile with target={able[0]!r}" if able else ""
        raise ArgumentError(
            f"{language}: expected {_either(shown)} for target {program.target!r}, got {language!r}{remedy}"
        )
    return program.listing(language)


def _either(names: Iterable[str]) -> str:
    return " or ".join(map(repr, names))
