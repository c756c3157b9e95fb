"""Commands say what a file lost on its way to a robot, one line for each kind."""

from __future__ import annotations

import pytest

pytest.importorskip("mujoco", reason="MuJoCo has no wheel for this platform")

from hinge.cli import view

LOOP = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body name="a" pos="0 0 1"><joint name="j1"/><geom size=".1" pos=".3 0 0"/>
<body name="b" pos=".5 0 0"><joint name="j2"/><geom size=".1" pos=".2 0 0"/></body></body></worldbody>
<equality><connect body1="b" anchor="0 0 1"/><joint joint1="j2" joint2="j1"/></equality>
<actuator><motor joint="j1"/></actuator></mujoco>
"""
MIMIC = """<robot name="hand"><link name="palm"/>
{fingers}
</robot>
"""
FINGER = """<link name="f{k}"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j{k}" type="revolute"><parent link="palm"/><child link="f{k}"/><axis xyz="0 0 {length}"/>
<limit lower="{low}" upper="90"/>{mimic}</joint>"""


@pytest.fixture
def loop(tmp_path):
    path = tmp_path / "loop.xml"
    path.write_text(LOOP)
    return path


def hand(path, *, low="-1", length=1):
    fingers = [
        FINGER.format(k=k, low=low, length=length, mimic='<mimic joint="j0"/>' if k else "") for k in range(5)
    ]
    path.write_text(MIMIC.format(fingers="\n".join(fingers)))
    return path


WANTED = (
    "1 world geom is left out",
    "1 coupled joint",
    "1 actuator is left",
    "1 connect or weld constraint is a closure here",
)


@pytest.mark.parametrize(
    "words",
    [
        ("info", "{file}"),
        ("info", "{file}", "--json"),
        ("convert", "{file}", "{folder}/x.json"),
        ("simulate", "{file}", "--t", "0.01", "--quiet"),
        ("explain", "gravity_force", "--robot", "{file}"),
        ("view", "{file}"),
    ],
    ids=lambda words: " ".join(words[:3:2]),
)
def test_each_command_says_what_the_file_lost(words, loop, hinge_command, monkeypatch):
    monkeypatch.setattr(view, "show", lambda *a, **k: None)
    done = hinge_command(*(w.format(file=loop, folder=loop.parent) for w in words))
    lines = done.err.splitlines()
    assert done.code == 0 and len(lines) == len(WANTED), done
    for line, wanted in zip(lines, WANTED, strict=True):
        assert line.startswith(f"hinge {words[0]}: warning: {loop}: ") and wanted in line
    assert "[changes the physics]" in lines[0]


def test_check_lists_it_too(loop, hinge_command):
    done = hinge_command("check", loop)
    assert done.code == 0 and done.err == ""
    assert [line.split(":")[0] for line in done.out.splitlines()] == [
        "warning",
        *["note"] * 3,
        "loop",
        "loop",
    ]
    assert hinge_command("check", loop, "--strict").code == 1


def test_mimic_joints_are_one_line(tmp_path, hinge_command):
    path = hand(tmp_path / "hand.urdf", low="0")
    done = hinge_command("info", path)
    (line,) = done.err.splitlines()
    assert line.startswith(f"hinge info: warning: {path}: 4 coupled joints: have coordinates of their own")


def test_check_names_the_line_once(tmp_path, hinge_command):
    path = hand(tmp_path / "hand.urdf", length=2)
    lines = hinge_command("check", path).out.splitlines()
    assert lines[0].startswith(f"warning: {path}:4: joint 'j0': its axis")
    assert all(line.count(str(path)) <= 1 for line in lines)
    path.write_text("<robot>\n<link/></robot>")
    assert hinge_command("check", path).out.startswith(f"error: {path}:2: ")


def test_check_points_out_degrees(tmp_path, hinge_command):
    path = hand(tmp_path / "hand.urdf", low="-90")
    (line,) = (line for line in hinge_command("check", path).out.splitlines() if "look like" in line)
    assert "joints 'j0', 'j1', 'j2', 'j3' and 1 more: limits such as -90 … 90 rad look like degrees" in line


def test_a_start_in_degrees_is_pointed_out(hinge_command):
    start = ("--q0", "0", "-0.5", "0", "-90", "0", "90", "45")
    done = hinge_command("simulate", "panda", "--t", "0.01", "--quiet", *start)
    assert done.code == 0
    said = "joint4 starts at -90, beyond -3.07 … -0.0698 rad (and 2 more): degrees?"
    assert done.err == f"hinge simulate: warning: --q0: {said}\n"
    near = ("--q0", "0", "-0.5", "0", "-3.1", "0", "1", "0")
    done = hinge_command("simulate", "panda", "--t", "0.01", "--quiet", *near)
    assert done.err.endswith("joint4 starts at -3.1, beyond -3.07 … -0.0698 rad\n")
