"""Object files for other processors: functions of one state, with addresses of plain arrays as arguments.

    void name(const T *input, …, T *result, …)

The text is that of the native target, for one state at a time and without a loop over a batch. Scratch memory
is on the stack. Beside `sin` and `cos`, which only angles of many turns need, functions of the C library are
called for what the processor lacks: `fma` if products are fused, `sqrt` and `log`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import binding as llvm

from hinge.errors import ArgumentError
from hinge.sweeps import Code
from hinge.targets.llvm.host import LEVEL
from hinge.targets.llvm.lanes import Rows
from hinge.targets.llvm.machine import COMPILING
from hinge.targets.llvm.module import ALIGNED, Shape, choose_shape, shaped
from hinge.targets.llvm.text import Lanes, Writer

#: Processors whose code is made, by LLVM's names. Others have no floating point, another order of bytes, or
#: memory that is not flat.
ARCHITECTURES = (
    "x86-64", "x86", "aarch64", "arm", "thumb", "riscv32", "riscv64", "wasm32", "wasm64",
    "loongarch64", "ppc64le",
)  # fmt: skip
#: Triples that messages name.
EXAMPLES = (
    "wasm32-unknown-unknown",
    "aarch64-linux-gnu",
    "thumbv7em-none-eabihf",
    "riscv64-unknown-elf",
    "x86_64-pc-linux-gnu",
)


@dataclass(frozen=True, eq=False)
class ObjectFunction:
    """A function of an object file: its name, its code, and the order of inputs among the arguments."""

    name: str
    code: Code
    inputs: Sequence[str]


def object_file(
    functions: Sequence[ObjectFunction],
    triple: str,
    *,
    dtype: Any = "float64",
    fused: bool = False,
    cpu: str = "",
    features: str = "",
    shape: Shape | None = None,
    texts: dict[str, str] | None = None,
) -> bytes:
    """Return functions as an object file for a processor, by LLVM's names of it.

    With `fused` products are fused into sums; `texts` are constant strings by name.
    """
    target, triple = _target(triple)
    if cpu or features:
        _check_processor(triple, cpu, features)
    with COMPILING:
        machine = target.create_target_machine(
            cpu=cpu, features=features, opt=LEVEL, reloc="pic", codemodel="default"
        )
        strings = "\n".join(_string(name, text) for name, text in (texts or {}).items())
        whole = llvm.parse_assembly(strings)
        whole.triple, whole.data_layout = triple, str(machine.target_data)
        for f in functions:
            module = llvm.parse_assembly(function_text(f, Lanes(1, dtype, fused), shape))
            module.triple, module.data_layout = triple, str(machine.target_data)
            whole.link_in(module)
        whole.verify()
        return machine.emit_object(whole)


def function_text(f: ObjectFunction, lanes: Lanes, shape: Shape | None = None) -> str:
    """Return the text of a module with this function."""
    w = Writer(lanes)
    given = {n: Rows(w, [f"%in{k}"], len(f.code.inputs[n])) for k, n in enumerate(f.inputs)}
    states = shaped(w, f.code, shape or choose_shape(f.code))
    states.load([given.get(n) or Rows(w, ["null"], 0) for n in f.code.inputs])
    states.run()
    for k, result in enumerate(f.code.results):
        values = result.values.ravel().tolist()
        states.store(Rows(w, [f"%out{k}"], len(values)), values)
    w.do("ret void")
    arguments = [f"ptr noalias readonly %in{k}" for k in range(len(f.inputs))]
    arguments += [f"ptr noalias %out{k}" for k in range(len(f.code.results))]
    room = f"  %scratch = alloca [{max(1, states.places.size)} x {lanes.type}], align 64\n"
    head = f"define void @{f.name}({', '.join(arguments)}) nounwind {ALIGNED}"
    body = "\n".join(w.lines)
    return "\n".join(
        [
            *w.globals,
            *w.declared,
            *w.functions.values(),
            f"{head} {{\nentry:\n{room}{body}\n}}\n",
        ]
    )


def _string(name: str, text: str) -> str:
    data = text.encode() + b"\0"
    return f'@{name} = constant [{len(data)} x i8] c"{"".join(f"{chr(92)}{b:02X}" for b in data)}"'


def _target(triple: Any) -> tuple[Any, str]:
    """Return LLVM's target of a triple, and the triple in full, or raise an ArgumentError that names some."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    some = ", ".join(EXAMPLES)
    if not isinstance(triple, str) or not re.match(r"[\w.-]+\Z", triple):
        raise ArgumentError(f"triple: expected a processor by LLVM's name, such as {some}, got {triple!r}")
    try:
        target = llvm.Target.from_triple(_full(triple))
    except RuntimeError:
        raise ArgumentError(
            f"triple: expected a processor that llvmlite has, such as {some}, got {triple!r}; for any other "
            "export C, and compile it there"
        ) from None
    if target.name not in ARCHITECTURES:
        raise ArgumentError(
            f"triple: expected one of {', '.join(ARCHITECTURES)}, such as {some}, got {triple!r}; for "
            f"{target.name} export C, and compile it there"
        )
    return target, _full(triple)


def _full(triple: str) -> str:
    """Return a triple with all four parts: LLVM takes the last of three for no environment.

    "armv7-linux-gnueabihf" would pass numbers in integer registers.
    """
    given, parts = triple.split("-"), llvm.get_triple_parts(triple)
    if len(given) != 3 or parts.Env in ("", "unknown"):
        return triple
    return f"{given[0]}-{parts.Vendor}-{parts.OS.replace('unknown', 'none')}-{parts.Env}"


#: LLVM prints a line about a processor that it does not know, takes the plain one, and tells nobody else.
_PROBE = """
import sys
from llvmlite import binding as llvm
llvm.initialize_all_targets()
triple, cpu, features = sys.argv[1:]
llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features)
"""


def _check_processor(triple: str, cpu: str, features: str) -> None:
    """Refuse a processor or features that LLVM does not know, asked in a process of its own."""
    asked = [sys.executable, "-c", _PROBE, triple, cpu, features]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stderr
    if "not a recognized" in said:
        line = said.strip().splitlines()[0]
        raise ArgumentError(
            f"cpu, features: expected names of LLVM for {triple}, such as '+fp-armv8', got {cpu!r} and "
            f"{features!r}: {line}"
        )
