"""The compiler: prove, derive, compile. `compilation` lists its passes on one page."""

from hinge.pipeline.building import build, in_order
from hinge.pipeline.compilation import Compilation
from hinge.pipeline.derivations import (
    Derivation,
    DerivationLine,
    as_given,
    closed_forms,
    derive,
    frozen_table,
)
from hinge.pipeline.expressions import Expressions, named, written
from hinge.pipeline.origins import depends_on_origins
from hinge.pipeline.proofs import Proof, prove

__all__ = [
    "Compilation",
    "Derivation",
    "DerivationLine",
    "Expressions",
    "Proof",
    "as_given",
    "build",
    "closed_forms",
    "depends_on_origins",
    "derive",
    "frozen_table",
    "in_order",
    "named",
    "prove",
    "written",
]
