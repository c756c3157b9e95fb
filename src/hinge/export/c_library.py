"""A library of C99: header, source, self-test and a page about it, from verbs or expressions of a robot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hinge.errors import ArgumentError
from hinge.export.c_casadi import casadi_source
from hinge.export.c_code import Body, rolled, written_out
from hinge.export.c_text import Function, header, page, self_test, source
from hinge.export.dialect import Dialect
from hinge.export.jacobians import with_jacobians
from hinge.export.routine import Asked, Routine, checked_name, routines
from hinge.model import Robot, checked_robot

#: Code with more operations is rolled unless a caller decides.
MOST_WRITTEN_OUT = 4000


@dataclass(frozen=True, eq=False)
class CLibrary:
    """Files with functions of C by name; `write(folder)` writes them."""

    prefix: str
    files: Mapping[str, str | bytes]
    functions: tuple[str, ...]

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, which is made if it is not there, and return their paths."""
        to = Path(folder)
        to.mkdir(parents=True, exist_ok=True)
        paths = [to / name for name in self.files]
        for path, content in zip(paths, self.files.values(), strict=True):
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return paths


def c(
    what: Asked,
    robot: Robot,
    *,
    prefix: str | None = None,
    single: bool = False,
    fma: bool = False,
    roll: bool | None = None,
    casadi: bool = False,
    nodes: Sequence[str] = (),
    expressed: str = "body",
    parameters: Sequence[str] = (),
) -> CLibrary:
    """Return verbs or expressions of a robot as a library of C99, without a line to be linked but <math.h>.

    `what` is a verb, several, or a dict of functions by name, each a verb, an expression, what `compile`
    takes or returns, or a step of a simulation, `hinge.sim.step(robot, …)`. `prefix` begins every name
    (default: the robot's name). With `single` numbers are floats; with `fma` products are fused into sums,
    and the results have the bits of the native target. `roll` writes each kernel once, for little memory
    (default: only large functions). `nodes`, `expressed` and `parameters` as in `compile`. Arrays are row by
    row; functions need no memory but the stack, and may run in several threads.

    With `casadi` a second source file shows the functions to CasADi and acados, each under its name and
    `_casadi`, with the sparsity of its results, and with our Jacobian where the function is a vector.
    """
    robot = checked_robot(robot)
    dialect = Dialect(prefix_of(prefix, robot), single, fma)
    if casadi and single:
        raise ArgumentError(
            "casadi: expected double precision, which CasADi's interface has, got single=True; leave one out"
        )
    options = {"nodes": list(nodes), "expressed": expressed, "parameters": list(parameters)}
    asked = routines(what, robot, options)
    every = with_jacobians(asked, robot, options) if casadi else asked
    made = [_function(r, dialect, roll) for r in every]
    refuse_clashes(made, dialect)
    if casadi:
        _refuse_for_casadi(asked, dialect)
    p = dialect.prefix
    files: dict[str, str | bytes] = {
        f"{p}.h": header(robot, made, dialect),
        f"{p}.c": source(robot, made, dialect),
        f"{p}_test.c": self_test(robot, made, dialect),
        "README.md": page(robot, made, dialect, _how(dialect, casadi)),
    }
    if casadi:
        files[f"{p}_casadi.c"] = casadi_source(asked, every, dialect)
    return CLibrary(p, files, tuple(f"{p}_{f.of.name}" for f in made))


def _how(dialect: Dialect, casadi: bool) -> list[str]:
    p, flags = dialect.prefix, " -ffp-contract=off -mfma" if dialect.fused else ""
    lines = [
        f"`{p}.h` and `{p}.c` are all that is needed, in C99; `{p}_test.c` compares them with Hinge.",
        "",
        f"    cc -std=c99 -O2{flags} -c {p}.c",
        f"    cc -std=c99 -O2{flags} {p}.c {p}_test.c -lm -o {p}_test && ./{p}_test",
    ]
    if casadi:
        lines += [
            "",
            "With CasADi's interface, for `casadi.external` and for acados:",
            "",
            f"    cc -std=c99 -O2{flags} -fPIC -shared {p}.c {p}_casadi.c -lm -o {p}.so",
        ]
    return lines


def prefix_of(prefix: str | None, robot: Robot) -> str:
    """Return how names begin: the given prefix, or the robot's name as one of C."""
    if prefix is not None:
        return checked_name("prefix", prefix, "arm")
    cleaned = re.sub(r"[\W_]+", "_", robot.name, flags=re.ASCII).strip("_") or "robot"
    return cleaned if not cleaned[0].isdigit() else f"robot_{cleaned}"


def refuse_clashes(made: Sequence[Function], dialect: Dialect) -> None:
    """Refuse functions whose names are those of others, or of what the library has for itself."""
    p = dialect.prefix
    macros = {f"{p.upper()}_{n}" for n in ("NQ", "NV", "H")}
    taken = {f"{p}_fingerprint", *macros, *dialect.names()}
    taken |= {n for f in made if f.body for n in f.body.kernels}
    for f in made:
        if any(0 in shape for shape in f.of.results.values()):
            raise ArgumentError(
                f"what: expected results with numbers, got none of {f.of.name!r}: no joint moves"
            )
        for n in (*f.of.inputs, *f.of.results):
            if not dialect.is_free(n):
                raise ArgumentError(
                    f"what: expected arrays of {f.of.name!r} with other names than {n!r}, which is taken in C"
                )
        if (name := f"{p}_{f.of.name}") in taken:
            raise ArgumentError(
                f"what: expected another name than {f.of.name!r}, since {name} is taken in the library"
            )
        taken.add(name)


def _refuse_for_casadi(asked: Sequence[Routine], dialect: Dialect) -> None:
    """Refuse what CasADi does: functions of nothing, names that begin or end with _ or have two in a row."""
    for r in asked:
        if not r.inputs:
            raise ArgumentError(
                f"casadi: expected functions of q or other arrays, got {r.name!r}, of nothing"
            )
    for name in (f"{dialect.prefix}_{r.name}" for r in asked):
        if name.startswith("_") or name.endswith("_") or "__" in name:
            raise ArgumentError(
                "casadi: expected names that begin with a letter, with single underscores between, got "
                f"{name!r}; give another prefix, or other names of functions"
            )


def _function(r: Routine, dialect: Dialect, roll: bool | None) -> Function:
    is_rolled = r.code.operations().total > MOST_WRITTEN_OUT if roll is None else roll
    body: Body = (
        rolled(r.code, dialect, r.shown, r.name) if is_rolled else written_out(r.code, dialect, r.shown)
    )
    return Function(r, body, is_rolled)
