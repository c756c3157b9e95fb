"""What does a campaign cost beside the simulations that it consists of?"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.harness import Options
from benchmarks.tables import Table
from hinge.campaign import Campaign, Uniform
from hinge.sim import PD

#: Samples, seconds and steps of each; how often everything is measured, turn by turn.
SAMPLES, SECONDS, STEP, TURNS = 65536, 0.1, 1e-3, 3
COLUMNS = (
    "panda, PD, masses varied",
    "samples/s",
    "share of simulate",
    "overhead of a block",
    "bytes a sample",
)


def campaign(samples: int, seconds: float = SECONDS, **more: Any) -> Campaign:
    """Return arms that are held by springs and dampers, each with masses of its own."""
    robot = hinge.robots.panda()
    gains = [100.0] * 4 + [20.0] * 3, [10.0] * 4 + [0.5] * 3
    masses = {b: Uniform(0.8, 1.2) for b in robot.body_names[1:]}
    return Campaign(
        robot, samples=samples, t=seconds, dt=STEP, vary={"mass_factor": masses},
        control=PD(hinge.neutral(robot), *gains), **more,
    )  # fmt: skip


def tables(options: Options) -> Iterator[Table]:
    """Yield one table."""
    samples = SAMPLES // 8 if options.quick else SAMPLES
    subject = campaign(samples)
    start = subject.start(subject.draws(0, samples), samples)

    def alone(_: Path) -> None:
        hinge.simulate(
            subject.robot, start.q, start.qd, t=SECONDS, dt=STEP, control=subject.control, record=0,
            parameters=start.parameters,
        )  # fmt: skip

    ways = {
        "simulate, 2 threads": alone,
        "campaign, this process, 2 threads": subject.run,
        "campaign, 2 processes": lambda path: subject.run(path, workers=2),
        "campaign, 2 processes, statistics alone": lambda path: lean.run(path, workers=2),
    }
    lean = campaign(samples, rows=False)
    hinge.set_threads(2)
    best: dict[str, float] = {}
    size: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(1 if options.quick else TURNS):
            for k, (name, way) in enumerate(ways.items()):
                path = Path(folder) / f"{turn} {k}"
                began = time.perf_counter()
                way(path)
                best[name] = min(best.get(name, np.inf), time.perf_counter() - began)
                size[name] = sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    hinge.set_threads(None)
    raw = 8 * (subject.robot.nq + subject.robot.nv + len(subject.drawn))
    table = Table(f"Campaigns: {samples} samples of {SECONDS:g} s in steps of {STEP * 1e3:g} ms", COLUMNS)
    reference = best["simulate, 2 threads"]
    blocks = -(-samples // 4096)
    for name, seconds in best.items():
        over = (seconds - reference) / blocks * 1e3
        table.rows.append([
            name, f"{samples / seconds:.4g}", f"{reference / seconds:.2f}",
            None if name.startswith("simulate") else f"{over:.1f} ms",
            None if not size[name] else f"{size[name] / samples:.0f}",
        ])  # fmt: skip
    table.notes += [
        "All of a run counts: starting processes, loading code, drawing, statistics, files brought to disk, "
        "digests.",
        f"Last states and drawn numbers alone are {raw} bytes a sample as raw arrays; blocks: 4096 samples.",
    ]
    yield table


if __name__ == "__main__":
    command.run({"campaign": tables})
