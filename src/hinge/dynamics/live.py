"""Robots whose configuration changes while they run: what changes are inputs of programs that stay.

Which coordinates are frozen is a mask of hybrid dynamics, what is grasped is inertia of the body that holds
it, and forces act at all bodies. So one set of compiled programs serves every configuration of a robot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hinge.algebra import Ask, closed, inertias
from hinge.binding import Expressed
from hinge.dynamics.arguments import External, external_forces, flattened, precision, rows_that_hold
from hinge.dynamics.cached import CALLS, compiled
from hinge.dynamics.closed import Closed
from hinge.dynamics.expressions import Parts, expression
from hinge.dynamics.function import Compiled
from hinge.dynamics.hybrid import Mask, Prescribed, coordinates
from hinge.dynamics.payloads import Payload, checked_inertia, checked_placement
from hinge.dynamics.verbs import forward_kinematics, velocities
from hinge.dynamics.views import VIEWS
from hinge.errors import ArgumentError, UnknownNameError
from hinge.model import (
    Body,
    Robot,
    as_vector,
    checked_robot,
    closure_of,
    common_batch,
    gravity_of,
    inertial_parameters,
    neutral,
)
from hinge.spatial import Array, ArrayLike, Inertia, Transform, dot

__all__ = ["Live"]

_FLOAT64 = np.dtype(np.float64)
#: Names of closures, or booleans (…, closures).
Closures: TypeAlias = Iterable[str] | str | NDArray[np.bool_]


def _parts(verb: str, robot: Robot) -> Parts:
    """Return what a verb computes, as it shows it."""
    view = VIEWS.get(verb)
    return expression(verb, closed=bool(robot.closures)) if view is None else view.parts


def _closures(robot: Robot, given: Any, called: str) -> Mask:
    """Return closures by name as booleans (…, closures), others as they are."""
    count = len(robot.closures)
    if isinstance(given, np.ndarray):
        if given.dtype != bool or given.shape[-1:] != (count,):
            raise ArgumentError(
                f"{called}: expected names, or booleans (…, {count}), one for each closure, got an array of "
                f"{given.dtype} of shape {given.shape}"
            )
        return given
    names = [given] if isinstance(given, str) else list(given)
    chosen = {closure_of(robot, name).name for name in names}
    return np.array([c.name in chosen for c in robot.closures], dtype=bool)


#: The default of fields that are derived from the robot.
_UNSET: Any = None


@dataclass(frozen=True, eq=False)
class Live:
    """A robot in one of its configurations: `Live(robot)` is the robot as it was built.

    `freeze`, `thaw`, `grasp`, `release`, `fasten` and `unfasten` return another value at once, for which
    nothing is compiled anew; `hinge.impact` gives the velocities after such a change. `held` tells for each
    coordinate (…, nv) whether it is frozen, `payloads` what is grasped, `fastened` (…, closures) which
    closures hold. Frozen joints have no acceleration; where one stands is in q. After `fasten`, `settle`
    gives the velocities that the closures leave; joints of a robot with closures cannot be frozen.

    Pieces with joints of their own dock by a joint of six degrees of freedom that is frozen while they are
    docked: `attach(robot, other, frame, joint=Free(), prefix=…)` makes them one tree, and `carry_state` from
    and to `merge(robot, other, prefix=…)` takes their states there and back.
    """

    robot: Robot
    held: Mask = field(default_factory=lambda: _UNSET)
    payloads: Mapping[str, Payload] = field(default_factory=dict[str, Payload])
    fastened: Mask = field(default_factory=lambda: _UNSET)
    _own: Array = field(default_factory=lambda: _UNSET, repr=False)

    def __post_init__(self) -> None:
        checked_robot(self.robot)
        chosen: Prescribed = () if self.held is _UNSET else self.held
        object.__setattr__(self, "held", _read_only(coordinates(self.robot, chosen, "held")))
        object.__setattr__(self, "payloads", MappingProxyType(dict(self.payloads)))
        every = [c.name for c in self.robot.closures]
        chosen = every if self.fastened is _UNSET else self.fastened
        object.__setattr__(self, "fastened", _read_only(_closures(self.robot, chosen, "fastened")))
        if self._own is _UNSET:
            object.__setattr__(self, "_own", _read_only(inertial_parameters(self.robot)))

    def __repr__(self) -> str:
        holds = ", ".join(f"{p.name!r} on {p.body!r}" for p in self.payloads.values()) or "nothing"
        frozen = ", ".join(map(repr, self.frozen)) or "nothing"
        names = [repr(c.name) for k, c in enumerate(self.robot.closures) if not self.fastened[..., k].all()]
        opened = f"; open: {', '.join(names)}" if names else ""
        return f"<Live {self.robot.name!r}: holds {holds}; frozen: {frozen}{opened}>"

    # Changes.

    @property
    def frozen(self) -> tuple[str, ...]:
        """The joints that are frozen, with all their coordinates, in every state."""
        return tuple(
            j.name for j in self.robot.joints if j.nv and not j.depends and self.held[..., j.qd_slice].all()
        )

    def freeze(self, joints: Prescribed) -> Live:
        """Return it with these joints frozen: names, or booleans for the coordinates (…, nv)."""
        return replace(self, held=self.held | coordinates(self.robot, joints, "joints"))

    def thaw(self, joints: Prescribed) -> Live:
        """Return it with these joints moving again."""
        return replace(self, held=self.held & ~coordinates(self.robot, joints, "joints"))

    def fasten(self, closures: Closures) -> Live:
        """Return it with these closures holding: names, or booleans (…, closures)."""
        return replace(self, fastened=self.fastened | _closures(self.robot, closures, "closures"))

    def unfasten(self, closures: Closures) -> Live:
        """Return it with these closures open."""
        return replace(self, fastened=self.fastened & ~_closures(self.robot, closures, "closures"))

    def refuse_frozen(self) -> None:
        """Refuse frozen joints of a robot with closures."""
        if self.robot.closures and self.held.any():
            names = ", ".join(j.name for j in self.robot.joints if self.held[..., j.qd_slice].any())
            raise NotImplementedError(
                f"held: frozen joints ({names}) are not supported for robots with closures, such as "
                f"{self.robot.name!r}; thaw them, or take lock(robot, …)"
            )

    def grasp(
        self, name: str, frame: str, payload: Inertia | Body, placement: Transform | None = None
    ) -> Live:
        """Return it holding a rigid payload at a frame or body; `placement` is that of the payload there.

        `name` is what to release it by. Inertia and placement may be batches, one for each state.
        """
        if name in self.payloads:
            raise ArgumentError(
                f"name: {name!r} is held by {self.payloads[name].body!r} already; release it, or give another"
            )
        at = self._frame(frame)
        x, inertia = checked_placement(placement) @ at.placement, checked_inertia(payload)
        found = Payload(name, at.body, inertia, x)
        return replace(self, payloads={**self.payloads, name: found})

    def release(self, name: str) -> Live:
        """Return it without a payload; velocities stay what they are, see `motion` for the payload's."""
        self._payload(name)
        return replace(self, payloads={n: p for n, p in self.payloads.items() if n != name})

    def _frame(self, name: str) -> Any:
        try:
            return self.robot.frame(name)
        except UnknownNameError as error:
            raise UnknownNameError(f"frame: {error}") from None

    def _payload(self, name: str) -> Payload:
        if name not in self.payloads:
            there = ", ".join(map(repr, self.payloads)) or "nothing"
            raise UnknownNameError(f"name: expected the name of a payload, got {name!r}; held: {there}")
        return self.payloads[name]

    @cached_property
    def inertias(self) -> Array:
        """The inertias of the bodies (…, bodies, 10) with what they hold, see `inertial_parameters`."""
        found = self._own
        if not self.payloads:
            return found
        batch = np.broadcast_shapes(*(p.parameters.shape[:-1] for p in self.payloads.values()))
        found = np.broadcast_to(found, (*batch, *found.shape)).copy()
        for p in self.payloads.values():
            found[..., self.robot.body_index(p.body), :] += p.parameters
        return _read_only(found)

    # Dynamics.

    def hybrid_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        qdd: ArrayLike | None = None,
        external: External = None,
        gravity: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Return qdd, and tau with the forces that hold what is frozen.

        Frozen coordinates have no acceleration, or that of `qdd`; what stands for them in `tau` does not
        count. `external` and `gravity` as in `hinge.inverse_dynamics`, at any frames.
        """
        found = self._completed(q, qd, tau, qdd, external, gravity)
        return found["accelerations"], found["forces"]

    def _completed(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        qdd: ArrayLike | None,
        external: External,
        gravity: ArrayLike | None,
    ) -> dict[str, Array]:
        driven = self._split(tau, "tau", free=True)
        moved = self._still(driven.dtype) if qdd is None else self._split(qdd, "qdd")
        if external is None and gravity is None:
            return self._quickly("hybrid_dynamics", q, qd, moved, driven)
        return self.call(
            "hybrid_dynamics", q, qd=qd, qdd=moved, tau=driven, external=external, gravity=gravity
        )

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        external: External = None,
        gravity: ArrayLike | None = None,
    ) -> Array:
        """Return qdd (…, nv), zero where coordinates are frozen, with the closures that hold."""
        if self.robot.closures:
            self.refuse_frozen()
            if external is None and gravity is None:
                return self._quickly("forward_dynamics", q, qd, tau)
            return self.call("forward_dynamics", q, qd=qd, tau=tau, external=external, gravity=gravity)
        return self._completed(q, qd, tau, None, external, gravity)["accelerations"]

    def closed_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        external: External = None,
        gravity: ArrayLike | None = None,
    ) -> Closed:
        """Return the accelerations, the forces of the closures and a residual, as `hinge.closed_dynamics`."""
        self.refuse_frozen()
        return Closed(**self.call("closed_dynamics", q, qd=qd, tau=tau, external=external, gravity=gravity))

    def settle(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the velocities (…, nv) that the closures that hold leave of qd, as `hinge.settle`."""
        self.refuse_frozen()
        return self.call("settle", q, qd=qd)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        external: External = None,
        gravity: ArrayLike | None = None,
    ) -> Array:
        """Return the forces tau (…, nv) for accelerations, taken to be zero where coordinates are frozen."""
        moved = self._split(qdd, "qdd", free=True)
        if external is None and gravity is None:
            return self._quickly("inverse_dynamics", q, qd, moved)
        return self.call("inverse_dynamics", q, qd=qd, qdd=moved, external=external, gravity=gravity)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix (…, nv, nv) of all coordinates, the frozen ones too."""
        return self._quickly("mass_matrix", q)

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return ½ q̇ᵀ 𝓜 q̇ (…) in J, payloads included."""
        return self._quickly("kinetic_energy", q, qd)

    def momentum(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the momentum [angular about the world's origin; linear] (…, 6), payloads included."""
        return self._quickly("momentum", q, qd)

    def potential_energy(self, q: ArrayLike, *, gravity: ArrayLike | None = None) -> Array:
        """Return −g · Σ mᵢ cᵢ (…) in J, payloads included, zero at the world's origin."""
        moment = self._quickly("first_moment", q)
        down = gravity_of(self.robot, gravity, dtype=moment.dtype)
        common_batch({"gravity": down, "q": moment})
        return -dot(down, moment)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the centre of mass (…, 3) in world coordinates, payloads included."""
        return self._quickly("center_of_mass", q)

    def _quickly(self, verb: str, *arrays: ArrayLike) -> Any:
        """Return a verb without options of q and vectors, in its order: straight into its code."""
        known = CALLS.look((Live, verb, self.robot))
        if known is None:
            known = CALLS.put((Live, verb, self.robot), self._way(verb, len(arrays)))
        return known(self, arrays)

    def _way(self, verb: str, given: int) -> Callable[[Live, tuple[ArrayLike, ...]], Any]:
        """Return a verb as a function of the configuration of a robot and of so many arrays, q first."""
        f = self._program(_parts(verb, self.robot))
        own, entry = f.vectors[given - 1 :], f.flat_entry

        def call(of: Live, arrays: tuple[ArrayLike, ...]) -> Any:
            known = of._chosen.get(own)
            if known is None:
                known = of._chosen[own] = tuple(of._inputs[n] for n in own)
            return entry(*arrays, *known)

        return call

    @cached_property
    def _chosen(self) -> dict[tuple[str, ...], tuple[Array, ...]]:
        """Of `_inputs` those that verbs have asked for so far, by their names."""
        return {}

    def _program(self, parts: Parts, nodes: tuple[str, ...] = (), expressed: Expressed = "body") -> Compiled:
        active = None if parts.splits else ()
        asks = any(Ask.CLOSURES in x.card.asks for x in parts.letters)
        given = (inertias.name, closed.name) if asks else (inertias.name,)
        return compiled(self.robot, parts, nodes, expressed, prescribed=active, parameters=given)

    def call(
        self,
        verb: str | Parts,
        q: ArrayLike,
        *,
        nodes: Iterable[str] = (),
        expressed: Expressed = "body",
        external: External = None,
        gravity: ArrayLike | None = None,
        **vectors: ArrayLike,
    ) -> Any:
        """Return any verb of the catalogue for this configuration; its vectors are given by name.

        `verb` is a name, or with options what `expression(name, passive=True)` gives. A verb with one result
        gives an array, one with several a dict. `nodes` are frames as in `hinge.compile`, each choice of them
        compiled when it is first asked for; where there are none, a vector f_ext acts on all bodies.
        """
        parts = verb if isinstance(verb, Parts) else expression(verb, closed=bool(self.robot.closures))
        given = dict(vectors)
        if external is not None:
            given["f_ext"] = self._on_bodies(external)
        chosen = tuple(nodes) if external is None else ()
        if "f_ext" in given and not chosen:
            chosen = self._bodies
        f = self._program(parts, chosen, expressed)
        if "f_ext" in given:
            dtype = precision(q, *given.values())
            given["f_ext"] = flattened(given["f_ext"], "f_ext", len(chosen), 6, dtype)
        given |= {n: x for n, x in self._inputs.items() if f.takes(n)}
        if gravity is not None:
            given["gravity"] = gravity
        return f.flat(q, given)

    @cached_property
    def _bodies(self) -> tuple[str, ...]:
        return tuple(b.name for b in self.robot.bodies)

    @cached_property
    def _inputs(self) -> dict[str, Array]:
        """The inputs of programs that describe the configuration, as flat vectors."""
        flat = self.inertias.reshape(*self.inertias.shape[:-2], self._own.size)
        found = {"inertias": flat, "held": self.held.astype(np.float64)}
        if self.robot.closures:
            found[closed.name] = rows_that_hold(self.robot, self.fastened)
        return found

    def _split(self, x: ArrayLike, name: str, *, free: bool = False) -> Array:
        """Return a vector with zeros for the free, or for the frozen, coordinates."""
        kept, shape, keeps_all = self._kept[free]
        if type(x) is np.ndarray and x.dtype == _FLOAT64 and x.shape == shape:
            return x if keeps_all else np.where(kept, x, 0.0)
        why = f"nv = {self.robot.nv} of robot {self.robot.name!r}"
        given = as_vector(x, name, self.robot.nv, why, dtype=precision(x))
        common_batch({name: given, "held": self.held})
        return np.where(kept, given, given.dtype.type(0))

    @cached_property
    def _kept(self) -> tuple[tuple[Mask, tuple[int, ...], bool], ...]:
        """The frozen and the free coordinates, each with their shape, and whether all are of them."""
        return tuple((x, x.shape, bool(x.all())) for x in (self.held, ~self.held))

    @cached_property
    def _zero(self) -> Array:
        return np.zeros(self.robot.nv)

    def _still(self, dtype: Any) -> Array:
        """Return no accelerations."""
        return self._zero if dtype == _FLOAT64 else np.zeros(self.robot.nv, dtype)

    def _on_bodies(self, external: External) -> Array:
        """Return forces at frames as forces on all bodies (…, bodies, 6) in their own frames."""
        names, forces = external_forces(external)
        given = forces.get("f_ext", np.zeros((0, 6)))
        x = np.asarray(given)
        found = np.zeros((*x.shape[:-2], len(self.robot.bodies), 6), x.dtype)
        for k, name in enumerate(names):
            frame = self.robot.frame(name)
            found[..., self.robot.body_index(frame.body), :] += frame.placement.inv().force(x[..., k, :])
        return found

    # Where things are.

    def pose(self, q: ArrayLike, name: str) -> Transform:
        """Return the transform from the world to a payload, frame or body."""
        body, placement = self._place(name)
        return placement @ forward_kinematics(self.robot, q)[self.robot.body_index(body)]

    def motion(self, q: ArrayLike, qd: ArrayLike, name: str) -> tuple[Transform, Array]:
        """Return pose and velocity [ω; v] (…, 6), in its own axes, of a payload, frame or body."""
        body, placement = self._place(name)
        v = velocities(self.robot, q, qd)[..., self.robot.body_index(body), :]
        return self.pose(q, name), placement.motion(v)

    def placement(self, q: ArrayLike, frame: str, pose: Transform) -> Transform:
        """Return how a payload that stands at `pose` in the world is placed in a frame, for `grasp`."""
        return checked_placement(pose) @ self.pose(q, frame).inv()

    def _place(self, name: str) -> tuple[str, Transform]:
        if name in self.payloads:
            return self.payloads[name].body, self.payloads[name].placement
        frame = self._frame(name)
        return frame.body, frame.placement

    def prepare(self, *, batch: bool = True) -> Live:
        """Compile ahead what changes and dynamics need, for one state and for batches of them; return it.

        Without it the first call of each kind does so, once for all configurations.
        """
        q = neutral(self.robot)
        many = np.tile(q, (64, 1))
        zero = np.zeros(self.robot.nv)
        for x in (q, many) if batch else (q,):
            v = np.zeros((*x.shape[:-1], self.robot.nv))
            if self.robot.closures:
                self.closed_dynamics(x, v, zero)
                self.settle(x, v)
            else:
                self.hybrid_dynamics(x, v, zero)
                self.inverse_dynamics(x, v, zero)
                self.call("impact", x, qd=v, f_ext=np.zeros((len(self.robot.bodies), 6)))
            self.forward_dynamics(x, v, zero)
            self.kinetic_energy(x, v)
            self.momentum(x, v)
            self.mass_matrix(x)
            velocities(self.robot, x, v)
            forward_kinematics(self.robot, x)
        return self


def _read_only(x: NDArray[Any]) -> NDArray[Any]:
    """Return the array as read-only, copied if others may write to it."""
    found = x.copy() if x.flags.writeable else x
    found.setflags(write=False)
    return found
