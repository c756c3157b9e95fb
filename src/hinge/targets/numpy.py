"""The NumPy target: kernels as Python functions over whole batches, one call for each body, pass and column.

A kernel becomes a function of straight-line assignments. Called with arrays it works on a batch at once,
with NumPy's own broadcasting; called with floats it is plain Python arithmetic, which for a single state
is faster than arrays of one element. Python takes as long to compile an assignment as to run it a hundred
times, so a kernel is first run instruction by instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import OPS, Kernel, on_arrays, on_floats
from hinge.sweeps import Call, Code, DenseCall, Slot
from hinge.targets.answers import answered
from hinge.targets.floored import floored_solve
from hinge.targets.signature import Signature, Source
from hinge.targets.target import Target

Array = NDArray[Any]
Memory = list[Any]


def source(kernel: Kernel) -> str:
    """Return a kernel as the text of a Python function."""
    names = [f"a{k}" for k in range(len(kernel.inputs))]
    lines = [f"def kernel({', '.join(names)}):"]
    for instruction in kernel.instructions:
        name = f"t{len(names)}"
        x = [names[k] for k in instruction.operands]
        if instruction.constant is not None:
            lines.append(f"    {name} = {instruction.constant!r}")
        else:
            lines.append(f"    {name} = {OPS[instruction.op].written(x)}")
        names.append(name)
    results = [_result(o.value, o.negative, o.constant, names) for o in kernel.outputs]
    return "\n".join([*lines, f"    return ({', '.join(results)},)"])


def _result(value: int | None, negative: bool, constant: float | None, names: Sequence[str]) -> str:
    if value is None:
        return repr(constant)
    return f"-{names[value]}" if negative else names[value]


#: How often a kernel runs instruction by instruction before it becomes a function.
PATIENCE = 40


class _Function:
    """A kernel over arrays or over floats, with the operations for them; the same numbers however it runs."""

    def __init__(self, kernel: Kernel, operation: Callable[[str], Callable[..., Any]]) -> None:
        self.kernel = kernel
        self.operation = operation
        self.calls = 0

    def __call__(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return the outputs."""
        self.calls += 1
        return self._steps(inputs) if self.calls <= PATIENCE else self._function(*inputs)

    @cached_property
    def _steps(self) -> Callable[[Sequence[Any]], list[Any]]:
        return self.kernel.runner(self.operation)

    @cached_property
    def _function(self) -> Callable[..., tuple[Any, ...]]:
        names: dict[str, Any] = {name: self.operation(name) for name in OPS}
        exec(source(self.kernel), names)  # our own instructions: no text of a file gets here
        return names["kernel"]


@dataclass(frozen=True)
class _Step:
    """A call with its two functions: over arrays and over floats."""

    arrays: _Function
    floats: _Function
    loads: tuple[int, ...]
    params: tuple[float, ...]
    stores: tuple[int, ...]


class NumpyProgram:
    """Traced code as Python functions, called with flat input vectors by name."""

    target = "numpy"

    def __init__(self, code: Code) -> None:
        self.code = code
        made: dict[Kernel, tuple[_Function, _Function]] = {}
        self.steps: list[_Step | DenseCall] = []
        for call in code.calls:
            if isinstance(call, DenseCall):
                self.steps.append(call)
                continue
            if call.kernel not in made:
                made[call.kernel] = _Function(call.kernel, on_arrays), _Function(call.kernel, on_floats)
            self.steps.append(_Step(*made[call.kernel], call.loads, call.params, call.stores))

    @property
    def signature(self) -> Signature:
        """The shapes of inputs and results."""
        return Signature.of(self.code)

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
        """Return the fallback: this target has no fast path."""
        del shapes, name, doc, finish, names
        return fallback

    def listing(self, language: str) -> str:
        """Return the kernels as Python functions, each once."""
        assert language == "python", language
        kernels = {id(c.kernel): c.kernel for c in self.code.calls if isinstance(c, Call)}
        return "\n\n".join(map(source, kernels.values()))

    def describe(self) -> list[str]:
        """Return lines about the code that runs."""
        kernels = len({id(c.kernel) for c in self.code.calls if isinstance(c, Call)})
        return [f"target numpy: {len(self.code.calls)} calls of {kernels} Python functions"]

    def __call__(
        self, inputs: Mapping[str, Array], out: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Return the outputs for inputs of shape (…, length), broadcast against each other.

        The work is done in double precision; single inputs get single results.
        """
        single = all(x.dtype == np.float32 for x in inputs.values())
        found = self._evaluate({n: x.astype(np.float64, copy=False) for n, x in inputs.items()})
        if out is None:
            dtype = np.float32 if single else np.float64
            return {n: x.astype(dtype, copy=False) for n, x in found.items()}
        for name, x in found.items():
            out[name][...] = x
        return dict(out)

    def _evaluate(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in inputs.values()))
        if batch == () and not any(isinstance(s, DenseCall) for s in self.steps):
            try:
                memory = self._run({n: x.tolist() for n, x in inputs.items()}, floats=True)
            except (ArithmeticError, ValueError):
                pass  # a division by zero, or the sine of infinity: arrays give inf and nan
            else:
                return {r.name: _floats(r.values, memory) for r in self.code.results}
        with np.errstate(all="ignore"):
            rows = {n: list(np.ascontiguousarray(np.moveaxis(x, -1, 0))) for n, x in inputs.items()}
            memory = self._run(rows, floats=False)
            return {r.name: _batched(r.values, memory, batch) for r in self.code.results}

    def _run(self, rows: Mapping[str, Sequence[Any]], *, floats: bool) -> Memory:
        memory: Memory = [None] * self.code.slots
        for name, slots in self.code.inputs.items():
            for slot, value in zip(slots, rows[name], strict=True):
                memory[slot] = value
        for step in self.steps:
            if isinstance(step, DenseCall):
                _solve(step, memory)
                continue
            f = step.floats if floats else step.arrays
            found = f([*[memory[k] for k in step.loads], *step.params])
            for slot, value in zip(step.stores, found, strict=True):
                memory[slot] = value
        return memory


def _value(x: float | Slot, memory: Memory) -> Any:
    if isinstance(x, Slot):
        return -memory[x.index] if x.negative else memory[x.index]
    return x


def _floats(values: NDArray[Any], memory: Memory) -> Array:
    return np.array([_value(x, memory) for x in values.flat], dtype=np.float64).reshape(values.shape)


def _batched(values: NDArray[Any], memory: Memory, batch: tuple[int, ...]) -> Array:
    found = np.empty((values.size, *batch))
    for k, x in enumerate(values.flat):
        found[k] = _value(x, memory)
    found = found.reshape((*values.shape, *batch))
    axes = tuple(range(values.ndim))
    return np.moveaxis(found, axes, tuple(a - values.ndim for a in axes)).copy(order="C")


def _solve(call: DenseCall, memory: Memory) -> None:
    known = [_value(x, memory) for part in (call.matrix, call.right) for x in part.flat]
    batch = np.broadcast_shapes(*(np.shape(x) for x in known))
    matrix, right = _batched(call.matrix, memory, batch), _batched(call.right, memory, batch)
    if call.law is not None:
        result = answered(call.law, matrix, right, call.matrix)
    else:
        result = floored_solve(matrix, right) if call.floored else _solved(matrix, right)
    for where, slot in np.ndenumerate(call.result):
        memory[slot.index] = result[(..., *where)]


def _solved(matrix: Array, right: Array) -> Array:
    """Return matrix⁻¹ right, nan for states with a singular matrix."""
    try:
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        found = np.full(right.shape, np.nan)
        for k in np.ndindex(matrix.shape[:-2]):
            if np.linalg.matrix_rank(matrix[k]) == len(matrix[k]):
                found[k] = np.linalg.solve(matrix[k], right[k])
        return found


def _program(source: Source) -> NumpyProgram:
    return NumpyProgram(source.code)


NUMPY = Target(NumpyProgram.target, _program, listings={"python": "Python"})
