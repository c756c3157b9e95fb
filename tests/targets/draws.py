"""Random questions to the compiler: a robot of the pool, expressions, blocks and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from hinge import robots
from hinge.algebra import (
    Active,
    Expr,
    Leaf,
    Node,
    Passive,
    Q,
    Ups,
    friction,
    held,
    leaves,
    tau_j,
)
from hinge.model import Robot, close, embed_couplings, joints, merge
from hinge.model.joints import Spherical
from tests.dynamics.coupled import random_coupled
from tests.dynamics.partitions import some_joints
from tests.dynamics.passives import with_physics
from tests.dynamics.zoo import framed, partial_rotors
from tests.targets.grammar import (
    LETTERS,
    SIZES,
    TOGETHER,
    Grammar,
    Rng,
    Style,
    block_operator,
    expression,
)

#: Kinds that hang on fixed joints, so that bodies can be merged.
_FIXED = ("fixed", "revolute", "prismatic")
_KINDS = [k for k in joints.JOINT_TYPES if k != "fixed"]


def _pool() -> dict[str, Callable[[], Robot]]:
    found: dict[str, Callable[[], Robot]] = {}
    for s in range(8):
        found[f"tree {s}"] = lambda s=s: with_physics(robots.random_tree(2 + s % 3, 40 + s), s, sparse=True)
        found[f"bare tree {s}"] = lambda s=s: robots.random_tree(2 + s % 3, 60 + s, rotors=False)
        found[f"fixed {s}"] = lambda s=s: robots.random_tree(4, 80 + s, _FIXED, rotors=s % 2 == 0)
    for s, kind in enumerate(_KINDS):
        more = [kind] if kind == "free" else [kind, "revolute"]
        found[kind] = lambda s=s, more=more: robots.random_tree(2, 100 + s, more, branching=0, rotors=False)
    for s in range(4):
        found[f"chain {s}"] = lambda s=s: robots.random_tree(3, 120 + s, branching=0, rotors=s % 2 == 0)
        found[f"coupled {s}"] = lambda s=s: embed_couplings(random_coupled(4, 140 + s, share=1.0))
        found[f"mimic {s}"] = lambda s=s: random_coupled(3, 140 + s, share=1.0)
    found["two roots"] = lambda: merge(
        robots.random_tree(2, 7), robots.random_tree(2, 8, rotors=False), prefix="other_"
    )
    found["partial rotors"], found["framed"] = partial_rotors, framed
    found["double pendulum"] = robots.double_pendulum
    found["nothing moves"] = lambda: robots.random_tree(3, 2, ["fixed"])
    return found


POOL = _pool()
_RARE = ("partial rotors", "framed", "nothing moves")
_WEIGHTS = np.array([0.3 if name in _RARE else 1.0 for name in POOL])


@cache
def robot_of(name: str) -> Robot:
    """Return a robot of the pool, the same object each time, with a closure of three rows.

    Letters of closures say what holds at any configuration, so it need not close anywhere.
    """
    robot = POOL[name]()
    if not robot.bodies:
        return robot
    inner = robot.bodies[0].name if len(robot.bodies) > 2 else None
    rows, place = ("vx", "vy", "vz"), (0.1, -0.2, 0.3)
    return close(robot, inner, robot.bodies[-1].name, joint=Spherical(), position=place, rows=rows)


def is_coupled(robot: Robot) -> bool:
    """Tell whether joints follow others, without coordinates of their own."""
    return len(robot.independent) < len(robot.joints)


@dataclass(frozen=True)
class Draw:
    """What is compiled, for whom, and how it is called.

    `values` is the seed of what a call gives. What is not `searched` is compiled as it stands, without a
    search for the cheapest form.
    """

    robot: str
    expressions: Mapping[str, Expr]
    blocks: Mapping[str, Expr] = field(default_factory=dict[str, Expr])
    nodes: tuple[str, ...] = ()
    expressed: str = "body"
    prescribed: tuple[str, ...] | None = ()
    parameters: tuple[str, ...] = ()
    batch: tuple[int, ...] = ()
    gravity: bool = False
    searched: bool = True
    values: int = 0
    native: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def letters(self) -> set[Leaf]:
        """The letters that occur."""
        return {x for e in (*self.expressions.values(), *self.blocks.values()) for x in leaves(e)}

    @property
    def options(self) -> dict[str, Any]:
        """What `compile` is told beside expressions and robot."""
        names = ("blocks", "nodes", "expressed", "prescribed", "parameters")
        usual = {"blocks": {}, "nodes": (), "expressed": "body", "prescribed": (), "parameters": ()}
        found = {n: getattr(self, n) for n in names if getattr(self, n) != usual[n]}
        ends = {s for x in self.letters for s in (x.range, x.domain)}
        return found | ({"sizes": SIZES} if ends & SIZES.keys() else {})

    def __repr__(self) -> str:
        """Return Python that evaluates to the same draw."""
        more = {n: getattr(self, n) for n in ("batch", "gravity", "values", "native") if getattr(self, n)}
        more |= {} if self.searched else {"searched": False}
        shown = {n: x for n, x in self.options.items() if n != "sizes"}
        told = "".join(f", {n}={x!r}" for n, x in (shown | more).items())
        return f"Draw({self.robot!r}, {dict(self.expressions)!r}{told})"


def draw(seed: int, k: int, attempt: int = 0) -> Draw:
    """Return draw k, the same whatever was drawn before: letter by letter has its turn to occur."""
    rng = np.random.default_rng([seed, k, attempt])
    focus = LETTERS[k % len(LETTERS)]
    while True:
        name = str(rng.choice(list(POOL), p=_WEIGHTS / _WEIGHTS.sum()))
        found = _drawn(rng, name, focus)
        if found is not None:
            return found


def _drawn(rng: Rng, name: str, focus: Leaf) -> Draw | None:
    robot = robot_of(name)
    switched = rng.random() < 0.25
    allowed = _allowed(robot, rng, switched)
    if focus not in allowed and focus is not Ups:
        return None
    size = int(rng.choice([1, 2, 3, 4], p=[0.45, 0.35, 0.15, 0.05]))
    expressions: dict[str, Expr] = {}
    for n in range(size):
        grammar = Grammar(_style(robot, rng), allowed, alone=rng.random() < 0.02)
        length = int(rng.choice([1, 2, 3, 4] if size < 3 else [1, 2]))
        e = expression(rng, grammar, None if n or focus not in allowed else focus, length)
        if e is not None:
            expressions[f"y{n + 1}"] = e
    blocks: dict[str, Expr] = {}
    if (focus not in allowed or rng.random() < 0.12) and not is_coupled(robot):
        blocks = {f"b{n + 1}": block_operator(rng, {*allowed, Ups}) for n in range(int(rng.integers(1, 3)))}
    if not expressions:
        return None
    drawn = Draw(name, expressions, blocks)
    letters = drawn.letters
    return None if focus not in letters else _with_options(rng, robot, drawn, switched)


def _style(robot: Robot, rng: Rng) -> Style:
    if is_coupled(robot):
        return "hidden" if rng.random() < 0.97 else "strict"
    return str(rng.choice(["hidden", "strict", "loose"], p=[0.3, 0.45, 0.25]))  # type: ignore[return-value]


def _allowed(robot: Robot, rng: Rng, switched: bool) -> list[Leaf]:
    """Return the letters that mean something for a robot.

    Υ is defined on chains; the letters of the appendix where bodies have blocks of one size, the six of
    spatial vectors without rotors or locks.
    """
    found = list(LETTERS)
    if not robot.tree.is_serial or is_coupled(robot):
        found.remove(Ups)
    if switched or np.any(robot.reflected_inertia) or is_coupled(robot):
        found = [x for x in found if x not in TOGETHER]
    return found


def _with_options(rng: Rng, robot: Robot, drawn: Draw, switched: bool) -> Draw:
    letters = drawn.letters
    ends = {s for x in letters for s in (x.range, x.domain)}
    more: dict[str, Any] = {}
    if Node in ends:
        names = [f.name for f in robot.frames] + [b.name for b in robot.bodies]
        more["nodes"] = tuple(map(str, rng.choice(names, int(rng.integers(1, 4)))))
    if Q in letters:
        more["expressed"] = str(rng.choice(["body", "world", "world-aligned"]))
    if ends & {Passive, Active} or held in letters or rng.random() < 0.05:
        free = [j.name for j in robot.joints if j.name in _masters(robot)]
        some = tuple(n for n in some_joints(robot, rng) if n in free)
        more["prescribed"] = None if switched else some
    if rng.random() < 0.25:
        known = ["inertias"] if is_coupled(robot) else ["inertias", "placements"]
        known += ["rotors"] if not is_coupled(robot) and letters.isdisjoint(TOGETHER) else []
        known += [friction.name] if tau_j in letters and not is_coupled(robot) else []
        more["parameters"] = tuple(x for x in known if rng.random() < 0.5)
    lanes = int(rng.choice([1, 2, 4]))
    return Draw(
        drawn.robot,
        drawn.expressions,
        drawn.blocks,
        **more,
        batch=((), (1,), (3,), (2, 2), (5,))[int(rng.integers(5))],
        gravity=bool(rng.random() < 0.3),
        searched=bool(rng.random() < 0.35),
        values=int(rng.integers(1 << 30)),
        native={"shape": str(rng.choice(list("UHR"))), "lanes": lanes},
    )


def _masters(robot: Robot) -> set[str]:
    """Return the joints that have coordinates of their own."""
    return {j.name for j in robot.joints if not j.follows}
