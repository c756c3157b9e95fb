"""A robot as a system for optimal control: ẋ = f(x, u) and the tangent space of its states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from hinge.binding import Formula, Row, jointwise
from hinge.casadi.extras import casadi
from hinge.casadi.functions import attached, derivatives_of, symbols
from hinge.casadi.graphs import evaluated
from hinge.dynamics import expression
from hinge.export import Routine, routines
from hinge.model import Robot, checked_robot, units
from hinge.model.joints import JointType
from hinge.sweeps import Block


class ControlModel(NamedTuple):
    """A robot as ẋ = f(x, u), x = (q, qd) of length nx and u = tau; changes of x have length ndx = 2 nv.

    `plus(x, dx)` is x ⊕ dx, along `integrate` in q, and `minus(x, y)` the dx with y ⊕ dx = x.
    """

    f: Any
    plus: Any
    minus: Any
    nx: int
    ndx: int
    nu: int


def dynamics(robot: Robot, *, passive: bool = False, jacobian: bool | None = None) -> ControlModel:
    """Return a robot's motion and the tangent space of its states as functions of CasADi.

    f has our derivatives as its Jacobian, as in `function`. With `passive` the springs, dampers and friction
    of the joints act. A robot with closures moves with them. Joints that roll have no ⊕ by a formula and are
    refused.
    """
    robot = checked_robot(robot)
    parts = expression("forward_dynamics", passive=passive, closed=bool(robot.closures))
    (r,) = routines({"dynamics": parts}, robot, {})
    own = derivatives_of(r, robot, {}, jacobian)
    return ControlModel(
        _motion(robot, r, own),
        _tangent(robot, "plus", {"q": "q", "dq": "qd"}, {"next": "q"}, _plus),
        _tangent(robot, "minus", {"q": "q", "from": "q"}, {"dq": "qd"}, _minus),
        robot.nq + robot.nv,
        2 * robot.nv,
        robot.nv,
    )


def _motion(robot: Robot, r: Routine, own: Routine | None) -> Any:
    """Return f(x, u) with its Jacobian."""
    ca, nq, nv = casadi(), robot.nq, robot.nv

    def rates(x: Any) -> Any:
        inputs: dict[str, Row] = {"q": "q", "qd": "qd"}
        code = jointwise(robot, inputs, {"rate": "q"}, _rate)
        return evaluated(code, {"q": x[:nq], "qd": x[nq:]})[0]

    def given(x: Any, u: Any) -> dict[str, Any]:
        return {"q": x[:nq], "qd": x[nq:], "tau": u}

    sizes = {"x": nq + nv, "u": nv}
    x, u = symbols(sizes).values()
    found = ca.vertcat(rates(x), evaluated(r.code, given(x, u))[0])
    more: dict[str, Any] = {}
    if own is not None:
        at = symbols({**sizes, "out_xdot": nq + nv})
        y, v = at["x"], at["u"]
        blocks = dict(zip(own.results, evaluated(own.code, given(y, v)), strict=True))
        by_q, by_qd, by_tau = (blocks[f"jac_qdd_{n}"] for n in ("q", "qd", "tau"))
        by_x = ca.vertcat(ca.jacobian(rates(y), y), ca.horzcat(by_q, by_qd))
        by_u = ca.vertcat(ca.SX(nq, nv), by_tau)
        more = attached("dynamics", at, {"jac_xdot_x": by_x, "jac_xdot_u": by_u})
    return ca.Function("dynamics", [x, u], [found], ["x", "u"], ["xdot"], more)


def _tangent(
    robot: Robot, name: str, inputs: Mapping[str, Row], results: Mapping[str, Row], formula: Formula
) -> Any:
    """Return ⊕ or ⊖ of states: a formula of q by joints, and sum or difference of velocities."""
    ca = casadi()
    for unit in units(robot):
        here = unit.type.neutral()
        if unit.type.nv and unit.type.smooth_integrate(here, np.zeros(unit.type.nv)) is None:
            raise NotImplementedError(
                f"joint {unit.name!r}: x ⊕ dx is not supported for {unit.type.kind} joints, which have no "
                "formula for it; use hinge.casadi.function('forward_dynamics', robot)"
            )
    lengths = {n: robot.nq if row == "q" else robot.nv for n, row in inputs.items()}
    names = {"plus": ("x", "dx"), "minus": ("x", "y")}[name]
    whole = symbols({n: k + robot.nv for n, k in zip(names, lengths.values(), strict=True)})
    parts = zip(lengths.items(), whole.values(), strict=True)
    of_q, of_v = dict[str, Any](), list[Any]()
    for (n, length), x in parts:
        of_q[n], rate = x[:length], x[length:]
        of_v.append(rate)
    moved = evaluated(jointwise(robot, inputs, results, formula), of_q)[0]
    speed = of_v[0] + of_v[1] if name == "plus" else of_v[0] - of_v[1]
    out = {"plus": "next", "minus": "dx"}[name]
    return ca.Function(name, list(whole.values()), [ca.vertcat(moved, speed)], list(whole), [out])


def _rate(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
    return {"rate": kind.rate(x["q"], x["qd"])}


def _plus(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
    found = kind.smooth_integrate(x["q"], x["dq"])
    assert found is not None, f"{kind.kind} joints are refused before"
    return {"next": found}


def _minus(kind: JointType, x: Mapping[str, Block]) -> Mapping[str, Block]:
    found = kind.smooth_difference(x["from"], x["q"])
    assert found is not None, f"{kind.kind} joints are refused before"
    return {"dq": found}
