"""Built-in robots, written from published parameters, and random ones."""

from hinge.robots.chains import chain, double_pendulum
from hinge.robots.panda import panda
from hinge.robots.puma560 import puma560
from hinge.robots.quadruped import quadruped
from hinge.robots.random_tree import random_inertia, random_tree
from hinge.robots.solids import solid_box, solid_rod
from hinge.robots.spacecraft import spacecraft

__all__ = [
    "chain",
    "double_pendulum",
    "panda",
    "puma560",
    "quadruped",
    "random_inertia",
    "random_tree",
    "solid_box",
    "solid_rod",
    "spacecraft",
]
