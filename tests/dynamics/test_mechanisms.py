"""Mechanisms against their closed forms; `sweep_mechanisms` has more angles."""

from __future__ import annotations

import pytest

from tests.dynamics.sweep_mechanisms import CHECKS, bound


@pytest.mark.parametrize("mechanism", CHECKS)
def test_a_mechanism_moves_as_its_closed_form_says(mechanism):
    for what, error in CHECKS[mechanism](2):
        assert error <= bound(what), what
