"""Expressions on blocks of several bodies at once, and the order in which statements are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from hinge.algebra import (
    E0,
    Adjoint,
    E,
    Expr,
    Identity,
    Inverse,
    Leaf,
    One,
    Product,
    Root,
    Space,
    Sum,
    Zero,
    leaves,
    product,
)
from hinge.jax.extras import jax
from hinge.kernels import OPS
from hinge.sweeps import Statement, operand

#: Blocks of all bodies by what they are the value of: (n, rows), or (n, rows, columns).
Env = dict[Expr, Any]
#: What leads from bodies to their children, or to their parents.
EDGES: tuple[Expr, ...] = (E, E0, E.T, E0.T)


class Lanes:
    """Expressions on blocks of several bodies at once."""

    def __init__(
        self, run: Any, read: Callable[[Leaf], Any], edge: Callable[[Product], Any], at: Any = None
    ) -> None:
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
        found: Any
        match e:
            case Leaf():
                found = self.read(e)
            case Adjoint():
                found = self.jnp.swapaxes(self.read(e.leaf), -1, -2)
            case Sum():
                terms = [self.value(t) if c == 1 else float(c) * self.value(t) for c, t in e.terms]
                found = sum(terms[1:], terms[0])
            case Product() if e.factors[0] in EDGES:
                found = self.edge(e)
            case Product():
                left, right = self.value(e.factors[0]), self.value(product(*e.factors[1:]))
                vector = right.ndim < left.ndim
                found = self.jnp.einsum("wij,wj->wi" if vector else "wij,wjk->wik", left, right)
            case Inverse():
                found = self._inverse(self._regular(e.argument))
            case Root():
                found = self.jnp.linalg.cholesky(self._regular(e.argument))
            case Identity():
                found = self.jnp.eye(self.run.of.width(e.range), dtype=self.run.dtype)[None]
            case Zero():
                found = self.jnp.zeros((1, *(self.run.of.width(s) for s in spaces_of(e))), self.run.dtype)
            case _:
                refused(e)
        return found

    def _regular(self, e: Expr) -> Any:
        """Return blocks with ones beside them on their diagonals."""
        pads = self.run.pads(e.range)
        return self.value(e) + (pads[: self.run.of.count] if self.at is None else pads[self.at])

    def _inverse(self, x: Any) -> Any:
        return 1.0 / x if x.shape[-1] == 1 else self.jnp.linalg.inv(x)


def up_edge(step: Any, x: Any, both: bool) -> Any:
    """Return E x, or E X Eᵀ."""
    jnp = jax().numpy
    if both:
        return jnp.einsum("wij,wjk,wlk->wil", step, x, step)
    return jnp.einsum("wij,wj->wi" if x.ndim == 2 else "wij,wjk->wik", step, x)


def down_edge(step: Any, x: Any, both: bool) -> Any:
    """Return Eᵀ x, or Eᵀ X E."""
    return up_edge(jax().numpy.swapaxes(step, -1, -2), x, both)


def spaces_of(e: Expr) -> tuple[Space, ...]:
    """Return the spaces of the dimensions of a block."""
    return (e.range,) if e.domain is One else (e.range, e.domain)


def letters_read(e: Expr, recursive: Sequence[Product]) -> Iterable[Leaf]:
    """Return the letters that are read at a body itself, those under its own recursions among them."""
    if isinstance(e, Product) and e.factors[0] in EDGES:
        return letters_read(operand(e), recursive) if e in recursive else ()
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
    return [x for part in parts for x in letters_read(part, recursive)]


def groups(statements: Sequence[Statement]) -> list[list[Statement]]:
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
        group = [
            s
            for s in left
            if s is first or (s.target in reach[first.target] and first.target in reach[s.target])
        ]
        groups.append(group)
        placed |= {s.target for s in group}
        left = [s for s in left if s not in group]
    return groups


def refused(e: Expr) -> NoReturn:
    """Raise a NotImplementedError that names an expression."""
    raise NotImplementedError(f"{e}: is not supported as blocks of XLA; give backend='native'")


def operation(name: str) -> Callable[..., Any]:
    """Return what an operation of kernels is in JAX."""
    if OPS[name].symbol:
        return OPS[name].floats
    jnp = jax().numpy
    if name == "choose":
        return _chosen
    found = getattr(jnp, {"max": "maximum"}.get(name, name), None)
    if found is None:
        raise NotImplementedError(
            f"the operation {name!r} is not supported as blocks of XLA; give backend='native'"
        )
    return found


def _chosen(x: Any, y: Any, a: Any, b: Any) -> Any:
    """Return a where x < y, else b."""
    return jax().numpy.where(x < y, a, b)
