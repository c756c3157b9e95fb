"""CasADi's interface of external functions, in C, around functions of a library.

A function f of CasADi is `int f(const double **arg, double **res, casadi_int *iw, double *w, int mem)` with
matrices column by column, beside functions that say how many arguments there are, what they are called, and
where their numbers stand. An argument that is NULL is zero, a result that is NULL is not wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hinge.export.dialect import Dialect
from hinge.export.routine import Routine
from hinge.export.sparsity import Pattern

_HEAD = """\
#ifdef _WIN32
#define @P_API __declspec(dllexport)
#else
#define @P_API
#endif

/* an argument, or zeros */
static const double *given(const double *x, double *room, int n)
{
    int k;
    if (x)
        return x;
    for (k = 0; k < n; ++k)
        room[k] = 0.0;
    return room;
}

/* the numbers of a result that are not always zero, column by column */
static void shown(const double *from, const unsigned *places, int n, double *to)
{
    int k;
    for (k = 0; to && k < n; ++k)
        to[k] = from[places[k]];
}

static const char *name_of(const char *const *names, long long i, long long n)
{
    return 0 <= i && i < n ? names[i] : 0;
}
"""


def casadi_source(asked: Sequence[Routine], every: Sequence[Routine], dialect: Dialect) -> str:
    """Return the source file with the interface of the functions that were asked for, and their Jacobians."""
    p = dialect.prefix
    jacobians = {r.name: r for r in every}
    parts = [
        f"/* CasADi's interface of {p}: casadi.external('{p}_{asked[0].name}_casadi', './{p}.so') */",
        f'#include "{p}.h"',
        "",
        _HEAD.replace("@P", p.upper()),
    ]
    for r in asked:
        name, inputs = f"{p}_{r.name}_casadi", list(r.inputs.items())
        parts += _function(name, f"{p}_{r.name}", r, inputs, dialect)
        jac = jacobians.get(f"{r.name}_jacobian")
        if jac is not None:
            shapes = zip(r.results, r.code.results, strict=True)
            nominal = [(f"out_{n}", x.values.size) for n, x in shapes]
            parts += _function(f"jac_{name}", f"{p}_{jac.name}", jac, [*inputs, *nominal], dialect)
    return "\n".join(parts)


def _function(
    name: str, of: str, r: Routine, inputs: Sequence[tuple[str, int]], dialect: Dialect
) -> list[str]:
    """Return the interface of a function; inputs beyond those that it takes are ignored."""
    patterns = {n: Pattern.of(x.values) for n, x in zip(r.results, r.code.results, strict=True)}
    sizes = {n: p.shape[0] * p.shape[1] for n, p in patterns.items()}
    api = f"{dialect.prefix.upper()}_API"
    starts, room = dict[str, int](), 0
    for n, size in [*r.inputs.items(), *sizes.items()]:
        starts[n], room = room, room + size
    args = [
        f"given(arg[{k}], w + {starts[n]}, {size})" for k, (n, size) in enumerate(inputs) if n in r.inputs
    ]
    args += [f"w + {starts[n]}" for n in patterns]
    lines = [
        f"{api} int {name}(const double **arg, double **res, long long *iw, double *w, int mem);",
        f"{api} int {name}(const double **arg, double **res, long long *iw, double *w, int mem)",
        "{",
        *(_table("static const unsigned", f"at_{n}", p.places) for n, p in patterns.items()),
        "    (void)iw;",
        "    (void)mem;",
        f"    {of}({', '.join(args)});",
        *(
            f"    shown(w + {starts[n]}, at_{n}, {len(p.places)}, res[{k}]);"
            for k, (n, p) in enumerate(patterns.items())
        ),
        "    return 0;",
        "}",
        "",
    ]
    columns = {n: (size, 1, 1) for n, size in inputs}
    shapes = {n: _compressed(p) for n, p in patterns.items()}
    lines += _facts(f"{api} {{kind}}{name}_{{what}}", "in", columns)
    lines += _facts(f"{api} {{kind}}{name}_{{what}}", "out", shapes)
    head = f"{api} int {name}_work(long long *sz_arg, long long *sz_res, long long *sz_iw, long long *sz_w)"
    lines += [f"{head};", head, "{"]
    for n, size in (("arg", len(inputs)), ("res", len(patterns)), ("iw", 0), ("w", room)):
        lines += [f"    if (sz_{n})", f"        *sz_{n} = {size};"]
    return [*lines, "    return 0;", "}", ""]


def _compressed(p: Pattern) -> tuple[int, ...]:
    return (*p.shape, 1) if p.is_dense else (*p.shape, *p.starts, *p.rows)


def _facts(head: str, which: str, sparsity: dict[str, tuple[int, ...]]) -> list[str]:
    """Return the functions that say how many inputs or outputs there are, their names and sparsities."""
    count = len(sparsity)
    heads = [
        head.format(kind="long long ", what=f"n_{which}(void)"),
        head.format(kind="const char *", what=f"name_{which}(long long i)"),
        head.format(kind="const long long *", what=f"sparsity_{which}(long long i)"),
    ]
    names = ", ".join(f'"{n}"' for n in sparsity)
    tables = [_table("static const long long", f"s{k}", x) for k, x in enumerate(sparsity.values())]
    cases = [f"    case {k}:\n        return s{k};" for k in range(count)]
    bodies = [
        [f"    return {count};"],
        [f"    static const char *const names[] = {{{names}}};", f"    return name_of(names, i, {count});"],
        [*tables, "    switch (i) {", *cases, "    default:", "        return 0;", "    }"],
    ]
    return [line for h, body in zip(heads, bodies, strict=True) for line in (f"{h};", h, "{", *body, "}", "")]


def _table(kind: str, name: str, numbers: Iterable[int]) -> str:
    entries = list(map(str, numbers)) or ["0"]
    rows = [", ".join(entries[k : k + 24]) for k in range(0, len(entries), 24)]
    return f"    {kind} {name}[{len(entries)}] = {{\n        " + ",\n        ".join(rows) + ",\n    };"
