"""Built-in robots, written from published parameters, and random ones."""

from hinge.robots.arm_pairs import two_pandas_start, two_pandas_with_plate
from hinge.robots.chains import chain, double_pendulum
from hinge.robots.four_legs import FOOT_RADIUS, quadruped, quadruped_stance
from hinge.robots.free_flyer import spacecraft
from hinge.robots.panda_arm import panda
from hinge.robots.planar_loops import four_bar, slider_crank
from hinge.robots.platforms import delta, stewart_platform
from hinge.robots.puma_arm import puma560
from hinge.robots.random_trees import random_inertia, random_tree
from hinge.robots.solids import solid_box, solid_rod

__all__ = [
    "FOOT_RADIUS",
    "chain",
    "delta",
    "double_pendulum",
    "four_bar",
    "panda",
    "puma560",
    "quadruped",
    "quadruped_stance",
    "random_inertia",
    "random_tree",
    "slider_crank",
    "solid_box",
    "solid_rod",
    "spacecraft",
    "stewart_platform",
    "two_pandas_start",
    "two_pandas_with_plate",
]
