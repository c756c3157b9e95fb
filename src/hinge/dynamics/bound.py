"""Expressions bound to a robot: what `compile` does once the rows of closures are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from hinge.algebra import (
    Ac,
    Ask,
    B,
    Body,
    Expr,
    Joint,
    Leaf,
    M,
    Q,
    Space,
    b,
    b_m,
    closed,
    f_ext,
    friction,
    inverted,
    leaf_of,
    leaves,
    tau_j,
)
from hinge.binding import PARAMETERS, ROW_INPUTS, Expressed, RobotBinding, Touching, bind
from hinge.dynamics.expressions import Parts, expression
from hinge.dynamics.function import Compiled
from hinge.dynamics.requirements import needs_of
from hinge.errors import ArgumentError
from hinge.model import Robot, joint_rows, refuse_text
from hinge.pipeline import Derivation, Expressions, named
from hinge.targets import checked_target

#: The rows of closures that are kept, for each closure; None keeps all.
Kept: TypeAlias = tuple[tuple[int, ...], ...] | None


def compile_bound(
    expressions: Expressions | Derivation | Parts | str,
    robot: Robot,
    *,
    rows: Callable[[Robot, bool], Kept],
    blocks: Mapping[str, Expr] | None = None,
    nodes: Iterable[str] = (),
    expressed: Expressed = "body",
    prescribed: Iterable[str] | None = (),
    target: str | None = None,
    shape: str | None = None,
    lanes: int | None = None,
    wait: bool = False,
    parameters: Iterable[str] = (),
    sizes: Mapping[Space, int] | None = None,
    later: bool = False,
) -> Compiled:
    """Return what `compile` returns; with `later` nothing is derived before it is asked for.

    `rows` finds the independent rows of closures, with True for ones that may be open, where they are solved.
    """
    if target is not None:
        checked_target("target", target)
    if isinstance(expressions, str):
        expressions = expression(expressions)
    readout, all_rows, touch, coulomb = None, False, "", False
    if isinstance(expressions, Parts):
        readout, all_rows = expressions.readout, expressions.all_rows
        touch, coulomb = expressions.touch, expressions.coulomb
        if expressions.reader is not None:
            readout = expressions.reader(robot)
    given, shown, form = asked_for(expressions, blocks)
    letters = {x for e in given.values() for x in leaves(e)}
    needs = needs_of([*given.values(), *shown.values()], checked_parameters(parameters, letters))
    solves = not all_rows and (_solves_closures(given.values()) or bool(touch and robot.closures))
    kept = rows(robot, needs.gives(closed)) if solves else None
    binding = bind(
        robot,
        needs,
        nodes=nodes,
        expressed=expressed,
        prescribed=prescribed,
        sizes=sizes,
        rows=kept,
        touch=touch,
        coulomb=coulomb,
    )
    _refuse_open(robot, letters, touch)
    _refuse_unused(binding, letters)
    how: dict[str, Any] = {"target": target, "shape": shape, "lanes": lanes, "wait": wait, "later": later}
    return Compiled(given, binding, blocks=shown, derivation=form, readout=readout, **how)


class Asked(NamedTuple):
    """What is asked for: expressions and blocks by name, and how to compute them if that is known."""

    given: dict[str, Expr]
    blocks: dict[str, Expr]
    form: Derivation | None


def asked_for(expressions: Expressions | Derivation | Parts, blocks: Mapping[str, Expr] | None) -> Asked:
    """Return what a caller asks for, checked."""
    if isinstance(expressions, Parts):
        blocks = {**expressions.blocks, **(blocks or {})}
        expressions = expressions.form or expressions.expressions
    form = expressions if isinstance(expressions, Derivation) else None
    given = dict(named(expressions) if not isinstance(expressions, Derivation) else expressions.given)
    shown = _checked_blocks(blocks, given) if blocks else dict(form.blocks) if form else {}
    return Asked(given, shown, replace(form, blocks=shown) if form and blocks else form)


def _refuse_rigid_forms(robot: Robot, letters: set[Leaf]) -> None:
    """Refuse expressions that hold for rigid bodies alone: regressors, and derivatives without those of M
    and b.
    """
    if any(Ask.REGRESSOR in x.card.asks for x in letters):
        raise NotImplementedError(
            "robot: regressors are not supported for robots with flexible bodies, such as "
            f"{robot.name!r}, whose "
            "forces are not linear in ten numbers of each body; lock the modes first, hinge.lock(robot, at)"
        )
    kinds = {x.origin.kind for x in letters if x.origin is not None}
    has_inertia = any(Ask.INERTIA in x.card.asks for x in letters)
    if "coriolis" in kinds or (
        has_inertia and kinds & {"ad", "bar"} and not any(map(_moves_points, letters))
    ):
        raise NotImplementedError(
            f"robot: {robot.name!r} has flexible bodies, whose M and b depend on q, and the expression "
            "has the "
            "cross products of a derivative without theirs; take hinge.derivative(…, flexible=True)"
        )


def _moves_points(x: Leaf) -> bool:
    """Tell whether a letter is the derivative by q of M or b."""
    o = x.origin
    return (
        o is not None and o.kind in ("partial", "along") and o.slot is None and leaf_of(o.of) in (M, b, b_m)
    )


def _refuse_unused(binding: RobotBinding, letters: set[Leaf]) -> None:
    """Refuse axes that nothing shows, and nodes that are missing."""
    if binding.expressed != "body" and Q not in letters:
        raise ArgumentError(
            f"expressed: expected 'body', got {binding.expressed!r}, which nothing in the expression shows; "
            "put Q before what leads to nodes, as in Q @ B.T @ phi.T @ H.T"
        )
    if binding.robot.bodies and not binding.nodes and B in letters and f_ext not in letters:
        raise ArgumentError(
            "nodes: expected names of frames, which the expression leads to, got none; give nodes=['tool']"
        )


def _solves_closures(expressions: Iterable[Expr]) -> bool:
    """Tell whether expressions have an inverse of something with the map A of closures."""
    return any(Ac in leaves(part) for e in expressions for part in inverted(e))


def _refuse_open(robot: Robot, letters: set[Leaf], touch: Touching) -> None:
    """Refuse letters of closures and contacts for a robot that has none, and of rigid bodies for flexible
    ones.
    """
    if robot.is_flexible:
        _refuse_rigid_forms(robot, letters)
    if robot.closures or (touch and robot.contacts) or (touch == "stops" and len(joint_rows(robot))):
        return
    if touch == "stops":
        raise ArgumentError(
            f"limits: expected a robot with joint limits, dry friction, contacts or closures, got "
            f"{robot.name!r}, which has none of these; any integrator but 'stepping' moves it"
        )
    if touch:
        raise ArgumentError(
            f"robot: expected one with contacts, got {robot.name!r}, which has none; say what may touch with "
            "hinge.with_contacts(robot, contacts), or hinge.on_ground(robot, frames)"
        )
    for x in letters:
        if Ask.CLOSURES in x.card.asks:
            raise ArgumentError(
                f"robot: expected one with closures, which {x} asks for, got {robot.name!r}, which has none; "
                "close its loops with hinge.close(robot, inner, outer)"
            )


def _checked_blocks(blocks: Mapping[str, Expr], beside: Mapping[str, Expr]) -> dict[str, Expr]:
    if not isinstance(blocks, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"blocks: expected a dict of operators by name, got {type(blocks).__name__}")
    for name, e in blocks.items():
        if not isinstance(e, Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"blocks[{name!r}]: expected an expression, got {type(e).__name__}")
        if name in beside or not name.isidentifier():
            raise ArgumentError(
                f"blocks: expected Python identifiers that are not among {', '.join(beside)}, got {name!r}"
            )
        if not {e.range, e.domain} <= {Body, Joint}:
            raise ArgumentError(
                f"blocks[{name!r}]: expected an operator between Body and Joint, got {e}: "
                f"{e.range} ← {e.domain}"
            )
    return dict(blocks)


_PARAMETERS = [x.name for x in PARAMETERS]
_ROWS = [x.name for x in ROW_INPUTS]


def _has_own_forces(x: Leaf) -> bool:
    """Tell whether a letter is τⱼ, or a derivative of it."""
    return x is tau_j or (x.origin is not None and x.origin.kind == "partial" and x.origin.of is tau_j)


def checked_parameters(parameters: Iterable[str], letters: set[Leaf]) -> list[str]:
    """Return the names of parameters that are inputs of each call, or raise an ArgumentError."""
    refuse_text("parameters", parameters)
    found = list(parameters)
    for name in found:
        if name in _ROWS and any(Ask.CLOSURES in x.card.asks for x in letters):
            continue
        if name not in _PARAMETERS:
            raise ArgumentError(f"parameters: expected names among {', '.join(_PARAMETERS)}, got {name!r}")
    if friction.name in found and not any(map(_has_own_forces, letters)):
        raise ArgumentError(
            f"parameters: {friction.name!r} is not in the expression; use a verb with the joints' own "
            "forces, such as expression('forward_dynamics', passive=True), or τⱼ itself"
        )
    return found
