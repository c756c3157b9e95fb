"""Pictures and the web viewer."""

from hinge.view.energy import plot_energy
from hinge.view.joint_histories import plot_joints
from hinge.view.path import plot_path
from hinge.view.phase import plot_phase
from hinge.view.player import RunViewer, play
from hinge.view.poser import RobotViewer, show
from hinge.view.strip import plot_strip

__all__ = [
    "RobotViewer",
    "RunViewer",
    "play",
    "plot_energy",
    "plot_joints",
    "plot_path",
    "plot_phase",
    "plot_strip",
    "show",
]
