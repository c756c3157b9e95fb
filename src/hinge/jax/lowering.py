"""From the primitive to XLA: a call of machine code, or of Python where XLA cannot call it."""

from __future__ import annotations

import os
import re
from functools import cache, partial
from hashlib import sha256
from itertools import count
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from hinge.jax.extras import jax
from hinge.jax.routines import Routine
from hinge.targets import Executable, xla_handler

_OWN = count()
_NAMES: dict[str, Any] = {}


def lower_elsewhere(ctx: Any, *xs: Any, routine: Routine) -> Any:
    """Return the operations of what is made of functions of JAX; refuse machine code without a CPU."""
    if routine.program is None:
        return _lower_plain(ctx, *xs, routine=routine)
    platforms = ", ".join(ctx.module_context.platforms)
    raise NotImplementedError(
        f"{routine}: expected a CPU, got the platform {platforms}, for which Hinge has no code; put the "
        "arrays on the CPU by jax.device_put(x, jax.devices('cpu')[0]), or make it the default device; "
        "or make the function with backend='xla'"
    )


def lower_to_native(ctx: Any, *xs: Any, routine: Routine) -> Any:
    """Return the operations of a call."""
    j = jax()
    program = routine.program
    if program is None:
        return _lower_plain(ctx, *xs, routine=routine)
    names = list(routine.inputs)
    taken = [names.index(n) for n in program.signature.inputs]
    results = list(program.signature.results)
    order = [results.index(n) for n in routine.results]
    target = target_of(program)
    if target is None:
        return j.mlir.lower_fun(partial(_called_back, program, routine), multiple_results=True)(ctx, *xs)
    _prepare(program, ctx)
    avals = [ctx.avals_out[list(routine.results).index(n)] for n in results]
    own = ctx.replace(avals_in=[ctx.avals_in[k] for k in taken], avals_out=avals)
    found = j.ffi.ffi_lowering(target)(own, *(xs[k] for k in taken))
    return [found[k] for k in order]


def _lower_plain(ctx: Any, *xs: Any, routine: Routine) -> Any:
    return jax().mlir.lower_fun(partial(_plain, routine), multiple_results=True)(ctx, *xs)


def _plain(routine: Routine, *ys: Any) -> list[Any]:
    found = routine.plain(dict(zip(routine.inputs, ys, strict=True)))
    return [found[n] for n in routine.results]


def _prepare(program: Executable, ctx: Any) -> None:
    """Make the code before XLA's threads ask for it, where shapes are known."""
    aval = ctx.avals_out[0]
    if all(isinstance(n, int) for n in aval.shape):
        handler = xla_handler(program)
        assert handler is not None
        if (states := prod(aval.shape[:-1])) > 0:
            handler.prepare(aval.dtype.name, states)


@cache
def interface() -> int | None:
    """Return the minor version of XLA's interface for foreign functions, None if it is not one that we know.

    Fields that handlers read are where they are in all versions 0.n so far. A handler of a version that XLA
    does not take would leave JAX without a CPU, so it is asked before.
    """
    ffi = jax().ffi
    if not hasattr(ffi, "ffi_lowering"):
        return None
    try:
        text = Path(ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text(encoding="utf-8")
    except OSError:
        return None
    found = dict(re.findall(r"#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", text))
    return int(found["MINOR"]) if found.get("MAJOR") == "0" and "MINOR" in found else None


@cache
def target_of(program: Executable) -> str | None:
    """Return the name under which XLA knows a program, registered once; None if it must be called by Python.

    It is a digest of what the program is made of, the same in all processes. Programs that may not be cached
    have names of their own.
    """
    j = jax()
    minor = interface()
    handler = None if minor is None else xla_handler(program)
    if handler is None or minor is None:
        return None
    handler.says(minor)
    identity = getattr(program, "identity", None) or f"{os.getpid()} {next(_OWN)} {os.urandom(8).hex()}"
    name = f"hinge_{sha256(identity.encode()).hexdigest()[:32]}"
    if name not in _NAMES:
        j.ffi.register_ffi_target(name, j.ffi.pycapsule(handler.address), platform="cpu")
        _NAMES[name] = handler
    return name


def _called_back(program: Executable, routine: Routine, *ys: Any) -> list[Any]:
    """Return the results by a call of Python from XLA."""
    j = jax()
    batch = max((y.shape[:-1] for y in ys), key=len)
    shapes = [j.jax.ShapeDtypeStruct((*batch, n), ys[0].dtype) for n in routine.results.values()]

    def run(*zs: Any) -> list[Any]:
        given = {n: np.asarray(z) for n, z in zip(routine.inputs, zs, strict=True)}
        found = program({n: given[n] for n in program.signature.inputs})
        return [
            np.broadcast_to(found[n].reshape(-1), shape.shape)
            if found[n].size == prod(shape.shape[-1:])
            else found[n].reshape(shape.shape)
            for n, shape in zip(routine.results, shapes, strict=True)
        ]

    return j.jax.pure_callback(run, shapes, *ys)


def registered() -> list[str]:
    """Return the names under which XLA knows programs, such as for the checks of `jax.export`."""
    return list(_NAMES)
