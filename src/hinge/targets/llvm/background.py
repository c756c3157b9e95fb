"""One thread that makes better machine code beside the calls.

A job waits until its program has been in use for as long as the job will take. So a process that ends soon
never starts it, and one that ends in the middle of it waits no longer than it ran since the second call: LLVM
cannot be interrupted, and the process must not end under it.
"""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Callable
from threading import Condition, Event, Thread, current_thread
from time import monotonic


class Job:
    """Something to be made, once, in about so many seconds.

    `make` makes it and puts it in its place. `withdraw` undoes the effects of the second use, in the child of
    a fork, which has no thread at work: its own second use counts then.
    """

    def __init__(
        self, label: str, seconds: float, make: Callable[[], None], withdraw: Callable[[], None]
    ) -> None:
        self.label, self.seconds = label, seconds
        self.make, self.withdraw = make, withdraw
        self.uses = 0
        self.due = 0.0
        self.ended = Event()
        self.error: Exception | None = None
        self.is_awaited = False

    def run(self) -> None:
        """Make it; an exception is kept, and a warning if nobody waits for it."""
        try:
            self.make()
        except Exception as error:
            self.error = error
        finally:
            self.ended.set()
        if self.error is not None and not self.is_awaited:
            warnings.warn(
                f"{self.label}: machine code of the final level could not be made: {self.error}; calls go on "
                "with quick code. Set HINGE_WAIT=1 to get the exception in the call",
                RuntimeWarning,
                stacklevel=1,
            )


class Background:
    """The jobs that are not done, and the thread that does them, which lives while there are any."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._changed = Condition()
        self._thread: Thread | None = None
        self._is_leaving = False

    def submit(self, job: Job) -> None:
        """Let the thread do a job when it is due; one that is waiting or done stays as it is."""
        with self._changed:
            if not (self._is_leaving or job.ended.is_set() or job in self._jobs):
                job.due = monotonic() + job.seconds
                self._jobs.append(job)
                self._begin()

    def wait_for(self, job: Job) -> None:
        """Wait until a job is done, now rather than when it is due; raise its exception."""
        job.is_awaited = True
        with self._changed:
            job.due = 0.0
            if not job.ended.is_set() and job not in self._jobs:
                self._jobs.append(job)
            has_thread = not self._is_leaving and self._begin()
        if has_thread:
            job.ended.wait()
        elif not job.ended.is_set():
            job.run()
        if job.error is not None:
            raise job.error

    def finish(self, seconds: float | None = None) -> bool:
        """Wait until all jobs are done, now rather than when they are due; return whether they are."""
        with self._changed:
            for job in self._jobs:
                job.due = 0.0
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._jobs, seconds)

    def _begin(self) -> bool:
        """Make sure that there is a thread, and return whether there is."""
        if self._thread is None:
            thread = Thread(target=self._work, name="hinge-compiler", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is about to end, or there can be no more threads
                return False
            self._thread = thread
        self._changed.notify_all()
        return True

    def _work(self) -> None:
        try:
            while (job := self._next()) is not None:
                try:
                    job.run()
                finally:
                    with self._changed:
                        self._jobs.remove(job)
                        self._changed.notify_all()
        finally:
            with self._changed:
                if self._thread is current_thread():  # a warning that is an error ends it early
                    self._thread = None
                    if self._jobs and not self._is_leaving:
                        self._begin()

    def _next(self) -> Job | None:
        """Wait for the next job that is due; None if there are none left."""
        with self._changed:
            while self._jobs and not self._is_leaving:
                job = min(self._jobs, key=lambda x: x.due)
                left = job.due - monotonic()
                if left <= 0:
                    return job
                self._changed.wait(left)
            self._thread = None
            return None

    def leave(self) -> None:
        """Wait for the job at work, and do no others: the interpreter ends."""
        with self._changed:
            self._is_leaving = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def forget(self) -> None:
        """Withdraw all jobs in the child of a fork, which has none of its parent's threads."""
        jobs, self._jobs = self._jobs, []
        self._changed, self._thread = Condition(), None
        for job in jobs:
            if not job.ended.is_set():
                job.uses, job.ended = 0, Event()
                job.withdraw()


BACKGROUND = Background()
atexit.register(BACKGROUND.leave)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BACKGROUND.forget)
