"""On-disk cache of compiled objects, shared by processes.

Each entry is one file in a directory that belongs to the user alone:

    magic, key, SHA-256 of the payload, lengths | label | HMAC of all before it | payload

A payload is code to be executed, so an entry is valid only if no other user can have written it: directory
and file must belong to the user and not be writable by others, and the HMAC uses a random secret in the
directory that only the user can read. Any fault of an entry, the directory or the disk means that the code is
compiled again: neither `load` nor `store` raises.

The environment is read at each call: `HINGE_CACHE` (0 turns the cache off), `HINGE_CACHE_DIR` (another
directory) and `HINGE_CACHE_LIMIT` (megabytes, 512 if not set).
"""

from __future__ import annotations

import hmac
import math
import os
import re
import secrets
import stat
import struct
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

MEGABYTE = 10**6
DEFAULT_LIMIT = 512
#: A full cache is trimmed to this fraction of its limit, so that not every store evicts.
KEPT = 0.9
STALE_SECONDS = 3600.0
LONGEST_LABEL = 200
#: The label of an entry with an invalid header; `load` removes such an entry.
DAMAGED = "(damaged)"

_ON = {"", "1", "on", "yes", "true"}
_OFF = {"0", "off", "no", "false"}
_KEY = re.compile(r"[0-9a-f]{64}")
_SUFFIX = ".object"
_TEMPORARY = "hinge-temporary-"
_SECRET = "hinge-secret"
_SECRET_BYTES = 32
_MAGIC = b"hinge object v1\n"
_HEADER = struct.Struct(">16s32s32sQH")
_MAC_BYTES = 32
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_ANY = stat.S_IRWXG | stat.S_IRWXO
#: Flags that not every platform has. Non-blocking, so that a named pipe cannot block `load`.
_SAFELY = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NONBLOCK"))
_READ = os.O_RDONLY | _SAFELY
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY


@dataclass(frozen=True)
class Entry:
    """A cache entry: key, label, size of the file in bytes, and time of last use (POSIX seconds)."""

    key: str
    label: str
    size: int
    used: float


def key(*parts: bytes | str) -> str:
    """Return a digest of the parts, 64 hexadecimal digits; ("ab", "c") and ("a", "bc") differ."""
    digest = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """Return the payload of a key, or None; an invalid entry is removed."""
    if _switched_off() is not None or not _KEY.fullmatch(key):
        return None
    try:
        folder = _folder()
        secret = _read_secret(folder)
        if secret is None:
            return None
        path = folder / f"{key}{_SUFFIX}"
        payload = _read_entry(path, key, secret)
    except OSError:
        return None
    if payload is None:
        _remove(path)
    else:
        with suppress(OSError):
            os.utime(path)
    return payload


def store(key: str, payload: bytes, label: str) -> bool:
    """Store a payload under a key, and return whether it succeeded; old entries are evicted.

    The label describes the entry in listings.
    """
    bound = limit()
    if _switched_off() is not None or bound is None or not _KEY.fullmatch(key):
        return False
    try:
        folder = _folder(make=True)
        header = _pack(key, payload, label, _secret(folder))
        if len(header) + len(payload) >= KEPT * bound:
            return False
        with _temporary(folder, header, payload) as path:
            path.replace(folder / f"{key}{_SUFFIX}")
    except OSError:
        return False
    with suppress(OSError):
        _tidy(folder, bound, keep=f"{key}{_SUFFIX}")
    return True


def entries() -> list[Entry]:
    """Return all entries, most recently used first; also when the cache is off."""
    try:
        folder = _folder()
        found = [(name, status) for name, status in _scan(folder) if _is_entry(name)]
    except OSError:
        return []
    secret = None
    with suppress(OSError):
        secret = _read_secret(folder)
    listed = [
        Entry(name.removesuffix(_SUFFIX), _label(folder / name, secret), status.st_size, status.st_mtime)
        for name, status in found
    ]
    return sorted(listed, key=lambda e: (-e.used, e.key))


def clear() -> int:
    """Remove every entry, the secret and temporary files; return the number of entries.

    Works also when the cache is off. Raises an OSError if the directory belongs to another user or a file
    cannot be removed.
    """
    removed = 0
    try:
        folder = _folder()
        for name, _ in _scan(folder):
            if _is_entry(name) or name == _SECRET or name.startswith(_TEMPORARY):
                (folder / name).unlink(missing_ok=True)
                removed += _is_entry(name)
    except FileNotFoundError:
        pass  # no cache yet
    return removed


def location() -> Path | None:
    """Return the directory of the cache, on or off; None if there is no home directory."""
    try:
        return _places()[-1]
    except OSError:
        return None


def directory() -> Path | None:
    """Return the directory of the entries, created if needed; None when the cache is off."""
    return location() if why_off() is None else None


def why_off() -> str | None:
    """Return why the cache is off, or None when it is on."""
    reason = _switched_off()
    if reason is None:
        try:
            _folder(make=True)
        except OSError as error:
            reason = str(error)
    return reason


def limit() -> int | None:
    """Return the limit of the cache in bytes; None if `HINGE_CACHE_LIMIT` is invalid."""
    text = os.environ.get("HINGE_CACHE_LIMIT", "").strip()
    try:
        megabytes = float(text) if text else float(DEFAULT_LIMIT)
    except ValueError:
        return None
    return int(megabytes * MEGABYTE) if math.isfinite(megabytes * MEGABYTE) and megabytes > 0 else None


def _switched_off() -> str | None:
    """Return why the environment turns the cache off, or None."""
    switch = os.environ.get("HINGE_CACHE", "")
    if switch.strip().lower() in _OFF:
        return f"HINGE_CACHE is {switch!r}; unset it to turn the cache on"
    if switch.strip().lower() not in _ON:
        return f"HINGE_CACHE: expected 1 (on) or 0 (off), got {switch!r}"
    if limit() is None:
        given = os.environ["HINGE_CACHE_LIMIT"]
        return f"HINGE_CACHE_LIMIT: expected a number of megabytes above 0, such as 512, got {given!r}"
    return None


# Directories


def _places() -> tuple[Path, ...]:
    """Return the directories that must belong to the user, outermost first; the last holds the entries."""
    chosen = os.environ.get("HINGE_CACHE_DIR")
    try:
        if chosen:
            if Path(chosen).parts[:1] == ("~",):
                _home()
            return (Path(chosen).expanduser().absolute(),)
        ours = _user_caches() / "hinge"
    except RuntimeError:
        raise OSError("the home directory is unknown; set HINGE_CACHE_DIR to a directory") from None
    return (ours, ours / "objects-v1")


def _user_caches() -> Path:
    """Return the platform's cache directory of the user; a RuntimeError if there is no home."""
    name, usual = {
        "win32": ("LOCALAPPDATA", "AppData/Local"),
        "darwin": (None, "Library/Caches"),
    }.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    chosen = os.environ.get(name, "") if name else ""
    return Path(chosen) if os.path.isabs(chosen) else _home() / usual


def _home() -> Path:
    """Return the home directory, which is never made; a RuntimeError if there is none."""
    path = Path.home()
    if os.environ.get("HOME") == "" or not path.is_absolute() or not path.is_dir():
        raise RuntimeError("HOME is not the absolute path of a directory")
    return path


def _folder(make: bool = False) -> Path:
    """Return the directory of the entries if it is safe, else raise an OSError."""
    places = _places()
    for path in places:
        if make:
            _make(path)
        reason = _unfit_directory(path.lstat())
        if reason is not None:
            raise PermissionError(f"{path} {reason}, or set HINGE_CACHE_DIR to a directory of your own")
    return places[-1]


def _make(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        pass  # a file or a link: refused below
    except OSError as error:
        raise OSError(
            f"{path} cannot be created: {error.strerror}; set HINGE_CACHE_DIR to a directory"
        ) from error


def _unfit_directory(status: os.stat_result) -> str | None:
    """Return the fault of a directory with its remedy, or None."""
    if stat.S_ISLNK(status.st_mode):
        return "is a symbolic link; replace it by a directory"
    if not stat.S_ISDIR(status.st_mode):
        return "is not a directory; remove it"
    if not _own(status):
        return "belongs to another user; remove it"
    if not _closed(status, _OTHERS_WRITE):
        return "can be written by group or others; run chmod go-w on it"
    return None


def _own(status: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or status.st_uid == os.geteuid()


def _closed(status: os.stat_result, bits: int) -> bool:
    """Tell whether none of these permission bits is set, on platforms that have them."""
    return not hasattr(os, "getuid") or not status.st_mode & bits


# Files


@contextmanager
def _opened(path: Path, bits: int) -> Generator[tuple[BinaryIO, int] | None]:
    """Yield a file and its size, or None if it is a link, another user's or has these permission bits."""
    if path.is_symlink():
        yield None
        return
    descriptor = os.open(path, _READ)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and _own(status) and _closed(status, bits):
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                yield file, status.st_size
        else:
            yield None
    finally:
        os.close(descriptor)


@contextmanager
def _temporary(folder: Path, *parts: bytes) -> Generator[Path]:
    """Yield a new private file with these parts; it is removed afterwards unless renamed."""
    path = folder / f"{_TEMPORARY}{secrets.token_hex(16)}"
    descriptor = os.open(path, _WRITE, 0o600)
    try:
        try:
            for part in parts:
                _write(descriptor, part)
        finally:
            os.close(descriptor)
        yield path
    finally:
        _remove(path)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _remove(path: Path) -> bool:
    """Try to remove a file, and return whether it is gone."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _scan(folder: Path) -> list[tuple[str, os.stat_result]]:
    """Return the name and state of each file, links not followed; files may vanish meanwhile."""
    found: list[tuple[str, os.stat_result]] = []
    with os.scandir(folder) as files:
        for file in files:
            with suppress(FileNotFoundError):
                found.append((file.name, file.stat(follow_symlinks=False)))
    return found


def _is_entry(name: str) -> bool:
    return name.endswith(_SUFFIX) and _KEY.fullmatch(name.removesuffix(_SUFFIX)) is not None


def _tidy(folder: Path, bound: int, keep: str) -> None:
    """Remove stale temporary files, and the least recently used entries above the limit."""
    files = _scan(folder)
    for name, status in files:
        if name.startswith(_TEMPORARY) and time.time() - status.st_mtime > STALE_SECONDS:
            _remove(folder / name)
    held = sorted((s.st_mtime, name, s.st_size) for name, s in files if _is_entry(name))
    total = sum(size for _, _, size in held)
    if total <= bound:
        return
    for _, name, size in held:
        if name != keep and _remove(folder / name):
            total -= size
        if total < KEPT * bound:
            break


# The secret


def _secret(folder: Path) -> bytes:
    """Return the directory's secret; create one if there is none or others could read it."""
    path = folder / _SECRET
    try:
        found = _read_secret(folder)
        if found is None:
            path.unlink(missing_ok=True)
    except FileNotFoundError:
        found = None
    if found is None:
        _make_secret(path)
        found = _read_secret(folder)
    if found is None:
        raise PermissionError(f"{path} is not safe to use")
    return found


def _make_secret(path: Path) -> None:
    with _temporary(path.parent, secrets.token_bytes(_SECRET_BYTES)) as temporary:
        try:
            os.link(temporary, path)  # unlike rename, link never replaces the file of another process
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            temporary.replace(path)


def _read_secret(folder: Path) -> bytes | None:
    """Return the directory's secret, or None if its file is missing or unsafe."""
    with _opened(folder / _SECRET, _OTHERS_ANY) as opened:
        secret = b"" if opened is None else opened[0].read(_SECRET_BYTES + 1)
    return secret if len(secret) == _SECRET_BYTES else None


# Entries


def _pack(key: str, payload: bytes, label: str, secret: bytes) -> bytes:
    shown = "".join(c if c.isprintable() else "?" for c in label[:LONGEST_LABEL]).encode()
    digest = sha256(payload).digest()
    head = _HEADER.pack(_MAGIC, bytes.fromhex(key), digest, len(payload), len(shown)) + shown
    return head + hmac.digest(secret, head, "sha256")


def _read_head(file: BinaryIO, size: int, key: str, secret: bytes) -> tuple[bytes, int, str] | None:
    """Return digest and length of the payload and the label, or None if the header is invalid."""
    fixed = file.read(_HEADER.size)
    if len(fixed) != _HEADER.size:
        return None
    magic, named, digest, length, label_bytes = _HEADER.unpack(fixed)
    label = file.read(label_bytes)
    mac = file.read(_MAC_BYTES)
    if not hmac.compare_digest(mac, hmac.digest(secret, fixed + label, "sha256")):
        return None
    whole = _HEADER.size + label_bytes + _MAC_BYTES + length
    if magic != _MAGIC or named != bytes.fromhex(key) or size != whole:
        return None
    return digest, length, label.decode()


def _read_entry(path: Path, key: str, secret: bytes) -> bytes | None:
    """Return the payload of a file, or None if the file is not exactly as `store` wrote it."""
    with _opened(path, _OTHERS_WRITE) as opened:
        head = None if opened is None else _read_head(*opened, key, secret)
        if opened is None or head is None:
            return None
        digest, length, _ = head
        payload = opened[0].read(length)
    return payload if hmac.compare_digest(sha256(payload).digest(), digest) else None


def _label(path: Path, secret: bytes | None) -> str:
    """Return the label of an entry, without reading its payload."""
    head = None
    with suppress(OSError), _opened(path, _OTHERS_WRITE) as opened:
        if opened is not None and secret is not None:
            head = _read_head(*opened, path.name.removesuffix(_SUFFIX), secret)
    return DAMAGED if head is None else head[2]
