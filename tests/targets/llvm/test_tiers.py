"""Quick code first, final code in the background."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.sweeps import Call
from hinge.targets import Traced
from hinge.targets.llvm import cache, pieces, tiers
from hinge.targets.llvm.background import BACKGROUND, Background, Job
from hinge.targets.llvm.module import write_module
from hinge.targets.llvm.native_program import NativeProgram
from hinge.targets.llvm.text import Lanes
from tests.targets.llvm.codes import random_code
from tests.targets.llvm.running import bits, blending
from tests.tiers import daily

SHAPES = ("U", "H", "R")


@pytest.fixture(autouse=True)
def tiered(tmp_path, monkeypatch):
    """Let every program begin with quick code, in a cache of its own."""
    monkeypatch.setattr(tiers, "LONGEST_SECONDS", -1.0)
    monkeypatch.setenv("HINGE_LEVEL", "1")
    monkeypatch.setenv("HINGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("HINGE_CACHE", raising=False)
    monkeypatch.delenv("HINGE_WAIT", raising=False)
    yield
    assert BACKGROUND.finish(60)


class Gate:
    """Holds up the making of final code; the threads of forked children pass."""

    def __init__(self, make):
        self.make, self.pid = make, os.getpid()
        self.at_work, self.open = threading.Event(), threading.Event()

    def __call__(self, text, level):
        self.at_work.set()
        if os.getpid() == self.pid:
            assert self.open.wait(60)
        return self.make(text, level)


@pytest.fixture
def gate(monkeypatch):
    found = Gate(pieces.assembled_beside)
    monkeypatch.setattr(pieces, "assembled_beside", found)
    yield found
    found.open.set()
    assert BACKGROUND.finish(60)


def program(code=None, identity="tiers", **options):
    return NativeProgram(Traced(code or blending(), identity, "blend"), **options)


def given(f, *batch, dtype="float64"):
    rng = np.random.default_rng(1)
    return {n: rng.standard_normal((*batch, k)).astype(dtype) for n, k in f.signature.inputs.items()}


def is_quick(f, width=1, dtype="float64"):
    return f._pieces[dtype, width].facts.quick


def same_bits(a, b):
    return a.keys() == b.keys() and all(np.array_equal(bits(a[n]), bits(b[n])) for n in a)


def entry_of(f):
    def fallback(q, u):
        return tuple(f({"q": q, "u": u}).values())

    shapes = list(f.signature.results.values())
    return f.entry(fallback, shapes, name="blend", doc="", finish=lambda x: tuple(x.values()))


# Tiers.


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [1])
def test_both_tiers_give_the_same_bits(seed, shape, dtype):
    code = random_code(seed)
    quick, final = program(code, None, shape=shape), program(code, None, shape=shape, wait=True)
    for batch in ((), (37,)):
        x = given(quick, *batch, dtype=dtype)
        assert same_bits(quick(x), final(x))
    assert all(p.facts.quick for p in quick._pieces.values())
    assert not any(p.facts.quick for p in final._pieces.values())


def test_quick_code_reads_tables():
    f = program()
    f(given(f))
    assert f._pieces["float64", 1].facts.shape == "T"


@pytest.mark.parametrize("seeds", daily([range(2, 8), range(8, 300)], lambda k, case: k == 0))
def test_more_quick_code_gives_the_same_bits(seeds):
    for seed in seeds:
        code = random_code(seed)
        quick, final = program(code, None), program(code, None, wait=True)
        x = given(quick, 3)
        assert same_bits(quick(x), final(x)), seed


def with_a_number_for_a_load(code):
    """Return code in which one of the calls of a kernel has a parameter where the others load."""
    calls = [c for c in code.calls if isinstance(c, Call) and c.loads]
    shared = next(c for c in calls if sum(o.kernel is c.kernel for o in calls) > 1)
    changed = replace(shared, loads=shared.loads[:-1], params=(0.5, *shared.params))
    return replace(code, calls=tuple(changed if c is shared else c for c in code.calls))


def test_calls_of_a_kernel_may_differ_in_what_they_load():
    code = with_a_number_for_a_load(random_code(3))
    quick, final = program(code, None), program(code, None, wait=True)
    x = given(quick, 3)
    assert same_bits(quick(x), final(x))


def test_blocks_of_quick_code_are_short_and_change_no_bit(monkeypatch):
    monkeypatch.setattr(tiers, "LONGEST_BLOCK", 5)
    code = random_code(4)
    quick, final = program(code, None), program(code, None, wait=True)
    for shape, share in (("T", 0.0), ("U", 0.1)):
        text = write_module(code, Lanes(1), shape).text
        assert tiers.in_short_blocks(text).count("br ") > text.count("br ") + share * text.count("\n")
    x = given(quick, 37)
    assert same_bits(quick(x), final(x))


def test_short_modules_are_left_alone():
    text = program().module("float64", 1).text
    assert tiers.in_short_blocks(text) is text


def test_the_same_for_a_robot():
    robot = hinge.robots.random_tree(8, seed=3)
    qd, tau = np.random.default_rng(0).normal(size=(2, 20, robot.nv))
    q = np.tile(hinge.neutral(robot), (20, 1))
    quick, final = (hinge.compile("forward_dynamics", robot, wait=wait) for wait in (False, True))
    first = quick(q, qd, tau=tau)
    assert is_quick(quick.program(), quick.program().width("float64"))
    assert np.array_equal(bits(first), bits(final(q, qd, tau=tau)))
    quick(q, qd, tau=tau)
    assert BACKGROUND.finish(60)
    assert not is_quick(quick.program(), quick.program().width("float64"))
    assert np.array_equal(bits(first), bits(quick(q, qd, tau=tau)))


def test_the_second_use_starts_the_final_code():
    f = program()
    x = given(f)
    f(x)
    assert not BACKGROUND._jobs and is_quick(f)
    f(x)
    assert BACKGROUND.finish(60) and not is_quick(f)


def test_small_programs_have_final_code_at_once(monkeypatch):
    monkeypatch.setattr(tiers, "LONGEST_SECONDS", 0.12)
    f = program()
    f(given(f))
    assert not is_quick(f)


def test_level_0_is_final(monkeypatch):
    monkeypatch.setenv("HINGE_LEVEL", "0")
    f = program()
    f(given(f))
    assert not is_quick(f)


def test_a_call_with_much_work_waits_for_final_code(monkeypatch):
    first, late = program(), program(random_code(1), None)
    width = late.width("float64")
    late(given(late, width))
    assert is_quick(late, width)
    monkeypatch.setattr(tiers, "SECONDS_LOST", 1e9)
    for f in (first, late):
        f(given(f, width))
        assert not is_quick(f, width)


# Waiting.


def test_wait_gives_final_code():
    f = program(wait=True)
    f(given(f))
    assert not is_quick(f)


def test_the_environment_can_ask_for_final_code(monkeypatch):
    monkeypatch.setenv("HINGE_WAIT", "1")
    f = program()
    f(given(f))
    assert not is_quick(f)
    monkeypatch.setenv("HINGE_WAIT", "maybe")
    with pytest.raises(ArgumentError, match=r"HINGE_WAIT: expected 1 .* or 0, got 'maybe'"):
        program(identity="other")(given(f))


def test_waiting_replaces_quick_code_that_is_there(monkeypatch):
    f = program()
    x = given(f)
    f(x)
    monkeypatch.setenv("HINGE_WAIT", "1")
    f(x)
    assert not is_quick(f)


def test_several_threads_wait_for_one_job(gate, monkeypatch):
    f = program()
    f(given(f))
    monkeypatch.setenv("HINGE_WAIT", "1")
    callers = [threading.Thread(target=f, args=(given(f),)) for _ in range(4)]
    for c in callers:
        c.start()
    assert gate.at_work.wait(60)
    gate.open.set()
    for c in callers:
        c.join(60)
    assert not is_quick(f) and len(f._retired) == 1


@pytest.mark.parametrize("wait", ["yes", 2])
def test_wait_is_true_or_false(wait):
    with pytest.raises(ArgumentError, match="wait: expected True or False, got"):
        program(wait=wait)


# The swap.


def test_entries_get_the_final_code_between_calls(gate):
    f = program()
    entry, x = entry_of(f), list(given(f).values())
    words = f._kernels.words
    wanted = entry(*x)
    assert words[0] == 0  # a call of the entry does not count, so the second one must come by as well
    entry(*x)
    quick = f._pieces["float64", 1].code.address
    assert words[0] == quick and gate.at_work.wait(60)
    gate.open.set()
    assert BACKGROUND.finish(60)
    assert words[0] == f._pieces["float64", 1].code.address != quick
    assert all(np.array_equal(bits(a), bits(b)) for a, b in zip(entry(*x), wanted, strict=True))


def test_code_is_swapped_while_other_threads_call():
    width = program().width("float64")
    for turn in range(3):
        f = program(identity=f"turn {turn}")
        entry = entry_of(f)
        x = [list(given(f, *batch).values()) for batch in ((), (8 * width,), (200_000,))]
        wanted = [entry(*args) for args in x]
        wrong, stop = [], threading.Event()

        def call(k, entry=entry, x=x, wanted=wanted, wrong=wrong, stop=stop):
            while not stop.is_set():
                found = entry(*x[k])
                if not all(np.array_equal(bits(a), bits(b)) for a, b in zip(found, wanted[k], strict=True)):
                    wrong.append(k)

        callers = [threading.Thread(target=call, args=(k,)) for k in (0, 1, 2, 2)]
        for c in callers:
            c.start()
        deadline = time.monotonic() + 60
        while any(p.facts.quick for p in f._pieces.values()) and time.monotonic() < deadline:
            time.sleep(0.001)
        stop.set()
        for c in callers:
            c.join(60)
        assert not wrong and not any(p.facts.quick for p in f._pieces.values())


def test_a_simulation_goes_on_with_final_code():
    robot = hinge.robots.chain(4)
    q, qd = np.full(robot.nq, 0.3), np.zeros(robot.nv)

    def simulated(**between):
        return hinge.simulate(robot, q, qd, t=0.1, dt=1e-3, **between)

    def control(t, q, qd):
        if t > 0.05:
            BACKGROUND.finish(60)
        return np.zeros_like(qd)

    first = simulated(control=control)
    assert np.array_equal(first.q, simulated(control=lambda t, q, qd: np.zeros_like(qd)).q)


# The cache.


def entry_facts():
    found = (pieces.read_entry(entry.key) for entry in cache.entries() if "×" in entry.label)
    return [entry.facts for entry in found if entry is not None]


def test_the_cache_ends_with_final_code():
    f = program()
    f(given(f))
    assert [facts.quick for facts in entry_facts()] == [True]
    f(given(f))
    assert BACKGROUND.finish(60)
    assert [facts.quick for facts in entry_facts()] == [False]
    again = program()
    assert same_bits(again(given(f)), f(given(f))) and again._pieces["float64", 1].from_cache
    assert not is_quick(again)


def test_quick_code_from_the_cache_is_replaced_and_traced_for_that():
    f = program()
    wanted = f(given(f))
    traced = []

    class Late:
        identity, label = "tiers", "blend"

        @property
        def code(self):
            traced.append(threading.current_thread() is threading.main_thread())
            return blending()

    again = NativeProgram(Late())
    for _ in range(2):
        assert same_bits(again(given(f)), wanted)
    assert is_quick(again) and again._pieces["float64", 1].from_cache
    assert BACKGROUND.finish(60) and not is_quick(again)
    assert traced and not any(traced)
    assert same_bits(again(given(f)), wanted)
    assert [facts.quick for facts in entry_facts()] == [False]


def test_final_code_of_another_process_is_taken(monkeypatch):
    f, other = program(), program(wait=True)
    f(given(f))
    other(given(f))

    def no_code(text, level):
        raise AssertionError("the code was made again")

    monkeypatch.setattr(pieces, "assembled_beside", no_code)
    f(given(f))
    assert BACKGROUND.finish(60) and not is_quick(f)
    assert f._pieces["float64", 1].from_cache


def test_a_program_that_is_dropped_makes_no_code(monkeypatch):
    monkeypatch.setattr(tiers, "SECONDS_A_LINE", 1.0)
    f, made = program(), []
    monkeypatch.setattr(pieces, "assembled_beside", lambda *args: made.append(args))
    x = given(f)
    f(x)
    f(x)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None and BACKGROUND.finish(60) and not made


# What may go wrong.


def failing(text, level):
    raise RuntimeError("out of registers")


def test_an_error_in_the_background_is_a_warning(monkeypatch):
    monkeypatch.setattr(pieces, "assembled_beside", failing)
    f = program()
    wanted = f(given(f))
    with pytest.warns(RuntimeWarning, match="blend, float64 × 1: .* out of registers; calls go on"):
        f(given(f))
        assert BACKGROUND.finish(60)
    assert is_quick(f) and same_bits(f(given(f)), wanted)
    monkeypatch.setenv("HINGE_WAIT", "1")
    with pytest.raises(RuntimeError, match="out of registers"):
        f(given(f))


def test_a_warning_that_is_an_error_does_not_stop_other_jobs():
    jobs, done = Background(), threading.Event()
    script = threading.excepthook
    reported = []
    threading.excepthook = lambda args: reported.append(args.exc_type)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda text, kind, **_: (_ for _ in ()).throw(kind(text)))
            jobs.submit(Job("a", 0.0, lambda: failing("", 1), lambda: None))
            jobs.submit(Job("b", 0.05, done.set, lambda: None))
            assert done.wait(60) and jobs.finish(60)
    finally:
        threading.excepthook = script
    assert reported == [RuntimeWarning]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_meanwhile_makes_its_own(gate):
    f = program()
    entry, x = entry_of(f), list(given(f).values())
    wanted, _ = entry(*x), entry(*x)
    assert gate.at_work.wait(60)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            hidden = f._kernels.words[0] == 0
            found = [entry(*x) for _ in range(3)]
            right = all(np.array_equal(a, b) for y in found for a, b in zip(y, wanted, strict=True))
            code = 0 if hidden and right and BACKGROUND.finish(60) and not is_quick(f) else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0 and is_quick(f)
    gate.open.set()
    assert BACKGROUND.finish(60)
    # The child's code was in the cache already, but this process had begun.
    assert not is_quick(f)


BEGUN = """
import os, sys, time
import numpy as np
import hinge
from hinge.targets.llvm import tiers
from hinge.targets.llvm.background import BACKGROUND

tiers.LONGEST_SECONDS = 1e-3
tiers.SECONDS_A_LINE = float(sys.argv[1])
robot = hinge.robots.random_tree(14, seed=2)
x = np.ones(robot.nv)
q = hinge.neutral(robot)
for _ in range(3):
    hinge.forward_dynamics(robot, q, x, x)
assert BACKGROUND._jobs
"""
FORKING = (
    BEGUN
    + """
for _ in range(2):
    time.sleep(0.05)
    child = os.fork()
    if child == 0:
        hinge.inverse_dynamics(robot, q, x, x)
        hinge.forward_dynamics(robot, q, x, x)
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
"""
)


def run_script(script, folder, seconds_a_line):
    env = {**os.environ, "HINGE_LEVEL": "1", "HINGE_CACHE_DIR": str(folder), "PYTHONWARNINGS": "ignore"}
    began = time.monotonic()
    command = [sys.executable, "-c", script, str(seconds_a_line)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stderr, time.monotonic() - began


def test_a_process_may_end_while_code_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("HINGE_CACHE_DIR", str(tmp_path))
    script = BEGUN + "\ntime.sleep(0.1)\nprint('end')"
    status, errors, _ = run_script(script, tmp_path, 1e-6)
    assert (status, errors) == (0, "")
    assert sum(facts.quick for facts in entry_facts()) == 0  # it waited for what was at work


def test_a_process_that_ends_soon_does_not_wait(tmp_path, monkeypatch):
    monkeypatch.setenv("HINGE_CACHE_DIR", str(tmp_path))
    status, errors, seconds = run_script(BEGUN, tmp_path, 1.0)
    assert (status, errors) == (0, "") and seconds < 60
    assert sum(facts.quick for facts in entry_facts()) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_children_forked_while_llvm_is_at_work_compile(tmp_path):
    status, errors, _ = run_script(FORKING, tmp_path, 1e-6)
    assert (status, errors) == (0, "")


def test_blocks_of_one_name_in_two_functions_are_cut_apart(monkeypatch):
    """A phi names blocks of its own function."""
    monkeypatch.setattr(tiers, "LONGEST_BLOCK", 3)
    long = "\n".join(f"  %x{k} = add i64 {k}, 1" for k in range(6))
    head, end = "define i64 @f() {\nentry:\n", "  br label %after\nafter:\n  %y = phi i64 [ 0, %entry ]\n}\n"
    first, second = tiers.in_short_blocks(f"{head}{end}{head}{long}\n{end}").split("define")[1:]
    assert "%entry ]" in first and "cut" not in first
    assert "%entry ]" not in second and second.count("cut") > 2
