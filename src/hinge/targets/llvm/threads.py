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
from queue import SimpleQueue
from threading import Lock, Thread, get_ident

import numpy as np

from hinge.errors import ArgumentError

VARIABLE = "HINGE_THREADS"
MOST = 1024
#: Nonzero if the number of threads is one; read by native code.
ALONE = np.zeros(1, np.int64)


class _Job:
    """A part of a batch for another thread.

    Whatever the thread that asks does with it may be interrupted by a signal anywhere, and done once more:
    locks of Python's own futures, taken half way, would stop their threads for good.
    """

    def __init__(self, work: Callable[[int, int], None], part: tuple[int, int]) -> None:
        self.work, self.part = work, part
        self.order: list[bool] = []  # True of who works on it, False of who gives it up: the first counts
        self.error: BaseException | None = None
        self.is_done, self.done = False, Lock()
        self.done.acquire()

    def run(self) -> None:
        """Work on it, unless it has been given up."""
        self.order.append(True)
        if not self.order[0]:
            return
        try:
            self.work(*self.part)
        except BaseException as error:
            self.error = error
        self.is_done = True
        self.done.release()

    def settle(self, *, wanted: bool) -> None:
        """Wait until it is done; what is not wanted any more, and not begun, nobody will begin."""
        if not wanted:
            self.order.append(False)
        if self.order[:1] == [False]:
            return
        while not self.is_done:
            self.done.acquire(timeout=1.0)


class _Pool:
    """Threads that work on jobs."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        for k in range(size):
            Thread(target=self._work, name=f"hinge_{k}", daemon=True).start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            job.run()
            del job  # and its arrays

    def end(self) -> None:
        """Let the threads end when they have nothing left to do."""
        for _ in range(self.size):
            self.jobs.put(None)


class _Workers:
    """The pool of worker threads of this process, created on first use and again after a fork."""

    def __init__(self) -> None:
        self.asked: int | None = None
        self.pool: _Pool | None = None
        self.lock = Lock()

    def of_size(self, size: int) -> _Pool:
        """Return a pool with at least so many threads."""
        with self.lock:
            if self.pool is None or self.pool.size < size:
                old, self.pool = self.pool, _Pool(size)
                if old is not None:
                    old.end()
            return self.pool

    def forget(self) -> None:
        """Drop the pool in the child of a fork, which has none of its parent's threads."""
        self.pool, self.lock = None, Lock()
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
    try:
        pool = _workers.of_size(len(parts) - 1)
    except RuntimeError:  # the interpreter is about to end and starts no more threads
        for part in parts:
            work(*part)
        return
    jobs = [_Job(work, part) for part in parts[1:]]
    wanted = False  # after an interrupt parts that nobody has begun are given up
    try:
        for job in jobs:
            pool.jobs.put(job)
        work(*parts[0])
        wanted = True
    except Exception:
        wanted = True
        raise
    finally:
        _settle(jobs, wanted=wanted)
    for job in jobs:
        if job.error is not None:
            raise job.error


def _settle(jobs: list[_Job], *, wanted: bool) -> None:
    """Wait for all jobs, even if interrupted: they write into arrays that must stay alive."""
    interrupt: BaseException | None = None
    while True:
        try:
            for job in jobs:
                job.settle(wanted=wanted and interrupt is None)
        except BaseException as error:
            interrupt = error
        else:
            break
    if interrupt is not None:
        raise interrupt


_note_number()
