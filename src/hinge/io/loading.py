"""Load a robot from a file of any supported format."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from hinge.errors import ArgumentError, FormatError, ModelError
from hinge.io.closures_json import closures_from_json
from hinge.io.mjcf import read_mjcf
from hinge.io.urdf import robot_of
from hinge.io.urdf_contacts import touched
from hinge.io.xml import parse, read_bytes
from hinge.model import Robot, with_closures

#: Robots of `hinge.robots` that take no arguments, for the message to those who load one by its name.
BUILT_IN = (
    "delta",
    "double_pendulum",
    "four_bar",
    "panda",
    "puma560",
    "quadruped",
    "slider_crank",
    "spacecraft",
    "stewart_platform",
    "two_pandas_with_plate",
)


def load(
    path: str | Path,
    *,
    floating: bool = False,
    strict: bool | None = False,
    root: str | Path | None = None,
    couplings: Literal["record", "embed"] = "record",
    closures: str | Path | None = None,
    contacts: bool | Literal["all"] = False,
) -> Robot:
    """Return the robot in a URDF or MJCF file; the format is recognised by the content.

    `floating` connects the root body to the world by a free joint instead of a fixed one. Impossible physics
    (an inertia that violates the triangle inequality, reversed limits, …) is a ModelWarning, with `strict` an
    error, with `strict=None` ignored; a malformed file is always a FormatError with its line. A joint that
    follows another one (URDF mimic, MJCF joint equality) keeps a coordinate of its own, with the relation
    recorded in `robot.couplings`; with `couplings` "embed" it becomes a follower (see `embed_couplings`).
    `closures` is a JSON file of closures, such as `write_urdf` writes: a list of {"name", "inner", "outer",
    "joint": {"kind", "axis", …}, "placement": {"position", "rotation"}}. Loops of URDF+ and active connect
    and weld constraints of MJCF are closures too, rigid where MuJoCo's are soft; `opened(robot)` is the tree.
    `contacts` gives the robot contacts, which a loaded robot has none of otherwise: True those of its shapes
    for collision with the world's ground, of spheres, capsules and the corners of boxes; a warning names what
    is left out. In URDF the ground is z = 0, friction that of <lateral_friction> in a link's <contact>, else
    zero (`contacts_of` takes another). In MJCF the ground are the world's planes, height fields, spheres and
    capsules, friction is the sliding one of the geoms, <exclude> and <pair> hold, and "all" adds contacts
    between bodies.
    Files that an MJCF file names are read only under `root`, by default its own folder. What Hinge leaves out
    of an MJCF file is a ModelWarning for each kind; with `strict` what changes the physics is an error.
    """
    if not isinstance(path, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"path: expected the path of a URDF or MJCF file, got {type(path).__name__}")
    if closures is not None and not isinstance(closures, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"closures: expected the path of a JSON file, got {type(closures).__name__}")
    if couplings not in ("record", "embed"):
        raise ArgumentError(f"couplings: expected 'record' or 'embed', got {couplings!r}")
    path = Path(path)
    if str(path) in BUILT_IN and not path.exists():
        raise FormatError(
            f"cannot be read: there is no such file; the one that comes with Hinge is hinge.robots.{path}()",
            source=str(path),
        )
    if contacts not in (False, True, "all"):
        raise ArgumentError(f"contacts: expected True, False or 'all', got {contacts!r}")
    data = read_bytes(path)
    if path.suffix == ".xacro":
        urdf = f"{path.stem.removesuffix('.urdf')}.urdf"
        raise FormatError(f"is a xacro file; expand it first: xacro {path.name} > {urdf}", source=str(path))
    document = parse(data, str(path))
    if document.tag == "mujoco":
        robot = read_mjcf(
            path, floating=floating, strict=strict, root=root, embed=couplings == "embed", contacts=contacts
        )
    else:
        if contacts == "all":
            raise ArgumentError(
                "contacts: expected True or False for URDF, got 'all'; contact_pairs takes two bodies"
            )
        robot = robot_of(document, floating=floating, strict=strict, embed=couplings == "embed")
        robot = touched(robot, document, strict) if contacts else robot
    return robot if closures is None else _closed(robot, Path(closures))


def _closed(robot: Robot, path: Path) -> Robot:
    """Return the robot with the closures of a file as well."""
    try:
        return with_closures(
            robot, [*robot.closures, *closures_from_json(read_bytes(path), source=str(path))]
        )
    except ModelError as error:
        raise FormatError(str(error), source=str(path)) from None
