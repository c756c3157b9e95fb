"""How large and how quick is exported C, and how long are CasADi's graphs, next to its own derivatives?"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.agreement import BOUND, wrong
from benchmarks.harness import Contender, Options, race
from benchmarks.subjects import Subject, one_thread, subject
from benchmarks.tables import Cell, Table, nanoseconds
from hinge.export import c, objects

NAMES = ("panda", "talos")
#: Functions of C.
VERBS = ("forward_dynamics", "inverse_dynamics", "forward_dynamics_derivatives")
#: Shapes of the code by name.
SHAPES = {"written out": False, "rolled": True}
C_COLUMNS = (
    "robot",
    "function",
    "shape",
    "compiler",
    "operations",
    "code [kB]",
    "compiled in [s]",
    "C",
    "Hinge, one",
)
GRAPH_COLUMNS = (
    "robot", "function", "instructions", "built in [s]", "Jacobian, ours", "expected", "CasADi's", "expected",
    "value [µs]", "ours [µs]", "CasADi's [µs]",
)  # fmt: skip
#: Instructions of the Jacobian of forward dynamics in the prototype that the design was made with.
EXPECTED = {"panda": (10053, 15489), "talos": (130116, 238294)}
#: Code of more operations, such as derivatives of humanoids, is not compiled here: that takes minutes.
MOST = 20000
CALLS = 2000


def tables(options: Options) -> Iterator[Table]:
    """Yield a table of C, one of object files, and one of CasADi's graphs."""
    one_thread()
    names = NAMES[:1] if options.quick else NAMES
    compilers = [x for x in ("gcc", "clang") if shutil.which(x)]
    rows = [
        _c_row(subject(n), verb, shape, compiler, options)
        for n in names
        for verb in VERBS
        for shape in SHAPES
        for compiler in (compilers[:1] if verb == VERBS[-1] else compilers)
        if _is_short(subject(n), verb)
    ]
    note = "-O2 -mfma -ffp-contract=off, fused products: the same bits as Hinge's own code; ns for one state."
    yield Table("Exported C: size and time for one state", C_COLUMNS, rows, [note])
    yield _objects(names)
    if find_spec("casadi") is not None:
        yield Table(
            "CasADi: instructions, and time in its virtual machine, one state",
            GRAPH_COLUMNS,
            [_graph_row(subject(n), options) for n in names],
            ["expected: of the prototype. Jacobian: of forward dynamics by q, qd and tau."],
        )


def _is_short(on: Subject, verb: str) -> bool:
    return hinge.export.routines(verb, on.robot, {})[0].code.operations().total <= MOST


def _c_row(on: Subject, verb: str, shape: str, compiler: str, options: Options) -> list[Cell]:
    s = on.states(CALLS)
    library = c(verb, on.robot, prefix="arm", fma=True, roll=SHAPES[shape])
    (r,) = hinge.export.routines(verb, on.robot, {})
    with TemporaryDirectory() as folder:
        library.write(folder)
        flags = ["-std=c99", "-O2", "-mfma", "-ffp-contract=off", "-fPIC"]
        used = subprocess.run(
            ["bash", "-c", f"TIMEFORMAT=%U; time {compiler} {' '.join(flags)} -c arm.c"],
            cwd=folder, check=True, capture_output=True, text=True,
        ).stderr  # fmt: skip
        (Path(folder) / "many.c").write_text(_driver(r))
        linked = [compiler, *flags, "-shared", "arm.o", "many.c", "-lm", "-o", "arm.so"]
        subprocess.run(linked, cwd=folder, check=True)
        size = _code_size(Path(folder) / "arm.o")
        f = ctypes.CDLL(f"{folder}/arm.so").many
    third = s.qdd if "qdd" in r.inputs else s.tau
    rows = [np.ascontiguousarray(x, dtype=float) for x in (s.q, s.qd, third)]
    out = [np.zeros((len(s), *shape_)) for shape_ in r.results.values()]
    own = partial(f, ctypes.c_long(len(s)), *(ctypes.c_void_p(x.ctypes.data) for x in (*rows, *out)))
    own()
    wanted = r.judge({**dict(zip(r.inputs, rows, strict=True)), **_nothing(r)})
    bad = next((x for x in map(_differ(verb), out, wanted.values()) if x), "")
    one, args = on.call(verb, s[0])
    times = race(
        [Contender("C", own, len(s)), Contender("Hinge", lambda: [one(*args) for _ in range(200)], 200)],
        budget=options.budget / 4,
    )
    return [
        on.name, verb.replace("_", " "), shape, compiler, r.code.operations().total, size / 1000,
        float(used.split()[-1]), bad or nanoseconds(times["C"]), nanoseconds(times["Hinge"]),
    ]  # fmt: skip


def _differ(verb: str) -> Any:
    return lambda found, w: wrong(verb, found, np.asarray(w), BOUND)


def _nothing(r: Any) -> dict[str, Any]:
    return {n: np.zeros(0) for n, slots in r.code.inputs.items() if not slots}


def _driver(r: Any) -> str:
    """Return a function of C that calls another for many states, one after the other."""
    sizes = {**r.inputs, **{n: int(np.prod(x)) for n, x in r.results.items()}}
    given = ", ".join(f"{'const ' if n in r.inputs else ''}double *{n}" for n in sizes)
    args = ", ".join(f"{n} + k * {size}" for n, size in sizes.items())
    loop = f"for (k = 0; k < states; ++k) arm_{r.name}({args});"
    return f'#include "arm.h"\nvoid many(long states, {given})\n{{\n    long k;\n    {loop}\n}}\n'


def _code_size(path: Path) -> int:
    """Return the bytes of code and of constants."""
    text = subprocess.run(["size", path], check=True, capture_output=True, text=True).stdout
    return int(text.splitlines()[1].split()[0])


def _objects(names: Sequence[str]) -> Table:
    columns = ("robot", "processor", "forward dynamics [kB]", "inverse dynamics [kB]", "float32 [kB]")
    table = Table("Object files: bytes of the file", columns)
    for name in names:
        robot = subject(name).robot
        for triple in (
            "x86_64-pc-linux-gnu",
            "aarch64-linux-gnu",
            "thumbv7em-none-eabihf",
            "wasm32-unknown-unknown",
        ):
            sizes = [
                len(objects(verb, robot, triple, prefix="arm", single=single).files["arm.o"]) / 1000
                for verb, single in (*((v, False) for v in VERBS[:2]), (VERBS[0], True))
            ]
            table.rows.append([name, triple, *sizes])
    return table


def _graph_row(on: Subject, options: Options) -> list[Cell]:
    from hinge.casadi import function  # noqa: PLC0415 (an extra)

    verb, s = "forward_dynamics", on.states(1)[0]
    start = process_time()
    plain = function(verb, on.robot, jacobian=False)
    built = process_time() - start
    ours, theirs = function(verb, on.robot).jacobian(), plain.jacobian()
    args = (s.q, s.qd, s.tau)
    times = race(
        [
            Contender(n, lambda f=f, a=a: [f(*a) for _ in range(20)], 20)
            for n, f, a in (
                ("value", plain, args),
                ("ours", ours, (*args, 0)),
                ("theirs", theirs, (*args, 0)),
            )
        ],
        budget=options.budget / 4,
    )
    d = hinge.forward_dynamics_derivatives(on.robot, *args)
    bad = wrong(verb, np.array(ours(*args, 0)[1])[None], d.qd[None], 1e3 * BOUND)
    wanted = EXPECTED[on.name]
    return [
        on.name, verb.replace("_", " "), plain.n_instructions(), built, ours.n_instructions(), wanted[0],
        theirs.n_instructions(), wanted[1], *(bad or 1e6 * times[n] for n in ("value", "ours", "theirs")),
    ]  # fmt: skip


if __name__ == "__main__":
    command.run({"export": tables})
