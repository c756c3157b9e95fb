from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hinge import reference, robots
from hinge.errors import ArgumentError
from hinge.model import joints
from hinge.testing import (
    LAWS,
    Dynamics,
    LawError,
    check_laws,
    momentum_error,
    random_robots,
    random_state,
)
from tests.tiers import daily

BUILT_IN = {
    "puma560": robots.puma560,
    "panda": robots.panda,
    "spacecraft": robots.spacecraft,
    "quadruped": robots.quadruped,
    "double_pendulum": robots.double_pendulum,
    "chain": lambda: robots.chain(20),
    "floating chain": lambda: robots.chain(5, floating=True),
}


#: Random trees in all, and those of every day.
TREES, FEW = 200, 20


@pytest.mark.parametrize("seed", daily(range(TREES), lambda k, seed: seed < FEW))
def test_laws_hold_on_random_trees(seed):
    check_laws(robots.random_tree(10, seed), seed=seed, size=2)


def test_the_random_trees_hold_every_joint_type():
    seen = {j.type.kind for r in random_robots(FEW, bodies=10) for j in r.joints}
    assert seen == set(joints.JOINT_TYPES)


@pytest.mark.parametrize("kind", sorted(joints.JOINT_TYPES))
def test_laws_hold_on_chains_of_one_joint_type(kind):
    check_laws(robots.random_tree(5, 3, [kind], branching=0.0), seed=1)


@pytest.mark.parametrize("name", BUILT_IN)
def test_laws_hold_on_built_in_robots(name):
    check_laws(BUILT_IN[name](), seed=1)


def _wrong(name, change):
    right = getattr(reference, name)
    return lambda *args, **kwargs: change(right(*args, **kwargs))


WRONG = {
    "kinetic energy": {"kinetic": _wrong("kinetic_energy", lambda e: e * 1.001)},
    "M symmetric": {"mass": _wrong("mass_matrix", lambda m: m + 1e-6 * _skewed(m))},
    "forward ∘ inverse": {"forward": _wrong("forward_dynamics", lambda a: a + 1e-6)},
    "inverse = M": {
        "inverse": lambda r, q, qd, qdd, **k: reference.inverse_dynamics(r, q, qd, qdd, **k) + qdd**2
    },
    "dE/dt": {"potential": _wrong("potential_energy", lambda e: 1.01 * e)},
    "momentum": {"momentum": lambda r, q, qd: reference.momentum(r, q, qd) * (1 + 1e-3 * q[..., 7:8])},
}


def _skewed(m):
    return np.triu(np.ones_like(m), 1) - np.tril(np.ones_like(m), -1)


@pytest.mark.parametrize("law", WRONG)
def test_each_law_alone_catches_the_verb_that_breaks_it(law):
    (name,) = [n for n in LAWS if law in n]
    measure, bound = LAWS[name]
    robot = robots.spacecraft() if law == "momentum" else robots.random_tree(8, 1)
    s = random_state(robot, 1, 2)
    assert measure(robot, s, Dynamics()) <= bound < measure(robot, s, Dynamics(**WRONG[law]))


def test_a_broken_law_is_named():
    with pytest.raises(LawError, match="kinetic energy"):
        check_laws(robots.panda(), dynamics=Dynamics(**WRONG["kinetic energy"]))


def test_momentum_is_asked_of_floating_robots_only():
    assert "momentum conserved" in check_laws(robots.spacecraft())
    assert "momentum conserved" not in check_laws(robots.panda())
    with pytest.raises(ArgumentError, match="expected one that floats on one free joint"):
        momentum_error(robots.panda(), random_state(robots.panda()))


def test_every_law_is_named_in_the_report():
    found = check_laws(robots.panda())
    assert set(LAWS) - {"momentum conserved"} < set(found) and all(v >= 0 for v in found.values())


def test_dynamics_has_a_verb_for_each_field():
    assert {f.name for f in dataclasses.fields(Dynamics)} == {
        "inverse", "forward", "mass", "kinetic", "potential", "momentum",
    }  # fmt: skip
