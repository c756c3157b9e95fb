"""What a function of JAX calls: programs of flat arrays by name, and programs of their changes and gradients.

A `Routine` is a program. A `Varying` one has derivatives: `Pushed` is its changes along directions, `Pulled`
its gradients, each the transpose of the other. Both are routines too, and where `plain` says how they are
made of others, JAX differentiates that once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

from hinge.targets import Executable

#: Arrays of JAX by name, flat: (…, length).
Arrays: TypeAlias = Mapping[str, Any]
Names: TypeAlias = tuple[str, ...]


class Routine:
    """A function of flat arrays by name: lengths of inputs and results. It is linear in `linear` together."""

    name: str
    inputs: Mapping[str, int]
    results: Mapping[str, int]
    linear: Names = ()

    @property
    def program(self) -> Executable | None:
        """The program, which may take fewer inputs; None where `plain` says how to compute it."""
        raise NotImplementedError

    def plain(self, xs: Arrays) -> Arrays:
        """Return results as functions of JAX of others, which it can differentiate."""
        raise NotImplementedError

    def among(self, linear: Names) -> tuple[Routine, dict[str, str]]:
        """Return the routine with other linear inputs zero, and new names of those that stay."""
        raise NotImplementedError

    def transposed(self, linear: Names, of: Names) -> tuple[Routine, dict[str, str], dict[str, str]]:
        """Return the transpose, new names of weights of results `of`, and of results for inputs."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.name


class Varying(Routine):
    """A routine with derivatives, in coordinates: directions are as long as inputs, weights as results."""

    def __init__(self) -> None:
        self._pushed: dict[Names, Pushed] = {}
        self._pulled: dict[tuple[Names, Names], Pulled] = {}

    # What subclasses say.

    def changing(self, wrt: Names) -> Names:
        """Return the results that change with inputs, or raise an error where there is no derivative."""
        raise NotImplementedError

    def reached(self, wrt: Names, of: Names) -> Names:
        """Return the inputs among `wrt` that results `of` change with."""
        raise NotImplementedError

    def push_program(self, wrt: Names) -> Executable | None:
        """Return the program of changes, results by name, directions d_<name>."""
        raise NotImplementedError

    def push_plain(self, wrt: Names, xs: Arrays, ds: Arrays) -> Arrays:
        """Return changes as JAX can differentiate them."""
        raise NotImplementedError

    def pull_program(self, wrt: Names, of: Names) -> Executable | None:
        """Return the program of gradients by_<name>, weights c_<result>."""
        raise NotImplementedError

    def pull_plain(self, wrt: Names, of: Names, xs: Arrays, cs: Arrays) -> Arrays:
        """Return gradients as JAX can differentiate them."""
        raise NotImplementedError

    # Derivatives.

    def changes(self, xs: Arrays, ds: Arrays) -> Arrays:
        """Return the changes of results along directions, those that are not zero."""
        raise NotImplementedError

    def pushed(self, wrt: Names) -> Pushed:
        """Return the routine of changes, each made once."""
        if wrt not in self._pushed:
            self._pushed[wrt] = Pushed(self, wrt)
        return self._pushed[wrt]

    def pulled(self, wrt: Names, of: Names) -> Pulled:
        """Return the routine of gradients, each made once."""
        if (wrt, of) not in self._pulled:
            self._pulled[wrt, of] = Pulled(self, wrt, of)
        return self._pulled[wrt, of]

    def fresh(self, prefix: str, names: Names) -> dict[str, str]:
        """Return new names of inputs, by what they belong to."""
        found: dict[str, str] = {}
        for n in names:
            found[n] = f"{prefix}_{n}"
            while found[n] in self.inputs:
                found[n] += "_"
        return found


class Pushed(Routine):
    """Changes of results along directions."""

    def __init__(self, base: Varying, wrt: Names) -> None:
        self.base, self.wrt, self.name = base, wrt, f"push of {base.name}"
        self.directions = base.fresh("d", wrt)
        self.inputs = {**base.inputs, **{d: base.inputs[n] for n, d in self.directions.items()}}
        self.results = {n: base.results[n] for n in base.changing(wrt)}
        self.linear = tuple(self.directions.values())

    @property
    def program(self) -> Executable | None:
        """The program of changes."""
        return self._program

    @cached_property
    def _program(self) -> Executable | None:
        return self.base.push_program(self.wrt)

    def plain(self, xs: Arrays) -> Arrays:
        """Return the changes as JAX can differentiate them."""
        return self.base.push_plain(self.wrt, xs, {n: xs[d] for n, d in self.directions.items()})

    def among(self, linear: Names) -> tuple[Routine, dict[str, str]]:
        """Return the changes along fewer directions."""
        fewer = self.base.pushed(tuple(n for n in self.wrt if self.directions[n] in linear))
        return fewer, {self.directions[n]: d for n, d in fewer.directions.items()}

    def transposed(self, linear: Names, of: Names) -> tuple[Routine, dict[str, str], dict[str, str]]:
        """Return gradients."""
        names = {d: n for n, d in self.directions.items()}
        found = self.base.pulled(tuple(names[d] for d in linear), of)
        return found, found.weights, {d: found.shown[names[d]] for d in linear if names[d] in found.shown}


class Pulled(Routine):
    """Gradients of Σ cᵀ result over results, by inputs."""

    def __init__(self, base: Varying, wrt: Names, of: Names) -> None:
        self.base, self.wrt, self.of, self.name = base, wrt, of, f"pull of {base.name}"
        self.weights = base.fresh("c", of)
        self.inputs = {**base.inputs, **{c: base.results[n] for n, c in self.weights.items()}}
        self.shown = {n: f"by_{n}" for n in base.reached(wrt, of)}
        self.results = {by: base.inputs[n] for n, by in self.shown.items()}
        self.linear = tuple(self.weights.values())

    @property
    def program(self) -> Executable | None:
        """The program of gradients."""
        return self._program

    @cached_property
    def _program(self) -> Executable | None:
        return self.base.pull_program(self.wrt, self.of)

    def plain(self, xs: Arrays) -> Arrays:
        """Return the gradients as JAX can differentiate them."""
        return self.base.pull_plain(self.wrt, self.of, xs, {n: xs[c] for n, c in self.weights.items()})

    def among(self, linear: Names) -> tuple[Routine, dict[str, str]]:
        """Return the gradients of fewer results."""
        fewer = self.base.pulled(self.wrt, tuple(n for n in self.of if self.weights[n] in linear))
        return fewer, {self.weights[n]: c for n, c in fewer.weights.items()}

    def transposed(self, linear: Names, of: Names) -> tuple[Routine, dict[str, str], dict[str, str]]:
        """Return changes."""
        inputs, results = {by: n for n, by in self.shown.items()}, {c: n for n, c in self.weights.items()}
        found = self.base.pushed(tuple(inputs[by] for by in of))
        given = {by: found.directions[inputs[by]] for by in of}
        return found, given, {c: results[c] for c in linear if results[c] in found.results}
