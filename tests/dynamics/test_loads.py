"""The mass matrix with symmetric blocks added to it at the hinges: (𝓜 + X)⁻¹ x and log det (𝓜 + X)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

import hinge
from hinge import robots
from hinge.algebra import (
    E0,
    H,
    Joint,
    M,
    Structure,
    a,
    b,
    g,
    identity,
    kappa,
    leaf,
    loaded,
    logdet,
    phi,
    psik,
    tau,
    whole,
    x,
)
from hinge.binding import Needs, bind
from hinge.errors import ArgumentError
from hinge.targets import random_system, system_of
from tests.dynamics.coupled import random_coupled
from tests.sweeps.models import every_joint_type
from tests.tiers import daily

MASS = whole.mass
X = leaf("X", Joint, Joint, Structure.DIAGONAL, self_adjoint=True)
Y = leaf("Y", Joint, Joint, Structure.DIAGONAL, self_adjoint=True)
BIAS = H @ phi @ (M @ phi.T @ (a + E0.T @ g) + b)
EXPRESSIONS = {
    "y": (MASS + X).inv() @ tau,
    "qdd": (MASS + X).inv() @ (tau - BIAS),
    "inverse": (MASS + X).inv(),
    "logdet": logdet(MASS + X),
    "quadratic": tau.T @ (MASS + X).inv() @ tau,
    "beside": MASS.inv() @ tau,
    "mass": MASS,
}


def blocks(robot, rng):
    """Return a positive block for each joint, as one matrix."""
    parts = []
    for j in robot.independent:
        root = rng.normal(size=(j.nv, j.nv))
        parts.append(root @ root.T)
    return block_diag(np.zeros((0, 0)), *parts)


def by_numpy(robot, q, v, t, x):
    mass, bias = hinge.mass_matrix(robot, q), hinge.bias_force(robot, q, v)
    return {
        "y": np.linalg.solve(mass + x, t),
        "qdd": np.linalg.solve(mass + x, t - bias),
        "inverse": np.linalg.inv(mass + x),
        "logdet": np.linalg.slogdet(mass + x)[1],
        "quadratic": t @ np.linalg.solve(mass + x, t),
        "beside": np.linalg.solve(mass, t),
        "mass": mass,
    }


@pytest.mark.parametrize("target", daily(["llvm", "numpy"], lambda k, target: target == "numpy"))
def test_every_joint_type(target):
    robot, rng = every_joint_type(2).robot, np.random.default_rng(1)
    f = hinge.compile(EXPRESSIONS, robot, target=target)
    q = hinge.random_configuration(robot, rng)
    v, t = rng.normal(size=(2, robot.nv))
    x = blocks(robot, rng)
    found = f(q, v, tau=t, X=x)
    for name, wanted in by_numpy(robot, q, v, t, x).items():
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(found[name], wanted, rtol=1e-8, atol=1e-8 * scale, err_msg=name)


@pytest.mark.parametrize("target", ["numpy", "llvm"])
def test_batches_and_single_precision(target):
    robot, rng = robots.panda(), np.random.default_rng(2)
    f = hinge.compile({"y": (MASS + X).inv() @ tau, "logdet": logdet(MASS + X)}, robot, target=target)
    q, t, x = (
        rng.normal(size=(5, 7)),
        rng.normal(size=7),
        np.stack([np.diag(rng.random(7)) for _ in range(5)]),
    )
    found = f(q, tau=t, X=x)
    single = f(q.astype(np.float32), tau=t.astype(np.float32), X=x.astype(np.float32))
    assert single["y"].dtype == np.float32
    for k in range(5):
        wanted = by_numpy(robot, q[k], t, t, x[k])
        np.testing.assert_allclose(found["y"][k], wanted["y"], rtol=1e-10)
        np.testing.assert_allclose(found["logdet"][k], wanted["logdet"], rtol=1e-10)
        np.testing.assert_allclose(
            single["y"][k], wanted["y"], rtol=2e-3, atol=2e-3 * np.abs(wanted["y"]).max()
        )


@pytest.mark.parametrize("e", [EXPRESSIONS["y"], EXPRESSIONS["qdd"], EXPRESSIONS["logdet"]], ids=str)
def test_the_cost_grows_with_the_number_of_bodies(e):
    counts = [hinge.compile(e, robots.chain(n)).code.operations().total for n in (10, 20, 40)]
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])
    assert not hinge.derive(e).cost.solves


def test_loads_of_every_form():
    """Implicit steps, 𝓜 + h D + h² K; what regularises; blocks that the model gives."""
    robot, rng = robots.random_tree(5, 3, ["revolute", "spherical", "prismatic"]), np.random.default_rng(3)
    q, t = hinge.random_configuration(robot, rng), rng.normal(size=robot.nv)
    given = {"X": blocks(robot, rng), "Y": blocks(robot, rng)}
    binding = bind(robot, Needs(own_frames=True))
    system = system_of(binding, {"q": q, "tau": t, **given}, (X, Y))
    for load in (identity(Joint) / 100, X / 10 + Y / 100, X + identity(Joint), X @ Y @ X, H @ M @ H.T, 3 * X):
        e = (MASS + load).inv() @ tau
        assert not hinge.derive(e).cost.solves
        f = hinge.compile(e, robot)
        found = f(q, tau=t, **{n: x for n, x in given.items() if n in f.inputs})
        np.testing.assert_allclose(found, system.evaluate(e), rtol=1e-8, atol=1e-10, err_msg=str(load))


def test_what_is_not_a_load_is_solved():
    robot, rng = robots.panda(), np.random.default_rng(4)
    q, t = rng.normal(size=7), rng.normal(size=7)
    x, y = np.diag(rng.random(7)), np.diag(rng.random(7))
    mass = hinge.mass_matrix(robot, q)
    both = {"x": (MASS + X).inv() @ tau, "y": (MASS + Y).inv() @ tau, "z": (2 * MASS - X).inv() @ tau}
    found = hinge.compile(both, robot)(q, tau=t, X=x, Y=y)
    for name, matrix in {"x": mass + x, "y": mass + y, "z": 2 * mass - x}.items():
        np.testing.assert_allclose(found[name], np.linalg.solve(matrix, t), rtol=1e-7)
    own = leaf("Z", Joint, Joint, Structure.DIAGONAL)
    z = np.diag(rng.random(7))
    f = hinge.compile((MASS + own).inv() @ tau, robot)
    np.testing.assert_allclose(f(q, tau=t, Z=z), np.linalg.solve(mass + z, t), rtol=1e-8)


def test_a_load_within_another_inverse():
    robot, rng = robots.panda(), np.random.default_rng(5)
    own = leaf("A_c", hinge.algebra.Constraint, Joint)
    e = (own @ (MASS + X).inv() @ own.T).inv()
    f = hinge.compile(e, robot, sizes={hinge.algebra.Constraint: 3})
    q, x, c = rng.normal(size=7), np.diag(rng.random(7)), rng.normal(size=(3, 7))
    inner = c @ np.linalg.solve(hinge.mass_matrix(robot, q) + x, c.T)
    np.testing.assert_allclose(f(q, X=x, A_c=c), np.linalg.inv(inner), rtol=1e-9)


def test_coupled_joints():
    robot = hinge.embed_couplings(random_coupled(6, 1, kinds=("revolute",)))
    rng = np.random.default_rng(6)
    q, t, x = hinge.random_configuration(robot, rng), rng.normal(size=robot.nv), np.diag(rng.random(robot.nv))
    f = hinge.compile((MASS + X).inv() @ tau, robot)
    wanted = np.linalg.solve(hinge.mass_matrix(robot, q) + np.diag(np.diag(x)), t)
    np.testing.assert_allclose(f(q, tau=t, X=x), wanted, rtol=1e-8)


def test_the_letter_of_loads_is_an_argument_too():
    robot, rng = robots.panda(), np.random.default_rng(7)
    q, t, x = rng.normal(size=7), rng.normal(size=7), np.diag(rng.random(7))
    f = hinge.compile(loaded.mass.inv() @ tau, robot)
    np.testing.assert_allclose(
        f(q, tau=t, kappa=x), np.linalg.solve(hinge.mass_matrix(robot, q) + x, t), rtol=1e-9
    )
    with pytest.raises(ArgumentError, match="kappa: expected a symmetric matrix"):
        f(q, tau=t, kappa=np.triu(np.ones((7, 7))))


def test_the_factorisation_is_proved():
    w = identity(Joint) - H @ psik @ loaded.K
    assert hinge.prove((MASS + kappa).inv(), w.T @ loaded.Di @ w)
    factor = identity(Joint) + H @ phi @ loaded.K
    assert hinge.prove(MASS + kappa, factor @ loaded.D @ factor.T)
    assert not hinge.prove(H @ loaded.G, identity(Joint))
    system = random_system((-1, 0, 0, 1), 3, (2, 1, 3, 1))
    np.testing.assert_allclose(system.evaluate(MASS + kappa), system.evaluate(factor @ loaded.D @ factor.T))


def test_a_load_beside_letters_of_a_given_one_is_another():
    robot = hinge.robots.panda()
    q, rng = hinge.random_configuration(robot, 3), np.random.default_rng(4)
    given, load = (np.diag(rng.uniform(1, 2, 7)) for _ in range(2))
    y, z = rng.standard_normal((2, 7))
    e = x.T @ loaded.Mi @ (MASS + X).inv() @ tau
    m = hinge.mass_matrix(robot, q)
    wanted = y @ np.linalg.solve(m + given, np.linalg.solve(m + load, z))
    for target in ("numpy", "llvm"):
        found = hinge.compile(e, robot, target=target)(q, x=y, tau=z, X=load, kappa=given)
        assert np.allclose(found, wanted, rtol=1e-10)


def test_a_load_beside_blocks_of_a_given_one_is_refused():
    robot = robots.panda()
    with pytest.raises(ArgumentError, match="blocks: expected operators without κ"):
        hinge.compile((MASS + X).inv() @ tau, robot, blocks={"P": loaded.P}, target="numpy")
    hinge.compile(MASS @ tau, robot, blocks={"P": loaded.P}, target="numpy")
