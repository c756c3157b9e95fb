"""`hinge explain` shows where an algorithm comes from; what is wrong is one line and exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import hinge
from hinge.cli import main
from hinge.cli.explain import OF_ONE_FRAME, READ_OFF, explained
from hinge.cli.robot_argument import BUILT_IN
from hinge.dynamics import CATALOGUE, compiled
from tests.explain.reading import is_harmless, read


@pytest.fixture(autouse=True)
def without_a_compiler(monkeypatch):
    monkeypatch.setenv("HINGE_TARGET", "numpy")


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    hinge.write_urdf(hinge.robots.double_pendulum(), path)
    return path


def test_text_is_what_explain_prints(capsys):
    assert main(["explain", "mass_matrix"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{compiled(hinge.robots.panda(), 'mass_matrix').explain()}\n"
    assert err == ""


def test_a_page_for_a_file(arm, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert main(["explain", "mass_matrix", "--robot", str(arm), "--floating", "--html", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    is_harmless(read(text), text)
    assert "double_pendulum" in text and "floating base" in text
    assert capsys.readouterr().out == f"wrote {out}, {len(text.encode()) / 1000:.0f} kB\n"


@pytest.mark.parametrize("verb", [*CATALOGUE, *READ_OFF])
def test_every_verb_is_found(verb):
    found = explained(verb, "double_pendulum", [], "body", False)
    if verb in OF_ONE_FRAME:
        assert found.binding.nodes == ("lower",)
    if verb == "velocities":
        assert found.binding.nodes == ("upper", "lower")
    if verb == "forward_dynamics":
        assert found.binding.nodes == ()


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_robot_is_there(name):
    assert explained("gravity_force", name, [], "body", False).robot.nv > 0


def test_frames_and_axes():
    found = explained("jacobian", "spacecraft", ["left_hand"], "world-aligned", False)
    assert found.binding.nodes == ("left_hand",) and found.binding.expressed == "world-aligned"


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["fly"], "verb: expected a verb, got 'fly'; the verbs are inverse_dynamics"),
        (
            ["mass_matrix", "--robot", "nowhere.urdf"],
            "--robot: expected a file or a built-in robot, got nowhere.urdf; the built-in robots are panda",
        ),
        (["mass_matrix", "--robot", "{folder}"], "{folder}"),
        (["mass_matrix", "--robot", "{folder}/broken.urdf"], "broken.urdf:1"),
        (["mass_matrix", "--html", "{folder}/none/page.html"], "{folder}/none/page.html: No such file"),
        (["mass_matrix", "--html", "{folder}"], "{folder}: Is a directory"),
        (["mass_matrix", "--frame", "link7"], "--frame: mass_matrix takes no frame"),
        (["mass_matrix", "--expressed", "world"], "--expressed: mass_matrix takes no axes"),
        (["mass_matrix", "--floating"], "--floating: expected the robot of a file, got panda"),
        (["jacobian", "--frame", "nose"], "nose"),
        (
            ["classical_accelerations", "--expressed", "world"],
            "--expressed: expected 'body' or 'world-aligned', got 'world', which moves the origin",
        ),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(arguments, wanted, tmp_path, capsys):
    (tmp_path / "broken.urdf").write_text("<robot", encoding="utf-8")
    assert main(["explain", *(a.format(folder=tmp_path) for a in arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("hinge explain: error: ") and err.count("\n") == 1
    assert wanted.format(folder=tmp_path) in err


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the system's owner may write anywhere")
def test_a_file_that_may_not_be_written(tmp_path):
    (tmp_path / "page.html").touch(mode=0o400)
    assert main(["explain", "gravity_force", "--html", str(tmp_path / "page.html")]) == 2


def test_the_command_line_itself():
    command = [sys.executable, "-m", "hinge", "explain", "fly"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_help_has_all_verbs(capsys):
    with pytest.raises(SystemExit):
        main(["explain", "--help"])
    shown = capsys.readouterr().out
    assert all(verb in shown for verb in [*CATALOGUE, *READ_OFF])
