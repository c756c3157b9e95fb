"""Where mechanics and compiler meet: what each letter of the algebra means at one body of a robot."""

from hinge.binding.bind import bind
from hinge.binding.binding import RobotBinding
from hinge.binding.frames import Place, choose_frames, own_frames
from hinge.binding.jointwise import Formula, Row, jointwise
from hinge.binding.merge import hides_fixed_bodies
from hinge.binding.site import Expressed, Kind, RobotSite
from hinge.binding.steps import Chain, Rotate, Shift, Turn

__all__ = [
    "Chain",
    "Expressed",
    "Formula",
    "Kind",
    "Place",
    "RobotBinding",
    "RobotSite",
    "Rotate",
    "Row",
    "Shift",
    "Turn",
    "bind",
    "choose_frames",
    "hides_fixed_bodies",
    "jointwise",
    "own_frames",
]
