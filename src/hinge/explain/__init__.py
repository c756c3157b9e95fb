"""A compiled expression explained as a page of HTML: derivation, operators, sweeps, operations, code."""

from hinge.explain.whole_page import page

__all__ = ["page"]
