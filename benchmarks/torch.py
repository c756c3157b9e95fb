"""What does it cost to call Hinge from PyTorch, with gradients and without?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

import hinge
from benchmarks import command
from benchmarks.harness import Contender, Options, race
from benchmarks.subjects import subject
from benchmarks.tables import Table, ratio

BATCH = 4096
COLUMNS = ("robot", "states", "precision", "what", "torch, µs", "Hinge, µs", "torch / Hinge")
#: What a call of a few numbers costs PyTorch itself, without us.
OWN = "three products of PyTorch's own, with their gradients"


def tables(options: Options) -> Iterator[Table]:
    """Yield one table."""
    table = Table("Forward dynamics from PyTorch: time of a call, one thread", COLUMNS)
    if find_spec("torch") is None:
        table.notes.append("PyTorch is not installed: pip install torch")
        yield table
        return
    import torch  # noqa: PLC0415 (an extra)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    hinge.set_threads(1)
    for name in ("panda",) if options.quick else ("panda", "talos"):
        robot = subject(name).robot
        for count, dtype in ((1, "float64"), (BATCH, "float64"), (BATCH, "float32")):
            table.rows += _rows(robot, count, dtype, options)
    torch.set_num_threads(threads)
    hinge.set_threads(None)
    table.notes += [
        "Gradients by q, qd and tau: beside them stands the verb with `hinge.vjp`, whose program gives the "
        "value once more.",
        f"{OWN} take {_own(options) * 1e6:.1f} µs: autograd's share of a gradient.",
    ]
    yield table


def _rows(robot: hinge.Robot, count: int, dtype: str, options: Options) -> list[list[Any]]:
    """Return values and gradients of so many states."""
    import torch  # noqa: PLC0415 (an extra)

    from hinge.torch import function  # noqa: PLC0415 (an extra)

    f, pull = function("forward_dynamics", robot), hinge.vjp("forward_dynamics", robot)
    rng, size = np.random.default_rng(0), () if count == 1 else (count,)
    q = hinge.random_configuration(robot, rng, size=size).astype(dtype)
    arrays = [q, *rng.standard_normal((3, *size, robot.nv)).astype(dtype)]
    *x, c = (torch.tensor(y) for y in arrays)
    y = [z.clone().requires_grad_() for z in x]
    ways: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "value": (lambda: f(*x), lambda: hinge.forward_dynamics(robot, *arrays[:3])),
        "value, gradient": (
            lambda: torch.autograd.grad(f(*y), y, c),
            lambda: (hinge.forward_dynamics(robot, *arrays[:3]), pull(*arrays)),
        ),
    }
    _agree(ways["value, gradient"], robot, dtype)
    found: list[list[Any]] = []
    for what, (theirs, ours) in ways.items():
        times = race([Contender("torch", theirs), Contender("hinge", ours)], budget=options.budget)
        found.append([
            robot.name, count, dtype, what, f"{times['torch'] * 1e6:.4g}", f"{times['hinge'] * 1e6:.4g}",
            ratio(times["torch"], times["hinge"]),
        ])  # fmt: skip
    return found


def _agree(both: tuple[Callable[[], Any], Callable[[], Any]], robot: hinge.Robot, dtype: str) -> None:
    """Raise an error if gradients by forces are not the same."""
    theirs, (_, (_, ours)) = both[0]()[2].numpy(), both[1]()
    bound = 1e-9 if dtype == "float64" else 1e-2
    if np.abs(theirs - ours["tau"]).max() > bound * max(1.0, np.abs(ours["tau"]).max()):
        raise AssertionError(f"{robot.name}, {dtype}: gradients differ")


def _own(options: Options) -> float:
    """Return the time of a gradient that is PyTorch's own."""
    import torch  # noqa: PLC0415 (an extra)

    x = [torch.rand(7, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    c = torch.ones(7, dtype=torch.float64)

    def run() -> Any:
        return torch.autograd.grad(x[0] * x[1] * x[2], x, c)

    return race([Contender("own", run)], budget=options.budget / 4)["own"]


if __name__ == "__main__":
    command.run({"torch": tables})
