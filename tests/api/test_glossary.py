from __future__ import annotations

from pathlib import Path

import pytest

from hinge.algebra import STANDARD

GLOSSARY = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", STANDARD)
def test_every_letter_of_the_algebra_is_in_the_glossary(name):
    assert f"| `{name}` | " in GLOSSARY
    assert STANDARD[name].meaning in GLOSSARY
