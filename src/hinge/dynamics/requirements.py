"""The requirements of expressions on a binding, read from their letters before derivation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hinge.algebra import Ask, Expr, hides_fixed_bodies, is_frame_free, placements
from hinge.binding import Needs, asks_of
from hinge.pipeline import depends_on_origins


def needs_of(expressions: Iterable[Expr], parameters: Sequence[str] = ()) -> Needs:
    """Return the needs of expressions; `parameters` names the parameters that are inputs of a call.

    The bodies' own frames are needed where the value depends on the frames: where the user sees vectors of
    bodies, or the letters do not fit together in other frames. All forms that identities lead to have one
    value, so the given form decides.
    """
    given = tuple(expressions)
    own = not all(map(is_frame_free, given)) or any(map(depends_on_origins, given))
    asks = asks_of(given)
    placed = placements.name in parameters or Ask.MOUNTS in asks
    merged = not own and not placed and hides_fixed_bodies(*given)
    return Needs(own, merged, asks, tuple(parameters))
