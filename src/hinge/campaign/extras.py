"""Optional packages, imported when they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hinge.errors import MissingExtraError


def extra(module: str) -> Any:
    """Return a module of an optional package."""
    try:
        return import_module(module)
    except ImportError:
        root = module.partition(".")[0]
        raise MissingExtraError(
            f'campaigns need {root} here, which is not installed; pip install "hinge[campaign]"'
        ) from None
