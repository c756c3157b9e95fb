"""Compiled expressions: a function of arrays for one robot, or for one weighted tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from hinge.algebra import Expr, Leaf, One, Space, closed, f_ext, g, hides_fixed_bodies, letters_of, x_n
from hinge.binding import RobotBinding
from hinge.dynamics.arguments import WHY, precision, shaped
from hinge.dynamics.called import Called
from hinge.dynamics.values import Inputs, Layout, checked_results, is_of_nodes, is_vector, refuse_endless
from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, as_vector, common_batch
from hinge.pipeline import Compilation, Derivation
from hinge.spatial import Array, ArrayLike
from hinge.sweeps import Binding, Code, Readout
from hinge.targets import Executable, Signature, Way, listing

__all__ = ["Compiled", "Evaluated"]

#: From results, the only one or a dict of them, to what a function returns.
Finish: TypeAlias = Callable[[Any], Any]
#: The caller's names of vectors at one node.
NODE_VECTORS = {f_ext.name: "force", x_n.name: "velocity"}


class Bound(Binding, Layout, Protocol):
    """A binding that tells the layout of vectors."""


B = TypeVar("B", bound=Bound)


class Evaluated(Called, Generic[B]):
    """Expressions on a model as a function of flat vectors, and its programs."""

    #: The arguments of a call that come before all others.
    first: tuple[str, ...] = ()

    def __init__(
        self,
        given: Mapping[str, Expr],
        binding: B,
        *,
        blocks: Mapping[str, Expr] | None = None,
        derivation: Derivation | None = None,
        readout: Readout | None = None,
        target: str | None = None,
        shape: str | None = None,
        lanes: int | None = None,
        wait: bool = False,
        later: bool = False,
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
        self._values = self._inputs()
        self._compilations: dict[bool, Compilation] = {}
        self._programs: dict[Compilation, Executable] = {}
        self._entries: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._refuse()
        taken = self._taken()
        for name in taken.keys() & self._letters.keys():
            raise ArgumentError(f"{name}: is {taken[name]} in a call; give your letter another name")
        if not later:
            assert self.signature

    @cached_property
    def signature(self) -> Signature:
        """The shapes of inputs and results; with `later` nothing is traced before they are asked for."""
        return self.program().signature

    # What depends on the model.

    def _inputs(self) -> Inputs:
        """Return the conversion of values of letters to flat vectors."""
        return Inputs(self.binding, self._letters)

    def _refuse(self) -> None:
        """Refuse expressions that have no meaning for the model."""

    def _taken(self) -> dict[str, str]:
        """Return names of arguments that no letter may have, and what they are."""
        return {"out": "where results go", "self": "the function"}

    def _bound(self, own_gravity: bool) -> B:
        """Return the binding, with the model's own gravity or with gravity as an argument."""
        del own_gravity
        return self.binding

    def _configuration(self, q: ArrayLike, dtype: Any) -> Array:
        """Return the checked configuration (…, nq)."""
        del q
        return np.zeros(0, dtype)

    def _rows(self, x: Array, spaces: tuple[Space, Space]) -> Array:
        """Return a result in the shape that a call shows."""
        del spaces
        return x

    def _is_plain(self, x: Leaf) -> bool:
        """Tell whether the value of a letter is a vector (…, n) that needs no check of its entries."""
        return x.domain is One

    def compilation(self, own_gravity: bool = True) -> Compilation:
        """Return the passes of the compiler, with the robot's own gravity or with gravity as an argument."""
        own_gravity = own_gravity or g.name not in self._letters
        if own_gravity not in self._compilations:
            binding = self._bound(own_gravity)
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

    def value(self, q: ArrayLike, vectors: Mapping[str, ArrayLike], out: Any) -> Any:
        """Return the value of a call, by the fast path for plain arrays."""
        if vectors.keys() == self._names.keys():
            arrays = [vectors[name] for name in self._names]
            if out is None:
                return self._plain(q, *arrays)
            if self._is_one:
                return self._plain(q, *arrays, out=out)
        return self._one(self.evaluate(q, vectors, out={self._first: out} if self._is_one else out))

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

    @cached_property
    def _plain(self) -> Callable[..., Any]:
        """The entry, for the first call that can take it."""
        return self.entry

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
        arrays = {"q": self._configuration(q, dtype)}
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
            wanted = ", ".join([*self.first, *self._argument_names()]) or "none"
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

    @property
    def result_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the results of one state."""
        return self._shapes

    def _shaped(self, name: str, x: Array) -> Array:
        return x if self.readout is not None else self._rows(x, self._spaces[name])

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
        if not all(self._is_plain(x) or (one_node and is_of_nodes(x)) for x in letters):
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
        lines = [str(self.derivation), "", f"for {self.binding.title}: {self.code.operations()}"]
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
        return f"<Compiled {self}: f({', '.join([*self.first, *self._argument_names()])})>"

    def __str__(self) -> str:
        return f"{', '.join(self.given)} for {self.binding.title.removeprefix('robot ')}"


class Compiled(Evaluated[RobotBinding]):
    """Expressions as a function of arrays: `f(q, qd, tau=…)`.

    Each vector letter of the expressions is an argument of its own name; `gravity` (…, 3) replaces the
    robot's where g occurs, and `f_ext` (…, nodes, 6) are forces on the nodes. One expression gives an array,
    several give a dict by name. Arrays that are all of single precision give results of single precision.

    There are two programs where g occurs, each made when it is first needed: with the robot's own gravity
    folded in, and with gravity as an argument.
    """

    first = ("q",)

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
        return self.value(q, vectors, out)

    if TYPE_CHECKING:
        __call__ = in_python

    @cached_property
    def _plain(self) -> Callable[..., Any]:
        """The entry; from now on calls go to it natively, q and perhaps qd by position, others by name."""
        most = 2 if self.takes("qd") else 1
        others = tuple((1 if n == "qd" else -1, n, None) for n in self._names)
        self.enter(self.program(), self.entry, Way(((0, "q", None), *others), 1, most, out=True))
        return self.entry

    @property
    def robot(self) -> Robot:
        """The robot that the letters are bound to."""
        return self.binding.robot

    def _refuse(self) -> None:
        """Refuse expressions of single bodies if the robot has embedded couplings or loops."""
        if not self.robot.is_embedded:
            return
        what, remedy = self.robot.embedding
        for name, e in {**self.given, **self.blocks}.items():
            if not hides_fixed_bodies(e):
                raise NotImplementedError(
                    f"{name}: values at single bodies are not supported for robots with {what}, such as "
                    f"{self.robot.name!r}; {remedy} and carry_state"
                )

    def _inputs(self) -> Inputs:
        return Inputs(self.binding, self._letters, self.robot)

    def _taken(self) -> dict[str, str]:
        gravity = {"gravity": "the value of g"} if g.name in self._letters else {}
        return {"q": "the configuration", **super()._taken(), **gravity}

    def _bound(self, own_gravity: bool) -> RobotBinding:
        return replace(self.binding, own_gravity=own_gravity)

    def _configuration(self, q: ArrayLike, dtype: Any) -> Array:
        return as_configuration(self.robot, q, dtype=dtype)

    def _rows(self, x: Array, spaces: tuple[Space, Space]) -> Array:
        return shaped(x, spaces)

    def _is_plain(self, x: Leaf) -> bool:
        return is_vector(x)


def _finished(at: Callable[..., Any], finish: Finish, names: tuple[str, ...] | None) -> Callable[..., Any]:
    """Return a function of arrays followed by what makes of its results what is returned."""

    def call(*args: ArrayLike) -> Any:
        found = at(*args)
        return finish(found if names is None else dict(zip(names, found.values(), strict=True)))

    return call
