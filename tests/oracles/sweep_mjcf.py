"""Every MJCF file of gymnasium, dm_control and mujoco: python -m tests.oracles.sweep_mjcf."""

from __future__ import annotations

import sys
import time

from tests.oracles.compare import report
from tests.oracles.data import package_root, packaged_mjcfs
from tests.oracles.mujoco import COLUMNS, compare


def main() -> int:
    """Print the table and the time that it took."""
    start = time.perf_counter()
    rows = [compare(p, package_root(p)) for p in packaged_mjcfs()]
    code = report(rows, COLUMNS, at_least=50)
    print(f"20 random states each, {time.perf_counter() - start:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
