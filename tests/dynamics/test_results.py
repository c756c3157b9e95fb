"""Objects of results: lists and dataclasses that are made quickly are what plain ones are."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, fields, replace

import numpy as np
import pytest

import hinge
from hinge import dynamics, robots
from hinge.dynamics.results import OnDemand, filling
from hinge.model import Builder, joints
from hinge.spatial import Transform, rotation
from hinge.testing import random_state

TREE = robots.random_tree(3, 35)
ARM = robots.panda()


@dataclass(frozen=True, order=True)
class Pair:
    x: float
    y: float


X, Y = np.arange(4.0), np.arange(4.0) ** 2
PLAIN = list(map(Pair, X, Y))


class Counted:
    """A kind that counts how many are made."""

    def __init__(self) -> None:
        self.made: list[float] = []

    def __call__(self, x: float, y: float) -> Pair:
        self.made.append(x)
        return Pair(x, y)


def lazy() -> OnDemand[Pair]:
    return OnDemand(Pair, X, Y)


# Lists.


def test_items_are_made_when_asked_for_and_once():
    kind = Counted()
    found = OnDemand(kind, X, Y)
    assert len(found) == 4 and found and kind.made == []
    assert found[2] is found[-2] is found[np.int64(2)] and kind.made == [2.0]
    assert found[True] == PLAIN[1] and kind.made == [2.0, 1.0]
    second = found[2]
    assert list(found) == PLAIN and found[2] is second and found[0] is found[0]
    for at in (4, -5):
        with pytest.raises(IndexError):
            lazy()[at]
    with pytest.raises(TypeError):
        lazy()["0"]  # pyright: ignore


READING = {
    "iter": list,
    "tuple": tuple,
    "unpack": lambda x: [*x],
    "slice": lambda x: x[1:3],
    "backwards": lambda x: x[::-1],
    "reversed": lambda x: list(reversed(x)),
    "sorted": lambda x: sorted(x, reverse=True),
    "contains": lambda x: PLAIN[3] in x,
    "equal": lambda x: (x == PLAIN, x != PLAIN, x == PLAIN, x == [1]),
    "less": lambda x: (x < PLAIN, x <= PLAIN, x > PLAIN[:2], PLAIN[:2] >= x),
    "repr": lambda x: f"{x!r} {x}",
    "add": lambda x: x + PLAIN,
    "added": lambda x: PLAIN + x,
    "both": lambda x: x + x,
    "times": lambda x: (x * 2, 2 * x),
    "copy": lambda x: (x.copy(), copy.copy(x), copy.deepcopy(x)),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "index": lambda x: (x.index(PLAIN[2]), x.count(PLAIN[2])),
    "extend": lambda x: [0, *x],
    "array": lambda x: np.array(x, dtype=object).tolist(),
    "max": max,
}


@pytest.mark.parametrize("reading", READING)
def test_a_list_is_read_like_any_other(reading):
    read = READING[reading]
    assert read(lazy()) == read(PLAIN[:])
    touched = lazy()
    assert touched[1] == PLAIN[1] and read(touched) == read(PLAIN[:])
    if reading in ("slice", "add", "added", "pickle"):
        assert type(read(lazy())) is list


WRITING = {
    "item": lambda x: x.__setitem__(1, None),
    "slice": lambda x: x.__setitem__(slice(1, 3), [7]),
    "delete": lambda x: x.__delitem__(0),
    "append": lambda x: x.append(None),
    "insert": lambda x: x.insert(1, None),
    "extend": lambda x: x.extend(x),
    "pop": lambda x: x.pop(0),
    "remove": lambda x: x.remove(PLAIN[2]),
    "clear": lambda x: x.clear(),
    "reverse": lambda x: x.reverse(),
    "sort": lambda x: x.sort(reverse=True),
    "iadd": lambda x: x.__iadd__([1]) and None,
    "imul": lambda x: x.__imul__(2) and None,
}


@pytest.mark.parametrize("writing", WRITING)
def test_a_list_is_changed_like_any_other(writing):
    found, wanted = lazy(), PLAIN[:]
    assert WRITING[writing](found) == WRITING[writing](wanted)
    assert [found[k] for k in range(len(found))] == wanted == list(found)


def test_every_method_of_lists_is_thought_of():
    """A method that a later Python adds would read items that are not made."""
    fine = {"__len__", "__init__", "__new__", "__hash__", "__class_getitem__", "__sizeof__", "__doc__"}
    left = {n for n, x in vars(list).items() if n not in vars(OnDemand) and callable(x)}
    assert left <= {*fine, "__getattribute__"}


def test_poses_of_all_bodies_are_a_list_of_transforms():
    q = random_state(ARM, 1).q
    found = hinge.forward_kinematics(ARM, q)
    assert isinstance(found, list) and {type(x) for x in found} == {Transform}
    again = pickle.loads(pickle.dumps(hinge.forward_kinematics(ARM, q)))
    assert type(again) is list
    for x, y in zip(found, again, strict=True):
        assert np.array_equal(x.E, y.E) and np.array_equal(x.r, y.r)
    found[2].r[:] = 7.0
    others = [k for k in range(len(found)) if k != 2]
    assert all(np.array_equal(found[k].r, again[k].r) for k in others), "each has numbers of its own"
    later = hinge.forward_kinematics(ARM, q)
    assert np.array_equal(later[2].r, again[2].r), "and each call"


def test_a_list_of_poses_does_not_follow_the_configuration():
    q = random_state(ARM, 1).q.copy()
    found, wanted = hinge.forward_kinematics(ARM, q), hinge.forward_kinematics(ARM, q.copy())[-1].r.copy()
    q[:] = 0.0
    hinge.forward_kinematics(ARM, q)
    assert np.array_equal(found[-1].r, wanted)


# Dataclasses.


def test_a_filled_object_is_like_one_that_was_called_for():
    found = filling(Pair)({"x": 1.0, "y": 2.0})
    assert type(found) is Pair and found == Pair(1.0, 2.0) and hash(found) == hash(Pair(1.0, 2.0))
    assert replace(found, y=3.0) == Pair(1.0, 3.0) and pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(FrozenInstanceError):
        found.x = 3.0  # pyright: ignore


@pytest.mark.parametrize("verb", ["mass_factors", "filter_quantities", "acceleration_shares", "hinge_forces"])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_results_have_their_fields_and_arrays_of_their_own(verb, batch):
    s = random_state(TREE, 2, batch)
    given = {"mass_factors": (s.q,), "hinge_forces": (s.q, s.qd, s.qdd)}.get(verb, (s.q, s.qd, s.tau))
    found, again = (getattr(dynamics, verb)(TREE, *given) for _ in range(2))
    names = [f.name for f in fields(found)]
    assert vars(found).keys() == set(names) and type(found).__name__ in repr(found)
    arrays = [getattr(x, n) for x in (found, again) for n in names]
    for k, x in enumerate(arrays):
        assert x.flags.writeable and not any(np.shares_memory(x, y) for y in arrays[:k])
    back = pickle.loads(pickle.dumps(found))
    assert all(np.array_equal(getattr(back, n), getattr(found, n)) for n in names)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_parts_of_results_stay_while_others_are_made(dtype):
    states = [random_state(TREE, k) for k in range(5)]
    given = [[x.astype(dtype) for x in (s.q, s.qd, s.tau)] for s in states]
    found = [dynamics.filter_quantities(TREE, *x) for x in given]
    names = [f.name for f in fields(found[0])]
    wanted = [{n: getattr(x, n).copy() for n in names} for x in found]
    for n in names:
        rows = [getattr(dynamics.filter_quantities(TREE, *x), n)[..., 1:] for x in given]
        assert all(np.array_equal(x, w[n][..., 1:]) for x, w in zip(rows, wanted, strict=True))
    batch = dynamics.filter_quantities(TREE, *map(np.stack, zip(*given, strict=True)))
    for k, (x, w) in enumerate(zip(found, wanted, strict=True)):
        assert all(np.array_equal(getattr(x, n), w[n]) for n in names)
        tolerance = {"rtol": 1e-3, "atol": 1e-3} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-9}
        assert np.allclose(batch.qdd[k], w["qdd"], **tolerance)


# The loads of hinges, which are split in the code.


def test_loads_of_joints_that_turn_as_they_move():
    b = Builder("turning")
    rod = robots.solid_rod(1.0, 0.5, 0.02, (0.25, 0.1, 0))
    b.body("first", joint=joints.Revolute((0, 0, 1)), inertia=rod)
    outer = Transform.place(rotation.about((0.6, 0.8, 0.0), 0.4), (0.1, 0.2, 0.3))
    turning = joints.Universal()
    b.body("second", joint=turning, inertia=rod, parent="first", position=(0.5, 0, 0), outer=outer)
    robot = b.build()
    for batch in ((), (3,), (2, 2)):
        s = random_state(robot, 3, batch)
        found = dynamics.hinge_forces(robot, s.q, s.qd, s.qdd)
        assert np.allclose(found.effort + found.reaction, found.total)
        for at in np.ndindex(*batch):
            for k, j in enumerate(robot.joints):
                motion = j.type.subspace(s.q[at][j.q_slice])
                assert np.allclose(motion.T @ found.reaction[at][k], 0.0, atol=1e-12)
                effort = found.effort[at][k]
                along = motion @ np.linalg.lstsq(motion, effort, rcond=None)[0]
                assert np.allclose(along, effort, atol=1e-12), "it is in the span of the motions"


def test_options_and_precisions_of_loads():
    s = random_state(TREE, 4, 3)
    plain = dynamics.hinge_forces(TREE, s.q, s.qd, s.qdd)
    heavy = dynamics.hinge_forces(TREE, s.q, s.qd, s.qdd, gravity=TREE.gravity)
    pushed = dynamics.hinge_forces(TREE, s.q, s.qd, s.qdd, external={TREE.bodies[-1].name: np.zeros(6)})
    under = dynamics.hinge_forces(TREE, s.q, s.qd, tau=dynamics.inverse_dynamics(TREE, s.q, s.qd, s.qdd))
    given = [x.astype(np.float32) for x in (s.q, s.qd, s.qdd)]
    single = dynamics.hinge_forces(TREE, *given)
    listed = dynamics.hinge_forces(TREE, s.q[0].tolist(), s.qd[0].tolist(), s.qdd[0].tolist())
    for f in fields(plain):
        wanted = getattr(plain, f.name)
        for other in (heavy, pushed, under):
            assert np.allclose(getattr(other, f.name), wanted, rtol=1e-8, atol=1e-8)
        assert getattr(single, f.name).dtype == np.float32
        assert np.allclose(getattr(single, f.name), wanted, rtol=1e-2, atol=1e-2 * np.abs(wanted).max())
        assert np.allclose(getattr(listed, f.name), wanted[0])


def test_code_of_loads_tells_effort_subspaces_apart():
    s = np.array([0.3]), np.array([0.2]), np.array([1.0])
    efforts: list[np.ndarray] = []
    for slant in (0.0, 2.0, 3.0):
        b = Builder("arm")
        push = np.array([[0.0], [0], [1], [0], [slant], [0]])
        rod = robots.solid_rod(1.0, 0.5, 0.02, (0.25, 0, 0))
        b.body("arm", joint=joints.Revolute((0, 0, 1)), inertia=rod, effort_subspace=push)
        found = dynamics.hinge_forces(b.build(), *s)
        assert np.allclose(found.effort[0, 4], slant * found.effort[0, 2])
        efforts.append(found.effort)
    assert not np.allclose(efforts[1], efforts[2])


# Configurations that change.


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "momentum"])
def test_live_verbs_take_what_calls_by_name_take(name):
    live = hinge.Live(TREE).grasp("load", TREE.bodies[-1].name, TREE.bodies[0].inertia)
    s = random_state(TREE, 5, 2)
    count = {"mass_matrix": 1, "momentum": 2}.get(name, 3)
    given = (s.q, s.qd, s.qdd)[:count]
    call = getattr(live, name)
    wanted = call(*given)
    assert wanted.dtype == np.float64 and not np.allclose(wanted, getattr(hinge.Live(TREE), name)(*given))
    single = call(*[x.astype(np.float32) for x in given])
    assert single.dtype == np.float32
    assert np.allclose(single, wanted, rtol=1e-2, atol=1e-2 * np.abs(wanted).max())
    mixed = call(given[0].astype(np.float32), *given[1:])
    assert mixed.dtype == (np.float32 if count == 1 else np.float64)
    assert np.allclose(call(*[x.tolist() for x in given]), wanted)
    assert np.allclose(call(*[x[1] for x in given]), wanted[1])
    dynamics.forget(programs=False)
    assert np.array_equal(call(*given), wanted)
