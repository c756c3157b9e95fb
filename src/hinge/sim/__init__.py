"""Simulation: integrators, control laws, roll-outs, recorded runs."""

from hinge.sim.integrators import INTEGRATORS, Integrator, Midpoint, RungeKutta, SemiImplicitEuler
from hinge.sim.laws import PD, ComputedTorque, GravityCompensation, Law, Prescribed, Torque
from hinge.sim.run import Ending, Run
from hinge.sim.signals import Signal
from hinge.sim.simulate import Interrupted, simulate

__all__ = [
    "INTEGRATORS",
    "PD",
    "ComputedTorque",
    "Ending",
    "GravityCompensation",
    "Integrator",
    "Interrupted",
    "Law",
    "Midpoint",
    "Prescribed",
    "Run",
    "RungeKutta",
    "SemiImplicitEuler",
    "Signal",
    "Torque",
    "simulate",
]
