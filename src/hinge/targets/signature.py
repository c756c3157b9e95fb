"""Signatures of programs, and the interfaces between code, targets and programs."""

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
    """The input of a target."""

    @property
    def code(self) -> Code:
        """The traced code, its inputs in the order of a call; it may be made when it is first asked for."""
        ...

    @property
    def identity(self) -> str | None:
        """The cache key of the code; None if it may not be cached."""
        ...

    @property
    def label(self) -> str:
        """The label of the code in listings of the cache."""
        ...


@dataclass(frozen=True, eq=False)
class Traced:
    """Traced code as the source of a program."""

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
    def code(self) -> Code:
        """The traced code that it was made from."""
        ...

    @property
    def signature(self) -> Signature:
        """The shapes of inputs and results."""
        ...

    def __call__(
        self, inputs: Mapping[str, NDArray[Any]], out: Mapping[str, NDArray[Any]] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the results for inputs (…, length) that broadcast, in `out` if that is given.

        The precision is single if all inputs are, else double.
        """
        ...

    def entry(
        self,
        fallback: Callable[..., Any],
        shapes: Sequence[tuple[int, ...]],
        *,
        name: str,
        doc: str,
        finish: Callable[[Any], Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> Callable[..., Any]:
        """Return a function of one state's arrays in the order of the inputs, with results of these shapes.

        Arguments without a fast path go to the fallback. `finish` makes of the results, the only one or a
        dict of them, what the function returns; the fallback has done so. `names` are their names in that
        dict, in order, if these are not the program's own.
        """
        ...

    def listing(self, language: str) -> str:
        """Return the program as text in one of the languages that its target lists."""
        ...

    def describe(self) -> list[str]:
        """Return lines about the code that runs."""
        ...
