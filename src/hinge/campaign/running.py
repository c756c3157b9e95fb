"""Running a campaign: blocks that are not there yet go to workers, and what they lose is begun again."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from hinge.campaign.plan import Plan
from hinge.campaign.results import Results
from hinge.campaign.store import Store
from hinge.campaign.worker import Outcome
from hinge.campaign.workers import Workers, workers_of
from hinge.errors import ArgumentError, HingeError
from hinge.sim import Bar

#: Samples that tell, before anything is stored, whether a campaign works and which columns it has.
PROBE = 8
#: How often a block is tried again whose worker was lost.
TRIES = 3


class CampaignInterrupted(KeyboardInterrupt):
    """A campaign interrupted by the user; `results` are those so far."""

    def __init__(self, results: Results) -> None:
        done, of = len(results.store.done()), results.store.blocks
        super().__init__(f"interrupted; {done} of {of} blocks are stored, run it again to go on")
        self.results = results


def run_plan(
    campaign: Plan,
    path: str | Path,
    *,
    client: Any = None,
    workers: int | None = None,
    chunk: int | None = None,
    progress: Any = None,
) -> Results:
    """Simulate what a store does not have yet of a campaign; see `Campaign.run`."""
    _check(campaign, client, workers, chunk)
    probe = campaign.piece(0, min(PROBE, campaign.samples))
    if not probe.arrays:
        raise ArgumentError(
            f"campaign: expected samples that can be simulated, but each of the first {probe.count} raises: "
            f"{probe.reasons[0]}"
        )
    store = Store.make(path, campaign, probe)
    with locked(store), ExitStack() as stack:
        store.clean()
        todo = _missing(store)
        bar = stack.enter_context(Bar("samples")) if progress is True else None
        if bar is not None:
            bar.prepared()
        pool = stack.enter_context(workers_of(store, campaign, client, workers))
        per = max(1, round((chunk or store.block) / store.block))
        work = _Work(store, pool, bar or progress, [todo[k : k + per] for k in range(0, len(todo), per)])
        try:
            work.run()
        except KeyboardInterrupt:
            raise CampaignInterrupted(Results(store)) from None
    return Results(store)


def _check(campaign: Plan, client: Any, workers: int | None, chunk: int | None) -> None:
    for name, x in (("workers", workers), ("chunk", chunk)):
        if x is not None and (isinstance(x, bool) or not isinstance(x, int) or x < (name == "chunk")):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"{name}: expected a whole number ≥ {int(name == 'chunk')}, got {x!r}")
    if client is not None and workers:
        raise ArgumentError(
            f"workers: expected none beside a client, got {workers!r}; the cluster has its own"
        )
    alone = [n for n, f in campaign.owned.items() if not f.reference]
    if alone and (client is not None or workers):
        raise ArgumentError(
            f"{alone[0]}: expected a function that other processes can find, got one that stands in no file; "
            "put it at the top of a module or file, or run without workers"
        )


def _missing(store: Store) -> list[int]:
    """Return the blocks that are not there, after those that are damaged have been forgotten."""
    done = store.done()
    for block in done:
        if not store.is_sound(block):
            store.forget(block)
    there = set(store.done())
    return [k for k in range(store.blocks) if k not in there]


@dataclass
class _Work:
    """Blocks that are to be simulated, and those that are under way."""

    store: Store
    pool: Workers
    progress: Any
    tasks: list[list[int]]
    pending: dict[Future[list[Outcome]], list[int]] = field(
        default_factory=dict[Future[list[Outcome]], list[int]]
    )
    tries: dict[int, int] = field(default_factory=dict[int, int])
    lost: list[int] = field(default_factory=list[int])

    def run(self) -> None:
        """Simulate all blocks; those whose workers are lost again and again are named at the end."""
        self.tasks.reverse()  # the first is taken from the end
        done = self.store.samples - sum(self.store.extent(k)[1] for t in self.tasks for k in t)
        self._tell(done)
        try:
            while self.tasks or self.pending:
                while self.tasks and len(self.pending) < self.pool.width:
                    blocks = self.tasks.pop()
                    self.pending[self.pool.submit(blocks)] = blocks
                for future in wait(self.pending, return_when=FIRST_COMPLETED).done:
                    done += sum(count for _, count, _, _ in self._taken(future))
                    self._tell(done)
        finally:
            for future in self.pending:
                future.cancel()
        if self.lost:
            raise HingeError(
                f"campaign: blocks {_listed(self.lost)} lost their workers {TRIES} times each, all others "
                f"are stored; samples {self.store.extent(self.lost[0])[0]} and following may need too much "
                "memory, or end the process"
            )

    def _taken(self, future: Future[list[Outcome]]) -> list[Outcome]:
        blocks = self.pending.pop(future)
        try:
            return future.result()
        except CancelledError:
            raise HingeError(
                "client: the scheduler has gone, and what was under way with it; what is stored is kept, "
                "run the campaign again to go on"
            ) from None
        except Exception as error:
            if not _is_loss(error):
                raise
        again = [k for k in blocks if not self.store.record_file(k).exists()]
        for k in again:
            self.tries[k] = self.tries.get(k, 0) + 1
        self.lost += [k for k in again if self.tries[k] >= TRIES]
        self.tasks += [[k] for k in again if self.tries[k] < TRIES]
        return [(k, self.store.extent(k)[1], 0, 0.0) for k in blocks if k not in again]

    def _tell(self, done: int) -> None:
        if callable(self.progress):
            self.progress(done, self.store.samples)


def _is_loss(error: BaseException) -> bool:
    """Tell whether a worker was lost, and not the work at fault."""
    return type(error).__name__ in ("WorkerLostError", "KilledWorker")


def _listed(blocks: Iterable[int]) -> str:
    given = sorted(blocks)
    return ", ".join(map(str, given[:8])) + (", …" if len(given) > 8 else "")


@contextmanager
def locked(store: Store) -> Generator[None, None, None]:
    """Hold the lock of a store, which its process loses when it ends, however it does."""
    folder = store.path / "run"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("a+b") as file:
        try:
            _lock(file)
        except OSError:
            raise HingeError(
                f"store: {str(store.path)!r} is being written by another run; wait for it, or end it"
            ) from None
        yield


def _lock(file: IO[bytes]) -> None:
    """Lock a file for this process, or raise an OSError."""
    if os.name == "nt":
        windows: Any = import_module("msvcrt")
        windows.locking(file.fileno(), windows.LK_NBLCK, 1)
    else:
        posix: Any = import_module("fcntl")
        posix.flock(file, posix.LOCK_EX | posix.LOCK_NB)
