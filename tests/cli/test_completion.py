"""What `hinge completion` prints completes commands, options, robots, verbs and files."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from hinge.cli.command import COMMANDS
from hinge.cli.completion import SCRIPTS
from hinge.cli.explain import VERBS
from hinge.cli.robot_argument import BUILT_IN
from hinge.dynamics import CATALOGUE


def _answers(script: str, folder, *words: str) -> list[str]:
    """Return what bash offers for the last word."""
    listed = " ".join(f"'{w}'" for w in ("hinge", *words))
    call = f"COMP_WORDS=({listed}); COMP_CWORD={len(words)}; _hinge"
    text = f'{script}\n{call}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", text], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash(tmp_path, hinge_command):
    (tmp_path / "pan.urdf").touch()
    script = hinge_command("completion", "bash").out
    for words, wanted in {
        ("",): [*COMMANDS, "--help", "--version"],
        ("si",): ["simulate"],
        ("info", "pa"): ["panda", "pan.urdf"],
        ("info", ""): [*BUILT_IN, "pan.urdf"],
        ("info", "--fl"): ["--floating"],
        ("explain", "forward_d"): [v for v in VERBS if v.startswith("forward_d")],
        ("explain", "mass_matrix", "--expressed", "world"): ["world", "world-aligned"],
        ("explain", "--robot", "pu"): ["puma560"],
        ("simulate", "panda", "--control", ""): ["none", "gravity", "hold"],
        ("simulate", "panda", "--out", ""): ["pan.urdf"],
        ("simulate", "panda", "--t", ""): [],
        ("simulate", "panda", "--no"): ["--no-passive"],
        ("cache", ""): ["clear"],
        ("completion", ""): sorted(SCRIPTS),
        ("unknown", ""): [],
    }.items():
        assert _answers(script, tmp_path, *words) == wanted, words


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_command_and_option_is_in_the_script(shell, hinge_command):
    done = hinge_command("completion", shell)
    assert done.code == 0 and done.err == ""
    flag = "-l prescribed" if shell == "fish" else "--prescribed"
    for text in (*COMMANDS, *BUILT_IN, *CATALOGUE, flag):
        assert text in done.out
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=done.out, text=True, check=True)


def test_another_shell_is_refused(hinge_command):
    done = hinge_command("completion", "csh")
    assert done.code == 2 and "invalid choice: 'csh'" in done.err
