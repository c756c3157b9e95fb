"""Solves with the mass matrix and a load at the hinges, as implicit steps ask for."""

from __future__ import annotations

from hinge.algebra import kappa, tau
from hinge.dynamics.expressions import Parts, mass

__all__ = ["LOADED_SOLVE", "SOLVE"]

#: 𝓜⁻¹ τ and (𝓜 + κ)⁻¹ τ for symmetric blocks κ at the hinges: the articulated-body recursion with κ in D.
SOLVE = Parts({"solved": mass.inv() @ tau})
LOADED_SOLVE = Parts({"solved": (mass + kappa).inv() @ tau})
