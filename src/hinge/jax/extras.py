"""JAX itself, imported when it is first needed."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from hinge.errors import MissingExtraError


class Jax(NamedTuple):
    """The parts of JAX that primitives are made of."""

    jax: Any
    numpy: Any
    ad: Any
    batching: Any
    mlir: Any
    Primitive: Any
    ShapedArray: Any
    ffi: Any


@cache
def jax() -> Jax:
    """Return JAX, or raise a MissingExtraError."""
    try:
        import jax as found
        from jax.core import ShapedArray
        from jax.extend.core import Primitive
        from jax.interpreters import ad, batching, mlir
    except ImportError:
        raise MissingExtraError(
            'functions of JAX need JAX, which is not installed, or another version; pip install "hinge[jax]"'
        ) from None
    return Jax(found, found.numpy, ad, batching, mlir, Primitive, ShapedArray, found.ffi)
