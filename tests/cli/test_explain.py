"""`hinge explain` shows where an algorithm comes from; what is wrong is one line and exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import hinge
from hinge.cli import main
from hinge.cli.explain import OF_CLOSED, OF_CONTACTS, OF_FREE_BASES, OF_ONE_FRAME, VERBS, WITHOUT, explained
from hinge.cli.robot_argument import BUILT_IN
from hinge.contents import ENTRIES
from hinge.dynamics import compiled, derivative_parts
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


def _every_verb() -> set[str]:
    """Return the public verbs of dynamics: functions of a robot that are no rooms, classes or tools."""
    found = {e.name: getattr(hinge, e.name) for e in ENTRIES if e.room == "hinge.dynamics"}
    return {n for n, f in found.items() if not isinstance(f, type)} - {"compile", "embed_loops", "loop_costs"}


def test_every_verb_is_in_the_list():
    assert _every_verb() <= {*VERBS, *WITHOUT}
    assert not {*VERBS} & {*WITHOUT} and {*WITHOUT} <= _every_verb()


def test_verbs_that_split_the_coordinates():
    found = explained("hybrid_dynamics", None, [], "body", False)
    assert found.robot.name == "panda" and found.binding.prescribed == {"joint7"}
    assert explained("hybrid_dynamics", None, [], "body", False, ["joint2"]).binding.prescribed == {"joint2"}
    for verb in OF_FREE_BASES:
        found = explained(verb, None, [], "body", False)
        base = [j.name for j in found.robot.joints if j.type.kind == "free"]
        assert found.robot.name == "spacecraft"
        assert found.binding.prescribed == {j.name for j in found.robot.joints if j.nv} - {*base}


@pytest.mark.parametrize(
    "verb", ["hybrid_dynamics", "generalized_jacobian", "centroidal_momentum", "partitioned"]
)
def test_a_page_of_verbs_with_several_results(verb, tmp_path, capsys):
    out = tmp_path / "page.html"
    robot = ["--robot", "chain:2"] if verb != "generalized_jacobian" else []
    assert main(["explain", verb, *robot, "--html", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    is_harmless(read(text), text)
    assert main(["explain", verb, *robot]) == 0
    assert "wrote" in capsys.readouterr().out


@pytest.mark.parametrize("verb", [v for v in VERBS if v not in (*OF_FREE_BASES, *OF_CLOSED, *OF_CONTACTS)])
def test_every_verb_is_found(verb):
    found = explained(verb, None if verb in OF_CLOSED else "double_pendulum", [], "body", False)
    if verb in OF_ONE_FRAME:
        assert found.binding.nodes == ("lower",)
    if verb == "velocities":
        assert found.binding.nodes == ("upper", "lower")
    if verb == "forward_dynamics":
        assert found.binding.nodes == ()


@pytest.mark.parametrize("verb", OF_CLOSED)
def test_verbs_of_closures_are_shown_for_a_four_bar(verb):
    assert explained(verb, None, [], "body", False).robot.name == "four_bar"


@pytest.mark.parametrize("verb", OF_CONTACTS)
def test_verbs_of_contacts_are_shown_for_a_quadruped_on_its_feet(verb):
    found = explained(verb, None, [], "body", False)
    assert [c.frame for c in found.robot.contacts] == [f"{leg}_foot" for leg in ("FL", "FR", "HL", "HR")]


def test_a_law_of_contact_is_part_of_the_explanation(capsys):
    assert main(["explain", "contact_step"]) == 0
    assert "answer λ in its sets" in capsys.readouterr().out


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_robot_is_there(name):
    assert explained("gravity_force", name, [], "body", False).robot.nv > 0


def test_frames_and_axes():
    found = explained("jacobian", "spacecraft", ["left_hand"], "world-aligned", False)
    assert found.binding.nodes == ("left_hand",) and found.binding.expressed == "world-aligned"


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["fly"], "VERB: expected a verb, got 'fly'; the verbs are inverse_dynamics"),
        (["forward_dynamic"], "got 'forward_dynamic'; did you mean 'forward_dynamics' or "),
        (
            ["inverse_kinematics"],
            "VERB: inverse_kinematics is a search, not an expression; explain forward_k",
        ),
        (["mass_matrix", "--prescribed", "joint1"], "--prescribed: mass_matrix does not split coordinates"),
        (["hybrid_dynamics", "--prescribed", "joint11"], "no joint 'joint11'; did you mean 'joint1'"),
        (["generalized_jacobian", "--robot", "panda"], "--robot: expected a robot on a free base for gen"),
        (
            ["generalized_jacobian", "--prescribed", "left_shoulder"],
            "--prescribed: generalized_jacobian has all joints but the base prescribed",
        ),
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


def test_a_robot_without_its_option(capsys):
    with pytest.raises(SystemExit):
        main(["explain", "forward_dynamics", "panda"])
    assert "unknown: panda; a robot is given as --robot ROBOT" in capsys.readouterr().err


def test_help_has_all_verbs(capsys):
    with pytest.raises(SystemExit):
        main(["explain", "--help"])
    shown = capsys.readouterr().out
    assert all(verb in shown for verb in VERBS)


def test_derivatives(capsys):
    assert main(["explain", "gravity_force", "--by", "q", "--robot", "double_pendulum"]) == 0
    assert "gravity_force_by_q" in capsys.readouterr().out
    assert main(["explain", "forward_dynamics", "--by", "q", "--robot", "double_pendulum"]) == 0
    form = derivative_parts("forward_dynamics", ("q",))
    own = compiled(hinge.robots.double_pendulum(), form)
    assert own.explain() in capsys.readouterr().out  # what forward_dynamics_derivatives runs
    found = explained("coriolis_force", "double_pendulum", [], "body", False, by=("q", "qd"))
    assert set(found.given) == {"coriolis_force_by_q", "coriolis_force_by_qd"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gravity_force", "--by", "qd"], "gravity_force does not depend on qd"),
        (["mass_matrix", "--by", "q"], "three indices"),
        (["log_determinant", "--by", "q"], "log_determinant_gradient"),
        (["closed_dynamics", "--by", "q"], "read off"),
        (["gravity_force", "--by", "qq"], "by: expected 'q'"),
        (["forward_dynamics_derivatives"], "hinge explain forward_dynamics --by q"),
    ],
)
def test_derivatives_that_are_not(capsys, words, message):
    assert main(["explain", *words]) == 2
    assert message in capsys.readouterr().err
