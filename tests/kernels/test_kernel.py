from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hinge import spatial
from hinge.kernels import Graph, Instruction, Kernel, Output, Scalar, count, finish, verify
from hinge.robots import random_inertia
from hinge.spatial import ArticulatedInertia, Inertia, Transform, quaternion, rotation
from tests.kernels.expressions import NAMES, named, program, traced


def example():
    graph = Graph()
    q, r, x = graph.input("q"), graph.input("unused"), graph.input(("x", 0))
    r * x + 1.0
    s = q.sin()
    return finish(graph, {("z", 0): -s, ("z", 1): 2.0 - s * x, "c": 3, "q": q})


def test_finish_numbers_inputs_first_and_drops_what_nothing_uses():
    kernel = example()
    assert kernel.inputs == ("q", ("x", 0))
    assert kernel.instructions == (
        Instruction("const", (2.0,)),
        Instruction("sin", (0,)),
        Instruction("mul", (1, 3)),
        Instruction("sub", (4, 2)),
    )
    assert kernel.outputs == (
        Output(("z", 0), 3, True, None),
        Output(("z", 1), 5, True, None),
        Output("c", None, False, 3.0),
        Output("q", 0, False, None),
    )
    verify(kernel)


def test_instruction_tells_operands_from_constants():
    assert Instruction("mul", (1, 2)).operands == (1, 2)
    assert Instruction("mul", (1, 2)).constant is None
    assert Instruction("const", (2.5,)).operands == ()
    assert Instruction("const", (2.5,)).constant == 2.5


def test_printing():
    assert str(example()).splitlines() == [
        "t3 = sin(q)",
        "t4 = x[0] * t3",
        "t5 = t4 - 2.0",
        "out z[0] = -t3",
        "out z[1] = -t5",
        "out c = 3.0",
        "out q = q",
    ]


def test_a_negative_zero_is_zero():
    (output,) = finish(Graph(), {"z": -0.0}).outputs
    assert str(output.constant) == "0.0"


def test_inputs_keep_the_order_of_their_first_request():
    graph = Graph()
    graph.input("b"), graph.input("a"), graph.input("c")
    kernel = finish(graph, {"y": graph.input("c") * graph.input("a") * graph.input("b")})
    assert kernel.inputs == ("b", "a", "c")


def test_dead_code_leaves_no_trace():
    def trace(*dead):
        graph = Graph()
        x = graph.input("x")
        for c in dead:
            x.sin() + c
        return finish(graph, {"y": (x * 3.0 + 0.5) * (x + 7.0)})

    assert trace() == trace(7.0, 1.0, 0.5)


def test_a_scalar_of_another_graph_is_no_output():
    with pytest.raises(AssertionError, match="another graph"):
        finish(Graph(), {"y": Graph().input("x")})


def test_equal_kernels_are_equal_values():
    assert example() == example()
    assert len({example(), example(), example().restricted(["c"])}) == 2


def test_restricted_keeps_some_outputs_and_what_they_need():
    kernel = example().restricted([("z", 0), "c"])
    verify(kernel)
    assert kernel == Kernel(
        ("q",),
        (Instruction("sin", (0,)),),
        (Output(("z", 0), 1, True, None), Output("c", None, False, 3.0)),
    )
    assert example().restricted(["c"]) == Kernel((), (), (Output("c", None, False, 3.0),))
    assert example().restricted([o.key for o in example().outputs]) == example()
    with pytest.raises(AssertionError, match="no outputs"):
        example().restricted(["c", "nonsense"])


@pytest.mark.parametrize("seed", range(10))
def test_restricted_kernels_agree_with_the_whole(seed):
    graph, rng = Graph(), np.random.default_rng(seed)
    kernel = finish(graph, dict(enumerate(program(seed)(*map(graph.input, NAMES)))))
    numbers = dict(zip(NAMES, rng.uniform(-2, 2, len(NAMES)), strict=True))
    keys = set(rng.choice(60, 5, replace=False).tolist())
    part = kernel.restricted(keys)
    verify(part)
    whole = kernel.evaluate(numbers)
    assert part.evaluate(numbers) == {k: v for k, v in whole.items() if k in keys}


def test_evaluate_takes_batches_that_broadcast():
    q, x = np.linspace(-1, 1, 5)[:, None], np.arange(3.0)
    got = example().evaluate({"q": q, ("x", 0): x})
    assert_allclose(got["z", 0], -np.sin(q))
    assert_allclose(got["z", 1], 2.0 - np.sin(q) * x)
    assert got["c"] == 3.0
    with pytest.raises(KeyError):
        example().evaluate({"q": q})


def test_evaluate_divides_as_ieee_says():
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    kernel = finish(graph, {"ratio": x / y, "root": x.sqrt(), "log": y.log(), "other": x + 1.0})
    got = kernel.evaluate({"x": -1.0, "y": 0.0})
    assert got["ratio"] == got["log"] == -np.inf
    assert np.isnan(got["root"]) and got["other"] == 0.0


@pytest.mark.parametrize("seed", range(10))
def test_a_kernel_traced_again_does_the_same(seed):
    graph = Graph()
    kernel = finish(graph, dict(enumerate(program(seed)(*map(graph.input, NAMES)))))
    again = Graph()
    result = kernel.evaluate({name: again.input(name) for name in kernel.inputs})
    assert any(isinstance(v, Scalar) for v in result.values())
    retraced = finish(again, result)
    assert count(retraced) == count(kernel)
    numbers = dict(zip(NAMES, (0.1, -0.2, 0.3, 1.4), strict=True))
    assert retraced.evaluate(numbers) == kernel.evaluate(numbers)


def _parts(x):
    """Return the arrays that a result is made of."""
    if isinstance(x, Transform):
        return [x.E, x.r]
    if isinstance(x, ArticulatedInertia):
        return [x.M, x.H, x.I]
    return [x.m, x.h, x.I] if isinstance(x, Inertia) else [x]


def _place(a):
    return Transform.place(rotation.from_quaternion(a[:4]), a[4:7])


def _turned(a):
    return Transform.place(rotation.about((0, 0, 1), a[4]), (0.1, 0.0, -0.3))


def _body(a):
    body = random_inertia(np.random.default_rng(0))
    return Inertia(np.asarray(body.m * (1 + a[0] * a[0])), body.h + a[1:4], body.I)


#: Formulas of one array a (13,), whose first four components are a unit quaternion.
FORMULAS = {
    "about": lambda a: rotation.about((0.6, 0, 0.8), a[4]),
    "rpy": lambda a: rotation.from_rpy(a[4:7]),
    "quaternion": lambda a: quaternion.normalize(quaternion.multiply(a[:4], a[4:8])),
    "compose": lambda a: _place(a) @ _turned(a).inv(),
    "matrix": lambda a: _place(a).matrix(),
    "force matrix": lambda a: _turned(a).force_matrix(),
    "motion": lambda a: _place(a).motion(a[7:13]),
    "force": lambda a: _turned(a).force(a[7:13]),
    "inertia": lambda a: _place(a).inertia(_body(a)),
    "articulated": lambda a: _turned(a).articulated(_body(a).articulated()),
    "congruence": lambda a: _turned(a).force_matrix() @ _body(a).matrix() @ _turned(a).inv().matrix(),
    "bias": lambda a: spatial.force_cross(a[7:13], _body(a).apply(a[7:13])),
    "motion cross": lambda a: spatial.motion_cross_matrix(a[1:7]) @ a[7:13],
}


@pytest.mark.parametrize("name", FORMULAS)
def test_spatial_formulas_traced_equal_their_numbers(name):
    graph, rng, formula = Graph(), np.random.default_rng(3), FORMULAS[name]
    results = [named(k, p) for k, p in enumerate(_parts(formula(traced(graph, "a", (13,)))))]
    kernel = finish(graph, {key: v for r in results for key, v in r.items()})
    verify(kernel)
    batch = np.concatenate([quaternion.random(rng, (20,)), rng.standard_normal((20, 9))], axis=-1)
    got = kernel.evaluate({("a", i): batch[:, i] for i in range(13)})
    for n, a in enumerate(batch):
        for k, part in enumerate(_parts(formula(a))):
            for key, number in named(k, part).items():
                assert_allclose(np.broadcast_to(got[key], 20)[n], number, rtol=1e-13, atol=1e-13)
