"""The public verbs: each a name, an expression of the catalogue, and how its value is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from hinge.binding import Expressed, bind
from hinge.dynamics.compiled import Compiled
from hinge.dynamics.expressions import CATALOGUE
from hinge.errors import ArgumentError
from hinge.model import Robot, as_vector, checked_robot, common_batch, gravity_of
from hinge.pipeline import derive
from hinge.spatial import Array, ArrayLike, Transform, dot, transpose, unskew

External = Mapping[str, ArrayLike] | None

#: How many compiled verbs are kept, each for one robot, one set of frames and one choice of axes.
KEPT = 256


def compiled(robot: Robot, verb: str, nodes: Sequence[str] = (), expressed: Expressed = "body") -> Compiled:
    """Return the compiled expression of a verb for a robot; the last ones used are kept."""
    if isinstance(nodes, str):
        raise ArgumentError(f"nodes: the text {nodes!r} came; wanted a tuple of names, such as ({nodes!r},)")
    if verb not in CATALOGUE:
        raise ArgumentError(f"verb: {verb!r} is unknown; there is {', '.join(CATALOGUE)}")
    return _kept(checked_robot(robot), verb, tuple(nodes), expressed)


@lru_cache(maxsize=KEPT)
def _kept(robot: Robot, verb: str, nodes: tuple[str, ...], expressed: Expressed) -> Compiled:
    return Compiled(derive({verb: CATALOGUE[verb]}), bind(robot, nodes=nodes, expressed=expressed))


def inverse_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
) -> Array:
    """Return the hinge forces tau (…, nv) for the accelerations qdd: τ = 𝓜 q̈ + C, JPL 88-11 (3.20).

    `external` maps names of frames or bodies to forces [n; f] (…, 6) in that frame's axes, n about its
    origin; `gravity` (…, 3) replaces the robot's own.
    """
    return _loaded(robot, "inverse_dynamics", q, {"qd": qd, "qdd": qdd}, external, gravity)


def forward_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
) -> Array:
    """Return the accelerations qdd (…, nv) for the hinge forces tau: q̈ = 𝓜⁻¹ (τ − C).

    Derived to the articulated-body algorithm, JPL 88-11 FD4. `external`, `gravity` as in
    `inverse_dynamics`.
    """
    return _loaded(robot, "forward_dynamics", q, {"qd": qd, "tau": tau}, external, gravity)


def bias_force(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    external: External = None,
    gravity: ArrayLike | None = None,
) -> Array:
    """Return C (…, nv) of τ = 𝓜 q̈ + C: Coriolis, centrifugal, gravity and external forces."""
    return _loaded(robot, "bias_force", q, {"qd": qd}, external, gravity)


def gravity_force(robot: Robot, q: ArrayLike, *, gravity: ArrayLike | None = None) -> Array:
    """Return the hinge forces (…, nv) that hold the robot against gravity at rest."""
    return _loaded(robot, "gravity_force", q, {}, None, gravity)


def coriolis_force(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the Coriolis and centrifugal share (…, nv) of C."""
    return _value(compiled(robot, "coriolis_force"), q, {"qd": qd})


def mass_matrix(robot: Robot, q: ArrayLike) -> Array:
    """Return the mass matrix 𝓜 = H φ M φᵀ Hᵀ (…, nv, nv), rotor inertias on its diagonal."""
    return _value(compiled(robot, "mass_matrix"), q, {})


def mass_matrix_inverse(robot: Robot, q: ArrayLike) -> Array:
    """Return 𝓜⁻¹ = (I − H ψ K)ᵀ D⁻¹ (I − H ψ K) (…, nv, nv), JPL 88-11 (4.16)."""
    return _value(compiled(robot, "mass_matrix_inverse"), q, {})


def forward_kinematics(robot: Robot, q: ArrayLike, frame: str | Sequence[str] | None = None) -> Any:
    """Return the transform from world to frame coordinates: its `.rotation` and `.position` are the pose.

    `frame` is a name, which gives one `Transform`, or several, or None for all bodies in their order, which
    give a list of them.
    """
    names = _names(robot, frame)
    x = _value(compiled(robot, "forward_kinematics", names), q, {})
    found = [_pose(x[..., 6 * k : 6 * k + 6, :]) for k in range(len(names))]
    return found[0] if isinstance(frame, str) else found


def velocities(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    frame: str | Sequence[str] | None = None,
    *,
    expressed: Expressed = "body",
) -> Array:
    """Return the spatial velocity [ω; v] of a frame (…, 6), or of several or all bodies (…, n, 6).

    `expressed` "body": in the frame's own axes at its origin; "world": in the world's axes at the world's
    origin; "world-aligned": in the world's axes at the frame's origin.
    """
    return _at_frames(robot, "velocities", q, {"qd": qd}, frame, expressed)


def accelerations(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    frame: str | Sequence[str] | None = None,
    *,
    expressed: Expressed = "body",
) -> Array:
    """Return the spatial acceleration of a frame (…, 6), or of several or all bodies (…, n, 6).

    The derivative of the spatial velocity as a field; see `classical_accelerations` for that of points.
    """
    return _at_frames(robot, "accelerations", q, {"qd": qd, "qdd": qdd}, frame, expressed)


def classical_accelerations(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    frame: str | Sequence[str] | None = None,
    *,
    expressed: Expressed = "body",
) -> Array:
    """Return [ω̇; p̈]: angular acceleration, and that of the frame's origin as a point.

    `expressed` "body" or "world-aligned".
    """
    _refuse_world(expressed)
    return _at_frames(robot, "classical_accelerations", q, {"qd": qd, "qdd": qdd}, frame, expressed)


def jacobian(robot: Robot, q: ArrayLike, frame: str, *, expressed: Expressed = "body") -> Array:
    """Return J (…, 6, nv): the frame's spatial velocity is J qd, J = Bᵀ φᵀ Hᵀ, JPL 88-11 (3.13)."""
    return _value(compiled(robot, "jacobian", (_one_name(frame),), expressed), q, {})


def jacobian_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: str, *, expressed: Expressed = "body"
) -> Array:
    """Return the frame's spatial acceleration (…, 6) when qdd = 0, so that it is J qdd + bias."""
    return _at_frames(robot, "jacobian_bias", q, {"qd": qd}, _one_name(frame), expressed)


def classical_jacobian_bias(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: str, *, expressed: Expressed = "body"
) -> Array:
    """Return the frame's classical acceleration (…, 6) when qdd = 0; "body" or "world-aligned"."""
    _refuse_world(expressed)
    return _at_frames(robot, "classical_jacobian_bias", q, {"qd": qd}, _one_name(frame), expressed)


def kinetic_energy(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return ½ q̇ᵀ 𝓜 q̇ (…) in J, rotors included."""
    return _value(compiled(robot, "kinetic_energy"), q, {"qd": qd})


def potential_energy(robot: Robot, q: ArrayLike, *, gravity: ArrayLike | None = None) -> Array:
    """Return −Σ g · (mᵢ cᵢ) (…) in J, zero at the world's origin."""
    down, moment = gravity_of(robot, gravity), _first_moment(robot, q)
    common_batch({"gravity": down, "q": moment})
    return -dot(down, moment)


def momentum(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the momentum [angular about the world's origin; linear] (…, 6) in world axes."""
    return _value(compiled(robot, "momentum"), q, {"qd": qd})


def center_of_mass(robot: Robot, q: ArrayLike) -> Array:
    """Return the centre of mass (…, 3) in world coordinates."""
    if checked_robot(robot).mass == 0:
        raise ArgumentError(f"robot: {robot.name!r} has no mass, so no centre of mass; give its bodies mass")
    return _first_moment(robot, q) / robot.mass


def _first_moment(robot: Robot, q: ArrayLike) -> Array:
    """Read Σ mᵢ cᵢ off the composite inertia [I h×; −h× m] of everything at the world."""
    x = _value(compiled(robot, "composite_inertia"), q, {})
    return unskew(x[..., :3, 3:])


def _pose(x: Array) -> Transform:
    """Read (E, r) off a motion transform [E 0; −E r× E]."""
    e = x[..., :3, :3]
    with np.errstate(all="ignore"):  # a state that is not finite stays its own
        return Transform(e, -unskew(transpose(e) @ x[..., 3:, :3]))


def _value(f: Compiled, q: ArrayLike, vectors: Mapping[str, ArrayLike]) -> Array:
    (found,) = f.evaluate(q, vectors).values()
    return found


def _loaded(
    robot: Robot,
    verb: str,
    q: ArrayLike,
    vectors: Mapping[str, ArrayLike],
    external: External,
    gravity: ArrayLike | None,
) -> Array:
    """Evaluate a verb with gravity and with forces at frames."""
    names, forces = _external(external)
    more = {} if gravity is None else {"gravity": gravity}
    f = compiled(robot, verb, names)
    (found,) = f.evaluate(q, {**vectors, **forces, **more}, called={"f_ext": "external"}).values()
    return found


def _external(external: External) -> tuple[tuple[str, ...], dict[str, ArrayLike]]:
    """Return the names of frames and their forces as one array (…, n, 6)."""
    if external is None:
        return (), {}
    if not isinstance(external, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"external: {type(external).__name__} came; wanted {{frame name: [n; f]}}")
    if not external:
        return (), {}
    forces = [
        as_vector(f, f"external[{name!r}]", 6, "a spatial force is [n; f]") for name, f in external.items()
    ]
    try:
        stacked = np.stack(np.broadcast_arrays(*forces), axis=-2)
    except ValueError:
        shapes = ", ".join(f"{name!r} {f.shape[:-1]}" for name, f in zip(external, forces, strict=True))
        raise ArgumentError(f"external: batch shapes do not broadcast: {shapes}") from None
    return tuple(external), {"f_ext": stacked}


def _at_frames(
    robot: Robot,
    verb: str,
    q: ArrayLike,
    vectors: Mapping[str, ArrayLike],
    frame: str | Sequence[str] | None,
    expressed: Expressed,
) -> Array:
    found = _value(compiled(robot, verb, _names(robot, frame), expressed), q, vectors)
    return found[..., 0, :] if isinstance(frame, str) else found


def _names(robot: Robot, frame: str | Sequence[str] | None) -> tuple[str, ...]:
    if frame is None:
        return tuple(b.name for b in checked_robot(robot).bodies)
    if isinstance(frame, str):
        return (frame,)
    if not isinstance(frame, Sequence) or not all(isinstance(n, str) for n in frame):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"frame: {type(frame).__name__} came; wanted the name of a frame or body, or a list of names"
        )
    return tuple(frame)


def _one_name(frame: str) -> str:
    if not isinstance(frame, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"frame: {type(frame).__name__} came; wanted the name of one frame or body")
    return frame


def _refuse_world(expressed: Expressed) -> None:
    if expressed == "world":
        raise ArgumentError(
            "expressed: 'world' moves the origin away from the frame; a classical acceleration wants 'body' "
            "or 'world-aligned'"
        )
