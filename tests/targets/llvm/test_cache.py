"""The cache returns what was stored under the key or nothing, whatever is done to its files."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hinge.targets.llvm import cache

KEY = cache.key("panda", "forward dynamics")
OTHER = cache.key("panda", "inverse dynamics")
PAYLOAD = bytes(range(256)) * 40
VARIABLES = ("HINGE_CACHE", "HINGE_CACHE_DIR", "HINGE_CACHE_LIMIT", "XDG_CACHE_HOME")
HEADER_BYTES = 16 + 32 + 32 + 8 + 2
LABEL = "forward dynamics of panda"
SECRET = "hinge-secret"

posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX owners and permissions")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the directory of an empty cache in its usual place below a home of its own."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "hinge" / "objects-v1"


@pytest.fixture
def entry(folder: Path) -> Path:
    """Give the file of an entry that has been stored."""
    return put(folder, KEY)


def put(folder: Path, key: str, payload: bytes = PAYLOAD, used: float | None = None) -> Path:
    assert cache.store(key, payload, LABEL)
    path = folder / f"{key}.object"
    if used is not None:
        os.utime(path, (used, used))
    return path


def kept(folder: Path) -> set[str]:
    """Return the names of all files but the secret."""
    return {p.name for p in folder.iterdir()} - {SECRET}


def set_limit(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setenv("HINGE_CACHE_LIMIT", str(size / 10**6))


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


# Keys


def test_key_is_a_sha256_digest_of_the_parts() -> None:
    assert len(KEY) == 64
    assert int(KEY, 16) > 0
    assert cache.key(b"panda", b"forward dynamics") == KEY
    assert KEY != OTHER


@pytest.mark.parametrize("parts", [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ()])
def test_key_frames_its_parts(parts: tuple[str, ...]) -> None:
    others = {("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ()} - {parts}
    assert cache.key(*parts) not in {cache.key(*other) for other in others}


def test_key_takes_any_string() -> None:
    assert cache.key("\udcff") != cache.key("ÿ")


# Storing and loading


@pytest.mark.parametrize("payload", [b"", b"x", PAYLOAD, bytes(3 * 10**6)], ids=len)
def test_what_was_stored_is_loaded(payload: bytes) -> None:
    assert cache.store(KEY, payload, LABEL)
    assert cache.load(KEY) == payload


def test_what_was_not_stored_is_none(folder: Path) -> None:
    assert cache.load(KEY) is None
    assert not folder.exists()
    put(folder, KEY)
    assert cache.load(OTHER) is None


def test_storing_again_replaces(folder: Path) -> None:
    put(folder, KEY)
    put(folder, KEY, b"new")
    assert cache.load(KEY) == b"new"
    assert len(cache.entries()) == 1


@pytest.mark.parametrize("key", ["", "x", "./" + KEY, "../" + KEY, KEY.upper(), KEY + "\n", KEY[:-1]])
def test_what_is_not_a_key_is_neither_stored_nor_loaded(folder: Path, entry: Path, key: str) -> None:
    (folder.parent / entry.name).write_bytes(entry.read_bytes())
    assert not cache.store(key, PAYLOAD, LABEL)
    assert cache.load(key) is None
    assert kept(folder) == {entry.name}
    assert (folder.parent / entry.name).exists()


@posix
def test_directories_and_files_are_private_under_any_umask(folder: Path) -> None:
    before = os.umask(0)
    try:
        put(folder, KEY)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    assert cache.load(KEY) == PAYLOAD


def test_loading_marks_as_used(entry: Path) -> None:
    os.utime(entry, (1000.0, 1000.0))
    assert cache.load(KEY) == PAYLOAD
    assert entry.stat().st_mtime > 1000.0


def test_a_mark_that_cannot_be_made_does_not_hinder_loading(
    entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "utime", refuse)
    assert cache.load(KEY) == PAYLOAD


# Entries that are not as they were stored


def tampered(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("at", [-1, -len(PAYLOAD), -len(PAYLOAD) // 2])
def test_tampered_payload_is_refused_and_removed(entry: Path, at: int) -> None:
    tampered(entry, at)
    assert cache.load(KEY) is None
    assert not entry.exists()


@pytest.mark.parametrize("at", range(HEADER_BYTES + len(LABEL) + 32))
def test_tampered_header_is_refused_and_removed(entry: Path, at: int) -> None:
    tampered(entry, at)
    assert cache.load(KEY) is None
    assert not entry.exists()


@pytest.mark.parametrize("left", [0, 1, 15, 16, 80, 89, 90, 91, 115, 146, 147, 148, 1000, -1])
def test_truncated_entry_is_refused_and_removed(entry: Path, left: int) -> None:
    entry.write_bytes(entry.read_bytes()[:left])
    assert cache.load(KEY) is None
    assert not entry.exists()


def test_entry_with_more_behind_it_is_refused_and_removed(entry: Path) -> None:
    entry.write_bytes(entry.read_bytes() + b"\0")
    assert cache.load(KEY) is None
    assert not entry.exists()


def test_entry_of_another_key_is_refused_and_removed(folder: Path, entry: Path) -> None:
    wrong = folder / f"{OTHER}.object"
    wrong.write_bytes(entry.read_bytes())
    wrong.chmod(0o600)
    assert cache.load(OTHER) is None
    assert not wrong.exists()
    assert cache.load(KEY) == PAYLOAD


def test_entry_of_another_format_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MAGIC", b"hinge object v0\n")
    put(folder, KEY)
    monkeypatch.undo()
    monkeypatch.setenv("HINGE_CACHE_DIR", str(folder))
    assert cache.load(KEY) is None
    assert kept(folder) == set()


def test_a_refused_entry_can_be_stored_again(folder: Path, entry: Path) -> None:
    tampered(entry, -1)
    assert cache.load(KEY) is None
    put(folder, KEY)
    assert cache.load(KEY) == PAYLOAD


def test_a_damaged_entry_that_cannot_be_removed_is_still_refused(
    entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tampered(entry, -1)
    monkeypatch.setattr(Path, "unlink", refuse)
    assert cache.load(KEY) is None


def test_an_entry_that_cannot_be_opened_now_is_not_removed(
    entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        assert cache.load(KEY) is None
    assert cache.load(KEY) == PAYLOAD


def test_symlinked_entry_is_refused_and_only_the_link_is_removed(entry: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    entry.rename(target)
    entry.symlink_to(target)
    assert cache.load(KEY) is None
    assert not entry.is_symlink()
    assert target.exists()


@posix
def test_entry_that_becomes_a_symlink_meanwhile_is_refused(
    entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_yet(path: Path) -> bool:
        return False

    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(Path, "is_symlink", not_yet)
    assert cache.load(KEY) is None


def test_storing_over_a_symlink_does_not_follow_it(folder: Path, entry: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_bytes(b"precious")
    entry.unlink()
    entry.symlink_to(target)
    put(folder, KEY)
    assert target.read_bytes() == b"precious"
    assert cache.load(KEY) == PAYLOAD


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_entry_that_others_can_write_is_refused_and_removed(entry: Path, mode: int) -> None:
    entry.chmod(mode)
    assert cache.load(KEY) is None
    assert not entry.exists()


@posix
def test_entry_of_another_user_is_refused_and_removed(entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.fstat

    def foreign(descriptor: int) -> os.stat_result:
        status = list(own(descriptor))
        if status[stat.ST_SIZE] > len(PAYLOAD):
            status[stat.ST_UID] += 1
        return os.stat_result(status)

    monkeypatch.setattr(os, "fstat", foreign)
    assert cache.load(KEY) is None
    assert not entry.exists()


@posix
def test_named_pipe_in_place_of_an_entry_does_not_block(entry: Path) -> None:
    entry.unlink()
    os.mkfifo(entry, 0o600)
    assert cache.load(KEY) is None
    assert not entry.exists()


def test_directory_in_place_of_an_entry_is_neither_loaded_nor_replaced(folder: Path, entry: Path) -> None:
    entry.unlink()
    entry.mkdir()
    assert cache.load(KEY) is None
    assert not cache.store(KEY, PAYLOAD, LABEL)
    assert kept(folder) == {entry.name}


# The secret


def test_entry_made_with_a_foreign_secret_is_refused_and_removed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINGE_CACHE_DIR", str(tmp_path / "foreign"))
    forged = put(tmp_path / "foreign", KEY, b"evil")
    monkeypatch.delenv("HINGE_CACHE_DIR")
    put(folder, OTHER)
    forged.rename(folder / forged.name)
    assert cache.load(KEY) is None
    assert kept(folder) == {f"{OTHER}.object"}


def test_another_secret_refuses_what_was_made_before(folder: Path, entry: Path) -> None:
    (folder / SECRET).write_bytes(bytes(32))
    assert cache.load(KEY) is None
    assert not entry.exists()


def test_without_a_secret_nothing_is_loaded_and_a_new_one_is_made(folder: Path, entry: Path) -> None:
    (folder / SECRET).unlink()
    assert cache.load(KEY) is None
    assert not (folder / SECRET).exists()
    put(folder, KEY)
    assert cache.load(KEY) == PAYLOAD


@pytest.mark.parametrize("length", [0, 31, 33])
def test_secret_of_the_wrong_length_is_replaced(folder: Path, entry: Path, length: int) -> None:
    (folder / SECRET).write_bytes(bytes(length))
    assert cache.load(KEY) is None
    put(folder, KEY)
    assert len((folder / SECRET).read_bytes()) == 32
    assert cache.load(KEY) == PAYLOAD


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_secret_that_others_can_reach_is_not_used_and_replaced(folder: Path, entry: Path, mode: int) -> None:
    secret = folder / SECRET
    old = secret.read_bytes()
    secret.chmod(mode)
    assert cache.load(KEY) is None
    put(folder, KEY)
    assert secret.read_bytes() != old
    assert cache.load(KEY) == PAYLOAD


def test_symlinked_secret_is_not_used_and_replaced(folder: Path, entry: Path, tmp_path: Path) -> None:
    (folder / SECRET).rename(tmp_path / "known")
    (folder / SECRET).symlink_to(tmp_path / "known")
    assert cache.load(KEY) is None
    put(folder, KEY)
    assert not (folder / SECRET).is_symlink()
    assert cache.load(KEY) == PAYLOAD


def test_secret_of_a_quicker_process_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quicker = bytes(range(32))

    def late(source: Path, target: Path) -> None:
        Path(target).write_bytes(quicker)
        Path(target).chmod(0o600)
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr(os, "link", late)
    put(folder, KEY)
    assert (folder / SECRET).read_bytes() == quicker
    assert cache.load(KEY) == PAYLOAD


def test_file_system_without_hard_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", refuse)
    put(folder, KEY)
    assert cache.load(KEY) == PAYLOAD
    assert kept(folder) == {f"{KEY}.object"}


# The directory


def assert_off(*words: str) -> None:
    reason = cache.why_off()
    assert reason is not None
    for word in words:
        assert word in reason, reason
    assert cache.directory() is None
    assert not cache.store(OTHER, PAYLOAD, LABEL)
    assert cache.load(OTHER) is None
    assert cache.load(KEY) is None


def test_directory_is_made_in_the_users_caches(folder: Path) -> None:
    assert cache.why_off() is None
    assert cache.directory() == cache.location() == folder
    assert folder.is_dir()


def test_directory_of_the_environment_is_used_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = tmp_path / "a" / "b"
    monkeypatch.setenv("HINGE_CACHE_DIR", str(chosen))
    assert cache.directory() == chosen
    put(chosen, KEY)
    assert cache.load(KEY) == PAYLOAD


def test_directory_of_the_environment_may_start_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINGE_CACHE_DIR", "~/mine")
    assert cache.location() == tmp_path / "home" / "mine"


def test_relative_directory_of_the_environment_is_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HINGE_CACHE_DIR", "mine")
    assert cache.directory() == tmp_path / "mine"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "home/.cache"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "home/.cache"),
        ("linux", {"XDG_CACHE_HOME": "{}/xdg"}, "xdg"),
        ("darwin", {"XDG_CACHE_HOME": "{}/xdg"}, "home/Library/Caches"),
        ("win32", {"LOCALAPPDATA": "{}/local"}, "local"),
        ("win32", {}, "home/AppData/Local"),
    ],
)
def test_each_platform_has_its_place(
    platform: str,
    variables: dict[str, str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert cache.location() == tmp_path / expected / "hinge" / "objects-v1"


@pytest.mark.skipif(os.name == "nt", reason="HOME says nothing on Windows")
@pytest.mark.parametrize("chosen", [None, "~/mine"])
@pytest.mark.parametrize("home", ["", "relative", "{}/not/there"])
def test_without_a_home_nothing_is_made(
    home: str, chosen: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", home.format(tmp_path))
    monkeypatch.chdir(tmp_path)
    if chosen is not None:
        monkeypatch.setenv("HINGE_CACHE_DIR", chosen)
    assert_off("the home directory is unknown; set HINGE_CACHE_DIR")
    assert not cache.store(KEY, PAYLOAD, "label")
    assert [p.name for p in tmp_path.iterdir()] == ["home"]


@posix
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_directory_that_others_can_write_turns_the_cache_off(folder: Path, entry: Path, mode: int) -> None:
    folder.chmod(mode)
    assert_off(str(folder), "can be written by group or others", "chmod go-w")
    assert kept(folder) == {entry.name}


@posix
@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_parent_that_others_can_write_turns_the_cache_off(folder: Path, entry: Path, mode: int) -> None:
    folder.parent.chmod(mode)
    assert_off(f"{folder.parent} can be written by group or others")


@posix
def test_directory_of_the_environment_that_others_can_write_turns_the_cache_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    monkeypatch.setenv("HINGE_CACHE_DIR", str(tmp_path / "shared"))
    assert_off("can be written by group or others")


@pytest.mark.parametrize("which", ["directory", "parent"])
def test_symlinked_directory_turns_the_cache_off(
    folder: Path, entry: Path, tmp_path: Path, which: str
) -> None:
    path = folder if which == "directory" else folder.parent
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert_off(f"{path} is a symbolic link")


def test_dangling_symlink_turns_the_cache_off(folder: Path, tmp_path: Path) -> None:
    folder.parent.mkdir(parents=True, mode=0o700)
    folder.symlink_to(tmp_path / "nowhere")
    assert_off("is a symbolic link")
    assert not (tmp_path / "nowhere").exists()


@posix
def test_directory_of_another_user_turns_the_cache_off(entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert_off("belongs to another user")


def test_file_in_place_of_the_directory_turns_the_cache_off(folder: Path) -> None:
    folder.parent.mkdir(parents=True, mode=0o700)
    folder.write_bytes(b"")
    assert_off("is not a directory")


@posix
def test_owners_are_not_asked_for_where_there_are_none(
    folder: Path, entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.chmod(0o777)
    monkeypatch.delattr(os, "getuid")
    assert cache.why_off() is None
    assert cache.load(KEY) == PAYLOAD


def test_directory_that_cannot_be_made_turns_the_cache_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert_off("cannot be created: Permission denied", "HINGE_CACHE_DIR")


@posix
def test_missing_home_turns_the_cache_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert_off("home directory is unknown", "HINGE_CACHE_DIR")
    assert cache.location() is None
    assert cache.entries() == []


@posix
def test_relative_home_turns_the_cache_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "relative")
    assert_off("home directory is unknown")


# The environment


@pytest.mark.parametrize("value", ["0", "off", "no", "false", "OFF", " 0 "])
def test_environment_turns_the_cache_off(
    folder: Path, entry: Path, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINGE_CACHE", value)
    assert_off("HINGE_CACHE is", repr(value))
    assert kept(folder) == {entry.name}


@pytest.mark.parametrize("value", ["", "1", "on", "yes", "true", "On"])
def test_environment_leaves_the_cache_on(entry: Path, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINGE_CACHE", value)
    assert cache.why_off() is None
    assert cache.load(KEY) == PAYLOAD


def test_unknown_switch_turns_the_cache_off(entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINGE_CACHE", "maybe")
    assert_off("HINGE_CACHE: expected 1 (on) or 0 (off), got 'maybe'")


@pytest.mark.parametrize("value", ["many", "0", "-1", "nan", "inf", "1e999", "1e305", "512 MB"])
def test_bad_limit_turns_the_cache_off(entry: Path, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINGE_CACHE_LIMIT", value)
    assert cache.limit() is None
    assert_off("HINGE_CACHE_LIMIT: expected a number of megabytes above 0", f"got {value!r}")


@pytest.mark.parametrize(
    ("value", "size"), [("", 512 * 10**6), ("1", 10**6), (" 0.5 ", 500_000), ("1e3", 10**9)]
)
def test_limit_is_in_megabytes(value: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINGE_CACHE_LIMIT", value)
    assert cache.limit() == size
    assert cache.why_off() is None


def test_limit_is_512_megabytes_if_not_set() -> None:
    assert cache.limit() == 512 * 10**6


# Disks that refuse


def test_read_only_directory_stores_nothing_and_still_loads(
    folder: Path, entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.open

    def read_only(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            refuse()
        return own(path, flags, mode)

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr(os, "utime", refuse)
    assert not cache.store(OTHER, PAYLOAD, LABEL)
    assert cache.load(KEY) == PAYLOAD
    assert kept(folder) == {entry.name}


@posix
def test_directory_without_permission_to_write(folder: Path, entry: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("permissions do not bind root")
    folder.chmod(0o500)
    try:
        assert not cache.store(OTHER, PAYLOAD, LABEL)
        assert cache.load(KEY) == PAYLOAD
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("room", [0, 1, 50, 5000])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_stores_nothing_and_leaves_nothing(
    folder: Path, entry: Path, room: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, left = os.write, [room]

    def full(descriptor: int, data: memoryview) -> int:
        if not left[0]:
            raise OSError(number, os.strerror(number))
        written = own(descriptor, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr(os, "write", full)
    assert not cache.store(OTHER, PAYLOAD, LABEL)
    assert not cache.store(KEY, b"new", LABEL)
    assert kept(folder) == {entry.name}
    assert cache.load(KEY) == PAYLOAD


def test_full_disk_at_the_first_entry_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert not cache.store(KEY, PAYLOAD, LABEL)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_writes_in_small_pieces_are_put_together(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.write

    def slow(descriptor: int, data: memoryview) -> int:
        return own(descriptor, data[:step])

    monkeypatch.setattr(os, "write", slow)
    assert cache.store(KEY, PAYLOAD, LABEL)
    assert cache.load(KEY) == PAYLOAD


def test_interrupted_write_leaves_nothing(folder: Path, entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache.store(OTHER, PAYLOAD, LABEL)
    assert kept(folder) == {entry.name}


def test_refused_renaming_leaves_nothing(folder: Path, entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "replace", refuse)
    assert not cache.store(OTHER, PAYLOAD, LABEL)
    assert kept(folder) == {entry.name}


FILE_LIMIT = """
import resource
from hinge.targets.llvm import cache
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
print(cache.store(cache.key("small"), bytes(1000), ""), cache.store(cache.key("large"), bytes(9000), ""))
"""


@posix
def test_limit_on_the_size_of_files_stores_nothing_and_leaves_nothing(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FILE_LIMIT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
    assert kept(folder) == {f"{cache.key('small')}.object"}


# The bound


def test_the_least_recently_used_goes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [cache.key(str(i)) for i in range(10)]
    for i, key in enumerate(keys):
        put(folder, key, bytes(1000), used=1000.0 + i)
    size = (folder / f"{keys[0]}.object").stat().st_size
    set_limit(monkeypatch, 10 * size)
    assert cache.load(keys[0]) is not None
    assert cache.load(keys[2]) is not None
    put(folder, KEY, bytes(1000))
    assert kept(folder) == {f"{k}.object" for k in (keys[0], keys[2], *keys[5:], KEY)}


def test_nothing_goes_below_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limit(monkeypatch, 10 * put(folder, cache.key("0"), bytes(1000)).stat().st_size)
    for i in range(10):
        put(folder, cache.key(str(i)), bytes(1000))
    assert len(cache.entries()) == 10


def test_the_bound_holds_all_the_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limit(monkeypatch, 10_000)
    for i in range(50):
        put(folder, cache.key(str(i)), bytes(100 * (i % 20)))
        assert sum(e.size for e in cache.entries()) <= 10_000


def test_the_new_entry_stays_even_if_the_others_are_younger(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    future = 2.0**33
    for i in range(5):
        put(folder, cache.key(str(i)), bytes(1000), used=future)
    set_limit(monkeypatch, 4000)
    put(folder, KEY, bytes(1000))
    assert cache.load(KEY) == bytes(1000)
    assert sum(e.size for e in cache.entries()) < 0.9 * 4000


def test_entry_larger_than_the_limit_is_not_stored_and_costs_no_other(
    folder: Path, entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limit(monkeypatch, 20_000)
    assert not cache.store(OTHER, bytes(18_000), LABEL)
    assert kept(folder) == {entry.name}


def test_entries_that_vanish_meanwhile_are_tolerated(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(5):
        put(folder, cache.key(str(i)), bytes(1000), used=1000.0 + i)
    own = Path.unlink

    def too_late(path: Path, missing_ok: bool = False) -> None:
        own(path, missing_ok=True)
        own(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", too_late)
    set_limit(monkeypatch, 4000)
    assert cache.store(KEY, bytes(1000), LABEL)
    assert kept(folder) == {f"{k}.object" for k in (cache.key("3"), cache.key("4"), KEY)}


def test_entries_that_cannot_be_removed_do_not_hinder_storing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(5):
        put(folder, cache.key(str(i)), bytes(1000))
    set_limit(monkeypatch, 4000)
    monkeypatch.setattr(Path, "unlink", refuse)
    assert cache.store(KEY, bytes(1000), LABEL)


def test_stale_temporary_files_go_and_young_ones_stay(folder: Path, entry: Path) -> None:
    stale, young = folder / "hinge-temporary-1", folder / "hinge-temporary-2"
    for path, used in ((stale, 1000.0), (young, 2.0**33)):
        path.write_bytes(b"half")
        os.utime(path, (used, used))
    put(folder, OTHER)
    assert not stale.exists()
    assert young.exists()


def test_files_of_others_are_neither_counted_nor_removed(
    folder: Path, entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = folder / "notes.txt"
    foreign.write_bytes(bytes(10**5))
    os.utime(foreign, (1000.0, 1000.0))
    set_limit(monkeypatch, 50_000)
    put(folder, OTHER)
    assert len(cache.entries()) == 2
    assert cache.clear() == 2
    assert foreign.exists()


# Listing and clearing


def test_entries_are_listed_the_last_used_first(folder: Path) -> None:
    put(folder, KEY, used=1000.0)
    path = put(folder, OTHER, used=2000.0)
    listed = cache.entries()
    assert [e.key for e in listed] == [OTHER, KEY]
    assert listed[0] == cache.Entry(OTHER, LABEL, path.stat().st_size, 2000.0)


def test_listing_makes_nothing_and_uses_nothing(folder: Path) -> None:
    assert cache.entries() == []
    assert not folder.exists()
    put(folder, KEY, used=1000.0)
    assert cache.entries() == cache.entries()
    assert cache.entries()[0].used == 1000.0


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("arm\x1b[2J\n\r\0", "arm?[2J???"),
        ("Trägheit φ", "Trägheit φ"),
        ("\udcff", "?"),
        ("x" * 10**5, "x" * 200),
        ("", ""),
    ],
)
def test_labels_are_one_printable_line(label: str, shown: str) -> None:
    assert cache.store(KEY, PAYLOAD, label)
    assert cache.entries()[0].label == shown
    assert cache.load(KEY) == PAYLOAD


def test_damaged_header_is_listed_as_such(folder: Path, entry: Path) -> None:
    put(folder, OTHER)
    tampered(entry, 20)
    assert {e.key: e.label for e in cache.entries()} == {KEY: cache.DAMAGED, OTHER: LABEL}


def test_without_a_secret_all_are_listed_as_damaged(folder: Path, entry: Path) -> None:
    (folder / SECRET).unlink()
    assert [e.label for e in cache.entries()] == [cache.DAMAGED]


def test_clearing_removes_all_and_counts_entries(folder: Path, entry: Path) -> None:
    put(folder, OTHER)
    (folder / "hinge-temporary-1").write_bytes(b"half")
    assert cache.clear() == 2
    assert list(folder.iterdir()) == []
    assert cache.clear() == 0
    assert cache.load(KEY) is None


def test_clearing_what_was_never_there(folder: Path) -> None:
    assert cache.clear() == 0
    assert not folder.exists()


def test_clearing_works_when_switched_off(folder: Path, entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINGE_CACHE", "0")
    assert len(cache.entries()) == 1
    assert cache.clear() == 1


def test_clearing_a_symlinked_directory_is_refused(folder: Path, entry: Path, tmp_path: Path) -> None:
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="is a symbolic link"):
        cache.clear()
    assert cache.entries() == []
    assert (tmp_path / "elsewhere" / entry.name).exists()


# Many at once

WORKER = """
import sys
from hinge.targets.llvm import cache

me, rounds = int(sys.argv[1]), int(sys.argv[2])


def payload(key, writer):
    return bytes.fromhex(key) + bytes([writer]) * (1000 * (writer + 1))


def right(key, found):
    return found is None or any(found == payload(key, writer) for writer in range(8))


shared = [cache.key("shared", str(i)) for i in range(5)]
own = [cache.key(str(me), str(i)) for i in range(5)]
print("ready", flush=True)
sys.stdin.readline()
loaded = 0
for i in range(rounds):
    key = (shared, own)[i % 2][i // 2 % 5]
    assert cache.store(key, payload(key, me), f"{me}")
    for asked in (key, shared[i % 5]):
        found = cache.load(asked)
        assert right(asked, found), (asked, found[:40], len(found))
        loaded += found is not None
print(loaded)
"""


def race(processes: int, rounds: int) -> list[int]:
    """Let processes store and load at once; return how many loads of each found something."""
    command = [sys.executable, "-c", WORKER]
    running = [
        subprocess.Popen(
            [*command, str(i), str(rounds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for i in range(processes)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * processes
    return [int(output) for output in outputs]


def test_processes_at_once_never_load_a_wrong_payload(folder: Path) -> None:
    found = race(processes=3, rounds=200)
    assert all(number >= 300 for number in found)
    assert all(e.label in "012" for e in cache.entries())
    assert len(kept(folder)) == 5 + 3 * 5


def test_processes_at_once_keep_to_the_bound(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limit(monkeypatch, 12_000)
    race(processes=3, rounds=200)
    assert sum(e.size for e in cache.entries()) <= 12_000
    assert not [name for name in kept(folder) if not name.endswith(".object")]


def test_threads_at_once_never_load_a_wrong_payload(folder: Path) -> None:
    keys = [cache.key(str(i)) for i in range(4)]
    wrong: list[object] = []

    def work(me: int) -> None:
        for i in range(100):
            key = keys[(i + me) % 4]
            stored = cache.store(key, key.encode() * (me + 1), str(me))
            found = cache.load(key)
            if not stored or found not in [key.encode() * (n + 1) for n in range(4)]:
                wrong.append((stored, found))

    together([lambda me=me: work(me) for me in range(4)])
    assert wrong == []
    assert kept(folder) == {f"{key}.object" for key in keys}


def test_clearing_meanwhile_never_loads_a_wrong_payload() -> None:
    wrong: list[bytes] = []

    def work() -> None:
        for _ in range(200):
            cache.store(KEY, PAYLOAD, LABEL)
            found = cache.load(KEY)
            if found not in (None, PAYLOAD):
                wrong.append(found)

    def wipe() -> None:
        for _ in range(100):
            cache.clear()

    together([work, work, wipe])
    assert wrong == []


def together(jobs: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
