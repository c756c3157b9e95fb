"""What is exported: code with names for its arrays, and what judges it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from hinge.algebra import Expr
from hinge.dynamics import compile, derivative_parts, refuse_closures
from hinge.errors import ArgumentError
from hinge.model import Robot, neutral, random_configuration
from hinge.spatial import Array
from hinge.sweeps import Code, DenseCall
from hinge.targets import TARGETS, Executable

#: Names of results that are the value of a verb of another name.
RESULTS = {
    "forward_dynamics": "qdd", "inverse_dynamics": "tau", "mass_matrix": "M",
    "mass_matrix_inverse": "M_inverse", "jacobian": "J", "bias_force": "tau", "coriolis_force": "tau",
    "gravity_force": "tau",
}  # fmt: skip
#: Verbs of derivatives, and what they are taken by.
DERIVATIVES = {
    "forward_dynamics_derivatives": ("forward_dynamics", ("q", "qd", "tau")),
    "inverse_dynamics_derivatives": ("inverse_dynamics", ("q", "qd")),
}
#: Functions of arrays that solve the law of contact by an iteration.
ITERATING = ("contact_dynamics", "contact_step", "collide")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@runtime_checkable
class Coded(Protocol):
    """What has code of its own: a compiled function, or a step of a simulation."""

    @property
    def code(self) -> Code:
        """The traced code."""
        ...

    def program(self) -> Executable:
        """Return the code as a program."""
        ...


#: A verb, an expression, what `compile` takes, or what has code.
Asked: TypeAlias = str | Expr | Sequence[str] | Mapping[str, Any] | Coded
#: From a source of random numbers to the inputs of a state.
Samples: TypeAlias = Callable[[np.random.Generator], Mapping[str, Array]]


@dataclass(frozen=True, eq=False)
class Routine:
    """A function to be exported: its name, its code, and names, lengths and shapes of its arrays.

    `inputs` and `results` have the caller's names; results of the code are in the same order. `given` is what
    it was made from, `judge` a program of the same code.
    """

    name: str
    given: Any
    code: Code
    judge: Executable
    inputs: Mapping[str, int]
    results: Mapping[str, tuple[int, ...]]
    samples: Samples | None = None

    @property
    def shown(self) -> dict[str, str]:
        """The caller's names of results by those of the code."""
        return dict(zip((r.name for r in self.code.results), self.results, strict=True))

    def states(self, robot: Robot, dtype: str, count: int) -> list[tuple[dict[str, Array], dict[str, Array]]]:
        """Return inputs and what Hinge's program says of them, at the neutral configuration first."""
        rng = np.random.default_rng(0)
        found: list[tuple[dict[str, Array], dict[str, Array]]] = []
        for k in range(count):
            if self.samples is None:
                given = {n: rng.standard_normal(size) for n, size in self.inputs.items()}
                given["q"] = neutral(robot) if k == 0 else random_configuration(robot, rng)
            else:
                given = dict(self.samples(rng))
            arrays = {n: given.get(n, np.zeros(0)).astype(dtype) for n in self.code.inputs}
            wanted = map(np.asarray, self.judge(arrays).values())
            found.append(({n: arrays[n] for n in self.inputs}, dict(zip(self.results, wanted, strict=True))))
        return found


def routines(what: Asked, robot: Robot, options: Mapping[str, Any]) -> list[Routine]:
    """Return what is asked for by name; `options` are those of `compile`."""
    if options.get("parameters") and all(isinstance(x, Coded) for x in _by_name(what).values()):
        raise ArgumentError(
            "parameters: expected a verb or an expression, got code that is made already; give "
            "parameters=[…] to hinge.compile, or inputs=[…] to hinge.sim.step"
        )
    return [_routine(name, given, robot, options) for name, given in _by_name(what).items()]


def checked_name(argument: str, name: Any, example: str) -> str:
    """Return a name of C, or raise an ArgumentError."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise ArgumentError(f"{argument}: expected a name of C, such as {example!r}, got {name!r}")
    return name


def _by_name(what: Any) -> dict[str, Any]:
    if isinstance(what, str):
        return {what: what}
    if isinstance(what, Expr):
        return {"value": what}
    if isinstance(what, Coded):
        return {getattr(what, "name", "value"): what}
    if isinstance(what, Mapping):
        found: dict[str, Any] = dict(what)
    elif isinstance(what, Iterable):
        found = {name: name for name in what}
    else:
        raise ArgumentError(
            "what: expected a verb, an expression, what hinge.compile or hinge.sim.step returns, or several "
            f"of these by name, got {what!r}"
        )
    if not found:
        raise ArgumentError("what: expected at least one verb or expression, got none")
    for name in found:
        checked_name("what", name, "speed")
    return found


def _routine(name: str, given: Any, robot: Robot, options: Mapping[str, Any]) -> Routine:
    own = given if isinstance(given, Coded) else _compiled(given, robot, options)
    of = getattr(own, "robot", robot)
    if of is not robot:
        raise ArgumentError(f"{name}: expected code of robot {robot.name!r}, got that of {of.name!r}")
    code = own.code
    _refuse_laws(code, name)
    inputs = {n: len(code.inputs[n]) for n in sorted(code.inputs, key=_order) if code.inputs[n]}
    results = _results(name, code, inputs)
    given = next(iter(given.values())) if isinstance(given, Mapping) and len(results) == 1 else given
    return Routine(name, given, code, own.program(), inputs, results, getattr(own, "samples", None))


def _results(name: str, code: Code, inputs: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of results by the caller's names, no two of which are the same."""
    found: dict[str, tuple[int, ...]] = {}
    for r in code.results:
        checked_name(name, r.name, "speed")
        usual = _shown(r.name, inputs)
        found[f"{r.name}_out" if usual in found else usual] = r.values.shape
    for n in inputs:
        checked_name(name, n, "speed")
    if len(found) < len(code.results):
        names = ", ".join(repr(r.name) for r in code.results)
        raise ArgumentError(f"{name}: expected results whose names differ by more than '_out', got {names}")
    return found


def _compiled(given: Any, robot: Robot, options: Mapping[str, Any]) -> Any:
    if isinstance(given, str) and given in ITERATING:
        raise _iterates(given)
    if isinstance(given, str) and given in DERIVATIVES:
        refuse_closures(robot, given, "closed_dynamics, whose derivatives are not exported,")
        given = derivative_parts(*DERIVATIVES[given], flexible=robot.is_flexible)
    return compile(given, robot, target=_quickest(), **options)


def _quickest() -> str:
    """Return the first target that is available, whose bits code with fused products has."""
    return next(name for name, target in TARGETS.items() if target.available())


def _refuse_laws(code: Code, name: str) -> None:
    """Refuse code that answers a law of contact, which iterates."""
    if any(isinstance(c, DenseCall) and c.law is not None for c in code.calls):
        raise _iterates(name)


def _iterates(name: str) -> ArgumentError:
    return ArgumentError(
        f"{name}: expected straight-line code, got a verb that answers a law of contact, whose "
        "iterations are not exported; export closed_dynamics, or forward_dynamics with forces of contacts as "
        "nodes=[…]"
    )


def _order(name: str) -> tuple[int, str]:
    """Return where an input stands among the arguments."""
    known = ("q", "qd", "qdd", "tau")
    return (known.index(name), "") if name in known else (len(known), name)


#: How names of results begin that are fine as they are.
_PLAIN = ("by_", "qdd", "forces", "next_", "jac_")


def _shown(name: str, inputs: Mapping[str, int]) -> str:
    """Return the name of a result among the arguments."""
    found = RESULTS.get(name, name if name.startswith(_PLAIN) else f"{name}_out")
    found = "value" if found == "value_out" else found
    return f"{found}_out" if found in inputs else found
