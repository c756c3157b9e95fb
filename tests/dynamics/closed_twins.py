"""The same mechanism made in two ways: loops cut at another joint, an object held or carried."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import hinge
from hinge import reference
from hinge.model import Builder
from hinge.model.joints import JOINT_TYPES, Free, Revolute
from hinge.robots import random_tree
from hinge.spatial import Inertia, Transform, quaternion, rotation
from tests.dynamics.closed_cases import off

#: Kinds of the joints of rings, in space and in a plane.
RINGS = (
    ("revolute", "cylindrical", "spherical", "revolute", "prismatic"),
    ("spherical", "screw", "planar", "revolute", "continuous"),
    ("cylindrical", "cylindrical", "revolute", "cylindrical", "revolute"),
    ("translational", "revolute", "revolute", "spherical"),
    ("plane",) * 4,
    ("plane",) * 5,
)


def ring(number: int, cut: int, seed: int):
    """Return a ring of bodies "link0" …, closed by its joint `cut`; link0 is the world, or flies if odd.

    All bodies have the world's axes and origin at q = neutral, so that a joint is at the same place in both
    of its bodies, whichever carries the other.
    """
    kinds = RINGS[number]
    rng = np.random.default_rng([number, seed])
    b, n = Builder("ring"), len(kinds)
    flat = rotation.from_quaternion(quaternion.random(rng))
    places, types, inertias = [], [], []
    for kind in kinds:
        position = rng.uniform(-1, 1, 3)
        turn = flat if kind == "plane" else rotation.from_quaternion(quaternion.random(rng))
        places.append(Transform.place(turn, flat @ (position * (1, 1, 0)) if kind == "plane" else position))
        types.append(Revolute() if kind == "plane" else JOINT_TYPES[kind].random_type(rng))
    for _ in kinds:
        spread = np.diag(rng.uniform(1, 1.5, 3))
        inertias.append(Inertia.from_com(rng.uniform(0.5, 2), rng.uniform(-1, 1, 3), spread))
    if seed % 2:
        b.body("link0", joint=Free(), inertia=inertias[0])
    else:
        b.body("link0", inertia=inertias[0])
    for k in range(1, cut + 1):  # joint k - 1 leads from link k - 1 to link k
        _add(b, k, k - 1, types[k - 1], places[k - 1], inertias[k])
    for k in range(n - 1, cut, -1):  # joint k leads from link k to link k + 1
        _add(b, k, (k + 1) % n, types[k].reversed(), places[k], inertias[k])
    after = (cut + 1) % n
    where = places[cut]
    b.frame("outer", f"link{after}", rotation=where.rotation, position=where.position)
    at = {"rotation": where.rotation, "position": where.position}
    b.close("cut", f"link{cut}", "outer", joint=types[cut], **at)
    return b.build(strict=None)


def _add(b, k, parent, joint, place, inertia):
    at = {"rotation": place.rotation, "position": place.position}
    b.body(f"link{k}", parent=f"link{parent}", joint=joint, inertia=inertia, outer=place, **at)


def ring_moves(robot, speeds: dict | None, push: dict, target: str | None):
    """Return accelerations of bodies, and their velocities, under forces on bodies."""
    q, names = hinge.neutral(robot), [b.name for b in robot.bodies]
    rates = np.concatenate([reference.jacobian(robot, q, n) for n in names])
    if speeds is None:
        settle = hinge.compile("settle", robot, target=target)
        qd = settle(q, np.random.default_rng(3).standard_normal(robot.nv))
        speeds = {n: reference.jacobian(robot, q, n) @ qd for n in names}
    else:
        qd = np.linalg.lstsq(rates, np.concatenate([speeds[n] for n in names]), rcond=None)[0]
    tau = -reference.inverse_dynamics(robot, q, 0 * qd, 0 * qd, external=push, gravity=(0, 0, 0))
    f = hinge.compile("closed_dynamics", robot, target=target)
    qdd = f(q, qd, tau=tau)["qdd"]
    moved = reference.accelerations(robot, q, qd, qdd)
    return dict(zip(names, moved, strict=True)), speeds


def cut_anywhere(seeds, target: str | None = "numpy") -> Iterator[tuple[str, float]]:
    """Yield differences of a loop cut at its last joint and at the others."""
    for number, kinds in enumerate(RINGS):
        for seed in seeds:
            rng, n = np.random.default_rng([number, seed, 1]), len(kinds)
            push = {f"link{k}": rng.standard_normal(6) for k in range(n)}
            wanted, speeds = ring_moves(ring(number, n - 1, seed), None, push, target)
            for cut in range(n - 1):
                found, _ = ring_moves(ring(number, cut, seed), speeds, push, target)
                scale = max(1.0, *(np.abs(x).max() for x in wanted.values()))
                for name, a in wanted.items():
                    yield "cut anywhere", off(found[name] / scale, a / scale)


def carried(kind: str, seed: int):
    """Return two arms that hold an object by a rigid grip and a contact, and the first one carrying it.

    Also the configurations of both.
    """
    rng = np.random.default_rng([seed, 9])
    kinds = ["revolute", "universal", "prismatic", "spherical"]
    one, two = (random_tree(4, seed + k, kinds, branching=0.0) for k in (0, 100))
    arms = hinge.merge(one, two, prefix="other_")
    q = hinge.random_configuration(arms, rng)
    tips = [reference.frame_placement(arms, q, n) for n in ("tip", "other_tip")]
    thing = Inertia.from_com(1.3, rng.uniform(-0.3, 0.3, 3), np.diag(rng.uniform(1, 1.5, 3)))
    joint = JOINT_TYPES[kind].random_type(rng) if kind != "soft finger" else hinge.SoftFinger()
    b = Builder("thing")
    at = {"rotation": tips[0].rotation, "position": tips[0].position}
    b.body("thing", joint=Free(), inertia=thing, **at)
    b.frame("left", "thing")
    apart = tips[1] @ tips[0].inv()
    b.frame("right", "thing", rotation=apart.rotation, position=apart.position)
    thing_robot = b.build()
    held = hinge.hold(arms, thing_robot, {"tip": "left", "other_tip": ("right", joint)})
    fixed = hinge.close(hinge.attach(arms, thing_robot, "tip"), "other_tip", "right", joint=joint)
    q_held = hinge.assemble(
        held, hinge.configuration(held, {j.name: q[j.q_slice] for j in arms.joints if j.nv})
    )
    assert q_held.error < 1e-11
    q_fixed = np.zeros(fixed.nq)
    for j in arms.joints:
        q_fixed[fixed.joint(j.name).q_slice] = q_held.q[held.joint(j.name).q_slice]
    return held, q_held.q, fixed, q_fixed


def held_or_carried(kinds, seeds, target: str | None = "numpy") -> Iterator[tuple[str, float]]:
    """Yield differences of an object that two arms hold and of one that the first carries."""
    for kind in kinds:
        for seed in seeds:
            held, q, fixed, q_fixed = carried(kind, seed)
            rng = np.random.default_rng([seed, 4])
            pairs = [
                (held.joint(j.name).qd_slice, j.qd_slice)
                for j in fixed.joints
                if j.nv and j.name in held.joint_names
            ]
            v = hinge.compile("settle", fixed, target=target)(q_fixed, rng.standard_normal(fixed.nv))
            tau, push = np.zeros(held.nv), rng.standard_normal(fixed.nv)
            qd = np.zeros(held.nv)
            for there, own in pairs:
                tau[there], qd[there] = push[own], v[own]
            body = held.joint_of("thing").qd_slice
            rates = reference.closure_jacobian(held, q)
            qd[body] -= np.linalg.lstsq(rates[:, body], rates @ qd, rcond=None)[0]
            yield "held or carried: velocities", off(rates @ qd, 0 * (rates @ qd))
            found = hinge.compile("closed_dynamics", held, target=target)(q, qd, tau=tau)
            wanted = hinge.compile("closed_dynamics", fixed, target=target)(q_fixed, v, tau=push)
            for there, own in pairs:
                yield "held or carried: joints", off(found["qdd"][there], wanted["qdd"][own])
            a = reference.accelerations(held, q, qd, found["qdd"])[held.body_index("thing")]
            b = reference.accelerations(fixed, q_fixed, v, wanted["qdd"])[fixed.body_index("thing")]
            yield "held or carried: object", off(a, b)
            m = len(found["forces"]) - 6
            yield "held or carried: forces", off(found["forces"][6:], wanted["forces"][:m])
