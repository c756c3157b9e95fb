"""Programs that attack Hinge in other ways than by MJCF: tests.errors.hostile_programs NAME FOLDER.

A program yields a pair for each thing that it tries: its name, and what went wrong, "" if nothing did. It
uses what every version of Hinge has, so that versions can be compared. `sweep_hostile` runs each in a process
of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hinge
from hinge.errors import FormatError, HingeError
from hinge.sim import Run, load_run, save_run

if sys.platform != "win32":
    import resource

Tried = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class Program:
    """A program, and what it may take: seconds by the clock, and megabytes of it or of a child."""

    run: Callable[[Path], Tried]
    seconds: float = 60.0
    megabytes: float = 700.0


PROGRAMS: dict[str, Program] = {}


def program(name: str, **limits: float) -> Callable[[Callable[[Path], Tried]], Callable[[Path], Tried]]:
    """Add a function to the programs."""

    def add(run: Callable[[Path], Tried]) -> Callable[[Path], Tried]:
        PROGRAMS[name] = Program(run, **limits)
        return run

    return add


def refusal(call: Callable[[], object], *kinds: type[BaseException]) -> str:
    """Return "" if a call raises one of these, by default any error of Hinge; else what came."""
    try:
        found = call()
    except Exception as error:
        if isinstance(error, kinds or HingeError):
            return ""
        return f"raised {type(error).__name__}: {error}"[:120]
    return f"took it: {found!r}"[:120]


def clean(call: Callable[[], object]) -> str:
    """Return "" if a call returns or raises an error of Hinge."""
    found = refusal(call)
    return "" if found.startswith("took it") else found


# Processes.


def forked(folder: Path, cache: str) -> Tried:
    """Fork twenty children while another thread compiles."""
    os.environ |= {"HINGE_CACHE": cache, "HINGE_CACHE_DIR": str(folder / "cache")}
    ends = threading.Event()

    def compile_for_ever() -> None:
        n = 0
        while not ends.is_set():
            n += 1
            robot = hinge.robots.chain(2 + n % 5)
            hinge.mass_matrix(robot, np.zeros(robot.nq))

    threading.Thread(target=compile_for_ever, daemon=True).start()
    children: list[int] = []
    for k in range(20):
        time.sleep(0.02 + 0.003 * k)
        child = os.fork()
        if child == 0:
            found = hinge.mass_matrix(hinge.robots.chain(2), np.zeros(2))
            os._exit(0 if found.shape == (2, 2) else 1)
        children.append(child)
    ends.set()
    end = time.monotonic() + 20
    for k, child in enumerate(children):
        status = (0, 0)
        while status == (0, 0) and time.monotonic() < end:
            status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.01)
        if status == (0, 0):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        yield f"child {k}", "hangs" if status == (0, 0) else f"ended with {status[1]}" if status[1] else ""


@program("2.3 fork while compiling, no cache")
def _(folder: Path) -> Tried:
    yield from forked(folder, "0")


@program("2.3 fork while compiling, cache")
def _(folder: Path) -> Tried:
    yield from forked(folder, "1")


def share_all() -> None:
    """Let threads share small batches too."""
    for name in ("native_program", "program"):
        with contextlib.suppress(ImportError):
            module: Any = __import__(f"hinge.targets.llvm.{name}", fromlist=[name])
            module.LEAST_WORK = 500_000


@program("2.4 verb in a signal handler", seconds=40.0)
def _(folder: Path) -> Tried:
    share_all()
    hinge.set_threads(2)
    robot, calls = hinge.robots.panda(), []
    q = np.zeros((3000, 7))
    wanted = hinge.forward_dynamics(robot, q, q, q)

    def handler(*_: object) -> None:
        calls.append(np.array_equal(hinge.forward_dynamics(robot, q, q, q), wanted))
        signal.setitimer(signal.ITIMER_REAL, 0.003)

    signal.signal(signal.SIGALRM, handler)
    for k in range(3):
        calls.clear()
        signal.setitimer(signal.ITIMER_REAL, 0.003)
        while len(calls) < 300:
            hinge.forward_dynamics(robot, q, q, q)
        signal.setitimer(signal.ITIMER_REAL, 0)
        yield f"run {k}, {len(calls)} signals", "" if all(calls) else "another result"


# Files of runs.

CHECKER = """
import sys
from hinge.sim import load_run
for line in sys.stdin:
    try:
        print(len(load_run(line.strip()).t), flush=True)
    except Exception as error:
        print(type(error).__name__, flush=True)
"""


def noise(times: int, seed: int = 0) -> Run:
    q = np.random.default_rng(seed).standard_normal((times, 2))
    return Run(hinge.robots.double_pendulum(), np.arange(float(times)), q, q, q)


def killed(folder: Path, suffix: str) -> Tried:
    """Kill a process fifty times while it saves over a file."""
    if suffix == "parquet":
        __import__("pyarrow.parquet")
    path, large = folder / f"a.{suffix}", noise(40_000)
    writer = f"from tests.errors.hostile_programs import *; save_run(noise(10), {str(path)!r})"
    subprocess.run([sys.executable, "-c", writer], check=True)
    small = path.read_bytes()
    rng, middle, whole = np.random.default_rng(1), 0, 0.0  # the first one is not killed, but timed
    with subprocess.Popen(
        [sys.executable, "-c", CHECKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as checker:
        assert checker.stdin is not None and checker.stdout is not None
        for k in range(51):
            path.write_bytes(small)
            before = path.stat()
            ready, told = os.pipe()
            child = os.fork()
            if child == 0:
                os.write(told, b"x")
                save_run(large, path)
                os._exit(0)
            os.read(ready, 1)
            os.close(ready)
            os.close(told)
            if k:
                time.sleep(float(rng.uniform(0.0, 1.1 * whole)))
                os.kill(child, signal.SIGKILL)
            began = time.monotonic()
            os.waitpid(child, 0)
            whole = whole if k else time.monotonic() - began
            parts = list(folder.glob(".a.*.part"))
            middle += bool(parts) or path.stat().st_size not in (before.st_size, 0)
            for part in parts:
                part.unlink()
            checker.stdin.write(f"{path}\n")
            checker.stdin.flush()
            found = checker.stdout.readline().strip()
            yield f"kill {k}", "" if found in ("10", "40000") else f"lost: {found}"
        checker.stdin.close()
    yield f"{middle} kills while writing", "" if middle > 10 else "too few to tell"


@program("2.5 kill -9 while saving npz", seconds=90.0)
def _(folder: Path) -> Tried:
    yield from killed(folder, "npz")


@program("2.5 kill -9 while saving parquet", seconds=150.0)
def _(folder: Path) -> Tried:
    yield from killed(folder, "parquet")


@program("2.5 full disk")
def _(folder: Path) -> Tried:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for suffix in ("npz", "parquet"):
        path = save_run(noise(10), folder / f"a.{suffix}")
        before = path.read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
        raised = refusal(lambda path=path: save_run(noise(40_000), path), OSError)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        yield f"{suffix} raises OSError", raised
        yield f"{suffix} is left", "" if path.read_bytes() == before else f"{path.stat().st_size} bytes"
        rest = [x.name for x in folder.iterdir() if x.name.startswith(".")]
        yield f"{suffix}, nothing beside it", str(rest or "")


@program("2.6 run of 1 MB that says 1 GB", megabytes=400.0)
def _(folder: Path) -> Tried:
    path, rows = folder / "a.npz", 18_000_000
    zeros = [np.broadcast_to(0.0, (rows, 2))] * 3
    head = json.loads(str(np.load(save_run(noise(3), folder / "b.npz"))["head"]))
    head |= {"times": rows} if "times" in head else {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        with file.open("head.npy", "w") as member:
            np.lib.format.write_array(member, np.array(json.dumps(head)))
        for name, x in zip(("t", "q", "qd", "tau"), [np.broadcast_to(0.0, (rows,)), *zeros], strict=True):
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                form = {"descr": "<f8", "fortran_order": False, "shape": x.shape}
                np.lib.format.write_array_header_1_0(member, form)
                for _ in range(0, x.size * 8, 8_000_000):
                    member.write(bytes(8_000_000))
    yield f"{path.stat().st_size} bytes", refusal(lambda: load_run(path), FormatError)


@program("2.6 run with a member of 37 GB")
def _(folder: Path) -> Tried:
    good = save_run(noise(3), folder / "a.npz")
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(folder / "b.npz", "w") as new:
        for name in old.namelist():
            with new.open(name, "w") as member:
                if name == "q.npy":
                    form = {"descr": "<f8", "fortran_order": False, "shape": (5 * 10**9,)}
                    np.lib.format.write_array_header_1_0(member, form)
                else:
                    member.write(old.read(name))
    yield "37 GB", refusal(lambda: load_run(folder / "b.npz"), FormatError)


@program("2.6 runs with wrong heads and arrays")
def _(folder: Path) -> Tried:
    from tests.sim.test_stored import HEADS, arrays_of, head_of, written

    run = hinge.simulate(hinge.robots.double_pendulum(), np.array([[0.5, 0.1], [0.2, 0.3]]), t=0.1, dt=0.01)
    path = folder / "a.npz"
    for name, given in HEADS.items():
        written(path, run, head_of(run, **given) if isinstance(given, dict) else given)
        yield name, refusal(lambda: load_run(path), FormatError)
    for name, arrays in arrays_of(run).items():
        written(path, run, **arrays)
        yield name, refusal(lambda: load_run(path), FormatError)


@program("2.6 strange archives")
def _(folder: Path) -> Tried:
    good = save_run(noise(3), folder / "a.npz").read_bytes()
    at = good.index(b"PK\x01\x02")
    local = good.index(b"PK\x03\x04")
    encrypted, packed = bytearray(good), bytearray(good)
    encrypted[at + 8] |= 1
    packed[at + 10], packed[local + 8] = 99, 99
    np.save(folder / "c.npy", np.zeros(3))
    deep = folder / "d.npz"
    np.savez(deep, head=np.array("[" * 100_000), **{n: np.zeros(3) for n in ("t", "q", "qd", "tau")})
    np.savez(folder / "e.npz", **np.load(folder / "a.npz"))
    files = {
        "encrypted": bytes(encrypted),
        "another packing": bytes(packed),
        "npy": (folder / "c.npy").read_bytes(),
        "deep": deep.read_bytes(),
        "cut": good[:-30],
        "empty": b"",
        "pickle": b"\x80\x04N.",
        "header of code": (folder / "e.npz").read_bytes().replace(b"'descr': '<f8'", b"'descr': exit()"),
    }
    for name, data in files.items():
        for suffix in ("npz", "parquet"):
            path = folder / f"x.{suffix}"
            path.write_bytes(data)
            yield f"{name} as {suffix}", refusal(lambda path=path: load_run(path), FormatError)


def flipped(folder: Path, suffix: str) -> Tried:
    """Change or cut bytes of a run four hundred times."""
    good = save_run(noise(40), folder / f"a.{suffix}").read_bytes()
    rng, path = np.random.default_rng(0), folder / f"b.{suffix}"
    for k in range(400):
        data = bytearray(good)
        if k % 5 == 0:
            data = data[: rng.integers(len(data))]
        else:
            for at in rng.integers(len(data), size=1 + k % 3):
                data[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        yield f"flip {k}", clean(lambda: load_run(path))


@program("2.6 flipped bytes, npz")
def _(folder: Path) -> Tried:
    yield from flipped(folder, "npz")


@program("2.6 flipped bytes, parquet")
def _(folder: Path) -> Tried:
    yield from flipped(folder, "parquet")


@program("2.6 hinge play of damaged files")
def _(folder: Path) -> Tried:
    good = save_run(noise(3), folder / "a.npz").read_bytes()
    damages = {"cut": good[:-30], "text": b"no run", "zlib": good.replace(good[200:220], bytes(20))}
    for name, data in damages.items():
        (folder / "b.npz").write_bytes(data)
        words = [sys.executable, "-m", "hinge", "play", str(folder / "b.npz"), "--port", "0"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
        lines = done.stderr.strip().splitlines()
        good_end = done.returncode != 0 and len(lines) == 1 and "Traceback" not in done.stderr
        yield name, "" if good_end else f"code {done.returncode}, {lines[-1:]}"


# The viewer.


def mesh_bomb(name: str) -> Callable[[Path], Tried]:
    def run(folder: Path) -> Tried:
        from hinge.model import Mesh
        from hinge.view.meshes import Meshes
        from tests.view.mesh_bombs import BOMBS

        (folder / name).write_bytes(BOMBS[name]())
        began = time.monotonic()
        fault = clean(lambda: Meshes(folder).surface(Mesh(name)))
        seconds = time.monotonic() - began
        yield name, fault or (f"takes {seconds:.1f} s" if seconds > 20 else "")

    return run


#: A reader may take 10 s and 1.5 GB beside Python and trimesh, and it must start; so must this process.
MESHES = ("hollow.glb", "nested.dae", "often.glb", "nodes.glb", "groups.obj", "shallow.dae", "facets.stl")
for _name in MESHES:
    PROGRAMS[f"2.7 mesh {_name}"] = Program(mesh_bomb(_name), seconds=60.0, megabytes=1700.0)


@program("2.8 foreign pages and hosts")
def _(folder: Path) -> Tried:
    import msgspec
    import viser
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    from hinge.view import show

    protocol: Any = f"viser-v{viser.__version__}"
    with show(hinge.robots.double_pendulum(), wait=False, port=0) as viewer:
        port, handle = viewer.viser.get_port(), viewer.sliders[0][1]

        def moved(origin: Any, value: float) -> str:
            """Return what became of an attempt to move a slider."""
            body = {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": value}}
            address = f"ws://127.0.0.1:{port}"
            try:
                with connect(
                    address, origin=origin, subprotocols=[protocol], proxy=None, max_size=None
                ) as page:
                    page.recv(timeout=20)
                    page.send(msgspec.msgpack.encode(body))
                    for _ in range(100):
                        if handle.value == value:
                            return "moved"
                        with contextlib.suppress(TimeoutError):
                            page.recv(timeout=0.1)
                    return "scene"
            except InvalidStatus as error:
                return str(error.response.status_code)

        foreign = (
            "http://evil.example",
            "null",
            "file://",
            f"http://127.0.0.1:{port + 1}",
            "http://localhost",
        )
        for k, origin in enumerate(foreign):
            found = moved(origin, 0.1 + k / 100)
            yield f"Origin {origin}", "" if found == "403" else found
        for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}"):
            with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=20)) as wire:
                wire.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                found = wire.recv(4096).split()[1].decode()
            yield f"Host {host}", "" if found == "403" else f"status {found}"
        found = moved(f"http://127.0.0.1:{port}", 0.777)
        yield "own page", "" if found == "moved" else found


# The rest.


@program("2.9 cache without a home")
def _(folder: Path) -> Tried:
    from hinge.targets.llvm import cache

    for name in ("HINGE_CACHE_DIR", "XDG_CACHE_HOME", "HINGE_CACHE"):
        os.environ.pop(name, None)
    os.environ["HOME"] = ""
    yield "HOME empty", str(cache.location() or "")  # not made: this may be the root
    os.environ["HOME"] = str(folder / "no" / "home")
    hinge.mass_matrix(hinge.robots.chain(2), np.zeros(2))
    yield "HOME that is not there", "made it" if (folder / "no").exists() else ""
    os.environ["HOME"] = str(folder)
    hinge.mass_matrix(hinge.robots.chain(3), np.zeros(3))
    yield "HOME that is there", "" if (folder / ".cache" / "hinge").is_dir() else "made no cache"


def loaded(folder: Path, text: str, name: str = "r.urdf") -> Any:
    (folder / name).write_text(text, encoding="utf-8")
    return hinge.load(folder / name)


BODY = '<robot name="r"><link name="a"><inertial><mass value="1"/><inertia {}/></inertial></link>{}</robot>'
WHOLE = 'ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"'


@program("2.10 batch without coordinates", seconds=30.0)
def _(folder: Path) -> Tried:
    robot = loaded(folder, BODY.format(WHOLE, ""))
    many = np.zeros((2**40, 0))
    for n in (1, 2):
        hinge.set_threads(n)
        for name, count in (("mass_matrix", 1), ("forward_dynamics", 3), ("inverse_dynamics", 3)):
            verb = getattr(hinge, name)
            yield (
                f"{name}, {n} threads",
                clean(lambda verb=verb, count=count: verb(robot, *[many] * count).shape),
            )


class Hostile:
    def __array__(self, *_: object, **__: object) -> Any:
        raise ZeroDivisionError("from __array__")


@program("2.11 arguments of jacobian_solve and force_correction")
def _(folder: Path) -> Tried:
    robot = hinge.robots.panda()
    bad = {
        "None": None,
        "dict": {},
        "scalar": 3.0,
        "ragged": [[1.0], [1.0, 2.0]],
        "__array__": Hostile(),
        "text": "x",
    }
    q, x = np.full(7, 0.3), np.ones(6)
    for name in ("jacobian_solve", "force_correction"):
        verb = getattr(hinge, name)
        for turn in ("first call", "second call"):
            for kind, value in bad.items():
                where = f"{name}, {kind}, {turn}"
                yield (
                    f"{where}, vector",
                    refusal(lambda verb=verb, value=value: verb(robot, q, value, "tool")),
                )
                yield f"{where}, q", refusal(lambda verb=verb, value=value: verb(robot, value, x, "tool"))
            verb(robot, q, x, "tool")


@program("2.12 numbers out of range")
def _(folder: Path) -> Tried:
    robot = hinge.robots.double_pendulum()
    q = np.zeros(2)
    for options in (
        {"t": 1e300},
        {"t": 1.0, "dt": 1e-300},
        {"t": 1.0, "dt": 5e-324},
        {"t": 1e300, "dt": 1e-3},
    ):
        yield f"simulate {options}", refusal(lambda options=options: hinge.simulate(robot, q, **options))
    text = hinge.io.to_json(robot)
    for name in ("gravity", "axis", "rest"):
        at = text.index("0.0", text.index(f'"{name}"'))
        large = text[:at] + "1" + "0" * 400 + text[at + 3 :]
        yield f"JSON, {name}", refusal(lambda large=large: hinge.io.from_json(large))
    for shape in ((2**58, 2), (2**40, 2**10, 2)):  # NumPy itself refuses larger ones
        wide = np.broadcast_to(q, shape)
        kinds = HingeError, MemoryError
        yield f"broadcast {shape}", refusal(lambda wide=wide: hinge.mass_matrix(robot, wide), *kinds)
        yield (
            f"broadcast {shape}, three",
            refusal(lambda wide=wide: hinge.forward_dynamics(robot, wide, wide, wide), *kinds),
        )


@program("2.14 missing products of inertia")
def _(folder: Path) -> Tried:
    for name in ("ixy", "ixz", "iyz"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loaded(folder, BODY.format(WHOLE.replace(name, "name"), ""))
        yield name, "" if any(name in str(w.message) for w in caught) else "no warning"


def main(name: str, folder: str) -> None:
    """Run a program, and print what it tried and what it took."""
    for what, fault in PROGRAMS[name].run(Path(folder)):
        print(json.dumps([what, fault]), flush=True)
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    print(json.dumps(max(resource.getrusage(x).ru_maxrss / 1024 for x in kinds)), flush=True)
    os._exit(0)  # threads may still be at work


if __name__ == "__main__":
    main(*sys.argv[1:])
