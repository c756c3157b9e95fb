"""Integrators of fixed steps by name."""

from __future__ import annotations

from hinge.sim.implicit import ImplicitExplicit
from hinge.sim.integrators import (
    DORMAND_PRINCE,
    Integrator,
    Midpoint,
    RungeKutta,
    SemiImplicitEuler,
    Stepping,
)

INTEGRATORS: dict[str, Integrator] = {
    "semi-implicit": SemiImplicitEuler(),
    "rk4": RungeKutta("rk4", 4, ((0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
    "rk5": RungeKutta("rk5", 5, DORMAND_PRINCE[:-1], DORMAND_PRINCE[-1]),
    "midpoint": Midpoint(),
    "implicit": ImplicitExplicit(),
    "stepping": Stepping(),
}
