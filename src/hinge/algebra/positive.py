"""Which operators are positive by their form: sums of Lᵀ X L with a positive X, such as J 𝓜⁻¹ Jᵀ."""

from __future__ import annotations

from hinge.algebra.polynomials import Polynomial, Word, adjoint_word, leaf_of


def is_positive(p: Polynomial) -> bool:
    """Tell whether the form of an operator shows that it has no negative eigenvalues."""
    return bool(p.terms) and all(_is_positive(w) and c > 0 for w, c in p.terms.items())


def _is_positive(word: Word) -> bool:
    middle = word[len(word) // 2] if len(word) % 2 else None
    return adjoint_word(word) == word and (middle is None or leaf_of(middle).card.positive)
