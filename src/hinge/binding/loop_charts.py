"""Code for changes of the independent rates of embedded loops, between the steps of a simulation.

Robots that differ in the independent rates of their loops only have the same q, and rates of joints that are
functions of each other's: those of `shown` joints are W(q) v, and forces at these joints count as Wᵀ τ.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, cast

import numpy as np

from hinge.kernels import Graph, apply, finish
from hinge.model import LoopMotion, Robot, units
from hinge.sweeps import Block, Call, Code, Result, Slot

#: What is above is no number of a motion.
BIG = 1e30
#: The quality of a chart below which a state looks for another one, and the share of the quality to which a
#: lower floor rises.
FLOOR, RISE = 0.1, 0.1


def watched_step(robot: Robot) -> Code:
    """Return code that ends a step: it keeps the state before, where independent rates have ended.

    Inputs are the state before and after the step, (q0, qd0) and (q, qd); `floor`, for each loop the least
    `LoopMotion.quality` that is enough; `alive`, 1 or 0; `wait`, the steps until the state begins to move.
    Results are the state to go on from; `alive`, `wait` and `floor` for the next step, a floor that was
    lowered rises to FLOOR again with the quality; and `mark`, which is not finite once `alive` is 0: after a
    step that leads to numbers that are not finite, or to less quality.
    """
    loops = [u for u in units(robot) if isinstance(u.type, LoopMotion)]

    def formula(x: Mapping[str, Block]) -> Mapping[str, Block]:
        good: Any = 1.0
        for y in (*x["q"], *x["qd"]):
            good = good * apply("choose", apply("abs", y), BIG, 1.0, 0.0)
        floors = list[Any]()
        for unit, least in zip(loops, x["floor"], strict=True):
            found = cast("LoopMotion", unit.type).quality(unit.q_of(x["q"]))
            good = good * apply("choose", least, found, 1.0, 0.0)
            risen = apply("max", least, RISE * found)
            floors.append(apply("choose", risen, FLOOR, risen, FLOOR))
        alive, wait = x["alive"][0], x["wait"][0]
        still = apply("choose", 0.5, wait, 1.0, 0.0)
        later = apply("choose", 0.5, wait, alive, alive * good)
        moves = later * (1.0 - still)

        def kept(new: Block, old: Block) -> Block:
            return _block([apply("choose", 0.5, moves, n, o) for n, o in zip(new, old, strict=True)])

        return {
            "q": kept(x["q"], x["q0"]),
            "qd": kept(x["qd"], x["qd0"]),
            "alive": _block([later]),
            "wait": _block([wait - still]),
            "floor": kept(_block(floors), x["floor"]),
            "mark": _block([1.0 / later]),
        }

    state = {"q0": robot.nq, "qd0": robot.nv, "q": robot.nq, "qd": robot.nv}
    return _code({**state, "floor": len(loops), "alive": 1, "wait": 1}, formula)


def qualities(robot: Robot) -> Code:
    """Return code of the `LoopMotion.quality` of each loop."""
    loops = [u for u in units(robot) if isinstance(u.type, LoopMotion)]

    def formula(x: Mapping[str, Block]) -> Mapping[str, Block]:
        found = [cast("LoopMotion", u.type).quality(u.q_of(x["q"])) for u in loops]
        return {"quality": _block(found)}

    return _code({"q": robot.nq}, formula)


def shown_rates(robot: Robot, other: Robot) -> Code:
    """Return code of the rates W(q) v of another robot that moves alike, from q and qd of this one."""

    def formula(x: Mapping[str, Block]) -> Mapping[str, Block]:
        rates = _rates(robot, x["q"], x["qd"])
        return {"rates": _block([rates[key] for key in _keys(other)])}

    return _code({"q": robot.nq, "qd": robot.nv}, formula)


def carried_forces(robot: Robot, other: Robot) -> Code:
    """Return code of the forces Wᵀ τ at the rates of a robot, from q and forces of one that moves alike."""

    def formula(x: Mapping[str, Block]) -> Mapping[str, Block]:
        keys, found = _keys(other), np.zeros(robot.nv, dtype=object)
        for unit in units(robot):
            loop = unit.type if isinstance(unit.type, LoopMotion) else None
            for k, at in enumerate(unit.qd):
                if loop is None:
                    found[at] = x["tau"][keys.index((unit.name, k))]
                    continue
                rates = _of_loop(loop, unit.q_of(x["q"]), np.eye(loop.nv)[k])
                found[at] = sum(r * x["tau"][keys.index(key)] for key, r in rates.items() if key in keys)
        return {"tau": found}

    return _code({"q": robot.nq, "tau": other.nv}, formula)


def _keys(robot: Robot) -> list[tuple[str, int]]:
    """Return for each rate of a robot its joint and which of the joint's rates it is."""
    found: list[tuple[str, int]] = [("", 0)] * robot.nv
    for j in robot.rated:
        for k in range(j.nv):
            found[j.qd_slice.start + k] = j.name, k
    return found


def _rates(robot: Robot, q: Block, qd: Block) -> dict[tuple[str, int], Any]:
    """Return the rates of all joints that have some."""
    found: dict[tuple[str, int], Any] = {}
    for unit in units(robot):
        own = unit.qd_of(qd)
        if isinstance(unit.type, LoopMotion):
            found |= _of_loop(unit.type, unit.q_of(q), own)
        else:
            found |= {(unit.name, k): x for k, x in enumerate(own)}
    return found


def _of_loop(loop: LoopMotion, q: Block, v: Block) -> dict[tuple[str, int], Any]:
    """Return the rates of the joints of a loop."""
    rates, g = loop.all_rates(q, v), loop.geometry
    return {
        (j.name, k): rates[s.start + k]
        for j, s in zip(g.joints, g.v_at, strict=True)
        for k in range(s.stop - s.start)
    }


def _code(inputs: Mapping[str, int], formula: Callable[[Mapping[str, Block]], Mapping[str, Block]]) -> Code:
    """Return the code of one kernel, from rows of numbers to rows of numbers."""
    graph, given, at = Graph(), dict[str, tuple[int, ...]](), 0
    slots, rows = dict[Hashable, int](), dict[str, Block]()
    for name, length in inputs.items():
        given[name] = tuple(range(at, at + length))
        slots |= {(name, k): at + k for k in range(length)}
        rows[name] = _block([graph.input((name, k)) for k in range(length)])
        at += length
    shown = formula(rows)
    kernel = finish(graph, {(name, k): x for name, row in shown.items() for k, x in enumerate(row)})
    stores = {o.key: at + n for n, o in enumerate(kernel.outputs)}
    call = Call(kernel, tuple(slots[key] for key in kernel.inputs), (), tuple(stores.values()), -1, 0)
    results = tuple(
        Result(name, _block([Slot(stores[name, k]) for k in range(len(row))])) for name, row in shown.items()
    )
    return Code((call,), given, results, at + len(stores))


def _block(values: list[Any]) -> Block:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
