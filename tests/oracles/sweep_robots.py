"""Every URDF file of example-robot-data against Pinocchio: python -m tests.oracles.sweep_robots."""

from __future__ import annotations

import sys
import time

from tests.oracles.compare import report
from tests.oracles.data import example_urdfs
from tests.oracles.pinocchio import COLUMNS, compare


def main() -> int:
    """Print the table and the time that it took."""
    start = time.perf_counter()
    rows = [compare(p, floating=f) for p in example_urdfs() for f in (False, True)]
    code = report(rows, COLUMNS, at_least=130)
    print(f"20 random states each, {time.perf_counter() - start:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
