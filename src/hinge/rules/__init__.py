"""Rules: axioms, completion, proofs, named identities, and the search for the cheapest form."""

from hinge.rules.completion import Axiom, Completed, CompletionError, Rule, Use, complete
from hinge.rules.determinant import determinant_steps, has_determinant
from hinge.rules.identities import APPENDIX_A, IDENTITIES, PAPERS, SLIDES, NamedIdentity
from hinge.rules.moves import MOVES, Move, moves_for
from hinge.rules.proof import Decision, decide
from hinge.rules.search import Found, SearchStep, search
from hinge.rules.theory import (
    APPENDIX,
    HYBRID,
    SERIAL,
    THEORIES,
    TREE,
    Theory,
    equation,
    theory_of,
)

__all__ = [
    "APPENDIX",
    "APPENDIX_A",
    "HYBRID",
    "IDENTITIES",
    "MOVES",
    "PAPERS",
    "SERIAL",
    "SLIDES",
    "THEORIES",
    "TREE",
    "Axiom",
    "Completed",
    "CompletionError",
    "Decision",
    "Found",
    "Move",
    "NamedIdentity",
    "Rule",
    "SearchStep",
    "Theory",
    "Use",
    "complete",
    "decide",
    "determinant_steps",
    "equation",
    "has_determinant",
    "moves_for",
    "search",
    "theory_of",
]
