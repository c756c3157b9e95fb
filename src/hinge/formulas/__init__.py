"""Expressions on small robots as formulas of SymPy, from the kernels that other targets run.

SymPy is an extra and loaded by the first call.
"""

from hinge.formulas.asking import symbolic
from hinge.formulas.formulas import Formulas

__all__ = ["Formulas", "symbolic"]
