"""The written specification of a legal kernel: the rules of this file, in their order.

What `finish` makes fulfils it, and what transforms kernels must keep it. A breach is a fault of this
package and not of its user, so it is an AssertionError that names the instruction.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence

from hinge.kernels.kernel import Instruction, Kernel, label
from hinge.kernels.ops import OPS


def verify(kernel: Kernel) -> None:
    """Raise AssertionError at the first breach of the specification."""
    for rule in RULES:
        for breach in rule(kernel):
            raise AssertionError(breach)


def names_are_unique(kernel: Kernel) -> Iterator[str]:
    """Report two inputs or two outputs with one key."""
    yield from _repeated("input", kernel.inputs)
    yield from _repeated("out", [o.key for o in kernel.outputs])


def shapes_are_right(kernel: Kernel) -> Iterator[str]:
    """Report unknown ops, wrong numbers of arguments, and constants that are not finite floats."""
    for number, i in _numbered(kernel):
        if i.op != "const" and i.op not in OPS:
            yield f"{_text(number, i)}: unknown op; expected one of {', '.join(('const', *OPS))}"
        elif len(i.args) != (1 if i.op == "const" else OPS[i.op].arity):
            yield f"{_text(number, i)}: wrong number of arguments"
        elif i.constant is not None and not (type(i.constant) is float and math.isfinite(i.constant)):
            yield f"{_text(number, i)}: not a finite float"


def arguments_come_earlier(kernel: Kernel) -> Iterator[str]:
    """Report arguments that are not earlier values, and unsorted arguments of commutative ops."""
    for number, i in _numbered(kernel):
        operands = i.operands
        for a in operands:
            if type(a) is not int or not 0 <= a < number:
                yield f"{_text(number, i)}: argument {a} is not an earlier value"
        if i.op != "const" and OPS[i.op].commutes and list(operands) != sorted(operands):
            yield f"{_text(number, i)}: arguments of {i.op} are not in order"


def instructions_are_unique(kernel: Kernel) -> Iterator[str]:
    """Report instructions that repeat an earlier one."""
    seen: dict[Instruction, int] = {}
    for number, i in _numbered(kernel):
        first = seen.setdefault(i, number)
        if first != number:
            yield f"{_text(number, i)}: the same as t{first}"


def outputs_exist(kernel: Kernel) -> Iterator[str]:
    """Report outputs that are neither an existing value nor a finite constant without sign."""
    size = len(kernel.inputs) + len(kernel.instructions)
    for key, value, negative, constant in kernel.outputs:
        where = f"out {label(key)}"
        if (value is None) == (constant is None):
            yield f"{where}: expected either a value or a constant"
        if value is not None and not 0 <= value < size:
            yield f"{where}: there is no value t{value}"
        if constant is not None and (negative or not math.isfinite(constant)):
            yield f"{where}: {constant} is not a finite constant without sign"


def constants_are_folded(kernel: Kernel) -> Iterator[str]:
    """Report constants that are outputs, and instructions of constants alone."""
    constants = {number for number, i in _numbered(kernel) if i.op == "const"}
    for number, i in _numbered(kernel):
        if i.op != "const" and constants.issuperset(i.operands):
            yield f"{_text(number, i)}: all arguments are constant"
    for o in kernel.outputs:
        if o.value in constants:
            yield f"out {label(o.key)}: t{o.value} is constant, so the output must be"


def nothing_is_dead(kernel: Kernel) -> Iterator[str]:
    """Report inputs and instructions that no later instruction and no output uses."""
    used = {o.value for o in kernel.outputs}.union(*(i.operands for i in kernel.instructions))
    for number, key in enumerate(kernel.inputs):
        if number not in used:
            yield f"input {label(key)}: dead, nothing uses it"
    for number, i in _numbered(kernel):
        if number not in used:
            yield f"{_text(number, i)}: dead, nothing uses it"


RULES: tuple[Callable[[Kernel], Iterator[str]], ...] = (
    names_are_unique,
    shapes_are_right,
    arguments_come_earlier,
    instructions_are_unique,
    outputs_exist,
    constants_are_folded,
    nothing_is_dead,
)


def _numbered(kernel: Kernel) -> Iterator[tuple[int, Instruction]]:
    return enumerate(kernel.instructions, len(kernel.inputs))


def _text(number: int, i: Instruction) -> str:
    return f"t{number} = {i.op}({', '.join(map(str, i.args))})"


def _repeated(what: str, keys: Sequence[Hashable]) -> Iterator[str]:
    for key, times in Counter(keys).items():
        if times > 1:
            yield f"{what} {label(key)}: there are {times} of this name"
