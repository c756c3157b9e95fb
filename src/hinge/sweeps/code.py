"""Straight-line code of a program: calls of kernels, and the slots that connect them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hinge.algebra import Space
from hinge.kernels import Kernel, Operations, count
from hinge.sweeps.law import ForceLaw


@dataclass(frozen=True)
class Slot:
    """A number that one kernel stores and others load; `negative` if it is read with the opposite sign."""

    index: int
    negative: bool = False


Known: TypeAlias = float | Slot


class Column(NamedTuple):
    """One block of columns: of a source space, the block of one body (with all its nodes)."""

    space: Space
    body: int


@dataclass(frozen=True)
class Call:
    """A call of a kernel: the slots that it loads and stores.

    The kernel's inputs are the loads and after them the parameters, numbers of the model. Equal kernels are
    the same object.
    """

    kernel: Kernel
    loads: tuple[int, ...]
    params: tuple[float, ...]
    stores: tuple[int, ...]
    stage: int
    body: int
    column: Column | None = None


KnownBlock: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class DenseCall:
    """A dense solve: matrix, right-hand sides and results as slots or constants.

    A matrix that is known to be symmetric and positive needs no exchange of rows. One that may be singular is
    `floored`: unknowns that depend on those before them are zero.

    With a `law` the unknowns λ lie in its sets, and matrixᵀ matrix λ + right in their duals: the matrix has
    a row for each freedom, and a column for each unknown. The columns of `right` are then that vector, where
    an iteration may start, and the bounds of the sets; those of `result` are λ, how far each row is from the
    law, and the number of rounds.
    """

    matrix: KnownBlock
    right: KnownBlock
    result: KnownBlock
    stage: int
    positive: bool = False
    floored: bool = False
    law: ForceLaw | None = None


@dataclass(frozen=True)
class Result:
    """An output as an array of slots and constants, in the user's order."""

    name: str
    values: KnownBlock


@dataclass(frozen=True)
class Code:
    """A program as straight-line code: calls in order, the slots of inputs and of outputs."""

    calls: tuple[Call | DenseCall, ...]
    inputs: Mapping[str, tuple[int, ...]]
    results: tuple[Result, ...]
    slots: int

    def identity(self) -> str:
        """Return a digest of the code; code with equal digests computes the same.

        A target gets nothing but the code, so the digest distinguishes formulas of any origin.
        """
        kernels: dict[Kernel, int] = {}
        text = sha256()
        for c in self.calls:
            number = kernels.get(c.kernel) if isinstance(c, Call) else None
            if isinstance(c, Call) and number is None:
                number = kernels.setdefault(c.kernel, len(kernels))
                text.update(repr(c.kernel).encode())
            text.update(_written(c, number).encode())
        results = [(r.name, r.values.shape, r.values.ravel().tolist()) for r in self.results]
        text.update(repr((list(self.inputs.items()), results, self.slots)).encode())
        return text.hexdigest()

    def operations(self, stage: int | None = None) -> Operations:
        """Return the operations of one evaluation, of all stages or of one."""
        counted = self.operations_by_body().items()
        return sum((n for (k, _), n in counted if stage in (None, k)), Operations())

    def operations_by_body(self) -> dict[tuple[int, int], Operations]:
        """Return the operations of each stage at each body, by (stage, body)."""
        memo: dict[Kernel, Operations] = {}
        found: dict[tuple[int, int], Operations] = {}
        for c in self.calls:
            if isinstance(c, Call):
                if c.kernel not in memo:
                    memo[c.kernel] = count(c.kernel)
                found[c.stage, c.body] = found.get((c.stage, c.body), Operations()) + memo[c.kernel]
        return found


def _written(call: Call | DenseCall, kernel: int | None) -> str:
    if isinstance(call, Call):
        return repr((kernel, call.loads, call.params, call.stores, call.stage, call.body, call.column))
    blocks = [(x.shape, x.ravel().tolist()) for x in (call.matrix, call.right, call.result)]
    return repr((blocks, call.stage, call.positive, call.floored, call.law))
