"""Symbols for what code takes in: coordinates by the names of their joints, and numbers of the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hinge.binding import MATRICES, WeightedBinding, weights
from hinge.errors import ArgumentError
from hinge.formulas.extras import sympy
from hinge.formulas.numbers import exact
from hinge.model import (
    Robot,
    WeightedTree,
    friction_parameters,
    inertial_parameters,
    placement_parameters,
)
from hinge.spatial import Array, Inertia

#: Vectors with a number for each hinge coordinate.
AT_HINGES = ("qd", "qdd", "tau", "x", "held")
#: Inputs whose numbers the model has.
PARAMETERS = frozenset({"inertias", "placements", "rotors", "friction", "g", weights.name})
#: What is smaller, relative to the largest number of its kind, is zero but for rounding.
SMALL = 1e-12


@dataclass
class Symbols:
    """The symbols of a robot's inputs; `numbers` are the robot's own for those of parameters."""

    robot: Robot
    numbers: dict[Any, float] = field(default_factory=dict[Any, float])

    def of(self, name: str, size: int) -> list[Any]:
        """Return what stands for an input of code: symbols, and zeros where the robot has them."""
        parameters: dict[str, Callable[[], list[Any]]] = {
            "inertias": self._inertias,
            "placements": self._placements,
            "rotors": self._rotors,
            "friction": self._friction,
            "g": self._gravity,
        }
        if name in parameters:
            return parameters[name]()
        labels = self._coordinates("q") if name == "q" else self._coordinates("qd")
        if name == "q" or (name in AT_HINGES and len(labels) == size):
            return [_symbol(f"{name}_{x}") for x in labels]
        return [_symbol(f"{name}_{k}") for k in range(size)]

    def _coordinates(self, which: str) -> list[str]:
        found: list[str] = []
        for joint in self.robot.rated if which == "qd" else self.robot.independent:
            names = joint.type.q_names if which == "q" else joint.type.qd_names
            found += [joint.name if len(names) == 1 else f"{joint.name}_{n}" for n in names]
        return found

    def _number(self, name: str, value: float, size: float = 1.0, *, positive: bool = False) -> Any:
        """Return a symbol for a number of the model, or zero where it is zero but for rounding."""
        if abs(value) <= SMALL * size:
            return sympy().Integer(0)
        symbol = _symbol(name, positive=positive)
        self.numbers[symbol] = float(value)
        return symbol

    def _inertias(self) -> list[Any]:
        """Return m, h = m c and the upper triangle of I = Ic + m (c·c 1 − c cᵀ) of each body."""
        rows = inertial_parameters(self.robot)
        return [
            x
            for body, row in zip(self.robot.bodies, rows, strict=True)
            for x in self._inertia(body.name, row)
        ]

    def _inertia(self, body: str, row: Array) -> Iterator[Any]:
        own = Inertia.from_parameters(row)
        m = self._number(f"m_{body}", float(own.m), 0.0, positive=True)
        com, central = (own.com, own.central) if own.m else (np.zeros(3), own.I)
        reach = float(np.abs(row[4:]).max(initial=0.0))
        length = float(np.sqrt(reach / own.m)) if own.m else 0.0
        c = [self._number(f"c{a}_{body}", v, length) for a, v in zip("xyz", com.tolist(), strict=True)]
        yield m
        yield from (m * v for v in c)
        for i in range(3):
            for j in range(i, 3):
                name = f"I{'xyz'[i]}{'xyz'[j]}_{body}"
                i_c = self._number(name, float(central[i, j]), reach, positive=i == j)
                yield i_c + m * ((sum(v * v for v in c) if i == j else 0) - c[i] * c[j])

    def _placements(self) -> list[Any]:
        """Return the quaternion of each joint on its parent as numbers, and its position."""
        found: list[Any] = []
        rows = placement_parameters(self.robot)
        size = float(np.abs(rows[:, 4:]).max(initial=0.0))
        for joint, row in zip(self.robot.joints, rows.tolist(), strict=True):
            found += [exact(x if abs(x) > SMALL else 0.0) for x in row[:4]]
            found += [
                self._number(f"p{a}_{joint.name}", x, size) for a, x in zip("xyz", row[4:], strict=True)
            ]
        return found

    def _rotors(self) -> list[Any]:
        own = self.robot.reflected_inertia.tolist()
        names = self._coordinates("qd")
        return [self._number(f"J_{n}", x, 0.0, positive=True) for n, x in zip(names, own, strict=True)]

    def _friction(self) -> list[Any]:
        names, rows = self._coordinates("qd"), friction_parameters(self.robot).tolist()
        kinds = ("damping", "friction", "stiffness")
        return [
            self._number(f"{kind}_{n}", x, 0.0)
            for n, row in zip(names, rows, strict=True)
            for kind, x in zip(kinds, row, strict=True)
        ]

    def _gravity(self) -> list[Any]:
        """Return [0; −gravity]; along one axis of the world gravity is −g or g."""
        own = self.robot.gravity.tolist()
        if np.count_nonzero(own) != 1:
            return [0, 0, 0, *(-self._number(f"g{a}", x, 0.0) for a, x in zip("xyz", own, strict=True))]
        size = self._number("g", float(np.abs(own).max()), 0.0, positive=True)
        return [0, 0, 0, *(size * int(-np.sign(x)) for x in own)]


def weight_symbols(binding: WeightedBinding, numbers: dict[Any, float]) -> list[Any]:
    """Return symbols for the matrices of a weighted tree that a call gives, in the order of its vector."""
    model, found = binding.model, list[Any]()
    for i, node in enumerate(model.names):
        for letter in binding.given:
            block = getattr(model, letter.name)[i]
            for r, c in np.argwhere(binding.pattern(i, letter)).tolist():
                symbol = _symbol(f"{letter.name}_{node}_{r}{c}")
                numbers[symbol] = float(block[r, c])
                found.append(symbol)
    return found


def tree_symbols(model: WeightedTree, name: str, size: int) -> list[Any]:
    """Return symbols for a vector on a weighted tree, by nodes where it has a number for each coordinate."""
    for total, each in ((model.nv, model.joint_slice), (model.size, model.body_slice)):
        if total == size:
            counts = [len(range(size)[each(k)]) for k in range(len(model))]
            labels = [
                node if n == 1 else f"{node}_{k}"
                for node, n in zip(model.names, counts, strict=True)
                for k in range(n)
            ]
            return [_symbol(f"{name}_{x}") for x in labels]
    return [_symbol(f"{name}_{k}") for k in range(size)]


def checked_parameters(given: Any, *, tree: bool) -> tuple[list[str], bool]:
    """Return the parameters that `compile` knows, and whether gravity is one too."""
    known = tuple(MATRICES) if tree else ("inertias", "placements", "rotors", "friction", "gravity")
    if isinstance(given, str) or not isinstance(given, Sequence | set | frozenset):
        raise ArgumentError(f"parameters: expected names among {', '.join(known)}, got {given!r}")
    for name in given:
        if name not in known:
            raise ArgumentError(f"parameters: expected names among {', '.join(known)}, got {name!r}")
    return [name for name in known if name in given and name != "gravity"], "gravity" in given


def _symbol(name: str, *, positive: bool = False) -> Any:
    """Return a real symbol, whose name is one of C."""
    return sympy().Symbol(re.sub(r"\W", "_", name), **({"positive": True} if positive else {"real": True}))
