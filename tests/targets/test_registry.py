from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import hinge
from hinge import dynamics, robots, sim
from hinge.dynamics import CATALOGUE
from hinge.errors import ArgumentError, MissingExtraError
from hinge.explain import page
from hinge.pipeline import build
from hinge.sweeps import Call, DenseCall
from hinge.targets import (
    TARGETS,
    NumpyProgram,
    PlainRunner,
    Signature,
    StepCall,
    StepSchedule,
    Target,
    Traced,
    best_target,
    checked_target,
    dispatcher,
    listing,
    registry,
    runner,
    target_of,
)
from tests.api.law import PACKAGE, constants, sources
from tests.targets.llvm.running import blending


class Interpreted:
    """A program that interprets kernels: all that a target needs."""

    target = "toy"

    def __init__(self, code, base=0):
        assert not any(isinstance(c, DenseCall) for c in code.calls)
        self.code, self.base = code, base
        self.signature = Signature.of(code)

    def entry(self, fallback, shapes, *, name, doc, finish=None, names=None):
        return fallback

    def listing(self, language):
        return "\n".join(str(c.kernel) for c in self.code.calls)

    def describe(self):
        return [f"target toy: {len(self.code.calls)} calls"]

    def __call__(self, inputs, out=None):
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in inputs.values()))
        memory = {s: inputs[n][..., k] for n, slots in self.code.inputs.items() for k, s in enumerate(slots)}
        for c in self.code.calls:
            assert isinstance(c, Call)
            given = [*(memory[s] for s in c.loads), *c.params]
            found = c.kernel.evaluate(dict(zip(c.kernel.inputs, given, strict=True)))
            memory.update(zip(c.stores, found.values(), strict=True))
        results = {}
        for r in self.code.results:
            results[r.name] = y = np.empty((*batch, *r.values.shape))
            for at, x in np.ndenumerate(r.values):
                y[(..., *at)] = x if isinstance(x, float) else (1 - 2 * x.negative) * memory[x.index]
        if out is None:
            return results
        for name, y in results.items():
            out[name][...] = y
        return dict(out)


def _toy(source, *, base=0):
    return Interpreted(source.code, base)


TOY = Target("toy", _toy, options=("base",), listings={"kernel": "kernels, one after the other"})


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(TARGETS, "toy", TOY)
    yield TOY
    dynamics.forget()


@pytest.fixture
def missing(monkeypatch):
    gone = Target("gone", _toy, lambda: False, needs="gonelib")
    monkeypatch.setitem(TARGETS, "gone", gone)
    return gone


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("robot", [robots.panda(), robots.quadruped(), robots.random_tree(16, 21)], ids=str)
def test_a_new_target_runs_forward_dynamics(robot):
    rng = np.random.default_rng(5)
    q = hinge.random_configuration(robot, rng, size=(2, 3))
    qd, tau = rng.standard_normal((2, 2, 3, robot.nv))
    f = hinge.compile("forward_dynamics", robot, target="toy")
    wanted = hinge.compile("forward_dynamics", robot, target="numpy")(q, qd, tau=tau)
    assert np.allclose(f(q, qd, tau=tau), wanted, rtol=1e-12, atol=1e-12)
    assert np.allclose(f(q[1, 2], qd[1, 2], tau=tau[1, 2]), wanted[1, 2], rtol=1e-12, atol=1e-12)
    out = np.empty_like(wanted)
    assert f(q, qd, tau=tau, out=out) is out and np.allclose(out, wanted, rtol=1e-12, atol=1e-12)
    assert target_of(f.program()) is TOY and "target toy" in f.explain()


@pytest.mark.usefixtures("toy")
def test_verbs_and_simulations_take_a_new_target_by_the_environment(monkeypatch):
    monkeypatch.setenv("HINGE_TARGET", "toy")
    dynamics.forget()
    robot = robots.double_pendulum()
    q, qd, tau = np.ones((3, 2))
    wanted = hinge.reference.forward_dynamics(robot, q, qd, tau)
    assert np.allclose(hinge.forward_dynamics(robot, q, qd, tau), wanted)
    assert "target toy" in dynamics.compiled(robot, "forward_dynamics").explain()
    run = sim.simulate(robot, q, qd, t=0.02, dt=0.01)
    monkeypatch.setenv("HINGE_TARGET", "numpy")
    dynamics.forget()
    assert np.allclose(run.q, sim.simulate(robot, q, qd, t=0.02, dt=0.01).q)


@pytest.mark.usefixtures("toy")
def test_a_new_target_is_shown_and_has_its_own_options():
    f = hinge.compile({"m": CATALOGUE["mass_matrix"]}, robots.double_pendulum(), target="toy")
    assert "kernels, one after the other" in page(f)
    assert "out" in listing(f.program(), "kernel")
    with pytest.raises(ArgumentError, match=r"asm: expected 'kernel' for target 'toy', got 'asm'; .*'llvm'"):
        f.asm  # noqa: B018
    assert build(Traced(f.code), target="toy", base=3).base == 3
    with pytest.raises(ArgumentError, match=r"base: expected none for target 'numpy', got 3; .*'toy'"):
        build(Traced(f.code), target="numpy", base=3)
    with pytest.raises(ArgumentError, match="lanes: expected none for target 'toy', got 4"):
        hinge.compile(CATALOGUE["mass_matrix"], robots.double_pendulum(), target="toy", lanes=4)
    with pytest.raises(ArgumentError, match=r"colour: expected none .*, got 1; leave it out$"):
        build(Traced(f.code), target="numpy", colour=1)


@pytest.mark.usefixtures("toy")
def test_programs_of_several_targets_are_played_from_python():
    ops = [StepCall(build(Traced(blending()), target=t), {"q": "q", "u": "u"}, {}) for t in ("toy", "numpy")]
    assert isinstance(runner(StepSchedule(tuple(ops), {}, "q")), PlainRunner)
    assert isinstance(runner(StepSchedule((ops[0],), {}, "q")), PlainRunner)


def test_a_target_that_is_not_installed_says_what_it_needs(missing, monkeypatch):
    with pytest.raises(MissingExtraError, match="target 'gone' needs gonelib: pip install gonelib"):
        build(Traced(blending()), target="gone")
    monkeypatch.setenv("HINGE_TARGET", "gone")
    assert best_target() == "gone"

    def f(robot, q):
        return missing

    assert dispatcher(f).function is f


def test_the_first_target_that_is_available_is_taken(missing, monkeypatch):
    monkeypatch.delenv("HINGE_TARGET", raising=False)
    monkeypatch.setattr(registry, "TARGETS", {"gone": missing, **TARGETS})
    assert best_target() == "llvm"
    monkeypatch.setattr(registry, "TARGETS", {"gone": missing, "numpy": TARGETS["numpy"]})
    assert best_target() == "numpy"


@pytest.mark.parametrize("name", ["fortran", "", None, ["llvm"]])
def test_names_are_checked_against_the_registry(name, toy):
    assert checked_target("target", toy.name) == "toy"
    with pytest.raises(ArgumentError, match=r"target: expected 'llvm' or 'numpy'.* or 'toy', got "):
        checked_target("target", name)


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_has_every_fact(name):
    target = TARGETS[name]
    assert target.name == name and (target.needs or target.available())
    program = build(Traced(blending()), target=name)
    assert program.target == name and target_of(program) is target
    for language in target.listings:
        assert listing(program, language)
    with pytest.raises(FrozenInstanceError):
        target.name = "other"


def test_the_numpy_target_is_always_there():
    assert TARGETS["numpy"].available() and isinstance(
        build(Traced(blending()), target="numpy"), NumpyProgram
    )


#: Where the name of a target may stand: its own files, and what shows its own languages.
HOMES = {
    "llvm": {
        "targets/native.py",
        "targets/llvm/native_program.py",
        "dynamics/function.py",
        "explain/listings.py",
    },
    "numpy": {"targets/numpy.py"},
}


@pytest.mark.parametrize("name", HOMES)
def test_a_target_is_named_in_its_own_files_only(name):
    found = set()
    for path in sources():
        if name in constants(path):
            found.add(path.relative_to(PACKAGE).as_posix())
    assert found <= HOMES[name]
