"""Double precision in the tests of this room alone."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def double_precision():
    jax.config.update(
        "jax_enable_x64", True
    )  # a context would not reach callbacks, which have threads of their own
    yield
    jax.config.update("jax_enable_x64", False)
