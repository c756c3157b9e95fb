"""Write URDF; `parse_urdf` reads the same robot back."""

from __future__ import annotations

import warnings
from pathlib import Path
from xml.etree import ElementTree as Et

import numpy as np

from hinge.errors import ModelError, ModelWarning
from hinge.io.closures_json import closures_to_json
from hinge.io.numbers import UNLIMITED
from hinge.model import (
    STANDARD_GRAVITY,
    Body,
    Box,
    Capsule,
    Cylinder,
    Frame,
    Joint,
    Mesh,
    Robot,
    Shape,
    Sphere,
    at_joints,
    joints,
    opened,
    release_couplings,
)
from hinge.spatial import Array, Transform, rotation

_TYPES = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "free": "floating",
    "planar": "planar",
}


def write_urdf(robot: Robot, path: str | Path) -> None:
    """Write the robot to a file; see `to_urdf`.

    Closures go into a file beside it, "leg.closures.json" for "leg.urdf", which a warning names; `load` takes
    it as `closures`.
    """
    path = Path(path)
    path.write_text(to_urdf(opened(robot)), encoding="utf-8")
    if robot.closures:
        beside = path.with_name(f"{path.stem}.closures.json")
        beside.write_text(closures_to_json(at_joints(release_couplings(robot)).closures), encoding="utf-8")
        message = (
            f"robot {robot.name!r}: URDF has no place for closures; they are in {beside.name!r}: "
            f"load({path.name!r}, closures={beside.name!r})"
        )
        warnings.warn(message, ModelWarning, stacklevel=2)


def to_urdf(robot: Robot) -> str:
    """Return the robot as a URDF document.

    URDF puts a link's frame at its joint: a body whose frame is elsewhere is written with its frame
    moved there, its old frame as a massless link. Frames become massless links on fixed joints. A
    root body on an identity joint is the root link (fixed and free alike: load a floating robot
    with floating=True); otherwise a link "world" is the root. No limit is written as 1e9. Gravity
    other than the standard, rotor inertia, springs, effort subspaces, closures and contacts have no place in
    URDF: a warning lists which are left out.
    """
    robot = release_couplings(robot)
    for j in robot.joints:
        if j.flexes:
            raise ModelError(
                f"joint {j.name!r}: URDF has no flexible bodies; lock their modes, hinge.lock(robot, at), "
                "or write "
                "hinge.io.to_json"
            )
        if j.type.kind not in _TYPES:
            raise ModelError(
                f"joint {j.name!r}: URDF has no {j.type.kind} joint; it has {', '.join(_TYPES.values())}"
            )
    left_out = _left_out(robot)
    if left_out:
        message = f"robot {robot.name!r}: URDF has no place for {', '.join(left_out)}; left out"
        warnings.warn(message, ModelWarning, stacklevel=2)
    robot = at_joints(robot)
    root = Et.Element("robot", name=robot.name)
    base = _root_link(robot)
    if base is None:
        if any(part.name == "world" for part in (*robot.bodies, *robot.frames)):
            raise ModelError("body or frame 'world': the name is reserved for the root link; rename it")
        Et.SubElement(root, "link", name="world")
    for body in robot.bodies:
        _write_body(root, body)
    for joint in robot.joints:
        if joint.child != base:
            _write_joint(root, joint, robot)
    taken = set(robot.joint_names)
    for frame in robot.frames:
        _write_frame(root, frame, taken)
    Et.indent(root)
    return '<?xml version="1.0"?>\n' + Et.tostring(root, encoding="unicode") + "\n"


def _left_out(robot: Robot) -> list[str]:
    several = [j for j in robot.joints if j.nv > 1]
    losses = {
        "gravity": not np.array_equal(robot.gravity, STANDARD_GRAVITY),
        "rotor inertia": any(j.reflected_inertia.any() for j in robot.joints),
        "springs": any(j.stiffness.any() for j in robot.joints),
        "limits of planar and floating joints": any(
            not all(map(np.array_equal, (j.lower, j.upper), j.type.limits())) for j in several
        ),
        "damping or friction that differ within a joint": any(
            np.ptp(j.damping) or np.ptp(j.friction) for j in several
        ),
        "effort subspaces": any(j.effort_subspace is not None for j in robot.joints),
        "closures": bool(robot.closures or robot.loops),
        "contacts": bool(robot.contacts),
    }
    return [what for what, lost in losses.items() if lost]


def _root_link(robot: Robot) -> str | None:
    """Return the body that can be the root link, or None."""
    roots = [j for j in robot.joints if j.parent is None]
    if len(roots) != 1 or roots[0].type.kind not in ("fixed", "free"):
        return None
    return roots[0].child if roots[0].inner.is_identity() else None


def _write_body(root: Et.Element, body: Body) -> None:
    link = Et.SubElement(root, "link", name=body.name)
    m, i = body.inertia.m, body.inertia.central
    if m or body.inertia.I.any():
        inertial = Et.SubElement(link, "inertial")
        _write_origin(inertial, Transform.place(position=body.inertia.com))
        Et.SubElement(inertial, "mass", value=repr(float(m)))
        entries = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
        Et.SubElement(inertial, "inertia", {k: repr(float(i[at])) for k, at in entries.items()})
    for shape in body.shapes:
        _write_shape(link, shape)


def _write_shape(link: Et.Element, shape: Shape) -> None:
    e = Et.SubElement(link, shape.role, {"name": shape.name} if shape.name else {})
    _write_origin(e, shape.placement)
    holder, g = Et.SubElement(e, "geometry"), shape.geometry
    match g:
        case Box(size):
            Et.SubElement(holder, "box", size=_text(size))
        case Cylinder(radius, length) | Capsule(radius, length):
            tag = "cylinder" if isinstance(g, Cylinder) else "capsule"
            Et.SubElement(holder, tag, radius=repr(radius), length=repr(length))
        case Sphere(radius):
            Et.SubElement(holder, "sphere", radius=repr(radius))
        case Mesh(filename, scale):
            Et.SubElement(holder, "mesh", filename=filename, scale=_text(scale))
    if shape.rgba is not None:
        material = Et.SubElement(e, "material", name="")
        Et.SubElement(material, "color", rgba=_text(shape.rgba))


def _write_joint(root: Et.Element, joint: Joint, robot: Robot) -> None:
    e = Et.SubElement(root, "joint", name=joint.name, type=_TYPES[joint.type.kind])
    _write_origin(e, joint.inner)
    Et.SubElement(e, "parent", link=joint.parent or "world")
    Et.SubElement(e, "child", link=joint.child)
    if isinstance(joint.type, joints.Revolute | joints.Prismatic | joints.Planar):
        Et.SubElement(e, "axis", xyz=_text(joint.type.axis))
    if joint.nv == 1:
        keys = ("effort", "velocity", *(("lower", "upper") if joint.type.kind != "continuous" else ()))
        bounds = {k: np.clip(getattr(joint, k)[0], -UNLIMITED, UNLIMITED) for k in keys}
        Et.SubElement(e, "limit", {k: repr(float(v)) for k, v in bounds.items()})
    if joint.nv and (joint.damping.any() or joint.friction.any()):
        damping, friction = float(joint.damping[0]), float(joint.friction[0])
        Et.SubElement(e, "dynamics", damping=repr(damping), friction=repr(friction))
    for c in robot.couplings:
        if c.joint == joint.name:
            Et.SubElement(e, "mimic", joint=c.master, multiplier=repr(c.ratio), offset=repr(c.offset))


def _write_frame(root: Et.Element, frame: Frame, taken: set[str]) -> None:
    Et.SubElement(root, "link", name=frame.name)
    name = f"{frame.name}_fixed"
    while name in taken:
        name += "_"
    taken.add(name)
    e = Et.SubElement(root, "joint", name=name, type="fixed")
    _write_origin(e, frame.placement)
    Et.SubElement(e, "parent", link=frame.body)
    Et.SubElement(e, "child", link=frame.name)


def _write_origin(e: Et.Element, x: Transform) -> None:
    rpy = rotation.to_rpy(x.rotation)
    Et.SubElement(e, "origin", xyz=_text(x.position), rpy=_text(rpy))


def _text(values: Array | tuple[float, ...]) -> str:
    return " ".join(repr(float(v)) for v in values)
