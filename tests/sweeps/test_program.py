from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from hinge.algebra import E0, Body, D, E, H, Joint, M, One, P, Structure, World, leaf, phi, psi, tau
from hinge.pipeline import derive
from hinge.sweeps import (
    Direction,
    OperatorOutput,
    Pass,
    Program,
    ScalarOutput,
    Solve,
    Statement,
    VectorOutput,
    WorldOutput,
    verify_program,
)
from hinge.sweeps.program import edges, is_congruence, operand, output_variables
from tests.sweeps.expressions import SHAPES, forward

x, y, z = (leaf(name, Body, One) for name in "xyz")
t = leaf("t", Joint, One)
X = leaf("X", Body, Body, Structure.DIAGONAL, self_adjoint=True)
G, S = Direction.GATHER, Direction.SCATTER


def program(*stages, output=None, inputs=(tau,)):
    outputs = (VectorOutput("y", output),) if output is not None else ()
    return Program(tuple(stages), outputs, inputs)


def sweep(direction, **values):
    names = {"x": x, "y": y, "z": z, "t": t, "X": X}
    return Pass(direction, tuple(Statement(names[n], v) for n, v in values.items()))


RIGHT = {
    "a gather": program(sweep(G, x=H.T @ tau + E @ x, t=H @ x), output=t),
    "a scatter": program(sweep(S, x=H.T @ tau + E.T @ x), output=x),
    "a gather, then a scatter": program(sweep(G, x=H.T @ tau + E @ x), sweep(S, y=M @ x + E.T @ y), output=y),
    "from the world": program(sweep(S, x=E0.T @ leaf("g", World, One)), output=x),
    "a symmetric block up": program(sweep(G, X=M + E @ X @ E.T), output=X),
    "a symmetric block down": program(sweep(S, X=M + E.T @ X @ E), output=X),
    "an edge to a variable of the same pass that comes later": program(
        sweep(G, x=H.T @ tau + E @ (x + y), y=M @ x), output=x
    ),
    "a solve": program(
        sweep(G, t=H @ H.T @ tau),
        Solve(leaf("s", Joint, One), OperatorOutput("X", t, Joint), t),
        output=leaf("s", Joint, One),
    ),
    "an input as it is": program(output=tau),
    "nothing": program(),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_program_within_the_grammar_passes(name):
    verify_program(RIGHT[name])


WRONG = {
    "assigned twice": (program(sweep(G, x=H.T @ tau), sweep(S, x=M @ H.T @ tau)), "x := .*: assigned twice"),
    "an edge up in a scatter": (program(sweep(S, x=H.T @ tau + E @ x)), "edge E x in a pass base to tip"),
    "an edge down in a gather": (program(sweep(G, x=H.T @ tau + E.T @ x)), "edge Eᵀ x in a pass tip to base"),
    "the world's edge in a gather": (
        program(sweep(G, x=E0.T @ leaf("g", World, One))),
        "edge E₀ᵀ g in a pass tip to base",
    ),
    "the roots' edge in a scatter": (
        Program((Pass(S, (Statement(leaf("o", World, One), E0 @ H.T @ tau),)),), ()),
        "edge E₀ Hᵀ τ in a pass base to tip",
    ),
    "a block up in a scatter": (program(sweep(S, X=M + E @ X @ E.T)), "in a pass base to tip"),
    "more than a variable down": (
        program(sweep(S, x=H.T @ tau + E.T @ (M @ x))),
        "Eᵀ M x must shift one variable of the parent",
    ),
    "an edge to what comes in a later pass": (
        program(sweep(G, x=E @ y), sweep(S, y=H.T @ tau)),
        "y on the edge E y is not computed yet",
    ),
    "a propagation": (program(sweep(G, x=phi @ H.T @ tau)), "φ is not lowered"),
    "an articulated propagation": (program(sweep(S, x=psi.T @ H.T @ tau)), "ψ is not lowered"),
    "a derived step": (program(sweep(G, x=leaf("K", Body, Joint, Structure.STEP) @ tau)), "K is not lowered"),
    "used too early": (program(sweep(G, x=M @ y, y=H.T @ tau)), "x := M y: y is used before it is computed"),
    "used at the body itself": (program(sweep(G, x=M @ x + H.T @ tau)), "x is used before it is computed"),
    "used in an earlier pass": (
        program(sweep(G, x=M @ y), sweep(S, y=H.T @ tau)),
        "y is used before it is computed",
    ),
    "a formula of what comes later": (
        program(Pass(G, (Statement(x, None, (y,)), Statement(y, H.T @ tau)))),
        r"x := x\(y\): y is used before it is computed",
    ),
    "a solve before its right side": (
        program(Solve(leaf("s", Joint, One), OperatorOutput("X", t, Joint), t), sweep(G, t=H @ H.T @ tau)),
        "its inputs come later",
    ),
    "a solve without its operator": (
        program(sweep(G, t=H @ H.T @ tau), Solve(leaf("s", Joint, One), OperatorOutput("X", x, Joint), t)),
        "its inputs come later",
    ),
    "an output that nothing computes": (
        program(sweep(G, x=H.T @ tau), output=y),
        "output y: y is never computed",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_breach_of_the_grammar_is_named(name):
    wrong, message = WRONG[name]
    with pytest.raises(AssertionError, match=message):
        verify_program(wrong)


def test_every_kind_of_output_is_looked_at():
    given = sweep(G, x=H.T @ tau)
    for output in (
        OperatorOutput("y", y, Joint),
        WorldOutput("y", y),
        ScalarOutput("y", ((1.0, x, y),)),
    ):
        with pytest.raises(AssertionError, match="is never computed"):
            verify_program(Program((given,), (output,), (tau,)))
    assert output_variables(ScalarOutput("y", ((1.0, x, y),), ((2.0, D),))) == (x, y, D)


def test_an_edge_inside_an_edge_gathers_twice():
    verify_program(program(sweep(G, x=E @ E @ H.T @ tau), output=x))


def test_a_program_that_loses_a_statement_is_wrong():
    right = derive(forward).program
    for number, stage in enumerate(right.stages):
        for k, s in enumerate(stage.statements):
            rest = replace(stage, statements=stage.statements[:k] + stage.statements[k + 1 :])
            broken = replace(right, stages=(*right.stages[:number], rest, *right.stages[number + 1 :]))
            known = {x for p in broken.passes for q in p.statements for x in [q.target]}
            if s.target in {v for o in right.outputs for v in output_variables(o)}:
                with pytest.raises(AssertionError):
                    verify_program(broken)
            assert s.target not in known


def test_edges():
    gather = M @ x + E @ (x + M @ y) - E0.T @ leaf("g", World, One)
    assert [str(e) for e in edges(gather)] == ["E (x + M y)", "E₀ᵀ g"]
    assert [str(e) for e in edges(P + E @ P @ E.T)] == ["E P Eᵀ"]
    assert is_congruence(E @ P @ E.T) and not is_congruence(E @ x)
    assert operand(E @ P @ E.T) is P and operand(E @ (x + y)) is x + y


def test_shapes_and_words():
    right = RIGHT["a gather, then a scatter"]
    assert right.shape == "G S" and len(right.passes) == 2
    assert str(right).startswith("sweep 1, tip to base: for k = tip … base\n    x(k) = ")
    assert str(Statement(x, H.T @ tau)) == "x := Hᵀ τ"
    assert RIGHT["a solve"].shape == "G X"
    assert "solve t[·] s = t" in str(RIGHT["a solve"])
    scalar = ScalarOutput("y", ((0.5, x, y),), ((-1.0, D),))
    assert "output y = 0.5 Σₖ x(k)ᵀ y(k) + -1 Σₖ log det D(k)" in str(Program((), (scalar,)))


def test_programs_are_frozen():
    right = RIGHT["a gather"]
    with pytest.raises(FrozenInstanceError):
        right.stages = ()
    with pytest.raises(FrozenInstanceError):
        right.passes[0].statements = ()


def test_every_program_of_the_catalogue_can_be_written():
    for e, _ in SHAPES.values():
        text = str(derive(e).program)
        assert text.splitlines()[-1].startswith("output y")
        assert "None" not in text
