"""Object files for other processors, with the header and the self-test of the library in C."""

from __future__ import annotations

from collections.abc import Sequence

from hinge.errors import ArgumentError
from hinge.export.c_library import CLibrary, prefix_of, refuse_clashes
from hinge.export.c_text import Function, header, mark, page, self_test
from hinge.export.dialect import Dialect
from hinge.export.routine import Asked, routines
from hinge.model import Robot, checked_robot
from hinge.targets import object_file


def objects(
    what: Asked,
    robot: Robot,
    triple: str,
    *,
    prefix: str | None = None,
    single: bool = False,
    fma: bool = False,
    roll: bool | None = None,
    cpu: str = "",
    features: str = "",
    nodes: Sequence[str] = (),
    expressed: str = "body",
    parameters: Sequence[str] = (),
) -> CLibrary:
    """Return verbs or expressions of a robot as an object file for a processor, and its header in C.

    `triple` is the processor by LLVM's name, such as "wasm32-unknown-unknown", "aarch64-linux-gnu" or
    "thumbv7em-none-eabihf"; `cpu` and `features` say more, such as "cortex-m7". No compiler is needed: the
    machine code is that of the native target, for one state. Names, arrays and the self-test are those of
    `hinge.export.c`, to which all other arguments belong; with `fma` the processor needs fused products.
    """
    robot = checked_robot(robot)
    for name, given in (("cpu", cpu), ("features", features)):
        if not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"{name}: expected LLVM's name, got {given!r}")
    dialect = Dialect(prefix_of(prefix, robot), single, fma)
    p = dialect.prefix
    options = {"nodes": list(nodes), "expressed": expressed, "parameters": list(parameters)}
    asked = routines(what, robot, options)
    made = [Function(r) for r in asked]
    refuse_clashes(made, dialect)
    code = object_file(
        [(f"{p}_{r.name}", r.code, list(r.inputs)) for r in asked],
        triple,
        dtype=dialect.dtype,
        fused=fma,
        cpu=cpu,
        features=features,
        shape=None if roll is None else "R" if roll else "U",
        texts={f"{p}_fingerprint": mark(robot)},
    )
    files: dict[str, str | bytes] = {
        f"{p}.h": header(robot, made, dialect),
        f"{p}.o": code,
        f"{p}_test.c": self_test(robot, made, dialect),
        "README.md": page(robot, made, dialect, _how(p, triple, cpu)),
    }
    return CLibrary(p, files, tuple(f"{p}_{r.name}" for r in asked))


def _how(p: str, triple: str, cpu: str) -> list[str]:
    """Return lines about linking the object file."""
    lines = [
        f"`{p}.o` is machine code for {triple}{f', {cpu}' if cpu else ''}; `{p}.h` declares its functions."
    ]
    if triple.startswith("wasm"):
        return [
            *lines,
            "",
            f"    wasm-ld --no-entry --export-all --allow-undefined {p}.o -o {p}.wasm",
            "",
            "`sin` and `cos`, for angles of many turns, are imports of `env`: `Math.sin` and `Math.cos`.",
        ]
    return [
        *lines,
        f"`{p}_test.c` compares them with Hinge on that processor.",
        "",
        f"    cc -std=c99 {p}_test.c {p}.o -lm -o {p}_test && ./{p}_test",
    ]
