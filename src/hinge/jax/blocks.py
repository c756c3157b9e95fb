"""Programs of sweeps as functions of JAX: statements on blocks of all bodies, for backends without our code.

Scalars are never lowered to XLA: it would compile for minutes. A statement without a recursion is evaluated
at all bodies at once, with blocks padded to the widest. Statements that depend on each other along the tree
are one `lax.scan` over its levels, each as wide as the widest level: E x and E X Eᵀ are added up at the
parents, Eᵀ x is gathered from them. Formulas, such as bias forces, are traced once for each kind of body;
kinds whose code is the same run it together.

What is differentiated is not the program: changes and gradients are programs of their own, D x and Dᵀ c.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from hinge.algebra import (
    Body,
    Joint,
    Leaf,
    One,
    Space,
)
from hinge.binding import Expressed
from hinge.dynamics import Compiled, Parts, compiled, expression, gradient_parts
from hinge.jax.block_run import BlockRun
from hinge.jax.charts import Chart
from hinge.jax.extras import jax
from hinge.kernels import Graph, Kernel, finish
from hinge.model import Robot, checked_robot
from hinge.pipeline import named
from hinge.sweeps import (
    Block,
    Pass,
    ScalarOutput,
    VectorOutput,
    has_blocks_at_bodies,
)

_WORLD = -1


def block_function(f: Compiled) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return compiled vectors and numbers as a function of flat arrays (n,) of one state, by name.

    `jax.jit` compiles it, `jax.vmap` is for batches. What has no blocks by bodies is refused by name:
    matrices, closures, parameters of the model, letters of the user's own that are operators.
    """
    return _BlockProgram(f)


def blocks(
    what: Any, robot: Robot, *, nodes: Sequence[str] = (), expressed: Expressed = "body"
) -> Callable[..., dict[str, Any]]:
    """Return vectors and numbers of a tree as a function of blocks, for JAX: f(q, *arrays), a dict by name.

    Leading dimensions are batches, and arrays broadcast. Reverse mode is a program of its own, by all
    arrays; by q in its coordinates, of q ↦ f(q / |q|).
    """
    from_home = what if isinstance(what, str) else named(what)
    options: dict[str, Any] = {"nodes": tuple(nodes), "expressed": expressed}
    parts = expression(from_home) if isinstance(from_home, str) else Parts(dict(from_home))
    f = compiled(checked_robot(robot), parts, **options)
    value, names, chart = block_function(f), ("q", *f.vectors), Chart.of(f.robot, "q")
    jnp = jax().numpy

    def one(arrays: Mapping[str, Any]) -> dict[str, Any]:
        q = arrays["q"] if chart is None else chart.normalized(arrays["q"])
        return value({**arrays, "q": q})

    @cache
    def pull() -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        given = compiled(
            f.robot, gradient_parts(dict(f.given), names, flexible=f.robot.is_flexible), **options
        )
        return block_function(given)

    def back(arrays: Mapping[str, Any], weights: Mapping[str, Any]) -> dict[str, Any]:
        raw = arrays["q"]
        q = raw if chart is None else chart.normalized(raw)
        found = pull()({**arrays, "q": q, **{f"c_{n}": c for n, c in weights.items()}})
        total = {}
        for n in names:
            parts = [c * found[f"{r}_by_{n}"] for r, c in weights.items() if f"{r}_by_{n}" in found]
            parts += [found[f"by_{n}"]] if f"by_{n}" in found else []
            total[n] = sum(parts[1:], parts[0]) if parts else jnp.zeros(arrays[n].shape, raw.dtype)
        if chart is not None:
            _, project = jax().jax.vjp(chart.normalized, raw)
            (total["q"],) = project(chart.to_coordinates(q, total["q"]))
        return total

    def forth(arrays: Mapping[str, Any]) -> tuple[Any, Any]:
        return one(arrays), arrays

    def rule(arrays: Mapping[str, Any], weights: Mapping[str, Any]) -> tuple[Any]:
        return (back(arrays, weights),)

    differentiable = jax().jax.custom_vjp(one)
    differentiable.defvjp(forth, rule)

    def call(*arrays: Any) -> dict[str, Any]:
        if len(arrays) != len(names):
            raise TypeError(f"expected the arrays {', '.join(names)}, got {len(arrays)}")
        given = [jnp.asarray(x) for x in arrays]
        dtype = jnp.result_type(*given)
        batch = jnp.broadcast_shapes(*(x.shape[:-1] for x in given))
        wide = {
            n: jnp.broadcast_to(x.astype(dtype), (*batch, x.shape[-1]))
            for n, x in zip(names, given, strict=True)
        }
        run: Callable[..., Any] = differentiable
        for _ in batch:
            run = jax().jax.vmap(run)
        return run(wide)

    return call


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
                f"{self.name}: {', '.join(dict.fromkeys(missing))} are not supported as blocks of XLA; give "
                "vectors of trees, such as forward_dynamics, or backend='native'"
            )

    def __call__(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return results by name, flat."""
        dtype = jax().numpy.asarray(given["q"]).dtype
        of: Any = self
        run = BlockRun(of, {n: jax().numpy.asarray(x, dtype) for n, x in given.items()}, dtype)
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

    def traced(
        self, k: int, formula: Callable[[Any, Block, list[Block]], Any], sizes: Sequence[tuple[int, ...]]
    ) -> tuple[Kernel, tuple[int, ...]]:
        """Return a formula of site, hinge and other blocks at bodies of a kind as a kernel, and its shape."""
        graph, numbers, body = Graph(), self.numbers[k], int(self.kinds[k][0])
        given = [
            float(column[0])
            if not np.ptp(column) and abs(column[0]) in (0.0, 1.0)
            else graph.input(("number", n))
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
