"""What the compiler makes of a draw, on both targets, against explicit matrices in the bodies' own frames."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import hinge
from hinge.algebra import (
    STANDARD,
    Adjoint,
    Ask,
    Body,
    Expr,
    Inverse,
    Leaf,
    LogDet,
    Mi,
    Mip,
    Node,
    One,
    Parameter,
    Placement,
    Product,
    Resistance,
    Space,
    Structure,
    Sum,
    World,
    g,
    held,
    leaves,
    letters_of,
    passive,
    whole,
)
from hinge.binding import Needs, RobotBinding, bind
from hinge.dynamics import Compiled
from hinge.errors import HingeError
from hinge.model import Robot, with_parameters
from hinge.pipeline import Derivation, as_given
from hinge.spatial import Array, Inertia, quaternion
from hinge.targets import SingularError, System, has_llvm, system_of
from hinge.targets.dense import MEANING
from tests.targets.draws import Draw, robot_of
from tests.targets.grammar import OWN, SIZES

#: The largest difference, relative to the largest sum of absolute values of terms.
BOUND = 1e-9
#: An operator that is inverted with a larger condition number, rows scaled, is not asked about.
CONDITION = 1e5
#: Entries that are zero by the tree may be what is left of terms that cancel: a share of the largest product.
ROUNDING = 1e-5
TARGETS = ("llvm", "numpy") if has_llvm() else ("numpy",)
#: Rows that users give and get.
ROWS = {Node: 6, Body: 6, Parameter: 10, Placement: 7, Resistance: 3}


# What a call gives.


@dataclass
class Question:
    """A draw with numbers: what is given to a call, and what matrices say at one of its states.

    `compiled` is what was compiled last for it.
    """

    draw: Draw
    compiled: Compiled | None = None

    @cached_property
    def robot(self) -> Robot:
        """The robot that is asked about."""
        return robot_of(self.draw.robot)

    @cached_property
    def letters(self) -> dict[str, Leaf]:
        """The letters by name, with those that they are functions of."""
        given = [held] if self.draw.prescribed is None else []
        given += [STANDARD[name] for name in self.draw.parameters]
        return {x.name: x for x in letters_of([*self.draw.letters, *given])}

    @cached_property
    def state(self) -> tuple[int, ...]:
        """The place in the batch that is judged: the last one."""
        return tuple(n - 1 for n in self.draw.batch)

    @cached_property
    def _own(self) -> RobotBinding:
        """The letters of the robot as it is, in the bodies' own frames; it says where numbers stand."""
        return self.bound(self.robot)

    def bound(self, robot: Robot) -> RobotBinding:
        """Return the letters of a robot, in the bodies' own frames."""
        d = self.draw
        told: Any = d.expressed
        return bind(
            robot,
            Needs(own_frames=True),
            nodes=d.nodes,
            expressed=told,
            prescribed=d.prescribed,
            sizes=SIZES,
        )

    @cached_property
    def values(self) -> dict[str, Array]:
        """What the user gives, in the shapes of users, by names of letters; gravity as g."""
        rng, batch = np.random.default_rng(self.draw.values), self.draw.batch
        found = {"q": hinge.random_configuration(self.robot, rng, batch)}
        for name in sorted(self.letters):
            x = self.letters[name]
            if name in self.draw.parameters:
                found[name] = self._parameter(name, rng)
            elif x is held and self.draw.prescribed is None:
                found[name] = rng.integers(0, 2, (*batch, self.robot.nv)).astype(float)
            elif x is g:
                down = rng.normal(size=(*batch, 3))
                own = np.broadcast_to(self.robot.gravity, down.shape)
                found[name] = down if self.draw.gravity else own
            elif x.domain is One and not x.needs:
                found[name] = rng.standard_normal((*batch, *self._rows(x.range)))
            elif x.domain is not One and x.card.given:
                found[name] = self._operator(x, rng)
        return found

    def _rows(self, space: Space) -> tuple[int, ...]:
        n = self._own.length(space)
        return (n // ROWS[space], ROWS[space]) if space in ROWS else (n,)

    def _parameter(self, name: str, rng: np.random.Generator) -> Array:
        shape = (*self.draw.batch, len(self.robot.bodies))
        if name == "inertias":
            turn = rng.uniform(1.0, 1.5, (*shape, 3))[..., None] * np.eye(3)
            return Inertia.from_com(
                rng.uniform(0.5, 1.0, shape), rng.normal(size=(*shape, 3)), turn
            ).parameters()
        if name == "placements":
            return np.concatenate([quaternion.random(rng, shape), rng.normal(size=(*shape, 3))], axis=-1)
        found = rng.uniform(0.1, 1.0, (*self.draw.batch, *self._rows(STANDARD[name].range)))
        if name == "friction":  # what rolls has no springs
            rolls = [j.qd_slice for j in self.robot.joints if j.type.kind in ("rolling_ball", "wheeled")]
            for at in rolls:
                found[..., at, 2] = 0.0
        return found

    def _operator(self, x: Leaf, rng: np.random.Generator) -> Array:
        """Return a matrix with the blocks of its letter, near the identity if it is square."""
        rows, columns = self._own.length(x.range), self._own.length(x.domain)
        mask = np.full((rows, columns), float(x.structure is Structure.DENSE))
        for i in range(len(self._own.tree) if x.structure is Structure.DIAGONAL else 0):
            down, across = ([p for p in self._own.positions(s, i) if p >= 0] for s in (x.range, x.domain))
            mask[np.ix_(down, across)] = 1.0
        value = rng.standard_normal((*self.draw.batch, rows, columns)) * mask
        if x.range is x.domain:
            value = 0.3 * value + np.eye(rows)
        return value + np.swapaxes(value, -1, -2) if x.self_adjoint else value

    @cached_property
    def form(self) -> Mapping[str, Expr] | Derivation:
        """What `compile` is given."""
        return self.draw.expressions if self.draw.searched else as_given(self.draw.expressions)

    def called(self, f: Compiled) -> Any:
        """Return what a compiled function gives, every output by name."""
        given = {}
        for name in f.inputs:
            if name == g.name:
                given |= {"gravity": self.values[name]} if self.draw.gravity else {}
            else:
                given[name] = self.values[name]
        found = f(self.values["q"], **given)
        return found if isinstance(found, Mapping) else {next(iter(self.draw.expressions)): found}

    # What matrices say.

    @cached_property
    def flat(self) -> dict[str, Array]:
        """The values at the state that is judged, vectors flat."""
        found = {name: np.asarray(x[self.state]) for name, x in self.values.items()}
        for name in found.keys() - {"q"}:
            x = self.letters[name]
            if x is g:
                found[name] = np.concatenate([np.zeros(3), -found[name]])
            elif x.domain is One:
                found[name] = found[name].ravel()
        return found

    @cached_property
    def changed(self) -> RobotBinding:
        """The robot that has the parameters of the call, bound."""
        given = {n: self.values[n][self.state] for n in self.draw.parameters}
        return self.bound(with_parameters(self.robot, **given) if given else self.robot)

    @cached_property
    def system(self) -> System:
        """The robot's matrices at that state."""
        return system_of(self.changed, self.flat, [x for x in self.letters.values() if x in OWN])

    def places(self, space: Space) -> list[list[int]]:
        """Return for each block of a space where its numbers stand for the user, −1 for what is not shown."""
        if space is One or space is World or space in SIZES:
            return [[0] if space is One else list(range(self.changed.length(space)))]
        return [list(self.changed.positions(space, i)) for i in range(len(self.changed.tree))]

    def shown(self, e: Expr, x: Array) -> Array:
        """Return a matrix over all blocks in the user's order and shape."""
        for axis, space in enumerate((e.range, e.domain)):
            at = [p for block in self.places(space) for p in block]
            back = np.empty(sum(p >= 0 for p in at), dtype=int)
            for row, p in enumerate(at):
                if p >= 0:
                    back[p] = row
            x = np.take(x, back, axis=axis)
        if One not in (e.range, e.domain):
            return x
        rows = e.range if e.domain is One else e.domain
        return x.reshape(-1, 6) if rows in (Node, Body) else x.ravel() if rows is not One else x[0, 0]

    def blocks(self, e: Expr, x: Array) -> Array:
        """Return the diagonal blocks of a matrix, as `compile` shows them."""
        places = [self.places(s) for s in (e.range, e.domain)]
        whole_ = e.range is Body and e.domain is Body
        n = len(places[0])
        lengths = [6 if s is Body else self.changed.length(s) for s in (e.range, e.domain)]
        found = np.zeros((n, *lengths))
        starts = [self.system.bounds(s) for s in (e.range, e.domain)]
        for i in range(n):
            block = x[starts[0][i] : starts[0][i + 1], starts[1][i] : starts[1][i + 1]]
            to = [
                [p % 6 if s is Body and p >= 0 else p for p in places[k][i]]
                for k, s in enumerate((e.range, e.domain))
            ]
            for (r, c), value in np.ndenumerate(block):
                if to[0][r] >= 0 and to[1][c] >= 0:
                    found[i, to[0][r], to[1][c]] = value
        return found if whole_ else found.sum(axis=0)

    @cached_property
    def wanted(self) -> dict[str, tuple[Array, float]]:
        """What each output must be, and the largest sum of absolute values of its terms."""
        found: dict[str, tuple[Array, float]] = {}
        for group, show in ((self.draw.expressions, self.shown), (self.draw.blocks, self.blocks)):
            for name, e in group.items():
                shown = show(e, self.system.magnitude(e))
                size = max(float(np.max(shown, initial=0.0)), ROUNDING * self._largest(e), 1e-12)
                found[name] = np.asarray(show(e, self.system.matrix(e))), size
        return found

    def _largest(self, e: Expr) -> float:
        """Return a bound on what may cancel: sums and products of the largest entries."""
        match e:
            case Sum():
                return sum(abs(float(c)) * self._largest(t) for c, t in e.terms)
            case Product():
                return math.prod(self._largest(f) for f in e.factors)
            case LogDet():
                return 1.0 / ROUNDING
            case _:
                own = float(np.max(np.abs(self.system.matrix(e)), initial=0.0))
                x = e.leaf if isinstance(e, Adjoint) else e
                meaning = MEANING.get(x) if isinstance(x, Leaf) else None
                cancels = meaning is not None and x not in leaves(meaning)  # as E − K H at a free joint
                return max(own, self._largest(meaning)) if cancels else own

    @cached_property
    def is_sound(self) -> bool:
        """Whether all that is inverted can be, without losing many digits."""
        wholes = [*self.draw.expressions.values(), *self.draw.blocks.values()]
        inverted = [x.argument for e in wholes for x in parts(e) if isinstance(x, Inverse | LogDet)]
        inverted += [e for x, e in ((Mi, whole.mass), (Mip, passive.mass)) if x in self.letters.values()]
        try:
            return all(_condition(self.system.matrix(e)) < CONDITION for e in inverted)
        except SingularError:
            return False


def parts(e: Expr) -> Iterator[Expr]:
    """Yield an expression and everything in it, what is inverted too."""
    yield e
    match e:
        case Sum():
            inner = [t for _, t in e.terms]
        case Product():
            inner = list(e.factors)
        case Inverse() | LogDet():
            inner = [e.argument]
        case _:
            inner = []
    for x in inner:
        yield from parts(x)


def _condition(x: Array) -> float:
    if not x.size:
        return 1.0
    largest = np.abs(x).max(axis=1, keepdims=True)
    return float(np.linalg.cond(x / np.where(largest > 0, largest, 1.0)))


# Verdicts.


@dataclass(frozen=True)
class Verdict:
    """How a draw ended, "right", "refused", "unjudged" or "wrong", why, and the largest error."""

    kind: str
    said: str = ""
    error: float = 0.0


def judged(draw: Draw, targets: Sequence[str] = TARGETS) -> Verdict:
    """Compile a draw for some targets, all unless told, and judge what they give."""
    question = Question(draw)
    ends: dict[str, Verdict] = {}
    for target in targets:
        ends[target] = _answer(question, target)
    for target, end in ends.items():
        if end.kind == "wrong":
            return replace(end, said=f"{target}: {end.said}")
    if len({(end.kind, end.said) for end in ends.values()}) > 1:
        return Verdict("wrong", f"targets end differently: {ends}")
    return max(ends.values(), key=lambda end: end.error)


def _on(f: Compiled, target: str, **options: Any) -> Compiled:
    """Return what was compiled as another target runs it: the passes before the target's are shared."""
    found = copy(f)
    found._options = {"target": target, "shape": None, "lanes": None, **options}
    found._programs, found._entries = {}, {}
    found.__dict__.pop("flat_entry", None)
    return found


def _answer(question: Question, target: str) -> Verdict:
    draw = question.draw
    native = draw.native if target == "llvm" else {}
    try:
        f = question.compiled and _on(question.compiled, target, **native)
        f = f or hinge.compile(question.form, question.robot, target=target, **draw.options, **native)
        question.compiled = f
        found = question.called(f)
    except (HingeError, NotImplementedError) as e:
        return Verdict("refused", f"{type(e).__name__}: {e}")
    except Exception as e:  # whatever else is raised is a finding
        return Verdict("wrong", f"{type(e).__name__}: {e}")
    try:
        wanted = question.wanted
    except HingeError as e:
        return Verdict("unjudged", f"{type(e).__name__}: {e}")
    return _compared(question, found, wanted)


def _compared(
    question: Question, found: Mapping[str, Array], wanted: Mapping[str, tuple[Array, float]]
) -> Verdict:
    worst = 0.0
    for name, (value, size) in wanted.items():
        ours = np.asarray(found[name])
        if ours.shape != (*question.draw.batch, *value.shape):
            return Verdict("wrong", f"{name} has shape {ours.shape}, not {value.shape}", np.inf)
        off = float(np.max(np.abs(ours[question.state] - value), initial=0.0)) / size
        if not off <= BOUND:
            return Verdict("wrong", f"{name} is off by {off:.1e} of {size:.1e}", off)
        worst = max(worst, off)
    return Verdict("right", "", worst)


def told_apart(draw: Draw) -> Verdict:
    """Judge code that comes from a disk cache in which there is code for another binding of the robot.

    One after the other is different in one thing; what such a binding gives is not looked at.
    """
    question = Question(draw)
    if draw.parameters or "llvm" not in TARGETS:
        return Verdict("right")
    bound = partial(Compiled, draw.expressions, blocks=draw.blocks, target="llvm", **draw.native)
    usual = question.bound(question.robot)
    others = [replace(usual.needs, asks=usual.needs.asks - {ask}) for ask in Ask]
    for other in (*others, replace(usual.needs, own_frames=False)):
        with empty_cache():
            with suppress(Exception):  # without what is needed anything may happen
                question.called(bound(replace(usual, needs=other)))
            end = _compared(question, question.called(bound(usual)), question.wanted)
        if end.kind == "wrong":
            return replace(end, said=f"beside a binding for {other}: {end.said}")
    return Verdict("right")


@contextmanager
def empty_cache() -> Iterator[None]:
    """Keep compiled code in a directory of its own for a while."""
    before = os.environ.get("HINGE_CACHE_DIR")
    with TemporaryDirectory(prefix="hinge-cache-") as folder:
        os.environ["HINGE_CACHE_DIR"] = folder
        try:
            yield
        finally:
            os.environ.pop("HINGE_CACHE_DIR")
            os.environ |= {} if before is None else {"HINGE_CACHE_DIR": before}


def pattern(said: str) -> str:
    """Return a message without what differs from draw to draw: names, numbers and expressions."""
    said = re.sub(r"^(\w+): [^:]+?: ", r"\1: …: ", said)
    return re.sub(r"'[^']*'|[0-9]+", "…", said)[:110]
