from __future__ import annotations

from pathlib import Path

from tests.conftest import LARGE, scope

ROOT = Path(__file__).parents[2]


def test_what_shares_compiled_code_has_one_scope():
    verbs = "tests/dynamics/test_verbs.py"
    assert scope(f"{verbs}::test_a[panda-jacobian]") == scope(f"{verbs}::test_b[panda]") == f"{verbs}::panda"
    assert scope(f"{verbs}::test_a[chain-jacobian]") == f"{verbs}::chain"
    assert scope(f"{verbs}::test_c") == f"{verbs}::test_c"
    assert scope("tests/tree/test_tree.py::test_a[1-2]") == "tests/tree/test_tree.py"


def test_the_large_files_are_there():
    assert [name for name in LARGE if not (ROOT / name).is_file()] == []
