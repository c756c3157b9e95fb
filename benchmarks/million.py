"""How long do a million states take from an array, and how much memory beyond what goes in and out?"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks import command
from benchmarks.harness import Options
from benchmarks.tables import Table

#: Runs in a process of its own, so that its peak is its own; prints seconds, and bytes at the peak beyond
#: those before the arrays were made, and those of the arrays.
CODE = """
import time, numpy as np, hinge

def peak():
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))

n = {states}
robot = hinge.robots.panda()
few = np.zeros((64, robot.nq))
hinge.forward_dynamics(robot, few, few, few)
before = peak()
rng = np.random.default_rng(0)
q, qd, tau = (np.empty((n, robot.nv)) for _ in range(3))
for x in (q, qd, tau):
    rng.random(out=x)
least = 1e9
for _ in range(3):
    start = time.perf_counter()
    qdd = hinge.forward_dynamics(robot, q, qd, tau)
    least = min(least, time.perf_counter() - start)
    last = float(qdd[-1, 0])
    if _ < 2:
        del qdd
print(least, peak() - before, 4 * q.nbytes)
"""

COLUMNS = (
    "states",
    "time [s]",
    "ns per state",
    "in and out [MB]",
    "peak beyond before [MB]",
    "peak / in and out",
)


def tables(options: Options) -> Iterator[Table]:
    """Yield one table: forward dynamics of panda."""
    table = Table("A million states: panda, forward dynamics, all threads", COLUMNS)
    states = 100_000 if options.quick else 1_000_000
    code = CODE.format(states=states)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, peak, arrays = map(float, found.stdout.split())
    table.rows.append([f"{states}", seconds, 1e9 * seconds / states, arrays / 1e6, peak / 1e6, peak / arrays])
    yield table


if __name__ == "__main__":
    command.run({"million": tables})
