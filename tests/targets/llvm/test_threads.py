from __future__ import annotations

import os
import subprocess
import sys
import threading
from itertools import pairwise
from textwrap import dedent

import numpy as np
import pytest

import hinge
from hinge.errors import ArgumentError
from hinge.targets.llvm import native_program as program
from hinge.targets.llvm import pieces, threads
from hinge.targets.llvm.threads import MOST, _Workers, run_parts, set_threads, split
from tests.targets.llvm.running import blended, blending, native

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")


@pytest.fixture(autouse=True)
def default(monkeypatch):
    """Begin and end with the default number of threads."""
    monkeypatch.delenv("HINGE_THREADS", raising=False)
    set_threads(None)
    yield
    set_threads(None)


# How many.


def test_the_default_is_the_cores_of_this_process():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert threads.threads() == cores


@pytest.mark.parametrize("n", [1, 2, 3, MOST])
def test_the_number_that_was_set_counts(n, monkeypatch):
    monkeypatch.setenv("HINGE_THREADS", "7")
    hinge.set_threads(n)
    assert threads.threads() == n
    hinge.set_threads(None)
    assert threads.threads() == 7


@pytest.mark.parametrize("n", [0, -1, MOST + 1, 1.0, 2.5, "2", True, False, [2], np.float64(2), (), 10**30])
def test_what_is_no_number_of_threads_is_refused(n):
    set_threads(3)
    with pytest.raises(
        ArgumentError, match=f"n: expected a number of threads from 1 to {MOST}, or None, got"
    ):
        set_threads(n)
    assert threads.threads() == 3


@pytest.mark.parametrize("text", ["1", "2", "16", "1024", "0004"])
def test_the_environment_is_read(text, monkeypatch):
    monkeypatch.setenv("HINGE_THREADS", text)
    assert threads.threads() == int(text)


@pytest.mark.parametrize("text", ["0", "-1", "1025", "two", "1.0", " ", "2 cores", "²", "9" * 5000, "1e2"])
def test_an_environment_that_is_no_number_is_named(text, monkeypatch):
    monkeypatch.setenv("HINGE_THREADS", text)
    with pytest.raises(ArgumentError, match="HINGE_THREADS: expected a number from 1 to"):
        threads.threads()


def test_an_empty_variable_is_none(monkeypatch):
    before = threads.threads()
    monkeypatch.setenv("HINGE_THREADS", "")
    assert threads.threads() == before


@pytest.mark.parametrize("variable", ["1", "2"])
def test_one_thread_by_the_environment_is_as_good_as_by_a_call(variable, monkeypatch):
    monkeypatch.setenv("HINGE_THREADS", variable)
    set_threads(None)
    assert bool(threads.ALONE[0]) is (variable == "1")
    set_threads(1)
    assert threads.ALONE[0]
    set_threads(2)
    assert not threads.ALONE[0]
    monkeypatch.setenv("HINGE_THREADS", "many")
    set_threads(None)
    assert not threads.ALONE[0]


def test_the_environment_is_read_when_the_target_is_loaded():
    said = in_process("work(0); print(int(threads.ALONE[0]), work(0)[2])", HINGE_THREADS="1")
    assert said == ["1", "[]"]


def test_a_batch_is_shared_only_where_that_pays(monkeypatch):
    robot = hinge.robots.panda()
    x = np.zeros((1024, 7))
    hinge.forward_dynamics(robot, x, x, x)
    set_threads(2)

    def shared(work, parts):
        raise AssertionError(parts)

    monkeypatch.setattr(pieces, "run_parts", shared)
    hinge.forward_dynamics(robot, x, x, x)
    hinge.forward_dynamics(robot, x, x, x, out=np.empty((1024, 7)))


# Who does what.


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_parts_cover_a_batch_in_blocks(n, width):
    set_threads(n)
    for least in (0, 1, 5, 64):
        for count in [*range(width, 70), 1000]:
            parts = list(split(count, width, least))
            assert parts[0][0] == 0 and parts[-1][1] == count and len(parts) <= n
            assert all(a[1] == b[0] for a, b in pairwise(parts))
            assert all((stop - start) % width == 0 for start, stop in parts[:-1])
            assert all(stop - start >= width for start, stop in parts)
            assert len(parts) == 1 or all(
                stop - start >= min(least, count) - width for start, stop in parts[:-1]
            )


def test_a_small_batch_is_one_part():
    set_threads(8)
    assert list(split(100, 4, 1000)) == [(0, 100)]
    assert len(list(split(100, 4, 10))) > 1


def test_each_part_runs_once_in_a_thread_of_its_own():
    seen, together = [], threading.Barrier(3, timeout=20)

    def work(start, stop):
        together.wait()
        seen.append((start, stop, threading.current_thread()))

    parts = [(0, 4), (4, 8), (8, 9)]
    run_parts(work, parts)
    assert sorted(s[:2] for s in seen) == parts and len({s[2] for s in seen}) == 3
    assert next(s[2] for s in seen if s[0] == 0) is threading.current_thread()


@pytest.mark.parametrize("bad", [0, 4, 8])
def test_what_goes_wrong_in_a_part_is_raised_when_all_are_done(bad):
    done = []

    def work(start, stop):
        if start == bad:
            raise ValueError(f"part {start}")
        done.append(start)

    with pytest.raises(ValueError, match=f"part {bad}"):
        run_parts(work, [(0, 4), (4, 8), (8, 9)])
    assert sorted(done) == sorted({0, 4, 8} - {bad})


def test_an_interrupt_waits_for_the_other_parts(monkeypatch):
    finished, go, begun = [], threading.Event(), threading.Barrier(3, timeout=20)

    def work(start, stop):
        begun.wait()
        if start:
            go.wait(0.5)
            finished.append(start)

    def interrupted(job, *, wanted):
        monkeypatch.undo()
        threading.Timer(0.1, go.set).start()
        raise KeyboardInterrupt

    monkeypatch.setattr("hinge.targets.llvm.threads._Job.settle", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_parts(work, [(0, 1), (1, 2), (2, 3)])
    assert sorted(finished) == [1, 2], "arrays may be gone while threads still write into them"


def test_after_an_interrupt_parts_that_nobody_has_begun_are_given_up(monkeypatch):
    monkeypatch.setattr("hinge.targets.llvm.threads._workers", _Workers())  # two threads, and no more
    held, begun, seen = threading.Event(), threading.Barrier(4, timeout=20), []
    parts = [(0, 1), (1, 2), (2, 3)]

    def busy(start, stop):
        begun.wait()
        if start:
            held.wait(20)

    def work(start, stop):
        if not start:
            raise KeyboardInterrupt
        seen.append(start)

    keeper = threading.Thread(target=run_parts, args=(busy, parts))
    keeper.start()
    begun.wait()
    with pytest.raises(KeyboardInterrupt):
        run_parts(work, parts)
    held.set()
    keeper.join()
    run_parts(lambda start, stop: None, parts)  # the threads have seen what was given up
    assert seen == []


def test_many_threads_of_the_user_may_call_at_once(monkeypatch):
    monkeypatch.setattr(program, "LEAST_WORK", 1)
    set_threads(3)
    f = native(blending(), lanes=4)
    found = {}

    def call(k):
        q, u = np.random.default_rng(k).standard_normal((2, 501, 3))
        u = u[:, :2].copy()
        for _ in range(10):
            found[k] = all(
                np.allclose(f({"q": q, "u": u})[n], x, rtol=1e-14, atol=1e-14)
                for n, x in blended(q, u).items()
            )

    callers = [threading.Thread(target=call, args=(k,)) for k in range(6)]
    for c in callers:
        c.start()
    for c in callers:
        c.join(60)
    assert found == dict.fromkeys(range(6), True)


# Other processes.

START = """
    import multiprocessing, os, sys
    import numpy as np
    import hinge
    from hinge.targets.llvm import native_program as program, pieces, threads
    program.LEAST_WORK = 1
    robot = hinge.robots.double_pendulum()
    q = np.linspace(-1, 1, 400).reshape(200, 2)

    def work(k):
        seen, real = [], pieces.run_parts
        pieces.run_parts = lambda w, parts: seen.append(len(parts)) or real(w, parts)
        found = hinge.forward_dynamics(robot, q + k, q, q, out=np.empty((200, 2)))
        pieces.run_parts = real
        return found, threads.threads(), seen
"""


def in_process(text, **variables):
    """Run Python in a process of its own, which must end by itself."""
    code = dedent(START) + dedent(text)
    env = {k: v for k, v in os.environ.items() if k != "HINGE_THREADS"} | variables
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@posix
@pytest.mark.parametrize("threads_before", [1, 3])
def test_a_fork_after_threads_were_used_does_not_hang(threads_before):
    said = in_process(f"""
        hinge.set_threads({threads_before})
        work(0)  # to compile
        here = work(0)
        child = os.fork()
        if child == 0:
            there = work(0)
            seen = [{threads_before}] if {threads_before} > 1 else []  # one thread needs no Python
            same = np.array_equal(here[0], there[0]) and here[2] == there[2] == seen
            os._exit(0 if same else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert said == ["0"]


@posix
def test_a_pool_of_forks_works_with_one_thread_each():
    said = in_process("""
        hinge.set_threads(None)
        os.environ["HINGE_THREADS"] = "2"
        wanted = [work(k)[0] for k in range(4)]
        del os.environ["HINGE_THREADS"]
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found = pool.map(work, range(4))
        print(all(np.array_equal(x, f[0]) for x, f in zip(wanted, found)), {f[1] for f in found} == {1})
        print(all(f[2] in ([1], []) for f in found))
    """)
    assert said == ["True", "True", "True"]


def test_a_pool_of_new_processes_works_with_one_thread_each(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(
        dedent(START)
        + dedent("""
        if __name__ == "__main__":
            wanted = [work(k)[0] for k in range(4)]
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                found = pool.map(work, range(4))
            print(all(np.array_equal(x, f[0]) for x, f in zip(wanted, found)), {f[1] for f in found} == {1})
        """),
        encoding="utf-8",
    )
    env = {k: v for k, v in os.environ.items() if k != "HINGE_THREADS"}
    done = subprocess.run(
        [sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_a_pool_may_ask_for_more():
    said = in_process(
        """
        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(pool.map(work, [0])[0][1:])
        """,
        HINGE_THREADS="2",
    )
    assert "".join(said) == "(2,[2])"


def test_batches_are_worked_on_while_the_interpreter_ends():
    said = in_process("""
        import atexit
        hinge.set_threads(2)
        here = work(0)[0]
        atexit.register(lambda: print(np.array_equal(work(0)[0], here)))
    """)
    assert said == ["True"]


@posix
def test_an_interrupt_of_a_long_batch_ends_it_without_harm():
    said = in_process("""
        import signal, gc
        hinge.set_threads(3)
        big = np.zeros((300_000, 2))
        work(0)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        for delay in np.linspace(0.001, 0.02, 24):
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                while True:
                    hinge.forward_dynamics(robot, big.copy(), big.copy(), big.copy())
            except KeyboardInterrupt:
                pass
            gc.collect()
        print(np.isfinite(work(0)[0]).all())
    """)
    assert said == ["True"]


def test_a_call_in_the_middle_of_another_works_alone():
    done = []

    def inner(start, stop):
        done.append((start, threading.current_thread()))

    def outer(start, stop):
        if start == 0:
            run_parts(inner, [(0, 1), (1, 2)])

    run_parts(outer, [(0, 1), (1, 2)])
    assert done == [(0, threading.current_thread()), (1, threading.current_thread())]
    run_parts(inner, [(0, 1), (1, 2)])
    assert len({thread for _, thread in done[2:]}) == 2


@posix
def test_a_verb_in_a_signal_handler_does_not_hang():
    said = in_process("""
        import signal
        hinge.set_threads(2)
        big, calls = np.zeros((3000, 2)), []
        wanted = hinge.forward_dynamics(robot, big, big, big)

        def handler(*_):
            calls.append(np.array_equal(hinge.forward_dynamics(robot, big, big, big), wanted))
            signal.setitimer(signal.ITIMER_REAL, 0.0005)

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        while len(calls) < 1500:
            hinge.forward_dynamics(robot, big, big, big)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(all(calls))
    """)
    assert said == ["True"]


@posix
def test_a_fork_while_another_thread_loads_names_does_not_hang():
    """Names are loaded late, which may compile; the fork waits for that."""
    code = """
        import os, threading, time
        import hinge
        wanted = threading.Thread(target=lambda: hinge.mass_matrix(hinge.robots.chain(2), [0.0, 0.0]))
        wanted.start()
        children = []
        for k in range(6):
            time.sleep(0.03)
            children.append(os.fork())
            if children[-1] == 0:
                os._exit(hinge.mass_matrix(hinge.robots.chain(2), [0.0, 0.0]).shape != (2, 2))
        ends, last = [], time.monotonic() + 60
        for child in children:
            while (status := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < last:
                time.sleep(0.01)
            if status == (0, 0):
                os.kill(child, 9)
                os.waitpid(child, 0)
            ends.append(status)
        print(all(end[0] and end[1] == 0 for end in ends))
    """
    words = [sys.executable, "-W", "error", "-c", dedent(code)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["True"], done.stderr


@posix
@pytest.mark.parametrize("cache", ["0", "1"])
def test_a_fork_while_another_thread_compiles_does_not_hang(cache, tmp_path):
    said = in_process(
        """
        import threading, time
        ends = threading.Event()

        def compile_for_ever():
            n = 0
            while not ends.is_set():
                n += 1
                hinge.mass_matrix(hinge.robots.chain(2 + n % 5), np.zeros(2 + n % 5))

        work(0)
        compiling = threading.Thread(target=compile_for_ever, daemon=True)
        compiling.start()
        ends_well = []
        for k in range(8):
            time.sleep(0.02 + 0.003 * k)
            child = os.fork()
            if child == 0:
                found = hinge.mass_matrix(hinge.robots.chain(2), np.zeros(2))
                os._exit(0 if found.shape == (2, 2) else 1)
            for _ in range(160):
                if (status := os.waitpid(child, os.WNOHANG)) != (0, 0):
                    ends_well.append(os.waitstatus_to_exitcode(status[1]))
                    break
                time.sleep(0.05)
            else:
                os.kill(child, 9)
                ends_well.append("hangs")
        ends.set()
        compiling.join()
        print(ends_well == [0] * 8, *set(ends_well))
        """,
        HINGE_CACHE=cache,
        HINGE_CACHE_DIR=str(tmp_path),
    )
    assert said == ["True", "0"]
