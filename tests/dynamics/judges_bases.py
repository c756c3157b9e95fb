"""How far verbs are from oracles where the base is free, is another one, moves in a given way, or rolls."""

from __future__ import annotations

import numpy as np

import hinge
from hinge import dynamics, reference
from hinge.dynamics import SEVERAL
from hinge.model import Robot, carry_state, make_robot
from hinge.spatial import Array, cross, matvec
from hinge.testing import State, random_state
from tests.dynamics import partitions, test_rolling
from tests.dynamics.judges import Judge, balanced, relative
from tests.dynamics.subjects import Subject, rolls
from tests.dynamics.test_moving import both, moved, on_a_raft


def floating_inverse(x: Subject) -> float | None:
    """Judge inverse dynamics with the base passive."""
    if not x.floats:
        return None
    s = x.s
    found = dynamics.floating_inverse_dynamics(x.robot, s.q, s.qd, s.qdd, base_force=s.tau[:, :6], **x.pushes)
    return partitions.residual(x.robot, s, found, np.arange(x.robot.nv) >= 6, **x.pushes)


def floating_jacobian(verb: str) -> Judge:
    """Judge Jacobians of a robot without momentum by the dense partition."""

    def judge(x: Subject) -> float | None:
        if not x.floats:
            return None
        base = -np.linalg.solve(x.mass[..., :6, :6], x.mass[..., :6, 6:])
        if verb == "disturbance_jacobian":
            return relative(dynamics.disturbance_jacobian(x.robot, x.s.q), base)
        j = reference.jacobian(x.robot, x.s.q, x.tip)
        return relative(dynamics.generalized_jacobian(x.robot, x.s.q, x.tip), j[..., 6:] + j[..., :6] @ base)

    return judge


def _about_center(x: Subject, q: Array, h: Array) -> Array:
    c = reference.center_of_mass(x.robot, q)
    return np.concatenate([h[..., :3] - cross(c, h[..., 3:]), h[..., 3:]], axis=-1)


def centroidal(x: Subject) -> float:
    """Judge the momentum about the centre of mass by that about the origin."""
    wanted = _about_center(x, x.s.q, reference.momentum(x.robot, x.s.q, x.s.qd))
    return relative(dynamics.centroidal_momentum(x.robot, x.s.q, x.s.qd), wanted)


def centroidal_matrix(x: Subject) -> float:
    """Judge its matrix column by column."""
    q = np.repeat(x.s.q[:, None], x.robot.nv, axis=1)
    rates = np.broadcast_to(np.eye(x.robot.nv), (len(q), x.robot.nv, x.robot.nv))
    wanted = _about_center(x, q, reference.momentum(x.robot, q, rates))
    return relative(dynamics.centroidal_momentum_matrix(x.robot, x.s.q), np.swapaxes(wanted, -1, -2))


def centroidal_bias(x: Subject) -> float | None:
    """Judge its rate where qdd is zero by explicit matrices."""
    if x.is_large:
        return None
    e, s = SEVERAL["centroidal_momentum_bias"].expressions["momentum"], x.one
    wanted = _about_center(x, s.q, np.ravel(x.dense.evaluate(e)))
    return relative(dynamics.centroidal_momentum_bias(x.robot, s.q, s.qd), wanted)


def centroidal_pinocchio(part: str) -> Judge:
    """Judge the matrix or the bias by Pinocchio's, which leaves out what is fixed to the world."""

    def judge(x: Subject) -> float | None:
        if not x.urdf or not x.floats:
            return None
        import pinocchio as pin

        from tests.oracles.pinocchio import LINEAR_FIRST

        robot, model, to = x.peer
        data, s = model.createData(), x.s
        verbs = {
            "matrix": lambda: dynamics.centroidal_momentum_matrix(robot, s.q),
            "bias": lambda: dynamics.centroidal_momentum_bias(robot, s.q, s.qd),
        }
        theirs: list[Array] = []
        q, t, v, drift = (
            to.to_q(s.q),
            to.velocity_matrix(s.q),
            to.to_qd(s.q, s.qd),
            to.to_qdd(s.q, s.qd, 0 * s.qdd),
        )
        for k in range(len(q)):
            pin.dccrba(model, data, q[k], v[k])
            found = data.Ag @ t[k] if part == "matrix" else data.dAg @ v[k] + data.Ag @ drift[k]
            theirs.append(found[LINEAR_FIRST])
        return relative(verbs[part](), np.array(theirs))

    return judge


def another_base(x: Subject) -> float | None:
    """Judge a robot on another base by itself: energy, momentum and the accelerations of all bodies."""
    if not x.floats or x.is_large or x.robot.rotor_inertia.any():
        return None
    old, s = x.robot, x.s
    new = hinge.reroot(old, old.bodies[-1].name)
    q, qd = carry_state(old, new, s.q, s.qd)
    motion = np.swapaxes(carry_state(old, new, s.q[:, None], np.eye(old.nv))[1], -1, -2)
    tau = np.linalg.solve(np.swapaxes(motion, -1, -2), s.tau[..., None])[..., 0]
    after, before = (
        dynamics.forward_dynamics(new, q, qd, tau),
        reference.forward_dynamics(old, s.q, s.qd, s.tau),
    )
    bodies = [b.name for b in old.bodies]
    return max(
        relative(dynamics.kinetic_energy(new, q, qd), reference.kinetic_energy(old, s.q, s.qd)),
        relative(dynamics.momentum(new, q, qd), reference.momentum(old, s.q, s.qd)),
        relative(
            dynamics.accelerations(new, q, qd, after, bodies),
            np.stack(reference.accelerations(old, s.q, s.qd, before), axis=-2),
        ),
    )


def moving(verb: str) -> Judge:
    """Judge a verb on a base that moves by the robot on a raft, a free body that moves so."""

    def judge(x: Subject) -> float:
        robot, s, raft = x.robot, x.s, on_a_raft(x.robot)
        base, state = moved(robot, s.q.shape[:-1], x.seed)
        q, qd, qdd = both(state, s)
        if verb == "inverse_dynamics":
            found = dynamics.inverse_dynamics(robot, s.q, s.qd, s.qdd, base=base, **x.pushes)
            return relative(found, reference.inverse_dynamics(raft, q, qd, qdd, **x.pushes)[..., 6:])
        free = np.concatenate([qdd[..., :6], 0 * s.qdd], axis=-1)
        bias = reference.inverse_dynamics(raft, q, qd, free)[..., 6:]
        if verb == "bias_force":
            return relative(dynamics.bias_force(robot, s.q, s.qd, base=base), bias)
        if verb == "forward_dynamics":
            found = dynamics.forward_dynamics(robot, s.q, s.qd, s.tau, base=base)
            return balanced(x.mass, found, bias, s.tau)
        more = {"tau": s.tau, "qdd": s.qdd, "prescribed": x.names, "base": base}
        found, forces = dynamics.hybrid_dynamics(robot, s.q, s.qd, **more)
        kept = relative(np.where(x.held, found, s.tau), np.where(x.held, s.qdd, s.tau))
        return max(kept, balanced(x.mass, found, bias, forces))

    return judge


def rolling(kind: str) -> Judge:
    """Judge a tree on a ball or wheels, another one for each robot that rolls, by Lagrange multipliers."""

    def judge(x: Subject) -> float | None:
        if not any(map(rolls, x.robot.joints)):
            return None
        robot, loose = test_rolling.tree(kind, 100 * x.robot.nv)
        first, n, s = robot.joints[0], loose.joints[0].nv, random_state(robot, x.seed)
        own, given = s.q[: first.nq], np.random.default_rng(x.seed).standard_normal(n)
        across = test_rolling.hinge_map(first.type, own)
        s.tau[: first.nv] = across.T @ given
        found = dynamics.forward_dynamics(robot, s.q, s.qd, s.tau)
        rate = first.type.bias(own, s.qd[: first.nv]) if kind == "rolling_ball" else 0.0
        ours = np.concatenate([across @ found[: first.nv] + rate, found[first.nv :]])
        return relative(ours, test_rolling.held(robot, loose, s, given))

    return judge


def felt(robot: Robot, s: State, seed: int, **more: object) -> float:
    """Return how far the force of a base is from that of a raft that moves so, by its inertia and at once."""
    raft, alone = on_a_raft(robot), on_a_raft(make_robot("nothing", [], [], gravity=robot.gravity))
    base, state = moved(robot, s.q.shape[:-1], seed)
    q, qd, qdd = both(state, s)
    tau = np.concatenate([np.zeros((*s.tau.shape[:-1], 6)), s.tau], axis=-1)
    _, forces = reference.hybrid_dynamics(raft, q, qd, tau, qdd, prescribed=["raft_joint"], **more)
    rest = {n: x for n, x in more.items() if n == "gravity"}
    own = reference.inverse_dynamics(alone, *state, **rest)
    wanted = forces[..., :6] - own
    still = hinge.BaseMotion(angular_velocity=base.angular_velocity, rotation=base.rotation)
    found = dynamics.interface(robot, s.q, s.qd, s.tau, base=still, **more)
    alpha = np.concatenate([base.angular_acceleration, base.acceleration], axis=-1)
    at_once = dynamics.interface(robot, s.q, s.qd, s.tau, base=base, **more)
    return max(relative(matvec(found.inertia, alpha) + found.force, wanted), relative(at_once.force, wanted))


def interface(x: Subject) -> float:
    """Judge what a base feels by the robot on a raft."""
    return felt(x.robot, x.s, x.seed, **x.pushes)
