"""Random typed expressions for the tests of the algebra."""

from __future__ import annotations

from fractions import Fraction

from hinge.algebra import (
    STANDARD,
    Body,
    Joint,
    Node,
    One,
    Space,
    Structure,
    identity,
    leaf,
    linear,
    logdet,
    zero,
)

SPACES = (Joint, Body, Node, One)
#: Leaves beside the standard ones, with every option that `leaf` has.
OWN = (
    leaf("W", Body, Body, Structure.DIAGONAL, self_adjoint=True, meaning='a "weight", doubled'),
    leaf("X", Joint, Joint, unicode="ξ", latex=r"\xi"),
    leaf("u", Body, One, needs=(STANDARD["phi"].T @ STANDARD["H"].T @ STANDARD["qd"],)),
    leaf("H", Node, Joint, meaning="not the standard H"),
)
LEAVES = tuple(x for x in (*STANDARD.values(), *OWN) if x.range in SPACES and x.domain in SPACES)
COEFFICIENTS = (2, -1, -3, Fraction(1, 2), Fraction(-7, 3), 0.1, 10**20)


def random_expression(rng, range_: Space, domain: Space, depth: int):
    """Return a random expression range ← domain, nested up to a depth."""
    kind = rng.integers(10) if depth else 0
    if kind < 3:
        return _atom(rng, range_, domain)
    if kind < 6:
        middle = SPACES[rng.integers(3)]
        left = random_expression(rng, range_, middle, depth - 1)
        return left @ random_expression(rng, middle, domain, depth - 1)
    if kind < 8:
        terms = [random_expression(rng, range_, domain, depth - 1) for _ in range(rng.integers(2, 4))]
        return linear(*((COEFFICIENTS[rng.integers(len(COEFFICIENTS))], t) for t in terms))
    if kind == 8 and range_ is domain is One:
        space = SPACES[rng.integers(3)]
        return logdet(random_expression(rng, space, space, depth - 1))
    if range_ is domain:
        inner = random_expression(rng, range_, domain, depth - 1)
        return inner if inner is zero(range_, domain) else inner.inv()
    return random_expression(rng, domain, range_, depth - 1).T


def _atom(rng, range_, domain):
    found = [x for x in LEAVES if (x.range, x.domain) == (range_, domain)]
    found += [x.T for x in LEAVES if (x.domain, x.range) == (range_, domain)]
    found += [identity(range_)] if range_ is domain else []
    found += [zero(range_, domain)] if not found else []
    return found[rng.integers(len(found))]
