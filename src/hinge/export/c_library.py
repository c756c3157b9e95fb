"""A library of C99: header, source, self-test and a page about it, from verbs or expressions of a robot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from hinge.algebra import Expr
from hinge.dynamics import Compiled, compile, derivative_parts, refuse_closures
from hinge.errors import ArgumentError
from hinge.export.c_code import Body, refuse_laws, rolled, written_out
from hinge.export.dialect import Dialect
from hinge.model import Robot, checked_robot, fingerprint, neutral, random_configuration
from hinge.spatial import Array
from hinge.sweeps import Code
from hinge.targets import TARGETS

#: Code with more operations is rolled unless a caller decides.
MOST_WRITTEN_OUT = 4000
#: States of the self-test.
STATES = 5
#: Names of results that are the value of a verb of another name.
RESULTS = {
    "forward_dynamics": "qdd", "inverse_dynamics": "tau", "mass_matrix": "M",
    "mass_matrix_inverse": "M_inverse", "jacobian": "J", "bias_force": "tau", "coriolis_force": "tau",
    "gravity_force": "tau",
}  # fmt: skip
#: Verbs of derivatives, and what they are taken by.
DERIVATIVES = {
    "forward_dynamics_derivatives": ("forward_dynamics", ("q", "qd", "tau")),
    "inverse_dynamics_derivatives": ("inverse_dynamics", ("q", "qd")),
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the library: its name, what judges it, its code, and names and shapes of its arrays."""

    name: str
    judge: Compiled
    code: Code
    body: Body
    inputs: Mapping[str, int]
    results: Mapping[str, tuple[int, ...]]
    rolled: bool


@dataclass(frozen=True, eq=False)
class CLibrary:
    """Files of C99 by name; `write(folder)` writes them."""

    prefix: str
    files: Mapping[str, str]
    functions: tuple[str, ...]

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, which is made if it is not there, and return their paths."""
        to = Path(folder)
        to.mkdir(parents=True, exist_ok=True)
        paths = [to / name for name in self.files]
        for path, text in zip(paths, self.files.values(), strict=True):
            path.write_text(text, encoding="utf-8")
        return paths


def c(
    what: str | Expr | Sequence[str] | Mapping[str, Any],
    robot: Robot,
    *,
    prefix: str | None = None,
    single: bool = False,
    fma: bool = False,
    roll: bool | None = None,
    nodes: Sequence[str] = (),
    expressed: str = "body",
    parameters: Sequence[str] = (),
) -> CLibrary:
    """Return verbs or expressions of a robot as a library of C99, without a line to be linked but <math.h>.

    `what` is a verb, several, or a dict of functions by name, each a verb, an expression or what `compile`
    takes. `prefix` begins every name (default: the robot's name). With `single` numbers are floats; with
    `fma` products are fused into sums, and the results have the bits of the native target. `roll` writes each
    kernel once, for little memory (default: only large functions). `nodes`, `expressed` and `parameters` as
    in `compile`. Arrays are row by row; functions need no memory but the stack, and may run in several
    threads.
    """
    robot = checked_robot(robot)
    name = _prefix(prefix, robot)
    dialect = Dialect(name, single, fma)
    options = {"nodes": list(nodes), "expressed": expressed, "parameters": list(parameters)}
    asked = _functions(what)
    made = [_function(n, given, robot, dialect, roll, options) for n, given in asked.items()]
    files = {
        f"{name}.h": _header(robot, made, dialect),
        f"{name}.c": _source(robot, made, dialect),
        f"{name}_test.c": _test(robot, made, dialect),
        "README.md": _page(robot, made, dialect),
    }
    return CLibrary(name, files, tuple(f"{name}_{f.name}" for f in made))


def _prefix(prefix: str | None, robot: Robot) -> str:
    if prefix is None:
        cleaned = re.sub(r"\W+", "_", robot.name, flags=re.ASCII).strip("_") or "robot"
        return cleaned if not cleaned[0].isdigit() else f"robot_{cleaned}"
    if not _NAME.match(prefix):
        raise ArgumentError(f"prefix: expected a name of C, such as 'arm', got {prefix!r}")
    return prefix


def _functions(what: Any) -> dict[str, Any]:
    if isinstance(what, str):
        return {what: what}
    if isinstance(what, Expr):
        return {"value": what}
    if isinstance(what, Mapping):
        found: dict[str, Any] = dict(what)
    else:
        found = {name: name for name in what}
    if not found:
        raise ArgumentError("what: expected at least one verb or expression, got none")
    for name in found:
        if not _NAME.match(name):
            raise ArgumentError(f"what: expected names of C, such as 'speed', got {name!r}")
    return found


def _function(
    name: str, given: Any, robot: Robot, dialect: Dialect, roll: bool | None, options: dict[str, Any]
) -> Function:
    if isinstance(given, str) and given in DERIVATIVES:
        refuse_closures(robot, given, "closed_dynamics, whose derivatives are not exported,")
        given = derivative_parts(*DERIVATIVES[given])
    judge = compile(given, robot, target=_quickest(), **options)
    code = judge.code
    refuse_laws(code, name)
    inputs = {n: len(code.inputs[n]) for n in sorted(code.inputs, key=_order) if code.inputs[n]}
    shapes = {r.name: r.values.shape for r in code.results}
    results = {_shown(n, inputs): shape for n, shape in shapes.items()}
    arrays = {**{n: n for n in inputs}, **{n: _shown(n, inputs) for n in shapes}}
    is_rolled = code.operations().total > MOST_WRITTEN_OUT if roll is None else roll
    body = rolled(code, dialect, arrays, name) if is_rolled else written_out(code, dialect, arrays)
    return Function(name, judge, code, body, inputs, results, is_rolled)


def _quickest() -> str:
    """Return the first target that is available, whose bits code with fused products has."""
    return next(name for name, target in TARGETS.items() if target.available())


def _order(name: str) -> tuple[int, str]:
    """Return where an input stands among the arguments."""
    known = ("q", "qd", "qdd", "tau")
    return (known.index(name), "") if name in known else (len(known), name)


def _shown(name: str, inputs: Mapping[str, int]) -> str:
    """Return the name of a result among the arguments."""
    found = RESULTS.get(name, name if name.startswith(("by_", "qdd", "forces")) else f"{name}_out")
    found = "value" if found == "value_out" else found
    return f"{found}_out" if found in inputs else found


# Texts.


def _size(name: str, n: int, robot: Robot, prefix: str) -> str:
    """Return the length of an array, by a macro where it is one of q or of velocities."""
    if name == "q":
        return f"{prefix.upper()}_NQ"
    return f"{prefix.upper()}_NV" if n == robot.nv else str(n)


def _declaration(f: Function, robot: Robot, dialect: Dialect) -> str:
    t, prefix = dialect.type, dialect.prefix
    given = [f"const {t} {n}[{_size(n, size, robot, prefix)}]" for n, size in f.inputs.items()]
    out = [f"{t} {n}[{_extent(shape, robot, prefix)}]" for n, shape in f.results.items()]
    return f"void {prefix}_{f.name}({', '.join([*given, *out])})"


def _extent(shape: tuple[int, ...], robot: Robot, prefix: str) -> str:
    return " * ".join(_size("", n, robot, prefix) for n in shape) or "1"


def _header(robot: Robot, made: Sequence[Function], dialect: Dialect) -> str:
    p, guard = dialect.prefix, f"{dialect.prefix.upper()}_H"
    coordinates = [f"   {k:3}  {n}" for k, n in enumerate(_coordinates(robot, "q"))]
    velocities = [f"   {k:3}  {n}" for k, n in enumerate(_coordinates(robot, "qd"))]
    lines = [
        f"/* {_comment(robot.name)}: made by {_maker()}.",
        "   Arrays are row by row. Outputs must not overlap inputs. Functions use the stack alone.",
        "",
        "   q",
        *coordinates,
        "   qd, qdd, tau",
        *velocities,
        "*/",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"#define {p.upper()}_NQ {robot.nq}",
        f"#define {p.upper()}_NV {robot.nv}",
        "",
        "/* the robot and the version of Hinge that this was made from */",
        f"extern const char {p}_fingerprint[];",
        "",
    ]
    for f in made:
        stack = f"; {f.body.work} numbers of work space on the stack" if f.rolled else ""
        lines += [
            f"/* {f.code.operations().total} operations{stack} */",
            f"{_declaration(f, robot, dialect)};",
            "",
        ]
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _maker() -> str:
    return f"Hinge {import_module('hinge').__version__}"


def _coordinates(robot: Robot, which: str) -> list[str]:
    found: list[str] = []
    for joint in robot.joints:
        names = joint.type.q_names if which == "q" else joint.type.qd_names
        found += [_comment(joint.name if len(names) == 1 else f"{joint.name}.{n}") for n in names]
    return found


def _comment(text: str) -> str:
    """Return a text that cannot end a comment or a line."""
    return re.sub(r"[^\w .,:;+\-]", "_", text)


def _source(robot: Robot, made: Sequence[Function], dialect: Dialect) -> str:
    asked = set[str]().union(*(f.body.asked for f in made))
    parts = [
        f"/* {_comment(robot.name)}: made by {_maker()}. */",
        f'#include "{dialect.prefix}.h"',
        "",
        "#include <math.h>",
        "",
        f'const char {dialect.prefix}_fingerprint[] = "{fingerprint(robot)} {_maker()}";',
        "",
        dialect.helpers(asked),
    ]
    for f in made:
        text = "\n".join(f.body.lines)
        unused = [f"    (void){n};" for n in f.inputs if not re.search(rf"\b{n}\[", text)]
        parts += [*f.body.before, _declaration(f, robot, dialect), "{", *unused, text, "}", ""]
    return "\n".join(parts)


def _test(robot: Robot, made: Sequence[Function], dialect: Dialect) -> str:
    p, t = dialect.prefix, dialect.type
    bound = dialect.number(0.0 if dialect.fused else 1e-4 if dialect.single else 1e-11)
    lines = [
        f"/* Compares {p}.c with Hinge at {STATES} states; the exit code is 1 if they differ. */",
        f'#include "{p}.h"',
        "",
        "#include <math.h>",
        "#include <stdio.h>",
        "",
        f"static int differs(const char *name, const {t} *found, const {t} *wanted, int n)",
        "{",
        f"    {t} size = {dialect.number(1.0)}, error = {dialect.number(0.0)};",
        "    int k, bad = 0;",
        "    for (k = 0; k < n; ++k) {",
        f"        const {t} magnitude = {dialect.function('fabs')}(wanted[k]);",
        f"        const {t} difference = {dialect.function('fabs')}(found[k] - wanted[k]);",
        "        size = magnitude > size ? magnitude : size;",
        "        if (!(difference <= error))",
        "            error = difference;",
        "    }",
        f"    bad = !(error <= {bound} * size);",
        '    printf("%-40s largest error %.1e%s\\n", name, (double)(error / size),',
        '           bad ? ", too large" : "");',
        "    return bad;",
        "}",
        "",
        "int main(void)",
        "{",
        "    int bad = 0;",
    ]
    for f in made:
        for k, (given, wanted) in enumerate(_states(f, robot, dialect)):
            lines += _case(f, k, given, wanted, dialect)
    return "\n".join([*lines, "    return bad;", "}", ""])


def _case(
    f: Function, k: int, given: Mapping[str, Array], wanted: Mapping[str, Array], dialect: Dialect
) -> list[str]:
    t = dialect.type
    lines = ["    {"]
    for n, x in given.items():
        lines.append(f"        static const {t} {n}[{x.size}] = {_numbers(x, dialect)};")
    for n, x in wanted.items():
        lines.append(f"        static const {t} {n}_wanted[{x.size}] = {_numbers(x, dialect)};")
        lines.append(f"        {t} {n}[{x.size}];")
    lines.append(f"        {dialect.prefix}_{f.name}({', '.join([*given, *wanted])});")
    lines += [
        f'        bad |= differs("{f.name}, {n}, state {k}", {n}, {n}_wanted, {x.size});'
        for n, x in wanted.items()
    ]
    return [*lines, "    }"]


def _numbers(x: Array, dialect: Dialect) -> str:
    return f"{{{', '.join(map(dialect.number, x.ravel().tolist()))}}}"


def _states(f: Function, robot: Robot, dialect: Dialect) -> list[tuple[dict[str, Array], dict[str, Array]]]:
    """Return states and what Hinge says of them, by machine code if it can be had."""
    rng, program = np.random.default_rng(0), f.judge.program()
    found: list[tuple[dict[str, Array], dict[str, Array]]] = []
    for k in range(STATES):
        given = {n: rng.standard_normal(size) for n, size in f.inputs.items()}
        given["q"] = neutral(robot) if k == 0 else random_configuration(robot, rng)
        arrays = {n: given.get(n, np.zeros(0)).astype(dialect.dtype) for n in f.code.inputs}
        wanted = program(arrays)
        found.append(
            (
                {n: arrays[n] for n in f.inputs},
                dict(zip(f.results, map(np.asarray, wanted.values()), strict=True)),
            )
        )
    return found


def _page(robot: Robot, made: Sequence[Function], dialect: Dialect) -> str:
    p = dialect.prefix
    rows = [
        f"| `{p}_{f.name}` | {', '.join(f.inputs)} | "
        f"{', '.join(f'{n} {list(s)}' for n, s in f.results.items())} | "
        f"{f.code.operations().total} | {'rolled' if f.rolled else 'written out'} |"
        for f in made
    ]
    flags = " -ffp-contract=off -mfma" if dialect.fused else ""
    return "\n".join(
        [
            f"# {p}",
            "",
            f"Dynamics of {_comment(robot.name)} in C99, by {_maker()}. `{p}.h` and `{p}.c` are all that",
            f"is needed; `{p}_test.c` compares them with Hinge.",
            "",
            "| function | inputs | outputs | operations | |",
            "|---|---|---|--:|---|",
            *rows,
            "",
            f"    cc -std=c99 -O2{flags} -c {p}.c",
            f"    cc -std=c99 -O2{flags} {p}.c {p}_test.c -lm -o {p}_test && ./{p}_test",
            "",
        ]
    )
