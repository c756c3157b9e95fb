"""Simulation: integrators, control laws, roll-outs, recorded runs."""

from hinge.sim.adaptive import Adaptive
from hinge.sim.convex import convex_contacts
from hinge.sim.events import Event, Hit
from hinge.sim.implicit import ImplicitExplicit
from hinge.sim.integrators import Integrator, Midpoint, RungeKutta, SemiImplicitEuler
from hinge.sim.laws import PD, ComputedTorque, GravityCompensation, Law, Prescribed, Torque
from hinge.sim.linearization import Linearization, linearize
from hinge.sim.methods import INTEGRATORS
from hinge.sim.notebook import coordinate_names
from hinge.sim.one_step import StepCode, step
from hinge.sim.progress import Bar, amount, span
from hinge.sim.rollout import Rolled, Rollout
from hinge.sim.run import ChartChange, Ending, Run
from hinge.sim.signals import Signal
from hinge.sim.simulation import Interrupted, resume, simulate
from hinge.sim.stepper import Stepper
from hinge.sim.storage import load_run, replaced, save_run, to_xarray

__all__ = [
    "INTEGRATORS",
    "PD",
    "Adaptive",
    "Bar",
    "ChartChange",
    "ComputedTorque",
    "Ending",
    "Event",
    "GravityCompensation",
    "Hit",
    "ImplicitExplicit",
    "Integrator",
    "Interrupted",
    "Law",
    "Linearization",
    "Midpoint",
    "Prescribed",
    "Rolled",
    "Rollout",
    "Run",
    "RungeKutta",
    "SemiImplicitEuler",
    "Signal",
    "StepCode",
    "Stepper",
    "Torque",
    "amount",
    "convex_contacts",
    "coordinate_names",
    "linearize",
    "load_run",
    "replaced",
    "resume",
    "save_run",
    "simulate",
    "span",
    "step",
    "to_xarray",
]
