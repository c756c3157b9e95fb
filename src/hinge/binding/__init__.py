"""Bindings: the values of the algebra's letters at each body of a robot."""

from hinge.binding.binder import bind, checked_sizes
from hinge.binding.binding import ROW_INPUTS, RobotBinding, Touching
from hinge.binding.constants import of_this_package
from hinge.binding.coordinates import (
    all_unrated,
    from_velocity,
    gradient_along_velocities,
    gradient_by_coordinates,
    is_vector,
    unrated,
)
from hinge.binding.frames import Place, choose_frames, own_frames
from hinge.binding.hinge_site import Kind
from hinge.binding.jets import largest
from hinge.binding.joint_code import Formula, Row, jointwise, of_vectors, pulled, summed
from hinge.binding.joint_forces import PASSIVE
from hinge.binding.joint_moves import move_change, move_rate
from hinge.binding.loop_charts import FLOOR, RISE, carried_forces, qualities, shown_rates, watched_step
from hinge.binding.needs import PARAMETERS, Needs, asks_of
from hinge.binding.site import Expressed, RobotSite
from hinge.binding.steps import LITTLE, Chain, Rotate, Shift, Turn
from hinge.binding.varying import Coordinates, placed, placed_displaced, placed_gradient
from hinge.binding.weighted import MATRICES, MatrixStep, WeightedBinding, weights

__all__ = [
    "FLOOR",
    "LITTLE",
    "MATRICES",
    "PARAMETERS",
    "PASSIVE",
    "RISE",
    "ROW_INPUTS",
    "Chain",
    "Coordinates",
    "Expressed",
    "Formula",
    "Kind",
    "MatrixStep",
    "Needs",
    "Place",
    "RobotBinding",
    "RobotSite",
    "Rotate",
    "Row",
    "Shift",
    "Touching",
    "Turn",
    "WeightedBinding",
    "all_unrated",
    "asks_of",
    "bind",
    "carried_forces",
    "checked_sizes",
    "choose_frames",
    "from_velocity",
    "gradient_along_velocities",
    "gradient_by_coordinates",
    "is_vector",
    "jointwise",
    "largest",
    "move_change",
    "move_rate",
    "of_this_package",
    "of_vectors",
    "own_frames",
    "placed",
    "placed_displaced",
    "placed_gradient",
    "pulled",
    "qualities",
    "shown_rates",
    "summed",
    "unrated",
    "watched_step",
    "weights",
]
