"""The stage of the web viewer: camera, ground, light and background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.model import HeightField, Plane, Robot, Surface
from hinge.spatial import Array, Transform, quaternion
from hinge.view.appearance import PLAIN, Appearance, Piece, cloud
from hinge.view.coordinates import position_coordinates
from hinge.view.poses import Poses
from hinge.view.puppet import add_solid
from hinge.view.touching import field_mesh, world_surfaces

#: The camera's vertical angle of view, and the width of a window by its height.
FOV, ASPECT = np.radians(40), 1.45
#: Parts of the window that the robot may fill: left, right (beside the panel), below and above the middle.
LEFT, RIGHT, UPRIGHT = 0.88, 0.34, 0.84
#: Background, lines of the ground.
BACKGROUND, LINES, SECTIONS = (226, 230, 235), (196, 201, 208), (164, 171, 180)
#: Faces and edges of uneven ground.
SOIL, FURROWS = (128, 134, 142), (104, 110, 118)


@dataclass(frozen=True, eq=False)
class View:
    """A camera: what it looks at, where it is, and its distance from what it looks at."""

    target: Array
    position: Array
    distance: float


def set_stage(
    server: Any, robot: Robot, look: Appearance, poses: Poses, gravity: Array, first: Poses | None = None
) -> None:
    """Fit the camera to poses (…), gravity downwards, and set light and ground.

    The ground is what the robot's contacts are with; without any it is under the robot. `first` is the first
    pose, by default the only one.
    """
    pieces = [p for p in look.pieces if p.layer != "inertia"]
    points = cloud(robot, pieces, poses)
    up = -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])
    scene, camera = server.scene, server.initial_camera
    scene.set_up_direction(tuple(float(x) for x in up))
    scene.set_background_image(np.full((2, 2, 3), BACKGROUND, dtype=np.uint8), format="png")
    scene.configure_environment_map("studio", environment_intensity=0.25)
    at = fitted(points, up)
    camera.up, camera.look_at, camera.position = up, at.target, at.position
    camera.fov, camera.near, camera.far = FOV, at.distance / 100, 100 * at.distance
    surfaces = world_surfaces(robot)
    for k, (surface, place) in enumerate(surfaces):
        _add_surface(scene, f"/ground {k}", surface, place, points)
    if not surfaces and gravity.any() and np.allclose(up, (0, 0, 1)):
        height = ground_height(robot, pieces, first or poses, float(points[:, 2].min(initial=0.0)))
        _add_grid(scene, "/ground", points, Transform.place(None, (0.0, 0.0, height)))


def fitted(points: Array, up: Array) -> View:
    """Return the nearest camera that sees all points (n, 3), in the part of the window beside the panel.

    With right x, up y and towards the camera z, a point is seen where |y − y₀| ≤ a (D − z): the least D is
    where the bounds from both sides meet.
    """
    if not len(points):
        points = np.zeros((1, 3))
    back = _aside(up)
    right = np.cross(up, back)
    right = right / np.linalg.norm(right)
    axes = np.stack([right, np.cross(back, right), back])
    x, y, z = axes @ points.T
    slope = float(np.tan(FOV / 2))
    sides = ((x, LEFT * ASPECT * slope, RIGHT * ASPECT * slope), (y, UPRIGHT * slope, UPRIGHT * slope))
    bounds = [(float((z - s / a).max()), float((z + s / b).max()), a, b) for s, a, b in sides]
    least = max((b * f + a * e) / (a + b) for e, f, a, b in bounds)
    distance = max(least, float(z.max()) + 1e-2)
    middle = [(b * (f - distance) + a * (distance - e)) / 2 for e, f, a, b in bounds]
    depth = float(z.min() + z.max()) / 2
    target = np.array([*middle, depth]) @ axes
    return View(target, np.array([*middle, distance]) @ axes, distance - depth)


def ground_height(robot: Robot, pieces: list[Piece], first: Poses, lowest: float) -> float:
    """Return the height of the ground for a motion that begins with a pose and has a lowest point.

    A robot whose base is fixed stands on the ground. If more than a third of it is below its base, as with a
    humanoid held at its pelvis, the ground is at the lowest point. Any other robot begins on the ground, or
    above it if it begins above 0.
    """
    heights = cloud(robot, pieces, first)[:, 2]
    roots = [j for j in robot.joints if j.parent is None]
    if any(c.unit == "m" for j in roots for c in position_coordinates(j)):
        return float(heights.min(initial=0.0))
    shapes = [p for p in pieces if p.layer == "shape"]
    feet = cloud(robot, shapes, first, _unmoved(robot))[:, 2].tolist()
    base = min([*feet, *(float(j.inner.position[2]) for j in roots)], default=0.0)
    deepest, highest = heights.min(initial=base), heights.max(initial=base)
    return base if 3 * (base - deepest) <= highest - deepest else lowest


def _unmoved(robot: Robot) -> set[int]:
    """Return the bodies that are fixed to the world."""
    found: set[int] = set()
    for i, joint in enumerate(robot.joints):
        if joint.nv == 0 and (joint.parent is None or robot.body_index(joint.parent) in found):
            found.add(i)
    return found


def _add_surface(scene: Any, name: str, surface: Surface, place: Transform, points: Array) -> None:
    """Draw a surface of the world that bodies touch."""
    match surface:
        case Plane():
            _add_grid(scene, name, points, place)
        case HeightField():
            vertices, faces = field_mesh(surface)
            at = {"position": place.position, "wxyz": quaternion.from_matrix(place.rotation)}
            look = {"flat_shading": True, "side": "double", "cast_shadow": False, **at}
            scene.add_mesh_simple(name, vertices, faces, color=SOIL, **look)
            scene.add_mesh_simple(
                f"{name}/edges", vertices, faces, color=FURROWS, wireframe=True, cast_shadow=False
            )
        case _:
            add_solid(scene, name, surface, place, PLAIN)


def _add_grid(scene: Any, name: str, points: Array, place: Transform) -> None:
    """Draw a plane as a grid, below the middle of the points."""
    size = max(float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0, 1e-3)
    middle = place.point(points.mean(0)) if len(points) else np.zeros(3)
    cell = 10.0 ** np.floor(np.log10(size / 2))
    snapped = np.round(middle[:2] / (10 * cell)) * 10 * cell  # lines stay at whole numbers
    scene.add_grid(
        name, width=12 * size, height=12 * size, cell_size=cell, section_size=10 * cell,
        position=place.inv().point(np.array([*snapped, 0.0])), wxyz=quaternion.from_matrix(place.rotation),
        fade_distance=8 * size, cell_color=LINES, section_color=SECTIONS, shadow_opacity=0.25,
    )  # fmt: skip


def _aside(up: Array) -> Array:
    """Return the direction from the target to the camera: front, right, slightly up."""
    front = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    front = front - (front @ up) * up
    front = front / np.linalg.norm(front)
    aside = 0.75 * front - 0.85 * np.cross(up, front) + 0.45 * up
    return aside / np.linalg.norm(aside)
