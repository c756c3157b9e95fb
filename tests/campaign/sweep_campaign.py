"""One store, to the last bit, whoever makes it: `python -m tests.campaign.sweep_campaign [moments]`.

By this process, one and two workers, chunks of several sizes, a cluster of Dask; and after workers, the
process that asks for them, the scheduler and everything have been killed at random moments, and the campaign
was resumed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hinge.campaign import Results, resume
from hinge.campaign import store as stores
from hinge.errors import HingeError
from tests.campaign.subjects import digest, pendulum

SAMPLES, BLOCK, MOMENTS = 60_000, 1024, 20
#: What runs in a process of its own, in a group that can be killed as a whole.
SCRIPT = """
import sys
from hinge.errors import HingeError
from tests.campaign.sweep_campaign import subject
path, workers, *client = sys.argv[1:]
try:
    subject().run(path, workers=int(workers) or None, client=client[0] if client else None)
except HingeError as error:
    sys.exit(str(error))
"""
CLUSTER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        open(sys.argv[1], "w").write(cluster.scheduler_address)
        time.sleep(600)
"""


def subject() -> Any:
    """Return the campaign, with blocks that take a moment each."""
    stores.BLOCK = BLOCK
    return pendulum(SAMPLES)


def main() -> int:
    """Print a table; the exit code is 1 where stores differ."""
    moments = int(sys.argv[1]) if len(sys.argv) > 1 else MOMENTS
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        subject().run(at / "here")
        wanted, bad = digest(at / "here"), 0
        print(f"{'run':<42} same bits  stored before it was resumed")
        ways: list[tuple[str, dict[str, Any]]] = [
            ("one worker", {"workers": 1}),
            ("two workers", {"workers": 2}),
            ("two workers, chunks of 5000", {"workers": 2, "chunk": 5000}),
            ("here, chunks of 20000", {"chunk": 20_000}),
        ]
        for name, how in ways:
            subject().run(at / name, **how)
            bad += told(name, digest(at / name) == wanted)
        bad += clustered(at, wanted)
        rng = random.Random(0)
        kills: list[Callable[[Path, int, float], None]] = [kill_worker, kill_asker, kill_all]
        for k in range(moments):
            how = kills[k % 3]
            path = at / f"killed {k}"
            how(path, rng.randrange(50), rng.uniform(0.0, 0.3))
            before = Results(path).status().stored if (path / "campaign.json").exists() else 0
            subject().run(path, workers=2)
            name = f"{how.__name__.replace('_', ' ')}, resumed".replace("asker", "who asks").replace(
                "all", "everything"
            )
            bad += told(name, digest(path) == wanted and not Results(path).verify(), f"{before} of {SAMPLES}")
    print("all stores are the same." if not bad else f"{bad} STORES DIFFER.")
    return bool(bad)


def told(name: str, same: bool, more: str = "") -> int:
    """Print a row; return 1 if it is bad."""
    print(f"{name:<42} {'yes' if same else 'NO':<9}  {more}", flush=True)
    return not same


def started(path: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start a run in a process and group of its own."""
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(path), *more], start_new_session=True)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(x) for x in found.read_text().split()] if found.exists() else []


def waited(path: Path, blocks: int, after: float) -> None:
    """Wait until so many blocks are stored, and a moment."""
    while len(list((path / "blocks").glob("*.json"))) < blocks:
        time.sleep(0.01)
    time.sleep(after)


def kill_worker(path: Path, blocks: int, after: float) -> None:
    """Kill a worker once there is one; the run must go on by itself."""
    run = started(path, "2")
    waited(path, blocks, after)
    for pid in children(run.pid)[:1]:
        os.kill(pid, signal.SIGKILL)
    run.wait()


def kill_asker(path: Path, blocks: int, after: float) -> None:
    """Kill the process that asks; its workers end by themselves."""
    run = started(path, "2")
    waited(path, blocks, after)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()


def kill_all(path: Path, blocks: int, after: float) -> None:
    """Kill everything at once."""
    run = started(path, "2")
    waited(path, blocks, after)
    for pid in [*children(run.pid), run.pid]:
        os.kill(pid, signal.SIGKILL)
    run.wait()


def clustered(at: Path, wanted: str) -> int:
    """Run on a cluster, and on one whose scheduler is killed; return how many stores differ."""
    bad = 0
    for name, killed in (("Dask, two workers", False), ("Dask, scheduler killed, resumed", True)):
        address = at / f"address {killed}"
        cluster = subprocess.Popen([sys.executable, "-c", CLUSTER, str(address)], start_new_session=True)
        while not address.exists() or not address.read_text():
            time.sleep(0.1)
        run = started(at / name, "0", address.read_text())
        if killed:
            waited(at / name, 5, 0.0)
            os.killpg(cluster.pid, signal.SIGKILL)
        code = run.wait(timeout=300)
        before = Results(at / name).status().stored
        if not killed:
            os.killpg(cluster.pid, signal.SIGTERM)
        cluster.wait()
        if killed:
            if code == 0:
                raise HingeError("the run ended well though its scheduler was killed")
            resume(at / name, trust=True, workers=2)
        bad += told(name, digest(at / name) == wanted, f"{before} of {SAMPLES}" if killed else "")
    return bad


if __name__ == "__main__":
    sys.exit(main())
