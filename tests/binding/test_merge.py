from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hinge.algebra import (
    E0,
    STANDARD,
    A,
    B,
    Body,
    D,
    E,
    H,
    Ha,
    Hp,
    K,
    M,
    P,
    Role,
    a,
    a_m,
    b,
    b_m,
    hides_fixed_bodies,
    logdet,
    phi,
    psi,
    qd,
    stand_beside,
    tau,
)  # fmt: skip
from hinge.binding import Needs, bind
from hinge.dynamics.expressions import CATALOGUE, FORWARD_DYNAMICS, mass
from hinge.errors import ArgumentError
from hinge.model import Builder, joints, random_configuration
from hinge.pipeline import derive
from hinge.robots import panda, quadruped, random_tree
from hinge.spatial import rotation
from hinge.sweeps import trace
from hinge.targets import NumpyProgram
from tests.sweeps.models import distance, random_inertia
from tests.tiers import daily


def held(seed):
    """Return a tree in which every other body is fixed on another one, or on the world."""
    rng = np.random.default_rng(seed)
    builder = Builder(f"held {seed}")
    names = [None]
    for k in range(12):
        kinds = (joints.Fixed(), joints.Revolute(rng.standard_normal(3)), joints.Fixed(), joints.Free())
        builder.body(
            f"body{k}", parent=names[rng.integers(len(names))], joint=kinds[k % 4], position=rng.random(3),
            rotation=rotation.exp(rng.standard_normal(3)), inertia=random_inertia(rng),
        )  # fmt: skip
        names.append(f"body{k}")
    return builder.build()


ROBOTS = [held(1), held(2), panda(), quadruped(), random_tree(8, 3)]
VERBS = [verb for verb, e in CATALOGUE.items() if hides_fixed_bodies(e)]
#: Those without a dense solve, whose rounding is not that of merging.
SWEPT = [verb for verb in VERBS if not derive({verb: CATALOGUE[verb]}).cost.solves]
#: Every day a verb is tried on the first robot, and on another one in turn.
CASES = [(robot, verb) for robot in ROBOTS for verb in SWEPT]
DAILY = {(ROBOTS[n], verb) for k, verb in enumerate(SWEPT) for n in (0, 1 + k % 4)}


def value(e, robot, **options):
    """Return an expression at a random state, with nodes on the last bodies."""
    nodes = [body.name for body in robot.bodies[-3:]]
    program = derive(e).program
    binding = bind(robot, Needs(**options), nodes=nodes, expressed="world")
    rng = np.random.default_rng(0)
    inputs = {"q": random_configuration(robot, 1)}
    inputs |= {x.name: rng.standard_normal(binding.length(x.range)) for x in program.inputs}
    return NumpyProgram(trace(program, binding))(inputs)["y"]


def test_the_catalogue_hides_fixed_bodies():
    assert set(VERBS) == set(CATALOGUE)
    assert hides_fixed_bodies(logdet(mass), mass.inv() @ tau)


@pytest.mark.parametrize(
    ("robot", "verb"),
    daily(CASES, lambda k, case: case in DAILY),
    ids=lambda x: getattr(x, "name", x),
)
def test_merging_changes_no_number(robot, verb):
    e = CATALOGUE[verb]
    assert distance(value(e, robot, merged=True), value(e, robot)) < 1e-9


SEEN = {
    "the inertia of a body": H @ M @ H.T,
    "a step": H @ E @ M @ E.T @ H.T,
    "a bias force": H @ b,
    "a bias force without those above": H @ phi @ M @ a,
    "two ways down": H @ phi @ phi @ b,
    "bodies on the world": E0 @ M @ E0.T,
    "bodies": phi @ b,
    "inside an inverse": (H @ M @ H.T).inv() @ tau,
    "inside a determinant": logdet(H @ M @ H.T),
    "determinant of bodies": logdet(M),
    "an inverse of bodies": H @ (phi + psi).inv() @ b,
}


@pytest.mark.parametrize("name", SEEN)
def test_what_sees_bodies_is_not_merged(name):
    assert not hides_fixed_bodies(SEEN[name])


@pytest.mark.parametrize("name", ["the inertia of a body", "a step", "a bias force", "two ways down"])
def test_merging_would_show_there(name):
    e = SEEN[name]
    assert distance(value(e, ROBOTS[0], merged=True), value(e, ROBOTS[0])) > 1e-3


#: What may meet in the Body space as it was before cards said so: a literal to judge them by.
KNOWN = {
    *product((H, Hp, Ha, E0), (phi,)),
    *product((phi,), (M, B, b, b_m, A)),
    *product((M, B.T), (phi.T,)),
    *product((phi.T,), (H.T, Hp.T, Ha.T, E0.T, a, a_m)),
    *((H, psi), (phi, K), (psi, K), (psi.T, H.T), (K.T, phi.T), (K.T, psi.T)),
}


def test_cards_say_what_may_meet():
    letters = [*STANDARD.values(), *(x.T for x in STANDARD.values())]
    pairs = {(x, y) for x, y in product(letters, letters) if x.domain is Body is y.range}
    found = {pair for pair in pairs if stand_beside(*pair)}
    assert found >= KNOWN
    assert found == {(y.T, x.T) for x, y in found}
    carriers = {x for pair in found for x in pair if x.range is x.domain is Body} - {M}
    assert carriers == {y for x in of(Role.GATHERS) for y in (x, x.T)}
    up = {*product(of(Role.SEES), (phi,)), *product((phi,), of(Role.HAS) | of(Role.GAIN))}
    up |= {*product((phi.T,), of(Role.MOVES)), *((phi, x.T) for x in of(Role.HAS) if x.range is x.domain)}
    up = {(x, y) for x, y in up if x.domain is Body is y.range}
    assert {p for p in found if {phi, phi.T} & {*p}} == up | {(y.T, x.T) for x, y in up}


def of(role):
    """Return the letters of a role, as their cards say."""
    return {x for x in STANDARD.values() if x.card.role is role}


BESIDE_PSI = {
    "filtered": H @ psi @ b,
    "filtered twice": E0 @ psi @ M @ psi.T @ E0.T,
    "gains": E0 @ psi @ K @ tau,
    "accelerations": H @ psi @ M @ psi.T @ a,
    "power": b.T @ phi.T @ H.T @ qd + a.T @ phi @ b,
    "a published algorithm": FORWARD_DYNAMICS["FD3"],
}


@pytest.mark.parametrize("name", BESIDE_PSI)
def test_what_stands_beside_psi_hides_bodies_too(name):
    e = BESIDE_PSI[name]
    assert hides_fixed_bodies(e)
    for robot in ROBOTS[:2]:
        assert distance(value(e, robot, merged=True), value(e, robot)) < 1e-9


def test_letters_that_nobody_judged_keep_the_bodies():
    for e in (H @ P @ H.T, FORWARD_DYNAMICS["FD4"]):
        assert not hides_fixed_bodies(e)
    assert hides_fixed_bodies(D @ qd, K.T @ psi.T @ H.T @ tau, FORWARD_DYNAMICS["FD1"])


def test_bodies_are_counted_anew():
    robot = held(1)
    binding = bind(robot, Needs(merged=True))
    fixed = [i for i, j in enumerate(robot.joints) if j.type.kind == "fixed" and j.parent is not None]
    assert len(binding.tree) == len(robot.bodies) - len(fixed) == len(binding.places)
    total = sum(float(p.inertia.m) for p in binding.places)
    assert total == pytest.approx(robot.mass)
    assert [binding.name(i) for i in range(len(binding.tree))] == [
        f"joint {j.name!r} of robot {robot.name!r}" for i, j in enumerate(robot.joints) if i not in fixed
    ]
    seen = [k for i in range(len(binding.tree)) for k in binding.coordinates(i)]
    assert seen == list(range(robot.nq))


def test_bodies_in_their_own_frames_are_not_merged():
    with pytest.raises(ArgumentError, match="merged: expected False with own_frames=True, got True"):
        bind(panda(), Needs(merged=True, own_frames=True))
