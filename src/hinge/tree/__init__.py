"""Topology, integers only: parents, order, children, supports, subtrees, runs."""

from hinge.tree.groups import grouped
from hinge.tree.tree import WORLD, Tree, base_first_order, find_loop

__all__ = ["WORLD", "Tree", "base_first_order", "find_loop", "grouped"]
