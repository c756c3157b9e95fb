"""Counts compilations, so that a test can assert that there were none."""

from __future__ import annotations


class _Tally:
    def __init__(self) -> None:
        self.count = 0


_CODE = _Tally()


def note_code() -> None:
    """Count a program that was built, or a piece of machine code that was compiled or loaded."""
    _CODE.count += 1


def code_made() -> int:
    """Return the number of programs built and pieces of machine code compiled or loaded in this process."""
    return _CODE.count
