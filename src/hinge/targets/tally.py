"""A count of the code that came to be, so that one can see that nothing was compiled."""

from __future__ import annotations


class _Tally:
    """How much there is so far."""

    def __init__(self) -> None:
        self.count = 0


_CODE = _Tally()


def note_code() -> None:
    """Count one more program that was put together, or piece of machine code that was made or read."""
    _CODE.count += 1


def code_made() -> int:
    """Return how many programs were put together and pieces of machine code made or read in this process."""
    return _CODE.count
