"""Velocities after a change of configuration: a plastic impact, which keeps momentum and loses energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hinge.dynamics.live import Live
from hinge.dynamics.payloads import Payload
from hinge.dynamics.verbs import velocities
from hinge.errors import ArgumentError, UnknownNameError
from hinge.model import as_tangent, as_vector
from hinge.spatial import Array, ArrayLike

__all__ = ["Impact", "impact"]


@dataclass(frozen=True, eq=False)
class Impact:
    """The result of a change of configuration.

    `qd` (…, nv) are the velocities after it, zero where coordinates are frozen; `impulses` (…, nv) pass
    through frozen coordinates; `payload_impulses` are what each payload got [angular; linear] (…, 6), in its
    own frame; `lost` (…) is the kinetic energy that is gone, in J, never negative.
    """

    qd: Array
    impulses: Array
    payload_impulses: Mapping[str, Array]
    lost: Array


def impact(
    before: Live,
    after: Live,
    q: ArrayLike,
    qd: ArrayLike,
    payloads: Mapping[str, ArrayLike] | None = None,
) -> Impact:
    """Return the velocities right after the change from `before` to `after`, and the energy lost.

    `payloads` gives the velocities [ω; v] (…, 6), in their own frames, of those that are caught; one that
    only changes hands has the velocity of the hand that held it. Thawed and released bodies keep their
    motion.

    Frozen coordinates stop, caught bodies move with the hand, and momentum in the free coordinates is
    conserved: 𝓜ₚₚ Δq̇ₚ = 𝓜ₚₐ q̇ₐ + Hₚ φ B I (V − V_hand), with the inertias after the change. The energy that
    is lost is that of the velocities that are lost (Carnot).
    """
    caught, given = _caught(before, after, payloads or {})
    robot = after.robot
    qd = as_tangent(robot, qd, "qd")
    bodies = velocities(robot, q, qd) if robot.bodies else np.zeros((0, 6))
    moving = {
        name: as_vector(given[name], f"payloads[{name!r}]", 6, "a velocity is [ω; v]")
        if name in given
        else before.motion(q, qd, name)[1]
        for name in caught
    }
    momenta = {
        name: p.placement.inv().force(
            p.inertia.apply(moving[name] - p.placement.motion(bodies[..., robot.body_index(p.body), :]))
        )
        for name, p in caught.items()
    }
    batch = np.broadcast_shapes(bodies.shape[:-2], *(x.shape[:-1] for x in momenta.values()))
    brought = np.zeros((*batch, *bodies.shape[-2:]))
    for name, p in caught.items():
        brought[..., robot.body_index(p.body), :] += momenta[name]
    found = after.call("impact", q, qd=qd, f_ext=brought)
    settled = np.where(after.held, 0.0, qd + found["jumps"])
    kept = replace(after, payloads={n: p for n, p in after.payloads.items() if n not in caught})
    lost = kept.kinetic_energy(q, found["jumps"])
    then = velocities(robot, q, settled) if caught else bodies
    impulses: dict[str, Array] = {}
    for name, p in caught.items():
        w = p.placement.motion(then[..., robot.body_index(p.body), :]) - moving[name]
        impulses[name] = p.inertia.apply(w)
        lost = lost + 0.5 * (w * impulses[name]).sum(axis=-1)
    return Impact(settled, found["impulses"], impulses, lost)


def _caught(
    before: Live, after: Live, given: Mapping[str, ArrayLike]
) -> tuple[dict[str, Payload], Mapping[str, ArrayLike]]:
    """Return the payloads that are held anew, and the given velocities."""
    for name, x in {"before": before, "after": after}.items():
        if not isinstance(x, Live):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"{name}: expected a Live, such as hinge.Live(robot), got {type(x).__name__}")
    if before.robot is not after.robot:
        raise ArgumentError(
            f"after: expected a configuration of robot {before.robot.name!r}, as before, got one of "
            f"{after.robot.name!r}"
        )
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"payloads: expected {{name: [ω; v]}}, got {type(given).__name__}")
    caught = {n: p for n, p in after.payloads.items() if before.payloads.get(n) is not p}
    for name in given:
        if name not in caught:
            there = ", ".join(map(repr, caught)) or "nothing"
            raise UnknownNameError(
                f"payloads: expected the name of a body that is caught, got {name!r}; caught: {there}"
            )
    for name in caught:
        if name not in given and name not in before.payloads:
            raise ArgumentError(
                f"payloads: expected a velocity for {name!r}, which is caught, got none; "
                f"give {{{name!r}: [ω; v]}}"
            )
    return caught, given
