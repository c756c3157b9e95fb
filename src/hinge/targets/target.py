"""The interface of a target, as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from hinge.targets.signature import Executable
from hinge.targets.step_schedule import PlainRunner, Runner, StepSchedule


class Dispatcher(Protocol):
    """A function that calls the code of registered subjects directly, see `dispatcher`."""

    @property
    def function(self) -> Callable[..., Any]:
        """The function: of a subject and arrays."""
        ...

    def introduce(self, subject: object, entry: Callable[..., Any], *chosen: str | bool | None) -> None:
        """Register the entry for calls with a subject and choices."""
        ...

    def forget(self) -> None:
        """Remove all subjects."""
        ...


class Way(NamedTuple):
    """How arguments of a call are the inputs of an entry.

    For each input its position or -1, the keyword that it may come by, and the array that it is if it does
    not come. So many arguments come by position, at least one. With `out` that keyword goes to the entry.
    """

    inputs: tuple[tuple[int, str | None, object], ...]
    least: int
    most: int
    out: bool = False


def _fallback(entry: Callable[..., Any], fallback: Callable[..., Any], way: Way) -> Callable[..., Any]:
    del entry, way
    return fallback


class PlainDispatcher:
    """The dispatcher without entries: the fallback itself."""

    def __init__(self, fallback: Callable[..., Any], choices: Sequence[str] = ()) -> None:
        del choices
        self.function = fallback

    def introduce(self, subject: object, entry: Callable[..., Any], *chosen: str | bool | None) -> None:
        """Do nothing."""

    def forget(self) -> None:
        """Do nothing."""


def _always() -> bool:
    return True


@dataclass(frozen=True)
class Target:
    """A way to run code.

    `build(source, **options)` returns the program of a `Source`; `options` names what else it takes. Where
    `available()` is false, `needs` says which package to install. `listings` are the languages that its
    programs can be shown in, with a title each. `dispatcher` and `runner` are for targets that call
    programs, or run schedules of them, without Python; so is `front`, which puts a `Way` before an entry.
    """

    name: str
    build: Callable[..., Executable]
    available: Callable[[], bool] = _always
    needs: str = ""
    options: tuple[str, ...] = ()
    listings: Mapping[str, str] = field(default_factory=dict[str, str])
    dispatcher: Callable[[Callable[..., Any], Sequence[str]], Dispatcher] = PlainDispatcher
    runner: Callable[[StepSchedule], Runner] = PlainRunner
    front: Callable[[Callable[..., Any], Callable[..., Any], Way], Callable[..., Any]] = _fallback
