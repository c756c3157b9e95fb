from __future__ import annotations

import pytest

from hinge.algebra import (
    DEFINITIONS,
    B,
    Body,
    D,
    E,
    H,
    Inverse,
    Joint,
    M,
    Structure,
    Ups,
    b,
    leaf,
    logdet,
    no_inverse,
    phi,
    polynomial,
    psi,
    qd,
    tau,
    zero,
)
from hinge.errors import ArgumentError
from hinge.pipeline import as_given, derive
from hinge.sweeps import (
    Direction,
    OperatorOutput,
    Pass,
    ScalarOutput,
    Solve,
    VectorOutput,
    WorldOutput,
    cost,
    lower,
    verify_program,
)
from tests.sweeps.expressions import SHAPES, accelerations, compliance, forward, mass, node


@pytest.mark.parametrize("name", SHAPES)
def test_a_program_has_its_shape(name):
    e, shape = SHAPES[name]
    program = derive(e).program
    assert program.shape == shape
    verify_program(program)


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_given_has_a_program_too(name):
    if name.startswith("log"):
        return  # of determinants only those of block-diagonal letters do
    program = as_given(SHAPES[name][0]).program
    verify_program(program)
    assert str(program)


def test_kinds_of_outputs():
    def kind(name):
        (output,) = derive(SHAPES[name][0]).program.outputs
        return type(output)

    assert kind("forward dynamics") is VectorOutput
    assert kind("momentum") is VectorOutput
    assert kind("mass matrix") is OperatorOutput
    assert kind("momentum matrix") is OperatorOutput
    assert kind("composite inertia") is WorldOutput
    assert kind("kinetic energy") is ScalarOutput
    assert kind("log determinants") is ScalarOutput


def test_operators_are_read_by_rows_or_columns_and_mirrored():
    def output(e):
        return derive(e).program.outputs[0]

    assert output(mass).mirror and not output(mass).transposed and output(mass).source is Joint
    assert output(node).transposed and output(node).source.name == "Node"
    assert not output(node.T).transposed and output(node.T).source.name == "Node"
    assert output(compliance).mirror
    assert not output(SHAPES["S_ap"][0]).mirror


def test_inputs_are_the_vectors_that_must_be_given():
    def names(e):
        return [x.name for x in derive(e).program.inputs]

    assert names(forward) == ["f_ext", "g", "qd", "tau"]
    assert names(mass) == []
    assert names(b) == ["qd"]
    assert names(SHAPES["passive accelerations"][0]) == ["qd", "qdd_a", "tau_p"]
    assert names(SHAPES["a force of your own"][0]) == ["own_force"]


def test_forward_dynamics_is_the_articulated_body_algorithm():
    down, up, back = derive(forward).program.passes
    assert [p.direction for p in (down, up, back)] == [Direction.SCATTER, Direction.GATHER, Direction.SCATTER]
    assert {"V", "a", "b"} <= {s.target.name for s in down.statements}
    assert {"P", "D", "Di", "G", "z"} <= {s.target.name for s in up.statements}
    assert {s.target.name for s in back.statements} == {"y", "alpha"}


def test_nothing_is_computed_twice():
    for name, (e, _) in SHAPES.items():
        program = derive(e).program
        values = [(s.value, s.source) for p in program.passes for s in p.statements if s.value is not None]
        assert len(set(values)) == len(values), name


def test_a_statement_comes_after_what_it_uses():
    statements = derive(forward).program.passes[1].statements
    order = [s.target.name for s in statements]
    assert order.index("P") < order.index("D") < order.index("Di") < order.index("G")


# Several outputs at once.


def recursions(expressions):
    return cost(derive(expressions).program).recursions


def test_outputs_share_their_work():
    both = {"qdd": forward, "alpha": accelerations}
    assert derive(both).program.shape == "S G S"
    assert recursions(both) < recursions(forward) + recursions(accelerations)
    one = derive(both).program
    targets = [s.target for p in one.passes for s in p.statements]
    assert len(set(targets)) == len(targets)
    assert [s.target.name for p in one.passes for s in p.statements].count("P") == 1


def test_the_same_output_twice_costs_nothing():
    once, twice = derive(forward).cost, derive({"x": forward, "y": forward}).cost
    assert (twice.passes, twice.recursions) == (once.passes, once.recursions)
    assert [o.name for o in derive({"x": forward, "y": forward}).program.outputs] == ["x", "y"]


def test_outputs_of_every_kind_together():
    program = derive(
        {
            "qdd": forward,
            "mass": mass,
            "jacobian": node,
            "energy": SHAPES["kinetic energy"][0],
            "inertia": SHAPES["composite inertia"][0],
            "momentum": SHAPES["momentum"][0],
        }
    ).program
    verify_program(program)
    assert [type(o).__name__ for o in program.outputs] == [
        "VectorOutput",
        "OperatorOutput",
        "OperatorOutput",
        "ScalarOutput",
        "WorldOutput",
        "VectorOutput",
    ]
    assert len(program.passes) <= 4


# Dense solves.


def test_an_inverse_without_a_closed_form_becomes_a_solve():
    program = derive(compliance.inv() @ node @ forward).program
    (solve,) = [s for s in program.stages if isinstance(s, Solve)]
    assert solve.source is None and solve.operator.mirror
    columns = derive(compliance.inv()).program.stages[-1]
    assert isinstance(columns, Solve) and columns.source.name == "Node"


def test_what_follows_a_solve_comes_in_a_later_pass():
    program = derive(mass.inv() @ (tau - node.T @ compliance.inv() @ node @ mass.inv() @ tau)).program
    kinds = ["X" if isinstance(s, Solve) else "P" for s in program.stages]
    assert kinds.count("X") == 1 and kinds[-1] == "P" and kinds[0] == "P"
    verify_program(program)


def test_the_inverses_of_letters_may_be_given():
    letter = leaf("Xi", Joint, Joint, self_adjoint=True)
    program = lower({"y": letter @ tau}, inverses={letter: H @ M @ H.T})
    assert program.shape == "G X"
    assert program.outputs[0].variable is program.stages[-1].target


def test_a_dense_inverse_inside_a_dense_inverse():
    inner = (H @ M @ H.T + D).inv()
    program = derive((inner + D).inv() @ tau).program
    assert sum(isinstance(s, Solve) for s in program.stages) == 2
    verify_program(program)


# The kernel of chains.


def test_the_compliance_kernel_is_scattered():
    program = derive(B.T @ (Ups @ psi + psi.T @ Ups - Ups) @ B).program
    assert program.shape == "G S"
    scattered = {s.target.name for s in program.passes[1].statements}
    assert {"Ups", "Ups_above"} <= scattered
    assert cost(program).quadratic == 0


# What cannot be lowered.


def test_zero_is_refused():
    for nothing in (zero(Joint, Body) @ b, H @ (phi - phi) @ b):
        with pytest.raises(ArgumentError, match="y: is zero by the identities; there is nothing to compute"):
            _ = derive(nothing).program
    with pytest.raises(ArgumentError, match="nothing to compute"):
        lower({"y": zero(Joint, Joint)})


def test_inverses_must_be_multiplied_out():
    with pytest.raises(AssertionError, match="none is expected"):
        lower({"y": (H @ M @ H.T).inv() @ tau})


def test_only_determinants_of_block_diagonal_letters_are_sums():
    with pytest.raises(NotImplementedError, match="block-diagonal letter"):
        lower({"y": logdet(H @ M @ H.T)})
    assert lower({"y": logdet(D)}).shape == "G"


def test_a_step_of_a_step_is_lowered():
    assert lower({"y": H @ E @ E @ H.T @ tau}).shape == "G"


def test_a_determinant_beside_a_vector():
    assert derive({"x": forward, "d": logdet(mass)}).program


def test_a_determinant_beside_a_quadratic_form():
    assert derive(logdet(mass) + tau.T @ mass.inv() @ tau).program


def test_a_scalar_of_your_own_is_refused():
    with pytest.raises(NotImplementedError, match=r"scale with \*"):
        derive(leaf("c", tau.domain, tau.domain))


# The words of a program.


def test_a_program_reads_as_an_algorithm():
    assert str(derive(mass).program) == "\n".join(
        [
            "sweep 1, tip to base: for k = tip … base",
            "    R(k) = M(k) + Σ_c φ(k,c) R(c) φ(k,c)ᵀ",
            "    f(k) = Σ_c φ(k,c) f(c) + R(k) H(k)ᵀ 1(k)   for each column of Joint",
            "    y(k) = H(k) f(k)   for each column of Joint",
            "end",
            "output y: columns y, mirrored",
        ]
    )
    assert "V(k) = φ(p,k)ᵀ V(p) + H(k)ᵀ q̇(k)" in str(derive(phi.T @ H.T @ qd).program)
    assert "solve X" in str(derive((H @ M @ H.T).inv() @ tau).program)


def test_derived_letters_bring_their_definitions():
    program = derive(D).program
    made = {s.target: s.value for p in program.passes for s in p.statements}
    inverse = made[next(x for x in made if x.name == "Di")]
    assert isinstance(inverse, Inverse) and inverse.argument is D
    p = next(v for x, v in made.items() if x.name == "P")
    assert M in polynomial(p, no_inverse).terms or (M,) in polynomial(p, no_inverse).terms
    assert all(isinstance(s, Pass) for s in program.stages)
    assert DEFINITIONS[D].range is Joint and Structure.DIAGONAL is D.structure
