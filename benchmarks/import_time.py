"""How long does `import hinge` take beyond NumPy?"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import command
from benchmarks.fresh import fresh
from benchmarks.harness import Options
from benchmarks.tables import Table

SCRIPT = """
lap()
import hinge
print(json.dumps({"import": lap()}))
"""


def tables(options: Options) -> Iterator[Table]:
    """Yield the least and the median time over fresh interpreters, with bytecode as when installed."""
    repeats = 5 if options.quick else 15
    fresh(SCRIPT)
    times = sorted(fresh(SCRIPT)["import"] for _ in range(repeats))
    row = [1e3 * times[0], 1e3 * times[repeats // 2]]
    title = f"Import hinge beyond NumPy, {repeats} fresh interpreters"
    yield Table(title, ("least [ms]", "median [ms]"), [row])


if __name__ == "__main__":
    command.run({"import_time": tables})
