"""A robot in the scene of the web viewer: a node for each body, with its pieces as children."""

from __future__ import annotations

from typing import Any

import numpy as np

from hinge.model import Box, Capsule, Cylinder, Robot, Sphere
from hinge.spatial import Array, Transform, quaternion
from hinge.view.appearance import Appearance, Piece, Solid
from hinge.view.extras import trimesh
from hinge.view.mesh_reader import Surface
from hinge.view.palette import Rgb, as_bytes
from hinge.view.skeleton import Ellipsoid

#: What is left of a colour of full strength.
BRIGHTEST = 0.8


class Puppet:
    """A robot drawn under one node of a scene; a ghost is paler, without names and ellipsoids."""

    def __init__(self, scene: Any, robot: Robot, look: Appearance, root: str, *, fade: float = 1.0) -> None:
        self._scene, self._fade = scene, fade
        scene.add_frame(root, show_axes=False)
        length = 0.08 * look.size
        self.nodes = [
            scene.add_frame(
                f"{root}/{i} {_plain(b.name)}",
                show_axes=False,
                axes_length=length,
                axes_radius=length / 18,
                origin_radius=length / 12,
            )
            for i, b in enumerate(robot.bodies)
        ]
        self.layers: dict[str, list[Any]] = {"shape": [], "stick": [], "inertia": []}
        for k, piece in enumerate(look.pieces):
            if fade == 1.0 or piece.layer != "inertia":
                name = f"{self.nodes[piece.body].name}/{piece.layer} {k}"
                self.layers[piece.layer].append(self._add(name, piece))
        self.show("inertia", visible=False)
        self.frames: list[Any] = []
        self.names: list[Any] = []
        if fade == 1.0:
            self._add_frames(robot, length)

    def place(self, positions: Array, quaternions: Array, moving: Array | None = None) -> None:
        """Set the poses of the moving bodies: positions (n, 3), quaternions (n, 4)."""
        bodies = range(len(self.nodes)) if moving is None else np.flatnonzero(moving).tolist()
        for i in bodies:
            self.nodes[i].position = positions[i]
            self.nodes[i].wxyz = quaternions[i]

    def show(self, layer: str, *, visible: bool) -> None:
        """Show or hide the pieces of a layer."""
        for handle in self.layers[layer]:
            handle.visible = visible

    def show_frames(self, *, visible: bool) -> None:
        """Show or hide the axes of bodies and named frames."""
        for handle in (*self.nodes, *self.frames):
            handle.show_axes = visible

    def show_names(self, *, visible: bool) -> None:
        """Show or hide the names of bodies and frames."""
        for handle in self.names:
            handle.visible = visible

    def _add_frames(self, robot: Robot, length: float) -> None:
        for k, frame in enumerate(robot.frames):
            node = self.nodes[robot.body_index(frame.body)]
            handle = self._scene.add_frame(
                f"{node.name}/frame {k} {_plain(frame.name)}",
                show_axes=False,
                axes_length=0.7 * length,
                axes_radius=length / 25,
                origin_radius=length / 18,
                **_pose(frame.placement),
            )
            self.frames.append(handle)
        for handle, name in zip((*self.nodes, *self.frames), _all_names(robot), strict=True):
            self.names.append(self._scene.add_label(f"{handle.name}/name", name, visible=False))

    def _add(self, name: str, piece: Piece) -> Any:
        return add_solid(
            self._scene, name, piece.solid, piece.placement, piece.rgb, piece.opacity * self._fade
        )


def add_solid(scene: Any, name: str, solid: Solid, place: Transform, rgb: Rgb, alpha: float = 1.0) -> Any:
    """Add a solid to a scene."""
    options = {
        **_pose(place),
        "color": as_bytes(toned(rgb)),
        "opacity": None if alpha >= 1 else alpha,
        "cast_shadow": alpha >= 1,
        "receive_shadow": False,
    }
    match solid:
        case Box():
            return scene.add_box(name, dimensions=solid.size, **options)
        case Sphere():
            return scene.add_icosphere(name, radius=solid.radius, **options)
        case Ellipsoid():
            a, b, c = (float(x) for x in solid.axes)
            return scene.add_icosphere(name, radius=1.0, scale=(a, b, c), **options)
        case Cylinder():
            return scene.add_cylinder(name, radius=solid.radius, height=solid.length, **options)
        case Capsule():
            found = trimesh().creation.capsule(height=solid.length, radius=solid.radius)
            shift = [0, 0, -found.bounds.mean(0)[2]]
            return scene.add_mesh_simple(name, found.vertices + shift, found.faces, **options)
        case Surface():
            return scene.add_mesh_simple(
                name, solid.vertices, solid.faces, flat_shading=True, side="double", **options
            )


def toned(rgb: Rgb) -> Rgb:
    """Return a colour that keeps its shades in the strong light of viser: white becomes a light grey."""
    r, g, b = (BRIGHTEST * x for x in rgb)
    return r, g, b


def _pose(placement: Transform) -> dict[str, Any]:
    return {"position": placement.position, "wxyz": quaternion.from_matrix(placement.rotation)}


def _all_names(robot: Robot) -> list[str]:
    return [*robot.body_names, *(f.name for f in robot.frames)]


def _plain(name: str) -> str:
    """Return a name that is not a path in the scene tree."""
    return name.replace("/", "∕")
