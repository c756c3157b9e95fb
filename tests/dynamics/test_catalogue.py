"""The table of the catalogue has a row for every verb, and says when something is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from hinge import robots
from hinge.contents import ENTRIES
from hinge.dynamics.expressions import VERBS
from tests.dynamics import sweep_catalogue
from tests.dynamics.catalogue import ELSEWHERE, ITEMS, ROWS, WIDTH, Row, shortened
from tests.dynamics.judges import balanced, relative
from tests.dynamics.subjects import Subject
from tests.dynamics.sweep_catalogue import BEGIN, END, PAGE, Found, judged, table, width, write

PENDULUM = Subject("double_pendulum", robots.double_pendulum)


def test_every_program_has_a_row():
    missing = VERBS.keys() - {row.program for row in ROWS}
    assert not missing, f"give them rows in tests/dynamics/catalogue.py: {sorted(missing)}"


def test_every_public_verb_has_a_row():
    found = {e.name for e in ENTRIES if e.room == "hinge.dynamics" and e.topic.startswith("Dynamics")}
    verbs = {name for name in found if name.islower()} - ELSEWHERE - {"derivative"}
    missing = {v for v in verbs if not any(row.verb.startswith(v) for row in ROWS)}
    assert not missing, f"give them rows in tests/dynamics/catalogue.py: {sorted(missing)}"


def test_rows_are_in_order_and_their_own():
    assert [row.item for row in ROWS] == sorted(row.item for row in ROWS)
    assert {row.item for row in ROWS} == ITEMS.keys()
    assert len({row.verb for row in ROWS}) == len(ROWS)
    assert all(row.judges for row in ROWS)


def test_the_page_has_every_row():
    text = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    missing = [row.verb for row in ROWS if f"| {row.verb} " not in text]
    assert not missing, f"run python -m tests.dynamics.sweep_catalogue --write for {missing}"
    assert ", 0 above 1e-09, " in text and "not judged" not in text


@pytest.mark.parametrize("verb", ["forward_dynamics", "hybrid_dynamics", "mass_matrix_inverse"])
def test_a_row_is_judged_and_shown(verb):
    rows = [row for row in ROWS if row.verb == verb]
    found = judged(rows, [PENDULUM])
    assert [f.above for f in found] == [0] and sum(found[0].count.values()) == 1
    line = table(rows, found).splitlines()[-1]
    assert f"| {verb} " in line and "sweeps" in line and line.endswith("| double_pendulum |")


def test_what_is_wrong_is_counted():
    found = Found()
    for error in (1e-12, 1e-3, np.nan):
        found.add("book", error, "panda")
    assert found.above == 2 and found.errors == "inf book (3)" and found.where == "panda"
    bad = Row(0, "wrong", "", {"book": lambda x: 1.0})
    assert judged([bad], [PENDULUM])[0].above == 1


def test_differences_are_relative():
    assert relative(np.array([100.0, 1.0]), np.array([101.0, 1.0])) == pytest.approx(1 / 101)
    assert relative(np.zeros(0), np.zeros(0)) == 0
    assert balanced(np.eye(2), np.ones(2), np.full(2, -10.0), np.full(2, -9.0)) == 0
    assert balanced(np.eye(2), np.ones(2), np.full(2, -10.0), np.full(2, -8.0)) == 0.1


def test_text_is_cut_between_words_and_measured_without_dots():
    assert shortened("H φ M") == "H φ M"
    assert shortened("φ " * 50).endswith("φ …") and len(shortened("φ " * 50)) <= WIDTH
    assert width("q̈") == 1


def test_the_page_is_written_between_its_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    write("new", page)
    assert page.read_text(encoding="utf-8") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"


def test_a_quick_table_is_not_written(capsys):
    with pytest.raises(SystemExit):
        sweep_catalogue.main(["--quick", "--write"])
    assert "--write: came with --quick" in capsys.readouterr().err
