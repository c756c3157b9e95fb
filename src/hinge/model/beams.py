"""Uniform Euler–Bernoulli beams as flexible bodies.

The shapes are functions of ξ = x/L: eigenfunctions of a beam that is clamped at its root and free at its tip,
of a free one, or (Craig and Bampton) the static deflections 3ξ² − 2ξ³ and ξ³ − ξ² of unit displacement and
rotation of the tip beside eigenfunctions of a beam that is clamped at both ends, combined to eigenvectors.
Deflections w_j in one plane shorten the beam along its axis: Φ₂_x,jk(x) = −∫₀ˣ w_j′ w_k′ dx.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from hinge.errors import ArgumentError, ModelError
from hinge.model.flexible import DEFLECTION, Attachment, Flexible, Line
from hinge.spatial import Array, Transform

Ends: TypeAlias = Literal["clamped-free", "craig-bampton", "free-free"]
#: A function and its first two derivatives by ξ, at points.
Shape: TypeAlias = Callable[[Array], tuple[Array, Array, Array]]
#: Stations of quadrature beside those that more shapes ask for.
STATIONS = 24
#: Places along the axis that pictures connect.
DRAWN = 17
_WAYS = ("y", "z", "torsion", "axial")


@dataclass(frozen=True)
class _Family:
    """The shapes of one kind of deformation: values and two derivatives by x, (points, n) each."""

    way: str
    shapes: tuple[Shape, ...]
    combined: Array
    length: float

    def __call__(self, x: Array) -> tuple[Array, Array, Array]:
        parts = [
            np.stack(column, axis=-1) @ self.combined
            for column in zip(*(f(x / self.length) for f in self.shapes), strict=True)
        ]
        return parts[0], parts[1] / self.length, parts[2] / self.length**2


def beam(
    length: float,
    *,
    mass_per_length: float,
    bending: float | tuple[float | None, float | None] | None,
    torsion: float | None = None,
    axial: float | None = None,
    polar: float | None = None,
    modes: int | Mapping[str, int] = 2,
    ends: Ends = "clamped-free",
    stiffening: bool = True,
    damping: float = 0.0,
    stations: Mapping[str, float] | None = None,
) -> Flexible:
    """Return a uniform beam along x from its floating frame, with an attachment "tip" at its end.

    `bending` is EI for deflections in y and in z, in N m² (one number: both; None in a place: rigid there),
    `torsion` GJ, `axial` EA, `polar` the polar mass moment per length, which torsion needs. `modes` is the
    number of shapes for each plane of bending, and one for torsion and for extension where their stiffness is
    given, or a dict such as {"y": 2, "z": 1, "torsion": 1}. `ends` "clamped-free" suits a body that carries
    nothing, "craig-bampton" (two static shapes of each plane, one of torsion and extension, count as modes)
    one that carries others at its tip, "free-free" one on a free joint. With `stiffening` deflections shorten
    the beam, so that it stiffens when it turns, and buckles. `damping` is the modal ratio ζ; `stations` are
    further attachments, {name: x}.
    """
    stiffness = _stiffnesses(length, mass_per_length, bending, torsion, axial, polar)
    counts = _counts(modes, stiffness)
    if ends not in ("clamped-free", "craig-bampton", "free-free"):
        raise ArgumentError(f"ends: expected 'clamped-free', 'craig-bampton' or 'free-free', got {ends!r}")
    most = max(counts.values())
    nodes, weights = np.polynomial.legendre.leggauss(STATIONS + 4 * most)
    x, dx = 0.5 * length * (1.0 + nodes), 0.5 * length * weights
    inertia = {"torsion": polar or 0.0}
    families: list[_Family] = []
    blocks: list[Array] = []
    for way, n in counts.items():
        density = inertia.get(way, mass_per_length)
        family, k = _family(way, n, ends, length, stiffness[way], density, x, dx)
        families.append(family)
        blocks.append(k)
    k = _diagonal(blocks)
    field = _Field(families, stiffening, length)
    m, points, shapes, second = field.points(x, mass_per_length * dx, mass_per_length, polar)
    frames = [field.attachment("tip", length)]
    for name, at in (stations or {}).items():
        if not 0.0 <= float(at) <= length:
            raise ArgumentError(f"stations[{name!r}]: expected a place from 0 to {length:g} m, got {at!r}")
        frames.append(field.attachment(name, float(at)))
    line = field.line()
    body = Flexible(
        m, points, shapes, k, second=second, frames=tuple(frames), limit=field.limits(), line=line
    )
    if not damping:
        return body
    if not (np.isfinite(damping) and damping >= 0):
        raise ArgumentError(f"damping: expected a modal ratio ≥ 0, got {damping!r}")
    return Flexible(m, points, shapes, k, _damped(body, damping), second, tuple(frames), body.limit, line)


def _stiffnesses(
    length: float, mass: float, bending: Any, torsion: float | None, axial: float | None, polar: float | None
) -> dict[str, float]:
    """Return the stiffness of each kind of deformation that the beam has, checked."""
    pair = bending if isinstance(bending, tuple) else (bending, bending)
    if len(pair) != 2:
        raise ArgumentError(f"bending: expected EI in y and in z, or one number, got {bending!r}")
    given = dict(zip(_WAYS, (*pair, torsion, axial), strict=True))
    found = {way: float(x) for way, x in given.items() if x is not None}
    numbers = {"length": length, "mass_per_length": mass, **found} | (
        {} if polar is None else {"polar": polar}
    )
    for name, x in numbers.items():
        if not (np.isfinite(x) and x > 0):
            raise ArgumentError(f"{name}: expected a number > 0, got {x!r}")
    if torsion is not None and polar is None:
        raise ArgumentError(
            "polar: expected the polar mass moment per length, in kg m, with torsion, got None"
        )
    if not found:
        raise ArgumentError(
            "bending: expected EI, or torsion or axial, got None of all; a rigid body needs no beam"
        )
    return found


def _counts(modes: int | Mapping[str, int], stiffness: Mapping[str, float]) -> dict[str, int]:
    """Return the number of shapes of each kind of deformation."""
    if isinstance(modes, Mapping):
        given = {str(k): int(n) for k, n in modes.items()}
        for way in given:
            if way not in stiffness:
                there = ", ".join(stiffness)
                raise ArgumentError(f"modes: expected kinds whose stiffness is given ({there}), got {way!r}")
        counts = {way: given[way] for way in stiffness if given.get(way)}
    else:
        counts = {way: int(modes) if way in ("y", "z") else 1 for way in stiffness}
    if not counts or min(counts.values()) < 1 or max(counts.values()) > 20:
        raise ArgumentError(f"modes: expected from 1 to 20 of a kind, got {modes!r}")
    return counts


def _family(
    way: str, n: int, ends: Ends, length: float, stiffness: float, density: float, x: Array, dx: Array
) -> tuple[_Family, Array]:
    """Return the shapes of a kind of deformation, the largest value 1, and their stiffness matrix."""
    bends = way in ("y", "z")
    shapes = (_bending if bends else _rods)(n, ends)
    plain = _Family(way, shapes, np.eye(len(shapes)), length)
    w, slope, curvature = plain(x)
    strain = curvature if bends else slope
    k = stiffness * (strain.T * dx) @ strain
    m = density * (w.T * dx) @ w
    combined = np.eye(n)
    if ends == "craig-bampton":
        combined = _eigenvectors(m, k)
    along = plain(np.linspace(0.0, length, 201))[0] @ combined
    combined = combined / along[np.abs(along).argmax(axis=0), np.arange(n)]
    k = combined.T @ k @ combined
    if ends != "craig-bampton":
        k = np.diag(np.diagonal(k))
    return _Family(way, shapes, combined, length), k


def _eigenvectors(m: Array, k: Array) -> Array:
    root = np.linalg.inv(np.linalg.cholesky(m))
    return root.T @ np.linalg.eigh(root @ k @ root.T)[1]


def _diagonal(blocks: list[Array]) -> Array:
    size = sum(len(b) for b in blocks)
    found, at = np.zeros((size, size)), 0
    for b in blocks:
        found[at : at + len(b), at : at + len(b)] = b
        at += len(b)
    return found


def _damped(body: Flexible, ratio: float) -> Array:
    """Return D = 2ζ M V ω Vᵀ M, V the modes of the body held at its floating frame, of unit modal mass."""
    m = np.einsum("p,paj,pak->jk", body.masses, body.shapes, body.shapes)
    v = _eigenvectors(m, body.stiffness)
    omega = np.sqrt(np.maximum(np.einsum("ji,jk,ki->i", v, body.stiffness, v), 0.0))
    return 2.0 * ratio * (m @ v * omega) @ v.T @ m


@dataclass(frozen=True)
class _Field:
    """The displacements of a beam with several kinds of deformation."""

    families: list[_Family]
    stiffening: bool
    length: float

    def first(self, x: Array) -> tuple[Array, Array]:
        """Return rotations and displacements (points, 3, n) per mode of the axis."""
        turns: list[Array] = []
        shifts: list[Array] = []
        for f in self.families:
            w, slope, _ = f(x)
            turn, shift = np.zeros((len(x), 3, w.shape[1])), np.zeros((len(x), 3, w.shape[1]))
            if f.way == "y":
                shift[:, 1], turn[:, 2] = w, slope
            elif f.way == "z":
                shift[:, 2], turn[:, 1] = w, -slope
            elif f.way == "torsion":
                turn[:, 0] = w
            else:
                shift[:, 0] = w
            turns.append(turn)
            shifts.append(shift)
        return np.concatenate(turns, axis=2), np.concatenate(shifts, axis=2)

    def second(self, x: Array) -> Array | None:
        """Return Φ₂ (points, 3, n, n): −∫₀ˣ w_j′ w_k′ along the axis, plane by plane."""
        bends = [f.way in ("y", "z") for f in self.families]
        if not self.stiffening or not any(bends):
            return None
        nodes, weights = np.polynomial.legendre.leggauss(
            STATIONS + 4 * max(len(f.shapes) for f in self.families)
        )
        blocks: list[Array] = []
        for at in x:
            along = 0.5 * at * (1.0 + nodes)
            parts: list[Array] = []
            for f, bending in zip(self.families, bends, strict=True):
                n = f.combined.shape[1]
                slope = f(along)[1] if bending else np.zeros((len(along), n))
                parts.append(-(slope.T * (0.5 * at * weights)) @ slope)
            blocks.append(_diagonal(parts))
        found = np.zeros((len(x), 3, *blocks[0].shape))
        found[:, 0] = np.stack(blocks)
        return found

    def points(
        self, x: Array, m: Array, density: float, polar: float | None
    ) -> tuple[Array, Array, Array, Array | None]:
        """Return masses, positions, shapes and Φ₂ of points on the axis, or of four round it with `polar`."""
        turns, shifts = self.first(x)
        second = self.second(x)
        axis = np.zeros((len(x), 3))
        axis[:, 0] = x
        if polar is None:
            return m, axis, shifts, second
        d = float(np.sqrt(polar / density))
        arms = d * np.array([[0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
        round_axis = [shifts + np.cross(turns, arm, axisa=1, axisc=1) for arm in arms]
        return (
            np.tile(m / 4.0, 4),
            np.concatenate([axis + arm for arm in arms]),
            np.concatenate(round_axis),
            None if second is None else np.concatenate([second] * 4),
        )

    def attachment(self, name: str, at: float) -> Attachment:
        """Return the attachment at a place on the axis."""
        x = np.array([at])
        turns, shifts = self.first(x)
        second = self.second(x)
        shapes = np.concatenate([turns[0], shifts[0]])
        place = Transform.place(None, (at, 0.0, 0.0))
        return Attachment(name, place, shapes, None if second is None else second[0])

    def line(self) -> Line:
        """Return places along the axis, for pictures."""
        x = np.linspace(0.0, self.length, DRAWN)
        axis = np.zeros((len(x), 3))
        axis[:, 0] = x
        return Line(axis, self.first(x)[1], self.second(x))

    def limits(self) -> Array:
        """Return the bounds of |η|: a tenth of the length, a tenth of a radian of torsion."""
        found: list[float] = []
        for f in self.families:
            found += [DEFLECTION * (1.0 if f.way == "torsion" else self.length)] * f.combined.shape[1]
        return np.array(found)


# Shapes.


def _bending(n: int, ends: Ends) -> tuple[Shape, ...]:
    if ends == "craig-bampton":
        if n < 2:
            raise ModelError(
                f"modes: expected at least 2 of each plane with 'craig-bampton', the static shapes, got {n}"
            )
        return (_tip_shift, _tip_turn, *(_eigenfunction(k, "clamped-clamped") for k in range(n - 2)))
    return tuple(_eigenfunction(k, ends) for k in range(n))


def _tip_shift(x: Array) -> tuple[Array, Array, Array]:
    return 3 * x**2 - 2 * x**3, 6 * x - 6 * x**2, 6 - 12 * x


def _tip_turn(x: Array) -> tuple[Array, Array, Array]:
    return x**3 - x**2, 3 * x**2 - 2 * x, 6 * x - 2


def _eigenfunction(k: int, ends: str) -> Shape:
    """Return cosh βx ∓ cos βx − σ (sinh βx ∓ sin βx), written without the difference of large numbers."""
    cantilever, sign = ends == "clamped-free", 1.0 if ends == "free-free" else -1.0
    b = (k + (0.5 if cantilever else 1.5)) * np.pi
    for _ in range(50):  # cos β ± sech β = 0
        c = 1.0 / np.cosh(b)
        s = 1.0 if cantilever else -1.0
        b -= (np.cos(b) + s * c) / (-np.sin(b) - s * c * np.tanh(b))
    if cantilever:
        rest = (np.sin(b) - np.cos(b) - np.exp(-b)) / (np.sinh(b) + np.sin(b))
    else:
        rest = (np.cos(b) - np.sin(b) - np.exp(-b)) / (np.sinh(b) - np.sin(b))
    sigma = 1.0 - rest

    def shape(x: Array) -> tuple[Array, Array, Array]:
        t = b * x
        grows, falls = rest * np.sinh(t), np.exp(-t)
        even = falls + grows  # cosh − σ sinh
        odd = rest * np.cosh(t) - falls  # sinh − σ cosh
        c, s = np.cos(t), np.sin(t)
        return (
            even + sign * (c - sigma * s),
            b * (odd + sign * (-s - sigma * c)),
            b * b * (even - sign * (c - sigma * s)),
        )

    return shape


def _rods(n: int, ends: Ends) -> tuple[Shape, ...]:
    """Return the shapes of torsion and extension."""
    if ends == "clamped-free":
        return tuple(_wave((k + 0.5) * np.pi, np.sin, np.cos, 1.0) for k in range(n))
    if ends == "free-free":
        return tuple(_wave((k + 1) * np.pi, np.cos, np.sin, -1.0) for k in range(n))
    line: Shape = lambda x: (x, np.ones_like(x), np.zeros_like(x))  # noqa: E731
    return (line, *(_wave(k * np.pi, np.sin, np.cos, 1.0) for k in range(1, n)))


def _wave(b: float, f: Callable[[Array], Array], df: Callable[[Array], Array], sign: float) -> Shape:
    return lambda x: (f(b * x), sign * b * df(b * x), -b * b * f(b * x))
