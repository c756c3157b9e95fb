"""Formulas: what comes out, as values of SymPy with their symbols, printed as text, LaTeX and C."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from hinge.errors import ArgumentError
from hinge.formulas.extras import sympy


@dataclass(frozen=True, eq=False)
class Formulas:
    """Results as expressions of SymPy, not simplified.

    `results` are by name: a scalar, a matrix (a vector is a column), or an N-dimensional array. `inputs` are
    the symbols of each input in order, `numbers` the model's own for the symbols of its parameters. `steps`
    are symbols and what they stand for, in order, where work that the results share is written once.
    """

    title: str
    results: Mapping[str, Any]
    inputs: Mapping[str, tuple[Any, ...]]
    numbers: Mapping[Any, float]
    steps: tuple[tuple[Any, Any], ...] = ()

    @property
    def value(self) -> Any:
        """The only result."""
        if len(self.results) != 1:
            raise ArgumentError(f"value: expected one result, got {', '.join(self.results)}; take results[…]")
        return next(iter(self.results.values()))

    @property
    def arguments(self) -> tuple[Any, ...]:
        """All symbols: those of inputs in order, then those of parameters."""
        return (*(x for symbols in self.inputs.values() for x in symbols), *self.numbers)

    def simplified(self, how: Callable[[Any], Any] | None = None) -> Formulas:
        """Return the formulas with every entry simplified by a function, `sympy.simplify` unless given.

        It may take long: seconds for a matrix of two links, minutes for three.
        """
        use = sympy().simplify if how is None else how
        return replace(
            self,
            results={n: _mapped(use, x) for n, x in self.results.items()},
            steps=tuple((symbol, use(x)) for symbol, x in self.steps),
        )

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Yield every entry of every result with its name, such as M[0, 1]."""
        for name, x in self.results.items():
            if not hasattr(x, "shape"):
                yield name, x
                continue
            for at in product(*map(range, x.shape)):
                shown = at[:1] if len(at) == 2 and x.shape[1] == 1 else at
                yield f"{name}[{', '.join(map(str, shown))}]", x[at]

    def latex(self) -> str:
        """Return the results as LaTeX, an equation a line."""
        sp = sympy()
        lines = [rf"{sp.latex(symbol)} &= {sp.latex(x)}" for symbol, x in self.steps]
        lines += [rf"{_latex_name(n)} &= {sp.latex(x)}" for n, x in self.results.items()]
        return "\\begin{align}\n" + " \\\\\n".join(lines) + "\n\\end{align}"

    def c(self, name: str = "evaluate") -> str:
        """Return a function of C that evaluates the results, row by row.

        Its arguments are the inputs, then `parameters` in the order of `numbers`, then the results.
        """
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ArgumentError(f"name: expected a name of C, got {name!r}")
        code = sympy().ccode
        given = {**self.inputs, **({"parameters": tuple(self.numbers)} if self.numbers else {})}
        used = set[Any]().union(*(x.free_symbols for _, x in (*self.steps, *self.entries())))
        taken = [
            f"    const double {s} = {n}[{k}];"
            for n, xs in given.items()
            for k, s in enumerate(xs)
            if s in used
        ]
        between = [f"    const double {s} = {code(x)};" for s, x in self.steps]
        stored = [
            f"    {n}[{k}] = {code(x)};"
            for n, all_ in self.results.items()
            for k, x in enumerate(_flat(all_))
        ]
        arguments = [f"const double *{n}" for n in given] + [f"double *{n}" for n in self.results]
        body = [*taken, *between, *stored]
        return "\n".join(
            ["#include <math.h>", "", f"void {name}({', '.join(arguments)})", "{", *body, "}", ""]
        )

    def __str__(self) -> str:
        lines = [f"{symbol} = {x}" for symbol, x in self.steps]
        return "\n".join([*lines, *(f"{name} = {x}" for name, x in self.entries())])

    def __repr__(self) -> str:
        shapes = (f"{n} {tuple(getattr(x, 'shape', ()))}" for n, x in self.results.items())
        return f"<Formulas of {self.title}: {', '.join(shapes)}>"


def _flat(x: Any) -> list[Any]:
    """Return the entries of a result, row by row."""
    return [x[at] for at in product(*map(range, x.shape))] if hasattr(x, "shape") else [x]


def _mapped(use: Callable[[Any], Any], x: Any) -> Any:
    return x.applyfunc(use) if hasattr(x, "applyfunc") else use(x)


def _latex_name(name: str) -> str:
    return rf"\mathit{{{name}}}".replace("_", r"\_")
