"""A hostile MJCF file is refused, or loads, in bounded time and memory."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("mujoco", reason="MuJoCo has no wheel for this platform")

import hinge
from hinge.errors import FormatError
from hinge.io import mjcf_compiler
from tests.errors.hostile_mjcf import BOMBS, CASES
from tests.errors.sweep_hostile import run
from tests.tiers import daily

#: Limits of these tests; `python -m tests.errors.sweep_hostile` holds to those that users have.
SECONDS, BYTES = 2.0, 500 * 2**20
unix = pytest.mark.skipif(sys.platform == "win32", reason="the peak of memory is read from getrusage")


@unix
@pytest.mark.parametrize("case", daily(BOMBS, lambda k, case: k % 4 == 0), ids=lambda c: c.name)
def test_a_bomb_takes_bounded_time_and_memory(case):
    found = run(case, SECONDS, BYTES)
    assert found.passed(case, SECONDS, BYTES), found


@pytest.mark.parametrize("case", [c for c in CASES if c.expect], ids=lambda c: c.name)
def test_what_leads_astray_is_refused(case, tmp_path):
    with pytest.raises(FormatError, match=case.expect):
        hinge.load(case.write(tmp_path))


def test_the_limits_are_named(tmp_path, monkeypatch):
    path = tmp_path / "m.xml"
    path.write_text("<mujoco><worldbody><body/></worldbody></mujoco>")
    monkeypatch.setattr(mjcf_compiler, "SECONDS", 0.0)
    with pytest.raises(FormatError, match=r"takes more than 0(\.0)? s to compile, the limit; if you trust"):
        hinge.load(path)
    monkeypatch.setattr(mjcf_compiler, "SECONDS", 20.0)
    monkeypatch.setattr(mjcf_compiler, "BYTES", 1)
    with pytest.raises(FormatError, match=r"GiB of memory to compile, the limit; if you trust"):
        hinge.load(path)


def test_without_an_interpreter_the_way_out_is_named(tmp_path, monkeypatch):
    path = tmp_path / "m.xml"
    path.write_text("<mujoco><worldbody><body/></worldbody></mujoco>")
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(FormatError, match=r"cannot start a process .* compile it yourself"):
        hinge.load(path)
