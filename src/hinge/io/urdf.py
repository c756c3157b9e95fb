"""Read URDF. The format's own words: link, joint, origin (xyz, rpy), inertial, mimic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hinge.errors import FormatError, ModelError
from hinge.io.base import hang_roots, recorded_couplings
from hinge.io.numbers import UNLIMITED, number, numbers
from hinge.io.xml import Element, parse, read_bytes
from hinge.model import (
    Body,
    Box,
    Capsule,
    Closure,
    Coupling,
    Cylinder,
    Frame,
    Geometry,
    Joint,
    Mesh,
    Problem,
    Robot,
    Shape,
    Sphere,
    assemble,
    embed_couplings,
    enforce,
    joints,
    listed,
)
from hinge.spatial import Inertia, Transform, rotation

#: More links than this in one file are refused; build such a robot with `Builder`.
MAX_LINKS = 3_000

_PRODUCTS = ("ixy", "ixz", "iyz")
_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
#: The types of loops of URDF+.
_LOOPS = ("fixed", "revolute", "continuous", "prismatic", "planar", "spherical")


def read_urdf(path: str | Path, *, floating: bool = False, strict: bool | None = False) -> Robot:
    """Return the robot of a URDF file; see `parse_urdf`."""
    return robot_of(parse(read_bytes(path), str(path)), floating=floating, strict=strict)


def parse_urdf(
    text: bytes | str, *, floating: bool = False, strict: bool | None = False, source: str = "<string>"
) -> Robot:
    """Return the robot of a URDF document.

    The root link is connected to the world by a fixed joint, with `floating` by a free one. A link without
    <inertial> is massless. A mimic joint keeps its own coordinate; the relation is recorded in
    `robot.couplings` and a warning says so. A <loop> of URDF+ is a closure. Mesh file names are kept as
    they stand. A limit of 1e9 or more means no limit. Doubtful physics is a warning, with `strict` an
    error, with None ignored (see `hinge.model.check`).
    """
    return robot_of(parse(text, source), floating=floating, strict=strict)


def robot_of(root: Element, *, floating: bool, strict: bool | None, embed: bool = False) -> Robot:
    """Return the robot of a parsed URDF document; with `embed` mimic joints have no coordinates."""
    source = root.source
    _refuse_other_formats(root)
    links = _named(root, "link")
    if not links:
        root.fail("<robot>: expected at least one <link>, got none")
    if len(links) > MAX_LINKS:
        root.fail(f"<robot> has {len(links)} links, more than {MAX_LINKS}, the limit")
    joint_elements = _named(root, "joint")
    _refuse_two_parents(joint_elements)
    reader = _Reader(source, _materials(root))
    bodies = [reader.body(e) for e in links.values()]
    names = set(links)
    moving = [reader.joint(e, names) for e in joint_elements.values()]
    reader.check_couplings()
    if len(moving) == len(bodies):
        root.fail("every link is the child of a joint, so the joints form a loop and no link is the root")
    name = root.get("name") or "robot"
    all_joints = hang_roots(root, bodies, moving, floating=floating)
    try:
        reader.leave_out(root.all("coupling"))
        loops = [reader.loop(e, names) for e in _named(root, "loop").values()]
        frames = [frame for _, frame in loops if frame is not None]
        closures = [closure for closure, _ in loops]
        robot = assemble(
            name, bodies, all_joints, frames=frames, couplings=reader.couplings, closures=closures
        )
        notes = recorded_couplings(() if embed else reader.couplings)
        enforce(robot, strict=strict, found=[*reader.found(), *notes])
    except ModelError as error:
        raise FormatError(str(error), source=source) from None
    return embed_couplings(robot) if embed else robot


def _refuse_other_formats(root: Element) -> None:
    if root.tag == "sdf":
        root.fail("is SDF, not URDF; convert it first, for example with `gz sdf` or sdformat_urdf")
    if root.tag == "mujoco":
        root.fail("is MJCF, not URDF; use hinge.load on the .xml file, with the extra 'mjcf'")
    if root.tag != "robot":
        root.fail(
            f"expected the root element <robot> (URDF) or, in a file, <mujoco> (MJCF), got <{root.tag}>"
        )
    for e in root.walk():
        if e.tag.startswith("xacro:"):
            e.fail("is a xacro macro file; expand it first: xacro model.urdf.xacro > model.urdf")


def _named(root: Element, tag: str) -> dict[str, Element]:
    """Return the children of a tag by their names, which must be unique."""
    found: dict[str, Element] = {}
    for e in root.all(tag):
        name = e.need("name")
        if name in found:
            first = found[name].line
            e.fail(f"{tag} name {name!r} is used twice, first on line {first}; names must be unique")
        found[name] = e
    return found


def _refuse_two_parents(elements: dict[str, Element]) -> None:
    """Refuse a link that is the child of two joints, before anything else is read."""
    carrier: dict[str | None, str] = {}
    for name, e in elements.items():
        child = e.first("child")
        link = None if child is None else child.get("link")
        if link is not None and link in carrier:
            e.fail(
                f"joint {name!r}: link {link!r} is already the child of joint {carrier[link]!r}; "
                "URDF describes trees, so a link has one parent; leave this joint out and close the loop "
                "with hinge.close(robot, …) or a file for load(…, closures=…)"
            )
        carrier[link] = name


def _materials(root: Element) -> dict[str, Element]:
    return {m.need("name"): m for m in root.all("material")}


@dataclass
class _Reader:
    """Reads links and joints, and collects problems."""

    source: str
    materials: dict[str, Element]
    problems: list[Problem] = field(default_factory=list[Problem])
    couplings: list[Coupling] = field(default_factory=list[Coupling])
    kinds: dict[str, int] = field(default_factory=dict[str, int])
    lines: dict[str, int] = field(default_factory=dict[str, int])
    partial: dict[str, Element] = field(default_factory=dict[str, Element])

    def found(self) -> list[Problem]:
        """Return the problems, and one for all inertias without some product."""
        if not self.partial:
            return self.problems
        first = next(iter(self.partial.values()))
        missing = ", ".join(k for k in _PRODUCTS if first.get(k) is None)
        several = len(self.partial) > 1
        message = f"<inertia> has no {missing}{', or another product' * several}; zero is taken"
        where = f"link{'s' * several} {listed(list(self.partial))}"
        return [*self.problems, Problem(where, "products of inertia given", message, line=first.line)]

    def body(self, e: Element) -> Body:
        name = e.need("name")
        shapes = [
            *(self.shape(s, "visual", name) for s in e.all("visual")),
            *(self.shape(s, "collision", name) for s in e.all("collision")),
        ]
        inertial = e.first("inertial")
        tensor = None if inertial is None else inertial.first("inertia")
        given = [k for k in _PRODUCTS if tensor is not None and tensor.get(k) is not None]
        if tensor is not None and 0 < len(given) < len(_PRODUCTS):  # none at all means a diagonal matrix
            self.partial[name] = tensor
        return Body(name, _inertia(e, name), tuple(s for s in shapes if s is not None))

    def shape(self, e: Element, role: Literal["visual", "collision"], body: str) -> Shape | None:
        holder = e.first("geometry")
        if holder is None or not holder.children:
            e.fail(f"link {body!r}: <{role}> has no <geometry>")
        geometry = _geometry(holder.children[0], body)
        if geometry is None:
            message = f"<{holder.children[0].tag}> on line {e.line} is no geometry of URDF and is left out"
            self.problems.append(Problem(f"link {body!r}", "geometry known", message, line=e.line))
            return None
        return Shape(role, geometry, _origin(e, f"link {body!r}"), e.get("name") or "", self.color(e))

    def color(self, e: Element) -> tuple[float, float, float, float] | None:
        material = e.first("material")
        if material is None:
            return None
        color = material.first("color")
        if color is None:
            shared = self.materials.get(material.get("name") or "")
            color = None if shared is None else shared.first("color")
        if color is None or color.get("rgba") is None:
            return None
        r, g, b, a = numbers(color, "rgba", 4, "material")
        return float(r), float(g), float(b), float(a)

    def joint(self, e: Element, links: set[str]) -> Joint:
        name = e.need("name")
        where = f"joint {name!r}"
        kind = e.need("type", where)
        if kind not in _TYPES:
            e.fail(f"{where}: unknown joint type {kind!r}; URDF has {', '.join(_TYPES)}")
        ends: list[str] = []
        for role in ("parent", "child"):
            end = e.first(role)
            if end is None:
                e.fail(f"{where}: has no <{role} link=…>")
            link = end.need("link", where)
            if link not in links:
                end.fail(f"{where}: its {role} link {link!r} does not exist")
            ends.append(link)
        if ends[0] == ends[1]:
            e.fail(f"{where}: connects link {ends[0]!r} to itself")
        type_ = self.joint_type(e, kind, where)
        self.kinds[name] = type_.nq
        self.mimic(e, name)
        physics = {**_limits(e, kind, where), **_dynamics(e, type_.nv, where)}
        return Joint(name, type_, ends[0], ends[1], _origin(e, where), **physics)

    def leave_out(self, elements: Iterable[Element]) -> None:
        """Note the couplings of URDF+, which are not read."""
        for e in elements:
            where = f"coupling {e.get('name') or ''!r}"
            message = "couplings of URDF+ are left out; give the joint a <mimic>"
            self.problems.append(Problem(where, "left out", message, line=e.line))

    def loop(self, e: Element, links: set[str]) -> tuple[Closure, Frame | None]:
        """Return a <loop> of URDF+ (arXiv 2411.19753), and its successor's frame unless that is the link's."""
        name = e.need("name")
        where = f"loop {name!r}"
        kind = e.need("type", where)
        if kind not in _LOOPS:
            e.fail(f"{where}: unknown type {kind!r}; expected one of {', '.join(_LOOPS)}")
        ends: list[tuple[str, Transform]] = []
        for role in ("predecessor", "successor"):
            end = e.first(role)
            if end is None:
                e.fail(f"{where}: has no <{role} link=…>")
            link = end.need("link", where)
            if link not in links:
                end.fail(f"{where}: its {role} link {link!r} does not exist")
            ends.append((link, _origin(end, where)))
        (inner, place), (outer, other) = ends
        joint = joints.Spherical() if kind == "spherical" else self.joint_type(e, kind, where)
        frame = None if other.is_identity() else Frame(f"{name}_outer", outer, other)
        return Closure(name, inner, outer if frame is None else frame.name, joint, place), frame

    def joint_type(self, e: Element, kind: str, where: str) -> joints.JointType:
        if kind == "fixed":
            return joints.Fixed()
        if kind == "floating":
            return joints.Free()
        axis = np.array([1.0, 0.0, 0.0])
        given = e.first("axis")
        if given is not None:
            axis = numbers(given, "xyz", 3, where)
        size = float(np.linalg.norm(axis))
        if size < 1e-12:
            (given or e).fail(f"{where}: expected a nonzero axis, got 0 0 0")
        if abs(size - 1) > 1e-4:
            message = f"its axis {tuple(float(a) for a in axis)} has length {size:.6g}; it is normalised"
            self.problems.append(Problem(where, "axis unit", message, line=(given or e).line))
        n = (float(axis[0]), float(axis[1]), float(axis[2]))
        if kind == "revolute":
            return joints.Revolute(n)
        if kind == "continuous":
            return joints.Continuous(n)
        return joints.Prismatic(n) if kind == "prismatic" else joints.Planar(n)

    def mimic(self, e: Element, name: str) -> None:
        m = e.first("mimic")
        if m is None:
            return
        where = f"joint {name!r}"
        ratio, offset = number(m, "multiplier", where, 1.0), number(m, "offset", where, 0.0)
        self.couplings.append(Coupling(name, m.need("joint", where), ratio, offset))
        self.lines[name] = m.line

    def check_couplings(self) -> None:
        """Keep the valid mimics; record the others as problems."""
        kept: list[Coupling] = []
        for c in self.couplings:
            bad = next((n for n in (c.joint, c.master) if self.kinds.get(n) != 1), None)
            if bad is None:
                kept.append(c)
            if bad is None or self.kinds[c.joint] == 0:  # a fixed joint cannot follow, nor needs to
                continue
            why = "is not in the file" if bad not in self.kinds else f"has {self.kinds[bad]} coordinates"
            message = f"its mimic of {c.master!r} is left out, because joint {bad!r} {why}"
            line = self.lines[c.joint]
            self.problems.append(Problem(f"joint {c.joint!r}", "mimic possible", message, line=line))
        self.couplings = kept


def _origin(e: Element, where: str) -> Transform:
    origin = e.first("origin")
    if origin is None:
        return Transform.identity()
    xyz = numbers(origin, "xyz", 3, where, (0.0, 0.0, 0.0))
    rpy = numbers(origin, "rpy", 3, where, (0.0, 0.0, 0.0))
    return Transform.place(rotation.tidied(rotation.from_rpy(rpy)) if rpy.any() else None, xyz)


def _inertia(e: Element, name: str) -> Inertia:
    """Return the inertia about the link frame; <inertial> has a frame of its own, with rpy."""
    inertial = e.first("inertial")
    if inertial is None:
        return Inertia.zero()
    where = f"link {name!r}"
    mass, tensor = inertial.first("mass"), inertial.first("inertia")
    if mass is None:
        inertial.fail(f"{where}: <inertial> has no <mass value=…>")
    m = number(mass, "value", where)
    if m < 0:
        mass.fail(f"{where}: expected a mass ≥ 0, got {m:g} kg")
    i = np.zeros((3, 3))
    if tensor is not None:
        xx, yy, zz = (number(tensor, k, where) for k in ("ixx", "iyy", "izz"))
        xy, xz, yz = (number(tensor, k, where, 0.0) for k in _PRODUCTS)
        i = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    central = Inertia.from_com(m, np.zeros(3), i)
    if inertial.first("origin") is None:
        return central
    return _origin(inertial, where).inv().inertia(central)


def _geometry(e: Element, body: str) -> Geometry | None:
    where = f"link {body!r}"
    if e.tag == "box":
        x, y, z = numbers(e, "size", 3, where)
        return Box((float(x), float(y), float(z)))
    if e.tag in ("cylinder", "capsule"):
        make = Cylinder if e.tag == "cylinder" else Capsule
        return make(number(e, "radius", where), number(e, "length", where))
    if e.tag == "sphere":
        return Sphere(number(e, "radius", where))
    if e.tag == "mesh":
        x, y, z = numbers(e, "scale", 3, where, (1.0, 1.0, 1.0))
        return Mesh(e.need("filename", where), (float(x), float(y), float(z)))
    return None


def _limits(e: Element, kind: str, where: str) -> dict[str, Any]:
    limit = e.first("limit")
    if limit is None or kind in ("fixed", "floating", "planar"):
        return {}
    found: dict[str, float] = {}
    for key in ("velocity", "effort"):
        if limit.get(key) is not None:
            found[key] = _bound(limit, key, where)
    if kind != "continuous":
        found["lower"] = _bound(limit, "lower", where)
        found["upper"] = _bound(limit, "upper", where)
    return found


def _bound(limit: Element, name: str, where: str) -> float:
    value = number(limit, name, where, 0.0, infinite=True)
    return value if abs(value) < UNLIMITED else float(np.copysign(np.inf, value))


def _dynamics(e: Element, nv: int, where: str) -> dict[str, Any]:
    dynamics = e.first("dynamics")
    if dynamics is None or nv == 0:
        return {}
    return {key: number(dynamics, key, where, 0.0) for key in ("damping", "friction")}
