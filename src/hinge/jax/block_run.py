"""One evaluation of a program on blocks: sweeps, and formulas by kinds of bodies."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from hinge.algebra import (
    E0,
    Body,
    E,
    Expr,
    Leaf,
    One,
    Product,
    Space,
    World,
    leaves,
)
from hinge.jax.block_values import (
    Env,
    Lanes,
    down_edge,
    groups,
    letters_read,
    operation,
    refused,
    spaces_of,
    up_edge,
)
from hinge.jax.extras import jax
from hinge.kernels import Kernel
from hinge.sweeps import (
    Binding,
    Block,
    Direction,
    Pass,
    Program,
    Statement,
    VectorOutput,
    edges,
    has_blocks_at_bodies,
    is_congruence,
    operand,
    unit_block,
)

#: The block of E at each body, and the number of the world.
_STEP, _WORLD = E, -1
#: Integers or numbers of the model.
_Table = np.ndarray[Any, Any]


class BlockModel(Protocol):
    """What a program and a robot give."""

    program: Program
    binding: Binding
    count: int

    @property
    def kinds(self) -> list[_Table]:
        """The bodies of each kind."""
        ...

    @property
    def numbers(self) -> list[_Table]:
        """The numbers of the bodies of each kind."""
        ...

    @property
    def has_one_cross(self) -> bool:
        """Whether cross products are the same at all bodies."""
        ...

    @property
    def levels(self) -> tuple[_Table, _Table]:
        """The bodies of each level, and their parents."""
        ...

    def width(self, space: Space) -> int:
        """Return the size of the largest block of a space."""
        ...

    def places(self, space: Space) -> _Table:
        """Return where the entries of blocks stand in the flat vector."""
        ...

    def padding(self, space: Space) -> _Table:
        """Return ones on the diagonal beside each body's own block."""
        ...

    def crossed(self, x: Leaf) -> _Table:
        """Return a cross product as a table."""
        ...

    def traced(
        self, k: int, formula: Any, sizes: Sequence[tuple[int, ...]]
    ) -> tuple[Kernel, tuple[int, ...]]:
        """Return a formula at bodies of a kind as a kernel, and its shape."""
        ...


class BlockRun:
    """The evaluation of a program for one state."""

    def __init__(self, of: BlockModel, given: Mapping[str, Any], dtype: Any) -> None:
        self.of, self.given, self.dtype, self.env = of, given, dtype, Env()
        self.jnp, binding = jax().numpy, of.binding
        self.padded: dict[Space, Any] = {}
        for x in of.program.inputs:
            known = binding.known(x)
            flat = (
                self.jnp.asarray(known or (), dtype)
                if known is not None or not binding.length(x.range)
                else given[x.name]
            )
            if has_blocks_at_bodies(x.range):
                self.env[x] = self._spread(flat, of.places(x.range))
            else:
                self.env[x] = self._spread(flat, np.array(list(binding.positions(x.range, _WORLD))))
        width = of.width(Body)
        self.env[_STEP] = self._formula(_step_of, (), (width, width))

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
            places = [
                np.concatenate([self._places(k, kernel.inputs[n]) for k, kernel in kinds])
                for n in range(len(sources))
            ]
            taken = [
                self._taken(source, at, [x for x, _ in others], sizes)
                for source, at in zip(sources, places, strict=True)
            ]
            values = code.runner(operation)(taken)
            if values and len(bodies):
                block = jnp.stack(
                    [jnp.broadcast_to(jnp.asarray(x, self.dtype), (len(bodies),)) for x in values], -1
                )
                whole = jnp.zeros((len(bodies), *shape), self.dtype)
                whole = whole.at[(slice(None), *(slice(n) for n in cut))].set(
                    block.reshape(len(bodies), *cut)
                )
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
        for group in groups(stage.statements):
            inside = {s.target for s in group}
            recursive = [x for s in group for e in s.expressions for x in edges(e) if inside & leaves(x)]
            if recursive:
                self._scan(group, list(dict.fromkeys(recursive)), stage.direction)
            else:
                (s,) = group
                self.env[s.target] = self._at_all(s)

    def _at_all(self, s: Statement) -> Any:
        if s.value is not None:
            return Lanes(self, self._all, self._edge).value(s.value)
        lanes, target = Lanes(self, self._all, self._edge), s.target
        if self.of.has_one_cross and target.origin is not None and target.origin.kind in ("ad", "bar"):
            (x,) = map(lanes.value, s.needs)
            return self.jnp.einsum("ijk,wk->wij", self.jnp.asarray(self.of.crossed(target), self.dtype), x)
        others = [(lanes.value(n), spaces_of(n)) for n in s.needs]
        shape = tuple(self.of.width(x) for x in spaces_of(target))

        def formula(site: Any, hinge: Block, blocks: Sequence[Block]) -> Any:
            return site.formula(target, hinge, blocks)

        return self._formula(formula, others, shape)

    def _all(self, x: Leaf) -> Any:
        """Return a letter at all bodies, from the model if no statement made it."""
        if x not in self.env:
            shape = tuple(self.of.width(s) for s in spaces_of(x))

            def given(site: Any, hinge: Block, _: Any) -> Any:
                found = site.value(x, hinge)
                if found is None:
                    refused(x)
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
                above = self.env[x] if isinstance(x, Leaf) and x.range is World else refused(e)
                above = self.jnp.pad(above, (0, self.of.width(Body) - len(above)))
                above = self.jnp.where(
                    hangs[:, None], self.jnp.broadcast_to(above, (len(parents), *above.shape)), 0.0
                )
            else:
                value = Lanes(self, self._all, self._edge).value(x)
                longer = self.jnp.concatenate([value, self.jnp.zeros((1, *value.shape[1:]), self.dtype)])
                above = longer[np.where(hangs, len(parents), parents)]
            return down_edge(step, above, is_congruence(e))
        if first is not E:
            refused(e)
        up = up_edge(step, Lanes(self, self._all, self._edge).value(x), is_congruence(e))
        longer = self.jnp.zeros((len(parents) + 1, *up.shape[1:]), self.dtype)
        return longer.at[np.where(parents < 0, len(parents), parents)].add(up)[:-1]

    def _scan(self, group: Sequence[Statement], recursive: Sequence[Product], direction: Direction) -> None:
        """Evaluate statements level by level."""
        jnp, inside = self.jnp, {s.target for s in group}
        for s in group:
            if s.value is None:
                raise NotImplementedError(
                    f"{s.target}: a formula in a recursion is not supported as blocks of XLA"
                )
        here, above = self.of.levels
        gathers = direction is Direction.GATHER
        if gathers:
            here, above = here[::-1], above[::-1]
        fixed = self._around(group, inside, recursive)
        rows = self.of.count + 2
        shapes = {s.target: tuple(self.of.width(x) for x in spaces_of(s.target)) for s in group}
        kept: list[Any] = list(recursive) if gathers else [s.target for s in group]
        start = [
            jnp.zeros((rows, *(self._edge_shape(x) if gathers else shapes[x])), self.dtype) for x in kept
        ]
        longer = {x: jnp.concatenate([v, jnp.zeros((2, *v.shape[1:]), self.dtype)]) for x, v in fixed.items()}

        def level(carry: Any, at: Any) -> Any:
            now, up, given = at
            own, past, made = (
                dict(zip(longer, given, strict=True)),
                dict(zip(kept, carry, strict=True)),
                Env(),
            )

            def read(x: Leaf) -> Any:
                return made[x] if x in made else own[x]

            def edge(e: Product) -> Any:
                if e not in recursive:
                    return own[e]
                if gathers:
                    return past[e][now]
                return down_edge(own[_STEP], past[operand(e)][up], is_congruence(e))

            lanes = Lanes(self, read, edge, now)
            for s in group:
                assert s.value is not None
                made[s.target] = lanes.value(s.value)
            if gathers:
                after = [
                    past[e].at[up].add(up_edge(own[_STEP], lanes.value(operand(e)), is_congruence(e)))
                    for e in recursive
                ]
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
                for x in letters_read(e, recursive):
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
            total = (
                total
                + c * self.jnp.linalg.slogdet(self._all(x) + self.pads(x.range)[: self.of.count])[1].sum()
            )
        return total


def _step_of(site: Any, hinge: Block, _: Sequence[Block]) -> Any:
    """Return the matrix of E at a body."""
    return site.step(hinge).to_parent(unit_block(site.size))
