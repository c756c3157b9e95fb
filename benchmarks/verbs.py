"""How long does each verb take for one state, from Python, and how much of that is its kernel?"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.harness import Contender, Options, clock, race, repeated
from benchmarks.subjects import States, one_thread, subject
from benchmarks.tables import Cell, Table
from hinge.dynamics.cached import PROGRAMS

#: What a call from Python may take beside its kernel, in µs.
WANTED = 3.0
#: How often a kernel runs in one call, so that the call costs nothing, and the seconds of a turn of the race:
#: short, so that some turns run undisturbed.
TURNS, SECONDS = 500, 5e-4


def tables(options: Options) -> Iterator[Table]:
    """Yield two tables of talos: every verb, and its first call."""
    one_thread()
    on = subject("talos")
    columns = ("verb", "from Python", "kernel", "the rest", f"within {WANTED:g}")
    table = Table("Every verb, one state of talos: µs from Python, float64", columns)
    for name, (f, args) in calls(on.robot, on.tip, on.states(1)[0]).items():
        table.rows.append(_row(name, f, args, options))
    table.notes.append("kernel: the machine code for one state, called again and again without Python.")
    yield table
    columns = ("verb", "no cache", "no cache, waiting for final code", "final code from the cache")
    first = Table("First calls of every verb, one state of talos: seconds", columns)
    frames = [j.child for j in on.robot.joints if j.nv][:30]
    s = on.states(1)[0]
    every = calls(on.robot, on.tip, s)
    every["operational_inverse_inertia, 30 frames"] = (
        hinge.operational_inverse_inertia,
        (on.robot, s.q, frames),
    )
    with TemporaryDirectory() as folder, _with_variable("HINGE_CACHE_DIR", folder):
        first.rows += [[name, *_first_calls(f, args)] for name, (f, args) in every.items()]
    yield first


@contextmanager
def _with_variable(name: str, value: str) -> Generator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _first_calls(f: Callable[..., Any], args: tuple[Any, ...]) -> list[float]:
    """Return the seconds of first calls: with quick code, with final code, and with final code on disk."""
    found: list[float] = []
    for cache, wait in (("0", "0"), ("1", "1"), ("1", "0")):
        hinge.dynamics.forget()
        with _with_variable("HINGE_CACHE", cache), _with_variable("HINGE_WAIT", wait):
            found.append(clock(lambda: f(*args)))
    return found


def _row(name: str, f: Callable[..., Any], args: tuple[Any, ...], options: Options) -> list[Cell]:
    hinge.dynamics.forget()
    for _ in range(3):
        f(*args)
    kernels = [_kernel(str(k), key) for k, key in enumerate(PROGRAMS)]
    calls = repeated(name, f, args, seconds=SECONDS)
    times = race([calls, *kernels], budget=0.1 * options.budget)
    call, kernel = 1e6 * times[name], 1e6 * sum(times[k.name] for k in kernels)
    return [name, call, kernel, call - kernel, "yes" if call - kernel <= WANTED else "no"]


def _kernel(name: str, key: Any) -> Contender:
    """Return the code of a program for one state as a contender, run again and again without Python."""
    program: Any = next(f for k in [key] if (f := PROGRAMS.get(k))).program()
    piece, signature = program.piece("float64", 1), program.signature
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=n) for n in signature.inputs.values()]
    arrays += [np.empty(shape) for shape in signature.results.values()]
    addresses = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
    strides = (ctypes.c_int64 * len(arrays))()
    outputs = ctypes.byref(addresses, len(signature.inputs) * ctypes.sizeof(ctypes.c_void_p))
    space = piece.work_space()

    def run(turns: int) -> None:
        assert arrays  # the addresses are theirs
        piece.run(addresses, strides, outputs, space.ctypes.data, 0, turns)

    once = min(clock(lambda: run(10)) for _ in range(5)) / 10
    turns = max(10, min(TURNS, round(SECONDS / once)))
    return Contender(name, lambda: run(turns), turns)


def calls(robot: hinge.Robot, tip: str, s: States) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return every verb with its arguments."""
    q, qd, qdd, tau = s.arrays
    found: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
    for arrays, names in _PLAIN.items():
        given = tuple({"q": q, "qd": qd, "qdd": qdd, "tau": tau}[n] for n in arrays.split())
        found |= {n: (getattr(hinge, n), (robot, *given)) for n in names.split()}
    for arrays, names in _AT_FRAMES.items():
        given = tuple({"q": q, "qd": qd, "qdd": qdd, "x": np.ones(6)}[n] for n in arrays.split())
        found |= {n: (getattr(hinge, n), (robot, *given, tip)) for n in names.split()}
    live, joints = hinge.Live(robot), [j.name for j in robot.joints if j.nv == 1]
    found["forward_kinematics, all bodies"] = hinge.forward_kinematics, (robot, q)
    found["velocities, all bodies"] = hinge.velocities, (robot, q, qd)
    found["hybrid_dynamics"] = _hybrid, (robot, q, qd, tau, qdd, joints)
    found["partitioned"] = hinge.partitioned, (robot, q, joints)
    found["Live.forward_dynamics"] = live.forward_dynamics, (q, qd, tau)
    found["Live.inverse_dynamics"] = live.inverse_dynamics, (q, qd, qdd)
    found["Live.mass_matrix"] = live.mass_matrix, (q,)
    found["Live.center_of_mass"] = live.center_of_mass, (q,)
    return found


def _hybrid(robot: hinge.Robot, q: Any, qd: Any, tau: Any, qdd: Any, joints: list[str]) -> Any:
    return hinge.hybrid_dynamics(robot, q, qd, tau=tau, qdd=qdd, prescribed=joints)


#: Verbs by the arrays that they take.
_PLAIN = {
    "q qd tau": "forward_dynamics acceleration_shares filter_quantities",
    "q qd qdd": "inverse_dynamics inertial_regressor floating_inverse_dynamics hinge_forces",
    "q qd": "bias_force coriolis_force kinetic_energy momentum centroidal_momentum centroidal_momentum_bias "
    "quasi_velocities passive_force",
    "q tau": "mass_times mass_solve from_quasi_velocities",
    "q": "mass_matrix mass_matrix_inverse gravity_force potential_energy center_of_mass "
    "centroidal_momentum_matrix mass_factors mass_root mass_root_inverse log_determinant "
    "disturbance_jacobian",
}
_AT_FRAMES = {
    "q": "forward_kinematics jacobian generalized_jacobian operational_inverse_inertia operational_inertia "
    "consistent_inverse operational_gravity jacobian_row_products jacobian_column_products",
    "q qd": "velocities jacobian_bias classical_jacobian_bias operational_bias classical_operational_bias",
    "q qd qdd": "accelerations classical_accelerations",
    "q x": "force_correction jacobian_solve",
}

if __name__ == "__main__":
    command.run({"verbs": tables})
