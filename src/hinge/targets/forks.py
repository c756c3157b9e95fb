"""Forks: the child of a process whose other threads were at work must not wait for them.

Up to Python 3.11 every `cached_property` has a lock that is held while its value is made, such as the code of
a program. In the child nobody would give it back.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cached_property
from threading import RLock
from typing import Any

_PACKAGE = __name__.partition(".")[0]


def renew_locks() -> None:
    """Renew the locks of all cached properties of this package."""
    for x in _cached_properties():
        if hasattr(x, "lock"):
            x.lock = RLock()


def _cached_properties() -> Iterator[Any]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE:
            kinds = [x for x in list(vars(module).values()) if isinstance(x, type)]
            yield from (x for kind in kinds for x in vars(kind).values() if isinstance(x, cached_property))


def survive_forks() -> None:
    """Let children of this process renew the locks, where there are any."""
    if hasattr(os, "register_at_fork") and hasattr(cached_property(len), "lock"):
        os.register_at_fork(after_in_child=renew_locks)
