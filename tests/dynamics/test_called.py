"""Compiled functions and differentials are called natively once they know their code, and as before."""

from __future__ import annotations

import copy
import inspect
import types

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError

ARM = hinge.robots.double_pendulum()
RNG = np.random.default_rng(1)
Q, V, TAU, C = RNG.standard_normal((4, 2))

FUNCTIONS = {
    "compile": (lambda: hinge.compile("forward_dynamics", ARM), (Q, V), {"tau": TAU}),
    "gradient": (lambda: hinge.gradient("kinetic_energy", ARM), (Q, V), {}),
    "vjp": (lambda: hinge.vjp("forward_dynamics", ARM, ("tau", "q")), (Q, V, TAU, C), {}),
    "vjp of some": (lambda: hinge.vjp("gravity_force", ARM), (Q, C), {}),
    "jvp": (lambda: hinge.jvp("forward_dynamics", ARM), (Q, V, TAU), {"d_tau": C, "d_q": V}),
    "jvp by gravity": (lambda: hinge.jvp("gravity_force", ARM, ["q", "gravity"]), (Q,), {"d_q": C}),
    "vjp by gravity": (lambda: hinge.vjp("gravity_force", ARM, ["q", "gravity"]), (Q, C), {}),
}


def flat(found):
    """Return results by name or place."""
    if isinstance(found, np.ndarray):
        return {"": found}
    value, rest = found
    return {"value": value, **(rest if isinstance(rest, dict) else {"change": rest})}


def same(found, wanted):
    one, other = flat(found), flat(wanted)
    return list(one) == list(other) and all(np.array_equal(one[n], other[n]) for n in one)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_native_calls_are_those_in_python(name):
    made, args, kwargs = FUNCTIONS[name]
    f = made()
    assert same(f(*args, **kwargs), f.in_python(*args, **kwargs))
    native = hinge.targets.best_target() == "llvm"
    assert isinstance(f.__call__, types.BuiltinFunctionType if native else types.MethodType)
    many = [np.stack([x, x, -x]) for x in args]
    assert same(f(*many, **kwargs), f.in_python(*many, **kwargs))
    single = [x.astype(np.float32) for x in args]
    assert same(f(*single, **kwargs), f.in_python(*single, **kwargs))
    assert inspect.signature(f) == inspect.signature(f.in_python)
    assert same(copy.copy(f)(*args, **kwargs), f(*args, **kwargs))


def test_options_after_native_calls():
    pull = hinge.vjp("forward_dynamics", ARM)
    value, by = pull(Q, V, TAU, C)
    down = np.array([0.0, -1.0, -3.0])
    other = pull(Q, V, TAU, C, gravity=down)
    assert np.array_equal(other[0], hinge.vjp("forward_dynamics", ARM)(Q, V, TAU, C, gravity=down)[0])
    out = {"value": np.empty_like(value), **{n: np.empty_like(x) for n, x in by.items()}}
    again = pull(Q, V, TAU, C, out=out)
    assert again[0] is out["value"] and all(
        again[1][n] is out[n] and np.array_equal(out[n], by[n]) for n in by
    )
    with pytest.raises(TypeError, match="pull: expected the arrays q, qd, tau, c, got 3"):
        pull(Q, V, TAU)
    with pytest.raises(ArgumentError, match="tau: expected"):
        pull(Q, V, TAU[:1], C)
    push = hinge.jvp("forward_dynamics", ARM)
    push(Q, V, TAU, d_q=C)
    with pytest.raises(ArgumentError, match="qd: expected directions d_q, d_qd, d_tau, got this one"):
        push(Q, V, TAU, qd=C)
