"""CasADi's functions next to the native target on many robots: `python -m tests.casadi.sweep_functions`.

Prints for each robot the largest relative difference of values and of the Jacobian of forward dynamics, and
how far the NumPy target is from the native one. Closures hold in all states: where they are open, rounding
grows with the condition of their Ω, 1e5 and more, for every target alike.
"""

from __future__ import annotations

import numpy as np

import hinge
import hinge.casadi as homes
from tests.casadi.test_functions import ROBOTS, state
from tests.export.test_casadi_interface import by_coordinates

BOUND, STATES = 1e-12, 20


def off(found, wanted):
    """Return the largest difference relative to the largest number, at least one."""
    wanted = np.asarray(wanted)
    size = max(1.0, np.abs(wanted).max(initial=0.0))
    return np.abs(np.array(found).reshape(wanted.shape) - wanted).max(initial=0.0) / size


def differences(robot):
    """Return the largest differences of values, of Jacobians that are attached, and of the NumPy target."""
    verb = "closed_dynamics" if robot.closures else "forward_dynamics"
    f, inverse = (homes.function(v, robot, jacobian=False) for v in (verb, "inverse_dynamics"))
    rolls = any(u.type.unrate(u.type.neutral(), np.zeros(len(u.q))) is None for u in hinge.model.units(robot))
    jac = None if robot.closures or rolls else homes.function(verb, robot).jacobian()
    numpy = hinge.compile(verb, robot, target="numpy")
    values, slopes, own = [0.0], [0.0], [0.0]
    for seed in range(STATES):
        q, v, tau = state(robot, seed)
        found = f(q, v, tau)
        wanted = getattr(hinge, verb)(robot, q, v, tau)
        again = numpy(q, v, tau=tau)
        values.append(off(found[0] if robot.closures else found, getattr(wanted, "qdd", wanted)))
        own.append(off(again["qdd"] if robot.closures else again, getattr(wanted, "qdd", wanted)))
        if not robot.closures:
            values.append(off(inverse(q, v, tau), hinge.inverse_dynamics(robot, q, v, tau)))
        if jac is not None:
            d = hinge.forward_dynamics_derivatives(robot, q, v, tau)
            both = zip(jac(q, v, tau, 0), (by_coordinates(robot, q, d.q), d.qd, d.tau), strict=True)
            slopes += [off(x, y) for x, y in both]
    return max(values), max(slopes), max(own)


def main() -> int:
    """Print the table; 1 if values are too far off."""
    bad = 0
    for name, make in ROBOTS.items():
        value, slope, own = differences(make())
        bad += value > BOUND
        print(f"{name:12} values {value:.1e} (NumPy {own:.1e})   Jacobian {slope:.1e}", flush=True)
    print(f"{bad} robots too far off")
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
