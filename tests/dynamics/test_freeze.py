from __future__ import annotations

from importlib import resources

from hinge.dynamics import CATALOGUE
from hinge.dynamics.freeze import table
from hinge.pipeline import derive


def test_the_table_that_ships_is_what_the_search_finds():
    shipped = resources.files("hinge.pipeline") / "tables" / "derivations.json"
    assert shipped.read_text(encoding="utf-8") == table()


def test_a_derivation_from_the_table_reads_as_one_that_was_searched(monkeypatch):
    shipped = {name: str(derive({"y": e})) for name, e in CATALOGUE.items()}
    monkeypatch.setattr("hinge.pipeline.derivations.frozen_search", lambda *_: None)
    monkeypatch.setattr("hinge.pipeline.derivations._derive", _without_memory())
    assert {name: str(derive({"y": e})) for name, e in CATALOGUE.items()} == shipped


def _without_memory():
    from hinge.pipeline import derivations

    return derivations._derive.__wrapped__
