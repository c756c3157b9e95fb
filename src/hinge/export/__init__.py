"""Verbs and expressions as code for other homes: C99, CasADi's interface in C, object files."""

from hinge.export.c_library import CLibrary, c
from hinge.export.jacobians import has_jacobian, in_coordinates, jacobian_of
from hinge.export.object_library import objects
from hinge.export.routine import Asked, Coded, Routine, routines
from hinge.export.sparsity import Pattern, as_matrix

__all__ = [
    "Asked",
    "CLibrary",
    "Coded",
    "Pattern",
    "Routine",
    "as_matrix",
    "c",
    "has_jacobian",
    "in_coordinates",
    "jacobian_of",
    "objects",
    "routines",
]
