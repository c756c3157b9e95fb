"""The host processor: name, features and vector width, and how code is made for it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path

import llvmlite
from llvmlite import binding as llvm

from hinge.errors import ArgumentError
from hinge.targets.llvm.text import BITS, Dtype

#: Vector bits by instruction set, the widest first.
VECTORS = (("avx512f", 512), ("avx", 256), ("sse2", 128), ("neon", 128))


@dataclass(frozen=True)
class Host:
    """A processor as LLVM knows it."""

    triple: str
    cpu: str
    features: str

    @cached_property
    def vector_bits(self) -> int:
        """The width of the widest vectors; 64 where none are known."""
        on = {f[1:] for f in self.features.split(",") if f.startswith("+")}
        return next((bits for name, bits in VECTORS if name in on), 64)

    def lanes(self, dtype: Dtype) -> int:
        """Return the number of lanes of the widest vectors."""
        return max(1, self.vector_bits // BITS[dtype])


@cache
def this_host() -> Host:
    """Return the processor of this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


@cache
def versions() -> tuple[str, ...]:
    """Return the versions of llvmlite, LLVM and this package."""
    return llvmlite.__version__, ".".join(map(str, llvm.llvm_version_info)), _sources()


#: LLVM's level of optimisation: the code is as fast as with 2 and 3, and compiles in four fifths of the time.
LEVEL = 1
#: The environment variable that asks for another: 0 compiles several times sooner, to code half as fast.
VARIABLE = "HINGE_LEVEL"


def chosen_level() -> int:
    """Return the level of optimisation, by the environment; results are the same to the last bit."""
    chosen = os.environ.get(VARIABLE, "") or str(LEVEL)
    if chosen not in ("0", "1", "2", "3"):
        raise ArgumentError(f"{VARIABLE}: expected 0, 1, 2 or 3, got {chosen!r}; unset it for {LEVEL}")
    return int(chosen)


def made_for() -> tuple[str, ...]:
    """Return everything besides the program that machine code depends on."""
    host = this_host()
    return (*versions(), host.triple, host.cpu, host.features, str(chosen_level()))


def _sources() -> str:
    """Return a digest of this package's source files."""
    root = Path(__file__).parents[2]
    digest = sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
