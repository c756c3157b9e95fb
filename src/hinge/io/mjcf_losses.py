"""What a robot does not have of a compiled MuJoCo model, by kind, and whether that changes the physics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hinge.io.base import recorded_couplings
from hinge.io.mjcf_physics import (
    BALL,
    FREE,
    TO_JOINTS,
    TO_TENDON,
    labels,
    linear,
    off,
    only_joint,
    transmissions,
)
from hinge.model import Coupling, Problem, listed

#: Kinds of equality constraints: mjtEq.
_EQUALITIES = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance")
_JOINT = 2
_PLANE = 0
#: The conditions of the problems.
CHANGES, UNCHANGED = "changes the physics", "left out"
#: More bodies than this are taken to touch each other without a look at all pairs.
_MANY = 2_000


def couplings_of(mujoco: Any, m: Any) -> tuple[list[Coupling], list[int]]:
    """Return the linear relations of joints, and the indices of all other equality constraints.

    MuJoCo: y − y₀ = a₀ + a₁ (x − x₀) + … for the values y of the first joint and x of the second.
    """
    names = labels(mujoco, m, "JOINT")
    found: dict[str, Coupling] = {}
    unread: list[int] = []
    for e in range(m.neq):
        follower, leader, a = int(m.eq_obj1id[e]), int(m.eq_obj2id[e]), np.array(m.eq_data[e, :5])
        relates = m.eq_type[e] == _JOINT and m.eq_active0[e] and leader >= 0 and a[1] and not a[2:].any()
        if not relates or off(mujoco, m, "EQUALITY") or off(mujoco, m, "CONSTRAINT"):
            unread.append(e)
            continue
        y, x = (float(m.qpos0[m.jnt_qposadr[j]]) for j in (follower, leader))
        c = Coupling(names[follower], names[leader], float(a[1]), float(y + a[0] - a[1] * x))
        if c.joint in found or c.joint in _masters(found, c.master):
            unread.append(e)
        else:
            found[c.joint] = c
    return list(found.values()), unread


def _masters(found: dict[str, Coupling], joint: str) -> Iterator[str]:
    """Yield a joint and those that it follows."""
    yield joint
    while joint in found:
        joint = found[joint].master
        yield joint


class Losses:
    """Lists what is left out of a model."""

    def __init__(
        self, mujoco: Any, m: Any, equalities: Sequence[int], *, contacts: bool | str = False
    ) -> None:
        self.mujoco, self.m, self.contacts = mujoco, m, contacts
        held = not off(mujoco, m, "EQUALITY") and not off(mujoco, m, "CONSTRAINT")
        self.active = [e for e in equalities if held and m.eq_active0[e]]
        self.inactive = [e for e in equalities if not (held and m.eq_active0[e])]
        self.transmissions = transmissions(m)
        self.passive = not (off(mujoco, m, "SPRING") and off(mujoco, m, "DAMPER"))

    def found(self, recorded: Sequence[Coupling]) -> list[Problem]:
        """Return what is left out, by kind, and the couplings that are only recorded."""
        changes = [Problem(where, CHANGES, message) for where, message in self._changes()]
        notes = [Problem(where, UNCHANGED, message, note=True) for where, message in self._notes()]
        return [*changes, *recorded_couplings(recorded), *notes]

    def _changes(self) -> list[tuple[str, str]]:
        """Return what is left out and changes the physics."""
        return [
            *self._equalities(),
            *self._tendons(),
            *self._actuators(),
            *self._bodies(),
            *self._contacts(),
        ]

    def _notes(self) -> Iterator[tuple[str, str]]:
        """Yield what is left out and changes nothing, or nothing until bodies touch."""
        if self.inactive:
            yield "equality", f"{_count(self.inactive, 'inactive constraint')} left out"
        driven = [a for a in range(len(self.m.actuator_trntype)) if not self._acts(a)]
        if driven:
            names = labels(self.mujoco, self.m, "ACTUATOR")
            message = f"{_count(driven, 'actuator')} left out ({listed([names[a] for a in driven])})"
            yield "actuator", f"{message}; their forces are given as tau"
        idle = [t for t in range(self.m.ntendon) if not self._pulls(t)]
        if idle:
            yield "tendon", f"{_count(idle, 'tendon')} left out, with no force of their own"
        if self.contacts != "all" and self._touching():
            message = "contacts between bodies are left out: they pass through each other"
            yield "contact", f"{message}; contacts='all' reads them"

    def _equalities(self) -> Iterator[tuple[str, str]]:
        names = labels(self.mujoco, self.m, "EQUALITY")
        for k, kind in enumerate(_EQUALITIES):
            mine = [e for e in self.active if self.m.eq_type[e] == k]
            if mine:
                effect = "joints move on their own" if k == _JOINT else "what they hold together is apart"
                chosen = listed([names[e] for e in mine])
                yield "equality", f"{_count(mine, f'{kind} constraint')} left out ({chosen}): {effect} here"

    def _tendons(self) -> Iterator[tuple[str, str]]:
        names = labels(self.mujoco, self.m, "TENDON")
        mine = [t for t in range(self.m.ntendon) if self._pulls(t)]
        if mine:
            chosen = listed([names[t] for t in mine])
            missing = "springs, dampers, friction, limits or inertia"
            yield "tendon", f"{_count(mine, 'tendon')} left out ({chosen}), with their {missing}"

    def _pulls(self, t: int) -> bool:
        """Tell whether a tendon has a force or an inertia that is not read."""
        m = self.m
        names = ["stiffness", "stiffnesspoly", "dampingpoly", "frictionloss", "limited"]
        if only_joint(m, t) is None:
            names += ["damping", "armature"]
            if self._reflects(lambda kind, target: kind == TO_TENDON and target == t):
                return True
        return any(np.any(np.asarray(getattr(m, f"tendon_{n}", np.zeros(t + 1)))[t]) for n in names)

    def _actuators(self) -> Iterator[tuple[str, str]]:
        names = labels(self.mujoco, self.m, "ACTUATOR")
        mine = [a for a in range(len(names)) if self._acts(a)]
        if mine:
            yield (
                "actuator",
                f"{_count(mine, 'actuator')} left out ({listed([names[a] for a in mine])}) that push without "
                "being driven (position and velocity servos, dampers, muscles)",
            )

    def _acts(self, a: int) -> bool:
        """Tell whether an actuator exerts a force when its control is zero."""
        if off(self.mujoco, self.m, "ACTUATION"):
            return False
        return bool(self.m.actuator_biastype[a] != 0 and np.any(self.m.actuator_biasprm[a]))

    def _bodies(self) -> Iterator[tuple[str, str]]:
        m = self.m
        if self.passive and (n := int(np.count_nonzero(m.body_gravcomp))):
            yield "body", f"gravity compensation of {n} bodies is left out"
        if self.passive and (m.opt.density or m.opt.viscosity):
            yield "option", "forces of the fluid are left out"
        if m.nflex:
            yield "flex", f"{m.nflex} flexible bodies are left out"
        if m.nmocap:
            yield "body", f"{m.nmocap} mocap bodies are fixed here"
        springs = not off(self.mujoco, m, "SPRING")
        if springs and any(k == FREE and s for k, s in zip(m.jnt_type, linear(m.jnt_stiffness), strict=True)):
            yield "joint", "springs of free joints are left out"
        curved = ("jnt_stiffnesspoly", "dof_dampingpoly", "actuator_dampingpoly")
        if any(np.count_nonzero(getattr(m, name, 0)) for name in curved):
            yield "joint", "nonlinear springs or dampers are left out; their linear parts are kept"
        if self._reflects(lambda kind, target: kind in TO_JOINTS and m.jnt_type[target] in (FREE, BALL)):
            yield "actuator", "armature and damping of actuators of ball and free joints are left out"

    def _reflects(self, chosen: Callable[[int, int], bool]) -> bool:
        """Tell whether an actuator with a chosen transmission has armature or damping."""
        fields = [np.asarray(getattr(self.m, f"actuator_{n}", ())) for n in ("armature", "damping")]
        some = {int(k) for x in fields if x.any() for k in np.flatnonzero(x.reshape(len(x), -1).any(axis=1))}
        return any(chosen(*self.transmissions[k]) for k in some)

    def _contacts(self) -> Iterator[tuple[str, str]]:
        m = self.m
        kinds, others = self._masks()
        fixed = np.asarray(m.geom_bodyid) == 0
        kind, other = np.bitwise_or.reduce(kinds[~fixed]), np.bitwise_or.reduce(others[~fixed])
        mine = np.flatnonzero(fixed & (((kinds & other) | (others & kind)) != 0)).tolist()
        if mine and not self.contacts:
            planes = sum(int(m.geom_type[g]) == _PLANE for g in mine)
            what = f"{_count(mine, 'world geom')} left out that bodies can touch"
            yield (
                "contact",
                f"{what}, {planes} of them planes (floors): bodies pass through; contacts=True reads them",
            )

    def _masks(self) -> tuple[Any, Any]:
        none = off(self.mujoco, self.m, "CONTACT") or off(self.mujoco, self.m, "CONSTRAINT")
        kinds, others = np.array(self.m.geom_contype), np.array(self.m.geom_conaffinity)
        return (kinds * 0, others * 0) if none else (kinds, others)

    def _touching(self) -> bool:
        """Tell whether two bodies can touch that are neither rigidly connected nor neighbours."""
        m, (kinds, others) = self.m, self._masks()
        owners = np.asarray(m.geom_bodyid)
        groups = np.asarray(m.body_weldid)[owners]
        bodies = [int(b) for b in np.unique(groups[(owners != 0) & ((kinds | others) != 0)])]
        if len(bodies) > _MANY:
            return True
        if len(bodies) < 2:
            return bool(m.npair)
        ors = np.bitwise_or.reduce
        own = [(groups == b) & (owners != 0) for b in bodies]
        masks = np.array([(ors(kinds[geoms]), ors(others[geoms])) for geoms in own])
        meet = (masks[:, :1] & masks[:, 1]) | (masks[:, 1:] & masks[:, 0])
        above = np.asarray(m.body_weldid)[np.asarray(m.body_parentid)[bodies]]
        near = above[:, None] == bodies
        near = near | near.T | np.eye(len(bodies), dtype=bool)
        return bool((meet.astype(bool) & ~near).any()) or bool(m.npair)


def _count(items: Sequence[Any], what: str) -> str:
    return f"{len(items)} {what}{'s are' if len(items) != 1 else ' is'}"
