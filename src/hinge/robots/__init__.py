"""Built-in robots, written from published parameters, and random ones."""

from hinge.robots.chains import chain, double_pendulum
from hinge.robots.four_legs import quadruped
from hinge.robots.free_flyer import spacecraft
from hinge.robots.panda_arm import panda
from hinge.robots.puma_arm import puma560
from hinge.robots.random_trees import random_inertia, random_tree
from hinge.robots.solids import solid_box, solid_rod

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
