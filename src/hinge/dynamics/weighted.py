"""Expressions on weighted trees: `compile` for a tree whose matrices are its own, and what it returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hinge.algebra import (
    DEFINED,
    Active,
    E,
    Expr,
    H,
    Leaf,
    Link,
    M,
    Mount,
    Node,
    Parameter,
    Passive,
    Placement,
    Resistance,
    Space,
    World,
    leaves,
    leaves_in_order,
    letters_of,
)
from hinge.binding import MATRICES, WeightedBinding, checked_sizes, weights
from hinge.dynamics.arguments import precision
from hinge.dynamics.bound import asked_for
from hinge.dynamics.expressions import Parts, expression
from hinge.dynamics.function import Evaluated
from hinge.dynamics.matrices import GivenMatrices
from hinge.errors import ArgumentError
from hinge.model import WeightedTree, refuse_text
from hinge.pipeline import Derivation, Expressions
from hinge.spatial import Array
from hinge.targets import checked_target

__all__ = ["CompiledTree"]

#: Spaces that have a meaning for robots alone.
OF_ROBOTS = frozenset({World, Node, Link, Passive, Active, Parameter, Placement, Mount, Resistance})
#: The configuration of a tree, which has none.
_NONE = {dtype: np.zeros(0, dtype) for dtype in (np.float64, np.float32)}


class CompiledTree(Evaluated[WeightedBinding]):
    """Expressions on a weighted tree as a function of arrays: `f(tau=…, x=…)`.

    Each vector letter is an argument of its own name: (…, nv) in the Joint space, (…, size) in the Body
    space, see `WeightedTree.joint_slice` and `body_slice`. So is each matrix E, H or M that calls give: a
    list with an array (…, n, m) for each node, None at the roots of E, or one array (…, nodes, n, m) where
    all have one shape. Leading axes are batches. Zeros that the tree has in them stay zero. One expression
    gives an array, several give a dict by name; arrays that are all of single precision give results of
    single precision.
    """

    @property
    def model(self) -> WeightedTree:
        """The tree that the letters are bound to."""
        return self.binding.model

    @cached_property
    def _matrices(self) -> GivenMatrices:
        return GivenMatrices(self.binding)

    def in_python(self, *, out: Any = None, **arguments: Any) -> Any:
        """Return the value of the expressions; `out` is an array for it, or a dict of several by name."""
        if self.binding.given and weights.name not in arguments:
            given = {n: arguments.pop(n) for n in self._matrices.names if n in arguments}
            arguments[weights.name] = self._matrices.flat(given)
        dtype = precision(*arguments.values()) if arguments else np.float64
        return self.value(_NONE[dtype], arguments, out)

    if TYPE_CHECKING:
        __call__ = in_python

    def weights(self, **matrices: Any) -> Array:
        """Return matrices that a call gives as one flat vector (…, n), checked: a call takes it as `weights`.

        So matrices that serve many calls are checked once.
        """
        for name in matrices.keys() - {*self._matrices.names}:
            wanted = ", ".join(self._matrices.names) or "none"
            raise ArgumentError(f"{name}: expected the matrices that a call gives, {wanted}, got {name}")
        return self._matrices.flat(matrices)

    def _argument_names(self) -> list[str]:
        names = [n for n in super()._argument_names() if n != weights.name]
        return [*self._matrices.names, *names]

    def _taken(self) -> dict[str, str]:
        own = [n for n, x in MATRICES.items() if self._letters.get(n) is not x]
        return {**super()._taken(), **dict.fromkeys(own, "a matrix of the tree")}

    def _refuse(self) -> None:
        """Refuse letters that are about robots."""
        for e in (*self.given.values(), *self.blocks.values()):
            for x in leaves_in_order(e):
                if not _is_known(x):
                    raise self.binding.unknown(x)
                if x.name == weights.name and x is not weights:
                    raise ArgumentError(
                        f"{x.name}: is the matrices of a call, in one vector; give your letter another name"
                    )


def _is_known(x: Leaf) -> bool:
    """Tell whether a letter has a value on weighted trees, or a call gives it one."""
    if x in (E, H, M):
        return True
    if x.origin is not None and x.origin.kind == "value":
        return all(map(_is_known, letters_of(x.needs)))
    if x.origin is not None and x.origin.kind in DEFINED:
        return all(map(_is_known, leaves(x.origin.of)))
    is_function = bool(x.needs or x.card.asks) or x.origin is not None
    return not is_function and not {x.range, x.domain} & OF_ROBOTS


def compile_tree(
    expressions: Expressions | Derivation | Parts | str,
    model: WeightedTree,
    *,
    blocks: Mapping[str, Expr] | None,
    sizes: Mapping[Space, int] | None,
    given: bool | Iterable[str],
    **options: Any,
) -> CompiledTree:
    """Return what `compile` returns for a weighted tree; `options` are those of targets."""
    if options.get("target") is not None:
        checked_target("target", options["target"])
    parts = expression(expressions) if isinstance(expressions, str) else expressions
    if isinstance(parts, Parts) and (parts.readout or parts.reader or parts.touch):
        raise ArgumentError(
            f"expressions: {parts.verb or 'these parts'} shows a robot; give expressions of E, H, M, phi and "
            "what they define"
        )
    asked = asked_for(parts, blocks)
    binding = WeightedBinding(model, _checked_given(given), checked_sizes(sizes))
    return CompiledTree(asked.given, binding, blocks=asked.blocks, derivation=asked.form, **options)


def _checked_given(given: bool | Iterable[str]) -> tuple[Leaf, ...]:
    """Return the letters of the matrices that each call gives."""
    if isinstance(given, bool | np.bool_):
        return tuple(MATRICES.values()) if given else ()
    refuse_text("given", given, "names of matrices")
    found = set(given)
    for name in found:
        if name not in MATRICES:
            raise ArgumentError(f"given: expected True or names among {', '.join(MATRICES)}, got {name!r}")
    return tuple(x for name, x in MATRICES.items() if name in found)
