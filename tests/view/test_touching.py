"""Contacts in pictures and in the viewer."""

from __future__ import annotations

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hinge
from hinge.model import Sphere
from hinge.view.touching import field_mesh, pushes, world_surfaces

SLOPE = hinge.Transform.place([[0.8, 0, 0.6], [0, 1, 0], [-0.6, 0, 0.8]], (0, 0, -0.5))


def ball(**more) -> hinge.Robot:
    b = hinge.Builder("ball")
    sphere = hinge.Inertia.from_com(2.0, (0, 0, 0), 0.008 * np.eye(3))
    b.body("ball", joint=hinge.model.joints.Free(), inertia=sphere)
    return hinge.with_contacts(b.build(), hinge.Contact("ball", "ball", friction=0.5, radius=0.1, **more))


@pytest.fixture(scope="module")
def falls():
    """Two balls, one that falls by a little and one that lies; friction differs."""
    q = np.array([[1.0, 0, 0, 0, 0, 0, 0.1002], [1.0, 0, 0, 0, 0.3, 0, 0.1]])
    given = {"contact_friction": [[0.2], [0.4]]}
    return hinge.simulate(ball(), q, t=0.06, dt=1e-3, integrator="stepping", parameters=given)


def test_arrows_stand_where_bodies_touch(falls):
    at = np.array([0, 10, 20])
    found = pushes(falls, 1, falls.q[1, at], at)
    assert found is not None
    assert_allclose(found.arrows.starts[:, 0], [[0.3, 0, 0]] * 3, atol=1e-9)
    assert_allclose(found.arrows.vectors[1:, 0], [[0, 0, 19.62]] * 2, atol=1e-6)
    assert_allclose(found.friction, [0.4])
    assert len(found.ends(0, 1.0)) == 0 and len(found.ends(1, 1.0)) == 1


def test_blows_are_shortened_to_twice_what_most_forces_are(falls):
    forces = falls.contacts.forces[0, :, 0, 0]
    at = np.array([int(forces.argmax())])
    found = pushes(falls, 0, falls.q[0, at], at)
    assert found is not None and forces.max() > 40
    assert np.linalg.norm(found.arrows.vectors) <= found.most * (1 + 1e-12)
    assert found.most == pytest.approx(2 * 19.62, rel=0.2)


def test_cones_have_the_slope_of_friction(falls):
    at = np.array([0, 20])
    found = pushes(falls, 1, falls.q[1, at], at)
    assert found is not None
    vertices, faces = found.cones(1, 1.0)
    along = vertices[1:] - vertices[0]
    assert_allclose(np.hypot(along[:, 0], along[:, 1]), 0.4 * along[:, 2], atol=1e-9)
    assert len(faces) == len(vertices) - 1 and set(faces[:, 0]) == {0}
    assert faces.max() == len(vertices) - 1
    assert len(found.cones(0, 1.0)[1]) == 0  # nothing presses at the start


def test_a_run_without_contacts_has_no_arrows():
    assert pushes(hinge.simulate(ball(), t=0.01, dt=1e-3), 0, np.zeros((1, 7)), np.array([0])) is None


def test_surfaces_of_the_world_are_listed_once():
    robot = hinge.on_ground(hinge.robots.quadruped(), ["FL_foot", "FR_foot"])
    robot = hinge.with_contacts(
        robot,
        [
            hinge.Contact("slope", "HL_foot", surface_placement=SLOPE),
            hinge.Contact("own", "HR_foot", "trunk", surface=Sphere(0.1)),
        ],
    )
    assert [x.position[2] for _, x in world_surfaces(robot)] == [0.0, -0.5]


def test_a_field_is_a_mesh_of_its_triangles():
    field = hinge.HeightField(np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), (2.0, 6.0))
    vertices, faces = field_mesh(field)
    assert_allclose(vertices[0], [-1, -3, 0]) and assert_allclose(vertices[-1], [1, 3, 5])
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (normals[:, 2] > 0).all() and normals[:, 2].sum() / 2 == pytest.approx(12.0)
    shared = {tuple(sorted(x)) for x in faces[:, [0, 2]].tolist()} | {
        tuple(sorted(x)) for x in faces[:, :2].tolist()
    }
    assert (0, 4) in shared  # the diagonal from (0, 0) to (1, 1)


def test_strips_show_ground_and_forces(falls):
    pytest.importorskip("matplotlib")
    figure = hinge.view.plot_strip(falls, instants=[0.0, 0.06], plane="xz", run_index=1)
    first, last = figure.axes[:2]
    assert len(first.texts) == 0 and len(last.texts) == 1
    assert any("AxLine" in type(x).__name__ and x.get_ydata()[0] == 0 for x in last.lines)
    figure.savefig(io.BytesIO(), format="png", dpi=40)
    hinge.view.plot_strip(falls, instants=2, overlay=True).savefig(io.BytesIO(), format="png", dpi=40)


def test_the_viewer_shows_forces_and_cones_on_request(falls):
    pytest.importorskip("viser")
    with hinge.view.play(falls, runs=[1], port=0, wait=False) as viewer:
        options = viewer.options
        viewer.seek(0.02)
        assert len(options.contact_pushes.handle.points) == 1 and options.cones.handle is None
        options.cone_switch.value = True
        viewer.refresh()
        assert options.cones.handle is not None
        options.cone_switch.value = options.contact_switch.value = False
        viewer.refresh()
        assert options.cones.handle is None and not options.contact_pushes.handle.visible


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, "GridHandle"),
        ({"surface_placement": SLOPE}, "GridHandle"),
        ({"surface": Sphere(0.3), "surface_placement": SLOPE}, "IcosphereHandle"),
        ({"surface": hinge.HeightField(np.eye(3), (1.0, 1.0))}, "MeshHandle"),
    ],
)
def test_the_ground_is_what_contacts_are_with(more, kind):
    pytest.importorskip("viser")
    with hinge.view.show(ball(**more), port=0, wait=False) as viewer:
        nodes = viewer.viser.scene._handle_from_node_name
        (ground,) = [x for name, x in nodes.items() if name.startswith("/ground") and "edges" not in name]
        assert type(ground).__name__ == kind
        if more:
            at = more.get("surface_placement", hinge.Transform.identity())
            offset = np.asarray(ground.position) - at.position
            assert abs(at.E[2] @ offset) < 1e-9
        else:
            assert ground.position[2] == 0
