"""Compiled expressions: a function of arrays for one robot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hinge.algebra import Expr, Leaf, One, Space, closed, f_ext, g, hides_fixed_bodies, letters_of, x_n
from hinge.binding import RobotBinding
from hinge.dynamics.arguments import WHY, precision, shaped
from hinge.dynamics.called import Called
from hinge.dynamics.values import Inputs, checked_results, is_of_nodes, is_vector, refuse_endless
from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, as_vector, common_batch
from hinge.pipeline import Compilation, Derivation
from hinge.spatial import Array, ArrayLike
from hinge.sweeps import Code, Readout
from hinge.targets import Executable, Way, listing

__all__ = ["Compiled"]

#: From results, the only one or a dict of them, to what a function returns.
Finish: TypeAlias = Callable[[Any], Any]
#: The caller's names of vectors at one node.
NODE_VECTORS = {f_ext.name: "force", x_n.name: "velocity"}


class Compiled(Called):
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
        readout: Readout | None = None,
        target: str | None = None,
        shape: str | None = None,
        lanes: int | None = None,
        wait: bool = False,
    ) -> None:
        self.begin()
        self.given, self.binding, self.readout = given, binding, readout
        self.blocks: Mapping[str, Expr] = blocks or {}
        self._form = derivation
        self._options: dict[str, Any] = {
            "target": target,
            "shape": shape,
            "lanes": lanes,
            "wait": wait or None,
        }
        self._letters = {x.name: x for x in letters_of([*given.values(), *self.blocks.values()])}
        self._letters |= {x.name: x for x in binding.parameters}
        self._values = Inputs(binding, self._letters)
        self._compilations: dict[bool, Compilation] = {}
        self._programs: dict[Compilation, Executable] = {}
        self._entries: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._refuse_single_bodies()
        taken = {"q": "the configuration", "out": "where results go", "self": "the function"}
        if g.name in self._letters:
            taken["gravity"] = "the value of g"
        for name in taken.keys() & self._letters.keys():
            raise ArgumentError(f"{name}: is {taken[name]} in a call; give your letter another name")
        self.signature = self.program().signature

    def _refuse_single_bodies(self) -> None:
        """Refuse expressions of single bodies if the robot has embedded couplings or loops."""
        if not self.robot.is_embedded:
            return
        what = "loops" if self.robot.loops else "couplings"
        for name, e in {**self.given, **self.blocks}.items():
            if not hides_fixed_bodies(e):
                raise NotImplementedError(
                    f"{name}: values at single bodies are not supported for robots with embedded {what}, "
                    f"such as {self.robot.name!r}; use release_{what}(robot) and carry_state"
                )

    @property
    def robot(self) -> Robot:
        """The robot that the letters are bound to."""
        return self.binding.robot

    def compilation(self, own_gravity: bool = True) -> Compilation:
        """Return the passes of the compiler, with the robot's own gravity or with gravity as an argument."""
        own_gravity = own_gravity or g.name not in self._letters
        if own_gravity not in self._compilations:
            binding = replace(self.binding, own_gravity=own_gravity)
            self._compilations[own_gravity] = Compilation(
                self.given, binding, self.blocks, self._form, str(self), self.readout
            )
        return self._compilations[own_gravity]

    def program(self, own_gravity: bool = True) -> Executable:
        """Return the program, with the robot's own gravity or with gravity as an argument."""
        found = self.compilation(own_gravity)
        if found not in self._programs:
            self._programs[found] = found.built(**self._options)
        return self._programs[found]

    @property
    def derivation(self) -> Derivation:
        """The steps from the expressions to their cheapest form."""
        return self.compilation().derived

    @property
    def code(self) -> Code:
        """The traced kernels in their places, with the robot's own gravity."""
        return self.compilation().traced

    @property
    def inputs(self) -> dict[str, Leaf]:
        """The letters whose values a call takes, by name; g for gravity."""
        names = [n for n in self.signature.inputs if n != "q"]
        return {n: self._letters[n] for n in (*names, *([g.name] if g.name in self._letters else []))}

    # Calls.

    def in_python(
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
        if vectors.keys() == self._names.keys():
            arrays = [vectors[name] for name in self._names]
            if out is None:
                return self._plain(q, *arrays)
            if self._is_one:
                return self._plain(q, *arrays, out=out)
        return self._one(self.evaluate(q, vectors, out={self._first: out} if self._is_one else out))

    if TYPE_CHECKING:
        __call__ = in_python

    @cached_property
    def _plain(self) -> Callable[..., Any]:
        """The entry; from now on calls go to it natively, q and perhaps qd by position, others by name."""
        most = 2 if self.takes("qd") else 1
        others = tuple((1 if n == "qd" else -1, n, None) for n in self._names)
        self.enter(self.program(), self.entry, Way(((0, "q", None), *others), 1, most, out=True))
        return self.entry

    @cached_property
    def _first(self) -> str:
        return next(iter(self.given if self.readout is None else self.signature.results))

    @cached_property
    def _is_one(self) -> bool:
        return len(self.signature.results) == 1

    def _one(self, results: dict[str, Array]) -> Any:
        """Return the only result, or all by name."""
        return results[self._first] if self._is_one else results

    @cached_property
    def _names(self) -> dict[str, None]:
        """The vectors beside q, in the order of the program, that a call with the robot's gravity takes."""
        return {n: None for n in self.signature.inputs if n != "q"}

    @property
    def entry(self) -> Callable[..., Any]:
        """The fast path for plain arrays."""
        return self.entry_for()

    def entry_for(
        self,
        *,
        one_node: bool = False,
        finish: Finish | None = None,
        names: tuple[str, ...] | None = None,
    ) -> Callable[..., Any]:
        """Return the fast path for plain arrays, of one state or a batch; each is made once.

        With `one_node` what belongs to the only node has no dimension of nodes. `finish` makes of the results
        what the function returns; `names` are theirs there, in the order of the expressions.
        """
        key = one_node, finish, names
        found = self._entries.get(key)
        if found is None:
            found = self._entries.setdefault(key, self._fast_path(one_node, finish, names))
        return found

    def takes(self, name: str) -> bool:
        """Tell whether a call with the robot's gravity takes a vector of this name."""
        return name in self._names

    def flat(self, q: ArrayLike, vectors: Mapping[str, ArrayLike]) -> Any:
        """Return the value of a call, by the fast path for plain arrays; rows, such as inertias, are flat.

        The precision is that of the arrays that are no parameters.
        """
        if vectors.keys() != self._names.keys():
            return self._of_flat(q, vectors)
        return self.flat_entry(q, *[vectors[name] for name in self._names])

    @property
    def vectors(self) -> tuple[str, ...]:
        """The vectors beside q that a call with the robot's gravity takes, in order."""
        return tuple(self._names)

    @cached_property
    def flat_entry(self) -> Callable[..., Any]:
        """The fast path for plain arrays in which rows are flat, made once."""
        if not all(x.domain is One for x in map(self._letters.__getitem__, self._names)):
            return self._at_flat
        return self.program().entry(
            self._at_flat, list(self._shapes.values()), name=self._first, doc=str(self)
        )

    def _at_flat(self, q: ArrayLike, *args: ArrayLike) -> Any:
        return self._of_flat(q, dict(zip(self._names, args, strict=True)))

    def _of_flat(self, q: ArrayLike, vectors: Mapping[str, ArrayLike]) -> Any:
        own = {closed.name, *(x.name for x in self.binding.parameters)}
        dtype = precision(q, *[x for n, x in vectors.items() if n not in own])
        given = {n: np.asarray(x, dtype) if n in own else x for n, x in vectors.items()}
        return self._one(self.evaluate(q, {n: self._values.in_rows(n, x) for n, x in given.items()}))

    def flat_input(self, name: str, value: ArrayLike) -> Array:
        """Return the checked value of an input as a flat vector (…, n), as programs take it."""
        return self._values.take(name, {name: value}, np.float64)

    def evaluate(
        self,
        q: ArrayLike,
        vectors: Mapping[str, ArrayLike],
        *,
        called: Mapping[str, str] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> dict[str, Array]:
        """Return every output by name; `called` are the caller's names of inputs, for messages."""
        given = dict(vectors)
        self._refuse_unknown(given)
        program = self.program("gravity" not in given)
        shapes = program.signature.results
        dtype = precision(q, *given.values())
        arrays = {"q": as_configuration(self.robot, q, dtype=dtype)}
        for name in program.signature.inputs:
            if name != "q":
                arrays[name] = self._values.take(name, given, dtype)
        for name in [n for n in given if self._values.is_empty(n)]:
            self._values.take(name, given, dtype)
        self._refuse_unknown(given, known=())
        names = {n: (called or {}).get(n, self._argument_name(n)) for n in arrays}
        batch = common_batch({names[n]: v for n, v in arrays.items() if n == "q" or v.ndim > 1})
        refuse_endless(batch, shapes, dtype)
        to = checked_results(out, self._shapes, batch, dtype)
        shown = program(arrays, to and {n: x.reshape(batch + shapes[n]) for n, x in to.items()})
        found = {name: self._shaped(name, x) for name, x in shown.items()}
        for name, x in (to or {}).items():
            if not np.shares_memory(x, found[name]):
                x[...] = found[name]
        return to or found

    def _refuse_unknown(self, given: Mapping[str, ArrayLike], known: Iterable[str] | None = None) -> None:
        """Refuse arguments that are no letters of the expressions, nor gravity."""
        unknown = [n for n in given if n not in ((*self._letters, "gravity") if known is None else known)]
        if unknown:
            wanted = ", ".join(["q", *self._argument_names()])
            shown = ", ".join(unknown)
            raise ArgumentError(f"{shown}: not in the expression; expected the arguments {wanted}")

    @cached_property
    def _spaces(self) -> dict[str, tuple[Space, Space]]:
        return {name: (e.range, e.domain) for name, e in {**self.given, **self.blocks}.items()}

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of results: vectors of nodes or bodies are in rows of six."""
        results = self.signature.results
        return {n: self._shaped(n, np.empty(shape)).shape for n, shape in results.items()}

    def _shaped(self, name: str, x: Array) -> Array:
        return x if self.readout is not None else shaped(x, self._spaces[name])

    def at(self, *args: ArrayLike, out: Any = None) -> Any:
        """Return the value of a call: q first, then vectors in the program's order."""
        names = list(self._names)
        if len(args) != 1 + len(names):
            wanted = ", ".join(["q", *names])
            raise TypeError(f"{self._first}(): expected the arrays {wanted}, got {len(args)} arguments")
        to = {self._first: out} if self._is_one else out
        return self._one(self.evaluate(args[0], dict(zip(names, args[1:], strict=True)), out=to))

    def _fast_path(
        self, one_node: bool, finish: Finish | None, names: tuple[str, ...] | None
    ) -> Callable[..., Any]:
        at, shapes = (self._at_one_node if one_node else self.at), self._shapes
        if one_node:
            shapes = {n: s[1:] if self._is_at_nodes(n) else s for n, s in shapes.items()}
        fallback = at if finish is None else _finished(at, finish, names)
        letters = [self._letters[n] for n in self._names]
        if not all(is_vector(x) or (one_node and is_of_nodes(x)) for x in letters):
            return fallback
        name, doc = self._first, str(self)
        return self.program().entry(
            fallback, list(shapes.values()), name=name, doc=doc, finish=finish, names=names
        )

    def _is_at_nodes(self, name: str) -> bool:
        """Tell whether a result has a dimension of nodes, which is its first."""
        return self.readout is not None or is_of_nodes(self.given[name])

    def _at_one_node(self, q: ArrayLike, *args: ArrayLike) -> Any:
        given = [
            as_vector(x, NODE_VECTORS.get(n, n), 6, WHY[6], dtype=precision(q, x))[..., None, :]
            if is_of_nodes(self._letters[n])
            else x
            for n, x in zip(self._names, args, strict=True)
        ]
        found = self.evaluate(q, dict(zip(self._names, given, strict=True)))
        return self._one({n: self.of_one_node(n, x) for n, x in found.items()})

    def of_one_node(self, name: str, x: Array) -> Array:
        """Return a result without the dimension of nodes."""
        return np.take(x, 0, axis=x.ndim - len(self._shapes[name])) if self._is_at_nodes(name) else x

    def _argument_name(self, name: str) -> str:
        """Return the caller's name of an input."""
        return "gravity" if name == g.name else name

    def _argument_names(self) -> list[str]:
        return [self._argument_name(name) for name in self.inputs]

    # Text.

    def explain(self) -> str:
        """Return the derivation, the sweeps, the cost of an evaluation, and a description of the code."""
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


def _finished(at: Callable[..., Any], finish: Finish, names: tuple[str, ...] | None) -> Callable[..., Any]:
    """Return a function of arrays followed by what makes of its results what is returned."""

    def call(*args: ArrayLike) -> Any:
        found = at(*args)
        return finish(found if names is None else dict(zip(names, found.values(), strict=True)))

    return call
