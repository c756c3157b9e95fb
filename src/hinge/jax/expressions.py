"""Expressions of a robot as routines: their derivatives are expressions, to any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import sha256
from math import prod
from typing import Any

from hinge.algebra import Expr, Leaf, One, Space, Zero, leaf
from hinge.algebra import derivative as algebraic
from hinge.algebra import q as configuration
from hinge.binding import all_unrated, gradient_by_coordinates
from hinge.dynamics import Compiled, Parts, compilation, compiled
from hinge.jax.charts import Chart
from hinge.jax.extras import jax
from hinge.jax.primitive import call, changes_along
from hinge.jax.routines import Arrays, Names, Varying
from hinge.model import Robot
from hinge.pipeline import Compilation, build, in_order
from hinge.sweeps import Code, Joined, KnownBlock
from hinge.targets import Executable, best_target


class OfExpressions(Varying):
    """Vectors, numbers and operators of a robot, by expressions.

    `letters` are the inputs beside q, `options` those of `compiled`, and `own` the compiled value where it is
    there. An operator e changes by columns: those of e x, x a unit vector.
    """

    def __init__(
        self,
        robot: Robot,
        expressions: Mapping[str, Expr],
        letters: Mapping[str, Leaf],
        lengths: Callable[[Space], int],
        options: Mapping[str, Any],
        own: Compiled | None = None,
        name: str = "",
    ) -> None:
        super().__init__()
        self.robot, self.expressions, self.letters = robot, dict(expressions), dict(letters)
        self.lengths, self.options, self._own = lengths, dict(options), own
        self.inputs = {"q": robot.nq, **{n: self._size(x.range) for n, x in letters.items()}}
        self.results = {n: prod(map(self._size, (e.range, e.domain))) for n, e in expressions.items()}
        self.charts = {n: c for n in self.inputs if (c := Chart.of(robot, n)) is not None}
        self.name = name or f"{', '.join(expressions)} of {robot.name}"
        self._numbers: dict[tuple[str, Names], OfExpressions] = {}
        self._derived: dict[Any, tuple[OfExpressions, dict[str, str]]] = {}

    def _size(self, space: Space) -> int:
        return 1 if space is One else self.lengths(space)

    @cached_property
    def compiled(self) -> Compiled:
        """The compiled expressions."""
        return self._own or compiled(self.robot, Parts(self.expressions), **self.options)

    @property
    def passes(self) -> Compilation:
        """The passes of the compiler, none of which is evaluated yet."""
        return compilation(Parts(self.expressions), self.robot, **self.options)

    @property
    def program(self) -> Executable | None:
        """The program of the value."""
        return self.compiled.program()

    # Operators, by columns.

    @cached_property
    def vectors(self) -> OfExpressions | None:
        """The results that are vectors or numbers."""
        found = {n: e for n, e in self.expressions.items() if e.domain is One and e.range is not One}
        if len(found) == len(self.expressions):
            return self
        return self._with(found) if found else None

    def _of_numbers(self, xs: Arrays, ds: Arrays) -> Arrays:
        """Return the changes of numbers: their gradients, multiplied with directions."""
        self._refuse(tuple(ds))
        along = {n: self.charts[n].to_tangent(xs[n], d) if n in self.charts else d for n, d in ds.items()}
        found: dict[str, Any] = {}
        for name, e in self.expressions.items():
            if (e.range, e.domain) == (One, One):
                grads = self._gradient(name, tuple(ds))
                rows = call(grads, {n: xs[n] for n in grads.inputs}) if grads.results else {}
                parts = [
                    (rows[f"by_{n}"] * d).sum(-1, keepdims=True)
                    for n, d in along.items()
                    if f"by_{n}" in rows
                ]
                if parts:
                    found[name] = sum(parts[1:], parts[0])
        return found

    def _gradient(self, name: str, wrt: Names) -> OfExpressions:
        """Return the gradient of a number as expressions."""
        if (name, wrt) not in self._numbers:
            by = {f"by_{n}": self._by(self.expressions[name], n).T for n in wrt}
            self._numbers[name, wrt] = self._with({n: e for n, e in by.items() if not isinstance(e, Zero)})
        return self._numbers[name, wrt]

    @cached_property
    def columns(self) -> dict[str, tuple[OfExpressions, str, int]]:
        """The operators, each applied to a vector: the routine, the vector's name and length."""
        found: dict[str, tuple[OfExpressions, str, int]] = {}
        for n, e in self.expressions.items():
            if e.domain is not One:
                x = leaf(f"column_of_{n}", e.domain, One, meaning=f"a vector that {n} is applied to")
                found[n] = self._with({n: e @ x}, {x.name: x}), x.name, self.lengths(e.domain)
        return found

    def changes(self, xs: Arrays, ds: Arrays) -> Arrays:
        """Return the changes of results, those of operators by columns."""
        if self.vectors is self:
            return changes_along(self, xs, ds)
        found: dict[str, Any] = {} if self.vectors is None else dict(self.vectors.changes(xs, ds))
        found |= self._of_numbers(xs, ds)
        for n, (part, x, size) in self.columns.items():
            found |= _by_columns(part, n, x, size, xs, ds)
        return found

    # Derivatives in the tangent space.

    def changing(self, wrt: Names) -> Names:
        """Return the results that change."""
        return tuple(self._directed(wrt)[0].expressions)

    def reached(self, wrt: Names, of: Names) -> Names:
        """Return the inputs with a gradient."""
        there = self._weighed(wrt, of)[0].expressions
        return tuple(n for n in wrt if f"by_{n}" in there)

    def _directed(self, wrt: Names) -> tuple[OfExpressions, dict[str, str]]:
        """Return the changes as expressions, and the names of directions."""
        if ("push", wrt) not in self._derived:
            self._refuse(wrt)
            names = self.fresh("d", wrt)
            total: dict[str, Expr] = {}
            letters: dict[str, Leaf] = {}
            for result, e in self.expressions.items():
                for n in wrt:
                    D = self._by(e, n)
                    if isinstance(D, Zero):
                        continue
                    d = leaf(names[n], D.domain, One, unicode=f"δ{n}", meaning=f"a change of {n}")
                    letters[names[n]] = d
                    total[result] = total[result] + D @ d if result in total else D @ d
            found = {n: e for n, e in total.items() if not isinstance(e, Zero)}
            self._derived["push", wrt] = self._with(found, letters), names
        return self._derived["push", wrt]

    def _weighed(self, wrt: Names, of: Names) -> tuple[OfExpressions, dict[str, str]]:
        """Return the gradients as expressions, and the names of weights."""
        if (wrt, of) not in self._derived:
            self._refuse(wrt)
            names = self.fresh("c", of)
            total: dict[str, Expr] = {}
            letters: dict[str, Leaf] = {}
            for result in of:
                e = self.expressions[result]
                c = letters[names[result]] = leaf(names[result], e.range, One, meaning=f"weights of {result}")
                for n in wrt:
                    part, key = self._by(e, n).T @ c, f"by_{n}"
                    total[key] = total[key] + part if key in total else part
            found = {n: e for n, e in total.items() if not isinstance(e, Zero)}
            self._derived[wrt, of] = self._with(found, letters), names
        return self._derived[wrt, of]

    def _refuse(self, wrt: Names) -> None:
        """Refuse changes of coordinates that no velocities go with."""
        for n in wrt:
            if n in self.charts:
                self.charts[n].refuse()

    def _by(self, e: Expr, n: str) -> Expr:
        wrt = configuration if n == "q" else self.letters[n]
        return algebraic(e, wrt, flexible=self.robot.is_flexible)

    def _with(self, expressions: Mapping[str, Expr], more: Mapping[str, Leaf] | None = None) -> OfExpressions:
        letters = {**self.letters, **(more or {})}
        return type(self)(self.robot, expressions, letters, self.lengths, self.options)

    # Programs, in coordinates.

    def push_program(self, wrt: Names) -> Executable | None:
        """Return the program of changes."""
        inner, names = self._directed(wrt)
        charts = {names[n]: (n, self.charts[n]) for n in wrt if n in self.charts}
        if not charts:
            return inner.program
        return _built(_InCoordinates(inner.passes, inner.name, self.inputs, charts, {}))

    def pull_program(self, wrt: Names, of: Names) -> Executable | None:
        """Return the program of gradients."""
        inner, _ = self._weighed(wrt, of)
        charts = {
            f"by_{n}": (n, self.charts[n]) for n in wrt if n in self.charts and f"by_{n}" in inner.results
        }
        if not charts:
            return inner.program
        return _built(_InCoordinates(inner.passes, inner.name, self.inputs, {}, charts))

    def push_plain(self, wrt: Names, xs: Arrays, ds: Arrays) -> Arrays:
        """Return the changes, charts on arrays of JAX."""
        inner, names = self._directed(wrt)
        moved = {
            names[n]: self.charts[n].to_tangent(xs[n], d) if n in self.charts else d for n, d in ds.items()
        }
        return call(inner, {n: moved[n] if n in moved else xs[n] for n in inner.inputs})

    def pull_plain(self, wrt: Names, of: Names, xs: Arrays, cs: Arrays) -> Arrays:
        """Return the gradients, charts on arrays of JAX."""
        inner, names = self._weighed(wrt, of)
        given = {names[n]: c for n, c in cs.items()}
        found = call(inner, {n: given[n] if n in given else xs[n] for n in inner.inputs})
        charts = {f"by_{n}": (n, self.charts[n]) for n in wrt if n in self.charts}
        return {
            by: charts[by][1].to_coordinates(xs[charts[by][0]], x) if by in charts else x
            for by, x in found.items()
        }


def _by_columns(part: OfExpressions, n: str, x: str, size: int, xs: Arrays, ds: Arrays) -> Arrays:
    """Return the change of an operator e, given the routine of e x."""
    j = jax()
    dtype = next(iter(xs.values())).dtype

    def column(unit: Any) -> Any:
        return part.changes({**xs, x: unit}, ds).get(n)

    if n not in part.changing(tuple(ds)):
        return {}
    found = j.numpy.moveaxis(j.jax.vmap(column)(j.numpy.eye(size, dtype=dtype)), 0, -1)
    return {n: found.reshape((*found.shape[:-2], -1))}


def _built(source: _InCoordinates) -> Executable:
    return build(source, target=best_target())


class _InCoordinates:
    """The source of a program with charts around it: N⁺ for directions, N⁺ᵀ for gradients.

    Its identity is known without its code, so that nothing is traced where the cache has its machine code.
    """

    def __init__(
        self,
        inner: Compilation,
        label: str,
        lengths: Mapping[str, int],
        into: Mapping[str, tuple[str, Chart]],
        out: Mapping[str, tuple[str, Chart]],
    ) -> None:
        self.inner, self.lengths, self.into, self.out = inner, lengths, into, out
        self.label = f"{label} in coordinates"

    @property
    def identity(self) -> str | None:
        """The identity of what is inside, and of which inputs have charts: these are the robot's."""
        own = self.inner.identity
        if own is None:
            return None
        return f"in coordinates {sorted(self.into)} {sorted(self.out)} {sha256(own.encode()).hexdigest()}"

    @property
    def code(self) -> Code:
        """The code inside, with charts around it, made once."""
        return self._code

    @cached_property
    def _code(self) -> Code:
        """Return the code inside with that of the charts."""
        own, whole = self.inner.code, Joined()
        needed = {n for n, _ in (*self.into.values(), *self.out.values())}
        names = [*own.inputs, *sorted(needed - own.inputs.keys())]
        sizes = {n: len(slots) for n, slots in own.inputs.items()}
        sizes |= {n: self.lengths[n] for n in needed} | {d: c.size for d, (_, c) in self.into.items()}
        given: dict[str, KnownBlock] = {n: whole.input(n, sizes[n]) for n in names}
        tangent = {d: all_unrated(whole, c.pieces, given[n], given[d]) for d, (n, c) in self.into.items()}
        found = whole.add(own, {n: tangent.get(n, given[n]) for n in own.inputs})
        for by, (n, chart) in self.out.items():
            found[by] = gradient_by_coordinates(whole, chart.pieces, given[n], found[by])
        return in_order(whole.code(found))
