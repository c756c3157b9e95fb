"""Hybrid dynamics: some coordinates' accelerations are given, the others' forces.

There are two forms of one expression, alike but for what the letters are bound to. A set of joints can have
code of its own, in which what is prescribed costs next to nothing. One more program serves all sets: it takes
the set as an input, which may differ from state to state. See `hinge.dynamics.cached.has_own_code` for which
of the two is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hinge.dynamics.arguments import External, external_forces, precision
from hinge.dynamics.cached import CALLS, compiled, has_own_code
from hinge.dynamics.expressions import Parts, expression
from hinge.dynamics.function import Compiled
from hinge.dynamics.moving import BaseMotion, base_inputs
from hinge.dynamics.signatures import ARGUMENTS
from hinge.errors import ArgumentError, UnknownNameError
from hinge.model import Robot, as_vector, checked_robot, common_batch, refuse_text
from hinge.spatial import Array, ArrayLike

__all__ = ["Partition", "hybrid_dynamics", "partitioned"]

Mask: TypeAlias = NDArray[np.bool_]
#: Names of joints, or for each coordinate (…, nv) whether its acceleration is given.
Prescribed: TypeAlias = Iterable[str] | Mask

_PARTITIONED = expression("partitioned")


def hybrid_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    tau: ArrayLike,
    qdd: ArrayLike,
    prescribed: Prescribed,
    external: External = None,
    gravity: ArrayLike | None = None,
    base: BaseMotion | None = None,
    out: tuple[Array, Array] | None = None,
    passive: bool = False,
) -> tuple[Array, Array]:
    """Return qdd and tau (…, nv), each completed by what the other was given for: 𝓜 q̈ + C = τ.

    `prescribed` are names of joints, all coordinates of which move with their part of `qdd`, or an array of
    booleans (…, nv), which may differ from state to state; the other coordinates get their part of `tau`.
    What is not given, such as the force of a prescribed coordinate, may be anything in `tau` and `qdd`. With
    all prescribed this is inverse dynamics, with none forward dynamics.

    O(n), SOA slides, page 70. The first list of names has code compiled for it, and so have lists for which
    `hinge.dynamics.compiled(robot, "hybrid_dynamics", prescribed=names)` was called; all others, and arrays
    of booleans, share one program, so that a change of the set compiles nothing. `external`, `gravity`,
    `base` and `passive` as in `inverse_dynamics`; with `passive` that is 𝓜 q̈ + C = τ + τⱼ. `out` are two
    arrays for the results.
    """
    plain = passive is False and base is None and external is None and gravity is None and out is None
    listed = plain and type(prescribed) in (list, tuple)
    key = ("hybrid_dynamics", robot, tuple(prescribed)) if listed else ()
    if listed:
        f = CALLS.look(key)
        if f is not None:
            return f(q, qd, qdd, tau)
    choice = _choice(checked_robot(robot), prescribed)
    parts = expression("hybrid_dynamics", passive=passive, base=base is not None)
    nodes, more = external_forces(external)
    if base is not None:
        more |= base_inputs(base, robot, gravity, {"q": q, "qd": qd, "qdd": qdd, "tau": tau, **more})
    elif gravity is not None:
        more["gravity"] = gravity
    f = _form(robot, parts, nodes, choice)
    if listed and isinstance(choice, frozenset):
        CALLS.put(key, f.direct)
    return f(q, qd, qdd, tau, out, **more)


class Partition(NamedTuple):
    """The mass matrix solved for what is not given, SOA slides, page 56.

    τ_a = S_aa q̈_a + S_ap (τ_p − C_p) + C_a and q̈_p = −S_apᵀ q̈_a + S_pp (τ_p − C_p), where a are the
    coordinates `active`, whose accelerations are given, and p those `passive`, whose forces are.
    """

    S_aa: Array
    S_ap: Array
    S_pp: Array
    active: NDArray[np.intp]
    passive: NDArray[np.intp]


def partitioned(robot: Robot, q: ArrayLike, prescribed: Prescribed) -> Partition:
    """Return S_aa (…, na, na), S_ap (…, na, np) and S_pp (…, np, np) for prescribed joints or coordinates.

    S_aa = 𝓜_aa − 𝓜_ap 𝓜_pp⁻¹ 𝓜_pa is the inertia that the active coordinates see, S_ap = 𝓜_ap 𝓜_pp⁻¹,
    S_pp = 𝓜_pp⁻¹. `prescribed` as in `hybrid_dynamics`, but one set for all states.
    """
    listed = type(prescribed) in (list, tuple)
    key = ("partitioned", robot, tuple(prescribed)) if listed else ()
    known = CALLS.look(key) if listed else None
    if known is not None:
        return known(q)
    choice = _choice(checked_robot(robot), prescribed)
    held = _held(robot, choice) if isinstance(choice, frozenset) else choice
    if held.ndim != 1:
        raise ArgumentError(
            f"prescribed: expected shape ({robot.nv},), got {held.shape}; the set fixes the sizes of the "
            "blocks: call once for each set"
        )
    active, passive = np.flatnonzero(held), np.flatnonzero(~held)
    if isinstance(choice, frozenset) and has_own_code(robot, _PARTITIONED, (), choice):
        f = _of_own_code(compiled(robot, _PARTITIONED, prescribed=choice).entry, active, passive)
        return (CALLS.put(key, f) if listed else f)(q)
    f = compiled(robot, _PARTITIONED, prescribed=None)
    found = f.evaluate(q, {"held": held.astype(precision(q))})
    parts = {"S_aa": (active, active), "S_ap": (active, passive), "S_pp": (passive, passive)}
    aa, ap, pp = (found[name][..., rows[:, None], columns] for name, (rows, columns) in parts.items())
    return Partition(aa, ap, pp, active, passive)


def _of_own_code(
    entry: Callable[..., Any], active: NDArray[np.intp], passive: NDArray[np.intp]
) -> Callable[[ArrayLike], Partition]:
    """Return the partition as a function of q, for a set that has code of its own."""

    def call(q: ArrayLike) -> Partition:
        found = entry(q)
        parts = found["S_aa"], found["S_ap"], found["S_pp"], active.copy(), passive.copy()
        return tuple.__new__(Partition, parts)  # half a microsecond less than by its constructor

    return call


def _choice(robot: Robot, prescribed: Prescribed, called: str = "prescribed") -> frozenset[str] | Mask:
    """Return the prescribed coordinates as joint names, or as booleans (…, nv)."""
    wanted = f"a list of joint names, or an array of booleans (…, {robot.nv})"
    if isinstance(prescribed, str):
        refuse_text(called, prescribed, "joint names")
    if isinstance(prescribed, np.ndarray) and prescribed.dtype.kind != "U":
        if prescribed.dtype != np.bool_ or prescribed.shape[-1:] != (robot.nv,):
            raise ArgumentError(
                f"{called}: expected {wanted}, got dtype {prescribed.dtype} and shape {prescribed.shape}"
            )
        return prescribed
    if not isinstance(prescribed, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"{called}: expected {wanted}, got {type(prescribed).__name__}")
    names = list(prescribed)
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"{called}: expected {wanted}, got {name!r} among the names")
        try:
            robot.joint(name)
        except UnknownNameError as error:
            raise UnknownNameError(f"{called}: {error}") from None
        if robot.joint(name).depends:
            raise ArgumentError(
                f"{called}: expected joints with rates of their own, got {name!r}, which depends on others "
                "of its loop; give the independent joints of the loop"
            )
    return frozenset(map(str, names))


def _held(robot: Robot, names: frozenset[str]) -> Mask:
    """Return the mask of the coordinates of these joints."""
    found = np.zeros(robot.nv, np.bool_)
    for name in names:
        found[robot.joint(name).qd_slice] = True
    return found


def coordinates(robot: Robot, joints: Prescribed, called: str) -> Mask:
    """Return joints or coordinates as booleans (…, nv); `called` is the caller's name of the argument."""
    choice = _choice(robot, joints, called)
    return _held(robot, choice) if isinstance(choice, frozenset) else choice


#: The caller's names of inputs and results.
_CALLED = {**ARGUMENTS, "held": "prescribed"}
_RESULTS: tuple[str, ...] = ("accelerations", "forces")
#: From the results by name to qdd and tau.
RESULTS = itemgetter(*_RESULTS)


def _form(robot: Robot, parts: Parts, nodes: tuple[str, ...], choice: frozenset[str] | Mask) -> _Form:
    """Return a function of q, qd, qdd, tau and the options of a call."""
    if isinstance(choice, frozenset) and has_own_code(robot, parts, nodes, choice):
        return _Form(compiled(robot, parts, nodes, prescribed=choice))
    held = _held(robot, choice) if isinstance(choice, frozenset) else choice
    return _Switched(compiled(robot, parts, nodes, prescribed=None), held)


class _Form:
    """Hybrid dynamics for one set of joints."""

    def __init__(self, f: Compiled) -> None:
        self.f, self.entry = f, f.entry_for(finish=RESULTS)

    @property
    def direct(self) -> Callable[..., tuple[Array, Array]]:
        """The quickest function of plain arrays q, qd, qdd, tau."""
        return self.entry

    def __call__(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tau: ArrayLike,
        out: Any = None,
        **more: ArrayLike,
    ) -> tuple[Array, Array]:
        """Return qdd and tau."""
        if out is None and not more:
            return self.entry(q, qd, qdd, tau)
        return self._evaluated(q, {"qd": qd, "qdd": qdd, "tau": tau, **more}, out)

    def _evaluated(self, q: ArrayLike, vectors: Mapping[str, ArrayLike], out: Any) -> tuple[Array, Array]:
        if out is not None and not (isinstance(out, tuple | list) and len(out) == len(_RESULTS)):
            raise ArgumentError(f"out: expected two arrays, for qdd and tau, got {type(out).__name__}")
        to = None if out is None else dict(zip(_RESULTS, out, strict=True))
        found = self.f.evaluate(q, vectors, called=_CALLED, out=to)
        return found["accelerations"], found["forces"]


class _Switched(_Form):
    """Hybrid dynamics with the set as an input."""

    def __init__(self, f: Compiled, held: Mask) -> None:
        super().__init__(f)
        self.held = held
        self._given = np.ascontiguousarray(held, np.float64)

    @property
    def direct(self) -> Callable[..., tuple[Array, Array]]:
        """The same, for which what is not given is made zero first."""
        return self._quickly

    def _quickly(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
        held = self.held
        for x in (qdd, tau):
            if not (type(x) is np.ndarray and x.dtype == np.float64 and x.shape == held.shape and x.size):
                return self(q, qd, qdd, tau)
        return self.entry(q, qd, np.where(held, qdd, 0.0), np.where(held, 0.0, tau), self._given)

    def __call__(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tau: ArrayLike,
        out: Any = None,
        **more: ArrayLike,
    ) -> tuple[Array, Array]:
        """Return qdd and tau; what is not given is zero, since even zero times nan is nan."""
        dtype = precision(q, qd, qdd, tau, *more.values())
        size, why = self.f.robot.nv, f"nv = {self.f.robot.nv} of robot {self.f.robot.name!r}"
        given = as_vector(qdd, "qdd", size, why, dtype=dtype), as_vector(tau, "tau", size, why, dtype=dtype)
        common_batch({"prescribed": self.held, "qdd": given[0], "tau": given[1]})
        zero = dtype(0)
        qdd, tau = np.where(self.held, given[0], zero), np.where(self.held, zero, given[1])
        held = self.held.astype(dtype)
        if out is None and not more and size:
            return self.entry(q, qd, qdd, tau, held)
        return self._evaluated(q, {"qd": qd, "qdd": qdd, "tau": tau, "held": held, **more}, out)
