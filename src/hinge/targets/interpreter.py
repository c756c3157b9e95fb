"""The interpreter: kernels evaluated instruction by instruction, to see what other targets should give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.sweeps import Call, Code, Slot
from hinge.targets.signature import Signature
from hinge.targets.target import Target

Array = NDArray[Any]


class Interpreted:
    """Traced code without dense solves, interpreted for whole batches."""

    target = "interpreter"

    def __init__(self, code: Code) -> None:
        self.code, self.signature = code, Signature.of(code)

    def entry(
        self, fallback: Callable[..., Any], shapes: Sequence[tuple[int, ...]], *, name: str, doc: str
    ) -> Callable[..., Any]:
        """Return the fallback."""
        del shapes, name, doc
        return fallback

    def listing(self, language: str) -> str:
        """Return the kernels, one after the other."""
        assert language == "kernel", language
        return "\n\n".join(str(c.kernel) for c in self.code.calls if isinstance(c, Call))

    def describe(self) -> list[str]:
        """Return how many calls are interpreted."""
        return [f"target interpreter: {len(self.code.calls)} calls"]

    def __call__(
        self, inputs: Mapping[str, Array], out: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Return the results for inputs (…, length) that broadcast."""
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in inputs.values()))
        memory = {s: inputs[n][..., k] for n, slots in self.code.inputs.items() for k, s in enumerate(slots)}
        for c in self.code.calls:
            assert isinstance(c, Call), "dense solves are not interpreted"
            given = [*(memory[s] for s in c.loads), *c.params]
            found = c.kernel.evaluate(dict(zip(c.kernel.inputs, given, strict=True)))
            memory.update(zip(c.stores, found.values(), strict=True))
        results = dict(out or {r.name: np.empty((*batch, *r.values.shape)) for r in self.code.results})
        for r in self.code.results:
            for at, x in np.ndenumerate(r.values):
                known = (-1.0 if x.negative else 1.0) * memory[x.index] if isinstance(x, Slot) else x
                results[r.name][(..., *at)] = known
        return results


def _program(trace: Callable[[], Code], *, identity: Callable[[], str] | None, label: str) -> Interpreted:
    del identity, label
    return Interpreted(trace())


INTERPRETER = Target(Interpreted.target, _program, listings={"kernel": "kernels, one after the other"})
