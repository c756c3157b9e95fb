"""Pictures and the web viewer."""

from hinge.view.energy import plot_energy
from hinge.view.extras import new_figure
from hinge.view.joint_histories import plot_joints
from hinge.view.palette import LINES
from hinge.view.path import plot_path
from hinge.view.phase import plot_phase
from hinge.view.player import RunViewer, play
from hinge.view.poser import RobotViewer, show
from hinge.view.strip import plot_strip

__all__ = [
    "LINES",
    "RobotViewer",
    "RunViewer",
    "new_figure",
    "play",
    "plot_energy",
    "plot_joints",
    "plot_path",
    "plot_phase",
    "plot_strip",
    "show",
]
