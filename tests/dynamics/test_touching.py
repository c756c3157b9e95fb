"""Gaps, rows and their rates of every pair of shapes, against `hinge.reference` and differences."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge import reference
from hinge.dynamics import Parts, compile
from hinge.dynamics.contact_forms import CONTACTS
from hinge.dynamics.expressions import CLOSURES
from hinge.model import Builder, Capsule, Contact, Plane, Sphere, integrate
from hinge.model.joints import Free, Prismatic
from hinge.robots import random_inertia, random_tree
from hinge.spatial import Transform
from hinge.testing import random_state
from tests.dynamics.contact_dense import normal_bias
from tests.dynamics.touching_pairs import every_pair

BIAS = Parts({"bias": CLOSURES["closure_bias"]}, touch="normals")


def rows_of(robot, q, qd, target):
    """Return gaps, Jacobian and the second derivatives of gaps at q̈ = 0."""
    gap, jacobian, bias = (
        compile(x, robot, target=target) for x in (CONTACTS["gap"], CONTACTS["contact_jacobian"], BIAS)
    )
    k = len(robot.contacts)
    return gap(q), jacobian(q).reshape(*q.shape[:-1], k, 3, robot.nv), bias(q, qd=qd)


def check_rows(robot, s, target):
    gap, jacobian, bias = rows_of(robot, s.q, s.qd, target)
    for k, (q, qd) in enumerate(zip(s.q, s.qd, strict=True)):
        assert_allclose(gap[k], reference.gap(robot, q), atol=1e-13)
        assert_allclose(jacobian[k], reference.contact_jacobian(robot, q), atol=1e-13)
        assert_allclose(bias[k], normal_bias(robot, q, qd), atol=1e-9)


def test_every_pair_in_the_world_and_between_bodies():
    """With NumPy's target, which runs the same kernels: native code of all these takes half a minute."""
    robot = every_pair(0)
    assert len(robot.contacts) == 16
    check_rows(robot, random_state(robot, 0, 4), "numpy")


def test_native_code_has_the_same_rows():
    b, rng = Builder("two"), np.random.default_rng(3)
    for name in ("one", "two"):
        b.body(name, joint=Free(), inertia=random_inertia(rng))
    b.contact("ground", "one", radius=0.1)
    b.contact("side", "two", "one", length=0.6, radius=0.1, surface=Capsule(0.2, 0.5))
    b.contact("deck", "one", "two", surface=Plane(), surface_placement=Transform.place(None, (0.1, 0.2, 0.3)))
    robot = b.build()
    check_rows(robot, random_state(robot, 1, 5), "llvm")


@pytest.mark.parametrize("surface", [Plane(), Sphere(0.3), Capsule(0.2, 0.9)], ids=lambda x: type(x).__name__)
def test_the_rate_of_a_gap_is_its_normal_row(surface):
    robot = hinge.with_contacts(
        random_tree(5, 2), [Contact("touch", "body4", "body1", radius=0.05, surface=surface)]
    )
    s, h = random_state(robot, 3), 1e-5
    ahead, back = (reference.gap(robot, integrate(robot, s.q, x * h * s.qd)) for x in (1, -1))
    rate = hinge.contact_jacobian(robot, s.q)[:, 0] @ s.qd
    assert_allclose(rate, (ahead - back) / (2 * h), atol=1e-7)


def test_spheres_that_meet_at_their_centres_have_a_gap_and_no_nan():
    b = Builder("met")
    b.body("one", joint=Prismatic((1, 0, 0)), inertia=random_inertia(np.random.default_rng(0)))
    b.contact("c", "one", radius=0.1, surface=Sphere(0.2))
    robot = b.build()
    assert hinge.gap(robot, [0.0])[0] == pytest.approx(-0.3, abs=1e-9)
    assert_allclose(
        hinge.contact_jacobian(robot, [0.0]), reference.contact_jacobian(robot, [0.0]), atol=1e-12
    )


def test_merged_bodies_and_frames_on_them_touch_where_they_are():
    """Contacts of a body on a fixed joint and of its frame are those of the body that carries it."""
    b, rng = Builder("merged"), np.random.default_rng(4)
    b.body("base", joint=Free(), inertia=random_inertia(rng))
    b.body("tool", parent="base", position=(0.1, 0.2, 0.3), inertia=random_inertia(rng))
    b.frame("tip", "tool", position=(0.0, 0.0, -0.5))
    b.contact("by_frame", "tip", radius=0.02)
    b.contact("by_body", "tool")
    robot = b.build()
    check_rows(robot, random_state(robot, 2, 3), "numpy")
