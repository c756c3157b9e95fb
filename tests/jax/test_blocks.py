"""Programs as blocks of XLA give the numbers of the native target, values, changes and gradients alike."""

from __future__ import annotations

import numpy as np
import pytest

import hinge
from hinge.dynamics import compiled, gradient_parts, push_parts
from tests.dynamics.zoo import REAL
from tests.sweeps.models import every_joint_type
from tests.tiers import daily

jax = pytest.importorskip("jax")

ROBOTS = {
    "pendulum": hinge.robots.double_pendulum,
    "panda": hinge.robots.panda,
    "quadruped": hinge.robots.quadruped,
    **{name: REAL[name] for name in ("solo12", "talos") if name in REAL},
    "every joint": lambda: every_joint_type(0).robot,
}
VERBS = {"inverse_dynamics": ("q", "qd", "qdd"), "forward_dynamics": ("q", "qd", "tau")}


@pytest.fixture(autouse=True)
def doubles():
    """Let JAX have double precision in a test alone."""
    was = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", was)


def state(robot, names, seed=0):
    rng = np.random.default_rng(seed)
    q = hinge.random_configuration(robot, rng)
    return {n: q if n == "q" else rng.standard_normal(robot.nv) for n in names}


@pytest.mark.parametrize("name", daily(ROBOTS, lambda _, n: n == "pendulum"))
@pytest.mark.parametrize("verb", VERBS)
def test_numbers_are_those_of_the_native_target(name, verb):
    from hinge.jax.blocks import block_function

    robot = ROBOTS[name]()
    f = compiled(robot, verb)
    programs = [f, compiled(robot, gradient_parts(f.given, VERBS[verb]))]
    programs.append(compiled(robot, push_parts(f.given, VERBS[verb])))
    for g in programs[: 1 if name == "pendulum" else 3]:
        given = state(robot, ("q", *g.vectors))
        found = jax.jit(block_function(g))(given)
        for n, x in g.program()(given).items():
            assert np.abs(np.asarray(found[n]) - x).max() <= 1e-12 * max(1.0, np.abs(x).max())


@pytest.mark.slow
def test_gradients_by_coordinates_and_batches():
    from hinge.dynamics import home
    from hinge.jax.blocks import blocks

    robot = hinge.robots.quadruped()
    rng = np.random.default_rng(1)
    q = hinge.random_configuration(robot, rng, size=3)
    v, u, c = rng.standard_normal((3, 3, robot.nv))
    f = blocks("forward_dynamics", robot)
    loss = lambda *x: (f(*x)["forward_dynamics"] * c).sum()  # noqa: E731
    found = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(q, v, u)
    pull = home("forward_dynamics", robot).pull(("q", "qd", "tau")).executable
    wanted = pull({"q": q, "qd": v, "tau": u, "c_forward_dynamics": c})
    for x, y in zip(found, wanted.values(), strict=True):
        assert np.abs(np.asarray(x) - y).max() <= 1e-12 * max(1.0, np.abs(y).max())
    assert f(q, v[0], u)["forward_dynamics"].shape == (3, robot.nv)
    energy = jax.grad(lambda x: blocks("kinetic_energy", robot)(q[0], x)["kinetic_energy"])(v[0])
    assert np.allclose(energy, hinge.mass_matrix(robot, q[0]) @ v[0])


@pytest.mark.parametrize(
    ("what", "make", "message"),
    [
        ("mass_matrix", hinge.robots.double_pendulum, "mass_matrix.* not supported as blocks of XLA"),
        ("closed_dynamics", hinge.robots.four_bar, "meet"),
    ],
)
def test_what_has_no_blocks_is_refused_by_name(what, make, message):
    from hinge.jax.blocks import blocks

    with pytest.raises(NotImplementedError, match=message):
        blocks(what, make())
