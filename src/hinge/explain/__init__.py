"""A compiled expression explained as a page of HTML: derivation, operators, sweeps, operations, code."""

from hinge.explain.page import page

__all__ = ["page"]
