"""The cost of a program, without a robot: what the search compares.

Lexicographic: dense solves, operators whose columns go up and down again (quadratic instead of by depth),
passes, recursions, operations for each body. Operations are counted for a body on a hinge of one degree of
freedom in frames as the compiler chooses them, one link of a branch-free run.
"""

from __future__ import annotations

from dataclasses import dataclass

from hinge.algebra import (
    A,
    Ac,
    B,
    Bc,
    Body,
    D,
    Di,
    Dik,
    Dip,
    Dk,
    Dp,
    Dr,
    Dri,
    Expr,
    G,
    Gk,
    Gp,
    H,
    Ha,
    Hp,
    M,
    Na,
    Np,
    One,
    P,
    Pk,
    Pp,
    Product,
    Q,
    R,
    Space,
    Sum,
    Ups,
    W,
    World,
    a,
    a_m,
    a_n,
    b,
    b_m,
    c_j,
    d_c,
    e_c,
    gamma,
    kappa,
    leaves,
    p_c,
    product,
    r_c,
    s_c,
    tau_j,
    v_n,
)
from hinge.sweeps.equations import VELOCITY
from hinge.sweeps.program import (
    EDGES,
    Apply,
    Direction,
    OperatorOutput,
    Pass,
    Program,
    Solve,
    Statement,
    edges,
    is_congruence,
    operand,
)

#: Multiplications and additions of a letter applied to a vector at one body; 36 for other letters.
LETTER: dict[Expr, int] = {
    H: 0, H.T: 0, Hp: 0, Hp.T: 0, Ha: 0, Ha.T: 0, Np: 0, Np.T: 0, Na: 0, Na.T: 0,
    M: 42, R: 42, P: 66, Pp: 66, Pk: 66, Ups: 66,
    D: 1, Di: 1, Dp: 1, Dip: 1, Dk: 1, Dik: 1, kappa: 1, Dr: 1, Dr.T: 1, Dri: 1, Dri.T: 1,
    G: 6, G.T: 11, Gp: 6, Gp.T: 11, Gk: 6, Gk.T: 11,
    A: 36, A.T: 36, B: 48, B.T: 48, Bc: 48, Bc.T: 48, Q: 30, Q.T: 36,
    W: 48, W.T: 48,
}  # fmt: skip
#: The same for the shift of a vector over an edge (two planar turns and a shift), of its angular half alone,
#: of a symmetric block, and of one with the pattern of a rigid inertia; and for the formulas.
EDGE, ANGULAR_EDGE, CONGRUENCE, RIGID_CONGRUENCE = 36, 12, 209, 110
FORMULA = {a: 30, b: 36, a_n: 30, v_n: 9, Q: 60, a_m: 40, b_m: 40, tau_j: 40, c_j: 9, A: 40,
           Ac: 100, gamma: 60, e_c: 60, s_c: 24, r_c: 60, p_c: 60, d_c: 4}  # fmt: skip
#: Derived blocks: D and D⁻¹ of one degree of freedom; G; P⁺ = P − G D Gᵀ is within CONGRUENCE. 30 for others.
BLOCK = {Dr: 1, Dri: 1, D: 0, Di: 1, G: 6, P: 42, R: 0, Ups: 0, Dp: 0, Dip: 1, Gp: 6, Pp: 42,
         Dk: 1, Dik: 1, Gk: 6, Pk: 42}  # fmt: skip
_OTHER_LETTER, _OTHER_FORMULA, _OTHER_BLOCK = 36, 40, 30
SIZE = {Body: 6, World: 6}
#: A product with a dense letter of the user's own, for each body.
APPLY = 36


@dataclass(frozen=True, order=True)
class Cost:
    """The cost of a program; fields in order of comparison."""

    solves: int
    quadratic: int
    passes: int
    recursions: int
    operations: int

    def __str__(self) -> str:
        parts = [_counted(self.solves, "dense solve") + " of cubic cost"] if self.solves else []
        parts += [_counted(self.quadratic, "operator") + " of quadratic cost"] if self.quadratic else []
        parts += [
            _counted(self.passes, "sweep"),
            _counted(self.recursions, "recursion"),
            f"{self.operations} operations a body",
        ]
        return ", ".join(parts)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def cost(program: Program) -> Cost:
    """Return the cost of a program."""
    solves = sum(isinstance(s, Solve) for s in program.stages)
    statements = [s for p in program.passes for s in p.statements]
    recursions = sum(_is_recursion(s) for s in statements)
    return Cost(
        solves,
        sum(_goes_both_ways(program, o) for o in program.outputs if isinstance(o, OperatorOutput)),
        sum(_is_sweep(p) for p in program.passes),
        recursions,
        sum(_statement(s) for s in statements) + APPLY * sum(isinstance(s, Apply) for s in program.stages),
    )


def _is_sweep(p: Pass) -> bool:
    return any(True for s in p.statements for e in s.expressions for _ in edges(e))


def _is_recursion(s: Statement) -> bool:
    """Tell whether a statement reads its own target over an edge."""
    return s.value is not None and any(s.target in leaves(operand(e)) for e in edges(s.value))


def _goes_both_ways(program: Program, o: OperatorOutput) -> bool:
    directions = {
        p.direction for p in program.passes for s in p.statements if s.source is o.source and _is_recursion(s)
    }
    return directions == {Direction.GATHER, Direction.SCATTER}


def _statement(s: Statement) -> int:
    if s.value is None:
        return FORMULA.get(s.target, _OTHER_FORMULA)
    if s.target.meaning == VELOCITY:
        return ANGULAR_EDGE + 1  # the formulas of a and b read the angular half
    if s.target.domain is not One:
        shifted = [e for e in edges(s.value) if is_congruence(e)]
        each = RIGID_CONGRUENCE if s.target is R else CONGRUENCE
        return BLOCK.get(s.target, _OTHER_BLOCK) + len(shifted) * each
    return _value(s.value)


def _value(e: Expr) -> int:
    match e:
        case Sum():
            return sum(_value(t) for _, t in e.terms) + (len(e.terms) - 1) * _size(e.range)
        case Product() if e.factors[0] in EDGES:
            return CONGRUENCE if is_congruence(e) else EDGE + _value(operand(e))
        case Product():
            return LETTER.get(e.factors[0], _OTHER_LETTER) + _value(product(*e.factors[1:]))
        case _:
            return 0


def _size(space: Space) -> int:
    return SIZE.get(space, 1)
