"""Functions made with backend="xla" have the numbers of the native ones, derivatives too."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
import hinge.jax as homes
from hinge.algebra import B, H, M, One, Q, f_ext, leaf, phi, qd
from hinge.dynamics import compiled, gradient_parts, push_parts
from hinge.errors import ArgumentError
from tests.dynamics.sweep_flexible import arm
from tests.jax.robots import ROBOTS, off, rolls, states

jax = pytest.importorskip("jax")

PENDULUM, X = hinge.robots.double_pendulum(), np.array([0.1, -0.2])
TREES = {
    "pendulum": lambda: PENDULUM,
    "embedded": lambda: hinge.embed_loops(hinge.robots.four_bar()),
    **{n: make for n, make in ROBOTS.items() if not make().closures},
}
VERBS = {"inverse_dynamics": ("q", "qd", "qdd"), "forward_dynamics": ("q", "qd", "tau")}


def make(what, **options):
    """Return a function of the pendulum as blocks."""
    return homes.function(what, PENDULUM, backend="xla", **options)


def both(what, robot, **options):
    """Return a function of blocks and the native one."""
    return [homes.function(what, robot, backend=b, **options) for b in ("xla", "native")]


def alike(found, wanted, bound=1e-12):
    """Tell whether results are the same, of the same precisions, shapes and names."""
    leaves = [jax.tree_util.tree_flatten(x) for x in (found, wanted)]
    assert leaves[0][1] == leaves[1][1]
    return all(
        x.dtype == y.dtype and off(x, y) <= bound for x, y in zip(leaves[0][0], leaves[1][0], strict=True)
    )


def test_values():
    q, v, u = states(PENDULUM, 0, 3)
    assert alike(*(jax.jit(jax.vmap(f))(q, v, u) for f in both("forward_dynamics", PENDULUM)))


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
def test_values_and_gradients_are_those_of_the_native_function(name):
    robot = TREES[name]()
    q, v, u = states(robot, 0, 2)
    c = np.random.default_rng(1).standard_normal(v.shape)
    by = (1, 2) if rolls(robot) else (0, 1, 2)

    def of(f):
        def value(q, v, u):
            x = f(q, v, u)
            return (x * c).sum(), x

        return jax.jit(jax.value_and_grad(value, by, has_aux=True))(q, v[0], u)

    fs = both("forward_dynamics", robot)
    assert repr(fs[0]) == repr(fs[1]) and fs[0].arguments == fs[1].arguments
    assert alike(*map(of, fs), bound=1e-11)
    if rolls(robot):
        with pytest.raises(NotImplementedError, match="not supported for"):
            jax.jit(jax.grad(lambda q: fs[0](q, v[0], u[0]).sum())).lower(q[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("verb", VERBS)
def test_programs_of_changes_and_gradients(name, verb):
    from hinge.jax.blocks import block_function

    robot = TREES[name]()
    q, v, _ = states(robot)
    by = VERBS[verb][1:] if rolls(robot) else VERBS[verb]
    f = compiled(robot, verb)
    for g in (f, compiled(robot, gradient_parts(f.given, by)), compiled(robot, push_parts(f.given, by))):
        rng = np.random.default_rng(2)
        given = {n: rng.standard_normal(robot.nv) for n in g.vectors} | {"q": q, "qd": v}
        found = jax.jit(block_function(g))(given)
        for n, x in g.program()(given).items():
            assert off(found[n].reshape(x.shape), x) <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("name", ("small", "panda"))
def test_both_modes_to_second_order(name):
    robot = TREES[name]()
    q, v, u = states(robot)
    fs = both("inverse_dynamics", robot)
    rng = np.random.default_rng(1)
    along = rng.standard_normal(robot.nq), *rng.standard_normal((2, robot.nv))
    assert alike(*(jax.jit(lambda *x, f=f: jax.jvp(f, x, along))(q, v, u) for f in fs))
    assert alike(*(jax.jit(jax.jacrev(f, (0, 1)))(q, v, u) for f in fs))
    hessians = [jax.jit(jax.hessian(lambda q, v, f=f: f(q, v, u).sum(), (0, 1)))(q, v) for f in fs]
    assert alike(*hessians, bound=1e-11)


@pytest.mark.slow
def test_numbers_tangents_and_outputs_side_by_side():
    robot = TREES["small"]()
    q, v, u = states(robot, 0, 3)
    for f, g in [both("kinetic_energy", robot)]:
        assert alike(*(jax.jit(jax.vmap(jax.value_and_grad(x, (0, 1))))(q, v) for x in (f, g)))
    dq = np.zeros((3, robot.nv))
    slopes = [
        jax.jacrev(f, 1)(q[0], dq[0], v[0], u[0]) for f in both("inverse_dynamics", robot, tangent=True)
    ]
    assert alike(*slopes)
    x = leaf("x", H.range, One, meaning="a vector of one's own")
    given = {"force": H @ phi @ M @ phi.T @ H.T @ x, "energy": x.T @ H @ phi @ M @ phi.T @ H.T @ x / 2}
    assert alike(*(f(q, x=v) for f in both(given, robot)))


@pytest.mark.slow
def test_single_precision_and_batches():
    robot = TREES["small"]()
    q, v, u = states(robot, 0, (2, 3))
    f, g = both("forward_dynamics", robot)
    assert alike(f(q, v[:, :1], u[0]), g(q, v[:, :1], u[0]))
    assert alike(jax.vmap(f, (0, None, 0))(q, v[0], u), jax.vmap(g, (0, None, 0))(q, v[0], u))
    with jax.enable_x64(False):
        single = [x.astype(np.float32) for x in (q, v, u)]
        assert alike(f(*single), g(*single), bound=1e-4)


def test_no_states_at_all():
    f = make("forward_dynamics")
    assert f(*np.zeros((3, 0, 2))).shape == (0, 2)


def test_gradients_lower_where_there_is_no_cpu():
    f = make("gravity_force")
    shape = jax.ShapeDtypeStruct((4, 2), np.float64)
    traced = jax.jit(jax.grad(lambda q: f(q).sum())).trace(shape)
    for platform in ("cuda", "tpu"):
        assert "stablehlo.sine" in traced.lower(lowering_platforms=(platform,)).as_text()


@pytest.mark.slow
def test_exports_for_all_platforms_with_any_number_of_states():
    export = pytest.importorskip("jax.export")
    (b,) = export.symbolic_shape("b")
    shape = jax.ShapeDtypeStruct((b, 2), np.float64)
    f = jax.jit(make("forward_dynamics"))
    made = export.export(f, platforms=("cpu", "cuda", "tpu"))(shape, shape, shape)
    rows = np.random.default_rng(0).standard_normal((3, 5, 2))
    assert off(made.call(*rows), hinge.forward_dynamics(PENDULUM, *rows)) <= 1e-12


@pytest.mark.slow
def test_flexible_bodies():
    robot = arm()
    q, v, u = states(robot, 0, 3)
    fs = both("forward_dynamics", robot)
    assert alike(*(jax.jit(f)(q, v, u) for f in fs))
    for f in fs:
        with pytest.raises(NotImplementedError, match="has flexible bodies"):
            jax.grad(lambda q, f=f: f(q, v[0], u[0]).sum())(q[0])


@pytest.mark.slow
def test_vectors_at_nodes():
    robot = TREES["small"]()
    q, v, _ = states(robot)
    nodes = ["tip", "trunk"]
    f, g = both(B.T @ phi.T @ H.T @ qd, robot, nodes=nodes)
    assert alike(f(q, v), g(q, v))
    f, g = both(H @ phi @ B @ f_ext, robot, nodes=nodes)
    forces = np.random.default_rng(0).standard_normal((5, *f.arguments["f_ext"]))
    assert alike(f(q, forces), g(q, forces))


REFUSED = {
    "operators": (lambda: make("mass_matrix"), "columns of Joint.* not supported.*give backend='native'"),
    "blocks": (lambda: make("mass_factors"), "blocks diagonal .* not supported.*give backend='native'"),
    "parameters": (
        lambda: make("inverse_dynamics", parameters=["inertias"]),
        "inertias .* not supported.*give backend='native'",
    ),
    "expressed": (
        lambda: make(Q @ B.T @ phi.T @ H.T @ qd, nodes=["tip"], expressed="world"),
        "of World .* not supported.*give backend='native'",
    ),
    "the whole": (lambda: make("momentum"), "a vector of World"),
    "closures": (
        lambda: homes.function("forward_dynamics", hinge.robots.four_bar(), backend="xla"),
        "closures .* not supported.*give backend='native'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_blocks_is_refused_by_name(case):
    f, message = REFUSED[case]
    with pytest.raises(NotImplementedError, match=message):
        f()


def test_arguments_are_checked_as_those_of_the_native_function():
    f = make("forward_dynamics")
    with pytest.raises(ArgumentError, match=r"q: expected shape \(…, 2\), got \(1,\)"):
        f(X[:1], X, X)
    with pytest.raises(ArgumentError, match="qd: expected float64, as q has, got float32"):
        f(X, X.astype(np.float32), X)
    with pytest.raises(TypeError, match="expected the arrays q, qd, tau, got no tau"):
        f(X, X)
