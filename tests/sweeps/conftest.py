from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def checked(monkeypatch):
    """Verify programs, kernels and code between passes in all tests of this room."""
    monkeypatch.setenv("HINGE_CHECK", "1")
