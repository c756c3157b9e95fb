"""The compiler on one page: what turns an operator expression into code, pass by pass.

prove     left = right?       normal forms in a completed table; else a numerical counterexample
derive    expressions         → multiplied out → search by named identities → program of fused sweeps
build     program, binding    → traced kernels → target
"""

from hinge.pipeline.build import build
from hinge.pipeline.derivations import Derivation, DerivationLine, as_given, derive, frozen_table
from hinge.pipeline.expressions import Expressions, named, written
from hinge.pipeline.origins import depends_on_origins
from hinge.pipeline.proofs import Proof, prove

__all__ = [
    "Derivation",
    "DerivationLine",
    "Expressions",
    "Proof",
    "as_given",
    "build",
    "depends_on_origins",
    "derive",
    "frozen_table",
    "named",
    "prove",
    "written",
]
