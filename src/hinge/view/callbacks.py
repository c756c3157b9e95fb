"""What the panel of the viewer calls when something in it is touched."""

from __future__ import annotations

from collections.abc import Callable


def calling(act: Callable[[], object]) -> Callable[[object], None]:
    """Return a callback that does something, whatever the event says."""

    def answer(_: object) -> None:
        act()

    return answer
