"""The written specification of legal code: the rules of this file, in their order.

What `trace` makes fulfils it, and passes over code must keep it. A breach is a fault of this package and not
of its user, so it is an AssertionError that names the call. With HINGE_CHECK=1 in the environment programs,
kernels and code are verified between passes; code that comes from the cache on disk is not traced, so there
is nothing to verify.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hinge.algebra import One
from hinge.errors import ArgumentError
from hinge.kernels import Kernel, verify
from hinge.sweeps.code import Call, Code, DenseCall, Slot
from hinge.sweeps.contract import Binding
from hinge.sweeps.program import Program, ScalarOutput, VectorOutput, verify_program

#: The environment variable that turns verification between passes on.
VARIABLE = "HINGE_CHECK"


def checks_passes() -> bool:
    """Tell whether passes are verified, by the environment."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen not in ("", "0", "1"):
        raise ArgumentError(f"{VARIABLE}: expected '0' or '1', got {chosen!r}; unset it for no checks")
    return chosen == "1"


def checked_program(program: Program) -> Program:
    """Return a program, verified if passes are."""
    if checks_passes():
        verify_program(program)
    return program


def checked_code(code: Code) -> Code:
    """Return code, verified if passes are."""
    if checks_passes():
        verify_code(code)
    return code


def checked_trace(code: Code, program: Program, binding: Binding) -> Code:
    """Return the code that was traced from a program, verified against it if passes are."""
    if checks_passes():
        verify_code(code)
        _raise_first(covers_program(code, program, binding))
    return code


def verify_code(code: Code) -> None:
    """Raise AssertionError at the first breach of the specification."""
    for rule in RULES:
        _raise_first(rule(code))


def _raise_first(breaches: Iterable[str]) -> None:
    for breach in breaches:
        raise AssertionError(breach)


def kernels_are_legal(code: Code) -> Iterator[str]:
    """Report the first breach in each kernel."""
    first = dict[Kernel, str]()
    for where, c in _numbered(code):
        if isinstance(c, Call):
            first.setdefault(c.kernel, where)
    for kernel, where in first.items():
        try:
            verify(kernel)
        except AssertionError as breach:
            yield f"{where}: kernel: {breach}"


def shapes_are_right(code: Code) -> Iterator[str]:
    """Report calls that do not fit their kernels, and of dense solves whose parts do not fit."""
    for where, c in _numbered(code):
        if isinstance(c, DenseCall):
            n, *more = c.right.shape
            rows = n if c.law is None else len(c.matrix)
            if c.matrix.shape != (rows, n) or len(more) != 1 or c.result.shape != c.right.shape:
                shapes = f"{c.matrix.shape}, {c.right.shape}, {c.result.shape}"
                yield f"{where}: expected matrix (n, n), right and result (n, k), got {shapes}"
            continue
        given, wanted = len(c.loads) + len(c.params), len(c.kernel.inputs)
        if given != wanted:
            yield f"{where}: expected {wanted} loads and parameters, got {given}"
        if len(c.stores) != len(c.kernel.outputs):
            yield f"{where}: expected {len(c.kernel.outputs)} stores, got {len(c.stores)}"


def entries_are_slots_or_numbers(code: Code) -> Iterator[str]:
    """Report entries that are neither a slot of the code nor a finite number."""
    for where, entries in _read(code):
        for x in entries:
            if isinstance(x, Slot):
                if not 0 <= x.index < code.slots:
                    yield f"{where}: there is no slot {x.index} among {code.slots}"
            elif not (isinstance(x, float | int) and math.isfinite(x)):
                yield f"{where}: expected slots or finite numbers, got {x!r}"
    for where, c in _numbered(code):
        for x in c.params if isinstance(c, Call) else ():
            if not (isinstance(x, float) and math.isfinite(x)):
                yield f"{where}: expected finite parameters, got {x!r}"
        for x in c.result.flat if isinstance(c, DenseCall) else ():
            if not isinstance(x, Slot) or x.negative:
                yield f"{where}: expected slots without sign as results, got {x!r}"


def slots_are_written_once_before_they_are_read(code: Code) -> Iterator[str]:
    """Report slots that are read too early, written twice, or out of range."""
    written = dict[int, str]()
    for name, slots in code.inputs.items():
        yield from _write(written, f"input {name}", slots, code.slots)
    for where, c in _numbered(code):
        yield from _missing(written, where, _reads(c))
        stores = c.stores if isinstance(c, Call) else [x.index for x in c.result.flat]
        yield from _write(written, where, stores, code.slots)
    for r in code.results:
        yield from _missing(written, f"result {r.name}", r.values.flat)


def nothing_is_dead(code: Code) -> Iterator[str]:
    """Report slots that a call stores and that no call and no result reads."""
    used = {x.index for _, entries in _read(code) for x in entries if isinstance(x, Slot)}
    for where, c in _numbered(code):
        for s in c.stores if isinstance(c, Call) else ():
            if s not in used:
                yield f"{where}: nothing reads slot {s}"


def results_have_names(code: Code) -> Iterator[str]:
    """Report two results of one name."""
    names = [r.name for r in code.results]
    for name in names:
        if names.count(name) > 1:
            yield f"result {name}: there are {names.count(name)} of this name"


RULES: tuple[Callable[[Code], Iterator[str]], ...] = (
    kernels_are_legal,
    shapes_are_right,
    entries_are_slots_or_numbers,
    slots_are_written_once_before_they_are_read,
    nothing_is_dead,
    results_have_names,
)


def covers_program(code: Code, program: Program, binding: Binding) -> Iterator[str]:
    """Report inputs and outputs of a program that its code lacks or has with another size."""
    sizes = {x.name: binding.length(x.range) for x in program.inputs if _is_taken(x, binding)}
    for name, size in sizes.items():
        if name not in code.inputs or len(code.inputs[name]) != size:
            got = len(code.inputs[name]) if name in code.inputs else "none"
            yield f"input {name}: expected {size} slots, got {got}"
    wanted, names = [o.name for o in program.outputs], [r.name for r in code.results]
    if wanted != names:
        yield f"results: expected {', '.join(wanted)}, got {', '.join(names)}"
    for o, r in zip(program.outputs, code.results, strict=False):
        shape = _shape(o, binding)
        if shape is not None and r.values.shape != shape:
            yield f"result {r.name}: expected shape {shape}, got {r.values.shape}"


def _is_taken(x: Any, binding: Binding) -> bool:
    return x.domain is One and binding.known(x) is None


def _shape(o: object, binding: Binding) -> tuple[int, ...] | None:
    if isinstance(o, ScalarOutput):
        return ()
    return (binding.length(o.variable.range),) if isinstance(o, VectorOutput) else None


def _numbered(code: Code) -> Iterator[tuple[str, Call | DenseCall]]:
    for k, c in enumerate(code.calls):
        kind = f"body {c.body}" if isinstance(c, Call) else "dense solve"
        yield f"call {k} (stage {c.stage}, {kind})", c


def _reads(c: Call | DenseCall) -> Sequence[Any]:
    return [Slot(s) for s in c.loads] if isinstance(c, Call) else [*c.matrix.flat, *c.right.flat]


def _read(code: Code) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield every entry that is read, with its reader."""
    for where, c in _numbered(code):
        yield where, _reads(c)
    for r in code.results:
        yield f"result {r.name}", list(r.values.flat)


def _write(written: dict[int, str], where: str, slots: Iterable[int], size: int) -> Iterator[str]:
    for s in slots:
        if not 0 <= s < size:
            yield f"{where}: there is no slot {s} among {size}"
        elif s in written:
            yield f"{where}: writes slot {s}, which {written[s]} writes"
        written[s] = where


def _missing(written: dict[int, str], where: str, entries: Iterable[Any]) -> Iterator[str]:
    for x in entries:
        if isinstance(x, Slot) and x.index not in written:
            yield f"{where}: reads slot {x.index}, which nothing has written"
