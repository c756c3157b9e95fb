"""Read MJCF through MuJoCo's own compiler (extra `mjcf`).

Read: bodies, hinge, slide, ball and free joints, several joints on one body, inertias, gravity,
armature (as rotor inertia), damping, friction loss, stiffness and springs' rest, ranges, sites (as
frames), primitive geoms (as shapes). Several joints on one body become a chain with massless
bodies between, so that each keeps its name. What multibody dynamics of a tree has no place for
(equality constraints, tendons, actuators, contacts, gravity compensation, fluid) is left out, and a
warning lists it.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from hinge.errors import FormatError, MissingExtraError, ModelError, ModelWarning
from hinge.io.mjcf_dangers import refuse_dangers
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
    assemble,
    enforce,
    joints,
)
from hinge.spatial import Array, Inertia, Transform, rotation

_FREE, _BALL, _SLIDE, _HINGE = range(4)


def read_mjcf(
    path: str | Path,
    *,
    floating: bool = False,
    strict: bool | None = False,
    root: str | Path | None = None,
) -> Robot:
    """Return the robot of an MJCF file.

    Included files, meshes and textures may lie only under `root`, by default the file's own folder.
    `floating` gives the only child of the world without a joint a free joint.
    """
    path = Path(path)
    folder = path.parent if root is None else Path(root)
    refuse_dangers(path, folder)
    mujoco = _mujoco()
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()) or "unknown reason"
        raise FormatError(f"MuJoCo does not compile it: {reason}", source=str(path)) from None
    return from_mujoco(model, name=path.stem, floating=floating, strict=strict)


def from_mujoco(
    model: Any, *, name: str = "robot", floating: bool = False, strict: bool | None = False
) -> Robot:
    """Return the robot of a compiled `mujoco.MjModel`."""
    reader = _Reader(_mujoco(), model)
    bodies: list[Body] = []
    chain: list[Joint] = []
    for b in range(1, model.nbody):
        reader.add(b, bodies, chain)
    if not bodies:
        raise FormatError("expected at least one body in <worldbody>, got none", source=name)
    if floating:
        chain = _floated(chain, name)
    try:
        robot = assemble(name, bodies, chain, frames=reader.frames(), gravity=reader.gravity())
        enforce(robot, strict=strict, stacklevel=4)
    except ModelError as error:
        raise FormatError(str(error), source=name) from None
    left_out = reader.left_out()
    if left_out and strict is not None:
        warnings.warn(f"{name}: left out: {', '.join(left_out)}", ModelWarning, stacklevel=3)
    return robot


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError(
            "MJCF needs MuJoCo, which is not installed; pip install 'hinge[mjcf]'"
        ) from None
    return mujoco


class _Reader:
    """Reads bodies and joints of a compiled model."""

    def __init__(self, mujoco: Any, model: Any) -> None:
        self.mujoco, self.m = mujoco, model
        self.body_names = [self.label("BODY", b, f"body{b}") for b in range(model.nbody)]

    def label(self, kind: str, index: int, default: str) -> str:
        code = getattr(self.mujoco.mjtObj, f"mjOBJ_{kind}")
        return self.mujoco.mj_id2name(self.m, code, index) or default

    def add(self, b: int, bodies: list[Body], chain: list[Joint]) -> None:
        """Add body b, and massless ones before it when it has several joints."""
        m, name = self.m, self.body_names[b]
        parent = None if m.body_parentid[b] == 0 else self.body_names[m.body_parentid[b]]
        pose = Transform.place(rotation.from_quaternion(m.body_quat[b]), np.array(m.body_pos[b]))
        own = range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b])
        if not own:
            chain.append(Joint(f"{name}_fixed", joints.Fixed(), parent, name, pose))
        for k, j in enumerate(own):
            last = k == len(own) - 1
            label = self.label("JOINT", j, f"joint{j}")
            child = name if last else f"{name}/{label}"
            if not last:
                bodies.append(Body(child))
            chain.append(self.joint(j, label, parent, child, pose))
            parent, pose = child, Transform.identity()
        inertia = Inertia.from_com(m.body_mass[b], np.zeros(3), np.diag(m.body_inertia[b]))
        frame = Transform.place(rotation.from_quaternion(m.body_iquat[b]), np.array(m.body_ipos[b]))
        bodies.append(Body(name, frame.inv().inertia(inertia), self.shapes(b)))

    def joint(self, j: int, name: str, parent: str | None, child: str, pose: Transform) -> Joint:
        m, kind = self.m, self.m.jnt_type[j]
        dof, q = m.jnt_dofadr[j], m.jnt_qposadr[j]
        anchor = Transform.place(position=np.array(m.jnt_pos[j]))
        physics: dict[str, Any] = {}
        if kind == _FREE:
            type_, inner, outer = joints.Free(), Transform.identity(), Transform.identity()
        elif kind == _BALL:
            type_, inner, outer = joints.Spherical(), anchor @ pose, anchor
            physics["rest"] = np.array(m.qpos_spring[q : q + 4])
        else:
            x, y, z = (float(a) for a in m.jnt_axis[j])
            type_ = joints.Revolute((x, y, z)) if kind == _HINGE else joints.Prismatic((x, y, z))
            # MuJoCo measures q from the reference qpos0 of the drawn pose.
            zero = type_.placement(-np.array(m.qpos0[q : q + 1]))
            inner, outer = anchor @ pose, zero.inv() @ anchor
            if m.jnt_limited[j]:
                physics |= {"lower": m.jnt_range[j, 0], "upper": m.jnt_range[j, 1]}
            physics["rest"] = np.array(m.qpos_spring[q : q + 1])
        nv = type_.nv
        for field, value in (
            ("rotor_inertia", m.dof_armature),
            ("damping", m.dof_damping),
            ("friction", m.dof_frictionloss),
        ):
            physics[field] = _angular_first(np.array(value[dof : dof + nv]), kind)
        physics["stiffness"] = np.full(nv, 0.0 if kind == _FREE else self.stiffness(j))
        return Joint(name, type_, parent, child, inner, outer, **physics)

    def stiffness(self, j: int) -> float:
        return float(np.asarray(self.m.jnt_stiffness[j]).ravel()[0])

    def shapes(self, b: int) -> tuple[Shape, ...]:
        m = self.m
        start, count = m.body_geomadr[b], m.body_geomnum[b]
        found: list[Shape] = []
        for g in range(start, start + count):
            geometry = _geometry(int(m.geom_type[g]), np.array(m.geom_size[g]))
            if geometry is None:
                continue
            touches = bool(m.geom_contype[g] or m.geom_conaffinity[g])
            placement = Transform.place(rotation.from_quaternion(m.geom_quat[g]), np.array(m.geom_pos[g]))
            r, gr, bl, al = (float(c) for c in m.geom_rgba[g])
            role = "collision" if touches else "visual"
            found.append(Shape(role, geometry, placement, self.label("GEOM", g, ""), (r, gr, bl, al)))
        return tuple(found)

    def frames(self) -> list[Frame]:
        m, taken = self.m, set(self.body_names)
        found: list[Frame] = []
        for s in range(m.nsite):
            name, body = self.label("SITE", s, f"site{s}"), m.site_bodyid[s]
            if body == 0:
                continue
            if name in taken:
                name = f"site/{name}"
            place = Transform.place(rotation.from_quaternion(m.site_quat[s]), np.array(m.site_pos[s]))
            found.append(Frame(name, self.body_names[body], place))
        return found

    def nonzero(self, name: str) -> int:
        """Return the number of nonzero entries of a field; 0 if this MuJoCo has no such field."""
        return int(np.count_nonzero(getattr(self.m, name, 0)))

    def gravity(self) -> Array:
        off = self.m.opt.disableflags & self.mujoco.mjtDisableBit.mjDSBL_GRAVITY
        return np.zeros(3) if off else np.array(self.m.opt.gravity)

    def left_out(self) -> list[str]:
        m = self.m
        counts = {
            "equality constraints": m.neq,
            "tendons": m.ntendon,
            "actuators": m.nu,
            "bodies with gravity compensation": int(np.count_nonzero(m.body_gravcomp)),
            "flexible bodies": m.nflex,
            "mocap bodies (fixed here)": m.nmocap,
            "springs of free joints": sum(
                k == _FREE and self.stiffness(j) != 0 for j, k in enumerate(m.jnt_type)
            ),
            "nonlinear springs or dampers": sum(map(self.nonzero, ("jnt_stiffnesspoly", "dof_dampingpoly"))),
            "fluid forces": int(bool(m.opt.density or m.opt.viscosity)),
        }
        return [f"{n} {what}" if what != "fluid forces" else what for what, n in counts.items() if n]


def _angular_first(values: Array, kind: int) -> Array:
    """Put a free joint's (linear, angular) entries in Hinge's order."""
    return np.concatenate([values[3:], values[:3]]) if kind == _FREE else values


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
    free = Joint(welded[0].name, joints.Free(), None, welded[0].child, welded[0].inner)
    return [free if j is welded[0] else j for j in chain]
