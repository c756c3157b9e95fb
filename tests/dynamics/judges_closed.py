"""How far the verbs of robots with closures are from dense matrices, for one robot.

States close, at speeds that the closures allow. The oracle is `hinge.reference.closed_dynamics`, Gauss'
principle by singular values, and what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import hinge
from hinge import reference
from hinge.model import closure_ends, opened
from hinge.model.joints import Spherical
from hinge.spatial import Array, matvec, transpose
from tests.dynamics.differences import by_vector
from tests.dynamics.judges import Judge, relative
from tests.dynamics.subjects import Subject

#: What counts as zero beside the largest singular value.
RANK = 1e-9
#: The most coordinates of robots whose loops are embedded, and of those that are differentiated.
SMALL, MOST = 4, 16


def _forces(x: Subject, forces: Array) -> Array:
    """Return the forces at the hinges that closure forces amount to: they themselves need not be unique."""
    return matvec(transpose(reference.closure_jacobian(x.robot, x.shut.q)), forces)


def closed_dynamics(x: Subject) -> float:
    """Judge accelerations by their forces, and the closure forces by what they do at the hinges."""
    q, qd, tau = x.shut.q, x.shut.qd, x.shut.tau
    found, (qdd, forces) = (
        hinge.closed_dynamics(x.robot, q, qd, tau),
        reference.closed_dynamics(x.robot, q, qd, tau),
    )
    mass = reference.mass_matrix(x.robot, q)
    return max(
        relative(matvec(mass, found.qdd), matvec(mass, qdd)),
        relative(_forces(x, found.forces), _forces(x, forces)),
        float(found.residual.max()) / max(1.0, float(np.abs(qdd).max())),
    )


def derivatives(x: Subject) -> float | None:
    """Judge derivatives of accelerations by differences, along a direction that opens the closures too."""
    if x.robot.nv > MOST:
        return None
    robot, q, qd, tau = x.robot, x.shut.q[0], x.shut.qd[0], x.shut.tau[0]
    way, fast = np.random.default_rng(x.seed).standard_normal((2, robot.nv))
    d = hinge.closed_dynamics_derivatives(robot, q, qd, tau)

    def change(t: Array) -> Array:
        moved = hinge.integrate(robot, q, t * way)
        return hinge.closed_dynamics(robot, moved, qd + t * fast, tau).qdd

    wanted = by_vector(change, np.zeros(1), 1e-4)[..., 0]
    mass = reference.mass_matrix(robot, q)
    return relative(mass @ (d.q @ way + d.qd @ fast), mass @ wanted)


def with_options(x: Subject) -> float:
    """Judge by other gravity and a force from outside."""
    q, qd, tau = x.shut.q, x.shut.qd, x.shut.tau
    options = {"external": {x.robot.bodies[-1].name: np.arange(6.0)}, "gravity": (0.1, 0.2, -1.62)}
    found = hinge.closed_dynamics(x.robot, q, qd, tau, **options)
    mass = reference.mass_matrix(x.robot, q)
    return relative(
        matvec(mass, found.qdd), matvec(mass, reference.closed_dynamics(x.robot, q, qd, tau, **options)[0])
    )


def held(x: Subject) -> float:
    """Judge a first closure that is open by the robot without it."""
    q, qd, tau = x.shut.q, x.shut.qd, x.shut.tau
    masks = np.ones(len(x.robot.closures), dtype=bool)
    masks[0] = False
    found = hinge.closed_dynamics(x.robot, q, qd, tau, held=masks)
    without = opened(x.robot, x.robot.closures[0].name)
    mass = reference.mass_matrix(x.robot, q)
    wanted = reference.closed_dynamics(without, q, qd, tau)[0]
    return relative(matvec(mass, found.qdd), matvec(mass, wanted))


def forward_dynamics(x: Subject) -> float:
    """Judge forward dynamics, which is that of the closed robot."""
    q, qd, tau = x.shut.q, x.shut.qd, x.shut.tau
    mass = reference.mass_matrix(x.robot, q)
    wanted = reference.closed_dynamics(x.robot, q, qd, tau)[0]
    return relative(matvec(mass, hinge.forward_dynamics(x.robot, q, qd, tau)), matvec(mass, wanted))


def inverse(x: Subject) -> float:
    """Judge by going there and back: accelerations that close need forces that bring them about."""
    q, qd, tau = x.shut.q, x.shut.qd, x.shut.tau
    qdd = reference.closed_dynamics(x.robot, q, qd, tau)[0]
    found = hinge.closed_inverse_dynamics(x.robot, q, qd, qdd)
    mass = reference.mass_matrix(x.robot, q)
    back = reference.closed_dynamics(x.robot, q, qd, found.tau)[0]
    return relative(matvec(mass, back), matvec(mass, qdd))


def of_motion(verb: str) -> Judge:
    """Judge a verb of q, or of q and any qd, by the reference of its name."""

    def judge(x: Subject) -> float:
        given = (x.shut.q,) if verb in ("closure_error", "closure_jacobian") else (x.shut.q, x.s.qd)
        return relative(getattr(hinge, verb)(x.robot, *given), getattr(reference, verb)(x.robot, *given))

    return judge


def settle(x: Subject) -> float:
    """Judge by the projection with explicit matrices."""
    q, qd = x.shut.q, x.s.qd
    root = np.linalg.cholesky(reference.mass_matrix(x.robot, q))
    rows = transpose(np.linalg.solve(root, transpose(reference.closure_jacobian(x.robot, q))))
    speeds = matvec(transpose(root), qd)
    kept = speeds - matvec(np.linalg.pinv(rows, rcond=RANK), matvec(rows, speeds))
    return relative(matvec(transpose(root), hinge.settle(x.robot, q, qd)), kept)


def assemble(x: Subject) -> float:
    """Return the error that is left from starts nearby."""
    starts = hinge.integrate(x.robot, x.shut.q, 0.02 * x.s.qd)
    return float(np.abs(reference.closure_error(x.robot, hinge.assemble(x.robot, starts).q)).max())


def mobility(x: Subject) -> float:
    """Count degrees of freedom, generic ones, and rows that are dropped, by ranks."""
    found, rows = hinge.mobility(x.robot, x.shut.q[1]), len(hinge.closure_rows(x.robot))
    rank = int(np.linalg.matrix_rank(reference.closure_jacobian(x.robot, x.shut.q[1]), tol=1e-7))
    wanted = (x.robot.nv - rank, x.robot.nv - rank, rows - rank)
    return float(np.abs(np.subtract((found.freedoms, found.generic, len(found.redundant)), wanted)).max())


def rows(x: Subject) -> float:
    """Count rows by the joint types of the closures."""
    return float(
        abs(len(hinge.closure_rows(x.robot)) - sum(len(c.constraints.names) for c in x.robot.closures))
    )


def compliance(x: Subject) -> float:
    """Judge J 𝓜⁻¹ Jᵀ of the closed robot at its tip by explicit matrices."""
    q = x.shut.q
    root = np.linalg.cholesky(reference.mass_matrix(x.robot, q))
    rows = transpose(np.linalg.solve(root, transpose(reference.closure_jacobian(x.robot, q))))
    motions = transpose(np.linalg.solve(root, transpose(reference.jacobian(x.robot, q, x.tip))))
    left = motions - motions @ np.linalg.pinv(rows, rcond=RANK) @ rows
    return relative(hinge.operational_inverse_inertia(x.robot, q, x.tip), left @ transpose(left))


def cross_inertias(x: Subject) -> float:
    """Judge the compliances of the ends of closures by explicit matrices."""
    found = []
    for c in x.robot.closures:
        for body, place in closure_ends(x.robot, c):
            if body >= 0:
                found.append(place.motions(reference.jacobian(x.robot, x.shut.q, x.robot.bodies[body].name)))
    ends = np.concatenate(found, axis=-2)
    inverse = np.linalg.inv(reference.mass_matrix(x.robot, x.shut.q))
    return relative(hinge.cross_inertias(x.robot, x.shut.q), ends @ inverse @ transpose(ends))


def embedded(x: Subject) -> float | None:
    """Judge small robots with their loops embedded by themselves with closures."""
    if x.robot.nv > SMALL:
        return None
    first = next(j for j in x.robot.joints if j.nv)
    inside = hinge.embed_loops(x.robot, independent=[first.name])
    tau = np.zeros_like(x.shut.tau)
    tau[..., first.qd_slice] = 0.01 * x.shut.tau[..., first.qd_slice]
    found = hinge.forward_dynamics(inside, x.shut.q, x.shut.qd[..., first.qd_slice], tau[..., first.qd_slice])
    return relative(
        found, reference.closed_dynamics(x.robot, x.shut.q, x.shut.qd, tau)[0][..., first.qd_slice]
    )


# Grasps.


def _of_grasps(judge: Callable[[Subject, Array], float]) -> Judge:
    """Return a judge of robots that hold a plate, given closure forces of any kind."""

    def found(x: Subject) -> float | None:
        if "plate" not in x.robot.body_names:
            return None
        return judge(x, np.random.default_rng(x.seed).standard_normal(len(hinge.closure_rows(x.robot))))

    return found


@_of_grasps
def internal_forces(x: Subject, forces: Array) -> float:
    """Judge by the null space of the sum of all forces on the plate."""
    ways = transpose(
        reference.closure_jacobian(x.robot, x.shut.q)[..., x.robot.joint("plate_joint").qd_slice]
    )
    found = hinge.internal_forces(x.robot, x.shut.q, forces, "plate")
    least = np.linalg.lstsq(ways[0], ways[0] @ forces, rcond=None)[0]
    return max(relative(found[0], forces - least), float(np.abs(matvec(ways, found)).max()))


@_of_grasps
def squeeze(x: Subject, forces: Array) -> float:
    """Judge by the accelerations, which stay, and the closure forces, of which there are more."""
    q, qd, tau = x.shut.q, x.shut.qd, x.shut.tau
    inside = hinge.internal_forces(x.robot, q, forces, "plate")
    more = tau + hinge.squeeze(x.robot, q, inside, "plate")
    before, after = (reference.closed_dynamics(x.robot, q, qd, t) for t in (tau, more))
    mass = reference.mass_matrix(x.robot, q)
    found = hinge.closed_dynamics(x.robot, q, qd, more)
    return max(
        relative(matvec(mass, found.qdd), matvec(mass, before[0])),
        relative(_forces(x, found.forces), _forces(x, before[1] + inside)),
        relative(matvec(mass, after[0]), matvec(mass, before[0])),
    )


@_of_grasps
def report(x: Subject, forces: Array) -> float:
    """Judge the shares of friction cones by their formula, where grips are points."""
    grip = x.robot.closures[0]
    points = hinge.opened(x.robot)
    for c in x.robot.closures:
        points = hinge.close(points, c.inner, c.outer, joint=Spherical())
    given = np.abs(forces[:6])
    found = hinge.grasp_report(points, given, friction=0.5)[grip.name]
    return abs(float(found.share) - float(np.hypot(given[0], given[1]) / (0.5 * given[2])))
