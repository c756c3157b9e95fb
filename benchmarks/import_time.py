"""How long does `import hinge` take beyond NumPy?"""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import time, numpy
start = time.perf_counter()
import hinge
print(time.perf_counter() - start)
"""


def main(repeats: int = 15) -> None:
    """Print the least and the median time over fresh interpreters, with bytecode as when installed."""
    _once()
    times = sorted(_once() for _ in range(repeats))
    print("Import hinge beyond NumPy, fresh interpreters")
    print(f"least {1e3 * times[0]:.0f} ms, median {1e3 * times[repeats // 2]:.0f} ms of {repeats}")


def _once() -> float:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return float(done.stdout)


if __name__ == "__main__":
    main()
