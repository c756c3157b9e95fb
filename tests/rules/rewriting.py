"""Rewriting once more, in a few plain lines, so that the tables are judged by something else."""

from __future__ import annotations

from fractions import Fraction


def normal_form(terms, rules):
    """Return terms rewritten by rules (pairs of a word and terms) until none applies."""
    done, todo = {}, {w: Fraction(c) for w, c in terms.items()}
    while todo:
        word, c = todo.popitem()
        place = next(
            (
                (k, lhs, rhs)
                for k in range(len(word))
                for lhs, rhs in rules
                if word[k : k + len(lhs)] == lhs
            ),
            None,
        )  # fmt: skip
        if place is None:
            add(done, word, c)
            continue
        k, lhs, rhs = place
        for w, d in rhs.items():
            add(todo, word[:k] + w + word[k + len(lhs) :], c * d)
    return done


def add(terms, word, c):
    """Add c · word to terms in place; what cancels goes."""
    terms[word] = terms.get(word, 0) + c
    if not terms[word]:
        del terms[word]


def overlaps(rules):
    """Yield the words that two rules rewrite at once, each with both results."""
    for u, rhs_u in rules:
        for v, rhs_v in rules:
            for size in range(1, min(len(u), len(v)) + 1):
                if u[-size:] == v[:size] and (u is not v or size < len(u)):
                    word = u + v[size:]
                    one = {w + v[size:]: c for w, c in rhs_u.items()}
                    two = {u[:-size] + w: c for w, c in rhs_v.items()}
                    yield word, one, two
            for k in range(len(u) - len(v) + 1):
                if u is not v and u[k : k + len(v)] == v:
                    yield u, rhs_u, {u[:k] + w + u[k + len(v) :]: c for w, c in rhs_v.items()}


def unfolded(rule, memo):
    """Return lhs − rhs of a rule as its axioms give it, multiplied out."""
    if rule not in memo:
        total = {}
        for use in rule.proof:
            inner = use.source.difference
            terms = unfolded(use.source, memo) if callable(inner) else inner.terms
            for w, c in terms.items():
                add(total, use.left + w + use.right, use.coefficient * Fraction(c))
        memo[rule] = total
    return memo[rule]
