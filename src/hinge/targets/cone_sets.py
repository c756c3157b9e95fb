"""The sets of contact laws, three rows at a time: projections, and what interior points need of them.

Kinds are "free", "half", "box" and "cone"; the cone is that of Lorentz, x₀ ≥ |(x₁, x₂)|, which is its own
dual. A box |x| ≤ c has two slacks s, o ≥ 0, of its lower and of its upper bound; the others have one.
"""

from __future__ import annotations

from collections.abc import Sequence

from hinge.targets.arithmetic import Arithmetic, Value, larger, smaller
from hinge.targets.triples import UPPER, product, symmetric

Triple = Sequence[Value]
#: Further than any step: nothing is in the way.
FAR = 1e6
#: Below this a length counts as zero, so that nothing is divided by it.
TINY = 1e-30


def projection(m: Arithmetic, kind: str, z: Triple, c: Triple) -> tuple[list[Value], list[Value]]:
    """Return the nearest point of the set, and the upper triangle of the root of the derivative there."""
    if kind == "cone":
        return _onto_cone(m, z)
    if kind == "free":
        return [*z], [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    if kind == "half":
        p = [larger(m, x, 0.0) for x in z]
        inside = [m.where(x > 0.0, 1.0, 0.0) for x in z]
    else:
        p = [larger(m, smaller(m, x, y), -y) for x, y in zip(z, c, strict=True)]
        inside = [m.where(m.abs(x) < y, 1.0, 0.0) for x, y in zip(z, c, strict=True)]
    return p, [inside[0], 0.0, 0.0, inside[1], 0.0, inside[2]]


def _onto_cone(m: Arithmetic, z: Triple) -> tuple[list[Value], list[Value]]:
    """On the boundary the derivative is 1 along the ray, 0 across the boundary, and a/s around the cone."""
    n, x, y = z
    s = m.sqrt(m.fma(x, x, y * y))
    inside, outside = s <= n, s <= -n
    inverse = 1.0 / larger(m, s, TINY)
    x, y = x * inverse, y * inverse
    a = (n + s) * 0.5
    p = [a, a * x, a * y]
    around = m.sqrt(smaller(m, larger(m, a * inverse, 0.0), 1.0))
    root = [
        0.5,
        0.5 * x,
        0.5 * y,
        m.fma(0.5 * x, x, around * y * y),
        (0.5 - around) * x * y,
        m.fma(0.5 * y, y, around * x * x),
    ]
    one = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]

    def chosen(within: Value, between: Value) -> Value:
        return m.where(inside, within, m.where(outside, 0.0, between))

    return (
        [chosen(u, v) for u, v in zip(z, p, strict=True)],
        [chosen(u, v) for u, v in zip(one, root, strict=True)],
    )


# Interior points.


def interior_start(m: Arithmetic, kind: str, b: Triple) -> tuple[Triple, Triple, Triple]:
    """Return a point within the set, and slacks, for the right side b."""
    none = [0.0] * 3
    if kind == "free":
        return none, none, none
    if kind == "box":
        return none, [larger(m, x, 0.0) + 1.0 for x in b], [larger(m, -x, 0.0) + 1.0 for x in b]
    if kind == "half":
        return [1.0] * 3, [larger(m, x, 1.0) for x in b], none
    across = m.sqrt(m.fma(b[1], b[1], b[2] * b[2]))
    return [1.0, 0.0, 0.0], [larger(m, b[0] + across, 1.0), 0.0, 0.0], none


def dual(kind: str, s: Triple, o: Triple) -> Triple:
    """Return what Ω x + b is where the slacks are these."""
    if kind == "free":
        return [0.0] * 3
    return [x - y for x, y in zip(s, o, strict=True)] if kind == "box" else s


def pairing(kind: str, x: Triple, s: Triple, o: Triple, c: Triple) -> Value:
    """Return the sum of products of points and slacks."""
    if kind == "free":
        return 0.0
    if kind == "box":
        return sum((y + d) * t + (d - y) * u for y, t, u, d in zip(x, s, o, c, strict=True))
    return sum(y * t for y, t in zip(x, s, strict=True))


def scaling(m: Arithmetic, kind: str, x: Triple, s: Triple, o: Triple, c: Triple) -> list[Value]:
    """Return the upper triangle of W², with which the slacks answer steps of x."""
    if kind == "free":
        return [0.0] * 6
    if kind == "cone":
        w, eta = _nesterov_todd(m, x, s)
        squares = [2.0 * w[i] * w[j] for i, j in UPPER]
        squares[0], squares[3], squares[5] = squares[0] - 1.0, squares[3] + 1.0, squares[5] + 1.0
        return [eta * eta * y for y in squares]
    if kind == "half":
        d = [t / y for y, t in zip(x, s, strict=True)]
    else:
        d = [t / (y + z) + u / (z - y) for y, t, u, z in zip(x, s, o, c, strict=True)]
    return [d[0], 0.0, 0.0, d[1], 0.0, d[2]]


def correction(
    m: Arithmetic,
    kind: str,
    x: Triple,
    s: Triple,
    d: Triple,
    ds: Triple,
    dt: Triple,
    centre: Value,
    c: Triple,
) -> tuple[Triple, Triple]:
    """Return what centring and the second order of the affine steps d, ds, dt add to each slack."""
    none = [0.0] * 3
    if kind == "free":
        return none, none
    if kind == "half":
        return [(centre - y * z) / v for v, y, z in zip(x, d, ds, strict=True)], none
    if kind == "box":
        lower = [(centre - y * z) / (v + w) for v, y, z, w in zip(x, d, ds, c, strict=True)]
        return lower, [(centre + y * z) / (w - v) for v, y, z, w in zip(x, d, dt, c, strict=True)]
    w, eta = _nesterov_todd(m, x, s)
    v = _scaled(m, w, eta, x)
    moved = _jordan(m, _scaled(m, [w[0], -w[1], -w[2]], 1.0 / eta, ds), _scaled(m, w, eta, d))
    wanted = [centre - moved[0], -moved[1], -moved[2]]
    return _scaled(m, w, eta, _divided(m, v, wanted)), none


def slack_steps(
    m: Arithmetic,
    kind: str,
    x: Triple,
    s: Triple,
    o: Triple,
    d: Triple,
    h: Triple,
    k: Triple,
    w: Sequence[Value],
    c: Triple,
) -> tuple[Triple, Triple]:
    """Return the steps of the slacks for a step d, with h and k added to them."""
    none = [0.0] * 3
    if kind == "free":
        return none, none
    if kind == "box":
        lower = [z - t - t / (y + e) * v for y, t, v, z, e in zip(x, s, d, h, c, strict=True)]
        return lower, [z - t + t / (e - y) * v for y, t, v, z, e in zip(x, o, d, k, c, strict=True)]
    moved = product(m, symmetric(w), d)
    return [z - t - v for z, t, v in zip(h, s, moved, strict=True)], none


def reach(
    m: Arithmetic,
    kind: str,
    x: Triple,
    d: Triple,
    s: Triple,
    ds: Triple,
    o: Triple,
    dt: Triple,
    c: Triple,
) -> Value:
    """Return how far the steps can be followed within the sets."""
    if kind == "free":
        return FAR
    if kind == "cone":
        return smaller(m, _reach_in_cone(m, x, d), _reach_in_cone(m, s, ds))
    pairs = [*zip(s, ds, strict=True)]
    if kind == "half":
        pairs += zip(x, d, strict=True)
    else:
        pairs += zip(o, dt, strict=True)
        pairs += [(y + z, v) for y, v, z in zip(x, d, c, strict=True)]
        pairs += [(z - y, -v) for y, v, z in zip(x, d, c, strict=True)]
    found: Value = FAR
    for y, v in pairs:
        back = v < 0.0
        found = smaller(m, m.where(back, -y / m.where(back, v, -1.0), FAR), found)
    return found


def _reach_in_cone(m: Arithmetic, x: Triple, d: Triple) -> Value:
    """Return the least a > 0 with det(x + a d) = 0."""
    square = _det(m, d, d)
    cross, own = _det(m, x, d), larger(m, _det(m, x, x), 0.0)
    root = m.sqrt(larger(m, m.fma(cross, cross, -(square * own)), 0.0))
    below = root - cross
    found = m.where(below > 0.0, own / m.where(below > 0.0, below, 1.0), FAR)
    back = d[0] < 0.0
    return smaller(m, m.where(back, -x[0] / m.where(back, d[0], -1.0), FAR), found)


def _det(m: Arithmetic, x: Triple, y: Triple) -> Value:
    """Return x₀ y₀ − x₁ y₁ − x₂ y₂."""
    return m.fma(x[0], y[0], -m.fma(x[1], y[1], x[2] * y[2]))


def _jordan(m: Arithmetic, x: Triple, y: Triple) -> list[Value]:
    """Return the product x ∘ y = (x · y, x₀ y₁ + y₀ x₁, …)."""
    dot = m.fma(x[0], y[0], m.fma(x[1], y[1], x[2] * y[2]))
    return [dot, m.fma(x[0], y[1], y[0] * x[1]), m.fma(x[0], y[2], y[0] * x[2])]


def _divided(m: Arithmetic, x: Triple, y: Triple) -> list[Value]:
    """Return z with x ∘ z = y."""
    along = m.fma(x[1], y[1], x[2] * y[2])
    det, inverse = _det(m, x, x), 1.0 / x[0]
    first = m.fma(x[0], y[0], -along) / det
    return [first, *((y[k] - first * x[k]) * inverse for k in (1, 2))]


def _nesterov_todd(m: Arithmetic, x: Triple, s: Triple) -> tuple[list[Value], Value]:
    """Return w with det w = 1 and η so that W = η (−J + (e + w)(e + w)ᵀ/(1 + w₀)) has W x = W⁻¹ s."""
    dx, ds = (m.sqrt(larger(m, _det(m, y, y), TINY)) for y in (x, s))
    by_x, by_s = 1.0 / dx, 1.0 / ds
    eta = m.sqrt(ds * by_x)
    x, s = [y * by_x for y in x], [y * by_s for y in s]
    dot = m.fma(x[0], s[0], m.fma(x[1], s[1], x[2] * s[2]))
    inverse = 1.0 / m.sqrt(2.0 * (1.0 + dot))
    return [(s[0] + x[0]) * inverse, (s[1] - x[1]) * inverse, (s[2] - x[2]) * inverse], eta


def _scaled(m: Arithmetic, w: Triple, eta: Value, x: Triple) -> list[Value]:
    """Return W x."""
    along = m.fma(w[1], x[1], w[2] * x[2])
    more = m.fma(along, 1.0 / (1.0 + w[0]), x[0])
    return [eta * m.fma(w[0], x[0], along), *(eta * m.fma(more, w[k], x[k]) for k in (1, 2))]
