"""Read MJCF through MuJoCo's own compiler (extra `mjcf`).

Read: bodies, hinge, slide, ball and free joints, several joints on one body, inertias, gravity,
armature (as rotor inertia), damping, friction loss, stiffness and springs' rest, ranges, sites (as
frames), primitive geoms (as shapes), linear relations of joints (as couplings), active connect and weld
constraints (as closures, which are rigid), on request contacts (`mjcf_contacts.py`). Armature and damping of
actuators and of tendons of one joint are added to those of their joints, as MuJoCo does. Several joints on
one body become a chain with massless bodies between, so that each keeps its name. What is left out is named
by `mjcf_losses.py`, with whether it changes the physics.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hinge.errors import FormatError, ModelError
from hinge.io.base import free_name
from hinge.io.mjcf_closures import closures_of, told
from hinge.io.mjcf_compiler import compiled, the_mujoco
from hinge.io.mjcf_contacts import Chosen, Geoms
from hinge.io.mjcf_losses import Losses, couplings_of
from hinge.io.mjcf_physics import BALL, FREE, HINGE, joint_physics, labels
from hinge.model import (
    Body,
    Box,
    Capsule,
    Cylinder,
    Frame,
    Geometry,
    Joint,
    Robot,
    Shape,
    Sphere,
    embed_couplings,
    enforce,
    joints,
    make_robot,
)
from hinge.spatial import Array, Inertia, Transform, rotation

#: More bodies than this in one file are refused; `from_mujoco` has no such limit.
MAX_BODIES = 10_000


def read_mjcf(
    path: str | Path,
    *,
    floating: bool = False,
    strict: bool | None = False,
    root: str | Path | None = None,
    embed: bool = False,
    contacts: Chosen = False,
) -> Robot:
    """Return the robot of an MJCF file.

    Included files, meshes and textures may lie only under `root`, by default the file's own folder. MuJoCo
    compiles the file in a process of its own, in bounded time and memory.
    `floating` gives the only child of the world without a joint a free joint; with `embed` coupled joints
    have no coordinates of their own. `contacts` reads pairs of geoms that may touch, with their sliding
    friction: those with the world's planes, height fields, spheres and capsules and those of <pair>, with
    "all" also those between bodies that MuJoCo would look at. What is left out is a ModelWarning; with
    `strict` what changes the physics is an error.
    """
    path = Path(path)
    model = compiled(path, path.parent if root is None else Path(root))
    if model.nbody > MAX_BODIES:
        reason = f"has {model.nbody} bodies, more than {MAX_BODIES}, the limit"
        raise FormatError(reason, source=str(path))
    return from_mujoco(
        model, name=path.stem, floating=floating, strict=strict, embed=embed, contacts=contacts
    )


def from_mujoco(
    model: Any,
    *,
    name: str = "robot",
    floating: bool = False,
    strict: bool | None = False,
    embed: bool = False,
    contacts: Chosen = False,
) -> Robot:
    """Return the robot of a compiled `mujoco.MjModel`; see `read_mjcf`."""
    reader = _Reader(the_mujoco(), model)
    bodies: list[Body] = []
    chain: list[Joint] = []
    for b in range(1, model.nbody):
        reader.add(b, bodies, chain)
    if not bodies:
        raise FormatError("expected at least one body in <worldbody>, got none", source=name)
    if floating:
        chain = _floated(chain, name)
    couplings, unread = couplings_of(reader.mujoco, model)
    sites = reader.frames()
    frames = list(sites.values())
    names = {s: f.name for s, f in sites.items()}
    loops = closures_of(reader.mujoco, model, unread, reader.body_names, frames, names)
    losses = Losses(reader.mujoco, model, loops.unread, contacts=contacts)
    parts: dict[str, Any] = {"couplings": couplings, "gravity": reader.gravity(), "closures": loops.closures}
    try:
        robot = make_robot(name, bodies, chain, frames=[*frames, *loops.frames], **parts)
        found = losses.found(() if embed else couplings)
        enforce(robot, strict=strict, found=[*found, *told(loops.closures)])
        if contacts:
            robot = reader.geoms().touched(robot, contacts, strict)
    except ModelError as error:
        raise FormatError(str(error), source=name) from None
    return embed_couplings(robot) if embed else robot


class _Reader:
    """Reads bodies and joints of a compiled model."""

    def __init__(self, mujoco: Any, model: Any) -> None:
        self.mujoco, self.m = mujoco, model
        self.body_names = labels(mujoco, model, "BODY")
        self.joint_names = labels(mujoco, model, "JOINT")
        self.physics = joint_physics(mujoco, model)

    def label(self, kind: str, index: int, default: str) -> str:
        code = getattr(self.mujoco.mjtObj, f"mjOBJ_{kind}")
        return self.mujoco.mj_id2name(self.m, code, index) or default

    def add(self, b: int, bodies: list[Body], chain: list[Joint]) -> None:
        """Add body b, and massless ones before it when it has several joints."""
        m, name = self.m, self.body_names[b]
        parent = None if m.body_parentid[b] == 0 else self.body_names[m.body_parentid[b]]
        pose = Transform.place(_turned(m.body_quat[b]), np.array(m.body_pos[b]))
        own = range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b])
        if not own:
            chain.append(Joint(f"{name}_fixed", joints.Fixed(), parent, name, pose))
        for k, j in enumerate(own):
            last = k == len(own) - 1
            label = self.joint_names[j]
            child = name if last else f"{name}/{label}"
            if not last:
                bodies.append(Body(child))
            chain.append(self.joint(j, label, parent, child, pose))
            parent, pose = child, Transform.identity()
        inertia = Inertia.from_com(m.body_mass[b], np.zeros(3), np.diag(m.body_inertia[b]))
        frame = Transform.place(_turned(m.body_iquat[b]), np.array(m.body_ipos[b]))
        bodies.append(Body(name, frame.inv().inertia(inertia), self.shapes(b)))

    def joint(self, j: int, name: str, parent: str | None, child: str, pose: Transform) -> Joint:
        m, kind = self.m, self.m.jnt_type[j]
        q = m.jnt_qposadr[j]
        anchor = Transform.place(position=np.array(m.jnt_pos[j]))
        physics: dict[str, Any] = {}
        if kind == FREE:
            type_, inner, outer = joints.Free(), Transform.identity(), Transform.identity()
        elif kind == BALL:
            type_, inner, outer = joints.Spherical(), anchor @ pose, anchor
            physics["rest"] = np.array(m.qpos_spring[q : q + 4])
        else:
            x, y, z = (float(a) for a in m.jnt_axis[j])
            type_ = joints.Revolute((x, y, z)) if kind == HINGE else joints.Prismatic((x, y, z))
            # MuJoCo measures q from the reference qpos0 of the drawn pose.
            zero = type_.placement(-np.array(m.qpos0[q : q + 1]))
            inner, outer = anchor @ pose, zero.inv() @ anchor
            if m.jnt_limited[j] and self.physics.limited:
                physics |= {"lower": m.jnt_range[j, 0], "upper": m.jnt_range[j, 1]}
            physics["rest"] = np.array(m.qpos_spring[q : q + 1])
        physics |= self.physics.of(j, type_.nv)
        return Joint(name, type_, parent, child, inner, outer, **physics)

    def shapes(self, b: int) -> tuple[Shape, ...]:
        m = self.m
        start, count = m.body_geomadr[b], m.body_geomnum[b]
        found: list[Shape] = []
        for g in range(start, start + count):
            geometry = _geometry(int(m.geom_type[g]), np.array(m.geom_size[g]))
            if geometry is None:
                continue
            touches = bool(m.geom_contype[g] or m.geom_conaffinity[g])
            r, gr, bl, al = (float(c) for c in m.geom_rgba[g])
            role = "collision" if touches else "visual"
            found.append(
                Shape(role, geometry, self.geom_place(g), self.label("GEOM", g, ""), (r, gr, bl, al))
            )
        return tuple(found)

    def geom_place(self, g: int) -> Transform:
        return Transform.place(_turned(self.m.geom_quat[g]), np.array(self.m.geom_pos[g]))

    def geoms(self) -> Geoms:
        """Return all geoms, as what may touch."""
        m = self.m
        shapes = [_geometry(int(m.geom_type[g]), np.array(m.geom_size[g])) for g in range(m.ngeom)]
        places = [self.geom_place(g) for g in range(m.ngeom)]
        return Geoms(self.mujoco, m, self.body_names, shapes, places)

    def frames(self) -> dict[int, Frame]:
        """Return the frames of sites on bodies, by the numbers of the sites."""
        m, taken = self.m, set(self.body_names)
        found: dict[int, Frame] = {}
        for s in range(m.nsite):
            name, body = self.label("SITE", s, f"site{s}"), m.site_bodyid[s]
            if body == 0:
                continue
            if name in taken:
                name = f"site/{name}"
            place = Transform.place(_turned(m.site_quat[s]), np.array(m.site_pos[s]))
            found[s] = Frame(name, self.body_names[body], place)
        return found

    def gravity(self) -> Array:
        off = self.m.opt.disableflags & self.mujoco.mjtDisableBit.mjDSBL_GRAVITY
        return np.zeros(3) if off else np.array(self.m.opt.gravity)


def _turned(quaternion: Any) -> Array:
    """Return the rotation of a quaternion, which may be off unit length by rounding."""
    q = np.array(quaternion, dtype=np.float64)
    return rotation.from_quaternion(q / np.linalg.norm(q))


def _geometry(kind: int, size: Array) -> Geometry | None:
    x, y, z = (float(s) for s in size)
    if kind == 2:
        return Sphere(x)
    if kind == 3:
        return Capsule(x, 2 * y)
    if kind == 5:
        return Cylinder(x, 2 * y)
    return Box((2 * x, 2 * y, 2 * z)) if kind == 6 else None


def _floated(chain: list[Joint], name: str) -> list[Joint]:
    """Replace the fixed joint of the only welded root by a free one."""
    roots = [j for j in chain if j.parent is None]
    welded = [j for j in roots if j.type.kind == "fixed"]
    if len(roots) != 1 or not welded:
        raise FormatError(
            "floating: expected one child of the world without a joint, got "
            f"{len(roots)} children, {len(welded)} of them without a joint",
            source=name,
        )
    free = Joint(free_name({j.name for j in chain}), joints.Free(), None, welded[0].child, welded[0].inner)
    return [free if j is welded[0] else j for j in chain]
