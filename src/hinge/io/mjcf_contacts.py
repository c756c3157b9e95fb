"""Contacts of a compiled MuJoCo model: pairs of geoms that MuJoCo lets touch, as far as Hinge has them.

What may touch is MuJoCo's choice: contype and conaffinity, bodies that are neither welded together nor parent
and child, <exclude>, and <pair>, which comes before all. A pair's friction is the larger sliding coefficient,
or that of the geom of higher priority, and zero where condim is 1; <pair> has its own. Nothing bounces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from hinge.errors import ModelError
from hinge.io.mjcf_physics import labels, off
from hinge.model import (
    Contact,
    ContactMaker,
    ContactSide,
    Geometry,
    HeightField,
    Plane,
    Problem,
    Robot,
    warn_of,
    with_contacts,
)
from hinge.spatial import Transform

#: Whether contacts are read: none, those with what is fixed to the world and those of <pair>, or all.
Chosen: TypeAlias = bool | Literal["all"]
#: The kinds of geoms: mjtGeom.
_KINDS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
#: More contacts than this in one model are refused.
MOST = 10_000


class Geoms:
    """The geoms of a model that may touch; `shapes` are their geometries, None of other kinds."""

    def __init__(
        self,
        mujoco: Any,
        m: Any,
        bodies: Sequence[str],
        shapes: Sequence[Geometry | None],
        places: Sequence[Transform],
    ) -> None:
        self.mujoco, self.m, self.bodies, self.places = mujoco, m, bodies, places
        self.names = labels(mujoco, m, "GEOM")
        self.sides = [self._side(g, shape) for g, shape in enumerate(shapes)]

    def _side(self, g: int, shape: Geometry | None) -> ContactSide:
        owner, kind = int(self.m.geom_bodyid[g]), _KINDS[int(self.m.geom_type[g])]
        solid: Any = shape or (Plane() if kind == "plane" else self._field(g) if kind == "hfield" else kind)
        return ContactSide(self.names[g], self.bodies[owner] if owner else None, solid, self.places[g])

    def _field(self, g: int) -> HeightField | str:
        """Return a height field, whose rows lead along y, or a text if it is too large."""
        m, k = self.m, int(self.m.geom_dataid[g])
        ny, nx = int(m.hfield_nrow[k]), int(m.hfield_ncol[k])
        data = np.array(m.hfield_data[m.hfield_adr[k] : m.hfield_adr[k] + nx * ny], dtype=np.float64)
        x, y, top, _ = (float(s) for s in m.hfield_size[k])
        try:
            return HeightField(top * data.reshape(ny, nx).T, (2 * x, 2 * y))
        except ModelError:
            return "large hfield"

    def touched(self, robot: Robot, chosen: Chosen, strict: bool | None) -> Robot:
        """Return the robot with the contacts that are chosen; what is left out is a warning."""
        made = ContactMaker(robot, Contact("contact", ""))
        kept, only = 0, self._grounds() == 1
        for a, b, friction, dim in self._pairs(robot, all_of_them=chosen == "all"):
            one, two = self.sides[a], self.sides[b]
            made.add(
                one.name if only and two.frame is None else f"{one.name}_{two.name}",
                one,
                two,
                friction=friction,
            )
            kept = max(kept, dim)
            if len(made.contacts) > MOST:
                raise ModelError(
                    f"contacts: has more than {MOST}, the limit; name frames to on_ground instead"
                )
        if strict is not None:
            warn_of(robot, [*self._told(made, kept), *made.told()])
        return with_contacts(robot, made.contacts)

    def _told(self, made: ContactMaker, dim: int) -> Iterator[Problem]:
        if made.contacts:
            message = f"{len(made.contacts)} contacts are rigid here, where MuJoCo's are soft"
            if dim > 3:
                message += "; torsional and rolling friction are left out"
            yield Problem("contact", "rigid", message, note=True)

    def _grounds(self) -> int:
        """Return how many geoms of the world can touch anything."""
        m = self.m
        touch = (np.array(m.geom_contype) | np.array(m.geom_conaffinity)) != 0
        return int(np.count_nonzero(touch & (np.asarray(m.geom_bodyid) == 0)))

    def _pairs(self, robot: Robot, *, all_of_them: bool) -> Iterator[tuple[int, int, float, int]]:
        """Yield pairs of geoms, the one that moves first, with friction and condim."""
        m = self.m
        if off(self.mujoco, m, "CONTACT") or off(self.mujoco, m, "CONSTRAINT"):
            return
        welded = self._welded(robot)
        seen: set[frozenset[int]] = set()
        for k in range(m.npair):
            a, b, dim = int(m.pair_geom1[k]), int(m.pair_geom2[k]), int(m.pair_dim[k])
            seen.add(frozenset((a, b)))
            if welded[m.geom_bodyid[a]] != welded[m.geom_bodyid[b]]:
                friction = float(m.pair_friction[k, 0]) if dim > 1 else 0.0
                yield *((b, a) if self.sides[a].frame is None else (a, b)), friction, dim
        kinds, others = np.array(m.geom_contype), np.array(m.geom_conaffinity)
        owners = np.asarray(m.geom_bodyid)
        groups = welded[owners]
        for a in map(int, np.flatnonzero(groups != 0)):
            meet = ((kinds[a] & others) | (kinds & others[a])) != 0
            still = groups == 0
            later = (np.arange(len(owners)) > a) & (groups != 0) & (groups != groups[a])
            for b in map(int, np.flatnonzero(meet & (still | later if all_of_them else still))):
                if frozenset((a, b)) not in seen and not self._filtered(
                    welded, int(owners[a]), int(owners[b])
                ):
                    yield a, b, *self._friction(a, b)

    def _welded(self, robot: Robot) -> Any:
        """Return for each body the one that it moves with, 0 for those that are fixed to the world."""
        found = np.zeros(self.m.nbody, dtype=int)
        for b in range(1, self.m.nbody):
            found[b] = b if robot.joint_of(self.bodies[b]).nv else found[self.m.body_parentid[b]]
        return found

    def _filtered(self, welded: Any, a: int, b: int) -> bool:
        """Tell whether two bodies are excluded, or parent and child, neither of them fixed to the world."""
        m = self.m
        if {(a << 16) + b, (b << 16) + a} & {int(s) for s in m.exclude_signature}:
            return True
        above = [int(welded[m.body_parentid[welded[x]]]) for x in (a, b)]
        near = above[0] == welded[b] or above[1] == welded[a]
        return bool(welded[b] and near and not off(self.mujoco, m, "FILTERPARENT"))

    def _friction(self, a: int, b: int) -> tuple[float, int]:
        """Return the sliding friction of two geoms and their condim."""
        m = self.m
        first, second = int(m.geom_priority[a]), int(m.geom_priority[b])
        chosen = [g for g, rank in ((a, first), (b, second)) if rank == max(first, second)]
        dim = max(int(m.geom_condim[g]) for g in chosen)
        return max(float(m.geom_friction[g, 0]) for g in chosen) if dim > 1 else 0.0, dim
