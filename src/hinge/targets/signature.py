"""What goes into a program and out of it, whichever target runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from hinge.sweeps import Code


@dataclass(frozen=True)
class Signature:
    """The length of each input, the shape of each result, and the operations in between."""

    inputs: Mapping[str, int]
    results: Mapping[str, tuple[int, ...]]
    operations: int

    @classmethod
    def of(cls, code: Code) -> Signature:
        """Return the signature of traced code."""
        return cls(
            {name: len(slots) for name, slots in code.inputs.items()},
            {r.name: r.values.shape for r in code.results},
            code.operations().total,
        )


class Source(Protocol):
    """What a target makes a program of."""

    @property
    def code(self) -> Code:
        """The traced code, its inputs in the order of a call; it may be made when it is first asked for."""
        ...

    @property
    def identity(self) -> str | None:
        """What tells the code apart from all other code, for caches; None if it may not be cached."""
        ...

    @property
    def label(self) -> str:
        """What to call the code in listings of a cache."""
        ...


@dataclass(frozen=True, eq=False)
class Traced:
    """Code that is there, as the source of a program."""

    code: Code
    identity: str | None = None
    label: str = ""


class Executable(Protocol):
    """A program that can be called with arrays."""

    @property
    def target(self) -> str:
        """The name of the target that made it."""
        ...

    @property
    def signature(self) -> Signature:
        """What goes in and out."""
        ...

    def __call__(
        self, inputs: Mapping[str, NDArray[Any]], out: Mapping[str, NDArray[Any]] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the results for inputs (…, length) that broadcast, in `out` if that is given.

        The precision is single if all inputs are, else double.
        """
        ...

    def entry(
        self, fallback: Callable[..., Any], shapes: Sequence[tuple[int, ...]], *, name: str, doc: str
    ) -> Callable[..., Any]:
        """Return a function of one state's arrays in the order of the inputs, with results of these shapes.

        What it cannot do quickly it leaves to the fallback.
        """
        ...

    def listing(self, language: str) -> str:
        """Return the program as text in one of the languages that its target lists."""
        ...

    def describe(self) -> list[str]:
        """Return lines about the code that runs."""
        ...
