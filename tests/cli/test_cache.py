"""`hinge cache` says where the compiled code is kept, how much of it, and why not."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hinge.cli import main
from hinge.cli.cache import age
from hinge.targets.llvm import cache

KEY = cache.key("a")
OTHER = cache.key("b")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HINGE_CACHE", "HINGE_CACHE_LIMIT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HINGE_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def two(folder: Path) -> Path:
    """Store an old and a very old entry."""
    assert cache.store(KEY, bytes(2000), "forward dynamics of φ-arm")
    assert cache.store(OTHER, bytes(3000), "inverse dynamics of puma")
    for key, used in ((KEY, 2000.0), (OTHER, 1000.0)):
        os.utime(folder / f"{key}.object", (used, used))
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["cache", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def rows(text: str) -> dict[str, str]:
    """Return the lines of a name and a value."""
    return {line.split(maxsplit=1)[0]: line.split(maxsplit=1)[1] for line in text.splitlines() if line}


def test_status_of_an_empty_cache(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rows(run(capsys)) == {
        "cache": "on",
        "directory": str(folder),
        "kept": "0 entries",
        "size": "0.0 kB",
        "limit": "512.0 MB",
    }


def test_status_counts_entries_and_size(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = rows(run(capsys))
    assert shown["kept"] == "2 entries"
    assert shown["size"] == "5.3 kB"


def test_status_says_why_it_is_off(
    two: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINGE_CACHE", "0")
    shown = rows(run(capsys))
    assert shown["cache"] == "off: HINGE_CACHE is '0'; unset it to turn the cache on"
    assert shown["kept"] == "2 entries"


def test_status_says_that_the_limit_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINGE_CACHE_LIMIT", "lots")
    shown = rows(run(capsys))
    assert shown["cache"] == (
        "off: HINGE_CACHE_LIMIT: expected a number of megabytes above 0, such as 512, got 'lots'"
    )
    assert shown["limit"] == "not a number"


def test_status_without_a_home(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HINGE_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.setenv("USERPROFILE", "relative")
    shown = rows(run(capsys))
    assert shown["cache"].startswith("off: the home directory is unknown")
    assert shown["directory"] == "none"


def test_status_says_that_nothing_new_can_be_kept(
    two: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, mode: int) -> bool:
        return False

    monkeypatch.setattr(os, "access", refused)
    assert "is not writable" in rows(run(capsys))["cache"]


def test_status_counts_damaged_entries(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (two / f"{KEY}.object").write_bytes(b"")
    assert rows(run(capsys))["kept"].startswith("2 entries, 1 of them damaged")


def test_status_as_json(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(run(capsys, "--json"))
    assert data == {
        "directory": str(two),
        "on": True,
        "why_off": None,
        "writable": True,
        "entries": 2,
        "damaged": 0,
        "size": sum(e.size for e in cache.entries()),
        "limit": 512 * 10**6,
    }


def test_list_shows_size_age_key_and_label(
    two: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hinge.cli.cache.time.time", lambda: 8000.0)
    lines = run(capsys, "--list").splitlines()
    assert lines[-3].split() == ["size", "last", "used", "key", "what"]
    assert lines[-2].split(maxsplit=6) == [
        "2.1", "kB", "1", "hour", "ago", KEY[:12], "forward dynamics of φ-arm",
    ]  # fmt: skip
    assert lines[-1].split(maxsplit=6)[5:] == [OTHER[:12], "inverse dynamics of puma"]


def test_list_of_an_empty_cache_is_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--list") == run(capsys)


def test_list_as_json(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(run(capsys, "--list", "--json"))
    assert data["entries"] == 2
    assert [(e["key"], e["label"], e["used"]) for e in data["list"]] == [
        (KEY, "forward dynamics of φ-arm", 2000.0),
        (OTHER, "inverse dynamics of puma", 1000.0),
    ]


def test_clear_removes_and_counts(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "clear") == f"removed 2 entries from {two}\n"
    assert cache.entries() == []


def test_clear_as_json(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(run(capsys, "clear", "--json")) == {"directory": str(two), "removed": 2}


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["cache", *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("hinge cache: error: ")
    assert len(err.splitlines()) == 1
    return err


def test_clear_of_an_unsafe_directory_fails(
    two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two.rename(tmp_path / "elsewhere")
    two.symlink_to(tmp_path / "elsewhere")
    assert f"{two} is a symbolic link" in fails(capsys, "clear")
    assert len(list((tmp_path / "elsewhere").iterdir())) == 3


def test_clear_that_may_not_remove_fails(
    two: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    assert "Permission denied" in fails(capsys, "clear")


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["cache", "wipe"], ["cache", "--wrong"], ["cache", "clear", "--list"]]
)
def test_wrong_command_line_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: hinge" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["cache", "show or clear the on-disk cache"]),
        (["cache", "--help"], ["hinge cache clear", "HINGE_CACHE=0", "HINGE_CACHE_DIR", "HINGE_CACHE_LIMIT"]),
    ],
)
def test_help_names_what_there_is(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert all(word in out for word in words)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5.0, "just now"),
        (59.0, "just now"),
        (60.0, "1 minute ago"),
        (3599.0, "59 minutes ago"),
        (7300.0, "2 hours ago"),
        (86400.0, "1 day ago"),
        (1e7, "115 days ago"),
    ],
)
def test_age_in_words(seconds: float, words: str) -> None:
    assert age(seconds) == words


def process(*arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "hinge", *arguments]
    return subprocess.run(command, capture_output=True, env={**os.environ, **variables}, check=False)


def test_the_package_runs_as_a_command(two: Path) -> None:
    done = process("cache", "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["directory"] == str(two)


def test_letters_that_the_terminal_lacks_are_escaped(two: Path) -> None:
    done = process("cache", "--list", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u03c6-arm" in done.stdout


def test_a_reader_that_leaves_early_is_no_error(two: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "hinge", "cache", "--list"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
