"""Robots whose bodies repeat in odd ways: every shape of code gives what NumPy gives."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

import hinge
from hinge.dynamics import CATALOGUE
from hinge.model.joints import Prismatic, Revolute
from hinge.spatial import Inertia
from tests.tiers import daily


class Growing:
    """A robot that grows body by body, each placed at random."""

    def __init__(self):
        self.builder = hinge.Builder("grown")
        self.random = np.random.default_rng(3)

    def add(self, name, kind, parent=None):
        inertia = Inertia.from_com(1.0 + self.random.random(), self.random.normal(size=3), np.eye(3))
        self.builder.body(
            name, parent=parent, joint=kind, position=self.random.normal(size=3), inertia=inertia
        )
        return name

    def revolute(self, name, parent=None):
        return self.add(name, Revolute((0, 0, 1)), parent)

    def prismatic(self, name, parent=None):
        return self.add(name, Prismatic((0, 0, 1)), parent)

    def build(self):
        return self.builder.build(strict=None)


def ribs():
    """Return a spine with a slider on each vertebra, of which the first is on a body beside."""
    g = Growing()
    spine = g.revolute("a0", g.revolute("p1", g.revolute("p")))
    side = g.revolute("x", spine)
    g.revolute("y", side)
    g.prismatic("b1", side)
    for t in range(2, 7):
        new = g.revolute(f"a{t}", spine)
        g.prismatic(f"b{t}", spine)
        spine = new
    return g.build()


def hub():
    """Return legs that repeat around a body which is itself the first of the repetition."""
    g = Growing()
    root = g.revolute("p1", g.revolute("p"))
    g.revolute("l2", g.revolute("l", root))
    centre = g.revolute("a0", root)
    g.revolute("c0", centre)
    g.prismatic("d0", centre)
    g.prismatic("b0", centre)
    for t in range(1, 6):
        leg = g.revolute(f"a{t}", centre)
        g.revolute(f"c{t}", leg)
        g.prismatic(f"d{t}", leg)
        g.prismatic(f"b{t}", centre)
    return g.build()


def star():
    """Return sliders and hinges in turn on one body: columns that differ in what is known of them."""
    g = Growing()
    centre = g.revolute("a")
    for t in range(6):
        g.prismatic(f"b{t}", centre)
        g.revolute(f"c{t}", centre)
    return g.build()


ROBOTS = {"ribs": ribs(), "hub": hub(), "star": star()}


@pytest.mark.parametrize(
    ("robot", "verb", "shape"),
    daily(
        product(ROBOTS, ["inverse_dynamics", "forward_dynamics", "mass_matrix_inverse"], ["U", "H", "R"]),
        lambda k, case: (k + k // 3 + k // 9) % 3 < 2,
    ),
)
def test_bodies_that_repeat_in_odd_ways(robot, verb, shape):
    given, wanted = in_numpy(robot, verb)
    found = hinge.compile(CATALOGUE[verb], ROBOTS[robot], shape=shape, lanes=2)(**given)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())


@cache
def in_numpy(robot, verb):
    """Return arguments, and what the NumPy target makes of them."""
    model, random = ROBOTS[robot], np.random.default_rng(1)
    takes = {"inverse_dynamics": ("qd", "qdd"), "forward_dynamics": ("qd", "tau")}.get(verb, ())
    given = {"q": random.normal(size=(5, model.nq)), **{n: random.normal(size=(5, model.nv)) for n in takes}}
    given |= {} if verb == "mass_matrix_inverse" else {"gravity": [0.0, 1.0, -9.0]}
    return given, hinge.compile(CATALOGUE[verb], model, target="numpy")(**given)
