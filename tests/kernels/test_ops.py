from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest

from hinge.kernels import BOUND, OPS, RUN, Graph, Op, Operations, Scalar, apply, count, finish, split, verify
from hinge.sweeps import Call, Code, Slot
from hinge.targets import NumpyProgram, source
from hinge.targets.llvm.functions import WRITTEN
from tests.api.law import PACKAGE, constants, sources
from tests.targets.llvm.running import native, result, traced

VALUES = (0.7, 1.3, -0.4, 2.5, 0.0, -3.0)
FUNCTIONS = [op for op in OPS.values() if not op.symbol]

#: Functions that no robot needs yet, of one, two and three arguments.
ROUND = Op("round", np.rint, lambda x: float(round(x)), ("odd",), llvm="roundeven", method="rint")
MIN = Op("min", np.minimum, min, ("none", "none"), commutes=True, llvm="minnum")
FMA = Op("fma", lambda x, y, z: x * y + z, lambda x, y, z: x * y + z, ("none",) * 3, llvm="fma")
ATAN2 = Op("atan2", np.arctan2, math.atan2, ("odd", "none"), method="arctan2")
NEW = (ROUND, MIN, FMA, ATAN2)


@pytest.fixture(params=NEW, ids=lambda op: op.name)
def added(request, monkeypatch):
    monkeypatch.setitem(OPS, request.param.name, request.param)
    return request.param


def _arguments(op, seed):
    return [VALUES[(seed + 3 * k) % len(VALUES)] for k in range(op.arity)]


def _same(x, y):
    return x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= 1e-15 * abs(y)


@pytest.mark.parametrize("op", [*OPS.values(), *NEW], ids=lambda op: op.name)
def test_floats_and_arrays_mean_the_same(op):
    for seed in range(len(VALUES)):
        x = _arguments(op, seed)
        with np.errstate(all="ignore"):
            wanted = float(op.arrays(*map(np.float64, x)))
        try:
            found = op.floats(*x)
        except (ArithmeticError, ValueError):
            assert not math.isfinite(wanted)
        else:
            assert type(found) is float and _same(found, wanted), (x, found, wanted)


@pytest.mark.parametrize("op", [*OPS.values(), *NEW], ids=lambda op: op.name)
def test_parity_is_how_a_sign_goes_through(op):
    x = [0.7, 0.3, 0.2, 0.4][: op.arity]
    for k, parity in enumerate(op.parity):
        turned = [-v if n == k else v for n, v in enumerate(x)]
        if parity != "none":
            assert op.floats(*turned) == (-1.0 if parity == "odd" else 1.0) * op.floats(*x)
    if op.commutes:
        assert op.floats(*reversed(x)) == op.floats(*x)


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_every_operation_has_every_fact(op):
    assert OPS[op.name] is op and op.arity >= 1
    assert op.counted in {f.name for f in fields(Operations)}
    assert bool(op.llvm) != (op.name in WRITTEN)
    assert not op.method or callable(getattr(Scalar, op.method))


def test_what_llvm_writes_out_is_in_the_table():
    assert WRITTEN.keys() <= OPS.keys()


@pytest.mark.parametrize("op", [op for op in FUNCTIONS if op.method], ids=lambda op: op.name)
def test_a_method_is_what_numpy_calls_for_traced_scalars(op):
    graph = Graph()
    x = np.array([graph.input(k) for k in range(op.arity)], dtype=object)
    assert repr(op.arrays(*x[:, None])[0]) == repr(apply(op.name, *x)) == op.written(list("012"[: op.arity]))


def test_numbers_alone_are_folded(added):
    x = [0.5, 2.0, 0.25][: added.arity]
    found = apply(added.name, *x)
    assert type(found) is float and found == added.floats(*x)


@pytest.mark.parametrize("signs", range(8))
def test_a_new_function_runs_everywhere_with_any_signs(added, signs):
    """A row of the table is all that tracing, printing, counting, verifying and NumPy need."""
    graph = Graph()
    x = [graph.input(k) for k in range(3)]
    given = [-v if signs >> k & 1 else v for k, v in enumerate(x)][: added.arity]
    kernel = finish(graph, {"y": apply(added.name, *given), "z": x[0] + x[1] + x[2]})
    verify(kernel)
    assert f"{added.name}(" in str(kernel) and f"{added.name}(" in source(kernel)
    assert count(kernel).functions == 1
    for seed in range(len(VALUES)):
        at = [VALUES[(seed + 2 * k) % len(VALUES)] for k in range(3)]
        wanted = added.floats(*[-v if signs >> k & 1 else v for k, v in enumerate(at)][: added.arity])
        assert _same(kernel.evaluate(dict(enumerate(at)))["y"], wanted)
        retraced = kernel.evaluate({k: graph.input(("again", k)) for k in range(3)})["y"]
        again = finish(graph, {"y": retraced})
        assert _same(again.evaluate({("again", k): v for k, v in enumerate(at)})["y"], wanted)


def test_a_new_function_runs_on_both_targets(added):
    kernel = traced(lambda *x: (apply(added.name, *x[: added.arity]), x[0] + x[1] + x[2]), 3)
    call = Call(kernel, (0, 1, 2), (), (3, 4), 0, 0)
    code = Code((call,), {"x": (0, 1, 2)}, (result("y", [Slot(3), Slot(4)]),), 5)
    states = np.array([[VALUES[(s + 2 * k) % len(VALUES)] for k in range(3)] for s in range(len(VALUES))])
    wanted = added.arrays(*states.T[: added.arity])
    for given in (states, states[1]):
        found = NumpyProgram(code)({"x": given})["y"][..., 0]
        np.testing.assert_allclose(found, wanted if given.ndim == 2 else wanted[1], rtol=1e-15)
    if added.llvm:
        found = native(code)({"x": states})["y"][:, 0]
        np.testing.assert_allclose(found, wanted, rtol=1e-15)


def test_constants_and_scalars_mix(added):
    graph = Graph()
    x = graph.input("x")
    given = [-2.0, x, 0.5][: added.arity] if added.arity > 1 else [x]
    kernel = finish(graph, {"y": apply(added.name, *given)})
    verify(kernel)
    at = [0.3 if v is x else v for v in given]
    assert _same(kernel.evaluate({"x": 0.3})["y"], added.floats(*at))


CHOICES = {
    "abs": (1, abs),
    "max": (2, lambda x, y: x if x > y else y),
    "choose": (4, lambda x, y, a, b: a if x < y else b),
}


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("signs", range(4))
def test_choices_are_the_same_on_all_targets(name, signs):
    """With any signs of their arguments, equal ones, infinite ones and NaN, in float64 and float32."""
    arity, wanted = CHOICES[name]
    turn = [-1.0 if signs >> (k % 2) & 1 else 1.0 for k in range(4)]
    kernel = traced(
        lambda *x: (
            apply(name, *(-v if s < 0 else v for s, v in zip(turn[:arity], x, strict=False))),
            sum(x),
        ),
        4,
    )
    code = Code(
        (Call(kernel, (0, 1, 2, 3), (), (4, 5), 0, 0),), {"x": (0, 1, 2, 3)}, (result("y", [Slot(4)]),), 6
    )
    odd = (0.7, -0.4, 0.0, -0.0, math.inf, -math.inf, math.nan)
    states = np.array([[x, y, 3.0, -5.0] for x in odd for y in odd])
    answers = [wanted(*[s * v for s, v in zip(turn, row, strict=True)][:arity]) for row in states.tolist()]
    for dtype in (np.float64, np.float32):
        found = native(code)({"x": states.astype(dtype)})["y"][:, 0]
        np.testing.assert_array_equal(found, np.array(answers, dtype))
    np.testing.assert_array_equal(NumpyProgram(code)({"x": states})["y"][:, 0], answers)
    alone = [NumpyProgram(code)({"x": row})["y"][0] for row in states]
    np.testing.assert_array_equal(alone, answers)


def test_choices_of_numpys_numbers_have_a_sign_like_those_of_floats():
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    for zero in (0.0, -0.0, np.float64(-0.0)):
        found = apply("choose", x, 1.0, zero, y) * 2.0
        assert finish(graph, {"z": found}).evaluate({"x": 3.0, "y": 5.0})["z"] == 10.0


def test_a_value_is_known_when_the_last_of_its_arguments_is(monkeypatch):
    monkeypatch.setitem(OPS, "fma", FMA)
    graph = Graph()
    u, v, w, x = (*map(graph.param, "uvw"), graph.input("x"))
    assert graph.known[apply("fma", u, v, w).index] == BOUND
    for args in ((x, u, v), (u, x, v), (u, v, x)):
        assert graph.known[apply("fma", *args).index] == RUN
    before, kernel = split(graph, {"y": x * apply("fma", u, v, w)})
    assert len(before.inputs) == 3 and len(kernel.instructions) == 1


#: Where the name of a function may stand: in the table, where LLVM's lowering writes it out, and where a
#: formula calls it.
HOMES = {"kernels/ops.py", "targets/llvm/functions.py"}
CALLERS = {
    "sqrt": {"sweeps/factor.py", "targets/llvm/solve.py", "targets/llvm/arithmetic.py"},
    "log": {"sweeps/tracing.py"},
    **{name: {"targets/expanded.py"} for name in ("abs", "max", "choose")},
}


@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.name)
def test_the_compiler_names_a_function_in_two_files_at_most(op):
    found = set()
    for path in sources():
        room = path.relative_to(PACKAGE).parts[0]
        if room in ("kernels", "sweeps", "targets", "pipeline", "explain") and op.name in constants(path):
            found.add(path.relative_to(PACKAGE).as_posix())
    assert "kernels/ops.py" in found
    assert found <= HOMES | CALLERS.get(op.name, set())
