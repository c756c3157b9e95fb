"""A random system as a model: the letters are its matrices, and bodies have blocks of unequal sizes."""

from __future__ import annotations

import numpy as np

from hinge.algebra import E0, Body, E, One, Structure, World
from hinge.binding import MatrixStep
from hinge.sweeps import zeros
from hinge.tree import WORLD, Tree


class MatrixSite:
    """The letters at one body: blocks of numbers, also those that are functions of the motion elsewhere."""

    def __init__(self, step, blocks):
        self._step, self.blocks = step, blocks

    def hinge(self, q):
        return zeros(0)

    def derived(self, parameters):
        return zeros(0)

    def with_derived(self, derived):
        return self

    def step(self, hinge):
        return MatrixStep(self._step)

    def value(self, x, hinge):
        return self.blocks.get(x)

    def formula(self, x, hinge, needs):
        return self.blocks[x]


class SystemBinding:
    """The letters of a system, each body with the sizes that it has there."""

    parameters = ()

    def __init__(self, system):
        self.system = system
        self.tree = Tree(system.parents)
        self.letters = [
            x for x in system.values if x is not E0 and (x.structure is Structure.DIAGONAL or x.needs)
        ]

    @property
    def width(self):
        return max(self.system.blocks(Body), default=0)

    def name(self, body):
        return f"hinge {body}"

    def size(self, space, body):
        if body == WORLD:
            return self.length(World) if space in (Body, World) else 0
        return self.system.blocks(space)[body]

    def positions(self, space, body):
        if (space is World) != (body == WORLD):
            return ()
        at = self.system.bounds(space)
        return range(self.length(World)) if space is World else range(at[body], at[body + 1])

    def length(self, space):
        return self.system.length(space)

    def known(self, x):
        return None

    def coordinates(self, body):
        return ()

    def kind(self, body):
        parent = self.tree.parents[body]
        spaces = {s for x in self.letters for s in (x.range, x.domain)} - {One}
        return self.size(Body, parent), *sorted((s.name, self.size(s, body)) for s in spaces)

    def _blocks(self, body):
        """Return E to the parent and the blocks of all letters at a body."""
        parent = self.tree.parents[body]
        bounds = self.system.bounds
        column = slice(bounds(Body)[body], bounds(Body)[body + 1])
        above = slice(bounds(Body)[parent], bounds(Body)[parent + 1])
        step = self.system.matrix(E0 if parent == WORLD else E)
        found = {E: (step if parent == WORLD else step[above])[:, column]}
        for x in self.letters:
            rows = slice(bounds(x.range)[body], bounds(x.range)[body + 1])
            across = slice(None) if x.domain is One else slice(*bounds(x.domain)[body : body + 2])
            block = self.system.matrix(x)[rows, across]
            found[x] = block[:, 0] if x.domain is One else block
        return found

    def constants(self, body):
        return [float(v) for block in self._blocks(body).values() for v in block.flat]

    def site(self, body, numbers):
        left, found = iter(numbers), {}
        for x, block in self._blocks(body).items():
            found[x] = zeros(*block.shape)
            found[x].flat[:] = [next(left) for _ in range(block.size)]
        return MatrixSite(found.pop(E), found)


def inputs_of(system, program):
    """Return what a program of a system takes in, with the values of the system."""
    return {"q": np.zeros(0)} | {x.name: system.evaluate(x).ravel() for x in program.inputs}
