"""Threads: batches are split over cores; results do not depend on the split.

The number is what `set_threads` was given, else the environment variable HINGE_THREADS, else the cores that
this process may use, or 1 in a worker process of a pool, which shares the cores with its siblings.

Native code reads a word that says whether it is one. The word is set when this module is loaded, by
`set_threads`, and when a batch is split: a change of the environment counts from `set_threads(None)` on.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock, get_ident

import numpy as np

from hinge.errors import ArgumentError

VARIABLE = "HINGE_THREADS"
MOST = 1024
#: Nonzero if the number of threads is one; read by native code.
ALONE = np.zeros(1, np.int64)


class _Workers:
    """The pool of worker threads of this process, created on first use and again after a fork."""

    def __init__(self) -> None:
        self.asked: int | None = None
        self.pool: ThreadPoolExecutor | None = None
        self.size = 0
        self.lock = Lock()

    def of_size(self, size: int) -> ThreadPoolExecutor:
        """Return a pool with at least so many threads."""
        with self.lock:
            if self.pool is None or self.size < size:
                self.pool, self.size = ThreadPoolExecutor(size, thread_name_prefix="hinge"), size
            return self.pool

    def forget(self) -> None:
        """Drop the pool in the child of a fork, which has none of its parent's threads."""
        self.pool, self.size, self.lock = None, 0, Lock()
        _busy.clear()


_workers = _Workers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.forget)


def set_threads(n: int | None) -> None:
    """Set the number of threads for batches; None restores the default."""
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"n: expected a number of threads from 1 to {MOST}, or None, got {n!r}")
    _workers.asked = n
    _note_number()


def _note_number() -> None:
    """Set the word that native code reads; where the environment is no number, the Python way says so."""
    try:
        ALONE[0] = threads() == 1
    except ArgumentError:
        ALONE[0] = 0


def threads() -> int:
    """Return the number of threads for large batches."""
    if _workers.asked is not None:
        return _workers.asked
    text = os.environ.get(VARIABLE)
    if text:
        if not text.isdecimal() or len(text) > len(str(MOST)) or not 1 <= int(text) <= MOST:
            raise ArgumentError(f"{VARIABLE}: expected a number from 1 to {MOST}, got {text!r}")
        return int(text)
    return 1 if multiprocessing.parent_process() is not None else _cores()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def split(count: int, width: int, least: int) -> Iterator[tuple[int, int]]:
    """Yield parts of a batch for the threads: `least` states or more, all but the last a multiple of W."""
    available = threads()
    ALONE[0] = available == 1
    n = max(1, min(available, count // max(least, width)))
    size = -(-count // n)
    size = -(-size // width) * width
    starts = range(0, count, size)
    for start in starts:
        stop = min(start + size, count)
        if 0 < count - stop < width:  # too few for a block of their own
            yield start, count
            return
        yield start, stop


#: The threads that are in `run_parts`, in the middle of which a signal handler may call a verb.
_busy: set[int] = set()


def run_parts(work: Callable[[int, int], None], parts: list[tuple[int, int]]) -> None:
    """Run all parts, the first in this thread, and raise the exception of any of them.

    A call in the middle of another one of the same thread works alone: that one may hold locks of the pool.
    """
    me = get_ident()
    if len(parts) == 1 or me in _busy:
        for part in parts:
            work(*part)
        return
    try:
        _busy.add(me)
        _share(work, parts)
    finally:
        _busy.discard(me)


def _share(work: Callable[[int, int], None], parts: list[tuple[int, int]]) -> None:
    """Run all parts in threads of the pool, the first in this one."""
    pool = _workers.of_size(len(parts) - 1)
    others: list[Future[None]] = []
    try:
        for part in parts[1:]:
            try:
                others.append(pool.submit(work, *part))
            except RuntimeError:  # the interpreter is about to end and takes no more
                work(*part)
        work(*parts[0])
    finally:
        _wait_for(others)
    for other in others:
        other.result()


def _wait_for(others: list[Future[None]]) -> None:
    """Wait for all parts, even if interrupted: they write into arrays that must stay alive."""
    interrupt: BaseException | None = None
    while True:
        try:
            wait(others)
        except BaseException as error:
            interrupt = error
        else:
            break
    if interrupt is not None:
        raise interrupt


_note_number()
