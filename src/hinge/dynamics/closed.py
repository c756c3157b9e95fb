"""Robots with closures: their forces, velocities that fit, configurations that close.

Forces and rates have a number for each row of `robot.closures`, in their order (`closure_rows`). A row that
others imply is dropped from the dynamics, and its force is zero (`mobility` names it).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hinge.dynamics.arguments import External
from hinge.dynamics.rows import RANK, Assembly, closure_map, kept_rows, largest_rows, rank_of
from hinge.dynamics.signatures import verb
from hinge.dynamics.verbs import inverse_dynamics
from hinge.errors import ArgumentError
from hinge.model import Robot, as_configuration, checked_robot, opened, refuse_text, rows_of
from hinge.spatial import Array, ArrayLike

__all__ = [
    "Assembly",
    "Closed",
    "ClosedForces",
    "Mobility",
    "assemble",
    "closed_dynamics",
    "closed_inverse_dynamics",
    "closure_bias",
    "closure_error",
    "closure_jacobian",
    "closure_rows",
    "closure_velocity",
    "cross_inertias",
    "mobility",
    "settle",
]


@dataclass(frozen=True, eq=False)
class Closed:
    """Accelerations qdd (…, nv), closure forces (…, m), and the residual (…) of the closures' accelerations.

    A residual that is not small tells that the closures cannot be kept in that state.
    """

    qdd: Array
    forces: Array
    residual: Array


@verb
def closed_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = False,
    held: ArrayLike | None = None,
) -> Closed:
    """Return the accelerations of a robot with closures, the forces of these, and a residual.

    JPL 88-11 part II (3.6): q̈ = q̈f + 𝓜⁻¹ Jcᵀ λ with Ω λ = −(Jc q̈f + J̇c q̇). Forces are those on the
    outer ends, along the rows of the closures, in their outer frames. `external`, `gravity` and `passive`
    as in `forward_dynamics`. `held` (…, closures) are booleans: closures that are not held are open in that
    state, and nothing is compiled for it.
    """
    ...


@verb
def closure_error(robot: Robot, q: ArrayLike) -> Array:
    """Return the errors (…, m) of the closures: zero where they close.

    Rotations are 2 sin(θ/2) of the angle that is left, about the axes of the outer frames; positions are
    lengths. Rows without a position, such as the spin of a soft finger, are zero.
    """
    ...


@verb
def closure_velocity(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return Jc q̇ (…, m): the velocities across the closures that these prevent."""
    ...


@verb
def closure_jacobian(robot: Robot, q: ArrayLike) -> Array:
    """Return Jc (…, m, nv), a row for each row of the closures: JPL 88-11 part II (2.7)."""
    ...


@verb
def closure_bias(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return J̇c q̇ (…, m): d/dt (Jc q̇) = Jc q̈ + J̇c q̇."""
    ...


@verb
def cross_inertias(robot: Robot, q: ArrayLike) -> Array:
    """Return the inverse inertias (…, 6e, 6e) that the ends of closures see: Jᵢ 𝓜⁻¹ Jⱼᵀ of ends i and j.

    Ends on bodies in the order of the closures, the inner before the outer, each in its own frame and as if
    all closures were open: Featherstone section 9.5.
    """
    ...


@verb
def settle(robot: Robot, q: ArrayLike, qd: ArrayLike, *, held: ArrayLike | None = None) -> Array:
    """Return the velocities nearest to qd that the closures allow: q̇ − 𝓜⁻¹ Jcᵀ Ω⁻¹ Jc q̇.

    Nearest in kinetic energy: what a plastic impact leaves when the closures snap shut. `held` as in
    `closed_dynamics`.
    """
    ...


@dataclass(frozen=True, eq=False)
class ClosedForces:
    """Hinge forces tau (…, nv), closure forces (…, m), and a residual (…).

    The residual is the force that no motor and no closure can give.
    """

    tau: Array
    forces: Array
    residual: Array


def closed_inverse_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    actuated: Iterable[str] | None = None,
    external: External = None,
    gravity: ArrayLike | None = None,
    passive: bool = False,
) -> ClosedForces:
    """Return the hinge forces that accelerate a closed robot: zero beside `actuated`, all joints by default.

    𝓜 q̈ + C = τ + Jcᵀ λ. Closure forces balance the joints without a motor; of all that do, those are taken
    that leave the least ‖τ‖ to the motors. With as many motors as freedoms there is one way, with fewer a
    residual is left.
    """
    refuse_text("actuated", actuated, "joint names")
    open_robot = opened(_with_closures(robot))
    given = inverse_dynamics(open_robot, q, qd, qdd, external=external, gravity=gravity, passive=passive)
    jacobian = closure_jacobian(robot, q)
    names = robot.joint_names if actuated is None else tuple(actuated)
    driven = np.zeros(robot.nv, dtype=bool)
    for name in names:
        driven[robot.joint(name).qd_slice] = True
    ways = np.swapaxes(jacobian, -1, -2)
    motors, others = ways[..., driven, :], ways[..., ~driven, :]
    size = np.linalg.norm(ways, axis=(-2, -1))
    back = _pseudo_inverse(others, size)
    first = (back @ given[..., ~driven, None])[..., 0]
    left = given[..., driven] - (motors @ first[..., None])[..., 0]
    free = motors - motors @ back @ others
    forces = first + (_pseudo_inverse(free, size) @ left[..., None])[..., 0]
    whole = given - (ways @ forces[..., None])[..., 0]
    residual = np.linalg.norm(whole[..., ~driven], axis=-1)
    return ClosedForces(np.where(driven, whole, 0.0), forces, residual)


def _pseudo_inverse(matrix: Array, size: Array) -> Array:
    """Return pseudo-inverses (…, n, m); singular values that are nothing beside `size` (…) count as zero."""
    u, values, v = np.linalg.svd(matrix, full_matrices=False)
    small = values <= RANK * size[..., None]
    inverse = np.where(small, 0.0, 1.0 / np.where(small, 1.0, values))
    return np.swapaxes(v, -1, -2) @ (inverse[..., None] * np.swapaxes(u, -1, -2))


def closure_rows(robot: Robot) -> tuple[tuple[str, str], ...]:
    """Return the rows of the closures in order, as pairs of names: of the closure, and of the row, "vx"."""
    return tuple((c.name, n) for c in checked_robot(robot).closures for n in rows_of(c.joint).names)


def assemble(
    robot: Robot,
    q: ArrayLike,
    *,
    keep: Iterable[str] = (),
    tolerance: float = 1e-12,
    steps: int = 50,
) -> Assembly:
    """Return configurations (…, nq) near q that close, and the largest error (…) that is left in each.

    Steps of least squares over all rows, none longer than 0.5 rad or m. Joints in `keep` stay where they
    are. There is no search over all of the configurations: a start that is far away, or closures that
    cannot meet, leave an error, which is for the caller to look at.
    """
    refuse_text("keep", keep, "joint names")
    start = np.array(as_configuration(_with_closures(robot), q), dtype=np.float64)
    fixed = [k for name in keep for k in range(*robot.joint(name).qd_slice.indices(robot.nv))]
    free = np.setdiff1d(np.arange(robot.nv), fixed)
    if not tolerance > 0 or not steps >= 0:
        raise ArgumentError(f"tolerance, steps: expected numbers above zero, got {tolerance} and {steps}")
    return closure_map(robot).closed(start, free, float(tolerance), int(steps))


@dataclass(frozen=True)
class Mobility:
    """How a robot with closures can move at a configuration.

    `freedoms` are its degrees of freedom there, `generic` those of nearly all configurations; `redundant`
    the rows that others imply and that the dynamics drops, as (closure, row); `independent` are joints
    whose velocities determine all others, best conditioned first.
    """

    freedoms: int
    generic: int
    redundant: tuple[tuple[str, str], ...]
    independent: tuple[str, ...]


def mobility(robot: Robot, q: ArrayLike) -> Mobility:
    """Return the degrees of freedom at a configuration (nq,), redundant rows, and independent joints."""
    at = as_configuration(_with_closures(robot), q)
    if at.ndim != 1:
        raise ArgumentError(f"q: expected one configuration ({robot.nq},), got shape {at.shape}")
    jacobian = closure_map(robot).at(at)[1]
    names, kept = closure_rows(robot), kept_rows(robot)
    starts = np.cumsum([0, *(len(rows_of(c.joint).names) for c in robot.closures)])
    used = {int(s) + k for s, rows in zip(starts, kept or (), strict=False) for k in rows}
    turned = np.linalg.svd(jacobian)[2]
    rank = rank_of(jacobian)
    dofs = largest_rows(turned[rank:].T, robot.nv - rank)
    owners = {k: j.name for j in robot.independent for k in range(*j.qd_slice.indices(robot.nv))}
    return Mobility(
        robot.nv - rank,
        robot.nv - len(used),
        tuple(n for k, n in enumerate(names) if k not in used),
        tuple(dict.fromkeys(owners[k] for k in dofs)),
    )


def _with_closures(robot: Robot) -> Robot:
    if not checked_robot(robot).closures:
        raise ArgumentError(
            f"robot: expected one with closures, got {robot.name!r}; close its loops with hinge.close"
        )
    return robot
