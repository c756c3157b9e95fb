"""Numbers of sine and cosine, for targets that write them out.

x = k π/2 + r with |r| ≤ π/4, π/2 in three parts (Cody and Waite), then polynomials of r with the coefficients
of fdlibm (float64) and of Moshier's Cephes (float32). Beyond `limit` the parts no longer suffice.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CircleNumbers:
    """Constants of sine and cosine in one precision; adding and subtracting `magic` rounds to integers."""

    limit: float
    magic: float
    parts: tuple[float, float, float]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


CIRCLE_NUMBERS: dict[str, CircleNumbers] = {
    "float64": CircleNumbers(
        limit=1e5,
        magic=1.5 * 2.0**52,
        parts=(float.fromhex("0x1.921fb544p+0"), float.fromhex("0x1.0b4611a6p-34"),
               float.fromhex("0x1.3198a2e037073p-69")),
        sine=(-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
              2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10),
        cosine=(4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
                -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11),
    ),
    "float32": CircleNumbers(
        limit=8000.0,
        magic=1.5 * 2.0**23,
        parts=(1.5703125, 4.837512969970703125e-4, 7.549789948768648e-8),
        sine=(-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
        cosine=(4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
    ),
}  # fmt: skip
