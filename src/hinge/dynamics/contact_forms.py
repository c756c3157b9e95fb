"""Contacts as expressions: the same Ω as that of closures, and forces that answer a law.

λ lies in the cones of friction (half lines without it) and Ω λ + w in their duals: Featherstone 1987 (9.50)–
(9.53) without friction. What w is makes the verb: the accelerations across contacts (`contact_dynamics`), the
velocities after a step, per step (`contact_step`), the velocities after a blow (`collide`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from hinge.algebra import (
    Ac,
    Bc,
    Expr,
    H,
    a,
    c_j,
    e_c,
    gamma,
    lam,
    off_law,
    p_c,
    phi,
    qd,
    r_c,
    rounds,
    s_c,
    x_c,
)
from hinge.binding import Touching, largest
from hinge.dynamics.expressions import (
    Parts,
    Setting,
    by_closures,
    closure_compliance,
    closure_jacobian,
    forward,
    setting,
)

__all__ = ["CONTACTS", "contact_parts", "every_contact_form", "step_parts"]


def _answered(found: Mapping[str, Any]) -> dict[str, Any]:
    """Read off what moves, the forces, how far the worst row is from its law, and the rounds."""
    shown = {name: found[name] for name in ("qdd", "qd", "forces") if name in found}
    # rows of closures that are dropped have zeros
    told = {"residual": largest(found["off"]), "rounds": largest(found["rounds"])}
    return shown | {name: np.asarray(x) for name, x in told.items()}


def _dynamics(on: Setting) -> Parts:
    """Return accelerations with contacts that push and do not rub: (9.50)–(9.53)."""
    free = forward(on)
    wanted = Ac @ (Bc.T @ phi.T @ (H.T @ free + a) + s_c) + gamma
    return _parts("qdd", free + by_closures @ lam, wanted, "normals", "contact_dynamics")


def _step(on: Setting, touch: Touching = "cones", coulomb: bool = False, *, turning: bool = False) -> Parts:
    """Return the mean accelerations of a step: velocities after it are q̇ + q̈ dt.

    With `turning` q̇ + (q̈ + cⱼ) dt are those along the axes at the start of the step, and gaps are looked
    after to second order: pᶜ is what they would close by if only their rates were.
    """
    free = forward(on)
    moves = free + c_j if turning else free
    wanted = closure_jacobian @ moves + r_c + x_c
    if turning:
        wanted = wanted + p_c
    return _parts("qdd", moves + by_closures @ lam, wanted, touch, "contact_step", coulomb)


def _parts(name: str, moves: Expr, wanted: Expr, touch: Touching, verb: str, coulomb: bool = False) -> Parts:
    found = {name: moves, "forces": lam, "wanted": wanted, "compliance": closure_compliance}
    found |= {"off": off_law, "rounds": rounds}
    return Parts(found, readout=_answered, touch=touch, coulomb=coulomb, verb=verb)


_IMPACT = _parts(
    "qd", qd + by_closures @ (x_c + lam), closure_jacobian @ (qd + by_closures @ x_c), "cones", "collide"
)
_CONTACTS: dict[str, Parts | Callable[[Setting], Parts]] = {
    "gap": Parts({"gap": e_c}, touch="normals", verb="gap"),
    "contact_jacobian": Parts({"contact_jacobian": closure_jacobian}, touch="cones", verb="contact_jacobian"),
    "contact_dynamics": _dynamics,
    "contact_step": _step,
    "collide": _IMPACT,
}


@cache
def contact_parts(verb: str, passive: bool = False, limits: bool = False, coulomb: bool = False) -> Parts:
    """Return the parts of a verb of contacts.

    A step can be one with `limits` and dry friction of joints, and with the law of `coulomb`.
    """
    if limits or coulomb:
        return _step(setting(passive), _touch(limits), coulomb)
    found = _CONTACTS[verb]
    return found if isinstance(found, Parts) else found(setting(passive))


@cache
def step_parts(passive: bool = False, limits: bool = False, coulomb: bool = False) -> Parts:
    """Return the parts of a step of a simulation, whose velocities are along the axes at its start."""
    return _step(setting(passive), _touch(limits), coulomb, turning=True)


def _touch(limits: bool) -> Touching:
    return "stops" if limits else "cones"


#: Verbs of robots with contacts.
CONTACTS: dict[str, Parts] = {verb: contact_parts(verb) for verb in _CONTACTS}


def every_contact_form() -> Iterator[Parts]:
    """Yield the expressions of every verb of contacts, with every option."""
    for verb, found in _CONTACTS.items():
        yield contact_parts(verb)
        if not isinstance(found, Parts):
            yield contact_parts(verb, passive=True)
    for passive in (False, True):
        yield step_parts(passive)
