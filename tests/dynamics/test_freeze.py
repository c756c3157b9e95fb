from __future__ import annotations

from importlib import resources

import pytest

from hinge.dynamics import CATALOGUE
from hinge.dynamics.freeze import table
from hinge.pipeline import derivations, derive


@pytest.fixture(scope="module", autouse=True)
def search_once():
    """Search for the same expressions once, under whatever names."""
    searched, search = {}, derivations._searched

    def once(start):
        key = tuple(start.given.values())
        if key not in searched:
            searched[key] = search(start)
        return searched[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(derivations, "_searched", once)
        yield


def test_the_table_that_ships_is_what_the_search_finds():
    shipped = resources.files("hinge.pipeline") / "tables" / "derivations.json"
    assert shipped.read_text(encoding="utf-8") == table()


def test_a_derivation_from_the_table_reads_as_one_that_was_searched(monkeypatch):
    shipped = {name: str(derive({"y": e})) for name, e in CATALOGUE.items()}
    monkeypatch.setattr("hinge.pipeline.derivations.frozen_search", lambda *_: None)
    monkeypatch.setattr("hinge.pipeline.derivations._derive", _without_memory())
    assert {name: str(derive({"y": e})) for name, e in CATALOGUE.items()} == shipped


def _without_memory():
    return derivations._derive.__wrapped__
