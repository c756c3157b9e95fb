"""The texts of a library of C99 around its functions: header, source file, self-test and a page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from hinge.export.c_code import Body
from hinge.export.dialect import Dialect
from hinge.export.routine import Routine
from hinge.model import Robot, fingerprint
from hinge.spatial import Array

#: States of the self-test.
STATES = 5


@dataclass(frozen=True, eq=False)
class Function:
    """A routine in C; without a body it is in an object file."""

    of: Routine
    body: Body | None = None
    rolled: bool = False


def _size(name: str, n: int, robot: Robot, prefix: str) -> str:
    """Return the length of an array, by a macro where it is one of q or of velocities."""
    if name == "q":
        return f"{prefix.upper()}_NQ"
    return f"{prefix.upper()}_NV" if n == robot.nv else str(n)


def _declaration(f: Function, robot: Robot, dialect: Dialect) -> str:
    t, prefix = dialect.type, dialect.prefix
    given = [f"const {t} {n}[{_size(n, size, robot, prefix)}]" for n, size in f.of.inputs.items()]
    out = [f"{t} {n}[{_extent(shape, robot, prefix)}]" for n, shape in f.of.results.items()]
    return f"void {prefix}_{f.of.name}({', '.join([*given, *out])})"


def _extent(shape: tuple[int, ...], robot: Robot, prefix: str) -> str:
    return " * ".join(_size("", n, robot, prefix) for n in shape) or "1"


def header(robot: Robot, made: Sequence[Function], dialect: Dialect) -> str:
    """Return the header: declarations, and the order of coordinates."""
    p, guard = dialect.prefix, f"{dialect.prefix.upper()}_H"
    coordinates = [f"   {k:3}  {n}" for k, n in enumerate(_coordinates(robot, "q"))]
    velocities = [f"   {k:3}  {n}" for k, n in enumerate(_coordinates(robot, "qd"))]
    lines = [
        f"/* {comment(robot.name)}: made by {maker()}.",
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
        stack = f"; {f.body.work} numbers of work space on the stack" if f.body and f.rolled else ""
        lines += [
            f"/* {f.of.code.operations().total} operations{stack} */",
            f"{_declaration(f, robot, dialect)};",
            "",
        ]
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def maker() -> str:
    """Return the name and the version of what made the code."""
    return f"Hinge {import_module('hinge').__version__}"


def mark(robot: Robot) -> str:
    """Return the fingerprint of the robot, and what made the code."""
    return f"{fingerprint(robot)} {maker()}"


def _coordinates(robot: Robot, which: str) -> list[str]:
    found: list[str] = []
    for joint in robot.independent if which == "q" else robot.rated:
        names = joint.type.q_names if which == "q" else joint.type.qd_names
        found += [comment(joint.name if len(names) == 1 else f"{joint.name}.{n}") for n in names]
    return found


def comment(text: str) -> str:
    """Return a text that cannot end a comment or a line."""
    return re.sub(r"[^\w .,:;+\-]", "_", text)


def source(robot: Robot, made: Sequence[Function], dialect: Dialect) -> str:
    """Return the source file."""
    asked = set[str]().union(*(f.body.asked for f in made if f.body))
    parts = [
        f"/* {comment(robot.name)}: made by {maker()}. */",
        f'#include "{dialect.prefix}.h"',
        "",
        "#include <math.h>",
        "",
        f'const char {dialect.prefix}_fingerprint[] = "{mark(robot)}";',
        "",
        dialect.helpers(asked),
    ]
    for f, body in ((f, f.body) for f in made if f.body):
        text = "\n".join(body.lines)
        unused = [f"    (void){n};" for n in f.of.inputs if not re.search(rf"\b{n}\[", text)]
        parts += [*body.before, _declaration(f, robot, dialect), "{", *unused, text, "}", ""]
    return "\n".join(parts)


def self_test(robot: Robot, made: Sequence[Function], dialect: Dialect) -> str:
    """Return a program that compares the functions with Hinge, at some states."""
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
        "    int bad_ = 0;",
    ]
    for f in made:
        for k, (given, wanted) in enumerate(f.of.states(robot, dialect.dtype, STATES)):
            lines += _case(f, k, given, wanted, dialect)
    return "\n".join([*lines, "    return bad_;", "}", ""])


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
    lines.append(f"        {dialect.prefix}_{f.of.name}({', '.join([*given, *wanted])});")
    lines += [
        f'        bad_ |= differs("{f.of.name}, {n}, state {k}", {n}, {n}_wanted, {x.size});'
        for n, x in wanted.items()
    ]
    return [*lines, "    }"]


def _numbers(x: Array, dialect: Dialect) -> str:
    return f"{{{', '.join(map(dialect.number, x.ravel().tolist()))}}}"


def page(robot: Robot, made: Sequence[Function], dialect: Dialect, how: Sequence[str]) -> str:
    """Return a page about the library; `how` are lines that say how it is compiled."""
    p = dialect.prefix
    shapes = {True: "rolled", False: "written out"}
    rows = [
        f"| `{p}_{f.of.name}` | {', '.join(f.of.inputs)} | "
        f"{', '.join(f'{n} {list(s)}' for n, s in f.of.results.items())} | "
        f"{f.of.code.operations().total} | {shapes[f.rolled] if f.body else 'machine code'} |"
        for f in made
    ]
    return "\n".join(
        [
            f"# {p}",
            "",
            f"Dynamics of {comment(robot.name)}, by {maker()}.",
            "",
            "| function | inputs | outputs | operations | |",
            "|---|---|---|--:|---|",
            *rows,
            "",
            *how,
            "",
        ]
    )
