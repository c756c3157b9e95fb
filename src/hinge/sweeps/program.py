"""The sweep IR: state equations in operator form, put into passes over the tree.

    program    =  stage …  outputs
    stage      =  pass | meet | solve | apply
    pass       =  gather (tip to base) or scatter (base to tip):  statement …
    statement  =  target := value                 a vector, or a block-diagonal operator, at each body
    value      =  sums of products of block-diagonal letters and variables, with edges
                    E x, E₀ x        gather: the sum over the children (roots) of shifted x
                    E X Eᵀ           gather: the same for a symmetric block X
                    Eᵀ v, E₀ᵀ v      scatter: the parent's (world's) v, seen at the body
                    Eᵀ X E           scatter: the same for a symmetric block X
               |  X.inv() for a block-diagonal variable X, self-adjoint or lower triangular
               |  root(X), lower triangular, for a self-adjoint block-diagonal variable X
               |  a formula of the binding, of the vectors that it needs
    meet       =  target := a formula of the binding, at the world, of vectors at all bodies
    solve      =  target := X⁻¹ rhs                X dense, assembled from its columns
    apply      =  target := W rhs                  W a dense letter that is given or met, or its adjoint

A statement with a source is a family of columns: it runs once for each body (or node, or the world) of
the source space, on the bodies that the column can reach. Spaces of the user's own, Constraint among them,
have one block, at the world.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from hinge.algebra import (
    E0,
    Answered,
    E,
    Expr,
    Inverse,
    Leaf,
    Letter,
    Product,
    Root,
    Space,
    Structure,
    Sum,
    leaf_of,
    leaves,
    product,
)


class Direction(Enum):
    """The direction of a pass over the tree."""

    GATHER = "tip to base"
    SCATTER = "base to tip"


@dataclass(frozen=True)
class Statement:
    """target := value at each body; without a value, the binding's formula of `needs`."""

    target: Leaf
    value: Expr | None
    needs: tuple[Expr, ...] = ()
    source: Space | None = None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The expressions that the statement reads: its value, or the arguments of its formula."""
        return (self.value,) if self.value is not None else self.needs

    def at_body(self) -> str:
        """Return the statement with its edges written by bodies: k, its children c and its parent p."""
        if self.value is None:
            return f"{self.target}(k) = {self.target.meaning or self.target}, a function of " + ", ".join(
                _indexed(n) for n in self.needs
            )
        return f"{self.target}(k) = {_indexed(self.value)}"

    def __str__(self) -> str:
        right = str(self.value) if self.value else f"{self.target}({', '.join(map(str, self.needs))})"
        return f"{self.target} := {right}"


@dataclass(frozen=True)
class Pass:
    """One sweep over the bodies."""

    direction: Direction
    statements: tuple[Statement, ...]

    def title(self, number: int) -> str:
        """Return what to call the stage in a list."""
        return f"sweep {number}, {self.direction.value}"

    @property
    def edges(self) -> frozenset[Expr]:
        """The edges of its statements, among E, E₀, Eᵀ, E₀ᵀ."""
        return frozenset(x.factors[0] for s in self.statements for e in s.expressions for x in edges(e))


@dataclass(frozen=True)
class VectorOutput:
    """An output that is a vector variable."""

    name: str
    variable: Leaf


@dataclass(frozen=True)
class OperatorOutput:
    """An output that is an operator, from columns: variable column by column over the source.

    `transposed`: the columns are rows of the output. `mirror`: the operator is self-adjoint and only the
    blocks on one side of the diagonal are computed. With `middle`, a block-diagonal letter, the operator is
    the sum over bodies of variableᵀ middle variable, times `scale`, which needs no sweep back. With `below`
    the variable has the blocks on the diagonal and towards the base, and those away from the base are blocks
    of the columns of `below`, transposed.
    """

    name: str
    variable: Leaf
    source: Space
    transposed: bool = False
    mirror: bool = False
    middle: Leaf | None = None
    scale: float = 1.0
    below: Leaf | None = None

    @property
    def variables(self) -> tuple[Leaf, ...]:
        """The variables that it is made of."""
        return tuple(x for x in (self.variable, self.middle, self.below) if x is not None)

    def __str__(self) -> str:
        columns = f"{self.variable}[·]"
        return (
            columns if self.middle is None else f"({_factor(self.scale)}Σ {columns}ᵀ {self.middle} {columns})"
        )


@dataclass(frozen=True)
class WorldOutput:
    """An output that is a block at the world, such as the composite inertia of everything."""

    name: str
    variable: Leaf


@dataclass(frozen=True)
class ScalarOutput:
    """An output that is a number: Σ c xᵀ y over vector variables, and Σ c log det X over blocks."""

    name: str
    products: tuple[tuple[float, Leaf, Leaf], ...] = ()
    determinants: tuple[tuple[float, Leaf], ...] = ()


@dataclass(frozen=True)
class BlockOutput:
    """An output that is a block-diagonal operator, shown as its blocks.

    With w = `Binding.width`, 6 for robots: Body ← Body: (bodies, w, w). Body ← Joint: (w, nv), each column at
    the body of its joint; Joint ← Body: (nv, w). Joint ← Joint: (nv, nv) with zeros beside the blocks.
    """

    name: str
    variable: Leaf


@dataclass(frozen=True)
class ProductOutput:
    """An output that is a product of operators, each as a matrix, multiplied from the right.

    `negative`: less the product. `mirror`: it is self-adjoint, and one half is computed.
    """

    name: str
    factors: tuple[OperatorOutput, ...]
    negative: bool = False
    mirror: bool = False


ProgramOutput = VectorOutput | OperatorOutput | WorldOutput | ScalarOutput | BlockOutput | ProductOutput


@dataclass(frozen=True)
class Solve:
    """target := X⁻¹ rhs by a dense solve; `operator` says how X is assembled, `positive` that it is so.

    `floored`: X may be singular, and unknowns that depend on those before them are zero. With an `answer` the
    target lies in the sets of the binding's law instead, and X target + rhs in their duals.
    """

    target: Leaf
    operator: OperatorOutput
    right: Leaf
    source: Space | None = None
    positive: bool = False
    floored: bool = False
    answer: Answered | None = None

    def title(self, number: int) -> str:
        """Return what to call the stage in a list."""
        return f"stage {number}, dense solve in the space {self.target.range}, beside"

    def __str__(self) -> str:
        if self.answer is not None:
            made = f"{self.operator} {self.target} + {self.right}"
            return f"answer {self.target} in its sets with {made} in their duals"
        return f"solve {self.operator} {self.target} = {self.right}"


@dataclass(frozen=True)
class Apply:
    """target := W rhs with a dense operator that the user gives."""

    target: Leaf
    operator: Letter
    right: Leaf
    source: Space | None = None

    def title(self, number: int) -> str:
        """Return what to call the stage in a list."""
        return f"stage {number}, dense product {self.target.range} ← {self.operator.domain}"

    def __str__(self) -> str:
        return f"multiply {self.target} = {self.operator} {self.right}"


@dataclass(frozen=True)
class Meet:
    """target := a formula of the binding at the world, where values at all bodies meet."""

    target: Leaf
    needs: tuple[Leaf, ...]

    def title(self, number: int) -> str:
        """Return what to call the stage in a list."""
        return f"stage {number}, at the world"

    def __str__(self) -> str:
        return f"meet {self.target} = {self.target.meaning}, a function of {', '.join(map(str, self.needs))}"


Stage = Pass | Meet | Solve | Apply


@dataclass(frozen=True)
class Program:
    """An algorithm: stages in order, inputs and outputs."""

    stages: tuple[Stage, ...]
    outputs: tuple[ProgramOutput, ...]
    inputs: tuple[Leaf, ...] = ()
    sources: dict[Space, Leaf] = field(default_factory=dict[Space, Leaf])
    columns: dict[Leaf, Leaf] = field(default_factory=dict[Leaf, Leaf])

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The stages that sweep over the bodies."""
        return tuple(s for s in self.stages if isinstance(s, Pass))

    @property
    def shape(self) -> str:
        """The stages as letters, such as S G S; a solve is X, a product with a dense letter W, a meet M."""
        return " ".join(map(_sign, self.stages))

    def __str__(self) -> str:
        return write(self)


def _sign(stage: Stage) -> str:
    match stage:
        case Pass():
            return "G" if stage.direction is Direction.GATHER else "S"
        case Solve():
            return "X"
        case Apply():
            return "W"
        case Meet():
            return "M"


#: The letters that lead to children or parents, and those of them that gather.
EDGES: tuple[Expr, ...] = (E, E0, E.T, E0.T)
GATHERING: tuple[Expr, ...] = (E, E0)


def edges(e: Expr, kinds: tuple[Expr, ...] = EDGES) -> Iterator[Product]:
    """Yield the outermost edges of a value."""
    match e:
        case Product():
            for n, f in enumerate(e.factors):
                if f in kinds:
                    edge = product(*e.factors[n:])
                    assert isinstance(edge, Product)
                    yield edge
                    return
                yield from edges(f, kinds)
        case Sum():
            for _, t in e.terms:
                yield from edges(t, kinds)
        case Inverse() | Root():
            yield from edges(e.argument, kinds)
        case _:
            pass


def operand(edge: Product) -> Expr:
    """Return what an edge shifts: x of E x, X of E X Eᵀ."""
    last = -1 if is_congruence(edge) else len(edge.factors)
    return product(*edge.factors[1:last])


def is_congruence(edge: Product) -> bool:
    """Tell whether an edge shifts a block from both sides."""
    return edge.factors[-1] is edge.factors[0].T


def verify_program(program: Program) -> None:
    """Check a program against the grammar above; an AssertionError names the statement."""
    known: set[Leaf] = set(program.inputs) | set(program.sources.values())
    targets = {s.target for p in program.passes for s in p.statements}
    targets |= {s.target for s in program.stages if not isinstance(s, Pass)}
    done: set[Leaf] = set()
    for stage in program.stages:
        if isinstance(stage, Solve):
            assert {stage.right, *stage.operator.variables} <= done, f"{stage}: its inputs come later"
            done |= {stage.target, *(stage.answer.measures if stage.answer else ())}
            continue
        if isinstance(stage, Meet):
            assert set(stage.needs) <= done | known, f"{stage}: its inputs come later"
            done.add(stage.target)
            continue
        if isinstance(stage, Apply):
            late = leaf_of(stage.operator) in targets - done
            assert stage.right in done | known and not late, f"{stage}: its inputs come later"
            done.add(stage.target)
            continue
        here = {s.target for s in stage.statements}
        for s in stage.statements:
            assert s.target not in done, f"{s}: assigned twice"
            for value in s.expressions:
                _verify_value(value, s, stage, targets, done, here)
            done.add(s.target)
    for o in program.outputs:
        for v in output_variables(o):
            given = v.structure is Structure.DIAGONAL and v not in targets
            assert v in done or v in known or given, f"output {o.name}: {v} is never computed"


def _verify_value(
    value: Expr, s: Statement, stage: Pass, targets: set[Leaf], done: set[Leaf], here: set[Leaf]
) -> None:
    allowed = GATHERING if stage.direction is Direction.GATHER else (E.T, E0.T)
    inside: set[Leaf] = set()
    for edge in edges(value):
        assert edge.factors[0] in allowed, f"{s}: edge {edge} in a pass {stage.direction.value}"
        x = operand(edge)
        if stage.direction is Direction.SCATTER:
            assert isinstance(x, Leaf), f"{s}: {edge} must shift one variable of the parent"
        inside |= leaves(x)
        for leaf in leaves(x) & targets:
            assert leaf in done | here, f"{s}: {leaf} on the edge {edge} is not computed yet"
    for leaf in leaves(value) - {E, E0}:
        assert leaf.structure not in (Structure.RESOLVENT, Structure.STEP), f"{s}: {leaf} is not lowered"
        if leaf in targets and leaf not in inside:
            assert leaf in done, f"{s}: {leaf} is used before it is computed"


def output_variables(o: ProgramOutput) -> tuple[Leaf, ...]:
    """Return the variables that an output reads."""
    if isinstance(o, ScalarOutput):
        return tuple(v for _, *pair in o.products for v in pair) + tuple(v for _, v in o.determinants)
    if isinstance(o, ProductOutput):
        return tuple(v for f in o.factors for v in f.variables)
    return o.variables if isinstance(o, OperatorOutput) else (o.variable,)


def write(program: Program) -> str:
    """Return the program as an algorithm in the style of a paper."""
    lines: list[str] = []
    number = 0
    for stage in program.stages:
        if not isinstance(stage, Pass):
            lines.append(f"  {stage}")
            continue
        number += 1
        order = {"tip to base": "for k = tip … base", "base to tip": "for k = base … tip"}
        lines.append(f"sweep {number}, {stage.direction.value}: {order[stage.direction.value]}")
        for s in stage.statements:
            mark = f"   for each column of {s.source}" if s.source else ""
            lines.append(f"    {s.at_body()}{mark}")
        lines.append("end")
    for o in program.outputs:
        lines.append(f"output {o.name}{read_off(o)}")
    return "\n".join(lines)


def read_off(o: ProgramOutput) -> str:
    """Return the formula of an output in terms of variables, as text that follows its name."""
    match o:
        case VectorOutput():
            return "" if o.variable.name == o.name else f" = {o.variable}"
        case OperatorOutput():
            how = "rows" if o.transposed else "columns"
            more = (
                ", mirrored"
                if o.mirror
                else ""
                if o.below is None
                else f", beyond the diagonal rows {o.below}"
            )
            return f": {how} {o.variable}{more}"
        case WorldOutput():
            return f" = {o.variable}"
        case BlockOutput():
            return f": blocks {o.variable}"
        case ProductOutput():
            parts = [f"{f.variable}[·]{'ᵀ' if f.transposed else ''}" for f in o.factors]
            return f" = {'−' if o.negative else ''}{' '.join(parts)}, as matrices"
        case ScalarOutput():
            parts = [f"{_factor(c)}Σₖ {x}(k)ᵀ {y}(k)" for c, x, y in o.products]
            parts += [f"{_factor(c)}Σₖ log det {x}(k)" for c, x in o.determinants]
            return " = " + " + ".join(parts)


def _factor(c: float) -> str:
    return "" if c == 1 else f"{c:g} "


def _indexed(e: Expr, at: str = "k") -> str:
    match e:
        case Sum():
            out = ""
            for n, (c, t) in enumerate(e.terms):
                sign = "−" if c < 0 else "+"
                size = "" if abs(c) == 1 else f"{abs(c)} "
                text = size + _indexed(t, at)
                out += (text if c > 0 else f"−{text}") if n == 0 else f" {sign} {text}"
            return out
        case Product() if e.factors[0] in EDGES:
            return _indexed_edge(e)
        case Product():
            return " ".join(_bracket(f, at) for f in _grouped(e))
        case Inverse():
            return f"{_indexed(e.argument, at)}⁻¹"
        case Leaf() | Root():
            return f"{e}({at})"
        case _:
            text = str(e)
            return f"{text[:-1]}({at})ᵀ" if text.endswith("ᵀ") else text


def _grouped(e: Product) -> list[Expr]:
    """Return the factors, a trailing edge as one factor."""
    for n, f in enumerate(e.factors):
        if f in EDGES and n:
            return [*e.factors[:n], product(*e.factors[n:])]
    return list(e.factors)


def _bracket(e: Expr, at: str) -> str:
    text = _indexed(e, at)
    return f"[{text}]" if isinstance(e, Sum) else text


def _indexed_edge(edge: Product) -> str:
    first, x = edge.factors[0], operand(edge)
    gathering = first in GATHERING
    other = "c" if gathering else "p"
    inner = _bracket(x, other)
    if first in (E0, E0.T):
        return (
            f"Σ_roots φ(0,c) {inner}{' φ(0,c)ᵀ' if is_congruence(edge) else ''}"
            if gathering
            else _from_world(x)
        )
    way = "φ(k,c)" if gathering else "φ(p,k)ᵀ"
    back = ("φ(k,c)ᵀ" if gathering else "φ(p,k)") if is_congruence(edge) else ""
    start = "Σ_c " if gathering else ""
    return f"{start}{way} {inner} {back}".rstrip()


def _from_world(x: Expr) -> str:
    return f"φ(0,k)ᵀ {x}" if isinstance(x, Leaf) else f"φ(0,k)ᵀ ({x})"
