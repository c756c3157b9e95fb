from __future__ import annotations

import json
from importlib import resources

import pytest

from hinge.dynamics import CATALOGUE
from hinge.dynamics.contact_forms import every_contact_form
from hinge.dynamics.expressions import every_expression
from hinge.dynamics.freeze import table
from hinge.pipeline import derivations, derive, frozen_table
from hinge.pipeline.shipped import key
from tests.tiers import daily


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


SHIPPED = (resources.files("hinge.pipeline") / "tables" / "derivations.json").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_table_that_ships_is_what_the_search_finds():
    assert table() == SHIPPED


def test_the_table_has_a_row_for_every_verb_and_product_of_options():
    every = (*every_expression(), *every_contact_form())
    keys = {key(tuple(parts.expressions.items())) for parts in every}
    assert json.loads(SHIPPED).keys() == keys


def test_rows_of_the_table_are_what_the_search_finds():
    some = json.loads(frozen_table(parts.expressions for parts in list(every_expression())[::18]))
    rows = json.loads(SHIPPED)
    assert len(some) > 2 and all(rows[name] == row for name, row in some.items())


@pytest.mark.parametrize("first", daily(range(6), lambda k, _: k == 1))
def test_a_derivation_from_the_table_reads_as_one_that_was_searched(first, monkeypatch):
    some = {name: CATALOGUE[name] for name in list(CATALOGUE)[first::6]}
    shipped = {name: str(derive({"y": e})) for name, e in some.items()}
    monkeypatch.setattr("hinge.pipeline.derivations.frozen_search", lambda *_: None)
    monkeypatch.setattr("hinge.pipeline.derivations._derive", _without_memory())
    assert {name: str(derive({"y": e})) for name, e in some.items()} == shipped


def _without_memory():
    return derivations._derive.__wrapped__
