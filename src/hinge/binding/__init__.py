"""Bindings: the values of the algebra's letters at each body of a robot."""

from hinge.binding.binder import bind
from hinge.binding.binding import ROW_INPUTS, RobotBinding, Touching
from hinge.binding.constants import of_this_package
from hinge.binding.frames import Place, choose_frames, own_frames
from hinge.binding.hinge_site import Kind
from hinge.binding.jets import largest
from hinge.binding.joint_code import Formula, Row, jointwise, of_vectors, pulled, summed
from hinge.binding.joint_forces import PASSIVE
from hinge.binding.joint_moves import move_change, move_rate
from hinge.binding.loop_charts import FLOOR, RISE, carried_forces, qualities, shown_rates, watched_step
from hinge.binding.needs import PARAMETERS, Needs, asks_of
from hinge.binding.site import Expressed, RobotSite
from hinge.binding.steps import Chain, Rotate, Shift, Turn

__all__ = [
    "FLOOR",
    "PARAMETERS",
    "PASSIVE",
    "RISE",
    "ROW_INPUTS",
    "Chain",
    "Expressed",
    "Formula",
    "Kind",
    "Needs",
    "Place",
    "RobotBinding",
    "RobotSite",
    "Rotate",
    "Row",
    "Shift",
    "Touching",
    "Turn",
    "asks_of",
    "bind",
    "carried_forces",
    "choose_frames",
    "jointwise",
    "largest",
    "move_change",
    "move_rate",
    "of_this_package",
    "of_vectors",
    "own_frames",
    "pulled",
    "qualities",
    "shown_rates",
    "summed",
    "watched_step",
]
