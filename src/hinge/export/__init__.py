"""Verbs and expressions as source code for other homes: C99."""

from hinge.export.c_library import CLibrary, c

__all__ = ["CLibrary", "c"]
