"""Expressions on small robots as formulas of SymPy, from the kernels that other targets run.

SymPy is an extra and loaded by the first call.
"""

from hinge.formulas.formulas import Formulas
from hinge.formulas.symbolic import symbolic

__all__ = ["Formulas", "symbolic"]
