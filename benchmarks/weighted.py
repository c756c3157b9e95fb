"""Weighted trees: a smoother of 300 steps, a thousand models of 50 steps, next to NumPy; time and error."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import hinge
from benchmarks import command
from benchmarks.harness import Contender, Options, race, repeated
from benchmarks.subjects import one_thread
from benchmarks.tables import Table
from hinge.algebra import H, M, logdet, phi, tau
from hinge.spatial import Array

STATES, DATA = 4, 2
#: How near results must come to dense conditioning.
BOUND = 1e-9
mass = H @ phi @ M @ phi.T @ H.T
SMOOTHED = phi @ M @ phi.T @ H.T @ mass.inv() @ tau
LIKELIHOOD = {"quadratic": tau.T @ mass.inv() @ tau, "log_determinant": logdet(mass)}


class System(NamedTuple):
    """x(t + 1) = F x(t) + w, y(t) = C x(t) + v, with covariances Q and R, and that of the first state."""

    F: Array
    C: Array
    Q: Array
    R: Array
    first: Array


def random_systems(count: int, seed: int = 1) -> list[System]:
    """Return stable systems with random matrices."""
    rng = np.random.default_rng(seed)

    def positive(n: int) -> Array:
        a = rng.standard_normal((n, n))
        return a @ a.T / n + 0.3 * np.eye(n)

    found: list[System] = []
    for _ in range(count):
        f = rng.standard_normal((STATES, STATES))
        f *= 0.95 / np.abs(np.linalg.eigvals(f)).max()
        noise = positive(STATES), positive(DATA), positive(STATES)
        found.append(System(f, rng.standard_normal((DATA, STATES)), *noise))
    return found


def matrices(system: System, steps: int) -> dict[str, Array]:
    """Return E, H and M of a chain whose root is the last step: blocks [x; v]."""
    n = STATES + DATA
    e, m = np.zeros((steps, n, n)), np.zeros((steps, n, n))
    e[1:, :STATES, :STATES] = system.F
    m[:, :STATES, :STATES], m[:, STATES:, STATES:] = system.Q, system.R
    m[-1, :STATES, :STATES] = system.first
    h = np.hstack([system.C, np.eye(DATA)])
    return {"E": e, "H": np.broadcast_to(h, (steps, *h.shape)), "M": m}


def tree_of(system: System, steps: int) -> hinge.WeightedTree:
    """Return the chain as a tree."""
    x = matrices(system, steps)
    return hinge.WeightedTree(range(-1, steps - 1), [None, *x["E"][1:]], list(x["H"]), list(x["M"]))


def conditioned(system: System, y: Array) -> Array:
    """Return the states (steps, n) given data by dense matrices, in the order of time."""
    steps = len(y)
    carry = np.kron(np.eye(steps, k=-1), system.F)
    gather = np.linalg.inv(np.eye(len(carry)) - carry)
    noise = np.kron(np.eye(steps), system.Q)
    noise[:STATES, :STATES] = system.first
    spread = gather @ noise @ gather.T
    c = np.kron(np.eye(steps), system.C)
    data = c @ spread @ c.T + np.kron(np.eye(steps), system.R)
    return (spread @ c.T @ np.linalg.solve(data, y.ravel())).reshape(steps, STATES)


def states_of(found: Array, steps: int) -> Array:
    """Return the states (…, steps, n) in the order of time."""
    return found.reshape(*found.shape[:-1], steps, STATES + DATA)[..., ::-1, :STATES]


def tables(options: Options) -> Iterator[Table]:
    """Yield a table of one model, and one of many."""
    one_thread()
    yield _one(options, 60 if options.quick else 300)
    yield _many(options, 100 if options.quick else 1000, 50)


def _error(found: Array, wanted: Array) -> str | float:
    off = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    return off if off <= BOUND else f"wrong: {off:.1e}"


def _one(options: Options, steps: int) -> Table:
    """Return the table of one model whose matrices are known when it is compiled."""
    (system,) = random_systems(1)
    y = np.random.default_rng(2).standard_normal((steps, DATA))
    data, tree = y[::-1].ravel().copy(), tree_of(system, steps)
    dense = conditioned(system, y)
    smooth = hinge.compile(SMOOTHED, tree, wait=True)
    whole = hinge.compile({"state": SMOOTHED, **LIKELIHOOD}, tree, wait=True)
    given = hinge.compile(SMOOTHED, tree, given=True, wait=True)
    weights = given.weights(**matrices(system, steps))
    numpy_target = hinge.compile(SMOOTHED, tree, target="numpy")
    book = partial(hinge.reference.smoother, y, *system)
    wide = {"tau": np.tile(data, (256, 1))}
    results: dict[str, tuple[Any, Array]] = {
        "one call": (partial(smooth, tau=data), states_of(smooth(tau=data), steps)),
        "with the likelihood": (partial(whole, tau=data), states_of(whole(tau=data)["state"], steps)),
        "matrices of the call": (
            partial(given, tau=data, weights=weights),
            states_of(given(tau=data, weights=weights), steps),
        ),
        "256 sets of data, each": (partial(smooth, **wide), states_of(smooth(**wide)[0], steps)),
        "target numpy": (partial(numpy_target, tau=data), states_of(numpy_target(tau=data), steps)),
        "RTS smoother in NumPy": (book, book().states),
        "dense conditioning in NumPy": (partial(conditioned, system, y), dense),
    }
    quick = [repeated(n, run, ()) for n, (run, _) in results.items() if "NumPy" not in n and "256" not in n]
    entries = [c for c in quick if c.name != "target numpy"]
    entries += [Contender(n, run) for n, (run, _) in results.items() if "NumPy" in n or n == "target numpy"]
    entries.append(Contender("256 sets of data, each", results["256 sets of data, each"][0], 256))
    times = race(entries, budget=2 * options.budget)
    table = Table(
        f"Smoothing of {steps} steps of {STATES} states, one thread",
        ("how", "time [µs]", "off dense conditioning"),
    )
    for name, (_, found) in results.items():
        table.rows.append([name, 1e6 * times[name], _error(found, dense)])
    table.notes.append("The RTS smoother and the likelihood compute more than states: covariances, log det.")
    return table


def _many(options: Options, count: int, steps: int) -> Table:
    """Return the table of models that come with matrices of their own."""
    systems = random_systems(count, 3)
    y = np.random.default_rng(4).standard_normal((count, steps, DATA))
    data = y[:, ::-1].reshape(count, -1)
    each = [matrices(s, steps) for s in systems]
    sets = {n: np.stack([m[n] for m in each]) for n in "EHM"}
    f = hinge.compile(SMOOTHED, tree_of(systems[0], steps), given=True, wait=True)
    weights = f.weights(**sets)
    found = states_of(f(weights=weights, tau=data), steps)
    some = range(0, count, max(1, count // 20))
    wanted = np.stack([conditioned(systems[k], y[k]) for k in some])

    def loop() -> Array:
        return np.stack([hinge.reference.smoother(y[k], *systems[k]).states for k in some])

    off = _error(found[list(some)], wanted)
    results: dict[str, tuple[Contender, str | float]] = {
        "matrices checked before": (Contender("a", partial(f, weights=weights, tau=data)), off),
        "matrices checked in the call": (Contender("b", partial(f, tau=data, **sets)), off),
        "RTS smoother in NumPy, a loop": (
            Contender("c", loop, len(some)),
            _error(loop(), wanted),
        ),
    }
    times = race([c for c, _ in results.values()], budget=2 * options.budget)
    table = Table(
        f"{count} models of {steps} steps, each with its own matrices, one thread",
        ("how", "time of all [ms]", "off dense conditioning"),
    )
    for name, (c, error) in results.items():
        table.rows.append([name, 1e3 * times[c.name] * (count if c.states > 1 else 1), error])
    return table


if __name__ == "__main__":
    command.run({"weighted": tables})
