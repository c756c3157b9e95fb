from __future__ import annotations

import pytest

from hinge.algebra import (
    DEFINITIONS,
    STANDARD,
    Body,
    Card,
    Carries,
    Joint,
    Leaf,
    One,
    Role,
    Structure,
    appendix,
    leaf,
    leaves,
    letters,
)
from hinge.algebra.card import PLAIN
from hinge.errors import ArgumentError
from hinge.sweeps.costs import BLOCK, FORMULA, LETTER

IN_THE_FRAME_OF_THE_PARENT = {getattr(appendix, n) for n in ("S", "Dphi", "Dpsi", "L", "Phi", "Psi")}


@pytest.mark.parametrize("name", STANDARD)
def test_every_letter_says_what_it_carries(name):
    x = STANDARD[name]
    known = x not in IN_THE_FRAME_OF_THE_PARENT
    for space, carries in ((x.range, x.card.gives), (x.domain, x.card.takes)):
        if space is Body:
            assert (carries in (Carries.FORCE, Carries.MOTION)) == known
        if space in (One, Joint) and known:
            assert carries is Carries.NUMBER


def test_a_standard_letter_without_a_card_is_refused():
    with pytest.raises(ArgumentError, match="bare: expected a Card"):
        letters.letter("bare", Body, One, "nothing is known of it")
    assert "bare" not in STANDARD


def test_a_letter_of_the_users_own_fits_no_frame():
    own = leaf("own", Body, One)
    assert own.card == PLAIN and own.card.gives is Carries.UNKNOWN and own.card.role is Role.NONE


def test_letters_that_differ_by_their_cards_are_two():
    plain, heavy = leaf("own", Body, One), leaf("own", Body, One, card=Card(weight=3))
    assert plain is not heavy
    names = {"leaf": leaf, "Card": Card, "Body": Body, "One": One, "Structure": Structure}
    assert eval(repr(heavy), names) is heavy


def test_positive_letters_are_self_adjoint():
    assert all(x.self_adjoint for x in STANDARD.values() if x.card.positive)


def test_what_a_letter_is_at_rest_has_its_type():
    for x in STANDARD.values():
        if x.card.at_rest is not None:
            assert (x.card.at_rest.range, x.card.at_rest.domain) == (x.range, x.domain)
            assert any(y.card.role is Role.MOVES for y in leaves(x.card.at_rest))


def test_the_cost_table_is_complete():
    known = [x for x in STANDARD.values() if x not in (*IN_THE_FRAME_OF_THE_PARENT, appendix.r)]
    assert set(FORMULA) == {x for x in known if x.needs}
    blocks = {x for x in DEFINITIONS if x.structure is Structure.DIAGONAL}
    assert set(BLOCK) == blocks
    operators = {x for x in known if x.structure is Structure.DIAGONAL and x.name != "E0"}
    assert set(LETTER) == operators | {x.T for x in operators}


def test_letters_are_listed_where_they_are_defined():
    defined = {name for name, x in vars(letters).items() if isinstance(x, Leaf) and not name.startswith("_")}
    assert defined == {name for name in letters.__all__ if isinstance(getattr(letters, name), Leaf)}
