"""The published identities of spatial operator algebra, as data; the tests prove each from the axioms."""

from __future__ import annotations

from hinge.rules.identities.appendix_a import APPENDIX_A
from hinge.rules.identities.closed import CLOSED_CHAINS
from hinge.rules.identities.derivatives import DERIVATIVE_FORMS
from hinge.rules.identities.identity import NamedIdentity
from hinge.rules.identities.papers import PAPERS
from hinge.rules.identities.slides import SLIDES

#: All that follow from the axioms of the theories of their letters, and from what is `given` with them.
IDENTITIES: tuple[NamedIdentity, ...] = APPENDIX_A + PAPERS + SLIDES + CLOSED_CHAINS + DERIVATIVE_FORMS

__all__ = [
    "APPENDIX_A",
    "CLOSED_CHAINS",
    "DERIVATIVE_FORMS",
    "IDENTITIES",
    "PAPERS",
    "SLIDES",
    "NamedIdentity",
]
