"""Forks: locks that a thread takes before it forks, so that the child has no lock that nobody gives back.

Names of Hinge are loaded when they are first asked for. A child that is forked while another thread loads one
would wait for that thread, which it does not have, in its own first use of Hinge. So a fork waits until
loading has ended, then takes the other locks, in the order in which they were added.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from threading import RLock
from typing import Any

#: Held while a part of the package is loaded late. Loading may compile, so it is taken before all others.
LOADING = RLock()

_locks: list[AbstractContextManager[Any]] = [LOADING]
#: What the fork that is under way has taken: another lock may be added while it waits.
_taken: list[AbstractContextManager[Any]] = []


def hold_in_forks(lock: AbstractContextManager[Any]) -> None:
    """Let forks wait for a lock that can be taken again by the thread that has it."""
    _locks.append(lock)


def _before() -> None:
    for lock in _locks:
        lock.__enter__()
        _taken.append(lock)


def _after() -> None:
    """Give the locks back, in the parent and in the child, where this thread is the one that has them."""
    while _taken:
        _taken.pop().__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
