"""Expressions as explicit matrices: slow, plain, and the reference for the other targets.

A `System` holds the given letters as whole matrices. Derived letters come from their definitions by
matrix arithmetic alone; a definition that contains its own letter is iterated, and since E is nilpotent
as many times as there are bodies is exact. Nothing but the assembly of a model's blocks in `system_of`
looks at a single body.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge.algebra import (
    DEFINITIONS,
    E0,
    SERIAL_ONLY,
    STANDARD,
    Adjoint,
    Body,
    E,
    Es,
    Expr,
    Identity,
    Inverse,
    Leaf,
    LogDet,
    One,
    Product,
    Root,
    Space,
    Structure,
    Sum,
    World,
    Zero,
    appendix,
    definition_of,
    in_cross_products,
    leaves,
    letters_of,
    linear,
)
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.sweeps import Binding, Site, has_blocks_at_bodies, is_met_at_world
from hinge.tree import WORLD

Array: TypeAlias = NDArray[Any]
#: A matrix that has a larger condition number after its rows are scaled is taken for singular.
SINGULAR = 1e14

#: What the derived letters are computed from. S comes from the tree alone.
MEANING: dict[Leaf, Expr] = {
    **DEFINITIONS,
    **{left: right for left, right, _ in appendix.APPENDIX if isinstance(left, Leaf)},
    appendix.Dphi: appendix.S.T @ E,
    appendix.Dpsi: appendix.S.T @ Es,
}
#: Letters that keep only the diagonal blocks of that, where a tree has blocks between siblings.
KEEP_DIAGONAL = SERIAL_ONLY | {appendix.Dphi, appendix.Dpsi}


def cross(v: Array) -> Array:
    """Return v× of three numbers."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def _ad(x: Array) -> Array:
    turn, move = cross(x[:3]), cross(x[3:])
    return np.block([[turn, np.zeros((3, 3))], [move, turn]])


def _bar(f: Array) -> Array:
    couple, force = cross(f[:3]), cross(f[3:])
    return -np.block([[couple, force], [force, np.zeros((3, 3))]])


#: Cross products with a motion and with a force, as matrices.
CROSSED: dict[str, Callable[[Array], Array]] = {"ad": _ad, "bar": _bar}


class SingularError(ArgumentError):
    """Report an inverse that does not exist on a system."""


@dataclass(frozen=True, eq=False)
class System:
    """A tree of bodies with explicit matrices for the given letters.

    `parents` is base first, −1 the world. `sizes` has for each space the size of its block at each body;
    World has one block, and a space of the user's own may have one. `values` are whole arrays: (n, m) for
    operators, (n,) for vectors. With a `seed` a leaf that has no value gets a random one of its structure,
    always the same for its name and seed.
    """

    parents: tuple[int, ...]
    sizes: Mapping[Space, tuple[int, ...]]
    values: Mapping[Leaf, Array]
    seed: int | None = None
    _letters: dict[Leaf, Array] = field(default_factory=dict[Leaf, Array], init=False, repr=False)

    def __post_init__(self) -> None:
        for child, parent in enumerate(self.parents):
            if not WORLD <= parent < child:
                raise ArgumentError(f"parents[{child}]: expected −1 or a number below {child}, got {parent}")
        for space, sizes in self.sizes.items():
            wanted = 1 if space in (World, One) else len(self.parents)
            own = space is not One and not has_blocks_at_bodies(space)
            if len(sizes) != wanted and not (own and len(sizes) == 1):
                raise ArgumentError(
                    f"sizes[{space}]: expected {wanted}, one for each block, got {len(sizes)}"
                )
        for x, value in self.values.items():
            wanted = tuple(self.length(s) for s in (x.range, x.domain) if s is not One)
            if np.shape(value) != wanted:
                raise ArgumentError(f"values[{x}]: expected shape {wanted}, got {np.shape(value)}")

    def evaluate(self, e: Expr) -> Array | float:
        """Return the value of an expression: (n, m), (n,) for a vector, a float for One ← One."""
        found = self.matrix(e)
        if e.range is One and e.is_vector:
            return float(found[0, 0])
        return np.array(found[:, 0] if e.is_vector else found)

    def matrix(self, e: Expr) -> Array:
        """Return the value of an expression as a matrix in all cases; a vector is one column."""
        match e:
            case Leaf():
                if e not in self._letters:
                    self._letters[e] = self._letter(e)
                    self._letters[e].flags.writeable = False
                found = self._letters[e]
            case Adjoint():
                found = self.matrix(e.leaf).T
            case Identity():
                found = np.eye(self.length(e.range))
            case Zero():
                found = np.zeros((self.length(e.range), self.length(e.domain)))
            case Sum():
                found = reduce(np.add, (float(c) * self.matrix(t) for c, t in e.terms))
            case Product():
                found = reduce(lambda x, f: self.matrix(f) @ x, e.factors[-2::-1], self.matrix(e.factors[-1]))
            case Inverse():
                x = self.matrix(e.argument)
                largest = np.abs(x).max(axis=1, initial=0.0, keepdims=True)
                if x.size and not np.linalg.cond(x / np.where(largest > 0, largest, 1)) < SINGULAR:
                    raise SingularError(f"{e}: what is inverted is singular on this system")
                found = np.linalg.inv(x)
            case Root():
                found = np.linalg.cholesky(self.matrix(e.argument))
            case LogDet():
                found = np.linalg.slogdet(self.matrix(e.argument))[1].reshape(1, 1)
            case _:
                raise AssertionError(type(e))
        return found

    def magnitude(self, e: Expr) -> Array:
        """Return the sums and products of an expression with absolute values, so that nothing cancels."""
        match e:
            case Sum():
                return reduce(np.add, (abs(float(c)) * self.magnitude(t) for c, t in e.terms))
            case Product():
                return reduce(np.matmul, map(self.magnitude, e.factors))
            case _:
                return np.abs(self.matrix(e))

    def blocks(self, space: Space) -> tuple[int, ...]:
        """Return the size of each block of a space; a random system makes up those of an unknown space."""
        if space is One or space in self.sizes:
            return (1,) if space is One else self.sizes[space]
        if self.seed is not None:
            return (1,) * len(self.parents)
        raise UnboundLeafError(f"{space}: this system has no such space; give its blocks in `sizes`")

    def length(self, space: Space) -> int:
        """Return the length of a vector of the space."""
        return sum(self.blocks(space))

    def bounds(self, space: Space) -> Array:
        """Return the start of each block of a space, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.blocks(space), dtype=int)])

    def _letter(self, x: Leaf) -> Array:
        shape = self.length(x.range), self.length(x.domain)
        if x in self.values:
            return np.array(self.values[x], dtype=np.float64).reshape(shape)
        if x is appendix.S:
            if len(set(self.blocks(Body))) > 1:
                raise ArgumentError(
                    f"{x}: expected blocks of one size at all bodies; write E instead of S Δφ"
                )
            return np.kron(self._towards_base(), np.eye(max(self.blocks(Body), default=0)))
        meaning = MEANING.get(x) or definition_of(x) or in_cross_products(x)
        if meaning is not None:
            return self._derived(x, meaning)
        crossed = CROSSED.get(x.origin.kind) if x.origin is not None else None
        if crossed is not None and x.range is Body:
            return self._crossed(x, crossed)
        if self.seed is not None:
            return self._random(x)
        if _held(x):
            return self.matrix(x.needs[0])
        raise UnboundLeafError(
            f"{x}: {x.range} ← {x.domain} has no value on this system; give an array of shape {shape} in "
            f"`values` (a vector without the second dimension)"
        )

    def _crossed(self, x: Leaf, block: Callable[[Array], Array]) -> Array:
        """Return a cross product with a vector of bodies, of six numbers each."""
        at, widths = self.bounds(Body), set(self.blocks(Body))
        if widths - {6}:
            raise ArgumentError(f"{x}: expected blocks of six numbers at all bodies, got {sorted(widths)}")
        vector = self.matrix(x.needs[0])[:, 0]
        blocks = {(i, i): block(vector[at[i] : at[i + 1]]) for i in range(len(self.parents))}
        return _assembled(self, x, blocks)

    def _derived(self, x: Leaf, meaning: Expr) -> Array:
        mask = self._mask(x, Structure.DIAGONAL) if x in KEEP_DIAGONAL else 1.0
        if x not in leaves(meaning):
            return self.matrix(meaning) * mask
        assert isinstance(meaning, Sum)
        value = self.matrix(linear(*(t for t in meaning.terms if x not in leaves(t[1])))) * mask
        for _ in self.parents:
            last, value = value, replace(self, values={**self.values, x: value}).matrix(meaning) * mask
            if np.array_equal(last, value):
                break
        return value

    def _towards_base(self) -> Array:
        """Return the matrix of bodies with ones at (parent, child)."""
        return np.equal.outer(np.arange(len(self.parents)), self.parents).astype(float)

    def _mask(self, x: Leaf, structure: Structure) -> Array:
        """Return the mask of entries that a leaf of this structure may have."""
        spaces, one, step = (x.range, x.domain), np.eye(len(self.parents)), self._towards_base()
        shape = [len(self.blocks(s)) for s in spaces]
        if structure in (Structure.VECTOR, Structure.DENSE) or One in spaces or spaces == (World, World):
            pattern = np.ones(shape)
        elif World in spaces:
            pattern = (np.array(self.parents) == WORLD).reshape(shape)
        elif structure is Structure.RESOLVENT:
            pattern = np.linalg.inv(one - step)
        else:
            pattern = step if structure is Structure.STEP else one
        return np.repeat(np.repeat(pattern, self.blocks(x.range), 0), self.blocks(x.domain), 1)

    def _random(self, x: Leaf) -> Array:
        assert self.seed is not None
        rng = np.random.default_rng([self.seed, zlib.crc32(x.name.encode())])
        mask = self._mask(x, x.structure)
        value = mask * rng.standard_normal(mask.shape)
        if x.is_vector:
            return value
        if x.self_adjoint:
            return value @ value.T / 6 + np.eye(len(value))
        if x.structure is not Structure.DIAGONAL:
            return value / np.sqrt(6)
        within = [np.concatenate([np.arange(k) for k in (0, *self.blocks(s))]) for s in (x.range, x.domain)]
        return value / 6 + mask * np.equal.outer(*within)  # near the identity, for the sake of inverses


def system_of(binding: Binding, inputs: Mapping[str, ArrayLike], own: Iterable[Leaf] = ()) -> System:
    """Return the matrices of a model at one state.

    `inputs` has q, and by the names of their leaves what stands in flat arrays of the user. Letters with
    a formula (a, b, …) that are not given are computed when what they need is. `own` are leaves beside
    the standard ones, which the inputs name or the model gives.
    """
    parents = binding.tree.parents
    bodies = range(len(parents))
    known = STANDARD | {x.name: x for x in own}
    q = _given("q", inputs, (sum(len(binding.coordinates(i)) for i in bodies),))
    sites = _sites(binding, inputs)
    hinges = [np.asarray(s.hinge(q[list(binding.coordinates(i))]), dtype=float) for i, s in enumerate(sites)]
    spaces = {s for x in known.values() for s in (x.range, x.domain)} - {One, World}
    spaces = {s for s in spaces if has_blocks_at_bodies(s) or _knows(binding, s)}
    blocks_of = {s: bodies if has_blocks_at_bodies(s) else (WORLD,) for s in (*spaces, World)}
    sizes = {s: tuple(binding.size(s, i) for i in at) for s, at in blocks_of.items()}
    values: dict[Leaf, Array] = {}
    system = System(parents, sizes, values)

    steps = [sites[i].step(hinges[i]).to_parent(np.eye(sizes[Body][i])) for i in bodies]
    values[E] = _assembled(system, E, {(p, i): steps[i] for i, p in enumerate(parents) if p != WORLD})
    values[E0] = _assembled(system, E0, {(0, i): steps[i] for i, p in enumerate(parents) if p == WORLD})
    for x in known.values():
        at_bodies = has_blocks_at_bodies(x.range) and has_blocks_at_bodies(x.domain)
        if x.structure is Structure.DIAGONAL and at_bodies and not x.needs and x not in MEANING:
            here = [i for i in bodies if sizes[x.range][i] and sizes[x.domain][i]]
            blocks = {(i, i): sites[i].value(x, hinges[i]) for i in here}
            if not here or any(b is not None for b in blocks.values()):
                values[x] = _assembled(system, x, blocks)
    for name in (name for name in inputs if name != "q"):
        if name not in known:
            raise ArgumentError(f"inputs: expected q or a leaf, got {name!r}; list leaves of yours in `own`")
        axes = [s for s in (known[name].range, known[name].domain) if s is not One]
        flat = _given(name, inputs, tuple(binding.length(s) for s in axes))
        at = [[k for i in blocks_of[s] for k in binding.positions(s, i)] for s in axes]
        values[known[name]] = np.pad(flat, (0, 1))[np.ix_(*at)]  # place −1 is the padding: zero
    values |= {x: np.asarray(given) for x in known.values() if (given := _own(binding, x)) is not None}
    # What a letter is a function of is a part of what the letters made of it are functions of.
    for x in sorted(known.values(), key=lambda x: len(letters_of(x.needs))):
        if x.needs and x not in values and x.range in sizes and not _held(x):
            try:
                needs = [(e, np.asarray(system.evaluate(e))) for e in x.needs]
                if is_met_at_world(x):
                    world = binding.world(binding.constants(WORLD))
                    met = world.formula(x, [need for _, need in needs])
                    values[x] = np.asarray(met, dtype=np.float64)
                    continue
                blocks = {
                    (i, 0 if x.is_vector else i): sites[i].formula(
                        x, hinges[i], [_at_body(system, e, need, i) for e, need in needs]
                    )
                    for i in bodies
                    if sizes[x.range][i]
                }
            except (UnboundLeafError, SingularError):  # what it needs is not given, not bound, or not there
                continue
            values[x] = _assembled(system, x, blocks)
    return System(parents, sizes, values)


def _at_body(system: System, e: Expr, whole: Array, body: int) -> Array:
    """Return the rows of a body; of a block-diagonal letter, its block."""
    block = isinstance(e, Leaf) and e.structure is Structure.DIAGONAL
    own = [slice(*system.bounds(s)[body : body + 2]) for s in ((e.range, e.domain) if block else (e.range,))]
    return whole[tuple(own)]


def _held(x: Leaf) -> bool:
    """Tell whether a letter stands for the value of an expression."""
    return x.origin is not None and x.origin.kind == "value"


def _knows(binding: Binding, space: Space) -> bool:
    """Tell whether a model gives a size to a space at the world."""
    try:
        return binding.size(space, WORLD) >= 0
    except UnboundLeafError:
        return False


def _own(binding: Binding, x: Leaf) -> list[float] | None:
    """Return the value of an input at the world that the model provides, in the order of its blocks."""
    if (
        x.domain is not One
        or has_blocks_at_bodies(x.range)
        or x.range in (One, World)
        or not _knows(binding, x.range)
    ):
        return None
    found = binding.known(x)
    return None if found is None else [found[k] for k in binding.positions(x.range, WORLD)]


def _sites(binding: Binding, inputs: Mapping[str, ArrayLike]) -> list[Site]:
    """Return the site of each body, with the parameters of the model that are inputs."""
    found = [binding.site(i, binding.constants(i)) for i in range(len(binding.tree.parents))]
    given = [(x.range, _given(x.name, inputs, (binding.length(x.range),))) for x in binding.parameters]
    if not given:
        return found
    for i, site in enumerate(found):
        own = [x[list(binding.positions(space, i))] for space, x in given]
        found[i] = site.with_derived(site.derived(np.concatenate(own)))
    return found


def _given(name: str, inputs: Mapping[str, ArrayLike], wanted: tuple[int, ...]) -> Array:
    if name not in inputs:
        raise ArgumentError(f"inputs: expected {name!r}, got {', '.join(inputs) or 'nothing'}")
    found = np.asarray(inputs[name], dtype=np.float64)
    if found.shape != wanted:
        raise ArgumentError(f"inputs[{name!r}]: expected shape {wanted}, one state, got {found.shape}")
    return found


def _assembled(system: System, x: Leaf, blocks: Mapping[tuple[int, int], Array | None]) -> Array:
    """Return the array of these blocks; missing rows of E, those of rotors, are zero."""
    rows, columns = system.bounds(x.range), system.bounds(x.domain)
    whole = np.zeros((rows[-1], columns[-1]))
    for (i, j), block in blocks.items():
        if block is not None:
            part = np.asarray(block, dtype=np.float64).reshape(len(block), -1)
            whole[rows[i] : rows[i] + len(part), columns[j] : columns[j + 1]] = part
    return whole[:, 0] if x.is_vector else whole
