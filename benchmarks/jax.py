"""What do functions of JAX cost: to the first gradient, for a batch, and next to MJX?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks import command
from benchmarks.agreement import BOUND, wrong
from benchmarks.fresh import fresh, least
from benchmarks.harness import Contender, Options, race
from benchmarks.subjects import Subject, one_thread, subject
from benchmarks.tables import Cell, Table, nanoseconds

NAMES = ("panda", "talos")
#: States of a batch.
STATES = 4096
#: Seconds that MJX may take for a row.
LIMIT = 420.0
LOADED = """
import jax
import jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
x = jnp.ones((8, 3))
jax.block_until_ready(jax.jit(jax.vmap(jax.grad(lambda x: (x * x).sum())))(x))
lap()
import hinge, hinge.jax
robot = {robot}
q = hinge.random_configuration(robot, 1, {states})
v = np.ones(({states}, robot.nv))
lap()
"""
#: The first gradient; what JAX itself takes for another function is timed beside it.
FIRST = (
    LOADED
    + """
fd = hinge.jax.function("forward_dynamics", robot)
slope = jax.jit(jax.vmap(jax.grad(lambda q, v, u: fd(q, v, u).sum(), (0, 1, 2))))
jax.block_until_ready(slope(q, v, v))
found = {{"first": lap()}}
jax.block_until_ready(slope(q, v, v))
found["second"] = lap()
print(json.dumps(found))
"""
)
MJX = """
import contextlib, sys
import jax, mujoco
with contextlib.redirect_stdout(sys.stderr):  # it says what it does not find
    from mujoco import mjx
model = mujoco.MjModel.from_xml_string({xml!r})
model.opt.timestep = 1e-3
lap()
on = mjx.put_model(model, impl="jax")
one = mjx.make_data(model, impl="jax")
q = np.random.default_rng(0).uniform(-1, 1, ({states}, model.nq)).astype(np.float32)
many = jax.vmap(lambda q: one.replace(qpos=q))(q)
lap()
step = jax.jit(jax.vmap(mjx.step, (None, 0))).lower(on, many).compile()
found = {{"compiled": lap()}}
jax.block_until_ready(step(on, many))
lap()
times = []
for _ in range({repeats}):
    jax.block_until_ready(step(on, many))
    times.append(lap())
found["run"] = min(times) / {states}
print(json.dumps(found))
"""
STEP = """
import jax
import hinge, hinge.jax
robot = {robot}
q = np.random.default_rng(0).uniform(-1, 1, ({states}, robot.nq)).astype(np.float32)
v = np.zeros(({states}, robot.nv), np.float32)
jax.block_until_ready(jax.jit(lambda x: x + 1)(q))
lap()
step = hinge.jax.step(robot, 1e-3, integrator="semi-implicit")
compiled = jax.jit(step).lower(q, v, v).compile()
found = {{"compiled": lap()}}
jax.block_until_ready(compiled(q, v, v))
lap()
times = []
for _ in range({repeats}):
    jax.block_until_ready(compiled(q, v, v))
    times.append(lap())
found["run"] = min(times) / {states}
print(json.dumps(found))
"""


def tables(options: Options) -> Iterator[Table]:
    """Yield tables of first gradients, of batches, and of a step beside MJX's."""
    if find_spec("jax") is None:
        yield Table("Functions of JAX", ("robot",), [], ["JAX is not installed."])
        return
    names = NAMES[:1] if options.quick else NAMES
    yield _first(names, 1 if options.quick else 3)
    yield _batches(names, options)
    yield _steps(options)


def _first(names: tuple[str, ...], times: int) -> Table:
    columns = ("robot", "states", "cache", "first call [s]", "second call [ms]")
    title = f"First jit(vmap(grad)) of forward dynamics by q, qd and tau, least of {times} fresh processes"
    table = Table(title, columns, notes=["JAX is imported and has compiled another function before."])
    for name in names:
        for states in (8, 1024):
            script = FIRST.format(robot=_made(name), states=states)
            cold, warm = list[dict[str, float]](), list[dict[str, float]]()
            for _ in range(times):
                with tempfile.TemporaryDirectory() as folder:
                    for found in (cold, warm):
                        found.append(fresh(script, {"HINGE_CACHE_DIR": folder}))
            for cache, found in (("cold", least(cold)), ("warm", least(warm))):
                table.rows.append([name, states, cache, found["first"], 1e3 * found["second"]])
    return table


def _made(name: str) -> str:
    if name == "panda":
        return "hinge.robots.panda()"
    return f"hinge.load({str(subject(name).path)!r}, floating=True, strict=None)"


def _batches(names: tuple[str, ...], options: Options) -> Table:
    columns = ("robot", "quantity", "precision", "threads", "Hinge", "JAX", "share")
    notes = [
        "ns for a state; share: Hinge's time by JAX's. Arrays are JAX's before; Hinge makes new ones, too.",
        "gradient: of cᵀ forward_dynamics by q, qd and tau, hinge.vjp and jit(vmap(vjp)).",
    ]
    table = Table(f"A batch of {STATES} states, native and as a function of JAX", columns, notes=notes)
    for name in names:
        for quantity in ("forward_dynamics", "inverse_dynamics", "gradient"):
            for precision in ("float64", "float32"):
                table.rows.append(_batch_row(subject(name), quantity, precision, options))
    return table


def _batch_row(on: Subject, quantity: str, precision: str, options: Options) -> list[Cell]:
    import jax  # noqa: PLC0415 (an extra)

    one_thread()
    jax.config.update("jax_enable_x64", True)
    s = on.states(STATES) if precision == "float64" else on.states(STATES).single_precision()
    arrays = (s.q, s.qd, s.tau)
    native, ours = _pair(on, quantity)
    compiled = jax.jit(ours)
    given = [jax.device_put(x) for x in (*arrays, *([s.qdd] if quantity == "gradient" else []))]
    here = (*arrays, *([s.qdd] if quantity == "gradient" else []))

    def in_jax() -> object:
        return jax.block_until_ready(compiled(*given))

    found, wanted = np.asarray(jax.tree.leaves(in_jax())[-1]), np.asarray(native(*here))
    bad = wrong(quantity, found, wanted, BOUND if precision == "float64" else 1e-3)
    times = race(
        [Contender("Hinge", lambda: native(*here), STATES), Contender("JAX", in_jax, STATES)],
        budget=options.budget / 2,
    )
    cells = (nanoseconds(times["Hinge"]), bad or nanoseconds(times["JAX"]), times["Hinge"] / times["JAX"])
    return [on.name, quantity.replace("_", " "), precision, 1, *cells]


def _pair(on: Subject, quantity: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return Hinge's function and that of JAX."""
    import jax  # noqa: PLC0415 (an extra)

    import hinge.jax  # noqa: PLC0415 (an extra)

    if quantity != "gradient":
        return partial(getattr(hinge, quantity), on.robot), hinge.jax.function(quantity, on.robot)
    f, pull = hinge.jax.function("forward_dynamics", on.robot), hinge.vjp("forward_dynamics", on.robot)

    def gradient(q: Any, v: Any, u: Any, c: Any) -> Any:
        return jax.vjp(f, q, v, u)[1](c)

    return lambda *x: pull(*x)[1]["tau"], gradient


def _steps(options: Options) -> Table:
    columns = ("robot", "what", "states", "compiled in [s]", "one state [µs]")
    notes = ["panda, float32, contacts, limits and damping off, semi-implicit Euler, all in jit(vmap(step))."]
    table = Table("A step of a simulation beside MJX's", columns, notes=notes)
    found = fresh(STEP.format(robot="hinge.robots.panda()", states=STATES, repeats=20), _cold())
    table.rows.append(["panda", "hinge.jax.step", STATES, found["compiled"], 1e6 * found["run"]])
    if find_spec("mujoco") is None or find_spec("mujoco.mjx") is None:
        table.notes.append("MJX is not installed.")
        return table
    states = 64 if options.quick else 1024
    try:
        found = fresh(MJX.format(xml=_xml(), states=states, repeats=2), limit=LIMIT)
        table.rows.append(["panda", "MJX", states, found["compiled"], 1e6 * found["run"]])
    except TimeoutError as error:
        table.notes.append(f"MJX: {error}.")
    except RuntimeError as error:
        table.notes.append(f"MJX: {str(error).splitlines()[-1]}")
    return table


def _cold() -> dict[str, str]:
    return {"HINGE_CACHE": "0"}


def _xml() -> str:
    """Return panda as MJCF, with all switched off that Hinge's step does not have."""
    import mujoco  # noqa: PLC0415 (an extra)

    spec = mujoco.MjSpec.from_file(str(subject("panda").path))
    spec.option.disableflags = int(
        mujoco.mjtDisableBit.mjDSBL_CONTACT
        | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        | mujoco.mjtDisableBit.mjDSBL_LIMIT
        | mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    )
    spec.compile()
    return spec.to_xml()


if __name__ == "__main__":
    command.run({"jax": tables})
