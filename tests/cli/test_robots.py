"""`hinge info`, `hinge check` and `hinge convert`, as a newcomer meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import hinge
from hinge.cli.command import COMMANDS
from hinge.cli.robot_argument import BUILT_IN, MOST_LINKS
from hinge.io import from_json
from hinge.model import fingerprint
from tests.cli.command import refused

HEAVY = """<robot name="odd"><link name="base"/>
<link name="arm"><inertial><mass value="{mass}"/>
<inertia ixx="1" iyy="1" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="3" velocity="2"/></joint></robot>
"""


@pytest.fixture
def odd(tmp_path):
    """Return the path of a robot whose moments of inertia no body has."""
    path = tmp_path / "odd.urdf"
    path.write_text(HEAVY.format(mass=1, izz=9), encoding="utf-8")
    return path


# The command itself.


def test_help_names_every_command(hinge_command):
    done = hinge_command("--help")
    assert done.code == 0
    assert all(f"    {name}" in done.out and summary in done.out for name, summary in COMMANDS.items())


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_has_an_example(name, hinge_command):
    done = hinge_command(name, "--help")
    assert done.code == 0 and f"\n  hinge {name}" in done.out


def test_alone_it_lists_the_commands(hinge_command):
    done = hinge_command()
    assert done == hinge_command("--help") and done.code == 0 and done.err == ""


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("sim", "got 'sim'; did you mean 'simulate'?"),
        ("chek", "got 'chek'; did you mean 'check' or "),
        ("fly", "got 'fly'; the commands are info, check, "),
    ],
)
def test_an_unknown_command_is_told_what_it_may_mean(word, wanted, hinge_command):
    done = hinge_command(word)
    assert done.code == 2 and wanted in done.err


def test_an_unknown_option_is_told_what_it_may_mean(hinge_command):
    done = hinge_command("info", "panda", "--flaoting")
    assert done.code == 2 and done.err.endswith("unknown: --flaoting; did you mean '--floating'?\n")


@pytest.mark.parametrize("words", [("fly",), ("info",), ("info", "panda", "--fast"), ("cache", "eat")])
def test_a_wrong_command_line_is_code_2(words, hinge_command):
    done = hinge_command(*words)
    assert done.code == 2 and done.out == "" and done.err.startswith("usage: hinge")


def test_version(hinge_command):
    assert hinge_command("--version").out == f"hinge {hinge.__version__}\n"


LIGHT = """
import sys
from hinge.cli import main
try:
    main({words})
except SystemExit:
    pass
slow = [m for m in sys.modules if m.startswith(("hinge.dynamics", "hinge.rules", "hinge.sim", "llvmlite"))]
sys.exit(str(slow) if slow else 0)
"""


@pytest.mark.parametrize("words", [["--help"], ["info", "panda"], ["check", "panda"], ["convert", "--help"]])
def test_what_needs_no_compiler_loads_none(words):
    done = subprocess.run(
        [sys.executable, "-c", LIGHT.format(words=words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# info.


def test_info_shows_tree_joints_limits_and_masses(hinge_command):
    shown = hinge_command("info", "panda").out
    assert shown.startswith(hinge.describe(hinge.robots.panda()))
    assert "joint4   -3.072  -0.0698  2.175     87" in shown
    assert "frames: tool on link7" in shown


@pytest.mark.parametrize("name", [*BUILT_IN, "chain:3"])
def test_info_as_data(name, hinge_command):
    data = hinge_command("info", name, "--json").data
    assert len(data["joints"]) == len(data["bodies"]) and data["nv"] > 0
    assert data["mass"] == pytest.approx(sum(b["mass"] for b in data["bodies"]))


def test_info_of_a_file_says_what_is_doubtful(odd, hinge_command):
    assert "1 thing is doubtful: see hinge check" in hinge_command("info", odd).out
    data = hinge_command("info", odd, "--json", "--floating").data
    assert data["floating"] and data["problems"] == 1
    assert data["joints"][1]["effort"] == [3.0] and data["joints"][0]["lower"][-1] is None


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("pnda",), "ROBOT: expected a file or a built-in robot, got pnda; did you mean 'panda'?"),
        (("nowhere.urdf",), "got nowhere.urdf; the built-in robots are panda, puma560"),
        (("{folder}",), "ROBOT: expected a URDF, MJCF or robot JSON file, got the directory {folder}"),
        (("{folder}/broken.urdf",), "ROBOT: {folder}/broken.urdf:1: "),
        (("{folder}/broken.json",), "ROBOT: {folder}/broken.json: is not JSON"),
        (("panda", "--floating"), "--floating: expected the robot of a file, got panda, which is built in"),
        (("chain:0",), f"ROBOT: expected chain:N with N from 1 to {MOST_LINKS}, got chain:0"),
        (("chain:many",), f"ROBOT: expected chain:N with N from 1 to {MOST_LINKS}, got chain:many"),
    ],
)
def test_what_is_no_robot(words, wanted, tmp_path, hinge_command):
    for name in ("broken.urdf", "broken.json"):
        (tmp_path / name).write_text("<robot", encoding="utf-8")
    done = hinge_command("info", *(w.format(folder=tmp_path) for w in words))
    refused(done, wanted.format(folder=tmp_path))


# check.


def test_check_finds_nothing_in_what_is_built_in(hinge_command):
    doubtful = {"puma560": 1}  # published moments of inertia that are too large
    for name in BUILT_IN:
        done = hinge_command("check", name)
        count = doubtful.get(name)
        assert done.code == 0 and done.out.endswith(f": {count or 'no'} problem{'s' * (count != 1)}\n")


def test_a_warning_is_an_error_if_one_is_strict(odd, hinge_command):
    done = hinge_command("check", odd)
    assert done.code == 0 and done.out.startswith("warning: body 'arm': ") and done.err == ""
    assert hinge_command("check", odd, "--strict").code == 1
    data = hinge_command("check", odd, "--json").data
    assert data["ok"] and [p["severity"] for p in data["problems"]] == ["warning"]


@pytest.mark.parametrize("text", ["<robot", "<robot/>", HEAVY.format(mass="nan", izz=1)])
def test_a_broken_file_is_code_1(text, tmp_path, hinge_command):
    path = tmp_path / "broken.urdf"
    path.write_text(text, encoding="utf-8")
    done = hinge_command("check", path)
    assert done.code == 1 and done.out.startswith("error: ") and done.err == ""
    data = hinge_command("check", path, "--json")
    assert data.code == 1 and not data.data["ok"] and data.data["errors"] == 1


def test_check_of_a_missing_file_is_code_2(hinge_command):
    refused(
        hinge_command("check", "nowhere.urdf"), "ROBOT: expected a file or a built-in robot, got nowhere.urdf"
    )


# convert.


def test_there_and_back(tmp_path, hinge_command):
    urdf, kept = tmp_path / "panda.urdf", tmp_path / "panda.json"
    assert hinge_command("convert", "panda", urdf).out.startswith(f"wrote {urdf}: panda, 8 bodies, ")
    assert hinge.load(urdf).nv == 7
    assert hinge_command("convert", "panda", kept).code == 0
    assert fingerprint(from_json(kept.read_text("utf-8"))) == fingerprint(hinge.robots.panda())
    assert json.loads(hinge_command("info", kept, "--json").out)["nv"] == 7
    refused(hinge_command("info", kept, "--floating"), "--floating: not supported for robot JSON files")


def test_what_urdf_cannot_say_is_a_warning(tmp_path, hinge_command):
    done = hinge_command("convert", "spacecraft", tmp_path / "craft.urdf")
    assert done.code == 0
    assert done.err == "hinge convert: warning: robot 'spacecraft': URDF has no place for gravity; left out\n"


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("x.xml", "FILE: expected a name that ends in .urdf or .json, got {folder}/x.xml"),
        ("none/x.urdf", "FILE: the directory {folder}/none does not exist; create it"),
        ("held.urdf", "FILE: expected the name of a file, got the directory {folder}/held.urdf"),
    ],
)
def test_where_nothing_can_be_written(file, wanted, tmp_path, hinge_command):
    (tmp_path / "held.urdf").mkdir()
    refused(hinge_command("convert", "panda", tmp_path / file), wanted.format(folder=tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_a_place_where_not_even_the_systems_owner_may_write(hinge_command):
    refused(
        hinge_command("convert", "panda", "/proc/panda.urdf"),
        "/proc/panda.urdf",
        code=1 if os.geteuid() == 0 else 2,
    )


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the system's owner may write anywhere")
def test_a_directory_that_may_not_be_written(tmp_path, hinge_command):
    (tmp_path / "held").mkdir(mode=0o500)
    refused(hinge_command("convert", "panda", tmp_path / "held" / "x.urdf"), "is not writable")
