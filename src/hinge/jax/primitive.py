"""The primitive of JAX that calls a routine, with its rules.

    value:   changes of the value are the routine `Pushed`
    Pushed:  linear in directions; its transpose is `Pulled`
    Pulled:  linear in weights; its transpose is `Pushed`

Arrays are flat, (…, length): all leading dimensions of a batch, or none. A new dimension of `vmap` comes
first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from hinge.jax.extras import jax
from hinge.jax.lowering import lower_elsewhere, lower_to_native
from hinge.jax.routines import Arrays, Routine, Varying


def call(routine: Routine, xs: Arrays) -> dict[str, Any]:
    """Return the results of a routine for arrays of JAX."""
    found = primitive().bind(*(xs[n] for n in routine.inputs), routine=routine)
    return dict(zip(routine.results, found, strict=True))


def changes_along(base: Varying, xs: Arrays, ds: Arrays) -> Arrays:
    """Return the changes of results along directions, by the routine of changes."""
    pushed = base.pushed(tuple(ds))
    if not pushed.results:
        return {}
    return call(pushed, {**xs, **{pushed.directions[n]: d for n, d in ds.items()}})


@cache
def primitive() -> Any:
    """Return the primitive, made once JAX is loaded."""
    j = jax()
    p = j.Primitive("hinge")
    p.multiple_results = True
    p.def_impl(_evaluated)
    p.def_abstract_eval(_abstract)
    j.ad.primitive_jvps[p] = _jvp
    j.ad.primitive_transposes[p] = _transpose
    j.batching.primitive_batchers[p] = _batched
    j.mlir.register_lowering(p, lower_elsewhere)
    j.mlir.register_lowering(p, lower_to_native, platform="cpu")
    return p


def _evaluated(*xs: Any, routine: Routine) -> Any:
    return _compiled(routine)(*xs)


@cache
def _compiled(routine: Routine) -> Any:
    """Return the call of a routine outside of `jit`."""
    return jax().jax.jit(partial(primitive().bind, routine=routine))


def _abstract(*xs: Any, routine: Routine) -> list[Any]:
    batch = max((x.shape[:-1] for x in xs), key=len, default=())
    return [jax().ShapedArray((*batch, n), xs[0].dtype) for n in routine.results.values()]


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, routine: Routine) -> tuple[Any, Any]:
    """Return the results and their changes."""
    ad = jax().ad
    xs = dict(zip(routine.inputs, primals, strict=True))
    ds = {n: t for n, t in zip(routine.inputs, tangents, strict=True) if type(t) is not ad.Zero}
    found = call(routine, xs)
    changes: dict[str, Any] = {}
    for part in (_linear_changes(routine, xs, ds), _other_changes(routine, xs, ds)):
        for n, x in part.items():
            changes[n] = changes[n] + x if n in changes else x
    zeros = {n: ad.Zero.from_primal_value(x) for n, x in found.items() if n not in changes}
    return list(found.values()), [changes[n] if n in changes else zeros[n] for n in found]


def _linear_changes(routine: Routine, xs: Arrays, ds: Arrays) -> Arrays:
    """Return changes with the inputs in which the routine is linear."""
    linear = tuple(n for n in routine.linear if n in ds)
    if not linear:
        return {}
    fewer, names = routine.among(linear)
    own = {n: x for n, x in xs.items() if n not in routine.linear}
    return call(fewer, {**own, **{names[n]: ds[n] for n in linear}}) if fewer.results else {}


def _other_changes(routine: Routine, xs: Arrays, ds: Arrays) -> Mapping[str, Any]:
    """Return changes with all other inputs."""
    others = {n: d for n, d in ds.items() if n not in routine.linear}
    if not others:
        return {}
    if isinstance(routine, Varying):
        return routine.changes(xs, others)

    def of(moving: Arrays) -> Arrays:
        return routine.plain({**xs, **moving})

    return jax().jax.jvp(of, ({n: xs[n] for n in others},), (others,))[1]


def _transpose(cotangents: Sequence[Any], *primals: Any, routine: Routine) -> list[Any]:
    """Return the gradients by the inputs in which the routine is linear."""
    ad = jax().ad
    linear = {n: x.aval for n, x in zip(routine.inputs, primals, strict=True) if ad.is_undefined_primal(x)}
    assert set(linear) <= set(routine.linear), (
        f"{routine} is not linear in {set(linear) - set(routine.linear)}"
    )
    cs = {n: c for n, c in zip(routine.results, cotangents, strict=True) if type(c) is not ad.Zero}
    found: dict[str, Any] = {}
    if cs:
        back, weights, shown = routine.transposed(tuple(linear), tuple(cs))
        xs = {n: x for n, x in zip(routine.inputs, primals, strict=True) if n not in routine.linear}
        if back.results:
            results = call(back, {**xs, **{weights[n]: c for n, c in cs.items()}})
            found = {n: _like(results[by], linear[n]) for n, by in shown.items()}
    return [found.get(n, ad.Zero(linear[n])) if n in linear else None for n in routine.inputs]


def _like(x: Any, aval: Any) -> Any:
    """Return a gradient of the shape of what it is taken by: what states share gets the sum."""
    return x.sum(axis=tuple(range(x.ndim - aval.ndim))) if x.ndim > aval.ndim else x


def _batched(xs: Sequence[Any], axes: Sequence[Any], *, routine: Routine) -> tuple[list[Any], list[int]]:
    """Put the new dimension first; what has all other dimensions of the batch gets it too."""
    j = jax()
    size = next(x.shape[a] for x, a in zip(xs, axes, strict=True) if a is not None)
    whole = max(x.ndim - (a is not None) for x, a in zip(xs, axes, strict=True))
    batch = next(
        _moved(x, a).shape[(a is not None) : -1]
        for x, a in zip(xs, axes, strict=True)
        if x.ndim - (a is not None) == whole
    )
    found: list[Any] = []
    for x, a in zip(xs, axes, strict=True):
        y = _moved(x, a)
        if a is None and y.ndim == 1:
            found.append(y)
        elif a is None:
            found.append(j.numpy.broadcast_to(y, (size, *y.shape)))
        elif y.ndim == 2 and whole > 1:
            wide = y.reshape((size, *(1 for _ in batch), y.shape[-1]))
            found.append(j.numpy.broadcast_to(wide, (size, *batch, y.shape[-1])))
        else:
            found.append(y)
    return primitive().bind(*found, routine=routine), [0] * len(routine.results)


def _moved(x: Any, axis: Any) -> Any:
    return x if axis is None else jax().numpy.moveaxis(x, axis, 0)
