"""Flexible bodies: a handful of mass points that move with modes.

With the floating frame's axes, points p of mass m_p are at

    s_p(η) = x_p + Φ_p η + ½ Σ_jk Φ₂_p,jk η_j η_k,     Γ_p(η) = ∂s_p/∂η = Φ_p + Φ₂_p η,

and the kinetic energy is ½ Σ m_p |v + ω × s_p + Γ_p η̇|², never truncated: the inertia is a Gram matrix,
positive semidefinite for every η. It depends on the masses by J = Σ m ξ ξᵀ alone, ξ = (1, x, Φ, Φ₂), so that
any number of points condenses exactly to rank(J) of them, of equal mass.

With a linear field (Φ₂ absent) a body that turns at Ω softens, which is right while Ω² ≪ ω₁²; with the
foreshortening of `beam`, or fields of static modal derivatives, it stiffens as it should. Deflections beyond
a tenth of the body's size are outside the theory, whose error grows with the square of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hinge.errors import ModelError
from hinge.model.readonly import frozen, frozen_transform, numbers
from hinge.spatial import Array, Inertia, Transform, cross, skew

#: What is left of a column of ξ is dropped below this part of it.
DROPPED = 1e-10
#: Slack for symmetry, for eigenvalues that should not be negative and for shapes that should be independent.
TOLERANCE = 1e-9
#: The largest deflection that random configurations have, as a part of the size of the body.
DEFLECTION = 0.1

_UNSET: Any = None


@dataclass(frozen=True, eq=False, repr=False)
class Attachment:
    """A place on a flexible body where something may hang.

    `placement` takes coordinates of the undeformed body to those of the attachment. `shapes` (6, n) are what
    it does per mode, [turn; shift] in the axes of the body, and `second` (3, n, n) the quadratic part of the
    shift, symmetric, or None.
    """

    name: str
    placement: Transform
    shapes: Array
    second: Array | None = None

    def __post_init__(self) -> None:
        what = f"attachment {self.name!r}"
        put = object.__setattr__
        put(self, "placement", frozen_transform(self.placement, f"{what}: placement"))
        shapes = numbers(self.shapes, f"{what}: shapes")
        if shapes.ndim != 2 or len(shapes) != 6 or not np.isfinite(shapes).all():
            raise ModelError(f"{what}: shapes: expected finite numbers of shape (6, n), got {shapes.shape}")
        put(self, "shapes", shapes)
        put(self, "second", _second(self.second, (3,), shapes.shape[1], f"{what}: second"))

    def __repr__(self) -> str:
        return f"<Attachment {self.name!r} at {self.placement.r.tolist()}>"

    def in_frame(self, x: Transform) -> Attachment:
        """Return the same attachment of a body whose frame is moved by x."""
        turned = np.concatenate([x.E @ self.shapes[:3], x.E @ self.shapes[3:]])
        second = None if self.second is None else np.einsum("ab,bjk->ajk", x.E, self.second)
        return Attachment(self.name, self.placement @ x.inv(), turned, second)


@dataclass(frozen=True, eq=False, repr=False)
class Line:
    """Places along a flexible body that pictures connect: positions (s, 3), shapes (s, 3, n), second or
    None.
    """

    positions: Array
    shapes: Array
    second: Array | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        x = numbers(self.positions, "line: positions")
        shapes = numbers(self.shapes, "line: shapes")
        if x.ndim != 2 or x.shape[1] != 3 or shapes.ndim != 3 or shapes.shape[:2] != x.shape:
            raise ModelError(
                f"line: expected positions (s, 3) and shapes (s, 3, n), got {x.shape} and {shapes.shape}"
            )
        put(self, "positions", _checked(x, "line: positions", x.shape))
        put(self, "shapes", _checked(shapes, "line: shapes", shapes.shape))
        put(self, "second", _second(self.second, x.shape, shapes.shape[2], "line: second"))

    def at(self, eta: Any) -> Array:
        """Return the positions (…, s, 3) at η (…, n)."""
        return _displaced(self.positions, self.shapes, self.second, eta)

    def in_frame(self, x: Transform) -> Line:
        """Return the same line seen from another frame."""
        second = None if self.second is None else np.einsum("ab,pbjk->pajk", x.E, self.second)
        return Line((self.positions - x.r) @ x.E.T, np.einsum("ab,pbj->paj", x.E, self.shapes), second)


@dataclass(frozen=True, eq=False, repr=False)
class Flexible:
    """A flexible body with n modes in its floating frame.

    masses (k,), positions (k, 3), shapes (k, 3, n) and second (k, 3, n, n), symmetric in j, k, or None, are
    those of points; stiffness and damping (n, n) are symmetric without negative eigenvalues. On construction
    the points are condensed to as few as have the same kinetic energy. `frames` are the places where others
    may hang, `limit` (n,) bounds |η|; by default the deflection is a tenth of the size of the body.
    Pictures draw the `line`, or else lines to the attachments.
    """

    masses: Array
    positions: Array
    shapes: Array
    stiffness: Array
    damping: Array = _UNSET
    second: Array | None = None
    frames: tuple[Attachment, ...] = ()
    limit: Array = _UNSET
    line: Line | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        m, x, shapes = _points(self.masses, self.positions, self.shapes)
        n = shapes.shape[2]
        second = _second(self.second, (len(m), 3), n, "second")
        put(self, "stiffness", _semidefinite(self.stiffness, "stiffness", n))
        given: Any = self.damping
        damping = np.zeros((n, n)) if given is None else given
        put(self, "damping", _semidefinite(damping, "damping", n))
        given = self.limit
        put(self, "limit", _checked(_bounds(x, shapes) if given is None else given, "limit", (n,)))
        rows = _rows(x, shapes, second)
        equal = None if np.ptp(m) else (float(m[0]), rows)
        self._put_points(_condensed(np.sqrt(m)[:, None] * rows, equal), n, second is not None)
        self._check_shapes()
        put(self, "frames", tuple(self.frames))
        self._check_frames()

    def _put_points(self, rows: tuple[float, Array], n: int, quadratic: bool) -> None:
        put = object.__setattr__
        mass, found = rows
        put(self, "masses", frozen(np.full(len(found), mass)))
        put(self, "positions", frozen(found[:, 1:4].copy()))
        put(self, "shapes", frozen(found[:, 4 : 4 + 3 * n].reshape(-1, 3, n).copy()))
        second = None
        if quadratic:
            j, k = np.triu_indices(n)
            whole = np.zeros((len(found), 3, n, n))
            upper = found[:, 4 + 3 * n :].reshape(-1, 3, len(j))
            whole[:, :, j, k] = whole[:, :, k, j] = upper
            second = frozen(whole)
        put(self, "second", second)

    def __repr__(self) -> str:
        field = "linear" if self.second is None else "quadratic"
        return (
            f"<Flexible: {self.mass:g} kg, {self.modes} modes, {field} field, {len(self.masses)} points, "
            f"frames {[f.name for f in self.frames]}>"
        )

    def _check_shapes(self) -> None:
        gram = np.einsum("p,paj,pak->jk", self.masses, self.shapes, self.shapes)
        size = np.sqrt(np.diagonal(gram))
        least = 0.0 if not size.all() else float(np.linalg.eigvalsh(gram / np.outer(size, size))[0])
        if least < TOLERANCE:
            raise ModelError(
                "shapes: expected independent shapes that move mass, got some that depend on others (least "
                f"eigenvalue of Σ m Φᵀ Φ, scaled: {least:.2g}); leave out as many, or take an orthonormal "
                "basis"
            )

    def _check_frames(self) -> None:
        names: set[str] = set()
        if self.line is not None and self.line.shapes.shape[2] != self.modes:
            raise ModelError(f"line: expected {self.modes} modes, got {self.line.shapes.shape[2]}")
        for f in self.frames:
            if not isinstance(f, Attachment):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ModelError(f"frames: expected Attachment values, got {f!r}")
            if f.shapes.shape[1] != self.modes:
                raise ModelError(
                    f"attachment {f.name!r}: shapes: expected a column for each of {self.modes} modes, got "
                    f"{f.shapes.shape}"
                )
            if f.name in names:
                raise ModelError(f"frames: the name {f.name!r} is used twice")
            names.add(f.name)

    @property
    def modes(self) -> int:
        """The number n of modal coordinates."""
        return len(self.stiffness)

    @property
    def mass(self) -> float:
        """The mass of all points, in kg."""
        return float(self.masses.sum())

    def frame(self, name: str) -> Attachment:
        """Return the attachment of this name."""
        for f in self.frames:
            if f.name == name:
                return f
        there = ", ".join(repr(f.name) for f in self.frames) or "none"
        raise ModelError(f"name: expected one of the attachments {there}, got {name!r}")

    def displaced(self, eta: Any) -> Array:
        """Return the positions (…, k, 3) of the points at η (…, n)."""
        return _displaced(self.positions, self.shapes, self.second, eta)

    def inertia(self, eta: Any = None) -> Inertia:
        """Return the inertia of the body held at η (n,), zero by default, about its frame's origin."""
        s = self.displaced(np.zeros(self.modes) if eta is None else eta)
        rx = skew(s)
        second = np.einsum("p,pab,pcb->ac", self.masses, rx, rx)
        return Inertia(np.array(self.mass), self.masses @ s, second)

    def mass_matrix(self, eta: Any) -> Array:
        """Return M(η) (6 + n, 6 + n) of [ω; v; η̇]: Σ m GᵀG with G = [−s× 1 Γ]."""
        s = self.displaced(eta)
        gamma = self.shapes if self.second is None else self.shapes + self.second @ np.asarray(eta)
        ones = np.broadcast_to(np.eye(3), (len(s), 3, 3))
        g = np.concatenate([-skew(s), ones, gamma], axis=-1)
        return np.einsum("p,pai,paj->ij", self.masses, g, g)

    @cached_property
    def triangular(self) -> Array:
        """The rows B (r, c) of ξ with BᵀB = J, row k without its first k numbers, as of a Cholesky factor."""
        rows = _rows(self.positions, self.shapes, self.second)
        return frozen(_triangular(np.sqrt(self.masses)[:, None] * rows))

    def frequencies(self) -> Array:
        """Return √eig(M_ηη⁻¹ K), rad/s, ascending: those of the body held at its floating frame."""
        gram = np.einsum("p,paj,pak->jk", self.masses, self.shapes, self.shapes)
        root = np.linalg.inv(np.linalg.cholesky(gram))
        return np.sqrt(np.maximum(np.linalg.eigvalsh(root @ self.stiffness @ root.T), 0.0))

    def in_frame(self, x: Transform) -> Flexible:
        """Return the same body seen from another frame: x → E (x − r), Φ → E Φ, Φ₂ → E Φ₂."""
        turned = {"shapes": np.einsum("ab,pbj->paj", x.E, self.shapes)}
        if self.second is not None:
            turned["second"] = np.einsum("ab,pbjk->pajk", x.E, self.second)
        frames = tuple(f.in_frame(x) for f in self.frames)
        line = None if self.line is None else self.line.in_frame(x)
        places = (self.positions - x.r) @ x.E.T
        return replace(self, positions=places, frames=frames, line=line, **turned)

    def at(self, name: str) -> Flexible:
        """Return the same body with shapes that vanish at an attachment, where its joint is to be.

        Φ_p − Φ_o + (x_p − x_o)× Ψ_o. The frame stays: give `outer` of the joint, or `in_frame`. A body with a
        quadratic field has none: change the reference of its shapes before that is made.
        """
        o = self.frame(name)
        if self.second is not None or any(f.second is not None for f in self.frames):
            raise ModelError(
                "at: expected a linear field, got second; make the quadratic field of the shapes that vanish "
                "there"
            )
        turn, shift, origin = o.shapes[:3], o.shapes[3:], o.placement.r
        shapes = self.shapes - shift + skew(self.positions - origin) @ turn
        frames = [
            replace(
                f, shapes=np.concatenate([f.shapes[:3] - turn, _moved(f.shapes, f.placement.r - origin, o)])
            )
            for f in self.frames
        ]
        line = self.line
        if line is not None:
            line = Line(line.positions, line.shapes - shift + skew(line.positions - origin) @ turn)
        return replace(self, shapes=shapes, frames=tuple(frames), line=line)

    @staticmethod
    def from_nodes(
        masses: Any,
        positions: Any,
        shapes: Any,
        stiffness: Any,
        *,
        rotations: Any = None,
        inertias: Any = None,
        damping: Any = None,
        frames: Mapping[str, int] | None = None,
        limit: Any = None,
    ) -> Flexible:
        """Return the body of a finite-element model's arrays, with a linear field.

        masses (N,), or (N, N) if the mass matrix is that times 1₃; positions (N, 3); shapes (N, 3, n);
        rotations (N, 3, n) of the nodes, which `frames`, {name: node}, and rotary inertias (N, 3, 3) need.
        """
        m = numbers(masses, "masses")
        x, shapes = numbers(positions, "positions"), numbers(shapes, "shapes")
        turns = None if rotations is None else _checked(rotations, "rotations", shapes.shape)
        if (inertias is not None or frames) and turns is None:
            raise ModelError(
                "rotations: expected those of the nodes, which frames and inertias need, got none"
            )
        made = tuple(_at_node(name, node, x, shapes, turns) for name, node in (frames or {}).items())
        if m.ndim == 2:
            m, x, shapes = _lumped(m, x, shapes, inertias)
        elif inertias is not None:
            assert turns is not None
            m, x, shapes = _spread(m, x, shapes, turns, _checked(inertias, "inertias", (len(m), 3, 3)))
        return Flexible(m, x, shapes, stiffness, damping, None, made, limit)


def _displaced(x: Array, shapes: Array, second: Array | None, eta: Any) -> Array:
    """Return x + Φ η + ½ Φ₂[η, η] (…, k, 3)."""
    eta = np.asarray(eta, dtype=float)
    moved = x + np.einsum("paj,...j->...pa", shapes, eta)
    return moved if second is None else moved + 0.5 * np.einsum("pajk,...j,...k->...pa", second, eta, eta)


def _points(m: Any, x: Any, shapes: Any) -> tuple[Array, Array, Array]:
    """Return masses, positions and shapes, checked."""
    m, shapes = numbers(m, "masses"), numbers(shapes, "shapes")
    if m.ndim != 1 or not len(m):
        raise ModelError(f"masses: expected shape (k,) with k ≥ 1, got {m.shape}")
    if shapes.ndim != 3 or shapes.shape[:2] != (len(m), 3) or not shapes.shape[2]:
        raise ModelError(f"shapes: expected shape ({len(m)}, 3, n) with n ≥ 1, got {shapes.shape}")
    x = _checked(x, "positions", (len(m), 3))
    _checked(m, "masses", m.shape)
    _checked(shapes, "shapes", shapes.shape)
    if (m < 0).any() or not m.any():
        raise ModelError(f"masses: expected numbers ≥ 0, not all zero, got a least one of {m.min():g}")
    return m, x, shapes


def _checked(x: Any, what: str, shape: tuple[int, ...]) -> Array:
    found = numbers(x, what)
    if found.shape != shape:
        raise ModelError(f"{what}: expected shape {shape}, got {found.shape}")
    if not np.isfinite(found).all():
        raise ModelError(f"{what}: expected finite numbers, got some that are not")
    return found


def _second(x: Any, lead: tuple[int, ...], n: int, what: str) -> Array | None:
    """Return a quadratic field, symmetric in its last axes, or None if it is zero."""
    if x is None:
        return None
    found = _checked(x, what, (*lead, n, n))
    size = float(np.abs(found).max(initial=0.0))
    if np.abs(found - np.swapaxes(found, -1, -2)).max(initial=0.0) > TOLERANCE * size:
        raise ModelError(f"{what}: expected a field that is symmetric in its last two axes")
    return found if size else None


def _semidefinite(x: Any, what: str, n: int) -> Array:
    found = _checked(x, what, (n, n))
    size = float(np.abs(found).max(initial=0.0))
    if np.abs(found - found.T).max() > TOLERANCE * size:
        raise ModelError(f"{what}: expected a symmetric matrix; take ½ (K + Kᵀ) if it is so but for rounding")
    found = 0.5 * (found + found.T)
    least = float(np.linalg.eigvalsh(found)[0])
    if least < -TOLERANCE * size:
        raise ModelError(f"{what}: expected no negative eigenvalues, got {least:.4g}")
    return frozen(found)


def _bounds(x: Array, shapes: Array) -> Array:
    size = float(np.abs(x - x.mean(axis=0)).max(initial=0.0)) * 2 or 1.0
    most = np.sqrt((shapes**2).sum(axis=1)).max(axis=0)
    return DEFLECTION * size / np.where(most > 0, most, 1.0)


def _rows(x: Array, shapes: Array, second: Array | None) -> Array:
    """Return ξ (k, c): 1, x, Φ and the upper triangle of Φ₂."""
    parts = [np.ones((len(x), 1)), x, shapes.reshape(len(x), -1)]
    if second is not None:
        j, k = np.triu_indices(second.shape[-1])
        parts.append(second[:, :, j, k].reshape(len(x), -1))
    return np.concatenate(parts, axis=1)


def _condensed(w: Array, same: tuple[float, Array] | None) -> tuple[float, Array]:
    """Return the mass of each of as few points as have J = WᵀW, and their ξ.

    Q is an orthonormal basis of the columns of W, the first one first, and S the Householder matrix that
    takes e₁ to (1, …, 1)/√r: B = S Qᵀ W has BᵀB = J and √(m/r) in its first column. `same` are the mass and
    ξ of points of equal mass, which stay as they are if there is no smaller number.
    """
    b = _triangular(w)
    r = len(b)
    if same is not None and r == len(w):
        return same
    v = np.full(r, -1.0 / np.sqrt(r))
    v[0] += 1.0
    if r > 1:
        b = b - np.outer(v, (2.0 / (v @ v)) * (v @ b))
    mass = float((w[:, 0] ** 2).sum()) / r
    found = b / np.sqrt(mass)
    found[:, 0] = 1.0
    scale = np.abs(found).max(axis=0, initial=0.0)
    return mass, np.where(np.abs(found) < 1e-15 * scale, 0.0, found)


def _triangular(w: Array) -> Array:
    """Return QᵀW with an orthonormal basis Q of the columns of W (Gram and Schmidt, twice each)."""
    basis, first = np.zeros((len(w), 0)), list[int]()
    for k, column in enumerate(w.T):
        size, rest = float(np.linalg.norm(column)), column
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        left = float(np.linalg.norm(rest))
        if size > 0 and left > DROPPED * size and len(first) < len(w):
            basis = np.column_stack([basis, rest / left])
            first.append(k)
    found = basis.T @ w
    for row, k in zip(found, first, strict=True):
        row[:k] = 0.0
    scale = np.abs(found).max(axis=0, initial=0.0)
    return np.where(np.abs(found) < 1e-15 * scale, 0.0, found)


def _moved(shapes: Array, way: Array, o: Attachment) -> Array:
    """Return the shifts of an attachment less those of the rigid motion that o has."""
    return shapes[3:] - o.shapes[3:] + skew(way) @ o.shapes[:3]


def _at_node(name: str, node: int, x: Array, shapes: Array, turns: Array | None) -> Attachment:
    assert turns is not None
    if not 0 <= node < len(x):
        raise ModelError(f"frames[{name!r}]: expected a node from 0 to {len(x) - 1}, got {node}")
    return Attachment(name, Transform.place(None, x[node]), np.concatenate([turns[node], shapes[node]]))


def _lumped(m: Array, x: Array, shapes: Array, inertias: Any) -> tuple[Array, Array, Array]:
    """Return points of equal mass with the energy of a mass matrix m_ij 1₃: W = Lᵀ ξ, m = L Lᵀ."""
    if inertias is not None:
        raise ModelError("inertias: expected None with a consistent mass matrix (N, N), got an array")
    m = _semidefinite(_checked(m, "masses", (len(x), len(x))), "masses", len(x))
    try:
        w = np.linalg.cholesky(m).T @ _rows(x, shapes, None)
    except np.linalg.LinAlgError:
        raise ModelError("masses: expected a positive definite matrix (N, N)") from None
    mass, rows = _condensed(w, None)
    n = shapes.shape[2]
    return np.full(len(rows), mass), rows[:, 1:4], rows[:, 4:].reshape(-1, 3, n)


def _spread(m: Array, x: Array, shapes: Array, turns: Array, inertias: Array) -> tuple[Array, Array, Array]:
    """Return six points x ± d e of a sixth of the mass for each node: m d²/3 = ½ tr I − I along e."""
    moments, axes = np.linalg.eigh(inertias)
    squares = 0.5 * moments.sum(axis=-1, keepdims=True) - moments
    if (squares < -TOLERANCE * np.abs(moments).max(initial=0.0)).any() or ((m == 0) & moments.any(-1)).any():
        raise ModelError(
            "inertias: expected those of bodies: moments that no one exceeds the sum of two, on mass"
        )
    d = np.sqrt(np.maximum(3.0 * squares, 0.0) / np.where(m > 0, m, 1.0)[:, None])
    arms = np.concatenate([sign * d[:, None, :] * axes for sign in (1.0, -1.0)], axis=-1)
    arms = np.swapaxes(arms, -1, -2)  # (N, 6, 3)
    moved = np.swapaxes(cross(np.swapaxes(turns, -1, -2)[:, None], arms[:, :, None]), -1, -2)
    n = shapes.shape[2]
    return (
        np.repeat(m / 6.0, 6),
        (x[:, None] + arms).reshape(-1, 3),
        (shapes[:, None] + moved).reshape(-1, 3, n),
    )
