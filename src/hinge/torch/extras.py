"""PyTorch itself, imported when it is first needed."""

from __future__ import annotations

from typing import Any

from hinge.errors import MissingExtraError


def pytorch() -> Any:
    """Return the package torch."""
    try:
        import torch as found
    except ImportError:
        raise MissingExtraError(
            'functions of PyTorch need torch, which is not installed; pip install "hinge[torch]"; see '
            "pytorch.org for builds for the CPU alone, which are smaller"
        ) from None
    return found
