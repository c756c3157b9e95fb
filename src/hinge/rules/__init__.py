"""Rules: axioms, completion, proofs, and the search for the cheapest form by named identities.

The identities of the papers, more than four hundred, are in `hinge.rules.identities`, loaded on demand.
"""

from hinge.rules.closing import closing_steps
from hinge.rules.completion import (
    Axiom,
    Completed,
    CompletionError,
    ContradictionError,
    DegreeError,
    Rule,
    Use,
    complete,
)
from hinge.rules.determinant import determinant_steps, has_determinant, split_determinants
from hinge.rules.graded import DERIVATIVES, THEORIES, deciding_theory
from hinge.rules.loads import with_load
from hinge.rules.moves import HYBRID_MOVES, LOADED_MOVES, MOVES, SERIAL_MOVES, Move, moves_for
from hinge.rules.proof import Decision, decide
from hinge.rules.searching import Found, SearchStep, search
from hinge.rules.tables_on_disk import read_number, read_word, written_word
from hinge.rules.theory import (
    APPENDIX,
    HYBRID,
    LOADED,
    ROOTS,
    SERIAL,
    TREE,
    Theory,
    equation,
    has_appendix_letters,
    is_hybrid,
    is_loaded,
    theory_of,
)

__all__ = [
    "APPENDIX",
    "DERIVATIVES",
    "HYBRID",
    "HYBRID_MOVES",
    "LOADED",
    "LOADED_MOVES",
    "MOVES",
    "ROOTS",
    "SERIAL",
    "SERIAL_MOVES",
    "THEORIES",
    "TREE",
    "Axiom",
    "Completed",
    "CompletionError",
    "ContradictionError",
    "Decision",
    "DegreeError",
    "Found",
    "Move",
    "Rule",
    "SearchStep",
    "Theory",
    "Use",
    "closing_steps",
    "complete",
    "decide",
    "deciding_theory",
    "determinant_steps",
    "equation",
    "has_appendix_letters",
    "has_determinant",
    "is_hybrid",
    "is_loaded",
    "moves_for",
    "read_number",
    "read_word",
    "search",
    "split_determinants",
    "theory_of",
    "with_load",
    "written_word",
]
