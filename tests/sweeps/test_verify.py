from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import hinge
from hinge import dynamics, robots
from hinge.algebra import H, M, phi, tau
from hinge.binding import bind
from hinge.errors import ArgumentError
from hinge.kernels import Instruction, Output
from hinge.pipeline import derive, in_order
from hinge.sweeps import Call, DenseCall, Result, Slot, trace, verify_code
from hinge.sweeps.code_rules import RULES, covers_program
from hinge.targets.llvm.plan import segments
from tests.sweeps.models import every_joint_type, model

MASS = H @ phi @ M @ phi.T @ H.T


@cache
def traced():
    """Return a program of two results, a binding and their code."""
    program = derive({"qdd": MASS.inv() @ tau, "mass": MASS}).program
    binding = bind(robots.panda())
    return program, binding, trace(program, binding)


@cache
def solving():
    """Return code with a dense solve."""
    compliance = dynamics.CATALOGUE["operational_inertia"]
    return trace(derive({"y": compliance}).program, model(1, 5, nodes=("tip",)))


def changed(code, k, **changes):
    calls = list(code.calls)
    calls[k] = replace(calls[k], **changes)
    return replace(code, calls=tuple(calls))


def _last_to_front(code):
    return replace(code, calls=(code.calls[-1], *code.calls[:-1]))


def _dead(code):
    c = code.calls[-1]
    again = Call(c.kernel, c.loads, c.params, range(code.slots, code.slots + len(c.stores)), 9, 0)
    return replace(code, calls=(*code.calls, again), slots=code.slots + len(c.stores))


def _kernel(code, **changes):
    return changed(code, 0, kernel=replace(code.calls[0].kernel, **changes))


def _result(code, value):
    values = code.results[0].values.copy()
    values.flat[0] = value
    return replace(code, results=(Result("qdd", values), *code.results[1:]))


#: What is done to right code, and what is said of it.
WRONG = {
    "an unknown op": (
        lambda c: _kernel(c, instructions=(Instruction("tan", (0,)), *c.calls[0].kernel.instructions[1:])),
        r"call 0 \(stage -1, body \d\): kernel: t1 = tan\(0\): unknown op",
    ),
    "a dead instruction": (
        lambda c: _kernel(c, instructions=(*c.calls[0].kernel.instructions, Instruction("log", (0,)))),
        r"call 0 .*: kernel: .* dead",
    ),
    "an output of no value": (
        lambda c: _kernel(c, outputs=(Output(0, 99, False, None), *c.calls[0].kernel.outputs[1:])),
        r"call 0 .*: kernel: .*there is no value t99",
    ),
    "a load too few": (
        lambda c: changed(c, 1, loads=c.calls[1].loads[1:]),
        r"call 1 .*: expected \d+ loads and parameters, got \d+",
    ),
    "a store too many": (
        lambda c: changed(c, 1, stores=(*c.calls[1].stores, 0)),
        r"call 1 .*: expected \d+ stores, got \d+",
    ),
    "a load beyond all slots": (
        lambda c: changed(c, 0, loads=(10_000,)),
        r"call 0 .*: there is no slot 10000 among \d+",
    ),
    "a store beyond all slots": (
        lambda c: changed(c, 0, stores=(-1, *c.calls[0].stores[1:])),
        r"call 0 .*: there is no slot -1 among \d+",
    ),
    "a parameter that is not finite": (
        lambda c: next(
            changed(c, k, params=(np.nan, *x.params[1:])) for k, x in enumerate(c.calls) if x.params
        ),
        r"call \d+ .*: expected finite parameters, got nan",
    ),
    "an order that reads too early": (
        _last_to_front,
        r"call 0 .*: reads slot \d+, which nothing has written",
    ),
    "two calls that write one slot": (
        lambda c: changed(c, 1, stores=(c.calls[0].stores[0], *c.calls[1].stores[1:])),
        r"call 1 .*: writes slot \d+, which call 0 .* writes",
    ),
    "a call that writes an input": (
        lambda c: changed(c, 0, stores=(0, *c.calls[0].stores[1:])),
        r"call 0 .*: writes slot 0, which input q writes",
    ),
    "two inputs in one slot": (
        lambda c: replace(c, inputs={**c.inputs, "other": (0,)}),
        r"input other: writes slot 0, which input q writes",
    ),
    "a call that nothing needs": (_dead, r"call \d+ \(stage 9, body 0\): nothing reads slot \d+"),
    "a result that nothing writes": (
        lambda c: replace(_result(c, Slot(c.slots)), slots=c.slots + 1),
        r"result qdd: reads slot \d+, which nothing has written",
    ),
    "a result that is no number": (
        lambda c: _result(c, np.inf),
        r"result qdd: expected slots or finite numbers, got inf",
    ),
    "two results of one name": (
        lambda c: replace(c, results=(c.results[0], c.results[0], c.results[1])),
        r"result qdd: there are 2 of this name",
    ),
}

#: The same for code that is right by itself, but not what the program asks for.
UNCOVERED = {
    "a missing input": (
        lambda c: replace(c, inputs={"q": c.inputs["q"]}),
        r"input tau: expected 7 slots, got none",
    ),
    "a short input": (
        lambda c: replace(c, inputs={**c.inputs, "tau": c.inputs["tau"][:1]}),
        r"input tau: expected 7 slots, got 1",
    ),
    "a missing result": (
        lambda c: replace(c, results=c.results[:1]),
        r"results: expected qdd, mass, got qdd",
    ),
    "a long result": (
        lambda c: replace(c, results=(Result("qdd", np.zeros(3, dtype=object)), c.results[1])),
        r"result qdd: expected shape \(7,\), got \(3,\)",
    ),
}


def test_traced_code_is_legal():
    program, binding, code = traced()
    verify_code(code)
    assert not list(covers_program(code, program, binding))
    verify_code(solving())


@pytest.mark.parametrize("name", WRONG)
def test_wrong_code_is_refused(name):
    break_, message = WRONG[name]
    with pytest.raises(AssertionError, match=message):
        verify_code(break_(traced()[2]))


def test_every_rule_refuses_something():
    broken = [break_(traced()[2]) for break_, _ in WRONG.values()]
    for rule in RULES:
        assert any(any(True for _ in _breaches(rule, code)) for code in broken), rule.__name__


def _breaches(rule, code):
    try:
        yield from rule(code)
    except (IndexError, KeyError, ValueError):
        return  # a later rule, on what an earlier one refuses


@pytest.mark.parametrize("name", UNCOVERED)
def test_code_that_is_not_the_programs_is_refused(name):
    break_, message = UNCOVERED[name]
    program, binding, code = traced()
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(next(covers_program(break_(code), program, binding)))


def test_wrong_dense_solves_are_refused():
    code = solving()
    k = next(k for k, c in enumerate(code.calls) if isinstance(c, DenseCall))
    call = code.calls[k]
    with pytest.raises(AssertionError, match=r"dense solve\): expected matrix \(n, n\)"):
        verify_code(changed(code, k, matrix=call.matrix[:, 1:]))
    negative = call.result.copy()
    negative.flat[0] = Slot(negative.flat[0].index, True)
    with pytest.raises(AssertionError, match="expected slots without sign as results"):
        verify_code(changed(code, k, result=negative))
    with pytest.raises(AssertionError, match="reads slot"):
        verify_code(replace(code, calls=(call, *code.calls[:k], *code.calls[k + 1 :])))


# The switch.


@pytest.fixture
def checking(monkeypatch):
    monkeypatch.setenv("HINGE_CHECK", "1")


@pytest.mark.usefixtures("checking")
@pytest.mark.parametrize("target", ["numpy", "llvm"])
@pytest.mark.parametrize(
    "verb", ["forward_dynamics", "mass_matrix", "operational_inertia", "log_determinant"]
)
def test_everything_passes_with_the_switch_on(verb, target):
    robot = every_joint_type(3).robot
    f = hinge.compile(verb, robot, nodes=["tip"] if "operational" in verb else (), target=target)
    assert f.program().describe()


@pytest.mark.usefixtures("checking")
def test_programs_at_joints_pass_with_the_switch_on():
    robot = every_joint_type(4).robot
    f = dynamics.joint_program(robot, "checked", {"q": "q"}, {"y": "q"}, lambda _, x: {"y": 2.0 * x["q"]})
    assert f.signature.results == {"y": (robot.nq,)}


def test_the_switch_refuses_wrong_code_and_says_nothing_when_off(monkeypatch):
    code = traced()[2]
    wrong = _dead(code)
    for off in ("", "0"):
        monkeypatch.setenv("HINGE_CHECK", off)
        assert in_order(wrong).calls == wrong.calls
    monkeypatch.setenv("HINGE_CHECK", "1")
    with pytest.raises(AssertionError, match="nothing reads slot"):
        in_order(wrong)
    with pytest.raises(AssertionError, match="nothing reads slot"):
        segments(wrong)
    assert in_order(code).calls == code.calls


@pytest.mark.usefixtures("checking")
def test_the_switch_verifies_programs_before_they_are_traced():
    program, binding, _ = traced()
    with pytest.raises(AssertionError):
        trace(replace(program, stages=program.stages[1:]), binding)


def test_the_switch_is_on_or_off(monkeypatch):
    monkeypatch.setenv("HINGE_CHECK", "yes")
    with pytest.raises(ArgumentError, match="HINGE_CHECK: expected '0' or '1', got 'yes'; unset it"):
        trace(*traced()[:2])
