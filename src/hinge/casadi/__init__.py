"""Verbs, expressions and steps as CasADi's functions, with our Jacobians: for optimal control.

CasADi is an extra and loaded by the first call.
"""

from hinge.casadi.functions import function
from hinge.casadi.optimal import ControlModel, dynamics

__all__ = ["ControlModel", "dynamics", "function"]
