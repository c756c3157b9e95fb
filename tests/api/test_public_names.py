from __future__ import annotations

import importlib
import inspect
import itertools
import types

import pytest

import hinge
from hinge import contents
from tests.api.law import MAY_IMPORT

ROOMS = [r for r in MAY_IMPORT if r not in ("errors", "forks", "contents", "__init__", "__main__")]


def _public(room: str) -> dict[str, object]:
    module = importlib.import_module(f"hinge.{room}")
    return {name: getattr(module, name) for name in module.__all__}


@pytest.mark.parametrize("room", [*ROOMS, ""])
def test_all_is_complete_and_importable(room):
    module = importlib.import_module(f"hinge.{room}" if room else "hinge")
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert hasattr(module, name)
    if hasattr(module, "__path__") and room:
        visible = {
            n
            for n, v in vars(module).items()
            if not n.startswith("_") and (not isinstance(v, types.ModuleType) or n in module.__all__)
        }
        assert visible == set(module.__all__)


#: Names that two rooms use on purpose: an oracle is called what it judges, and the papers' spaces are
#: called what their vectors belong to.
#: `derivative` is that of an expression, and that of a verb by its name.
HOMONYMS = {
    frozenset(("sim", "jax")): {"step"},
    frozenset(("casadi", "jax")): {"function"},
    frozenset({"reference", "dynamics"}): None,
    frozenset({"algebra", "model"}): {"Body", "Joint"},
    frozenset({"algebra", "dynamics"}): {"derivative"},
    frozenset({"casadi", "jax", "torch"}): {"function"},
    frozenset({"jax", "torch"}): {"Function"},
    frozenset({"sim", "jax", "torch"}): {"step"},
    # A run goes on, and so does a campaign; the distribution has the name that it has everywhere.
    frozenset({"sim", "campaign"}): {"resume"},
    frozenset({"kernels", "campaign"}): {"Uniform"},
}


#: Contact types of a grasp are joint types by another name.
ALIASES = {"Rigid": "Fixed", "LineContact": "Revolute", "PointContact": "Spherical"}


def _on_purpose(name: str, rooms: list[str]) -> bool:
    allowed = HOMONYMS.get(frozenset(rooms), set())
    return allowed is None or name in allowed


def test_each_name_is_public_in_exactly_one_room():
    homes: dict[str, list[str]] = {}
    for room in ROOMS:
        for name in _public(room):
            homes.setdefault(name, []).append(room)
    twice = {n: rooms for n, rooms in homes.items() if len(rooms) > 1 and not _on_purpose(n, rooms)}
    assert not twice


def test_each_object_lives_in_the_room_that_publishes_it():
    for room in ROOMS:
        for name, value in _public(room).items():
            if inspect.isclass(value) or inspect.isfunction(value):
                assert f"{value.__module__}.".startswith(f"hinge.{room}."), f"{room}.{name}"
                assert value.__name__ == ALIASES.get(name, name)


def test_the_front_door_shows_rooms_names_unchanged():
    for name in hinge.__all__:
        value = getattr(hinge, name)
        room = value.__module__.split(".")[1]
        assert getattr(importlib.import_module(f"hinge.{room}"), name) is value


def test_every_public_name_has_a_docstring():
    for room in ROOMS:
        for name, value in _public(room).items():
            if inspect.isclass(value) or inspect.isfunction(value):
                assert inspect.getdoc(value), f"hinge.{room}.{name}"


def test_the_front_door_shows_what_its_list_says_and_nothing_else():
    shown = [n for n in dir(hinge) if not n.startswith("_")]
    assert shown == sorted([*hinge.__all__, *contents.ROOMS])
    assert not {"Any", "TYPE_CHECKING", "import_module", "contents", "annotations"} & set(shown)
    assert {r for r in ROOMS if r != "cli"} | {"errors"} == set(contents.ROOMS)
    with pytest.raises(AttributeError, match="module 'hinge' has no attribute 'Any'"):
        _ = hinge.Any


def test_each_public_name_is_listed_once_under_a_topic_and_has_a_line():
    lines = list(contents.reference())
    assert sorted(line.entry.name for line in lines) == sorted(hinge.__all__)
    topics = [line.entry.topic for line in lines]
    assert len(list(itertools.groupby(topics))) == len(set(topics)) == 19
    assert max(topics.count(t) for t in topics) <= 20
    assert all(line.summary.endswith((".", ":", "]")) or len(line.summary) > 20 for line in lines)
    assert all(line.value is getattr(hinge, line.entry.name) for line in lines)


def test_names_that_are_loaded_late_are_those_of_their_rooms():
    room = importlib.import_module("hinge.dynamics")
    assert hinge.forward_dynamics is room.forward_dynamics and hinge.robots.panda().nv == 7
