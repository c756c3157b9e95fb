from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.law import MAY_IMPORT
from tests.rooms import above, folders_of

TESTS = Path(__file__).parents[1]


def test_rooms_above_a_room_are_those_that_import_it_through_others_too():
    assert above("cli") == {"cli", "__main__"}
    assert {"rules", "pipeline", "dynamics", "sim", "cli"} <= above("rules")
    assert above("rules").isdisjoint({"algebra", "kernels", "model", "reference"})
    assert above("errors") == set(MAY_IMPORT)


def test_every_test_belongs_to_a_room():
    found = {p.relative_to(TESTS).parts[0] for p in TESTS.rglob("test_*.py")}
    assert found <= folders_of(set(MAY_IMPORT))
    assert folders_of(set(MAY_IMPORT)) - set(MAY_IMPORT) <= found


def test_a_room_that_is_not_there_is_refused():
    with pytest.raises(pytest.UsageError, match=r"--room: expected one of .*rules.*; got 'cellar'"):
        above("cellar")
