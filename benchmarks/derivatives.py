"""How long do derivatives take, next to Pinocchio's, and gradients, next to the verb itself?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.agreement import BOUND, BOUND_SINGLE, few, sample, wrong
from benchmarks.entrants import NATIVE, PYTHON, Entrants, blamed, doubts, entrants, judged
from benchmarks.fresh import fresh, least
from benchmarks.harness import Contender, Options, quickest, race, repeated
from benchmarks.peers import Peer
from benchmarks.peers.pinocchio_python import Pinocchio
from benchmarks.subjects import DERIVATIVES, NAMES, States, Subject, one_thread, subject
from benchmarks.tables import Cell, Table, nanoseconds, ratio
from hinge.dynamics import compiled
from hinge.dynamics.derivatives import derivative_parts
from hinge.spatial import Array

COLUMNS = (
    "robot", "nv", "Hinge, batch", "float32", "Hinge, one", NATIVE, PYTHON, "pin call",
    "pin / batch", "call / one", "native / batch", "native / one",
)  # fmt: skip
GRADIENTS = (
    "robot", "forward dynamics, batch", "gradient, batch", "ratio", "forward dynamics, one", "gradient, one",
    "ratio of one",
)  # fmt: skip
#: States in a batch, at most, and bytes of its results: three matrices of a humanoid are 35 kB a state, and
#: memory for more than the caches hold costs more than the derivatives. States in a peer's loop.
BATCH, BYTES, LOOP = 2048, 4_000_000, 20
#: Operations of the prototype that the design was made with: inverse dynamics by q and qd, forward dynamics
#: by q, qd and tau, and the gradient of forward dynamics.
EXPECTED = {"panda": (5017, 9729, 3997), "talos": (30225, 123309, 24889)}

SCRIPT = """
import hinge
from benchmarks.subjects import subject
robot = subject({name!r}).robot
q, v = hinge.neutral(robot), np.zeros(robot.nv)
hinge.{verb}
start = time.process_time()
hinge.{verb}(robot, q, v, v)
took = time.process_time() - start
qs = np.broadcast_to(q, (8, len(q)))
start = time.process_time()
hinge.{verb}(robot, qs, v, v)
print(json.dumps({{"one": took, "batch": time.process_time() - start}}))
"""


def tables(options: Options) -> Iterator[Table]:
    """Yield a table for the derivatives of each verb, one of gradients, of operations and of first calls."""
    one_thread()
    names = ("panda", "talos") if options.quick else NAMES
    fields = {name: entrants(subject(name)) for name in names}
    for verb, (_, wrt) in DERIVATIVES.items():
        rows: list[Sequence[Cell]] = [_row(subject(name), fields[name], verb, options) for name in names]
        title = f"{verb.replace('_', ' ').capitalize()} by {', '.join(wrt)}: ns per state, one thread"
        yield Table(title, COLUMNS, rows, [*_notes(options), *doubts()])
    gradients: list[Sequence[Cell]] = [_gradient(subject(name), options) for name in names]
    note = "gradient: hinge.vjp, which gives the value too; ratio: to the time of forward dynamics."
    yield Table("Gradients of forward dynamics by q, qd and tau: ns per state", GRADIENTS, gradients, [note])
    yield _operations(names)
    yield _first_calls(("panda",) if options.quick else ("panda", "talos"), 1 if options.quick else 3)


def _notes(options: Options) -> list[str]:
    return [
        f"Hinge: one call with up to {min(BATCH, options.states)} states, fewer where their results have",
        f"more than {BYTES / 1e6:g} MB, and one with a single state; the value is among the results. Peers:",
        f"{LOOP} states in a loop, few, so that runs are short; pin's call for one state beside it.",
        f"Checked: Hinge agrees with Pinocchio to {BOUND:g}, in float32 to {BOUND_SINGLE:g}. Pinocchio's",
        "derivative by accelerations, the mass matrix, comes beside the others; Hinge's comes if asked for.",
    ]


def _batch(on: Subject, options: Options) -> int:
    return min(BATCH, options.states, BYTES // (3 * 8 * on.robot.nv**2))


def _stacked(found: Any, wrt: Sequence[str]) -> Array:
    return np.stack([getattr(found, name) for name in wrt], axis=-3)


def _row(on: Subject, field: Entrants, verb: str, options: Options) -> list[Cell]:
    s, wrt = on.states(_batch(on, options)), DERIVATIVES[verb][1]
    f, args = on.call(verb, s)
    one, of_one = on.call(verb, s[0])
    peers = [p for p in field.all if isinstance(p, Pinocchio) or p.name.startswith("native")]
    odd = judged(_stacked(f(*args), wrt), verb, s, peers)
    again = _stacked(one(*of_one), wrt)[None]
    bad = blamed(odd) or wrong(verb, again, _stacked(f(*args), wrt)[:1])
    single = on.call(verb, s.single_precision())[1]
    rough = _stacked(f(*single), wrt)[sample(len(s))]
    off = wrong(verb, rough, _stacked(f(*on.call(verb, few(s))[1]), wrt), BOUND_SINGLE)
    mine = [
        Contender("batch", partial(f, *args), len(s)),
        Contender("float32", partial(f, *single), len(s)),
        repeated("one", one, of_one),
    ]
    loops = [p.contender(verb, s[:LOOP]) for p in peers]
    times = race([*mine, *loops, *_calls(peers, verb, s)], budget=options.budget)
    many, float32, alone = (bad or nanoseconds(times[n]) for n in ("batch", "float32", "one"))
    native, pin, _ = field.cells(times, odd)
    call = nanoseconds(times.get("pin call"))
    ratios = [ratio(pin, many), ratio(call, alone), ratio(native, many), ratio(native, alone)]
    return [on.name, on.robot.nv, many, off or float32, alone, native, pin, call, *ratios]


def _calls(peers: Sequence[Peer], verb: str, s: States) -> list[Contender]:
    """Return Pinocchio's call for one state from Python."""
    return [
        quickest([repeated("pin call", f, args) for f, args in p.single(verb, s)])
        for p in peers
        if isinstance(p, Pinocchio)
    ]


def _gradient(on: Subject, options: Options) -> list[Cell]:
    s = on.states(_batch(on, options))
    c = np.random.default_rng(2).standard_normal(s.qd.shape)
    pull = hinge.vjp("forward_dynamics", on.robot)
    given = (s.q, s.qd, s.tau)
    checked = few(States(*(np.asarray(x) for x in (s.q, s.qd, c, s.tau))))
    found = pull(checked.q, checked.qd, checked.tau, checked.qdd)[1]
    d = hinge.forward_dynamics_derivatives(on.robot, checked.q, checked.qd, checked.tau)
    off = [
        wrong("gradient", found[n], (checked.qdd[:, None] @ getattr(d, n))[:, 0], 1e3 * BOUND)
        for n in ("q", "qd", "tau")
    ]
    bad = next((x for x in off if x), "")
    first = (*(x[0] for x in given), c[0])
    times = race(
        [
            Contender("verb", partial(hinge.forward_dynamics, on.robot, *given), len(s)),
            Contender("pull", partial(pull, *given, c), len(s)),
            repeated("verb one", hinge.forward_dynamics, (on.robot, *first[:3])),
            repeated("pull one", pull, first),
        ],
        budget=options.budget,
    )
    verb, grad, verb_one, grad_one = (
        bad or nanoseconds(times[n]) for n in ("verb", "pull", "verb one", "pull one")
    )
    return [on.name, verb, grad, ratio(grad, verb), verb_one, grad_one, ratio(grad_one, verb_one)]


def _operations(names: Sequence[str]) -> Table:
    """Return counted operations next to those that the design expects."""
    columns = (
        "robot",
        "∂ inverse dynamics",
        "expected",
        "∂ forward dynamics",
        "expected",
        "gradient",
        "expected",
    )
    table = Table("Operations of derivatives", columns)
    for name in names:
        robot = subject(name).robot
        counts = [
            compiled(robot, derivative_parts(verb.removesuffix("_derivatives"), wrt)).code.operations().total
            for verb, (_, wrt) in DERIVATIVES.items()
        ]
        counts.append(hinge.vjp("forward_dynamics", robot).compiled.code.operations().total)
        wanted = EXPECTED.get(name, (None, None, None))
        table.rows.append([name, *(x for pair in zip(counts, wanted, strict=True) for x in pair)])
    return table


def _first_calls(names: Sequence[str], times: int) -> Table:
    title = f"First calls of derivatives, processor seconds, least of {times} fresh processes without a cache"
    table = Table(title, ("robot", "verb", "one state [s]", "then a batch [s]"))
    for name in names:
        for verb in DERIVATIVES:
            script = SCRIPT.format(name=name, verb=verb)
            found = least([fresh(script, {"HINGE_CACHE": "0"}) for _ in range(times)])
            table.rows.append([name, verb.replace("_", " "), found["one"], found["batch"]])
    return table


if __name__ == "__main__":
    command.run({"derivatives": tables})
