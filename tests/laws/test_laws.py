from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hinge import reference, robots
from hinge.model import joints
from hinge.testing import LAWS, Dynamics, LawError, check_laws, random_robots

BUILT_IN = {
    "puma560": robots.puma560,
    "panda": robots.panda,
    "spacecraft": robots.spacecraft,
    "quadruped": robots.quadruped,
    "double_pendulum": robots.double_pendulum,
    "chain": lambda: robots.chain(20),
    "floating chain": lambda: robots.chain(5, floating=True),
}


@pytest.mark.parametrize("seed", range(200))
def test_laws_hold_on_random_trees(seed):
    check_laws(robots.random_tree(10, seed), seed=seed, size=2)


def test_the_random_trees_hold_every_joint_type():
    seen = {j.type.kind for r in random_robots(200, bodies=10) for j in r.joints}
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


@pytest.mark.parametrize(
    "wrong, law",
    [
        ({"kinetic": _wrong("kinetic_energy", lambda e: e * 1.001)}, "kinetic energy"),
        ({"mass": _wrong("mass_matrix", lambda m: -m)}, "kinetic energy"),
        ({"mass": _wrong("mass_matrix", lambda m: m + np.triu(1e-6 * np.ones_like(m), 1))}, "."),
        ({"forward": _wrong("forward_dynamics", lambda a: a + 1e-6)}, "forward ∘ inverse"),
        ({"potential": _wrong("potential_energy", lambda e: 1.01 * e)}, "dE/dt"),
        ({"momentum": lambda r, q, qd: reference.momentum(r, q, qd) * (1 + 1e-3 * q[..., 7:8])}, "momentum"),
    ],
)
def test_each_law_catches_a_wrong_verb(wrong, law):
    with pytest.raises(LawError, match=law):
        check_laws(
            robots.spacecraft() if law == "momentum" else robots.random_tree(8, 1), dynamics=Dynamics(**wrong)
        )


def test_every_law_is_named_in_the_report():
    found = check_laws(robots.panda())
    assert set(LAWS) < set(found) and all(v >= 0 for v in found.values())


def test_dynamics_has_a_verb_for_each_field():
    assert {f.name for f in dataclasses.fields(Dynamics)} == {
        "inverse", "forward", "mass", "kinetic", "potential", "momentum",
    }  # fmt: skip
