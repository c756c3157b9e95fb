"""How long does XLA compile programs as blocks, and how quick are they on the CPU?"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import command
from benchmarks.harness import Options
from benchmarks.subjects import subject
from benchmarks.tables import Table
from hinge.dynamics import compiled, gradient_parts

COLUMNS = ("robot", "bodies", "what", "trace, s", "compile, s", "µs a state", "difference")
BATCH = 256


def tables(options: Options) -> Iterator[Table]:
    """Yield one table."""
    table = Table("Forward dynamics as blocks of XLA, on the CPU", COLUMNS)
    if find_spec("jax") is None:
        table.notes.append("JAX is not installed: pip install jax")
        yield table
        return
    import jax  # noqa: PLC0415 (an extra)

    was = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    for name in ("panda",) if options.quick else ("panda", "solo12", "talos"):
        table.rows += _rows(name)
    jax.config.update("jax_enable_x64", was)
    table.notes.append(f"{BATCH} states; the difference is the largest relative one to the native target.")
    yield table


def _rows(name: str) -> list[list[Any]]:
    """Return the rows of a robot: the value, and gradients by all arguments."""
    import jax  # noqa: PLC0415 (an extra)

    from hinge.jax.blocks import block_function  # noqa: PLC0415 (an extra)

    robot = subject(name).robot
    f, by = compiled(robot, "forward_dynamics"), ("q", "qd", "tau")
    s, found = subject(name).states(BATCH), list[list[Any]]()
    given = {"q": s.q, "qd": s.qd, "tau": s.tau, "c_forward_dynamics": s.qdd}
    for what, g in {"value": f, "gradient": compiled(robot, gradient_parts(f.given, by))}.items():
        arrays = {n: given[n] for n in ("q", *g.vectors)}
        begin = perf_counter()
        lowered = jax.jit(jax.vmap(block_function(g))).lower(arrays)
        traced = perf_counter()
        run = lowered.compile()
        made = perf_counter()
        shown, wanted = run(arrays), g.program()(arrays)
        again = perf_counter()
        jax.block_until_ready(run(arrays))
        taken = perf_counter() - again
        off = max(_off(shown[n], wanted[n]) for n in wanted)
        found.append([
            name, len(robot.bodies), what, f"{traced - begin:.2f}", f"{made - traced:.2f}",
            f"{taken / BATCH * 1e6:.3g}", f"{off:.1e}",
        ])  # fmt: skip
    return found


def _off(found: Any, wanted: Any) -> float:
    return float(np.abs(np.asarray(found) - wanted).max() / max(1.0, np.abs(wanted).max()))


if __name__ == "__main__":
    command.run({"xla": tables})
