"""Operations that LLVM has neither an instruction nor a good function for, in IR.

Sine and cosine come both at once for all lanes, by `hinge.kernels.CIRCLE_NUMBERS`. Beyond their limit the
lanes that need it get what the C library says; infinity and NaN give NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import pi

from hinge.kernels import CIRCLE_NUMBERS, TABLES
from hinge.targets.llvm.text import Writer

#: The index of each function in the result of `sine_and_cosine`.
CIRCLE = {"sin": 0, "cos": 1}
#: The number of angles of one state that are evaluated at once.
PACKED = 4


def sine_and_cosine(w: Writer, x: str) -> tuple[str, str]:
    """Write sin x and cos x."""
    s, c = _near(w, x)
    far = w.compare("ogt", w.intrinsic("fabs", x), w.lanes.constant(CIRCLE_NUMBERS[w.lanes.dtype].limit))
    before, slow, after = w.label, w.block("far"), w.block("near")
    w.do(f"br i1 {w.any(far)}, label %{slow}, label %{after}")
    w.start(slow)
    s_far, c_far = (w.select(far, w.intrinsic(name, x), y) for name, y in (("sin", s), ("cos", c)))
    w.do(f"br label %{after}")
    w.start(after)
    t = w.lanes.type
    return (
        w.let(f"phi {t} [ {s}, %{before} ], [ {s_far}, %{slow} ]"),
        w.let(f"phi {t} [ {c}, %{before} ], [ {c_far}, %{slow} ]"),
    )


def write_circles(w: Writer, angles: Sequence[str]) -> None:
    """Write sine and cosine of numbers of one state, several at once, and store them in `w.circles`."""
    for start in range(0, len(angles) - 1, PACKED):
        group = angles[start : start + PACKED]
        with w.packed(PACKED):
            found = sine_and_cosine(w, w.pack([*group, *[group[-1]] * (PACKED - len(group))]))
            for k, x in enumerate(group):
                w.circles[x] = w.lane(found[0], k), w.lane(found[1], k)


def _on_circle(part: int, w: Writer, x: str) -> str:
    if x not in w.circles:
        w.circles[x] = sine_and_cosine(w, x)
    return w.circles[x][part]


def _larger(w: Writer, x: str, y: str) -> str:
    return w.select(w.compare("ogt", x, y), x, y)


def _chosen(w: Writer, x: str, y: str, a: str, b: str) -> str:
    return w.select(w.compare("olt", x, y), a, b)


#: How each operation is written that has no name of LLVM's in the table, from its arguments.
WRITTEN: dict[str, Callable[..., str]] = {
    **{op: partial(_on_circle, part) for op, part in CIRCLE.items()},
    "max": _larger,
    "choose": _chosen,
}


def looked_up(w: Writer, name: str, x: str) -> str:
    """Write the number of a table at a place: that in each lane, and the nearest end beyond the table."""
    t, numbers = w.lanes, TABLES[name]
    if name not in w.tables:
        w.tables[name] = w.constant_bytes(numbers.astype(t.dtype).tobytes(), t.bits // 8)
    low, high = t.constant(0.0), t.constant(len(numbers) - 1.0)
    x = w.select(w.compare("ogt", x, low), x, low)
    x = w.select(w.compare("olt", x, high), x, high)
    places = [w.let(f"fptosi {t.scalar} {w.lane(x, k)} to i64") for k in range(t.width)]
    return w.gather([w.at(w.tables[name], place, t.scalar) for place in places])


def _near(w: Writer, x: str) -> tuple[str, str]:
    n, constant = CIRCLE_NUMBERS[w.lanes.dtype], w.lanes.constant
    shifted = w.fma(x, constant(2.0 / pi), constant(n.magic))
    k = w.binary("fsub", shifted, constant(n.magic))
    r = x
    for part in n.parts:
        r = w.fma(k, constant(-part), r)
    z = w.binary("fmul", r, r)
    sine = w.fma(w.binary("fmul", r, z), _polynomial(w, z, n.sine), r)
    cosine = w.fma(w.fma(z, _polynomial(w, z, n.cosine), constant(-0.5)), z, constant(1.0))
    return _in_quadrant(w, w.as_integer(shifted), sine, cosine)


def _polynomial(w: Writer, z: str, coefficients: tuple[float, ...]) -> str:
    found = w.lanes.constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        found = w.fma(found, z, w.lanes.constant(c))
    return found


def _in_quadrant(w: Writer, k: str, sine: str, cosine: str) -> tuple[str, str]:
    """Write sin and cos of r + k π/2."""
    odd = w.let(f"icmp ne {w.lanes.integer} {w.integer('and', k, w.whole(1))}, {w.whole(0)}")
    first, second = w.select(odd, cosine, sine), w.select(odd, sine, cosine)
    return _flipped(w, first, k), _flipped(w, second, w.integer("add", k, w.whole(1)))


def _flipped(w: Writer, x: str, k: str) -> str:
    """Write x, negated where the second bit of k is set."""
    sign = w.integer("shl", w.integer("and", k, w.whole(2)), w.whole(w.lanes.bits - 2))
    return w.as_value(w.integer("xor", w.as_integer(x), sign))
