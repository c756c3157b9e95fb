"""Files in and out: URDF, MJCF, Denavit–Hartenberg tables, flexible bodies."""

from hinge.io.dh import DHRow, from_dh
from hinge.io.flexible_files import read_flexible, write_flexible
from hinge.io.loading import load
from hinge.io.mjcf import from_mujoco, read_mjcf
from hinge.io.reduction import craig_bampton
from hinge.io.robot_json import from_json, to_json
from hinge.io.urdf import parse_urdf, read_urdf
from hinge.io.urdf_writer import to_urdf, write_urdf

__all__ = [
    "DHRow",
    "craig_bampton",
    "from_dh",
    "from_json",
    "from_mujoco",
    "load",
    "parse_urdf",
    "read_flexible",
    "read_mjcf",
    "read_urdf",
    "to_json",
    "to_urdf",
    "write_flexible",
    "write_urdf",
]
