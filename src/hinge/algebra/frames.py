"""Which expressions mean the same in whatever frames bodies are worked in.

Motions and forces change with the frame in dual ways. An expression in which every operator gets what it
takes (H takes forces, M takes motions and gives forces …) does not depend on the frames of bodies; one such
as H Hᵀ does, and is meant in the frames that the user knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from hinge.algebra.expression import Leaf
from hinge.algebra.leaves import (
    A0,
    E0,
    V0,
    B,
    E,
    Es,
    Esp,
    G,
    Gp,
    H,
    Ha,
    Hp,
    K,
    Kp,
    M,
    P,
    Pp,
    Q,
    R,
    Ups,
    a,
    a_m,
    a_n,
    b,
    b_m,
    f_ext,
    g,
    phi,
    psi,
    psip,
    v_n,
    x_n,
)
from hinge.algebra.polynomial import Letter, Polynomial, leaf_of
from hinge.algebra.space import Node

FORCE, MOTION, EITHER = "force", "motion", "either"
_DUAL = {FORCE: MOTION, MOTION: FORCE, EITHER: EITHER}

#: What a letter gives and takes; hinge coordinates and numbers are the same in all frames.
GIVES_AND_TAKES: dict[Leaf, tuple[str, str]] = {
    **dict.fromkeys((H, Hp, Ha), (EITHER, FORCE)),
    **dict.fromkeys((M, P, Pp, R), (FORCE, MOTION)),
    **dict.fromkeys((E, Es, Esp, phi, psi, psip, B, E0), (FORCE, FORCE)),
    **dict.fromkeys((G, Gp, K, Kp), (FORCE, EITHER)),
    Ups: (MOTION, FORCE),
    Q: (MOTION, MOTION),
    **dict.fromkeys((a, a_m, a_n, v_n, x_n, g, V0, A0), (MOTION, EITHER)),
    **dict.fromkeys((b, b_m, f_ext), (FORCE, EITHER)),
}


def is_frame_free(p: Polynomial, inverses: Mapping[Leaf, Polynomial]) -> bool:
    """Tell whether a polynomial means the same in all frames; `inverses` as in `hinge.sweeps.lower`.

    Vectors of the Node space are in the frames of the nodes, whatever those of the bodies are.
    """
    return all(
        left.domain is Node or _fits(_gives(right, inverses), _takes(left, inverses))
        for word in p.terms
        for left, right in pairwise(word)
    )


def _gives(letter: Letter, inverses: Mapping[Leaf, Polynomial]) -> str:
    return _kinds(letter, inverses)[0]


def _takes(letter: Letter, inverses: Mapping[Leaf, Polynomial]) -> str:
    return _kinds(letter, inverses)[1]


def _kinds(letter: Letter, inverses: Mapping[Leaf, Polynomial]) -> tuple[str, str]:
    base = leaf_of(letter)
    if base in inverses:
        word = max(inverses[base].terms, key=len)
        gives, takes = (_takes(word[-1], inverses), _gives(word[0], inverses)) if word else (EITHER, EITHER)
    else:
        gives, takes = GIVES_AND_TAKES.get(base, (EITHER, EITHER))
    return (gives, takes) if isinstance(letter, Leaf) else (_DUAL[takes], _DUAL[gives])


def _fits(given: str, taken: str) -> bool:
    return EITHER in (given, taken) or given == taken
