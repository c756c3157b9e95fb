"""The verb `compile`: expressions, a derivation or a verb by name as a function for a robot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, overload

from hinge.algebra import Expr, Space
from hinge.binding import Expressed
from hinge.dynamics.bound import compile_bound
from hinge.dynamics.expressions import Parts
from hinge.dynamics.function import Compiled
from hinge.dynamics.rows import kept_rows
from hinge.dynamics.weighted import CompiledTree, compile_tree
from hinge.errors import ArgumentError
from hinge.model import Robot, WeightedTree
from hinge.pipeline import Compilation, Derivation, Expressions

__all__ = ["compilation", "compile"]


def compilation(
    parts: Parts,
    robot: Robot,
    *,
    nodes: Iterable[str] = (),
    expressed: Expressed = "body",
    parameters: Iterable[str] = (),
) -> Compilation:
    """Return the passes of the compiler for the parts of a verb, none of which is evaluated yet."""
    found = compile_bound(
        parts,
        robot,
        rows=kept_rows,
        nodes=nodes,
        expressed=expressed,
        parameters=parameters,
        later=True,
    )
    return found.compilation()


@overload
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
    wait: bool = False,
    parameters: Iterable[str] = (),
    sizes: Mapping[Space, int] | None = None,
) -> Compiled: ...
@overload
def compile(
    expressions: Expressions | Derivation | Parts | str,
    robot: WeightedTree,
    *,
    blocks: Mapping[str, Expr] | None = None,
    target: str | None = None,
    shape: str | None = None,
    lanes: int | None = None,
    wait: bool = False,
    sizes: Mapping[Space, int] | None = None,
    given: bool | Iterable[str] = False,
) -> CompiledTree: ...
def compile(
    expressions: Expressions | Derivation | Parts | str,
    robot: Robot | WeightedTree,
    *,
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
    given: bool | Iterable[str] = False,
) -> Any:
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
    (states at once) override what is chosen. A large program begins with machine code that is made quickly
    and runs half as fast, until better code is made in the background; with `wait` the first call waits for
    that, as with HINGE_WAIT=1 in the environment.

    `parameters` names numbers of the model that each call gives instead of the robot, one set for all states
    or one for each: "inertias" (…, bodies, 10), m, h and the upper triangle of I row by row of every body in
    its own frame, in the layout of `inertial_parameters`; "placements" (…, bodies, 7), the unit quaternion
    and the position of every joint on its parent, as `placement_parameters`; "rotors" (…, nv), reflected
    inertias, as `robot.reflected_inertia`; "friction" (…, nv, 3), damping, friction and stiffness, as
    `friction_parameters`, for the verbs with the joints' own forces. `check_parameters` judges them.

    In place of the robot a `WeightedTree` has matrices E, H and M of its own, and neither q nor frames:
    `f(tau=…)`, see `CompiledTree`. With `given` they come with each call, all of them or those that it names,
    such as ("M",).
    """
    if isinstance(robot, WeightedTree):
        robots = {"nodes": tuple(nodes), "parameters": tuple(parameters)}
        robots |= {"expressed": expressed if expressed != "body" else (), "prescribed": prescribed}
        for name, value in robots.items():
            if value is None or value != ():
                raise ArgumentError(
                    f"{name}: expected none for a WeightedTree, got {value!r}; it is for robots"
                )
        options = {"target": target, "shape": shape, "lanes": lanes, "wait": wait}
        return compile_tree(expressions, robot, blocks=blocks, sizes=sizes, given=given, **options)
    if given is not False:
        raise ArgumentError(
            f"given: expected False for a Robot, got {given!r}; it is for a WeightedTree: numbers of a robot "
            "come with each call by parameters=…"
        )
    return compile_bound(
        expressions,
        robot,
        rows=kept_rows,
        blocks=blocks,
        nodes=nodes,
        expressed=expressed,
        prescribed=prescribed,
        target=target,
        shape=shape,
        lanes=lanes,
        wait=wait,
        parameters=parameters,
        sizes=sizes,
    )
