"""A broken URDF file gives one clear FormatError, soon and in little memory."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import pytest

import hinge
from hinge.errors import FormatError, ModelWarning
from hinge.io import parse_urdf
from hinge.io.loading import BUILT_IN
from tests.errors.broken_urdf import (
    CASES,
    MAX_MEGABYTES,
    MAX_SECONDS,
    NASTY,
    VALID,
    Case,
    inertial,
    joint,
    link,
    pair,
    robot,
    run,
)

#: Tests run side by side on busy machines, so they count the process's own time, not the clock's, and
#: with patience; `python -m tests.errors.broken_urdf` holds to the bound itself, by the clock.
PATIENCE = 5

FLAT = inertial("1", 'ixx="1" iyy="1" izz="5" ixy="0" ixz="0" iyz="0"')
LACKING = inertial("1", 'ixx="1" iyy="1" izz="1" ixy="0" name="0.1"')
DOUBTFUL = {
    "triangle": (
        robot(link("base"), link("arm", FLAT), joint("j", "base", "arm")),
        r"body 'arm'.*triangle inequality",
    ),
    "limits": (pair('<limit lower="1" upper="-1"/>'), r"joint 'j'.*lower 1, upper -1.*limits ordered"),
    "products": (
        robot(link("base"), link("arm", LACKING), joint("j", "base", "arm")),
        r"link 'arm': <inertia> has no ixz, iyz; zero is taken .products of inertia given",
    ),
    "degrees": (
        robot(
            link("base"),
            link("arm", inertial()),
            joint("j", "base", "arm", '<limit lower="-90" upper="90"/>'),
        ),
        r"joint 'j': limits such as -90 … 90 rad look like degrees",
    ),
    "axis": (pair('<axis xyz="0 0 2"/>'), r"joint 'j'.*length 2.*axis unit"),
}
linux = pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")


def names(cases: tuple[Case, ...]) -> list[str]:
    return [c.name for c in cases]


def raised(case: Case, path: Path) -> Exception:
    data = case.make()
    path.write_bytes(data)
    with pytest.raises(Exception) as caught:
        if case.parse:
            parse_urdf(data, source=str(path))
        else:
            hinge.load(path)
    return caught.value


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_broken_document_is_one_clear_error(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    error = raised(case, path)
    assert type(error) is FormatError, repr(error)[:400]
    message = str(error)
    assert len(message) < 400, f"{len(message)} characters: {message[:200]}"
    assert len(message.splitlines()) == 1
    assert message.startswith(str(path))
    assert re.search(case.expect, message), message


def test_names_of_cases_are_unique() -> None:
    assert len({*names(CASES), *names(VALID)}) == len(CASES) + len(VALID)


@linux
@pytest.mark.parametrize("name", NASTY)
def test_nasty_document_is_refused_soon_and_in_little_memory(name: str) -> None:
    outcome = run(next(c for c in CASES if c.name == name))
    assert outcome.raised == "hinge.errors.FormatError", outcome.message
    assert outcome.cpu_seconds <= PATIENCE * MAX_SECONDS
    assert outcome.megabytes <= MAX_MEGABYTES


@linux
@pytest.mark.parametrize("case", VALID, ids=names(VALID))
def test_large_document_loads_soon_and_in_little_memory(case: Case) -> None:
    outcome = run(case)
    assert outcome.raised == "", outcome.message
    assert outcome.cpu_seconds <= PATIENCE * MAX_SECONDS
    assert outcome.megabytes <= MAX_MEGABYTES


def test_text_that_cannot_be_encoded_is_a_format_error() -> None:
    with pytest.raises(FormatError, match="<string>"):
        parse_urdf('<robot name="\ud800"><link name="a"/></robot>')


@pytest.mark.parametrize("what", ["missing", "folder"])
def test_file_that_cannot_be_read_is_a_format_error(what: str, tmp_path: Path) -> None:
    path = tmp_path if what == "folder" else tmp_path / "no.urdf"
    with pytest.raises(FormatError, match="cannot be read"):
        hinge.load(path)


def test_xacro_file_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf.xacro"
    path.write_bytes(robot(link("a")))
    with pytest.raises(FormatError, match="expand it first"):
        hinge.load(path)


def test_a_robot_that_comes_with_hinge_is_named_to_who_loads_it_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in BUILT_IN:
        assert getattr(hinge.robots, name)().nv > 0
        with pytest.raises(FormatError, match=rf"^{name}: .* no such file; .* is hinge.robots.{name}\(\)$"):
            hinge.load(name)
    with pytest.raises(FormatError, match="No such file"):
        hinge.load("pandas")


@pytest.mark.parametrize("name", DOUBTFUL)
def test_doubt_is_an_error_when_strict(name: str) -> None:
    document, words = DOUBTFUL[name]
    with pytest.raises(FormatError, match=words) as caught:
        parse_urdf(document, strict=True, source="doubt.urdf")
    assert type(caught.value) is FormatError
    assert str(caught.value).startswith("doubt.urdf")


@pytest.mark.parametrize("name", DOUBTFUL)
def test_doubt_is_one_warning_by_default(name: str) -> None:
    document, words = DOUBTFUL[name]
    with pytest.warns(ModelWarning, match=words) as caught:
        parse_urdf(document, strict=False)
    assert len(caught) == 1


@pytest.mark.parametrize("name", DOUBTFUL)
def test_doubt_is_silent_without_checks(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parse_urdf(DOUBTFUL[name][0], strict=None)
    assert caught == []
