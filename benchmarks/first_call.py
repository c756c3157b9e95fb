"""How long is the first call for a robot, without a cache, with a cold one and with a warm one?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from benchmarks import command
from benchmarks.fresh import fresh, least
from benchmarks.harness import Options
from benchmarks.subjects import subject
from benchmarks.tables import Cell, Table

SCRIPT = """
lap()
import hinge
found = {{"import": lap()}}
robot = {robot}
q = hinge.random_configuration(robot, 1, 1024)
v = np.ones((1024, robot.nv))
lap()
f = hinge.forward_dynamics
found["room"] = lap()
f(robot, q[0], v[0], v[0])
found["one"] = lap()
f(robot, q, v, v)
found["batch"] = lap()
print(json.dumps(found))
"""

COLUMNS = (
    "robot", "cache", "import hinge [ms]", "load the compiler [ms]", "first call, one state [ms]",
    "then first batch [ms]",
)  # fmt: skip


def tables(options: Options) -> Iterator[Table]:
    """Yield one table: forward dynamics of two robots, three kinds of cache."""
    times = 2 if options.quick else 4
    title = f"First call of forward dynamics, least of {times} fresh processes"
    table = Table(title, COLUMNS, notes=["NumPy is imported, and the robot loaded, before the clock starts."])
    talos = f"hinge.load({str(subject('talos').path)!r}, floating=True, strict=None)"
    for name, robot in (("panda", "hinge.robots.panda()"), ("talos", talos)):
        table.rows += _rows(name, SCRIPT.format(robot=robot), times)
    yield table


def _rows(name: str, script: str, times: int) -> Iterator[list[Cell]]:
    off = [fresh(script, {"HINGE_CACHE": "0"}) for _ in range(times)]
    cold, warm = list[dict[str, float]](), list[dict[str, float]]()
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(fresh(script, {"HINGE_CACHE_DIR": folder}))
            warm.append(fresh(script, {"HINGE_CACHE_DIR": folder}))
    for cache, found in (("off", off), ("cold", cold), ("warm", warm)):
        best = least(found)
        yield [name, cache, *(1e3 * best[key] for key in ("import", "room", "one", "batch"))]


if __name__ == "__main__":
    command.run({"first_call": tables})
