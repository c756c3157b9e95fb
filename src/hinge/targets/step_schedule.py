"""Schedules: programs that run one after the other, step after step, on the states of a batch.

Programs read and write buffers by name. The arguments of a run determine the kind of each buffer: arrays of
the states, which exist before and after it; tables, which have a row for each step; all others are scratch.
After each step buffers are copied into others, which makes the next state, and recorded at given times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import prod
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from hinge.targets.signature import Executable

Array = NDArray[Any]


@dataclass(frozen=True)
class StepCall:
    """A program and the buffer for each of its inputs and results, by their names.

    `origin` is what the program was made from, for who makes another of it, such as its adjoint.
    """

    program: Executable
    given: Mapping[str, str]
    found: Mapping[str, str]
    origin: object = None

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The buffers that it takes, in the program's order."""
        return tuple(self.given[name] for name in self.program.signature.inputs)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The buffers that it gives, in the program's order."""
        return tuple(self.found[name] for name in self.program.signature.results)

    def run(self, buffers: Mapping[str, Array]) -> dict[str, Array]:
        """Return the results of the program for buffers, as rows (…, length)."""
        names, shapes = self.program.signature.inputs, self.program.signature.results.values()
        found = self.program({n: buffers[b] for n, b in zip(names, self.inputs, strict=True)})
        rows = (
            x.reshape(*x.shape[: x.ndim - len(s)], prod(s))
            for x, s in zip(found.values(), shapes, strict=True)
        )
        return dict(zip(self.outputs, rows, strict=True))

    def lengths(self) -> dict[str, int]:
        """Return the length of a row of each buffer."""
        signature = self.program.signature
        given = dict(zip(self.inputs, signature.inputs.values(), strict=True))
        return given | dict(zip(self.outputs, map(prod, signature.results.values()), strict=True))


@dataclass(frozen=True)
class StepSchedule:
    """The parts of a step: programs, then copies (target → source), then a check of the watched buffers."""

    ops: tuple[StepCall, ...]
    copies: Mapping[str, str]
    watched: str

    @cached_property
    def lengths(self) -> dict[str, int]:
        """The length of a row of each buffer."""
        return {name: n for op in self.ops for name, n in op.lengths().items()}

    @cached_property
    def operations(self) -> int:
        """The operations of a step."""
        return sum(op.program.signature.operations for op in self.ops)


def packed(ops: Sequence[StepCall], lasting: Iterable[str]) -> tuple[StepCall, ...]:
    """Return programs with fewer buffers, so that they stay in the nearest cache.

    A buffer is used again once what it held is read for the last time, unless it is among those `lasting`.
    Each buffer must be written once, and by one program.
    """
    lengths = {name: n for op in ops for name, n in op.lengths().items()}
    last = {name: k for k, op in enumerate(ops) for name in (*op.inputs, *op.outputs)}
    names: dict[str, str] = {}
    free: dict[int, list[str]] = {}
    found: list[StepCall] = []
    keep = frozenset(lasting)
    for k, op in enumerate(ops):
        for name in (n for n in op.outputs if n not in keep):
            places = free.setdefault(lengths[name], [])
            names[name] = places.pop() if places else name
        for name in dict.fromkeys((*op.inputs, *op.outputs)):
            if last[name] == k and name in names:
                free.setdefault(lengths[name], []).append(names[name])
        given, shown = ({n: names.get(b, b) for n, b in x.items()} for x in (op.given, op.found))
        found.append(StepCall(op.program, given, shown, op.origin))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Stretch:
    """What n states go through steps with; all arrays are of one precision, with contiguous rows.

    `arrays` are (n, length), each state's own, which programs may write to, or (length,), the same for all;
    `tables` are (rows, length) or (rows, n, length). After every `every`-th step, counted from 0, buffers go
    to `records` (n, times, length). `bad` (n,) gets the number of the first step after which a watched buffer
    is not finite, where it was negative before.
    """

    states: int
    bad: NDArray[np.int64]
    arrays: Mapping[str, Array]
    tables: Mapping[str, Array] = field(default_factory=dict[str, Array])
    records: Mapping[str, Array] = field(default_factory=dict[str, Array])
    every: int = 1

    @property
    def dtype(self) -> Literal["float32", "float64"]:
        """The precision of all arrays."""
        single = any(x.dtype == np.float32 for x in self.arrays.values())
        return "float32" if single else "float64"


class Steps(Protocol):
    """A function that runs over steps with the current values of a stretch's arrays."""

    def __call__(self, first: int, stop: int, begin: int = 0, row: int = 0) -> int:
        """Run over steps first … stop − 1; return how many states are not finite any more since.

        `begin` is the time of the next record, `row` the row of the tables for the first of the steps. The
        arrays that copies go to are the states after the last step.
        """
        ...


class Runner(Protocol):
    """A runner of a schedule."""

    def prepared(self, stretch: Stretch, steps: int = 1) -> Steps:
        """Return a function that runs over steps of a stretch repeatedly, about so many at a time."""
        ...


class PlainRunner:
    """A schedule run from Python, one step of all states after the other, for programs of any target."""

    def __init__(self, schedule: StepSchedule) -> None:
        self.schedule = schedule

    def prepared(self, stretch: Stretch, steps: int = 1) -> Steps:
        """Return a function that runs over steps of a stretch."""
        return partial(self._run, stretch)

    def _run(self, stretch: Stretch, first: int, stop: int, begin: int = 0, row: int = 0) -> int:
        buffers, found = dict(stretch.arrays), 0
        for step in range(first, stop):
            buffers.update({name: x[row + step - first] for name, x in stretch.tables.items()})
            self._step(stretch, buffers)
            fresh = (stretch.bad < 0) & ~np.isfinite(buffers[self.schedule.watched]).all(axis=-1)
            stretch.bad[fresh] = step
            found += int(fresh.sum())
            if (step + 1) % stretch.every == 0:
                for name, x in stretch.records.items():
                    x[:, begin] = buffers[name].reshape(len(x), x.shape[-1])  # a number a state has no axis
                begin += 1
        return found

    def _step(self, stretch: Stretch, buffers: dict[str, Array]) -> None:
        """Run the programs of a step and the copies after it."""
        for op in self.schedule.ops:
            for name, x in op.run(buffers).items():
                if name in stretch.arrays:
                    buffers[name][...] = x
                else:
                    buffers[name] = x
        for target, source in self.schedule.copies.items():
            buffers[target][...] = buffers[source]
