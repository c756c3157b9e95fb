"""Every URDF file of example-robot-data against Pinocchio: python -m tests.oracles.sweep_robots."""

from __future__ import annotations

import sys
import time

from tests.oracles.compare import table
from tests.oracles.data import example_urdfs
from tests.oracles.pinocchio import COLUMNS, compare


def main() -> int:
    """Print the table; the exit code is 1 when a loaded robot differs too much."""
    start = time.perf_counter()
    rows = [compare(p, floating=f) for p in example_urdfs() for f in (False, True)]
    print(table(rows, COLUMNS))
    print(f"20 random states each, {time.perf_counter() - start:.0f} s")
    loaded = [r for r in rows if not r.refused]
    return 0 if len(loaded) >= 130 and all(r.passed for r in loaded) else 1


if __name__ == "__main__":
    sys.exit(main())
