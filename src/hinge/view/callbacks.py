"""Callbacks of the viewer's panel."""

from __future__ import annotations

from collections.abc import Callable


def calling(act: Callable[[], object]) -> Callable[[object], None]:
    """Return a callback that ignores the event."""

    def answer(_: object) -> None:
        act()

    return answer
