"""SymPy itself, imported when it is first needed."""

from __future__ import annotations

from typing import Any

from hinge.errors import MissingExtraError


def sympy() -> Any:
    """Return the package SymPy."""
    try:
        import sympy as found
    except ImportError:
        raise MissingExtraError(
            'formulas need SymPy, which is not installed; pip install "hinge[symbolic]"'
        ) from None
    return found
