"""Verbs, expressions and steps as functions of PyTorch's tensors, with gradients of any order: for learning.

PyTorch is an extra and loaded by the first call.
"""

from hinge.torch.functions import Function, function, step

__all__ = ["Function", "function", "step"]
