"""Compiled expressions: a derivation bound to a robot, called with arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hinge.algebra import (
    B,
    Body,
    Expr,
    Leaf,
    Node,
    One,
    Q,
    Space,
    f_ext,
    g,
    is_frame_free,
    leaf_of,
    leaves,
    no_inverse,
    polynomial,
)
from hinge.binding import Expressed, RobotBinding, bind
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.model import Robot, as_configuration, as_vector, common_batch, gravity_of
from hinge.pipeline import Derivation, Expressions, build, derive
from hinge.spatial import Array, ArrayLike

#: Targets that `compile` knows.
TARGETS = ("numpy",)


class Compiled:
    """Expressions as a function of arrays: `f(q, qd, tau=…)`.

    Each vector letter of the expressions is an argument of its own name; `gravity` (…, 3) replaces the
    robot's where g occurs, and `f_ext` (…, nodes, 6) are forces on the nodes. One expression gives an array,
    several give a dict by name.
    """

    def __init__(self, derivation: Derivation, binding: RobotBinding) -> None:
        if derivation.holds_on == "serial chains" and not binding.tree.is_serial:
            raise ArgumentError(
                f"robot: {binding.robot.name!r} branches, but the derivation uses identities that hold on "
                "serial chains only; derive without serial=True, and without Υ"
            )
        self.derivation = derivation
        self.binding = binding
        self.code, self._run = build(derivation, binding)
        self.inputs: dict[str, Leaf] = {x.name: x for x in derivation.program.inputs}
        if "q" in self.inputs:
            raise ArgumentError("q: is the configuration in a call; give your letter another name")

    @property
    def robot(self) -> Robot:
        """The robot that the letters are bound to."""
        return self.binding.robot

    def __call__(self, q: ArrayLike, qd: ArrayLike | None = None, **vectors: ArrayLike) -> Any:
        """Return the value of the expressions at a state (…, nq) or a batch of them."""
        results = self.evaluate(q, {**({} if qd is None else {"qd": qd}), **vectors})
        return next(iter(results.values())) if len(results) == 1 else results

    def evaluate(
        self, q: ArrayLike, vectors: Mapping[str, ArrayLike], *, called: Mapping[str, str] | None = None
    ) -> dict[str, Array]:
        """Return every output by name; `called` says what the caller calls an input, for messages."""
        given = dict(vectors)
        arrays = {"q": as_configuration(self.robot, q)}
        arrays |= {name: self._input(name, x, given) for name, x in self.inputs.items()}
        if given:
            wanted = ", ".join(["q", *self._argument_names()])
            raise ArgumentError(f"{', '.join(given)}: not in the expression, whose arguments are {wanted}")
        names = {n: (called or {}).get(n, self._argument_name(n)) for n in arrays}
        came = {names[n]: v for n, v in arrays.items() if n == "q" or v.ndim > 1}
        common_batch(came)
        shown = self._run(arrays)
        return {r.name: _shaped(shown[r.name], self._spaces(r.name)) for r in self.code.results}

    def _argument_name(self, name: str) -> str:
        """Return what the caller calls an input."""
        return "gravity" if self.inputs.get(name) is g else name

    def _argument_names(self) -> list[str]:
        return [self._argument_name(name) for name in self.inputs]

    def _spaces(self, name: str) -> tuple[Space, Space]:
        e: Expr = self.derivation.given[name]
        return e.range, e.domain

    def _input(self, name: str, x: Leaf, given: dict[str, ArrayLike]) -> Array:
        """Take the value of a letter out of `given`, as a flat vector (…, n)."""
        if x is g:
            gravity = given.pop("gravity", None)
            down = gravity_of(self.robot, gravity)
            return np.concatenate([np.zeros_like(down), -down], axis=-1)
        if name not in given:
            if x.range is Node and not self.binding.nodes:
                return np.zeros(0)
            raise UnboundLeafError(
                f"{name}: no value came for {x}, {x.meaning or 'a letter of the expression'}; "
                f"call with {name}=…"
            )
        if x.domain is not One:
            return self._operator(name, x, given.pop(name))
        value, size = given.pop(name), self.binding.length(x.range)
        if x.range in (Node, Body):
            return _flattened(value, name, size // 6)
        return as_vector(value, name, size, f"robot {self.robot.name!r} has {size} in the space {x.range}")

    def _operator(self, name: str, x: Leaf, value: ArrayLike) -> Array:
        """Return a block-diagonal matrix (…, n, m) row by row; entries beside the blocks must be zero."""
        rows, columns = self.binding.length(x.range), self.binding.length(x.domain)
        matrix = as_vector(_dense_blocks(value), name, columns, f"{x} is {x.range} ← {x.domain}")
        if matrix.ndim < 2 or matrix.shape[-2] != rows:
            raise ArgumentError(f"{name}: has shape {matrix.shape}; wanted (…, {rows}, {columns})")
        if x.self_adjoint and not np.array_equal(matrix, np.swapaxes(matrix, -1, -2), equal_nan=True):
            raise ArgumentError(f"{name}: is not symmetric; wanted a symmetric matrix, as {x} was defined")
        beside = np.ones((rows, columns), dtype=bool)
        for i in range(len(self.robot.bodies)):
            down, across = (self.binding.positions(space, i) for space in (x.range, x.domain))
            beside[np.ix_([p for p in down if p >= 0], [p for p in across if p >= 0])] = False
        if np.any(matrix[..., beside]):
            raise ArgumentError(
                f"{name}: has entries beside the blocks of joints, bodies or nodes; wanted a block-diagonal "
                f"matrix, as {x} was defined"
            )
        return matrix.reshape(*matrix.shape[:-2], rows * columns)

    def explain(self) -> str:
        """Return the derivation, the sweeps, and what one evaluation costs."""
        stages = self.derivation.program.stages
        lines = [str(self.derivation), "", f"for robot {self.robot.name!r}: {self.code.operations()}"]
        lines.append(f"    hinges: {self.code.operations(-1)}")
        for k, stage in enumerate(stages):
            lines.append(f"    {stage.title(k + 1)}: {self.code.operations(k)}")
        reading = self.code.operations(len(stages))
        return "\n".join([*lines, f"    sums over bodies: {reading}"] if reading.total else lines)

    def __repr__(self) -> str:
        names = ", ".join(["q", *self._argument_names()])
        return f"<Compiled {', '.join(self.derivation.given)} for {self.robot.name!r}: f({names})>"


def compile(
    expressions: Expressions | Derivation,
    robot: Robot,
    *,
    nodes: Iterable[str] = (),
    expressed: Expressed = "body",
    prescribed: Iterable[str] = (),
    target: str = "numpy",
) -> Compiled:
    """Return expressions (or a derivation of them) as a function for a robot.

    `nodes` are the frames that the Node space stands for, in order; `expressed` the axes that Q shows them
    in; `prescribed` the joints that are active in hybrid dynamics. Several expressions share their work.
    """
    if target not in TARGETS:
        raise ArgumentError(f"target: {target!r} is unknown; there is {', '.join(map(repr, TARGETS))}")
    derivation = expressions if isinstance(expressions, Derivation) else derive(expressions)
    letters = {x for e in derivation.given.values() for x in leaves(e)}
    own = _needs_own_frames(derivation)
    binding = bind(robot, nodes=nodes, expressed=expressed, prescribed=prescribed, own_frames=own)
    if expressed != "body" and Q not in letters:
        raise ArgumentError(
            f"expressed: {expressed!r} came, but nothing in the expression shows it; put Q before what leads "
            "to nodes, as in Q @ B.T @ phi.T @ H.T"
        )
    if not binding.nodes and B in letters and f_ext not in letters:
        raise ArgumentError(
            "nodes: none came, but the expression leads to nodes; name frames, nodes=['tool']"
        )
    return Compiled(derivation, binding)


def _needs_own_frames(derivation: Derivation) -> bool:
    """Tell whether the frames of bodies matter: the user sees them, or the expression depends on them."""
    shown = [s for e in derivation.given.values() for s in (e.range, e.domain)]
    shown += [s for x in derivation.program.inputs for s in (x.range, x.domain)]
    inverses = {x: polynomial(e, no_inverse) for x, e in derivation.inverses.items()}
    forms = [polynomial(e, no_inverse) for e in derivation.expressions.values()]
    used = {leaf_of(x) for p in forms for w in p.terms for x in w}
    forms += [p for x, p in inverses.items() if x in used]
    return Body in shown or not all(is_frame_free(p, inverses) for p in forms)


def _dense_blocks(value: ArrayLike) -> ArrayLike:
    """Return blocks (…, n, 6, 6) as one block-diagonal matrix, anything else as it is."""
    if not (isinstance(value, np.ndarray) and value.ndim > 2 and value.shape[-2:] == (6, 6)):
        return value
    n = value.shape[-3]
    found = np.zeros((*value.shape[:-3], n, 6, n, 6), dtype=value.dtype)
    for k in range(n):
        found[..., k, :, k, :] = value[..., k, :, :]
    return found.reshape(*value.shape[:-3], 6 * n, 6 * n)


def _flattened(value: ArrayLike, name: str, count: int) -> Array:
    rows = as_vector(value, name, 6, "spatial vectors have six numbers")
    if rows.ndim < 2 or rows.shape[-2] != count:
        raise ArgumentError(f"{name}: has shape {rows.shape}; wanted (…, {count}, 6)")
    return rows.reshape(*rows.shape[:-2], 6 * count)


def _shaped(x: Array, spaces: Sequence[Space]) -> Array:
    """Return a vector of nodes or bodies as rows of six."""
    vector = spaces[0] if spaces[1] is One else spaces[1]
    if One in spaces and vector in (Node, Body):
        return x.reshape(*x.shape[:-1], x.shape[-1] // 6, 6)
    return x
