"""Hostile input, each case in a process of its own: python -m tests.errors.sweep_hostile [words of names].

MJCF files are loaded by a process that may take no more than what Hinge promises: the limits of the compiling
process, and a margin. Programs (`hostile_programs.py`) attack in other ways: forks, signals, killed writers,
damaged runs, meshes, foreign pages, odd arguments. What is printed: how each ended, its seconds, and the
largest memory of both processes; at last the counts. With `HINGE_SOURCE=folder` the programs alone are run,
with another copy of the package.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hinge.io import mjcf_compiler
from tests.errors.hostile_mjcf import CASES, Case
from tests.errors.hostile_programs import PROGRAMS

ROOT = Path(__file__).parents[2]
#: Seconds and megabytes beside those of the limits: starting, reading a compiled model, a busy machine.
MARGIN_SECONDS, MARGIN_MEGABYTES = 15.0, 500.0

LOADING = """
import json, resource, sys, warnings
import hinge
from hinge.errors import HingeError
from hinge.io import mjcf_compiler
mjcf_compiler.SECONDS, mjcf_compiler.BYTES = float(sys.argv[2]), int(sys.argv[3])
warnings.simplefilter("ignore")
raised = message = ""
try:
    hinge.load(sys.argv[1])
except HingeError as error:
    raised, message = type(error).__name__, str(error)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
seconds = sum(u.ru_utime + u.ru_stime for u in used)
from tests.errors.broken_urdf import peak_megabytes
children = used[1].ru_maxrss / (1024 if sys.platform == "linux" else 2**20)
print(json.dumps([raised, message, seconds, peak_megabytes(), children]))
"""


@dataclass(frozen=True)
class Outcome:
    """How a case ended: the error ("" if it loaded), message, seconds of work, megabytes of both."""

    raised: str
    message: str
    seconds: float
    megabytes: tuple[float, float]

    def passed(self, case: Case, seconds: float, most: int) -> bool:
        """Tell whether it ended as it must, within the limits."""
        soon = self.seconds <= seconds + MARGIN_SECONDS
        small = max(self.megabytes) <= most / 2**20 + MARGIN_MEGABYTES
        right = self.raised == "FormatError" or (not self.raised and not case.expect)
        return soon and small and right and re.search(case.expect, self.message) is not None


def run(case: Case, seconds: float = mjcf_compiler.SECONDS, most: int = mjcf_compiler.BYTES) -> Outcome:
    """Load a case in a process of its own, with these limits of the compiling process."""
    with tempfile.TemporaryDirectory() as folder:
        path = case.write(Path(folder))
        start = time.perf_counter()
        try:
            done = subprocess.run(
                [sys.executable, "-c", LOADING, str(path), str(seconds), str(most)],
                capture_output=True,
                text=True,
                timeout=4 * seconds + 100,
                check=False,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            )
        except subprocess.TimeoutExpired:
            return Outcome("hung", "", time.perf_counter() - start, (0.0, 0.0))
    if done.returncode:
        return Outcome("crashed", done.stderr[-300:], time.perf_counter() - start, (0.0, 0.0))
    raised, message, taken, own, child = json.loads(done.stdout.splitlines()[-1])
    return Outcome(raised, message, taken, (own, child))


def attacked(name: str) -> tuple[int, list[str], str]:
    """Run a program; return how much it tried, what failed, and what it took."""
    limits = PROGRAMS[name]
    source = os.environ.get("HINGE_SOURCE", str(ROOT / "src"))
    with (
        tempfile.TemporaryDirectory() as folder,
        (Path(folder) / "said").open("w+", encoding="utf-8") as said,
    ):
        (Path(folder) / "work").mkdir()
        start = time.perf_counter()
        ended = "0"
        words = [sys.executable, "-m", "tests.errors.hostile_programs", name, str(Path(folder) / "work")]
        try:
            done = subprocess.run(
                words,
                stdout=said,
                stderr=subprocess.PIPE,
                text=True,
                timeout=limits.seconds,
                check=False,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([source, str(ROOT)])},
            )
            if done.returncode:
                ended = f"ended with {done.returncode}: {done.stderr.strip()[-100:]}"
        except subprocess.TimeoutExpired:
            ended = f"takes more than {limits.seconds:g} s"
        seconds = time.perf_counter() - start
        said.seek(0)
        lines = [json.loads(line) for line in said if re.fullmatch(r"(\[.*\]|[0-9.]+)\n", line)]
    tried = [x for x in lines if isinstance(x, list)]
    faults = [f"{what}: {fault}" for what, fault in tried if fault]
    if ended != "0":
        return len(tried) + 1, [*faults, ended], f"{seconds:5.1f} s"
    if lines[-1] > limits.megabytes:
        faults.append(f"takes {lines[-1]:.0f} MB")
    return len(tried), faults, f"{seconds:5.1f} s {lines[-1]:6.0f} MB"


def attack(words: list[str]) -> int:
    """Run all programs, or those whose names have one of the words; return how many failed."""
    chosen = [name for name in PROGRAMS if not words or any(w in name for w in words)]
    tried = failed = bad = 0
    for name in chosen:
        count, faults, cost = attacked(name)
        tried, failed, bad = tried + count, failed + len(faults), bad + bool(faults)
        print(
            f"{'FAIL' if faults else 'ok  '} {name:54} {len(faults):3} of {count:3} failed {cost}", flush=True
        )
        for fault in faults[:3]:
            print(f"       {fault}", flush=True)
    print(
        f"{len(chosen)} programs, {len(chosen) - bad} refused or bounded, {bad} failed; "
        f"in them {tried} attacks, {tried - failed} refused or bounded, {failed} failed"
    )
    return bad


def main(words: list[str]) -> int:
    """Run all cases, or those whose names have one of the words."""
    bad = attack(words)
    cases = () if "HINGE_SOURCE" in os.environ else CASES
    chosen = [c for c in cases if not words or any(w in c.name for w in words)]
    ends: Counter[str] = Counter()
    failed = 0
    for case in chosen:
        found = run(case)
        good = found.passed(case, mjcf_compiler.SECONDS, mjcf_compiler.BYTES)
        failed += not good
        ends[found.raised or "loaded"] += 1
        own, child = found.megabytes
        reason = found.message.removesuffix(mjcf_compiler.TRUST)
        print(
            f"{'ok  ' if good else 'FAIL'} {case.name:32} {found.raised or 'loaded':12} "
            f"{found.seconds:5.1f} s {own:6.0f} MB {child:6.0f} MB  {reason[-70:]}",
            flush=True,
        )
    print(
        f"{len(chosen)} MJCF files, {len(chosen) - failed} refused or bounded, {failed} failed; "
        + ", ".join(f"{n} {what}" for what, n in ends.items())
    )
    return 1 if failed or bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
