"""CasADi itself, imported when it is first needed."""

from __future__ import annotations

from typing import Any

from hinge.errors import MissingExtraError


def casadi() -> Any:
    """Return the package CasADi."""
    try:
        import casadi as found
    except ImportError:
        raise MissingExtraError(
            'functions of CasADi need CasADi, which is not installed; pip install "hinge[casadi]"'
        ) from None
    return found
