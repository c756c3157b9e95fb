"""What functions of JAX say of broken arguments, traced ones too, of other devices and processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import hinge
import hinge.jax as homes
from hinge.errors import ArgumentError

jax = pytest.importorskip("jax")

ROBOT = hinge.robots.double_pendulum()
X = np.array([0.1, -0.2])


def call(*args, **named):
    return homes.function("forward_dynamics", ROBOT)(*args, **named)


CASES = {
    "integers": (
        lambda: call(np.zeros(2, int), X, X),
        ArgumentError,
        "q: expected float32 or float64, got int64",
    ),
    "half": (
        lambda: call(X.astype(np.float16), X, X),
        ArgumentError,
        "q: expected float32 or float64, got float16",
    ),
    "complex": (lambda: call(X, X + 0j, X), ArgumentError, "qd: expected float32 or float64, got complex128"),
    "mixed": (
        lambda: call(X.astype(np.float32), X, X),
        ArgumentError,
        r"qd: expected float32, as q has.*astype",
    ),
    "text": (lambda: call({}, X, X), ArgumentError, "q: expected an array of float32 or float64, got dict"),
    "shape": (lambda: call(X[:1], X, X), ArgumentError, r"q: expected shape \(…, 2\), got \(1,\)"),
    "traced shape": (
        lambda: jax.jit(call)(X, np.zeros((3, 1)), X),
        ArgumentError,
        r"qd: expected shape \(…, 2\), got \(3, 1\)",
    ),
    "batches": (
        lambda: call(np.zeros((3, 2)), np.zeros((4, 2)), X),
        ArgumentError,
        r"leading dimensions that broadcast, got q \(3,\), qd \(4,\)",
    ),
    "few": (lambda: call(X, X), TypeError, "expected the arrays q, qd, tau, got no tau"),
    "many": (lambda: call(X, X, X, X), TypeError, "expected the arrays q, qd, tau, got 4"),
    "twice": (lambda: call(X, X, X, q=X), TypeError, "got q twice"),
    "unknown": (lambda: call(X, X, X, force=X), ArgumentError, "force: not an argument"),
    "verb": (lambda: homes.function("mass_matrx", ROBOT), ArgumentError, "mass_matrix"),
    "backend": (
        lambda: homes.function("mass_matrix", ROBOT, backend="cuda"),
        ArgumentError,
        "backend: expected one of 'auto', 'native', 'xla', got 'cuda'",
    ),
    "tangent": (
        lambda: homes.function("mass_matrix", ROBOT, tangent=1),
        ArgumentError,
        "tangent: expected True",
    ),
    "parameter": (
        lambda: homes.function("mass_matrix", ROBOT, parameters=["mass"]),
        ArgumentError,
        "parameters: expected names among",
    ),
    "robot": (lambda: homes.function("mass_matrix", "panda"), ArgumentError, "robot: expected a Robot"),
    "device": (
        lambda: jax.jit(call).trace(X, X, X).lower(lowering_platforms=("cuda",)),
        NotImplementedError,
        "expected a CPU, got the platform cuda",
    ),
    "no derivative": (
        lambda: jax.grad(lambda x: homes.function("mass_factors", ROBOT)(x)["factor"].sum())(X),
        NotImplementedError,
        "derivatives are not supported",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_messages(case):
    f, error, message = CASES[case]
    with pytest.raises(error, match=message):
        f()


def test_symbolic_shapes():
    export = pytest.importorskip("jax.export")
    (b,) = export.symbolic_shape("b")
    shapes = [jax.ShapeDtypeStruct((b, 2), np.float64)] * 3
    f = jax.jit(homes.function("forward_dynamics", ROBOT))
    with pytest.raises(ValueError, match="compatibility guarantees"):
        export.export(f)(*shapes)
    from hinge.jax.lowering import registered

    known = [export.DisabledSafetyCheck.custom_call(n) for n in registered()]
    found = export.export(f, disabled_checks=known)(*shapes)
    rows = np.random.default_rng(0).standard_normal((3, 5, 2))
    assert np.array_equal(found.call(*rows), hinge.forward_dynamics(ROBOT, *rows))


SCRIPT = """
import pickle, sys, numpy as np, jax
jax.config.update("jax_enable_x64", True)
from jax.experimental.serialize_executable import deserialize_and_load
saved = pickle.load(open(sys.argv[1], "rb"))
x = np.array([0.1, -0.2])
try:
    deserialize_and_load(*saved)
except Exception as error:
    assert "No FFI handler registered for hinge_" in str(error), error
else:
    raise SystemExit("no error")
import hinge, hinge.jax
jax.jit(hinge.jax.function("forward_dynamics", hinge.robots.double_pendulum())).lower(x, x, x)
print(deserialize_and_load(*saved)(x, x, x).tolist())
"""


@pytest.mark.slow
def test_executables_in_another_process(tmp_path):
    serialize = pytest.importorskip("jax.experimental.serialize_executable").serialize
    made = jax.jit(homes.function("forward_dynamics", ROBOT)).lower(X, X, X).compile()
    (tmp_path / "made").write_bytes(pickle.dumps(serialize(made)))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "made")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert eval(done.stdout) == hinge.forward_dynamics(ROBOT, X, X, X).tolist()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_can_still_use_hinge():
    script = """
import os, warnings, numpy as np, jax, hinge, hinge.jax
robot = hinge.robots.double_pendulum()
x = np.array([0.1, -0.2], np.float32)
f = jax.jit(hinge.jax.function("forward_dynamics", robot))
f(x, x, x).block_until_ready()
warnings.simplefilter("ignore")
child = os.fork()
if not child:
    os._exit(int(not np.isfinite(hinge.forward_dynamics(robot, x, x, x)).all()))
assert os.waitpid(child, 0)[1] == 0
f(x, x, x).block_until_ready()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
