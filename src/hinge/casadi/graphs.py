"""Code as a graph of CasADi's scalars: each kernel is traced once, and its calls are copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hinge.casadi.extras import casadi
from hinge.export import Pattern, as_matrix
from hinge.kernels import Kernel, operation_in
from hinge.sweeps import Call, Code, Slot
from hinge.targets import without_solves

#: CasADi's names of operations that are called otherwise.
NAMES = {"abs": "fabs", "max": "fmax"}


def evaluated(code: Code, given: Mapping[str, Any]) -> list[Any]:
    """Return the results of code for SX vectors by name, as sparse SX matrices."""
    ca, plain = casadi(), without_solves(code)
    numbers = ca.SX.zeros(max(1, plain.slots), 1)
    for name, slots in plain.inputs.items():
        if name in given and slots:
            numbers[list(slots)] = given[name]
    functions: dict[Kernel, Any] = {}
    for c in plain.calls:
        assert isinstance(c, Call)
        if c.kernel not in functions:
            functions[c.kernel] = _kernel(c.kernel)
        taken = ca.vertcat(numbers[list(c.loads)], ca.SX(ca.DM(list(c.params))))
        numbers[list(c.stores)] = functions[c.kernel](taken)
    return [_shown(r.values, numbers) for r in plain.results]


def _kernel(kernel: Kernel) -> Any:
    """Return a kernel as a function of one vector."""
    ca = casadi()
    x = ca.SX.sym("x", len(kernel.inputs))
    found = kernel.runner(_operation)([x[k] for k in range(len(kernel.inputs))])
    return ca.Function("kernel", [x], [ca.vertcat(*found) if found else ca.SX(0, 1)])


def _operation(name: str) -> Callable[..., Any]:
    """Return what an operation of kernels is in CasADi."""
    return operation_in(
        casadi(),
        name,
        called={**NAMES, "choose": _chosen},
        where="CasADi",
        instead="export C with casadi=True, and load it by casadi.external",
    )


def _chosen(x: Any, y: Any, a: Any, b: Any) -> Any:
    """Return a where x < y, else b."""
    return casadi().if_else(x < y, a, b)


def _shown(values: Any, numbers: Any) -> Any:
    """Return a result as a sparse matrix: what is always zero has no place."""
    ca, pattern = casadi(), Pattern.of(values)
    entries: Sequence[Any] = [as_matrix(values).ravel()[k] for k in pattern.places]
    places = [x.index if isinstance(x, Slot) else 0 for x in entries]
    signs = np.array([(-1.0 if x.negative else 1.0) if isinstance(x, Slot) else 0.0 for x in entries])
    constants = np.array([0.0 if isinstance(x, Slot) else float(x) for x in entries])
    sparsity = ca.Sparsity(*pattern.shape, list(pattern.starts), list(pattern.rows))
    flat = numbers[places] * ca.DM(signs) + ca.DM(constants) if entries else ca.SX(0, 1)
    return ca.SX(sparsity, flat)
