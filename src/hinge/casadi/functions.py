"""Functions of CasADi, made of the kernels that other targets run, with our derivatives attached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hinge.casadi.extras import casadi
from hinge.casadi.graphs import evaluated
from hinge.errors import ArgumentError
from hinge.export import Asked, Coded, Routine, jacobian_of, known_jacobian, routines
from hinge.model import Robot, checked_robot


def function(
    what: Asked,
    robot: Robot,
    *,
    jacobian: bool | None = None,
    name: str | None = None,
    nodes: Sequence[str] = (),
    expressed: str = "body",
    parameters: Sequence[str] = (),
) -> Any:
    """Return a verb, an expression or a step of a simulation as a `casadi.Function`.

    `what` is a verb, an expression, several expressions by name, what `compile` takes or returns, or
    `hinge.sim.step(robot, …)`; `nodes`, `expressed` and `parameters` as in `compile`. Inputs and outputs have
    Hinge's names, and what is always zero is a structural zero. It is a function of SX, and takes MX, SX and
    numbers.

    With `jacobian`, the default where the result is one vector or number, the function has our derivatives as
    its Jacobian, by coordinates of q (nq): CasADi takes them instead of differentiating the graph. They are
    those of q ↦ f(q / |q|) for quaternions. With False CasADi differentiates.
    """
    robot = checked_robot(robot)
    options = {"nodes": list(nodes), "expressed": expressed, "parameters": list(parameters)}
    r = routine_of(what, robot, name, options)
    own = derivatives_of(r, robot, options, jacobian)
    inputs = symbols(r.inputs)
    found = evaluated(r.code, inputs)
    more: dict[str, Any] = {}
    if own is not None:
        there = symbols({f"out_{n}": x.numel() for n, x in zip(r.results, found, strict=True)})
        by = symbols(r.inputs)
        blocks = dict(zip(own.results, evaluated(own.code, by), strict=True))
        more = attached(r.name, {**by, **there}, blocks)
    return casadi().Function(r.name, list(inputs.values()), found, list(inputs), list(r.results), more)


def attached(name: str, inputs: Mapping[str, Any], blocks: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that give a function this Jacobian: blocks by inputs, the results among them."""
    values = list(inputs.values()), list(blocks.values())
    jac = casadi().Function(f"jac_{name}", *values, list(inputs), list(blocks))
    return {"custom_jacobian": jac, "jac_penalty": 0, "never_inline": True}


def symbols(lengths: Mapping[str, int]) -> dict[str, Any]:
    """Return a new vector of symbols for each name."""
    ca = casadi()
    return {n: ca.SX.sym(n, size) for n, size in lengths.items()}


def routine_of(what: Any, robot: Robot, name: str | None, options: Mapping[str, Any]) -> Routine:
    """Return what is asked for as one routine, under its own name unless another is given."""
    own = getattr(what, "name", "value") if isinstance(what, Coded) else "value"
    usual: str = what if isinstance(what, str) else own
    asked: dict[str, Any] = {usual if name is None else name: what}
    (found,) = routines(asked, robot, options)
    return found


def derivatives_of(r: Routine, robot: Robot, options: Mapping[str, Any], asked: Any) -> Routine | None:
    """Return the Jacobian to attach, if it is asked for or known."""
    if asked is not None and not isinstance(asked, bool):
        raise ArgumentError(f"jacobian: expected True, False, or None for where there is one, got {asked!r}")
    if asked is None:
        return known_jacobian(r, robot, options)
    return jacobian_of(r, robot, options) if asked else None
