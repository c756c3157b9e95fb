"""Lowering: from multiplied-out expressions to a program of fused sweeps.

1. Outputs become state equations (`equations`); operators become columns.
2. All equations are factored together again; what they share becomes a variable.
3. The equations are put into passes (`schedule`), for either direction of the first one; the better is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from hinge.algebra import (
    ANSWERED,
    E0,
    Body,
    Coefficient,
    Expr,
    Joint,
    Leaf,
    LogDet,
    One,
    Polynomial,
    Product,
    Structure,
    Sum,
    Word,
    World,
    adjoint_word,
    common_terms,
    factored,
    leaf,
    leaf_of,
    leaves,
    linear,
    no_inverse,
    polynomial,
    product,
    simplest,
    with_names,
    word_expression,
)
from hinge.errors import ArgumentError
from hinge.sweeps.contract import has_blocks_at_bodies
from hinge.sweeps.equations import Equations, block_value, term_name
from hinge.sweeps.program import (
    EDGES,
    BlockOutput,
    Direction,
    OperatorOutput,
    ProductOutput,
    Program,
    ProgramOutput,
    ScalarOutput,
    VectorOutput,
    WorldOutput,
    verify_program,
)
from hinge.sweeps.schedule import Plan


@dataclass(frozen=True)
class Factors:
    """An operator as a product of others, which are computed first, as matrices; see `ProductOutput`."""

    factors: tuple[Expr, ...]
    negative: bool = False
    mirror: bool = False


def lower(
    outputs: Mapping[str, Expr],
    *,
    inverses: Mapping[Leaf, Expr] | None = None,
    blocks: Mapping[str, Expr] | None = None,
    definitions: Mapping[Leaf, Expr] | None = None,
    forms: Mapping[Leaf, Expr] | None = None,
    products: Mapping[str, Factors] | None = None,
) -> Program:
    """Return the program that computes the outputs, sharing work between them.

    `inverses` maps letters without closed form to the operators that they invert; `blocks` are block-diagonal
    operators that are returned as blocks besides the outputs; `definitions` are definitions of block-diagonal
    letters besides those of the algebra; `forms` are the forms of values that are held; `products` are the
    outputs that are multiplied out of others, as matrices.
    """
    system = Equations(dict(inverses or {}), dict(forms or {}))
    _answer(system, outputs)
    made: dict[Expr, OperatorOutput] = {}
    found = tuple(
        _multiplied(system, name, products[name], made)
        if products and name in products
        else _output(system, name, e)
        for name, e in outputs.items()
    )
    operators = _dense_operators(system)
    system.factor()
    _share(system)
    world = {o.variable: o for o in found if isinstance(o, WorldOutput)}
    system.values.update({x: _world_value(outputs[o.name]) for x, o in world.items()})
    for x, e in (definitions or {}).items():
        value, more = block_value(e)
        system.values.update({x: value, **more})
    found += tuple(_blocks(system, name, e) for name, e in (blocks or {}).items())
    system.close([*(x for o in (*found, *operators.values()) for x in _blocks_read(o))])
    plans = [Plan(system.copy(), operators, start).program(found) for start in Direction]
    best = min(plans, key=lambda p: (len(p.stages), sum(len(s.statements) for s in p.passes)))
    verify_program(best)
    return best


def _answer(system: Equations, outputs: Mapping[str, Expr]) -> None:
    """Add the answer to a law if the outputs have it: it is to two of them."""
    if not any(ANSWERED.forces in leaves(e) for e in outputs.values()):
        return
    missing = [name for name in (ANSWERED.operator, ANSWERED.right) if name not in outputs]
    if missing:
        raise ArgumentError(
            f"{ANSWERED.forces}: answers the expressions named {ANSWERED.operator!r} and {ANSWERED.right!r}; "
            f"{missing[0]!r} is not among {', '.join(outputs)}"
        )
    right = _variable(system, "w", system.vector(polynomial(outputs[ANSWERED.right], no_inverse)))
    system.answer(ANSWERED, outputs[ANSWERED.operator], right)


def _output(system: Equations, name: str, e: Expr) -> ProgramOutput:
    if e.range is One and e.domain is One:
        return _scalar(system, name, e)
    if e.range is One:
        return _output(system, name, e.T)  # a row is shown as the vector it is the adjoint of
    p = polynomial(e, no_inverse)
    _refuse_outer_products(name, p)
    if not p.terms:
        raise ArgumentError(f"{name}: is zero by the identities; there is nothing to compute")
    if e.domain is One:
        return VectorOutput(name, _variable(system, name, system.vector(p)))
    if e.range is World and p.T.key == p.key and all(_is_world_block(w) for w in p.terms):
        return WorldOutput(name, system.variable(World, name))
    return columns(system, name, p)


def _multiplied(system: Equations, name: str, by: Factors, made: dict[Expr, OperatorOutput]) -> ProductOutput:
    """Return a product of operators, each of which is computed once for all products."""
    for k, e in enumerate(by.factors):
        if e not in made:
            made[e] = columns(system, f"{name}_{k + 1}", polynomial(e, no_inverse))
    return ProductOutput(name, tuple(made[e] for e in by.factors), by.negative, by.mirror)


def _blocks(system: Equations, name: str, e: Expr) -> BlockOutput:
    value, more = block_value(e)
    symmetric = e.range is e.domain and polynomial(e, no_inverse).T.key == polynomial(e, no_inverse).key
    variable = leaf(f"{name}_blocks", e.range, e.domain, Structure.DIAGONAL, self_adjoint=symmetric,
                    unicode=name, meaning="blocks")  # fmt: skip
    system.values.update({variable: value, **more})
    return BlockOutput(name, variable)


def _refuse_outer_products(name: str, p: Polynomial) -> None:
    for w in p.terms:
        if any(x.range is One for x in w[1:]):
            raise NotImplementedError(
                f"{name}: {word_expression(w, p.range)} is an outer product of vectors, which is not "
                "supported; compute the two vectors and multiply them in NumPy"
            )


def _is_world_block(word: Word) -> bool:
    inner = word[1:-1]
    blocks = all(leaf_of(x).structure is Structure.DIAGONAL and leaf_of(x) is not E0 for x in inner)
    return bool(inner) and blocks and word[0] is E0 and word[-1] is E0.T


def _world_value(e: Expr) -> Expr:
    inner = {w[1:-1]: c for w, c in polynomial(e, no_inverse).terms.items()}
    return product(E0, factored(Polynomial(Body, Body, inner)), E0.T)


def _variable(system: Equations, name: str, value: Expr) -> Leaf:
    """Return a variable with this value: the value itself if it is a variable, else a new one."""
    if isinstance(value, Leaf) and any(
        value in known
        for known in (system.values, system.solves, system.products, system.meets, system.measures)
    ):
        return value
    return system.define(name, value)


# Operators, column by column.


def columns(system: Equations, name: str, p: Polynomial) -> OperatorOutput:
    """Return an operator as columns: from its domain, or of the adjoint when that is the shorter way."""
    ways = {way(w) for w in p.terms}
    symmetric = p.T.key == p.key
    if symmetric and not has_blocks_at_bodies(p.domain) and p.domain is not World and len(p.terms) == 1:
        found = _gram(system, name, *next(iter(p.terms.items())))
        if found is not None:
            return found
    if symmetric and "both" not in ways:
        p = upward_part(p)
    if not symmetric and {"up", "down"} <= ways <= {"up", "down", "none"} and p.range is p.domain is Joint:
        return _both_sides(system, name, p)
    transposed = not symmetric and ways <= {"down", "none"} and p.domain is not World
    if transposed:
        p = p.T
    source = p.domain
    unit = Polynomial(source, One, {(system.column_source(source),): 1})
    value = system.vector(p @ unit)
    return OperatorOutput(name, _variable(system, name, value), source, transposed, symmetric)


def _both_sides(system: Equations, name: str, p: Polynomial) -> OperatorOutput:
    """Return an operator whose words go one way each: its columns towards the base, and rows likewise."""
    unit = Polynomial(p.domain, One, {(system.column_source(p.domain),): 1})
    down = Polynomial(p.range, p.domain, {w: c for w, c in p.terms.items() if way(w) == "down"})
    variable = _variable(system, name, system.vector(upward_part(p) @ unit))
    below = _variable(system, f"{name}_below", system.vector(down.T @ unit))
    return OperatorOutput(name, variable, p.domain, below=below)


def _gram(system: Equations, name: str, word: Word, c: Coefficient) -> OperatorOutput | None:
    """Return X = Yᵀ D Y, a sum over bodies of columns Y, if the word is of that form."""
    middle = len(word) // 2
    between = leaf_of(word[middle])
    if len(word) % 2 == 0 or between.structure is not Structure.DIAGONAL or middle == 0:
        return None
    source = word[-1].domain
    unit = Polynomial(source, One, {(system.column_source(source),): 1})
    half = Polynomial(word[middle].domain, source, {word[middle + 1 :]: 1})
    if way(tuple(x for x in word[middle + 1 :] if leaf_of(x).structure is not Structure.DENSE)) != "up":
        return None
    made = system.named(name, system.vector(half @ unit))
    system.formula(between)
    return OperatorOutput(name, made, source, mirror=True, middle=between, scale=float(c))


def way(word: Word) -> str:
    """Return the direction in which a word propagates: "up" towards the base, "down", "both", or "none"."""
    if any(leaf_of(x).structure is Structure.DENSE for x in word):
        return "both"
    found = {
        "up" if isinstance(x, Leaf) else "down"
        for x in word
        if leaf_of(x).structure in (Structure.STEP, Structure.RESOLVENT) or leaf_of(x) is E0
    }
    return "none" if not found else "both" if len(found) > 1 else found.pop()


def upward_part(p: Polynomial) -> Polynomial:
    """Return the blocks of an operator on the diagonal and towards the base, each word of which goes one way.

    A word that carries down has blocks below, and on the diagonal those of the word with its
    propagations replaced by I and its steps by 0.
    """
    found = Polynomial(p.range, p.domain, {})
    for w, c in p.terms.items():
        if way(w) == "down" and any(leaf_of(x).structure is Structure.STEP for x in w):
            continue
        kept = tuple(x for x in w if way(w) != "down" or leaf_of(x).structure is not Structure.RESOLVENT)
        found = found + Polynomial(p.range, p.domain, {kept: c})
    return found


def _dense_operators(system: Equations) -> dict[Leaf, OperatorOutput]:
    """Return the columns of the operators of dense solves, which may need solves themselves."""
    found: dict[Leaf, OperatorOutput] = {}
    while len(found) < len(system.solves):
        for target in list(system.solves):
            if target not in found:
                p = polynomial(system.solves[target].operator, no_inverse)
                found[target] = columns(system, "X", p)
    return found


# Scalars.


def _scalar(system: Equations, name: str, e: Expr) -> ScalarOutput:
    determinants: list[tuple[float, Leaf]] = []
    rest = Polynomial(One, One, {})
    for c, t in e.terms if isinstance(e, Sum) else ((1, e),):
        if isinstance(t, LogDet):
            block = isinstance(t.argument, Leaf) and t.argument.structure is Structure.DIAGONAL
            if not (block and t.argument.T is t.argument):
                raise NotImplementedError(
                    f"{t}: only log det of a self-adjoint block-diagonal letter is a sum over bodies"
                )
            assert isinstance(t.argument, Leaf)
            determinants.append((float(c), t.argument))
            continue
        rest = rest + polynomial(linear((c, t)), no_inverse)
    products = [
        (float(c), _variable(system, "x", system.vector(x)), _variable(system, "y", system.vector(y)))
        for c, x, y in _products(rest)
    ]
    return ScalarOutput(name, tuple(products), tuple(determinants))


def _products(p: Polynomial) -> Iterator[tuple[Coefficient, Polynomial, Polynomial]]:
    """Yield pairs of vectors, with coefficients, whose products add up to a number."""
    square = _square(p) if len(p.terms) > 1 else None
    if square is not None:
        c, middle, half = square
        yield c, half, Polynomial(middle.range, One, {(middle, *w): s for w, s in half.terms.items()})
        return
    for w, c in p.terms.items():
        left, right = _split(w)
        yield c, _vector_polynomial(left), _vector_polynomial(right)


def _square(p: Polynomial) -> tuple[Coefficient, Leaf, Polynomial] | None:
    """Return c, S and y if a number is c yᵀ S y with a self-adjoint block-diagonal letter S, such as D⁻¹."""
    for middle in next(iter(p.terms)):
        if not isinstance(middle, Leaf) or not (
            middle.self_adjoint and middle.structure is Structure.DIAGONAL and middle.domain is not One
        ):
            continue
        if any(w.count(middle) != 1 for w in p.terms):
            continue
        cuts = {w: w.index(middle) for w in p.terms}
        pairs = {(adjoint_word(w[: cuts[w]]), w[cuts[w] + 1 :]): c for w, c in p.terms.items()}
        first = min((left for left, right in pairs if left == right), key=len, default=None)
        if first is None:
            continue
        c = pairs[first, first]
        share = {right: simplest(Fraction(d) / c) for (left, right), d in pairs.items() if left == first}
        whole = {(x, y): c * share[x] * share[y] for x in share for y in share}
        if whole == pairs:
            return c, middle, Polynomial(middle.domain, One, share)
    return None


def _split(word: Word) -> tuple[Word, Word]:
    """Return two vectors whose product is the word, split for the fewest propagations."""
    if len(word) < 2:
        number = word_expression(word, One)
        raise NotImplementedError(f"{number}: a letter that is a number is not lowered; scale with * instead")
    cuts = [(adjoint_word(word[:k]), word[k:]) for k in range(1, len(word))]
    return min(cuts, key=lambda cut: len(_propagations(cut[0]) | _propagations(cut[1])))


def _propagations(word: Word) -> set[Word]:
    return {
        word[k:] for k, x in enumerate(word) if leaf_of(x).structure in (Structure.RESOLVENT, Structure.STEP)
    }


def _vector_polynomial(word: Word) -> Polynomial:
    return Polynomial(word[0].range, One, {word: 1})


def _blocks_read(o: ProgramOutput) -> Iterator[Leaf]:
    """Yield the block-diagonal letters that an output reads beside its variable."""
    if isinstance(o, ScalarOutput):
        yield from (x for _, x in o.determinants)
    elif isinstance(o, OperatorOutput) and o.middle is not None:
        yield o.middle


# Sharing.


def _share(system: Equations) -> None:
    """Make variables of terms that occur more than once."""
    values = [e for x, v in system.values.items() for e in ((v,) if v is not None else system.needs[x])]
    known = {v: x for x, v in system.values.items() if v is not None}
    names: dict[Expr, Leaf] = {}
    for e in common_terms(values, _worth_sharing):
        names[e] = known[e] if e in known else system.variable(e.range, *term_name(e))
    for x, value in list(system.values.items()):
        if value is None:
            system.needs[x] = tuple(with_names(n, names) for n in system.needs[x])
        else:
            system.values[x] = with_names(value, names, top=True)
    system.values.update({x: with_names(e, names, top=True) for e, x in names.items()})


def _worth_sharing(e: Expr) -> bool:
    return not (isinstance(e, Product) and e.factors[0] in EDGES and len(e.factors) == 2)
