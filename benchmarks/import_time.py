"""How long does `import hinge` take beyond NumPy?"""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import time, numpy
start = time.perf_counter()
import hinge
print(time.perf_counter() - start)
"""


def main(repeats: int = 15) -> None:
    """Print the least and the median time over fresh interpreters."""
    times = sorted(
        float(
            subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout
        )
        for _ in range(repeats)
    )
    print("Import hinge beyond NumPy, fresh interpreters")
    print(f"least {1e3 * times[0]:.0f} ms, median {1e3 * times[repeats // 2]:.0f} ms of {repeats}")


if __name__ == "__main__":
    main()
