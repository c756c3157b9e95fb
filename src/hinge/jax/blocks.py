"""Programs of sweeps as functions of JAX: statements on blocks of all bodies, for backends without our code.

Scalars are never lowered to XLA: it would compile for minutes. A statement without a recursion is evaluated at all
bodies at once, with blocks padded to the widest. Statements that depend on each other along the tree are one
`lax.scan` over its levels, each as wide as the widest level: E x and E X Eᵀ are added up at the parents, Eᵀ x is
gathered from them. Formulas, such as bias forces, are traced once for each kind of body, and run on all of a kind.

What is differentiated is not the program: changes and gradients are programs of their own, D x and Dᵀ c.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from hinge.algebra import (
    E0,
    Adjoint,
    Body,
    E,
    Expr,
    Identity,
    Inverse,
    Joint,
    Leaf,
    One,
    Product,
    Root,
    Space,
    Sum,
    World,
    Zero,
    leaves,
    product,
)
from hinge.dynamics import Compiled
from hinge.jax.extras import jax
from hinge.kernels import OPS, Graph, Kernel, finish
from hinge.sweeps import (
    Block,
    Direction,
    Pass,
    ScalarOutput,
    Statement,
    VectorOutput,
    edges,
    has_blocks_at_bodies,
    is_congruence,
    operand,
    unit_block,
)

#: Blocks of all bodies by what they are the value of: (n, rows), or (n, rows, columns).
Env = dict[Expr, Any]
#: The block of E at each body, and what makes padded blocks invertible.
_STEP, _WORLD = E, -1


def block_function(f: Compiled) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return compiled vectors and numbers as a function of flat arrays (n,) of one state, by name.

    `jax.jit` compiles it, `jax.vmap` is for batches. What has no blocks by bodies is refused by name: matrices,
    closures, parameters of the model, letters of the user's own that are operators.
    """
    return _BlockProgram(f)


class _BlockProgram:
    def __init__(self, f: Compiled) -> None:
        compilation = f.compilation()
        self.program, self.binding, self.name = compilation.verified, compilation.binding, str(f)
        self.count = len(self.binding.tree)
        self._refuse(compilation.readout is not None)

    def _refuse(self, has_readout: bool) -> None:
        missing = [type(s).__name__.lower() for s in self.program.stages if not isinstance(s, Pass)]
        missing += [f"columns of {s.source}" for p in self.program.passes for s in p.statements if s.source]
        missing += [o.name for o in self.program.outputs if not isinstance(o, VectorOutput | ScalarOutput)]
        missing += [x.name for x in (*self.program.inputs, *self.binding.parameters) if x.domain is not One]
        missing += [x.name for x in self.binding.parameters if x.domain is One]
        missing += ["results that are formulas"] if has_readout else []
        if missing:
            raise NotImplementedError(
                f"{self.name}: {', '.join(dict.fromkeys(missing))} are not supported as blocks of XLA; give vectors of "
                "trees, such as forward_dynamics, or backend='native'"
            )

    def __call__(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return results by name, flat."""
        dtype = jax().numpy.asarray(given["q"]).dtype
        run = _Run(self, {n: jax().numpy.asarray(x, dtype) for n, x in given.items()}, dtype)
        for stage in self.program.passes:
            run.sweep(stage)
        return {o.name: run.output(o) for o in self.program.outputs}

    # What the model gives, found once.

    def width(self, space: Space) -> int:
        """Return the size of the largest block of a space."""
        if space is One:
            return 1
        if not has_blocks_at_bodies(space):
            return self.binding.size(space, _WORLD)
        return max((self.binding.size(space, i) for i in range(self.count)), default=0)

    @cached_property
    def kinds(self) -> list[np.ndarray[Any, Any]]:
        """The bodies of each kind."""
        found: dict[Hashable, list[int]] = {}
        for i in range(self.count):
            found.setdefault((self.binding.kind(i), self.binding.size(Joint, i)), []).append(i)
        return [np.array(x) for x in found.values()]

    @cached_property
    def levels(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The bodies of each level, base first, and their parents: (levels, width).

        Empty places have the number n + 1, and where the parent is the world it is n.
        """
        depth, parents = np.array(self.binding.tree.depth), np.array(self.binding.tree.parents)
        rows = [np.flatnonzero(depth == d) for d in sorted(set(depth.tolist()))]
        here = np.full((len(rows), max(map(len, rows))), self.count + 1)
        for k, row in enumerate(rows):
            here[k, : len(row)] = row
        above = np.concatenate([np.where(parents < 0, self.count, parents), [self.count, self.count + 1]])
        return here, above[here]

    @cached_property
    def numbers(self) -> list[np.ndarray[Any, Any]]:
        """The numbers of the bodies of each kind, (bodies, numbers)."""
        return [np.array([list(self.binding.constants(i)) for i in own.tolist()]) for own in self.kinds]

    def places(self, space: Space) -> np.ndarray[Any, Any]:
        """Return where the entries of blocks stand in the flat vector, −1 beside them: (n, width)."""
        found = np.full((self.count, self.width(space)), -1)
        for i in range(self.count):
            own = list(self.binding.positions(space, i))
            found[i, : len(own)] = own
        return found

    def padding(self, space: Space) -> np.ndarray[Any, Any]:
        """Return ones on the diagonal beside each body's own block, (n + 2, width, width)."""
        width = self.width(space)
        sizes = np.array([*(self.binding.size(space, i) for i in range(self.count)), 0, 0])
        return np.stack([np.diag((np.arange(width) >= s).astype(float)) for s in sizes])

    def crossed(self, x: Leaf) -> np.ndarray[Any, Any]:
        """Return a cross product as a table: its block is Σ table[:, :, k] x[k], the same at all bodies."""
        width, body = self.width(Body), int(self.kinds[0][0])
        site, size = self.binding.site(body, self.binding.constants(body)), self.binding.size(Body, body)
        hinge = site.hinge(np.zeros(len(self.binding.coordinates(body))))
        found = np.zeros((width, width, width))
        for k in range(6):
            unit = np.eye(size)[k].astype(object)
            found[:6, :6, k] = site.formula(x, hinge, [unit])[:6, :6].astype(float)
        return found

    def traced(self, k: int, formula: Callable[[Any, Block, list[Block]], Any], sizes: Sequence[tuple[int, ...]]) -> tuple[Kernel, tuple[int, ...]]:
        """Return a formula of site, hinge and other blocks at bodies of a kind as a kernel, and its shape."""
        graph, numbers, body = Graph(), self.numbers[k], int(self.kinds[k][0])
        given = [
            float(column[0]) if not np.ptp(column) and abs(column[0]) in (0.0, 1.0) else graph.input(("number", n))
            for n, column in enumerate(numbers.T)
        ]
        site = self.binding.site(body, given)
        q = _inputs(graph, "q", (len(self.binding.coordinates(body)),))
        others = [_inputs(graph, ("other", n), shape) for n, shape in enumerate(sizes)]
        shown = np.asarray(formula(site, site.hinge(q), others), dtype=object)
        return finish(graph, dict(enumerate(shown.flat))), shown.shape


def _inputs(graph: Graph, name: Hashable, shape: tuple[int, ...]) -> Block:
    found = np.empty(shape, dtype=object)
    found.flat[:] = [graph.input((name, n)) for n in range(found.size)]
    return found


class _Run:
    """The evaluation of a program for one state."""

    def __init__(self, of: _BlockProgram, given: Mapping[str, Any], dtype: Any) -> None:
        self.of, self.given, self.dtype, self.env = of, given, dtype, Env()
        self.jnp, binding = jax().numpy, of.binding
        self.padded: dict[Space, Any] = {}
        for x in of.program.inputs:
            known = binding.known(x)
            flat = self.jnp.asarray(known or (), dtype) if known is not None or not binding.length(x.range) else given[x.name]
            if has_blocks_at_bodies(x.range):
                self.env[x] = self._spread(flat, of.places(x.range))
            else:
                self.env[x] = self._spread(flat, np.array(list(binding.positions(x.range, _WORLD))))
        width = of.width(Body)
        self.env[_STEP] = self._formula(lambda site, hinge, _: site.step(hinge).to_parent(unit_block(site.size)), (), (width, width))

    def _spread(self, flat: Any, places: np.ndarray[Any, Any]) -> Any:
        """Return entries of a vector at places, zero where there is none."""
        longer = self.jnp.concatenate([flat, self.jnp.zeros(1, self.dtype)])
        return longer[np.where(places < 0, len(flat), places)]

    # Formulas, by kinds.

    def _formula(
        self, formula: Any, others: Sequence[tuple[Any, Sequence[Space]]], shape: tuple[int, ...]
    ) -> Any:
        """Return the blocks of a formula at all bodies; `others` are blocks that it takes, with their spaces.

        Kinds whose formula is the same code run it together.
        """
        jnp = self.jnp
        alike: dict[Hashable, list[tuple[int, Kernel]]] = {}
        for k, own in enumerate(self.of.kinds):
            sizes = [tuple(self.of.binding.size(s, int(own[0])) for s in spaces) for _, spaces in others]
            kernel, cut = self.of.traced(k, formula, sizes)
            sources = tuple(name if isinstance(name, str) else (name[1], n) for name, n in kernel.inputs)  # type: ignore[misc]
            code = replace(kernel, inputs=tuple(range(len(kernel.inputs))))
            alike.setdefault((code, cut, sources, tuple(sizes)), []).append((k, kernel))
        found = jnp.zeros((self.of.count, *shape), self.dtype)
        for (code, cut, sources, sizes), kinds in alike.items():  # type: ignore[misc]
            bodies = np.concatenate([self.of.kinds[k] for k, _ in kinds])
            places = [np.concatenate([self._places(k, kernel.inputs[n]) for k, kernel in kinds]) for n in range(len(sources))]
            taken = [self._taken(source, at, [x for x, _ in others], sizes) for source, at in zip(sources, places, strict=True)]
            values = code.runner(_operation)(taken)
            if values and len(bodies):
                block = jnp.stack([jnp.broadcast_to(jnp.asarray(x, self.dtype), (len(bodies),)) for x in values], -1)
                whole = jnp.zeros((len(bodies), *shape), self.dtype)
                whole = whole.at[(slice(None), *(slice(n) for n in cut))].set(block.reshape(len(bodies), *cut))
                found = found.at[bodies].set(whole)
        return found

    def _places(self, k: int, key: Any) -> np.ndarray[Any, Any]:
        """Return where an input of a kernel is for each body of a kind: its numbers, or places of them."""
        own, (name, n) = self.of.kinds[k], key
        if name == "number":
            return self.of.numbers[k][:, n]
        if name == "q":
            return np.array([self.of.binding.coordinates(i)[n] for i in own.tolist()])
        return own

    def _taken(self, source: Any, at: np.ndarray[Any, Any], others: Sequence[Any], sizes: Any) -> Any:
        """Return an input for each body."""
        if source == "number":
            return self.jnp.asarray(at, self.dtype)
        if source == "q":
            return self.given["q"][at]
        which, n = source
        return others[which][(at, *np.unravel_index(n, sizes[which]))]

    # Sweeps.

    def sweep(self, stage: Pass) -> None:
        """Evaluate the statements of a pass, those that depend on each other together."""
        for group in _groups(stage.statements):
            inside = {s.target for s in group}
            recursive = [x for s in group for e in s.expressions for x in edges(e) if inside & leaves(x)]
            if recursive:
                self._scan(group, list(dict.fromkeys(recursive)), stage.direction)
            else:
                (s,) = group
                self.env[s.target] = self._at_all(s)

    def _at_all(self, s: Statement) -> Any:
        if s.value is not None:
            return _Lanes(self, self._all, self._edge).value(s.value)
        lanes, target = _Lanes(self, self._all, self._edge), s.target
        if target.origin is not None and target.origin.kind in ("ad", "bar"):
            (x,) = map(lanes.value, s.needs)
            return self.jnp.einsum("ijk,wk->wij", self.jnp.asarray(self.of.crossed(target), self.dtype), x)
        others = [(lanes.value(n), _spaces(n)) for n in s.needs]
        shape = tuple(self.of.width(x) for x in _spaces(target))
        return self._formula(lambda site, hinge, blocks: site.formula(target, hinge, blocks), others, shape)

    def _all(self, x: Leaf) -> Any:
        """Return a letter at all bodies, from the model if no statement made it."""
        if x not in self.env:
            shape = tuple(self.of.width(s) for s in _spaces(x))

            def given(site: Any, hinge: Block, _: Any) -> Any:
                found = site.value(x, hinge)
                if found is None:
                    raise NotImplementedError(f"{x}: is not supported as blocks of XLA; give backend='native'")
                return found

            self.env[x] = self._formula(given, (), shape)
        return self.env[x]

    def pads(self, space: Space) -> Any:
        """Return what makes padded blocks of a space invertible."""
        if space not in self.padded:
            self.padded[space] = self.jnp.asarray(self.of.padding(space), self.dtype)
        return self.padded[space]

    def _edge(self, e: Product) -> Any:
        """Return an edge at all bodies, of values that are known at all."""
        first, x = e.factors[0], operand(e)
        step, parents = self.env[_STEP], np.array(self.of.binding.tree.parents)
        if first is E0.T or first is E.T:
            hangs = parents < 0
            if first is E0.T:
                above = self.env[x] if isinstance(x, Leaf) and x.range is World else _refused(e)
                above = self.jnp.where(hangs[:, None], self.jnp.broadcast_to(above, (len(parents), *above.shape)), 0.0)
            else:
                value = _Lanes(self, self._all, self._edge).value(x)
                longer = self.jnp.concatenate([value, self.jnp.zeros((1, *value.shape[1:]), self.dtype)])
                above = longer[np.where(hangs, len(parents), parents)]
            return _down(step, above, is_congruence(e))
        if first is not E:
            _refused(e)
        up = _up(step, _Lanes(self, self._all, self._edge).value(x), is_congruence(e))
        longer = self.jnp.zeros((len(parents) + 1, *up.shape[1:]), self.dtype)
        return longer.at[np.where(parents < 0, len(parents), parents)].add(up)[:-1]

    def _scan(self, group: Sequence[Statement], recursive: Sequence[Product], direction: Direction) -> None:
        """Evaluate statements level by level."""
        jnp, inside = self.jnp, {s.target for s in group}
        for s in group:
            if s.value is None:
                raise NotImplementedError(f"{s.target}: a formula in a recursion is not supported as blocks of XLA")
        here, above = self.of.levels
        gathers = direction is Direction.GATHER
        if gathers:
            here, above = here[::-1], above[::-1]
        fixed = self._around(group, inside, recursive)
        rows = self.of.count + 2
        shapes = {s.target: tuple(self.of.width(x) for x in _spaces(s.target)) for s in group}
        kept: list[Any] = list(recursive) if gathers else [s.target for s in group]
        start = [jnp.zeros((rows, *(self._edge_shape(x) if gathers else shapes[x])), self.dtype) for x in kept]
        longer = {x: jnp.concatenate([v, jnp.zeros((2, *v.shape[1:]), self.dtype)]) for x, v in fixed.items()}

        def level(carry: Any, at: Any) -> Any:
            now, up, given = at
            own, past, made = dict(zip(longer, given, strict=True)), dict(zip(kept, carry, strict=True)), Env()

            def read(x: Leaf) -> Any:
                return made[x] if x in made else own[x]

            def edge(e: Product) -> Any:
                if e not in recursive:
                    return own[e]
                if gathers:
                    return past[e][now]
                return _down(own[_STEP], past[operand(e)][up], is_congruence(e))

            lanes = _Lanes(self, read, edge, now)
            for s in group:
                assert s.value is not None
                made[s.target] = lanes.value(s.value)
            if gathers:
                after = [past[e].at[up].add(_up(own[_STEP], lanes.value(operand(e)), is_congruence(e))) for e in recursive]
            else:
                after = [past[x].at[now].set(made[x]) for x in kept]
            return after, [made[s.target] for s in group]

        given = [v[here] for v in longer.values()]
        _, found = jax().jax.lax.scan(level, start, (jnp.asarray(here), jnp.asarray(above), given))
        for s, v in zip(group, found, strict=True):
            whole = jnp.zeros((rows, *v.shape[2:]), self.dtype)
            self.env[s.target] = whole.at[here.ravel()].set(v.reshape(-1, *v.shape[2:]))[: self.of.count]

    def _around(self, group: Sequence[Statement], inside: set[Leaf], recursive: Sequence[Product]) -> Env:
        """Return what statements of a recursion read that is known before it."""
        found: Env = {_STEP: self.env[_STEP]}
        for s in group:
            for e in s.expressions:
                for x in edges(e):
                    if x not in recursive:
                        found[x] = self._edge(x)
                for x in _read(e, recursive):
                    if x not in inside:
                        found[x] = self._all(x)
        return found

    def _edge_shape(self, e: Expr) -> tuple[int, ...]:
        width = self.of.width(Body)
        return (width, width) if is_congruence(e) or e.domain is not One else (width,)  # type: ignore[arg-type]

    # Results.

    def output(self, o: Any) -> Any:
        """Return a result as a flat vector, or a number."""
        if isinstance(o, VectorOutput):
            space = o.variable.range
            if not has_blocks_at_bodies(space):
                raise NotImplementedError(f"{o.name}: vectors of {space} are not supported as blocks of XLA")
            places, size = self.of.places(space), self.of.binding.length(space)
            blocks = self._all(o.variable)
            longer = self.jnp.zeros(size + 1, self.dtype)
            return longer.at[np.where(places < 0, size, places)].set(blocks)[:size]
        total = self.jnp.zeros((), self.dtype)
        for c, x, y in o.products:
            total = total + c * (self._all(x) * self._all(y)).sum()
        for c, x in o.determinants:
            total = total + c * self.jnp.linalg.slogdet(self._all(x) + self.pads(x.range)[: self.of.count])[1].sum()
        return total


class _Lanes:
    """Expressions on blocks of several bodies at once."""

    def __init__(self, run: _Run, read: Callable[[Leaf], Any], edge: Callable[[Product], Any], at: Any = None) -> None:
        self.run, self.read, self.edge, self.at = run, read, edge, at
        self.jnp, self._memo = run.jnp, Env()

    def value(self, e: Expr) -> Any:
        """Return the blocks of an expression; each is evaluated once, after what it is made of."""
        if not isinstance(e, Leaf) and e in self._memo:
            return self._memo[e]
        found = self._value(e)
        self._memo[e] = found
        return found

    def _value(self, e: Expr) -> Any:
        match e:
            case Leaf():
                return self.read(e)
            case Adjoint():
                return self.jnp.swapaxes(self.read(e.leaf), -1, -2)
            case Sum():
                terms = [self.value(t) if c == 1 else float(c) * self.value(t) for c, t in e.terms]
                return sum(terms[1:], terms[0])
            case Product() if e.factors[0] in (E, E0, E.T, E0.T):
                return self.edge(e)
            case Product():
                left, right = self.value(e.factors[0]), self.value(product(*e.factors[1:]))
                vector = right.ndim < left.ndim
                return self.jnp.einsum("wij,wj->wi" if vector else "wij,wjk->wik", left, right)
            case Inverse():
                return self._inverse(self._regular(e.argument))
            case Root():
                return self.jnp.linalg.cholesky(self._regular(e.argument))
            case Identity():
                return self.jnp.eye(self.run.of.width(e.range), dtype=self.run.dtype)[None]
            case Zero():
                return self.jnp.zeros((1, *(self.run.of.width(s) for s in _spaces(e))), self.run.dtype)
            case _:
                raise NotImplementedError(f"{e}: is not supported as blocks of XLA; give backend='native'")

    def _regular(self, e: Expr) -> Any:
        """Return blocks with ones beside them on their diagonals."""
        pads = self.run.pads(e.range)
        return self.value(e) + (pads[: self.run.of.count] if self.at is None else pads[self.at])

    def _inverse(self, x: Any) -> Any:
        return 1.0 / x if x.shape[-1] == 1 else self.jnp.linalg.inv(x)


def _up(step: Any, x: Any, both: bool) -> Any:
    """Return E x, or E X Eᵀ."""
    jnp = jax().numpy
    if both:
        return jnp.einsum("wij,wjk,wlk->wil", step, x, step)
    return jnp.einsum("wij,wj->wi" if x.ndim == 2 else "wij,wjk->wik", step, x)


def _down(step: Any, x: Any, both: bool) -> Any:
    """Return Eᵀ x, or Eᵀ X E."""
    return _up(jax().numpy.swapaxes(step, -1, -2), x, both)


def _spaces(e: Expr) -> tuple[Space, ...]:
    return (e.range,) if e.domain is One else (e.range, e.domain)


def _read(e: Expr, recursive: Sequence[Product]) -> Iterable[Leaf]:
    """Return the letters that are read at a body itself, those under its own recursions among them."""
    if isinstance(e, Product) and e.factors[0] in (E, E0, E.T, E0.T):
        return _read(operand(e), recursive) if e in recursive else ()
    if isinstance(e, Leaf):
        return (e,)
    parts: Iterable[Expr]
    match e:
        case Adjoint():
            parts = (e.leaf,)
        case Sum():
            parts = [t for _, t in e.terms]
        case Product():
            parts = [e.factors[0], product(*e.factors[1:])]
        case Inverse() | Root():
            parts = (e.argument,)
        case _:
            parts = ()
    return [x for part in parts for x in _read(part, recursive)]


def _groups(statements: Sequence[Statement]) -> list[list[Statement]]:
    """Return statements in groups that depend on each other, each after what it needs."""
    needs = {s.target: {x for e in s.expressions for x in leaves(e)} for s in statements}
    reach = {x: {y for y in needs[x] if y in needs} for x in needs}
    changed = True
    while changed:
        changed = False
        for x, own in reach.items():
            more = own.union(*(reach[y] for y in own))
            changed |= len(more) > len(own)
            reach[x] = more
    groups: list[list[Statement]] = []
    placed: set[Leaf] = set()
    left = list(statements)
    while left:
        first = next(s for s in left if all(y in placed or s.target in reach[y] for y in reach[s.target]))
        group = [s for s in left if s is first or (s.target in reach[first.target] and first.target in reach[s.target])]
        groups.append(group)
        placed |= {s.target for s in group}
        left = [s for s in left if s not in group]
    return groups


def _refused(e: Expr) -> Any:
    raise NotImplementedError(f"{e}: is not supported as blocks of XLA; give backend='native'")


def _operation(name: str) -> Callable[..., Any]:
    """Return what an operation of kernels is in JAX."""
    if OPS[name].symbol:
        return {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[OPS[name].symbol]
    jnp = jax().numpy
    if name == "choose":
        return lambda x, y, a, b: jnp.where(x < y, a, b)
    found = getattr(jnp, {"max": "maximum"}.get(name, name), None)
    if found is None:
        raise NotImplementedError(f"the operation {name!r} is not supported as blocks of XLA; give backend='native'")
    return found
