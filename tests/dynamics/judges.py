"""How far a verb is from an oracle, for one robot: a judge returns that, or None where it has nothing to say.

The oracles are the reference, explicit matrices, Pinocchio, MuJoCo, formulas in NumPy, and robots that were
built with what the verb was given. Accelerations are judged by the forces that they stand for, 𝓜 q̈: what the
condition of 𝓜 takes away is not the verb's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import hinge
from hinge import dynamics, reference
from hinge.dynamics import CATALOGUE
from hinge.model.joints import VectorJoint
from hinge.spatial import Array, matvec
from hinge.testing import random_state
from tests.dynamics import operational, partitions, sweep_operational
from tests.dynamics.coupled import SINGLE, Projected, coupled
from tests.dynamics.passives import passive_force
from tests.dynamics.subjects import Subject, rolls
from tests.dynamics.test_inverse_kinematics import left, target_of
from tests.dynamics.test_joint_parameters import others
from tests.dynamics.zoo import CASES, THOROUGH, difference
from tests.oracles.compare import relative_mass
from tests.oracles.data import example
from tests.oracles.sweep_verbs import tip_of as deepest

Judge = Callable[[Subject], float | None]
#: Targets of inverse kinematics for each robot, and the share of them that must be reached.
TARGETS, REACHED = 20, 0.95


def relative(ours: Array, theirs: Array) -> float:
    """Return the largest difference relative to the largest entry, or to a thousandth."""
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    size = float(np.max(np.abs(theirs), initial=1e-3))
    return float(np.max(np.abs(ours - theirs), initial=0.0)) / size


def balanced(m: Array, qdd: Array, bias: Array, tau: Array) -> float:
    """Return what is left of 𝓜 q̈ + C − τ = 0, relative to the largest of the three."""
    parts = [matvec(m, qdd), bias, tau]
    size = max(float(np.max(np.abs(x), initial=1e-3)) for x in parts)
    return float(np.max(np.abs(parts[0] + bias - tau), initial=0.0)) / size


# The basic verbs.


def book(verb: str) -> Judge:
    """Judge by the reference, on some robots in every way that the verb can be called."""

    def judge(x: Subject) -> float:
        cases = CASES[verb] if x.name in THOROUGH and x.target == "numpy" else CASES[verb][:1]
        return max(difference(case, x.robot, x.s) for case in cases)

    return judge


def peer(name: str, verb: str) -> Judge:
    """Judge by Pinocchio or MuJoCo."""

    def judge(x: Subject) -> float | None:
        if x.peers is None:
            return None
        known = "residual" if verb == "forward_dynamics" else verb
        return x.peers.judged(name).get(known)

    return judge


def of(attribute: str, *names: str) -> Judge:
    """Judge by what another sweep finds under names that begin so."""

    def judge(x: Subject) -> float | None:
        found = getattr(x, attribute)
        chosen = [v for n, v in found.items() if any(n == k or n.startswith(f"{k}.") for k in names)]
        return max(chosen) if chosen else None

    return judge


# Hybrid dynamics.


def hybrid_by_names(x: Subject) -> float:
    """Judge a set of joints with code of its own by the rows and columns of the mass matrix."""
    s = x.s
    found = dynamics.hybrid_dynamics(x.robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=x.names, **x.pushes)
    return partitions.residual(x.robot, s, found, x.held, **x.pushes)


def hybrid_by_masks(x: Subject) -> float:
    """Judge a set of coordinates for each state."""
    s, masks = x.s, np.random.default_rng(x.seed).random(x.s.qd.shape) < 0.5
    found = dynamics.hybrid_dynamics(x.robot, s.q, s.qd, tau=s.tau, qdd=s.qdd, prescribed=masks)
    return partitions.residual(x.robot, s, found, masks)


def partitioned(x: Subject) -> float:
    """Judge the solved blocks by those of the dense matrix, after a product where there was a solve."""
    found, m = dynamics.partitioned(x.robot, x.s.q, x.names), x.mass
    a, p = np.flatnonzero(x.held), np.flatnonzero(~x.held)
    pp, ap, aa = m[:, p[:, None], p], m[:, a[:, None], p], m[:, a[:, None], a]
    seen = aa - ap @ np.linalg.solve(pp, np.swapaxes(ap, -1, -2))
    errors = [relative(found.S_ap @ pp, ap), relative(found.S_aa, seen)]
    return max(*errors, relative(pp @ found.S_pp @ pp, pp))


# The operational space, and the way back from it.


def in_operational_space(verb: str) -> Judge:
    """Judge by dense matrices, at states where the tip is not singular."""

    def judge(x: Subject) -> float | None:
        about = operational.OPERATIONAL[verb]
        s = x.regular if about.full_rank else x.s
        if s is None:
            return None
        axes = about.axes[len(x.name) % len(about.axes)]
        return operational.difference(verb, x.robot, x.tip, s, axes)

    return judge


def operational_pinocchio(x: Subject) -> float | None:
    """Judge J 𝓜⁻¹ Jᵀ by Pinocchio's."""
    if not x.urdf:
        return None
    file, floating = x.urdf
    return sweep_operational.pinocchio_difference(example(file), floating, [deepest(x.robot)], "body")


def reached(x: Subject) -> float | None:
    """Return what is left of the way to targets that can be reached, in m or rad."""
    if x.robot.nv < 2 or x.is_large:
        return None
    target = target_of(x.robot, x.seed, TARGETS)
    near = {"position_tolerance": 1e-10, "rotation_tolerance": 1e-10}
    found = dynamics.inverse_kinematics(x.robot, x.tip, target, **near)
    rest = np.maximum(*left(x.robot, found, target))
    return float(np.quantile(rest, REACHED, method="lower"))


# The joints' own forces, couplings, limits.


def own_force(x: Subject) -> float:
    """Judge springs, dampers and friction by their formula."""
    found = dynamics.passive_force(x.physical, x.s.q, x.s.qd)
    return relative(found, passive_force(x.physical, x.s.q, x.s.qd))


def with_own_force(verb: str) -> Judge:
    """Judge a verb with passive=True by the reference and the formula of the forces."""

    def judge(x: Subject) -> float:
        robot, s = x.physical, x.s
        own = passive_force(robot, s.q, s.qd)
        bias = reference.inverse_dynamics(robot, s.q, s.qd, 0 * s.qdd) - own
        m = reference.mass_matrix(robot, s.q)
        if verb == "bias_force":
            return relative(dynamics.bias_force(robot, s.q, s.qd, passive=True), bias)
        if verb == "inverse_dynamics":
            found = dynamics.inverse_dynamics(robot, s.q, s.qd, s.qdd, passive=True)
            return relative(found, matvec(m, s.qdd) + bias)
        if verb == "forward_dynamics":
            found = dynamics.forward_dynamics(robot, s.q, s.qd, s.tau, passive=True)
            return balanced(m, found, bias, s.tau)
        more = {"tau": s.tau, "qdd": s.qdd, "prescribed": x.names, "passive": True}
        found, forces = dynamics.hybrid_dynamics(robot, s.q, s.qd, **more)
        return balanced(m, found, bias, forces)

    return judge


def spring_energy(x: Subject) -> float:
    """Judge the energy of springs by the work of their forces from rest, −½ τⱼ · difference(rest, q)."""
    springs = [
        replace(j, damping=0, friction=0, stiffness=j.stiffness * isinstance(j.type, VectorJoint))
        for j in x.physical.joints
    ]
    robot, s = replace(x.physical, joints=tuple(springs)), x.s
    way = [j.type.difference(j.rest, s.q[:, j.q_slice]) for j in robot.joints if j.stiffness.any()]
    force = [passive_force(robot, s.q, 0 * s.qd)[:, j.qd_slice] for j in robot.joints if j.stiffness.any()]
    work = -0.5 * sum(((f * d).sum(axis=-1) for f, d in zip(force, way, strict=True)), np.zeros(len(s.q)))
    return relative(dynamics.elastic_energy(robot, s.q), work + reference.elastic_energy(robot, s.q))


def beyond_limits(x: Subject) -> float:
    """Judge the report of limits by clipping."""
    robot, s = x.robot, x.s
    found = hinge.limit_report(robot, 3 * s.q, 10 * s.qd, 100 * s.tau)
    given = {
        "position": (3 * s.q, robot.lower, robot.upper),
        "velocity": (10 * s.qd, -robot.velocity_limit, robot.velocity_limit),
        "effort": (100 * s.tau, -robot.effort_limit, robot.effort_limit),
    }
    return max(relative(getattr(found, n), v - np.clip(v, *limits)) for n, (v, *limits) in given.items())


def following(x: Subject) -> float | None:
    """Judge the robot with every second joint coupled to the one before it by the dense projection."""
    names = [j.name for j in x.robot.joints if j.type.kind in SINGLE]
    pairs = list(zip(names[::2], names[1::2], strict=False))
    if not pairs or x.is_large:
        return None
    full = coupled(x.robot, *((b, a, (-1) ** k * (0.5 + 0.2 * k), 0.1) for k, (a, b) in enumerate(pairs)))
    case = Projected(full, x.seed, (len(x.s.q),))
    robot, s = case.robot, case.state
    tau = dynamics.inverse_dynamics(robot, s.q, s.qd, s.qdd)
    off = matvec(case.mass, dynamics.forward_dynamics(robot, s.q, s.qd, tau) - s.qdd)
    mass = relative_mass(dynamics.mass_matrix(robot, s.q), case.mass)
    return max(relative(tau, case.forces(s.qdd)), relative(tau + off, tau), mass)


def following_pinocchio(x: Subject) -> float | None:
    """Judge the mimic joints of a file by Pinocchio's."""
    if not x.urdf or "<mimic" not in example(x.urdf[0]).read_text(encoding="utf-8"):
        return None
    from tests.dynamics import sweep_mimic

    case, model = sweep_mimic.example_case(example(x.urdf[0]), x.urdf[1])
    if model is None or model.nv != case.robot.nv:
        return None
    return max(sweep_mimic.pinocchio_differences(case, model).values())


# Parameters as inputs, and what can be told of them.


def given(verb: str, *names: str) -> Judge:
    """Judge a program that takes parameters by robots that were built with them."""

    def judge(x: Subject) -> float | None:
        springs_roll = "friction" in names and any(map(rolls, x.robot.joints))
        if x.is_large or not x.robot.nv or springs_roll:
            return None
        robot, s, n = x.physical, x.s, len(x.s.q)
        values = others(robot, np.random.default_rng(x.seed), (n,))
        values = {name: values[name] for name in names}
        f = dynamics.compile(dynamics.expression(verb, passive=True), robot, parameters=names)
        third = {"inverse_dynamics": {"qdd": s.qdd}, "forward_dynamics": {"tau": s.tau}}[verb]
        found, errors = f(s.q, s.qd, **third, **values), list[float]()
        for k in range(n):
            built = hinge.with_parameters(robot, **{name: v[k] for name, v in values.items()})
            own = passive_force(built, s.q[k], s.qd[k])
            qdd = s.qdd[k] if "qdd" in third else found[k]
            tau = found[k] if "qdd" in third else s.tau[k]
            bias = reference.inverse_dynamics(built, s.q[k], s.qd[k], 0 * qdd) - own
            errors.append(balanced(reference.mass_matrix(built, s.q[k]), qdd, bias, tau))
        return max(errors)

    return judge


def regressor(x: Subject) -> float:
    """Judge Y π by the reference's forces."""
    robot, s = x.robot, x.s
    y = dynamics.inertial_regressor(robot, s.q, s.qd, s.qdd)
    found = y @ hinge.inertial_parameters(robot).ravel() + robot.reflected_inertia * s.qdd
    return relative(found, reference.inverse_dynamics(robot, s.q, s.qd, s.qdd))


def told_apart(x: Subject) -> float | None:
    """Judge the base parameters by the regressor of other motions: the other columns follow from theirs."""
    if x.is_large or not x.robot.nv:
        return None
    base, s = dynamics.base_parameters(x.robot), random_state(x.robot, 99, 4)
    y = dynamics.inertial_regressor(x.robot, s.q, s.qd, s.qdd)
    return relative(y[..., list(base.columns)] @ base.matrix, y)


def sampled(x: Subject) -> float | None:
    """Judge samples by the root of explicit matrices: Lᵀ q̇ is √kT times the same normal numbers."""
    if x.is_large:
        return None
    v = dynamics.sample_velocities(x.robot, x.one.q, 0.3, seed=5, size=3)
    normal = np.random.default_rng(5).standard_normal((3, x.robot.nv))
    return relative(matvec(x.dense.matrix(CATALOGUE["mass_root"]).T, v), np.sqrt(0.3) * normal)
