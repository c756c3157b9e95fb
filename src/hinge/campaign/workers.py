"""Who simulates: this process, processes beside it, or a Dask cluster, all by `submit` and futures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock, local
from typing import Any, Protocol

from hinge.campaign.extras import extra
from hinge.campaign.plan import Plan
from hinge.campaign.store import Store
from hinge.campaign.worker import Outcome, simulate_block, simulate_blocks
from hinge.errors import ArgumentError, HingeError

#: The longest time in seconds in which a scheduler must answer.
PATIENCE = 20.0
#: What a process is started with; -m would load the module twice.
START = "from hinge.campaign.worker import main; main()"


class WorkerLostError(HingeError):
    """A worker ended before it answered: killed, or out of memory."""


class Workers(Protocol):
    """What simulates blocks."""

    @property
    def width(self) -> int:
        """How many tasks are under way at a time."""
        ...

    def submit(self, blocks: list[int]) -> Future[list[Outcome]]:
        """Begin to simulate blocks."""
        ...


class Here:
    """The process that asks; a batch is split over its threads."""

    width = 1

    def __init__(self, store: Store, campaign: Plan) -> None:
        self.store, self.campaign = store, campaign

    def submit(self, blocks: list[int]) -> Future[list[Outcome]]:
        """Simulate blocks, and return a future that is done."""
        found: Future[list[Outcome]] = Future()
        try:
            found.set_result([simulate_block(self.store, self.campaign, k) for k in blocks])
        except Exception as error:
            found.set_exception(error)
        return found


class Processes:
    """Processes of this machine, one thread each; a process that is killed is replaced by another."""

    def __init__(self, store: Store, count: int, *, trust: bool) -> None:
        self.store, self.count, self.trust = store, count, trust
        self.pool = ThreadPoolExecutor(count, thread_name_prefix="campaign")
        self.own, self.all, self.lock, self.ended = local(), list[subprocess.Popen[str]](), Lock(), False

    @property
    def width(self) -> int:
        """A task for each process, and one that waits."""
        return self.count + 1

    def submit(self, blocks: list[int]) -> Future[list[Outcome]]:
        """Ask the next process that is free."""
        return self.pool.submit(self._ask, blocks)

    def _ask(self, blocks: list[int]) -> list[Outcome]:
        process = self._process()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(blocks) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            self.own.process = None
            raise WorkerLostError(f"a worker ended with code {process.wait()}")
        found = json.loads(line)
        if "error" in found:
            raise _as_error(found)
        return [(int(b), int(n), int(f), float(s)) for b, n, f, s in found["done"]]

    def _process(self) -> subprocess.Popen[str]:
        """Return the process of this thread, started when it is first needed."""
        found = getattr(self.own, "process", None)
        if found is not None and found.poll() is None:
            return found
        with self.lock:
            if self.ended:
                raise CancelledError
            places = [os.path.abspath(p) for p in sys.path]  # noqa: PTH100
            found = subprocess.Popen(
                [sys.executable, "-c", START, str(self.store.path), str(int(self.trust))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"HINGE_THREADS": "1", "PYTHONPATH": os.pathsep.join(places)},
                start_new_session=True,  # Ctrl-C is ours: blocks under way are given up, not the process
            )
            self.own.process = found
            self.all.append(found)
        return found

    def end(self) -> None:
        """End all processes, whatever they are doing; what they have not written is not there."""
        with self.lock:
            self.ended = True
            for process in self.all:
                process.kill()
        self.pool.shutdown(cancel_futures=True)
        for process in self.all:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()


class Dask:
    """A cluster of Dask: its client, or the address of its scheduler. All see the store at one path."""

    def __init__(self, store: Store, client: Any, *, trust: bool) -> None:
        self.store, self.client, self.trust = store, client, trust
        self.pool = client.get_executor(pure=False)

    @property
    def width(self) -> int:
        """Two tasks for each thread of the cluster, more than that when workers have joined."""
        try:
            return max(2, 2 * sum(self.client.nthreads().values()))
        except Exception as error:
            raise _gone(error) from None

    def submit(self, blocks: list[int]) -> Future[list[Outcome]]:
        """Give a task to the scheduler."""
        try:
            path = os.path.abspath(self.store.path)  # noqa: PTH100
            return self.pool.submit(simulate_blocks, path, blocks, self.trust)
        except Exception as error:
            raise _gone(error) from None


def _gone(error: Exception) -> HingeError:
    return HingeError(
        f"client: the scheduler does not answer any more ({type(error).__name__}: {error}); what is stored "
        "is kept, run the campaign again to go on"
    )


def _as_error(found: dict[str, Any]) -> Exception:
    """Return the error that a process has told."""
    kinds: dict[str, type[Exception]] = {
        k.__name__: k for k in (ArgumentError, NotImplementedError, MemoryError)
    }
    if found.get("errno"):
        return OSError(found["errno"], found["error"])
    return kinds.get(found["kind"], HingeError)(found["error"])


@contextmanager
def workers_of(
    store: Store, campaign: Plan, client: Any, workers: int | None
) -> Generator[Workers, None, None]:
    """Yield who simulates, and end them."""
    if client is not None:
        with _client(client) as found:
            yield Dask(store, found, trust=bool(campaign.owned))
        return
    if not workers:
        yield Here(store, campaign)
        return
    pool = Processes(store, workers, trust=bool(campaign.owned))
    try:
        yield pool
    finally:
        pool.end()


@contextmanager
def _client(given: Any) -> Generator[Any, None, None]:
    """Yield a client of Dask, for the address of a scheduler one of our own."""
    distributed = extra("distributed")
    if isinstance(given, distributed.Client):
        yield given
        return
    if not isinstance(given, str):
        raise ArgumentError(f"client: expected a distributed.Client or a scheduler's address, got {given!r}")
    try:
        found = distributed.Client(given, timeout=PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        raise ArgumentError(
            f"client: expected the address of a Dask scheduler that answers, such as 'tcp://host:8786', got "
            f"{given!r}: {error}"
        ) from None
    try:
        yield found
    finally:
        found.close(timeout=2)
