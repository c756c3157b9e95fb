"""Contacts in pictures: surfaces of the world, forces as arrows where bodies touch, cones of friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.dynamics import contact_frames
from hinge.model import HeightField, Robot, Surface
from hinge.sim import Run
from hinge.spatial import Array, Transform
from hinge.view.forces import LONGEST, Arrows

#: Which share of forces is drawn to scale; arrows of others, such as those of blows, have a bounded length.
TO_SCALE = 0.75
#: The length of a cone relative to the robot's size, and the number of its edges.
CONE, EDGES = 0.5 * LONGEST, 16


@dataclass(frozen=True, eq=False)
class Pushes:
    """Forces of contacts along a run, on the bodies of the shapes: arrows, and axes that they are along."""

    arrows: Arrows
    axes: Array
    friction: Array
    most: float

    def ends(self, frame: int, size: float) -> Array:
        """Return the end points (k, 2, 3) of the visible arrows of a frame."""
        return self.arrows.ends(frame, size, self.most)

    def cones(self, frame: int, size: float) -> tuple[Array, Array]:
        """Return the cones of friction of the contacts that press in a frame: vertices, triangles."""
        pressed = np.einsum("ki,ki->k", self.axes[frame, :, 0], self.arrows.vectors[frame]) > 0
        chosen = np.flatnonzero(pressed & (self.friction > 0))
        turn = np.linspace(0.0, 2 * np.pi, EDGES, endpoint=False)
        ring = np.stack([np.ones(EDGES), np.cos(turn), np.sin(turn)], axis=-1)
        vertices, faces = [np.zeros((0, 3))], [np.zeros((0, 3), int)]
        for n, k in enumerate(chosen.tolist()):
            along = ring * np.array([1.0, self.friction[k], self.friction[k]])
            along = along / np.hypot(1.0, self.friction[k])  # edges of the same length for all μ
            tip = self.arrows.starts[frame, k]
            vertices += [tip[None], tip + CONE * size * along @ self.axes[frame, k]]
            first = n * (EDGES + 1) + 1
            edge = first + np.arange(EDGES)
            faces.append(np.stack([np.full(EDGES, first - 1), edge, first + (edge - first + 1) % EDGES], -1))
        return np.concatenate(vertices), np.concatenate(faces)


def pushes(run: Run, place: int, q: Array, at: Array) -> Pushes | None:
    """Return the forces of contacts of one run of a batch at some times, with states q (T, nq) there."""
    if run.contacts is None or not run.robot.contacts:
        return None
    forces = np.nan_to_num(run.contacts.forces.reshape(-1, *run.contacts.forces.shape[-3:])[place])
    most, frames = _bound(forces), contact_frames(run.robot, q)
    vectors = frames.in_world(forces[at])
    sizes = np.linalg.norm(vectors, axis=-1, keepdims=True)
    vectors = vectors * np.minimum(1.0, most / np.maximum(sizes, 1e-300))
    return Pushes(Arrows(frames.points, vectors), frames.axes, _friction(run, place), most)


def _bound(forces: Array) -> float:
    """Return the largest force that is drawn to scale: twice what most of a run's reach."""
    sizes = np.linalg.norm(forces, axis=-1)
    pressed = sizes[sizes > 1e-9 * sizes.max(initial=0.0)]
    return 2 * float(np.quantile(pressed, TO_SCALE)) if pressed.size else 0.0


def _friction(run: Run, place: int) -> Array:
    """Return the coefficients (contacts,) of one run of a batch."""
    own = np.array([c.friction for c in run.robot.contacts])
    given = (run.settings.get("parameters") or {}).get("contact_friction")
    if given is None:
        return own
    return np.broadcast_to(given, (*run.batch, len(own))).reshape(-1, len(own))[place]


def world_surfaces(robot: Robot) -> list[tuple[Surface, Transform]]:
    """Return the surfaces of the world that contacts are with, each once, and the transforms to them."""
    found: list[tuple[Surface, Transform]] = []
    for c in robot.contacts:
        if c.on is None and not any(
            c.surface == s and np.array_equal(c.surface_placement.matrix(), x.matrix()) for s, x in found
        ):
            found.append((c.surface, c.surface_placement))
    return found


def field_mesh(field: HeightField) -> tuple[Array, Array]:
    """Return vertices (n, 3) and triangles (m, 3) of a height field, in its frame."""
    nx, ny = field.heights.shape
    x, y = (s * (np.arange(n) / (n - 1) - 0.5) for s, n in zip(field.size, (nx, ny), strict=True))
    vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), field.heights], axis=-1).reshape(-1, 3)
    corner = np.arange(nx * ny).reshape(nx, ny)
    a, b, c, d = corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]
    return vertices, np.concatenate([np.stack(t, -1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
