"""Arguments of functions of JAX: names, shapes and precisions, also of traced arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hinge.errors import ArgumentError
from hinge.jax.extras import jax

#: The precisions of Hinge's code.
PRECISIONS = ("float32", "float64")
_EXAMPLE = "x.astype(float)"


def by_name(what: str, names: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by name, in the order of a call."""
    wanted = ", ".join(names)
    if len(args) > len(names):
        raise TypeError(f"{what}: expected the arrays {wanted}, got {len(args)} arrays")
    found = dict(zip(names, args, strict=False))
    for n, x in named.items():
        if n not in names:
            raise ArgumentError(f"{n}: not an argument of {what}; expected the arrays {wanted}")
        if n in found:
            raise TypeError(f"{what}: got {n} twice")
        found[n] = x
    for n in names:
        if n not in found:
            raise TypeError(f"{what}: expected the arrays {wanted}, got no {n}")
    return {n: found[n] for n in names}


def flat_arrays(given: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """Return arrays as (…, length), of one precision, each of the whole batch or of none."""
    j = jax()
    arrays = {n: _array(n, x) for n, x in given.items()}
    first = next(iter(arrays))
    batches: dict[str, tuple[Any, ...]] = {}
    for n, x in arrays.items():
        if x.dtype != arrays[first].dtype:
            raise ArgumentError(
                f"{n}: expected {arrays[first].dtype}, as {first} has, got {x.dtype}; give all arrays in one "
                f"precision: {n}.astype({first}.dtype)"
            )
        shape, inner = tuple(x.shape), len(shapes[n])
        if x.ndim < inner or shape[x.ndim - inner :] != shapes[n]:
            wanted = ", ".join(("…", *map(str, shapes[n])))
            raise ArgumentError(f"{n}: expected shape ({wanted}), got {shape}")
        batches[n] = shape[: x.ndim - inner]
    try:
        batch = j.numpy.broadcast_shapes(*batches.values())
    except ValueError:
        shown = ", ".join(f"{n} {b}" for n, b in batches.items())
        raise ArgumentError(f"{first}: expected leading dimensions that broadcast, got {shown}") from None
    return {n: _flat(x, batches[n], batch, len(shapes[n])) for n, x in arrays.items()}


def _array(name: str, x: Any) -> Any:
    """Return an array of single or double precision."""
    jnp = jax().numpy
    try:
        found = jnp.asarray(x)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{name}: expected an array of float32 or float64, got {type(x).__name__}: {error}"
        ) from None
    if found.dtype.name not in PRECISIONS:
        raise ArgumentError(
            f"{name}: expected float32 or float64, got {found.dtype}; convert it: {name}.astype(jnp.float32)"
        )
    return found


def _flat(x: Any, own: tuple[Any, ...], batch: tuple[Any, ...], inner: int) -> Any:
    """Return an array with its last dimensions as one, and all leading dimensions of the batch or none."""
    jnp = jax().numpy
    if inner != 1:
        x = x.reshape((*own, -1)) if inner else x[..., None]
    if own in ((), batch):
        return x
    return jnp.broadcast_to(x, (*batch, x.shape[-1]))
