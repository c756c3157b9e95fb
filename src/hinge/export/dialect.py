"""C99 for one precision: types, numbers, operations, and the functions that generated code calls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import pi

import numpy as np

from hinge.kernels import CIRCLE_NUMBERS, OPS, TABLES
from hinge.targets import FLOORS

#: What arrays must not be called: words of C, and variables of functions and of self-tests.
_TAKEN = re.compile(
    r"(auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long"
    r"|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile"
    r"|while|(bad|w|at|p)_|[tsca]_\d+(_copy)?)\Z"
)


@dataclass(frozen=True)
class Dialect:
    """How numbers and operations are written; `prefix` begins the names of helpers.

    With `fused` products are fused into sums by `fma`, as the native target does; without, each operation is
    a statement of its own, which a compiler does not contract.
    """

    prefix: str
    single: bool = False
    fused: bool = False

    @property
    def dtype(self) -> str:
        """The name of the precision."""
        return "float32" if self.single else "float64"

    @property
    def type(self) -> str:
        """The type of a number."""
        return "float" if self.single else "double"

    def number(self, c: float) -> str:
        """Return a constant, with as many digits as it takes to be the same number again."""
        if self.single:
            with np.errstate(over="ignore"):
                text = f"{np.float32(c)!s}f"
        else:
            text = repr(float(c))
        text = text if any(x in text for x in ".en") else f"{text}.0"
        return f"({text})" if text.startswith("-") else text

    def function(self, name: str) -> str:
        """Return a function of <math.h> in this precision."""
        return f"{name}f" if self.single else name

    def operation(self, op: str, x: list[str]) -> str:
        """Return an operation of the table, or of fused products, as an expression."""
        known = OPS.get(op)
        if known is None:
            signs = {"fma": ("", "", ""), "fms": ("", "", "-"), "fnma": ("-", "", "")}[op]
            return f"{self.function('fma')}({', '.join(s + a for s, a in zip(signs, x, strict=True))})"
        if known.symbol:
            return f"{x[0]} {known.symbol} {x[1]}"
        if op in TABLES:
            return f"{self.helper('look_up')}({self.table(op)}, {len(TABLES[op])}, {x[0]})"
        if op == "max":
            return f"{x[0]} > {x[1]} ? {x[0]} : {x[1]}"
        if op == "choose":
            return f"{x[0]} < {x[1]} ? {x[2]} : {x[3]}"
        return f"{self.function('fabs' if op == 'abs' else op)}({x[0]})"

    def helper(self, name: str) -> str:
        """Return the name of a function of the file itself."""
        return f"{self.prefix}_{name}"

    def names(self) -> set[str]:
        """Return all names of helpers and tables."""
        return {*map(self.helper, (*HELPERS, "substitute")), *map(self.table, TABLES)}

    def is_free(self, name: str) -> bool:
        """Tell whether an array may have this name: no word of C, function that is called, or variable."""
        called = {self.function(x) for x in ("fabs", "fma", *OPS)}
        return name not in called and not _TAKEN.match(name)

    def table(self, op: str) -> str:
        """Return the name of a table."""
        return f"{self.prefix}_{op[:14]}"

    def helpers(self, asked: set[str]) -> str:
        """Return the helpers that code asks for, and those that they call, in C."""
        needed = set(asked)
        if needed & {"circle", "solve", "solve_positive", "solve_floored"}:
            needed.add("mad")
        if needed & {"solve", "solve_positive"}:
            needed.add("back")
        parts = [self._tables(asked)] if asked & TABLES.keys() else []
        if parts:
            needed.add("look_up")
        return "\n".join([*parts, *(self._filled(text) for name, text in HELPERS.items() if name in needed)])

    def _tables(self, asked: set[str]) -> str:
        return "\n".join(
            f"static const {self.type} {self.table(op)}[{len(TABLES[op])}] = "
            f"{{{', '.join(map(self.number, TABLES[op].tolist()))}}};\n"
            for op in sorted(asked & TABLES.keys())
        )

    def _filled(self, text: str) -> str:
        """Return a helper with names, types and numbers of this dialect in place of words in capitals."""
        n = CIRCLE_NUMBERS[self.dtype]
        floor = FLOORS[self.dtype]
        mad = self.helper("mad")
        words = {
            "PREFIX": self.prefix,
            "REAL": self.type,
            "BODY": self._product_sum(),
            "SINE": self._polynomial(n.sine, mad),
            "COSINE": self._polynomial(n.cosine, mad),
            "LIMIT": self.number(n.limit),
            "MAGIC": self.number(n.magic),
            "TURNS": self.number(2.0 / pi),
            "PART0": self.number(-n.parts[0]),
            "PART1": self.number(-n.parts[1]),
            "PART2": self.number(-n.parts[2]),
            "FLOOR2": self.number(floor**2),
            "FLOOR": self.number(floor),
            "HALF": self.number(-0.5),
            "ONE": self.number(1.0),
            "ZERO": self.number(0.0),
            **{f.upper(): self.function(f) for f in ("fabs", "sin", "cos")},
        }
        return re.sub(r"@([A-Z]+\d?)", lambda found: words[found[1]], text)

    def _product_sum(self) -> str:
        if self.fused:
            return f"return {self.function('fma')}(x, y, z);"
        return f"const {self.type} product = x * y;\n    return product + z;"

    def _polynomial(self, coefficients: tuple[float, ...], mad: str) -> str:
        found = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            found = f"{mad}({found}, z, {self.number(c)})"
        return found


#: Functions that generated code calls, each with those that it needs before it. Words after @ are filled in.
HELPERS: dict[str, str] = {
    "mad": """\
/* x y + z */
static @REAL @PREFIX_mad(@REAL x, @REAL y, @REAL z)
{
    @BODY
}
""",
    "look_up": """\
/* the number of a table at a place, or the nearest end */
static @REAL @PREFIX_look_up(const @REAL *numbers, long n, @REAL x)
{
    const @REAL low = x > @ZERO ? x : @ZERO;
    return numbers[low < (@REAL)(n - 1) ? (long)low : n - 1];
}
""",
    "circle": """\
/* sine and cosine: x = k pi/2 + r, pi/2 in three parts, polynomials of r; the library's beyond a limit */
static void @PREFIX_circle(@REAL x, @REAL *sine, @REAL *cosine)
{
    @REAL shifted, k, r, z, s, c;
    unsigned quarter;
    if (!(@FABS(x) <= @LIMIT)) {
        *sine = @SIN(x);
        *cosine = @COS(x);
        return;
    }
    shifted = @PREFIX_mad(x, @TURNS, @MAGIC);
    k = shifted - @MAGIC;
    r = @PREFIX_mad(k, @PART0, x);
    r = @PREFIX_mad(k, @PART1, r);
    r = @PREFIX_mad(k, @PART2, r);
    z = r * r;
    s = r * z;
    s = @PREFIX_mad(s, @SINE, r);
    c = @PREFIX_mad(z, @COSINE, @HALF);
    c = @PREFIX_mad(c, z, @ONE);
    quarter = (unsigned)(long)k & 3u;
    *sine = quarter & 1u ? c : s;
    *cosine = quarter & 1u ? s : c;
    if (quarter & 2u)
        *sine = -*sine;
    if ((quarter + 1u) & 2u)
        *cosine = -*cosine;
}
""",
    "back": """\
/* a: n rows of w numbers, eliminated below the diagonal, inverse pivots on it; solves the last columns */
static void @PREFIX_back(@REAL *a, int n, int w)
{
    int j, k, c;
    for (j = n - 1; j >= 0; --j) {
        for (k = n - 1; k > j; --k)
            for (c = n; c < w; ++c)
                a[j * w + c] = @PREFIX_mad(-a[j * w + k], a[k * w + c], a[j * w + c]);
        for (c = n; c < w; ++c)
            a[j * w + c] = a[j * w + c] * a[j * w + j];
    }
}
""",
    "solve": """\
/* a: n rows of n + m numbers; the last m columns become the solution. Rows change places for large pivots. */
static void @PREFIX_solve(@REAL *a, int n, int m)
{
    const int w = n + m;
    int i, j, c;
    for (j = 0; j < n; ++j) {
        @REAL pivot;
        for (i = j + 1; i < n; ++i) {
            if (@FABS(a[i * w + j]) > @FABS(a[j * w + j])) {
                for (c = j; c < w; ++c) {
                    const @REAL x = a[i * w + c];
                    a[i * w + c] = a[j * w + c];
                    a[j * w + c] = x;
                }
            }
        }
        pivot = a[j * w + j] == @ZERO ? (@REAL)NAN : @ONE / a[j * w + j];
        for (i = j + 1; i < n; ++i) {
            const @REAL factor = a[i * w + j] * pivot;
            for (c = j + 1; c < w; ++c)
                a[i * w + c] = @PREFIX_mad(-factor, a[j * w + c], a[i * w + c]);
        }
        a[j * w + j] = pivot;
    }
    @PREFIX_back(a, n, w);
}
""",
    "solve_positive": """\
/* a: n rows of n + m numbers, symmetric and positive on the left; the last m columns become the solution */
static void @PREFIX_solve_positive(@REAL *a, int n, int m)
{
    const int w = n + m;
    int i, j, c;
    for (j = 0; j < n; ++j) {
        const @REAL pivot = a[j * w + j] == @ZERO ? (@REAL)NAN : @ONE / a[j * w + j];
        for (i = j + 1; i < n; ++i) {
            const @REAL factor = a[j * w + i] * pivot;
            for (c = i; c < w; ++c)
                a[i * w + c] = @PREFIX_mad(-factor, a[j * w + c], a[i * w + c]);
        }
        a[j * w + j] = pivot;
    }
    @PREFIX_back(a, n, w);
}
""",
    "solve_floored": """\
/* right: n rows of m numbers; factors: I - L below the diagonal, the inverse of D on it; rows w apart */
static void @PREFIX_substitute(const @REAL *factors, @REAL *right, int n, int m, int w)
{
    int i, j, k, c;
    for (j = 0; j < n; ++j)
        for (i = j + 1; i < n; ++i)
            for (c = 0; c < m; ++c)
                right[i * w + c] = @PREFIX_mad(factors[i * w + j], right[j * w + c], right[i * w + c]);
    for (j = n - 1; j >= 0; --j) {
        for (c = 0; c < m; ++c)
            right[j * w + c] = right[j * w + c] * factors[j * w + j];
        for (k = n - 1; k > j; --k)
            for (c = 0; c < m; ++c)
                right[j * w + c] = @PREFIX_mad(factors[k * w + j], right[k * w + c], right[j * w + c]);
    }
}

/* a, copy: n rows of n + m numbers, symmetric on the left; the last m columns of a become the solution.
   Pivots below a floor count as dependent, their unknowns are zero; a step of refinement follows. */
static void @PREFIX_solve_floored(@REAL *a, @REAL *copy, int n, int m)
{
    const int w = n + m;
    @REAL largest = @ZERO, least;
    int i, j, c;
    for (i = 0; i < n * w; ++i)
        copy[i] = a[i];
    for (i = 0; i < n; ++i)
        largest = a[i * w + i] > largest ? a[i * w + i] : largest;
    least = largest * @FLOOR2;
    for (j = 0; j < n; ++j) {
        const @REAL pivot = a[j * w + j], own = copy[j * w + j];
        const @REAL bound = own <= least ? own : own * @FLOOR;
        const @REAL inverse = pivot <= bound ? @ZERO : @ONE / pivot;
        for (i = j + 1; i < n; ++i) {
            const @REAL low = -(a[j * w + i] * inverse);
            a[i * w + j] = low;
            for (c = i; c < n; ++c)
                a[i * w + c] = @PREFIX_mad(low, a[j * w + c], a[i * w + c]);
        }
        a[j * w + j] = inverse;
    }
    @PREFIX_substitute(a, a + n, n, m, w);
    for (i = 0; i < n; ++i)
        for (j = 0; j < n; ++j)
            for (c = n; c < w; ++c)
                copy[i * w + c] =
                    @PREFIX_mad(-copy[i < j ? i * w + j : j * w + i], a[j * w + c], copy[i * w + c]);
    @PREFIX_substitute(a, copy + n, n, m, w);
    for (i = 0; i < n; ++i)
        for (c = n; c < w; ++c)
            a[i * w + c] = a[i * w + c] + copy[i * w + c];
}
""",
}
