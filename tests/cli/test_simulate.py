"""`hinge simulate`, `play`, `view` and `bench`: what they print and keep, and what they refuse."""

from __future__ import annotations

import os
import signal
from argparse import Namespace
from select import select
from unittest.mock import Mock

import numpy as np
import pytest

import hinge
from hinge.cli import bench
from hinge.cli.start import every
from hinge.errors import CommandLineError
from hinge.sim.progress import Bar, amount, line, span
from tests.cli.command import refused, start

DAMPED = """<robot name="damped"><link name="base"/>
<link name="arm"><inertial><origin xyz="1 0 0"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<dynamics damping="2"/></joint></robot>
"""
SHORT = ("--t", "0.02", "--dt", "0.002", "--quiet")


def rows(text: str) -> dict[str, str]:
    """Return the table of a summary."""
    return {x[:14].strip(): x[14:].strip() for x in text.splitlines() if not x.startswith("wrote")}


def test_without_a_robot_it_is_the_panda(hinge_command):
    done = hinge_command("simulate", *SHORT)
    assert done.code == 0 and done.err == ""
    shown = rows(done.out)
    assert shown["robot"] == "panda, 7 degrees of freedom"
    assert shown["motion"] == "0.02 s" and shown["steps"] == "10 of 0.002 s, rk4"
    assert shown["states"] == "1, 11 recorded times" and shown["endings"] == "no early endings"
    assert "state-steps per second" in shown["speed"] and "energy drift" in shown


def test_as_data_with_the_files_it_wrote(tmp_path, hinge_command):
    out, picture = tmp_path / "run.npz", tmp_path / "motion.png"
    words = (
        "double_pendulum",
        "--q0",
        "2",
        "-1",
        "--qd0=-0.5,1",
        "--out",
        out,
        "--picture",
        picture,
        "--json",
    )
    data = hinge_command("simulate", *words, *SHORT).data
    assert data["steps"] == 10 and data["states"] == 1 and data["files"] == [str(out), str(picture)]
    assert data["energy"]["relative"] < 1e-8 and not data["interrupted"] and data["endings"] == {}
    run = hinge.load_run(out)
    np.testing.assert_array_equal(run.q[0], [2, -1])
    np.testing.assert_array_equal(run.qd[0], [-0.5, 1])
    assert run.robot.name == "double_pendulum"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_same_seed_is_the_same_motion(tmp_path, hinge_command):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        words = ("--states", 3, "--qd0", "random", "--seed", seed, "--out", tmp_path / f"{name}.npz")
        assert hinge_command("simulate", "chain:2", *words, *SHORT).code == 0
    a, b, c = (hinge.load_run(tmp_path / f"{n}.npz") for n in "abc")
    np.testing.assert_array_equal(a.q, b.q)
    assert a.q.shape == (3, 11, 2) and not np.allclose(a.q[0], a.q[1]) and not np.allclose(a.q, c.q)


def test_parquet(tmp_path, hinge_command):
    pytest.importorskip("pyarrow")
    out = tmp_path / "run.parquet"
    assert (
        f"wrote {out}; watch it with: hinge play {out}"
        in hinge_command("simulate", "chain:2", "--out", out, *SHORT).out
    )
    assert hinge.load_run(out).q.shape == (11, 2)


@pytest.mark.parametrize("integrator", ["semi-implicit", "midpoint", "adaptive"])
def test_integrators(integrator, hinge_command):
    data = hinge_command("simulate", "double_pendulum", "--integrator", integrator, "--json", *SHORT).data
    assert data["integrator"] == integrator and data["recorded"] == 11
    assert (data["steps"] is None) == (integrator == "adaptive")


def test_controls_do_what_they_say(tmp_path, hinge_command):
    """Gravity compensation leaves a robot at rest where it is; `hold` brings it back after a push."""
    out = tmp_path / "run.npz"
    assert (
        hinge_command("simulate", "double_pendulum", "--control", "gravity", "--out", out, *SHORT).code == 0
    )
    run = hinge.load_run(out)
    assert np.abs(run.q - run.q[0]).max() < 1e-12
    words = ("--control", "hold", "--qd0", 1, "--t", 2, "--dt", 0.02, "--quiet")
    done = hinge_command("simulate", "double_pendulum", *words, "--out", out)
    assert done.code == 0 and rows(done.out.replace("energy change ", "energy change"))["control"] == "hold"
    run = hinge.load_run(out)
    assert np.abs(run.q - run.q[0]).max() > 1e-2 and np.abs(run.q[-1] - run.q[0]).max() < 2e-2
    done = hinge_command(
        "simulate", "spacecraft", "--control", "hold", "--qd0", "random", "--out", out, *SHORT
    )
    assert done.code == 0 and not hinge.load_run(out).tau[:, :6].any()


def test_a_damper_takes_energy_unless_it_is_left_out(tmp_path, hinge_command):
    path = tmp_path / "arm.urdf"
    path.write_text(DAMPED, encoding="utf-8")
    assert "energy change" in hinge_command("simulate", path, "--qd0", 1, *SHORT).out
    data = hinge_command("simulate", path, "--qd0", 1, "--no-passive", "--json", *SHORT).data
    assert data["conservative"] and data["energy"]["relative"] < 1e-8


def test_another_gravity(hinge_command):
    still = ("--q0", "neutral", "--gravity", 0, 0, 0, "--json")
    assert hinge_command("simulate", "double_pendulum", *still, *SHORT).data["energy"]["largest_kinetic"] == 0


@pytest.mark.parametrize(
    ("words", "key", "wanted"),
    [
        (("--qd0", "-1e-2"), "qd0", [-0.01]),
        (("--q0", "-1E-2,-.5"), "q0", [-0.01, -0.5]),
        (("--q0", "-1.e+0", "-2"), "q0", [-1.0, -2.0]),
    ],
)
def test_negative_numbers_are_no_options(words, key, wanted, hinge_command, monkeypatch):
    monkeypatch.setattr("hinge.cli.simulate.start_of", seen := Mock(side_effect=CommandLineError("enough")))
    done = hinge_command("simulate", "double_pendulum", *words, *SHORT)
    assert done.err == "hinge simulate: error: enough\n"
    robot, q0, qd0 = seen.call_args.args
    assert robot.nq == 2
    assert {"q0": q0, "qd0": qd0}[key].tolist() == wanted


def test_a_small_gravity(hinge_command):
    found = hinge_command(
        "simulate", "double_pendulum", "--q0", "2", "--gravity", 0, 0, "-1e-3", "--json", *SHORT
    )
    assert 0 < found.data["energy"]["largest_kinetic"] < 1e-3


def test_how_much_is_kept(hinge_command):
    few = hinge_command("simulate", "double_pendulum", "--record", 0, "--json", *SHORT).data
    some = hinge_command("simulate", "double_pendulum", "--record", 4, "--json", *SHORT).data
    assert few["recorded"] == 2 and some["recorded"] == 4


@pytest.mark.parametrize(("steps", "states", "record"), [(10, 1, 1), (5000, 1, 5), (1000, 10**6, 250)])
def test_a_choice_of_what_is_kept(steps, states, record):
    asked = Namespace(t=1.0, dt=1 / steps, states=states, record=None)
    assert every(hinge.robots.double_pendulum(), asked) == record


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_does_not_stay_finite_failed(hinge_command):
    done = hinge_command("simulate", "double_pendulum", "--t", 5, "--dt", 0.5, "--qd0", 1e5, "--quiet")
    assert done.code == 1
    assert "1 ended early: the state is not finite any more" in done.out
    assert done.err == "hinge simulate: error: no state reached the end; take a shorter --dt\n"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("nowhere.urdf",), "ROBOT: expected a file or a built-in robot, got nowhere.urdf"),
        (("panda", "--q0", "1", "2"), "--q0: expected 7 numbers, nq of panda, or one for all, got 2"),
        (("panda", "--qd0", "fast"), "--qd0: expected numbers, or random, got 'fast'"),
        (("panda", "--q0", "nan"), "--q0: expected finite numbers, got 'nan'"),
        (("panda", "--t", "-1"), "--t: expected seconds above zero, got -1"),
        (("panda", "--dt", "0"), "--dt: expected seconds above zero, got 0"),
        (("panda", "--dt", "inf"), "--dt: expected seconds above zero, got inf"),
        (("panda", "--states", "0"), "--states: expected an integer ≥ 1, got 0"),
        (("panda", "--seed", "-3"), "--seed: expected an integer ≥ 0, got -3"),
        (("panda", "--record", "-1"), "--record: expected 1 for every step, N for every N-th, or 0, got -1"),
        (("panda", "--states", "9999999", "--record", "1"), "GB, the machine has"),
        (("panda", "--rtol", "1e-9"), "--rtol: expected --integrator adaptive with it; leave it out"),
        (
            ("panda", "--integrator", "adaptive", "--rtol", "2"),
            "rtol: expected a number from 0 to 1, such as 1e-8, got 2.0",
        ),
        (("panda", "--out", "run.csv"), "--out: expected a name that ends in .npz or .parquet, got run.csv"),
        (("panda", "--out", "none/run.npz"), "--out: the directory none does not exist; create it"),
        (("panda", "--picture", "none/a.png"), "--picture: the directory none does not exist"),
        (
            ("panda", "--picture", "a.exe"),
            "--picture: expected a name that ends in .png or .svg or .pdf or .jpg, got a.exe",
        ),
    ],
)
def test_what_is_refused_is_one_line(words, wanted, hinge_command):
    refused(hinge_command("simulate", *words), wanted)


@pytest.mark.parametrize(
    "words", [("--integrator", "magic"), ("--t", "long"), ("--gravity", "1"), ("a", "b")]
)
def test_what_argparse_refuses(words, hinge_command):
    done = hinge_command("simulate", *words)
    assert done.code == 2 and done.out == "" and "hinge simulate: error: " in done.err


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the system's owner may write anywhere")
def test_a_directory_that_may_not_be_written(tmp_path, hinge_command):
    (tmp_path / "held").mkdir(mode=0o500)
    refused(hinge_command("simulate", "--out", tmp_path / "held" / "run.npz"), "--out: ", "is not writable")


@pytest.mark.parametrize(
    ("words", "extra"), [(("--out", "a.parquet"), "data"), (("--picture", "a.png"), "view")]
)
def test_what_an_extra_is_needed_for_is_said_before_the_work(words, extra, hinge_command, monkeypatch):
    monkeypatch.setattr("hinge.cli.output.find_spec", lambda _: None)
    refused(
        hinge_command("simulate", *words), f"{words[0]}: this needs ", f'pip install "hinge[{extra}]"', code=1
    )


# Interruption.


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_what_was_computed_is_kept_when_interrupted(tmp_path):
    out = tmp_path / "run.npz"
    ours, its = os.openpty()  # the bar, which is for terminals, tells when it is under way
    process = start("simulate", "double_pendulum", "--t", 500, "--record", 1, "--out", out, stderr=its)
    os.close(its)
    err = ""
    while "%" not in err and select([ours], [], [], 30)[0]:
        err += os.read(ours, 4096).decode()
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=30)
    err += os.read(ours, 4096).decode()
    os.close(ours)
    assert process.returncode == 130, err
    assert "preparing …" in err and "Traceback" not in err
    assert "hinge simulate: interrupted at t = " in err and "of 500 s" in err
    assert "interrupted" in text and f"wrote {out}" in text
    run = hinge.load_run(out)
    assert 1 < len(run.t) < 10_000_000 and np.isfinite(run.q).all()


# The viewer.


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return the path of a short run."""
    path = tmp_path_factory.mktemp("runs") / "run.npz"
    return hinge.save_run(hinge.simulate(hinge.robots.double_pendulum(), [2.0, 1.0], t=0.1, dt=0.01), path)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("command", ["play", "view"])
def test_the_viewer_runs_until_it_is_interrupted(command, kept):
    pytest.importorskip("viser")
    process = start(command, kept if command == "play" else "double_pendulum", "--port", 0)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("Viewer at http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0 and "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("play", "none.npz"), "FILE: none.npz does not exist; hinge simulate --out none.npz makes one"),
        (
            ("play", "{kept}", "--port", "99999"),
            "port: expected a number from 1 to 65535, or 0 for any free port, got 99999",
        ),
        (("play", "{kept}", "--runs", "5"), "runs"),
        (("view", "nowhere.urdf"), "ROBOT: expected a file or a built-in robot, got nowhere.urdf"),
        (("view", "panda", "--q0", "1", "2"), "--q0: expected 7 numbers, nq of panda, or one for all, got 2"),
    ],
)
def test_what_cannot_be_shown(words, wanted, kept, hinge_command):
    refused(hinge_command(*(w.format(kept=kept) for w in words)), wanted)


def test_a_file_that_is_no_run_failed(tmp_path, hinge_command):
    path = tmp_path / "run.npz"
    path.write_bytes(b"no run")
    refused(hinge_command("play", path), f"{path}: is not a run", code=1)


# Measuring.


def test_bench(hinge_command, monkeypatch):
    monkeypatch.setattr(bench, "SPENT", 0.0)
    done = hinge_command("bench", "double_pendulum", "--states", 10, "--quiet")
    assert done.code == 0 and done.out.startswith(
        "double_pendulum, nv = 2: nanoseconds per state; batches of 10"
    )
    data = hinge_command("bench", "double_pendulum", "--states", 10, "--json").data
    assert set(data["ns_per_state"]) >= {"forward_dynamics", "inverse_dynamics", "mass_matrix"}
    assert all(x > 0 for row in data["ns_per_state"].values() for x in row.values())
    refused(hinge_command("bench", "--states", 0), "--states: expected an integer ≥ 1, got 0")


# The bar.


def test_a_bar_says_how_far_how_fast_and_how_long():
    assert (
        line(30, 120, 2.0, unit="steps", per=1000.0) == f"{'█' * 6}{'░' * 18}  25 %  2 k steps/s  45 s left"
    )
    assert line(0, 10, 0.0, unit="steps", per=1.0).endswith("0 steps/s  ? left")


@pytest.mark.parametrize(("number", "text"), [(1234567, "1.23 M"), (2.5e9, "2.5 G"), (12, "12"), (0, "0")])
def test_amounts(number, text):
    assert amount(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.25, "0.2 s"), (59, "59 s"), (61, "1 min 01 s"), (3700, "1 h 01 min")]
)
def test_spans(seconds, text):
    assert span(seconds) == text


def test_a_bar_is_for_terminals(capsys, monkeypatch):
    with Bar() as bar:
        bar(1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Bar(quiet=True) as bar:
        bar(1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("hinge.sim.progress.FIRST", 0.0)
    monkeypatch.setattr("hinge.sim.progress.EVERY", 0.0)
    with Bar() as bar:
        for k in range(3):
            bar(k, 2)
    shown = capsys.readouterr().err
    assert shown.startswith("\rpreparing …\r") and "100 %" in shown and shown.endswith(" \r")
