"""Pictures and the web viewer."""

from hinge.view.energy import plot_energy
from hinge.view.joint_histories import plot_joints
from hinge.view.phase import plot_phase
from hinge.view.player import Player, play
from hinge.view.poser import Poser, show
from hinge.view.strip import plot_strip

__all__ = ["Player", "Poser", "play", "plot_energy", "plot_joints", "plot_phase", "plot_strip", "show"]
