"""Verbs, expressions and steps as functions of JAX, with our derivatives: machine code under `jit`.

JAX is an extra and loaded by the first call.
"""

from hinge.jax.functions import Function, function, plus, step

__all__ = ["Function", "function", "plus", "step"]
