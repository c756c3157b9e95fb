"""Loops embedded: a robot whose qd has the independent rates of its loops only.

Which rates are independent, which rows give the others and in which order they are eliminated is decided here
once, by numbers, at configurations that close. The loops are then data of the robot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hinge.dynamics.cached import compiled
from hinge.dynamics.charts import Chart
from hinge.errors import ArgumentError
from hinge.model import (
    Closure,
    Robot,
    SoftFinger,
    as_configuration,
    checked_robot,
    closure_of,
    loop_path,
    opened,
    refuse_text,
    release_loops,
    with_loops,
)
from hinge.spatial import Array, ArrayLike

__all__ = ["LoopCosts", "embed_loops", "loop_costs"]


def embed_loops(
    robot: Robot,
    *,
    independent: Iterable[str] | None = None,
    near: ArrayLike | None = None,
    closures: Iterable[str] | None = None,
) -> Robot:
    """Return the robot with its loops embedded: q is that of all joints, qd has the independent rates only.

    The joints of a loop together behave as one joint: q̇ = G(q) v, and configurations stay closed without
    drift. All verbs hold for the reduced velocities; tau is Gᵀ τ of all joints, so that motors belong on
    independent joints. The closures are part of `robot.loops` and have no forces of their own: ask
    `closed_dynamics` of the cut robot for these.

    `independent` names joints, whole ones, whose rates determine all others of their loops; those that are
    best conditioned are taken for loops of which none is named. `near` (nq,) is a configuration near which
    the loops close, which `neutral` then shows. Coordinates at a dead centre do not determine the others:
    results are NaN there, and a warning tells if the motion leads to one. `closures` names those to be
    embedded, where others stay cut. `release_loops` undoes it, `carry_state` converts states, `loop_costs`
    counts what both ways cost.
    """
    refuse_text("independent", independent, "joint names")
    refuse_text("closures", closures, "closure names")
    cut = release_loops(checked_robot(robot))
    if not cut.closures:
        raise ArgumentError(
            f"robot: expected one with closures, got {robot.name!r}, which has none; use hinge.close"
        )
    wanted = None if independent is None else list(independent)
    start = None if near is None else _one(cut, near)
    inside = (
        [c.name for c in cut.closures] if closures is None else [closure_of(cut, n).name for n in closures]
    )
    groups = _groups(cut, inside)
    _refuse_strangers(cut, groups, wanted)
    loops = [Chart(cut, places, start).loop(wanted) for places in groups]
    return with_loops(cut, loops, [c for c in cut.closures if c.name not in inside])


def _one(robot: Robot, near: ArrayLike) -> Array:
    found = as_configuration(robot, near, "near")
    if found.ndim != 1:
        raise ArgumentError(f"near: expected one configuration ({robot.nq},), got shape {found.shape}")
    return found


def _groups(robot: Robot, inside: Sequence[str]) -> list[list[int]]:
    """Return those of these closures that share moving joints, by their places."""
    groups: list[tuple[set[int], list[int]]] = []
    coupled = {n for c in robot.couplings for n in (c.joint, c.master)} if robot.is_embedded else set[str]()
    for place, c in enumerate(robot.closures):
        if c.name not in inside:
            continue
        _refuse_type(c)
        path = {i for i in loop_path(robot, c) if robot.joints[i].nv}
        for i in path:
            if robot.joints[i].flexes:
                raise NotImplementedError(
                    "robot: loops through flexible bodies are not embedded, and that of closure "
                    f"{c.name!r} has "
                    f"{robot.joints[i].name!r}; keep it a closure, which forward_dynamics solves for, or "
                    "leave "
                    "its name out"
                )
            if robot.joints[i].name in coupled:
                raise ArgumentError(
                    f"robot: joint {robot.joints[i].name!r} of the loop of closure {c.name!r} is in an "
                    "embedded coupling; use release_couplings(robot) first, or keep the loop cut"
                )
        if not path:
            raise ArgumentError(
                f"robot: no joint moves closure {c.name!r}; remove it with opened(robot, [{c.name!r}])"
            )
        apart = [g for g in groups if not g[0] & path]
        joined = [g for g in groups if g[0] & path]
        groups = [*apart, (path.union(*(g[0] for g in joined)), [*(k for g in joined for k in g[1]), place])]
    return sorted(sorted(places) for _, places in groups)


def _refuse_type(closure: Closure) -> None:
    """Refuse closures that configurations do not determine."""
    if isinstance(closure.joint, SoftFinger) or closure.joint.kind == "screw":
        raise ArgumentError(
            f"robot: closure {closure.name!r} cannot be embedded: a {closure.joint.kind} has no error of "
            "position that is unique; keep it cut, name the others in closures=[…], or cut another joint"
        )


def _refuse_strangers(robot: Robot, groups: Sequence[Sequence[int]], wanted: Sequence[str] | None) -> None:
    """Refuse joints that are in no loop."""
    known = {
        robot.joints[i].name
        for g in groups
        for k in g
        for i in loop_path(robot, robot.closures[k])
        if robot.joints[i].nv
    }
    for name in wanted or ():
        robot.joint(name)
        if name not in known:
            raise ArgumentError(
                f"independent: expected joints of loops ({', '.join(sorted(known))}), got {name!r}, in none"
            )


@dataclass(frozen=True)
class LoopCosts:
    """Operations of forward dynamics for one state: cut, embedded, and of the tree with its loops open."""

    cut: int
    embedded: int
    opened: int

    def __str__(self) -> str:
        less = "embedded" if self.embedded < self.cut else "cut"
        return f"cut {self.cut}, embedded {self.embedded}, open {self.opened} operations: {less} is less"


def loop_costs(robot: Robot) -> LoopCosts:
    """Return the operations of forward dynamics of a robot with closures or embedded loops, both ways."""
    cut = release_loops(checked_robot(robot))
    inside = robot if robot.loops else embed_loops(cut)
    return LoopCosts(_count(cut, "closed_dynamics"), _count(inside), _count(opened(cut)))


def _count(robot: Robot, verb: str = "forward_dynamics") -> int:
    return compiled(robot, verb).code.operations().total
