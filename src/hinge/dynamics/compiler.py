"""The verb `compile`: expressions, a derivation or a verb by name as a function for a robot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hinge.algebra import B, Body, Expr, Joint, Leaf, Q, Space, f_ext, friction, leaves, tau_j
from hinge.binding import PARAMETERS, Expressed, bind
from hinge.dynamics.expressions import Parts, expression
from hinge.dynamics.function import Compiled
from hinge.dynamics.requirements import needs_of
from hinge.errors import ArgumentError
from hinge.model import Robot, refuse_text
from hinge.pipeline import Derivation, Expressions, named
from hinge.targets import checked_target

__all__ = ["compile"]


def compile(
    expressions: Expressions | Derivation | Parts | str,
    robot: Robot,
    *,
    blocks: Mapping[str, Expr] | None = None,
    nodes: Iterable[str] = (),
    expressed: Expressed = "body",
    prescribed: Iterable[str] | None = (),
    target: str | None = None,
    shape: str | None = None,
    lanes: int | None = None,
    parameters: Iterable[str] = (),
    sizes: Mapping[Space, int] | None = None,
) -> Compiled:
    """Return expressions, a derivation of them, or a verb by name, as a function for a robot.

    A verb with options is what `hinge.dynamics.expression(name, passive=True, base=True)` gives.

    `blocks` are block-diagonal operators whose blocks are results too, by name: (…, bodies, 6, 6) for one
    such as P in the frames of the bodies, (…, 6, nv) for G, a column for each degree of freedom, (…, nv, nv)
    for D. They are taken as they stand, on any tree.

    `nodes` are the frames that the Node space stands for, in order; `expressed` the axes that Q shows them
    in; `prescribed` the joints that are active in hybrid dynamics, None if a call says so for each coordinate
    by `held`, zeros and ones (…, nv). Several expressions share their work.

    Letters of your own are arguments of a call: vectors, block-diagonal operators, and dense ones between any
    spaces, as matrices (…, n, m), one for all states or one for each. `sizes` says how many numbers spaces
    have that the robot does not know, such as {Constraint: 3}.

    `target` is one of `hinge.targets.TARGETS`, "llvm" or "numpy", the best that is there unless given. For
    "llvm", `shape` "U" (unrolled), "H" (a loop for each run of bodies) or "R" (every kernel once) and `lanes`
    (states at once) override what is chosen.

    `parameters` names numbers of the model that each call gives instead of the robot, one set for all states
    or one for each: "inertias" (…, bodies, 10), m, h and the upper triangle of I row by row of every body in
    its own frame, in the layout of `inertial_parameters`; "placements" (…, bodies, 7), the unit quaternion
    and the position of every joint on its parent, as `placement_parameters`; "rotors" (…, nv), reflected
    inertias, as `robot.reflected_inertia`; "friction" (…, nv, 3), damping, friction and stiffness, as
    `friction_parameters`, for the verbs with the joints' own forces. `check_parameters` judges them.
    """
    if target is not None:
        checked_target("target", target)
    if isinstance(expressions, str):
        expressions = expression(expressions)
    readout = expressions.readout if isinstance(expressions, Parts) else None
    if isinstance(expressions, Parts):
        expressions, blocks = expressions.expressions, {**expressions.blocks, **(blocks or {})}
    form = expressions if isinstance(expressions, Derivation) else None
    given = named(expressions) if not isinstance(expressions, Derivation) else expressions.given
    shown = _checked_blocks(blocks, given) if blocks else form.blocks if form else {}
    letters = {x for e in given.values() for x in leaves(e)}
    needs = needs_of([*given.values(), *shown.values()], checked_parameters(parameters, letters))
    binding = bind(robot, needs, nodes=nodes, expressed=expressed, prescribed=prescribed, sizes=sizes)
    if expressed != "body" and Q not in letters:
        raise ArgumentError(
            f"expressed: expected 'body', got {expressed!r}, which nothing in the expression shows; put Q "
            "before what leads to nodes, as in Q @ B.T @ phi.T @ H.T"
        )
    if robot.bodies and not binding.nodes and B in letters and f_ext not in letters:
        raise ArgumentError(
            "nodes: expected names of frames, which the expression leads to, got none; give nodes=['tool']"
        )
    form = replace(form, blocks=shown) if form and blocks else form
    return Compiled(
        given,
        binding,
        blocks=shown,
        derivation=form,
        readout=readout,
        target=target,
        shape=shape,
        lanes=lanes,
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


def checked_parameters(parameters: Iterable[str], letters: set[Leaf]) -> list[str]:
    """Return the names of parameters that are inputs of each call, or raise an ArgumentError."""
    refuse_text("parameters", parameters)
    found = list(parameters)
    for name in found:
        if name not in _PARAMETERS:
            raise ArgumentError(f"parameters: expected names among {', '.join(_PARAMETERS)}, got {name!r}")
    if friction.name in found and tau_j not in letters:
        raise ArgumentError(
            f"parameters: {friction.name!r} is not in the expression; use a verb with the joints' own "
            "forces, such as expression('forward_dynamics', passive=True), or τⱼ itself"
        )
    return found
