"""Templates: bodies that are alike share kernels, and nothing else changes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from hinge.algebra import logdet, qd, tau
from hinge.binding import bind
from hinge.errors import ArgumentError
from hinge.model import Builder, joints
from hinge.pipeline import derive
from hinge.robots import chain, quadruped, random_tree
from hinge.spatial import Inertia, rotation
from hinge.sweeps import Call, body, family, trace
from hinge.targets import NumpyProgram
from tests.sweeps.expressions import forward, mass, node
from tests.sweeps.models import model, random_inertia

#: A few of each kind: vectors, operators, scalars, dense solves.
NAMES = (
    "forward dynamics", "inverse dynamics", "mass matrix", "inverse mass matrix", "Jacobian in the world",
    "node accelerations", "kinetic energy", "momentum matrix", "composite inertia", "log determinant",
    "S_aa", "active forces", "a dense solve", "weight", "hinge inertia",
)  # fmt: skip


def run(code, inputs):
    return NumpyProgram(code)({name: inputs[name] for name in code.inputs})["y"]


def kernels(code):
    return {id(c.kernel) for c in code.calls if isinstance(c, Call)}


@pytest.fixture
def traced(monkeypatch):
    """Count how often a body is traced anew."""
    seen = Counter()
    whole = body.BodyKernel.__init__

    def counting(self, memory, at, near, *more):
        seen[at.stage] += 1
        whole(self, memory, at, near, *more)

    monkeypatch.setattr(body.BodyKernel, "__init__", counting)
    return seen


# The same numbers.


def alike():
    """Return a tree on which many bodies are alike, with different numbers."""
    rng = np.random.default_rng(1)
    builder = Builder("alike")
    names = [None]
    for k in range(14):
        kind = (joints.Revolute((0, 0, 1)), joints.Prismatic((1, 0, 0)), joints.Fixed())[k % 3]
        names.append(f"body{k}")
        builder.body(
            names[-1], parent=names[rng.integers(len(names) - 1)], joint=kind, inertia=random_inertia(rng),
            position=rng.standard_normal(3), rotation=rotation.from_rpy((0.3 * (k % 2), 0.0, 0.0)),
        )  # fmt: skip
    return bind(builder.build(), nodes=["body3", "body9"])


@pytest.mark.parametrize("e", [forward, mass.inv(), node @ qd, logdet(mass), tau.T @ tau], ids=str)
def test_a_replayed_body_is_a_traced_body(e, monkeypatch):
    program = derive(e).program
    shared = trace(program, alike())
    monkeypatch.setattr(family.Family, "_surroundings", lambda self, body, near, column: (body, column))
    apart = trace(program, alike())
    assert shared.slots == apart.slots and len(shared.calls) == len(apart.calls)
    for one, other in zip(shared.calls, apart.calls, strict=True):
        assert one == other


# Few kernels.


@pytest.mark.parametrize("e", [forward, mass, mass.inv(), qd.T @ mass @ qd], ids=str)
def test_the_kernels_of_a_chain_do_not_grow_in_number(e):
    program = derive(e).program
    short, long = (trace(program, bind(chain(n))) for n in (14, 30))
    assert len(kernels(short)) == len(kernels(long))
    assert len(long.calls) > len(short.calls)


def test_a_chain_of_random_numbers_has_few_kernels():
    robot = random_tree(30, 3, ["revolute"], branching=0.0, rotors=False)
    found = trace(derive(forward).program, bind(robot))
    assert len(kernels(found)) < 20


def test_no_body_is_traced_twice(traced):
    program = derive(forward).program
    trace(program, bind(chain(12)))
    short = traced.copy()
    traced.clear()
    trace(program, bind(chain(60)))
    assert traced == short


def test_equal_kernels_are_the_same_object():
    for robot in (chain(20), quadruped()):
        found = trace(derive(mass.inv()).program, bind(robot))
        assert len(kernels(found)) == len({c.kernel for c in found.calls})


def test_slots_of_a_run_of_equal_calls_are_evenly_spaced():
    found = trace(derive(forward).program, bind(chain(40)))
    for stage in range(-1, 3):
        calls = [c for c in found.calls if c.stage == stage][10:30]
        assert len({id(c.kernel) for c in calls}) <= 2  # axes by turns y and x
        for ways in ({c.stores[0] for c in calls[::2]}, {c.stores[0] for c in calls[1::2]}):
            assert len(set(np.diff(sorted(ways)))) == 1
        for call in calls:
            assert list(call.stores) == sorted(call.stores)


def test_parameters_are_floats_after_the_loads():
    found = trace(derive([forward, logdet(mass)]).program, model(2, 6))
    for call in found.calls:
        assert len(call.kernel.inputs) == len(call.loads) + len(call.params)
        assert all(type(x) is float for x in call.params)
        assert call.kernel.inputs == tuple(range(len(call.kernel.inputs)))
    assert any(c.params for c in found.calls)


# Checks hold for every body.


def tips(bad, inertia, joint, n=5):
    """Return n tips that are alike on one trunk, one of them with an inertia of its own."""
    builder = Builder("tips")
    builder.body("trunk", joint=joints.Revolute((0, 0, 1)), inertia=random_inertia(np.random.default_rng(0)))
    for k in range(n):
        good = random_inertia(np.random.default_rng(k + 1))
        builder.body(
            f"tip{k}", parent="trunk", joint=joint, joint_name=f"joint{k}", position=(0.1 * k, 0.2, 0.3),
            inertia=inertia if k == bad else good,
        )  # fmt: skip
    return builder.build(strict=None)


#: A point off the axis: D of a planar joint is singular though no number is zero.
POINT = Inertia.from_com(1.3, (0.2, 0.3, 0.4), np.zeros((3, 3)))


@pytest.mark.parametrize("bad", range(5))
@pytest.mark.parametrize(
    ("inertia", "joint"),
    [(Inertia.zero(), joints.Revolute((0, 0, 1))), (POINT, joints.Planar((0.0, 0.6, 0.8)))],
    ids=["massless", "a point"],
)
def test_a_hinge_without_inertia_is_named_wherever_it_is(bad, inertia, joint):
    program = derive(forward).program
    with pytest.raises(ArgumentError, match=rf"joint{bad}.* carries no inertia"):
        trace(program, bind(tips(bad, inertia, joint)))
    trace(program, bind(tips(-1, inertia, joint)))


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_a_massless_tip_of_a_chain_is_named(n):
    builder, parent = Builder("chain"), None
    for k in range(n):
        inertia = Inertia.zero() if k == n - 1 else random_inertia(np.random.default_rng(k))
        parent = builder.body(
            f"link{k}", parent=parent, joint=joints.Revolute((0, k % 2, 1 - k % 2)), inertia=inertia,
            position=(0.0, 0.0, 0.5), joint_name=f"joint{k}",
        )  # fmt: skip
    with pytest.raises(ArgumentError, match=rf"joint{n - 1}.* carries no inertia"):
        trace(derive(forward).program, bind(builder.build(strict=None)))
