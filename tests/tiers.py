"""What `make test` runs, and what is left to `make test-all` because it is more of the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def daily(cases: Iterable[Any], some: Callable[[int, Any], bool]) -> list[Any]:
    """Return cases for `parametrize`; those for which `some(number, case)` does not hold are slow."""
    found: list[Any] = []
    for k, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        found.append(case if some(k, case) else pytest.param(*values, marks=pytest.mark.slow))
    return found
