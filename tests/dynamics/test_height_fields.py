"""Height fields in programs, against the slow geometry; runs on them are in `tests/sim`."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

import hinge
from hinge import reference
from hinge.kernels import Graph, apply, finish, table
from hinge.model import Builder, Contact
from hinge.model.joints import Free
from hinge.spatial import Inertia, Transform, rotation
from hinge.testing import random_state
from tests.dynamics.fields import check_geometry, rough


def test_gaps_and_rows_are_those_of_the_slow_geometry():
    check_geometry()


def test_places_beyond_a_table_are_its_ends():
    name = table(np.array([3.0, 5.0, 8.0]))
    assert table(np.array([[3.0, 5.0, 8.0]])) == name != table(np.array([3.0, 5.0, 9.0]))
    assert [apply(name, x) for x in (-7.0, 0.0, 1.0, 2.0, 1e9, float("nan"))] == [3, 3, 5, 8, 8, 3]
    graph = Graph()
    kernel = finish(graph, {"y": apply(name, apply("floor", graph.input("x")))})
    x = np.array([-0.5, 1.9, np.inf, np.nan, 2.0])
    assert kernel.evaluate({"x": x})["y"].tolist() == [3, 5, 8, 3, 8]


def test_a_field_on_a_body_that_moves_is_the_slow_geometry():
    field = rough(seed=4)
    b = Builder("two")
    for name in ("plate", "ball"):
        b.body(name, joint=Free(), inertia=Inertia.from_com(1.0, 0.1 * np.ones(3), np.eye(3)))
    place = Transform.place(rotation.about((0.0, 0.6, 0.8), 0.4), (0.1, -0.2, 0.3))
    contact = Contact("touch", "ball", "plate", 0.5, radius=0.2, surface=field, surface_placement=place)
    robot = hinge.with_contacts(b.build(), [contact])
    s = random_state(robot, 5, 8)
    assert_allclose(hinge.gap(robot, s.q), np.array([reference.gap(robot, q) for q in s.q]), atol=1e-12)
    jacobian = np.array([reference.contact_jacobian(robot, q) for q in s.q])
    assert_allclose(hinge.contact_jacobian(robot, s.q), jacobian, atol=1e-11)
    # The rate of the rows, by differences.
    qdd = hinge.contact_dynamics(robot, s.q, s.qd, s.tau, closed=np.ones((8, 1)))
    h = 1e-5
    ahead, back = (hinge.integrate(robot, s.q, x * h * s.qd) for x in (1, -1))
    rate = (hinge.contact_jacobian(robot, ahead) - hinge.contact_jacobian(robot, back))[:, 0, 0] / (2 * h)
    normal = np.einsum("ki,ki->k", jacobian[:, 0, 0], qdd.qdd) + np.einsum("ki,ki->k", rate, s.qd)
    pushed = qdd.forces[:, 0, 0] > 1e-9
    assert pushed.any()
    assert_allclose(normal[pushed], 0.0, atol=1e-5)
    assert (normal > -1e-5).all()
