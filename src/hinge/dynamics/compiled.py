"""Compiled expressions: a derivation bound to a robot, called with arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from hinge.algebra import (
    B,
    Body,
    Expr,
    Joint,
    Leaf,
    Node,
    One,
    Q,
    Space,
    f_ext,
    friction,
    g,
    inertias,
    leaves,
    placements,
    rotors,
    tau_j,
)
from hinge.binding import PARAMETERS, Expressed, RobotBinding, bind, hides_fixed_bodies, letters_of
from hinge.dynamics.arguments import ROWS, dense_blocks, flattened, precision, shaped
from hinge.dynamics.expressions import parts_of
from hinge.dynamics.needs import needs_of
from hinge.errors import ArgumentError, UnboundLeafError
from hinge.model import (
    Robot,
    as_configuration,
    as_vector,
    checked_out,
    common_batch,
    gravity_of,
)
from hinge.pipeline import (
    Derivation,
    Expressions,
    build,
    derive,
)
from hinge.spatial import Array, ArrayLike
from hinge.sweeps import Code, trace
from hinge.targets import Executable, checked_target, listing


class Compiled:
    """Expressions as a function of arrays: `f(q, qd, tau=…)`.

    Each vector letter of the expressions is an argument of its own name; `gravity` (…, 3) replaces the
    robot's where g occurs, and `f_ext` (…, nodes, 6) are forces on the nodes. One expression gives an array,
    several give a dict by name. Arrays that are all of single precision give results of single precision.

    There are two programs where g occurs, each made when it is first needed: with the robot's own gravity
    folded in, and with gravity as an argument.
    """

    def __init__(
        self,
        given: Mapping[str, Expr],
        binding: RobotBinding,
        *,
        blocks: Mapping[str, Expr] | None = None,
        derivation: Derivation | None = None,
        target: str | None = None,
        shape: str | None = None,
        lanes: int | None = None,
    ) -> None:
        self.given, self.binding = given, binding
        self.blocks: Mapping[str, Expr] = blocks or {}
        self._derivation = derivation
        self._options: dict[str, Any] = {"target": target, "shape": shape, "lanes": lanes}
        self._letters = {x.name: x for x in letters_of([*given.values(), *self.blocks.values()])}
        self._letters |= {x.name: x for x in binding.parameters}
        self._programs: dict[bool, Executable] = {}
        self._refuse_single_bodies()
        taken = {"q": "the configuration", "out": "where results go", "self": "the function"}
        if g.name in self._letters:
            taken["gravity"] = "the value of g"
        for name in taken.keys() & self._letters.keys():
            raise ArgumentError(f"{name}: is {taken[name]} in a call; give your letter another name")
        self.program()

    def _refuse_single_bodies(self) -> None:
        """Refuse expressions in which single bodies are seen where coupled joints make several one."""
        if len(self.robot.independent) == len(self.robot.joints):
            return
        for name, e in {**self.given, **self.blocks}.items():
            if not hides_fixed_bodies(e):
                raise NotImplementedError(
                    f"{name}: shows what is between or at single bodies, which is not there for robot "
                    f"{self.robot.name!r}, whose joints follow others; take release_couplings(robot), and "
                    "the state that carry_state gives for it"
                )

    @property
    def robot(self) -> Robot:
        """The robot that the letters are bound to."""
        return self.binding.robot

    @cached_property
    def derivation(self) -> Derivation:
        """The steps from the expressions to their cheapest form."""
        found = self._derivation or replace(derive(self.given), blocks=self.blocks)
        if found.holds_on == "serial chains" and not self.binding.tree.is_serial:
            raise ArgumentError(
                f"robot: {self.robot.name!r} branches, but the derivation uses identities that hold on "
                "serial chains only; derive without serial=True, and without Υ"
            )
        return found

    @cached_property
    def code(self) -> Code:
        """The traced kernels in their places, with the robot's own gravity."""
        return trace(self.derivation.program, self._bound(True))

    def program(self, own_gravity: bool = True) -> Executable:
        """Return what runs the expressions, with the robot's own gravity or with gravity as an argument."""
        own_gravity = own_gravity or g.name not in self._letters
        if own_gravity not in self._programs:
            binding = self._bound(own_gravity)

            def traced() -> Code:
                return self.code if own_gravity else trace(self.derivation.program, binding)

            identity = (lambda: self._identity(own_gravity)) if self.binding.identity else None
            found = build(traced, identity=identity, label=str(self), **self._options)
            _ = found.signature  # what is wrong with the expressions shows now
            self._programs[own_gravity] = found
        return self._programs[own_gravity]

    def _bound(self, own_gravity: bool) -> RobotBinding:
        return replace(self.binding, own_gravity=own_gravity)

    def _identity(self, own_gravity: bool) -> str:
        """Return what tells this code apart from all other code."""
        form = {} if self._derivation is None else self._derivation.expressions
        shown = (dict(self.given), dict(form), dict(self.blocks))
        return repr((*shown, self._bound(own_gravity).identity))

    @property
    def inputs(self) -> dict[str, Leaf]:
        """The letters whose values a call takes, by name; g for gravity."""
        names = [n for n in self.program().signature.inputs if n != "q"]
        return {n: self._letters[n] for n in (*names, *([g.name] if g.name in self._letters else []))}

    # Calls.

    def __call__(
        self,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        *,
        out: Any = None,
        **vectors: ArrayLike,
    ) -> Any:
        """Return the value of the expressions at a state (…, nq) or a batch of them.

        `out` is an array for the result, or a dict of them where there are several.
        """
        if qd is not None:
            vectors["qd"] = qd
        if out is None and vectors.keys() == self._names.keys():
            return self.entry(q, *[vectors[name] for name in self._names])
        return self._one(self.evaluate(q, vectors, out={self._first: out} if self._is_one else out))

    @property
    def _first(self) -> str:
        return next(iter(self.given))

    @property
    def _is_one(self) -> bool:
        return len(self.given) == 1 and not self.blocks

    def _one(self, results: dict[str, Array]) -> Any:
        """Return the result where there is one, else all by name."""
        return results[self._first] if self._is_one else results

    @cached_property
    def _names(self) -> dict[str, None]:
        """The vectors beside q, in the order of the program, that a call with the robot's gravity takes."""
        return {n: None for n in self.program().signature.inputs if n != "q"}

    @cached_property
    def entry(self) -> Callable[..., Any]:
        """What `quick` returns, made once."""
        return self.quick()

    def takes(self, name: str) -> bool:
        """Tell whether a call with the robot's gravity takes a vector of this name."""
        return name in self._names

    def flat(self, q: ArrayLike, vectors: Mapping[str, ArrayLike]) -> Any:
        """Return what a call gives, quickly for plain arrays; rows, such as inertias, come flat."""
        if vectors.keys() != self._names.keys():
            return self._one(self.evaluate(q, {n: self._in_rows(n, v) for n, v in vectors.items()}))
        return self._flat_entry(q, *[vectors[name] for name in self._names])

    @cached_property
    def _flat_entry(self) -> Callable[..., Any]:
        if not all(x.domain is One for x in map(self._letters.__getitem__, self._names)):
            return self._at_flat
        return self.program().entry(
            self._at_flat, list(self._shapes().values()), name=self._first, doc=str(self)
        )

    def _at_flat(self, q: ArrayLike, *args: ArrayLike) -> Any:
        given = zip(self._names, args, strict=True)
        return self.at(q, *[self._in_rows(name, x) for name, x in given])

    def _in_rows(self, name: str, x: ArrayLike) -> ArrayLike:
        width = ROWS.get(self._letters[name].range) if name in self._letters else None
        if width is None:
            return x
        flat = np.asarray(x)
        return flat.reshape(*flat.shape[:-1], flat.shape[-1] // width, width)

    def evaluate(
        self,
        q: ArrayLike,
        vectors: Mapping[str, ArrayLike],
        *,
        called: Mapping[str, str] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> dict[str, Array]:
        """Return every output by name; `called` says what the caller calls an input, for messages."""
        given = dict(vectors)
        program = self.program("gravity" not in given)
        shapes = program.signature.results
        dtype = precision(q, *given.values())
        arrays = {"q": as_configuration(self.robot, q, dtype=dtype)}
        for name in program.signature.inputs:
            if name != "q":
                arrays[name] = self._input(name, self._letters[name], given, dtype)
        for name in [n for n in given if self._is_empty(n)]:
            self._input(name, self._letters[name], given, dtype)
        if given:
            wanted = ", ".join(["q", *self._argument_names()])
            raise ArgumentError(f"{', '.join(given)}: not in the expression, whose arguments are {wanted}")
        names = {n: (called or {}).get(n, self._argument_name(n)) for n in arrays}
        batch = common_batch({names[n]: v for n, v in arrays.items() if n == "q" or v.ndim > 1})
        to = self._checked_out(out, batch, dtype)
        shown = program(arrays, to and {n: x.reshape(batch + shapes[n]) for n, x in to.items()})
        found = {name: shaped(x, self._spaces(name)) for name, x in shown.items()}
        for name, x in (to or {}).items():
            if not np.shares_memory(x, found[name]):
                x[...] = found[name]
        return to or found

    def _checked_out(
        self, out: Mapping[str, Any] | None, batch: tuple[int, ...], dtype: Any
    ) -> dict[str, Array] | None:
        """Return the arrays for results, or None if there are none."""
        if out is not None and not isinstance(out, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"out: {type(out).__name__} came; wanted a dict of arrays by name of the result"
            )
        given = {name: x for name, x in (out or {}).items() if x is not None}
        if not given:
            return None
        shapes = self._shapes()
        if given.keys() != shapes.keys():
            raise ArgumentError(
                f"out: arrays for {', '.join(given)} came; wanted one for each of {', '.join(shapes)}"
            )
        found = {n: checked_out(given[n], (*batch, *shape), dtype) for n, shape in shapes.items()}
        for one, other in combinations(found, 2):
            if np.may_share_memory(found[one], found[other]):
                raise ArgumentError(
                    f"out: the arrays for {one} and {other} share memory; wanted two of their own"
                )
        return found

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of results as they are shown: vectors of nodes or bodies in rows of six."""
        results = self.program().signature.results
        return {n: shaped(np.empty(shape), self._spaces(n)).shape for n, shape in results.items()}

    def at(self, *args: ArrayLike) -> Any:
        """Return what a call with these arguments gives: q first, then vectors in the program's order."""
        names = list(self._names)
        if len(args) != 1 + len(names):
            wanted = ", ".join(["q", *names])
            raise TypeError(f"{self._first}() takes the arrays {wanted}; {len(args)} arguments were given")
        return self._one(self.evaluate(args[0], dict(zip(names, args[1:], strict=True))))

    def quick(self, doc: str = "", *, one_node: bool = False) -> Callable[..., Any]:
        """Return `at` as a function that is quick for plain arrays, of one state or a batch.

        With `one_node` the vectors of the only node come and go without the dimension that counts nodes.
        """
        at, shapes = self.at, self._shapes()
        if one_node:
            at = self._at_one_node
            shapes = {n: s[1:] if self._is_of_nodes(self.given[n]) else s for n, s in shapes.items()}
        letters = [self._letters[n] for n in self._names]
        if not all(self._is_vector(x) or (one_node and self._is_of_nodes(x)) for x in letters):
            return at
        return self.program().entry(at, list(shapes.values()), name=self._first, doc=doc)

    def _at_one_node(self, q: ArrayLike, *args: ArrayLike) -> Array:
        given = [
            np.asarray(x)[..., None, :] if self._is_of_nodes(self._letters[n]) else x
            for n, x in zip(self._names, args, strict=True)
        ]
        found = self.at(q, *given)
        return found[..., 0, :] if self._is_of_nodes(self.given[self._first]) else found

    def _is_of_nodes(self, x: Expr) -> bool:
        """Tell whether a value is a vector of the nodes."""
        return x.range is Node and x.domain is One

    def _is_vector(self, x: Leaf) -> bool:
        """Tell whether the value of a letter is a vector (…, n) that needs no look at what it holds."""
        return x.domain is One and x.range not in ROWS

    def _is_empty(self, name: str) -> bool:
        """Tell whether an input is of a space that has nothing here, such as Node without nodes."""
        return name in self._letters and self.binding.length(self._letters[name].range) == 0

    def _argument_name(self, name: str) -> str:
        """Return what the caller calls an input."""
        return "gravity" if name == g.name else name

    def _argument_names(self) -> list[str]:
        return [self._argument_name(name) for name in self.inputs]

    def _spaces(self, name: str) -> tuple[Space, Space]:
        e: Expr = self.blocks[name] if name in self.blocks else self.given[name]
        return e.range, e.domain

    def _input(self, name: str, x: Leaf, given: dict[str, ArrayLike], dtype: Any) -> Array:
        """Take the value of a letter out of `given`, as a flat vector (…, n)."""
        if x is g:
            down = gravity_of(self.robot, given.pop("gravity", None), dtype=dtype)
            return np.concatenate([np.zeros_like(down), -down], axis=-1)
        if name not in given:
            if x.range is Node and not self.binding.nodes:
                return np.zeros(0, dtype)
            raise UnboundLeafError(
                f"{name}: no value came for {x}, {x.meaning or 'a letter of the expression'}; "
                f"call with {name}=…"
            )
        if x.domain is not One:
            return self._operator(name, x, given.pop(name), dtype)
        value, size = given.pop(name), self.binding.length(x.range)
        if x.range in ROWS:
            return flattened(value, name, size // ROWS[x.range], ROWS[x.range], dtype)
        why = f"robot {self.robot.name!r} has {size} in the space {x.range}"
        return as_vector(value, name, size, why, dtype=dtype)

    def _operator(self, name: str, x: Leaf, value: ArrayLike, dtype: Any) -> Array:
        """Return a block-diagonal matrix (…, n, m) row by row; entries beside the blocks must be zero."""
        rows, columns = self.binding.length(x.range), self.binding.length(x.domain)
        why = f"{x} is {x.range} ← {x.domain}"
        if x.range in (Body, Node) and x.domain in (Body, Node) and np.shape(value)[-2:] != (rows, columns):
            value = dense_blocks(value)
        matrix = as_vector(value, name, columns, why, dtype=dtype)
        if matrix.ndim < 2 or matrix.shape[-2] != rows:
            raise ArgumentError(f"{name}: has shape {matrix.shape}; wanted (…, {rows}, {columns})")
        if x.self_adjoint and not np.array_equal(matrix, np.swapaxes(matrix, -1, -2), equal_nan=True):
            raise ArgumentError(f"{name}: is not symmetric; wanted a symmetric matrix, as {x} was defined")
        beside = np.ones((rows, columns), dtype=bool)
        for i in range(len(self.binding.tree)):
            down, across = (self.binding.positions(space, i) for space in (x.range, x.domain))
            beside[np.ix_([p for p in down if p >= 0], [p for p in across if p >= 0])] = False
        if np.any(matrix[..., beside]):
            raise ArgumentError(
                f"{name}: has entries beside the blocks of joints, bodies or nodes; wanted a block-diagonal "
                f"matrix, as {x} was defined"
            )
        return matrix.reshape(*matrix.shape[:-2], rows * columns)

    # What to say of it.

    def explain(self) -> str:
        """Return the derivation, the sweeps, what one evaluation costs, and what was compiled."""
        stages = self.derivation.program.stages
        lines = [str(self.derivation), "", f"for robot {self.robot.name!r}: {self.code.operations()}"]
        lines.append(f"    hinges: {self.code.operations(-1)}")
        for k, stage in enumerate(stages):
            lines.append(f"    {stage.title(k + 1)}: {self.code.operations(k)}")
        reading = self.code.operations(len(stages))
        lines += [f"    sums over bodies: {reading}"] if reading.total else []
        return "\n".join([*lines, *self.program().describe()])

    @property
    def llvm(self) -> str:
        """The program as LLVM's text, for as many states at once as the machine's vectors hold."""
        return listing(self.program(), "llvm")

    @property
    def asm(self) -> str:
        """The same as assembly of this machine."""
        return listing(self.program(), "asm")

    def __repr__(self) -> str:
        return f"<Compiled {self}: f({', '.join(['q', *self._argument_names()])})>"

    def __str__(self) -> str:
        return f"{', '.join(self.given)} for {self.robot.name!r}"


def compile(
    expressions: Expressions | Derivation | str,
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
) -> Compiled:
    """Return expressions, a derivation of them, or a verb by name, as a function for a robot.

    `blocks` are block-diagonal operators whose blocks are results too, by name: (…, bodies, 6, 6) for one
    such as P in the frames of the bodies, (…, 6, nv) for G, a column for each degree of freedom, (…, nv, nv)
    for D. They are taken as they stand, on any tree.

    `nodes` are the frames that the Node space stands for, in order; `expressed` the axes that Q shows them
    in; `prescribed` the joints that are active in hybrid dynamics, None if a call says so for each coordinate
    by `held`, zeros and ones (…, nv). Several expressions share their work.

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
        parts = parts_of(expressions)
        expressions, blocks = parts.expressions, {**parts.blocks, **(blocks or {})}
    derivation = expressions if isinstance(expressions, Derivation) else derive(expressions)
    if blocks:
        derivation = replace(derivation, blocks=_checked_blocks(blocks, derivation))
    letters = {x for e in derivation.given.values() for x in leaves(e)}
    given = checked_parameters(parameters, letters)
    needs = needs_of([*derivation.given.values(), *derivation.blocks.values()], given)
    binding = bind(robot, needs, nodes=nodes, expressed=expressed, prescribed=prescribed)
    if expressed != "body" and Q not in letters:
        raise ArgumentError(
            f"expressed: {expressed!r} came, but nothing in the expression shows it; put Q before what leads "
            "to nodes, as in Q @ B.T @ phi.T @ H.T"
        )
    if not binding.nodes and B in letters and f_ext not in letters:
        raise ArgumentError(
            "nodes: none came, but the expression leads to nodes; name frames, nodes=['tool']"
        )
    kept = derivation if isinstance(expressions, Derivation) else None
    return Compiled(
        derivation.given,
        binding,
        blocks=derivation.blocks,
        derivation=kept and derivation,
        target=target,
        shape=shape,
        lanes=lanes,
    )


def _checked_blocks(blocks: Mapping[str, Expr], beside: Derivation) -> dict[str, Expr]:
    """Return operators that are shown as blocks, or raise an ArgumentError."""
    if not isinstance(blocks, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"blocks: {type(blocks).__name__} came; wanted a dict of operators by name")
    for name, e in blocks.items():
        if not isinstance(e, Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"blocks[{name!r}]: {type(e).__name__} came; wanted an expression")
        if name in beside.given or not name.isidentifier():
            raise ArgumentError(
                f"blocks[{name!r}]: wanted a Python identifier that is not among {', '.join(beside.given)}"
            )
        if not {e.range, e.domain} <= {Body, Joint}:
            raise ArgumentError(
                f"blocks[{name!r}]: {e} is {e.range} ← {e.domain}; wanted an operator between Body and Joint"
            )
    return dict(blocks)


def checked_parameters(parameters: Iterable[str], letters: set[Leaf]) -> list[str]:
    """Return the names of what each call gives of the model, or raise an ArgumentError."""
    if isinstance(parameters, str):
        raise ArgumentError(
            f"parameters: the text {parameters!r} came; wanted a list of names, such as [{parameters!r}]"
        )
    found, known = list(parameters), [x.name for x in PARAMETERS]
    for name in found:
        if name not in known:
            raise ArgumentError(f"parameters: expected names among {', '.join(known)}, got {name!r}")
    if friction.name in found and tau_j not in letters:
        raise ArgumentError(
            f"parameters: {friction.name!r} came, but nothing in the expression depends on it; take a verb "
            "with the joints' own forces, such as 'passive_forward_dynamics', or τⱼ itself"
        )
    return found


_PARAMETERS = tuple(x.name for x in (inertias, placements, rotors, friction))
