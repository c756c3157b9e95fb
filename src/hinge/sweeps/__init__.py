"""Sweep programs: state equations in passes over a tree, their lowering, cost and tracing."""

from hinge.sweeps.contract import USER_FORCE, USER_MOTION, WORLD, Binding, Block, Step, zeros
from hinge.sweeps.lowering import lower
from hinge.sweeps.program import Direction, Operator, Output, Pass, Program, Scalar, Solve, Statement, Vector, WorldBlock, verify

__all__ = ["USER_FORCE", "USER_MOTION", "WORLD", "Binding", "Block", "Direction", "Operator", "Output", "Pass", "Program", "Scalar", "Solve", "Statement", "Step", "Vector", "WorldBlock", "lower", "verify", "zeros"]
