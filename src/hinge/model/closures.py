"""Closures: joints that the tree does not know, which close its loops.

A closure leads from an inner to an outer frame, as a joint of the tree does, and has no coordinate. It is
known by its constraint rows Rᵀ (m, 6): the relative velocity v of the two frames, [ωx ωy ωz vx vy vz] in
outer axes, obeys Rᵀ v = 0, and R λ is the force across it (Featherstone 9.4, whose force vectors are [f; n]).
A joint about an axis is written upright: both frames are first turned by `alignment`, which lays z along the
axis, and the rows are then

| joint type | rows | m |
|---|---|---|
| fixed | all | 6 |
| revolute, continuous | ωx ωy vx vy vz | 5 |
| prismatic | ωx ωy ωz vx vy | 5 |
| screw of pitch h | ωx ωy vx vy, vz − h ωz | 5 |
| cylindrical | ωx ωy vx vy | 4 |
| spherical | vx vy vz | 3 |
| planar | ωx ωy vz | 3 |
| translational | ωx ωy ωz | 3 |
| soft finger | vx vy vz ωz | 4 |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hinge.errors import ModelError, did_you_mean
from hinge.model.joints import Axis, Fixed, JointType, smooth
from hinge.model.joints.contract import Z, unit
from hinge.model.readonly import frozen, frozen_transform
from hinge.spatial import Array, Transform, matvec, rotation, stack, transpose, unskew

#: What the rows of unit vectors are called.
ROW_NAMES = ("wx", "wy", "wz", "vx", "vy", "vz")
_EDGES = {"wx": 0, "wy": 1, "wz": 2, "vx": 3, "vy": 4, "vz": 5}
#: Rows and motions of a type are reciprocal up to this.
RECIPROCAL = 1e-9


@dataclass(frozen=True)
class SoftFinger:
    """A point of contact, of closures only, that neither slides nor spins about `normal`.

    That it does not spin has no integral: every relative attitude can be reached (JPL 88-11, part II,
    appendix A).
    """

    normal: Axis = Z

    kind: ClassVar[str] = "soft finger"

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", unit(self.normal, "normal"))

    @property
    def reactions(self) -> Array:
        """The rows vx, vy, vz, ωz of the upright type."""
        return np.eye(6)[[3, 4, 5, 2]]


class Rows(NamedTuple):
    """The constraint rows of a closure's joint in its aligned outer frame, [ωx ωy ωz vx vy vz].

    A row is `holonomic` if it is the rate of an error of position.
    """

    matrix: Array
    names: tuple[str, ...]
    holonomic: tuple[bool, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Closure:
    """A joint that closes a loop: it leads from `inner` to `outer`, frames or bodies of the robot.

    `inner` None is the world. `placement` is that of the closure's inner frame in `inner`; its outer frame is
    `outer` itself. A closure has no coordinate, limits, spring or motor. `rows` are the names of the rows
    that the dynamics keeps; None: those that are independent in general, found by numbers.
    """

    name: str
    inner: str | None
    outer: str
    joint: JointType | SoftFinger = field(default_factory=Fixed)
    placement: Transform = field(default_factory=Transform.identity)
    rows: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        what = f"closure {self.name!r}"
        if not (isinstance(self.name, str) and self.name):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"closure: name: expected a text, got {self.name!r}")
        if not isinstance(self.inner, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(
                f"{what}: inner: expected the name of a frame or body, or None, the world, got {self.inner!r}"
            )
        if not isinstance(self.outer, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(
                f"{what}: outer: expected the name of a frame or body, got {self.outer!r}; the world can be "
                "inner only"
            )
        object.__setattr__(self, "placement", frozen_transform(self.placement, what))
        try:
            names = rows_of(self.joint).names
        except ModelError as error:
            raise ModelError(f"{what}: {error}") from None
        if self.rows is not None:
            object.__setattr__(self, "rows", _kept(what, names, self.rows))

    def __repr__(self) -> str:
        return f"<Closure {self.name!r}: {self.joint!r} from {self.inner or 'the world'!r} to {self.outer!r}>"

    @property
    def alignment(self) -> Transform:
        """The turn, of both frames, that lays z along the joint's axis or normal."""
        return alignment_of(self.joint)

    @property
    def constraints(self) -> Rows:
        """All rows of its joint."""
        return rows_of(self.joint)


def _kept(what: str, names: tuple[str, ...], rows: object) -> tuple[str, ...]:
    """Return these rows in their order, or raise a ModelError."""
    kept = list(rows) if isinstance(rows, Iterable) and not isinstance(rows, str) else [rows]
    if any(n not in names for n in kept) or len(set(kept)) < len(kept):
        raise ModelError(f"{what}: rows: expected some of {', '.join(names)}, each once, got {rows!r}")
    return tuple(n for n in names if n in kept)


def alignment_of(joint: JointType | SoftFinger) -> Transform:
    """Return the transform to the aligned frame, whose z is the joint's axis or normal if it has one."""
    axis = joint.normal if isinstance(joint, SoftFinger) else getattr(joint, "axis", Z)
    return Transform.place(rotation.tidied(rotation.aligning(Z, axis)))


def rows_of(joint: JointType | SoftFinger) -> Rows:
    """Return the constraint rows of a joint in its aligned outer frame; refuse types that cannot close."""
    if not isinstance(joint, JointType | SoftFinger):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"joint: expected a joint type such as Spherical(), or SoftFinger(), got {joint!r}")
    given: Any = joint.reactions
    if given is None:
        raise ModelError(
            f"joint: expected a type with constant constraint rows, got {joint.kind}; leave that joint in "
            "the tree and cut another one of the loop"
        )
    matrix = frozen(np.asarray(given, dtype=np.float64))
    if matrix.ndim != 2 or matrix.shape[1] != 6 or not np.isfinite(matrix).all():
        raise ModelError(f"joint: expected reactions of shape (m, 6), got {matrix.shape} of {joint.kind}")
    names = tuple(map(_row_name, matrix))
    if isinstance(joint, JointType):
        _refuse_rows(joint, matrix, names)
    return Rows(matrix, names, tuple(not (isinstance(joint, SoftFinger) and n == "wz") for n in names))


def _row_name(row: Array) -> str:
    """Return "vx" for a unit row, "vz-wz" for one of both."""
    order = (3, 4, 5, 0, 1, 2)
    return "-".join(ROW_NAMES[k] for k in order if row[k])


def _refuse_rows(joint: JointType, matrix: Array, names: tuple[str, ...]) -> None:
    """Refuse rows of a user's own type that do not fit its motions, or that no error is known for."""
    turns = tuple(n for n in names if n in ROW_NAMES[:3])
    sized = [row[_EDGES[n[:2]]] for row, n in zip(matrix, names, strict=True) if n]
    if (
        turns not in ((), ROW_NAMES[:2], ROW_NAMES[:3])
        or {*names} - {*ROW_NAMES, "vz-wz"}
        or set(sized) - {1.0}
    ):
        raise ModelError(
            f"joint: expected reactions with rows among {', '.join(ROW_NAMES)} and vz − h wz, and turns "
            f"about none, x and y, or all axes, got {', '.join(names)} of {joint.kind}"
        )
    moves = alignment_of(joint).motions(joint.subspace(joint.neutral()))
    if len(names) + joint.nv != 6 or np.abs(matrix @ moves).max(initial=0.0) > RECIPROCAL:
        raise ModelError(
            f"joint: expected 6 − nv = {6 - joint.nv} reactions that no motion of the joint has a part "
            f"along, got {len(names)} of {joint.kind}"
        )


def closure_error_of(rows: Rows, x: Transform) -> Array:
    """Return the error (…, m) of a closure; `x` leads from its aligned inner to its aligned outer frame.

    For any scalar type. It is zero when closed, and then its rate is the velocity Rᵀ v_rel:

    - all turns locked: twice the vector part of the relative quaternion, unskew(R) / √((1 + tr R)/4), R = Eᵀ;
    - ωx and ωy locked: axis against axis, n × z / √((1 + n·z)/2), n the inner axis in outer axes;
    - positions: that of the outer origin relative to the inner one, in outer axes, E r; a screw's is less
      pitch times the angle about z, between −π and π;
    - a row that is not holonomic: zero.

    The angles in these are 2 sin(θ/2) of the angle between.
    """
    place = matvec(x.E, x.r)
    turned = _turned(rows, x.E)
    found: list[Any] = []
    for row, name, holonomic in zip(rows.matrix, rows.names, rows.holonomic, strict=True):
        k = _EDGES[name[:2]]
        value = (turned[..., k] if k < 3 else place[..., k - 3])[()]
        if name == "vz-wz":
            value = value + row[2] * _angle(x.E)
        found.append(value if holonomic else 0.0 * value)
    return stack(*found) if found else place[..., :0]


def _turned(rows: Rows, e: Array) -> Array:
    """Return the error of rotation (…, 3) that fits the locked turns."""
    if "wz" in rows.names and "wx" in rows.names:
        half = _root(1.0 + _at(e, 0, 0) + _at(e, 1, 1) + _at(e, 2, 2))
        return 2.0 * unskew(transpose(e)) / np.expand_dims(half, -1)
    if "wx" in rows.names:
        half = _root(0.5 + 0.5 * _at(e, 2, 2))
        return stack(_at(e, 1, 2) / half, -_at(e, 0, 2) / half, 0.0 * half)
    return 0.0 * e[..., 0]


def _root(x: Any) -> Any:
    """Return √|x|, never zero: half a turn away x is rounding."""
    return np.sqrt(np.sqrt(x * x + smooth.TINY))


def _angle(e: Array) -> Any:
    """Return the angle about z of the outer frame against the inner one."""
    return smooth.angle(_at(e, 0, 0) + _at(e, 1, 1), _at(e, 0, 1) - _at(e, 1, 0))


def _at(e: Array, i: int, j: int) -> Any:
    """Return an entry (…), without a batch a number."""
    return e[..., i, j][()]


def refuse_closures(closures: Sequence[Closure], bodies: Sequence[str], places: Mapping[str, str]) -> None:
    """Refuse closures of unknown frames, within one body, or given twice; `places` are the frames' bodies."""
    home: dict[str | None, str | None] = {None: None, **{b: b for b in bodies}, **places}
    seen: dict[object, str] = {}
    for c in closures:
        if not isinstance(c, Closure):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"closures: expected Closure values, got {c!r}")
        for role, name in (("inner", c.inner), ("outer", c.outer)):
            if name not in home:
                hint = did_you_mean(name, [n for n in home if n is not None])
                raise ModelError(
                    f"closure {c.name!r}: its {role} frame or body {name!r} does not exist"
                    + (hint and f"; {hint}")
                )
        if home[c.inner] == home[c.outer]:
            raise ModelError(
                f"closure {c.name!r}: expected two bodies, got {c.inner!r} and {c.outer!r}, both on body "
                f"{home[c.outer]!r}; remove it with opened(robot, [{c.name!r}])"
            )
        same = (c.inner, c.outer, c.joint, c.placement.E.tobytes(), c.placement.r.tobytes())
        if same in seen:
            raise ModelError(f"closure {c.name!r}: the same as {seen[same]!r}; keep one of them")
        seen[same] = c.name
