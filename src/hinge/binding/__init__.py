"""Where mechanics and compiler meet: what each letter of the algebra means at one body of a robot."""

from hinge.binding.binding import Expressed, RobotBinding, bind
from hinge.binding.frames import Place, choose_frames, own_frames
from hinge.binding.steps import Chain, Rotate, Shift, Turn

__all__ = [
    "Chain",
    "Expressed",
    "Place",
    "RobotBinding",
    "Rotate",
    "Shift",
    "Turn",
    "bind",
    "choose_frames",
    "own_frames",
]
