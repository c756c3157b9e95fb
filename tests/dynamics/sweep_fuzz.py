"""Random arguments of every kind for every verb: python -m tests.dynamics.sweep_fuzz [calls].

A call ends with a result, the same from both targets, or with a HingeError of the same class.
"""

from __future__ import annotations

import array
import faulthandler
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import hinge
from hinge import robots
from hinge.errors import HingeError
from hinge.model import Robot
from hinge.spatial import Transform
from tests.dynamics.zoo import CASES

CALLS, STATES = 10_000, 1_000_000
#: How much more memory a long run of calls may take, in bytes.
GROWTH = 8 * 2**20
#: The most dimensions that an array may have.
DIMENSIONS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
AXES = ("body", "world", "world-aligned")
#: What a verb takes beside the vectors of a state.
LOADED = ("inverse_dynamics", "forward_dynamics", "bias_force")
FRAMED = ("velocities", "accelerations", "classical_accelerations")
ONE_FRAME = ("jacobian", "jacobian_bias", "classical_jacobian_bias")
WITH_OUT = (*LOADED, "gravity_force", "coriolis_force", "mass_matrix", "mass_matrix_inverse", "jacobian")
WITH_GRAVITY = (*LOADED, "gravity_force", "potential_energy")


@cache
def twins(floating: bool = False) -> tuple[Robot, Robot]:
    """Return two equal robots, the first for the native target, the second for NumPy's."""
    made = [robots.random_tree(3, 1) if floating else robots.double_pendulum() for _ in range(2)]
    return made[0], made[1]


def robots_of(seed: int) -> tuple[Robot, Robot]:
    """Return the twins for a seed: every fourth call is for a robot on a free base."""
    return twins(seed % 4 == 3)


@contextmanager
def target(name: str) -> Iterator[None]:
    """Compile for this target meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HINGE_TARGET", name)
        yield


# Things that may come as an argument.


class Liar:
    """An object whose __array__ gives what it should not."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given


class Number:
    """An object that is a number, but no array."""

    def __float__(self) -> float:
        return 0.5


class Sequence:
    """An object with a length whose items cannot be had."""

    def __init__(self, size: int, error: BaseException) -> None:
        self.size, self.error = size, error

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, k: int) -> Any:
        raise self.error


class Vector(np.ndarray):
    """A subclass that does nothing."""


class Fuzz:
    """A source of arguments for a robot, the same for the same seed."""

    def __init__(self, seed: int, robot: Robot) -> None:
        self.rng, self.robot = np.random.default_rng(seed), robot
        self.tip, self.base = robot.frames[-1].name, robot.bodies[0].name

    def one_of(self, *things: Any) -> Any:
        return things[int(self.rng.integers(len(things)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def batch(self) -> tuple[int, ...]:
        return self.one_of((), (), (), (1,), (3,), (3,), (9,), (2, 3), (1, 3), (0,), (4, 1), (2, 0))

    def numbers(self, *shape: int) -> Any:
        x = self.rng.standard_normal(shape)
        if self.chance(0.1) and x.size:
            x.flat[int(self.rng.integers(x.size))] = self.one_of(
                np.nan, np.inf, -np.inf, 1e6, -1e18, 5e-324, -0.0
            )
        return x

    def vector(self, n: int) -> Any:
        """Return something for an argument that is a vector of n numbers."""
        return self.good(n) if self.chance(0.85) else self.bad(n)

    def good(self, n: int) -> Any:
        """Return n numbers or a batch of them, in some form that should be understood."""
        x = self.numbers(*self.batch(), n)
        ways = [
            *[lambda: x] * 6,
            lambda: x.astype(self.one_of("f4", "f4", "f2", "g", ">f8", ">f4", "f8")),
            lambda: np.asfortranarray(x),
            lambda: np.repeat(x, 2, axis=-1)[..., ::2],
            lambda: x[..., ::-1],
            lambda: np.flip(x),
            lambda: as_strided(x, (5, n), (0, x.strides[-1]), writeable=False) if x.size else x,
            lambda: np.broadcast_to(x, (3, *x.shape)) if x.ndim < 2 else x,
            self._read_only(x),
            self._misaligned(x),
            x.tolist,
            lambda: tuple(x.tolist()),
            lambda: [list(map(np.float64, row)) for row in x] if x.ndim == 2 else list(x),
            lambda: np.ma.masked_array(x, mask=self.rng.random(x.shape) < 0.3),
            lambda: np.asmatrix(x) if x.ndim <= 2 else x,
            lambda: x.view(Vector),
            lambda: x.view(np.recarray),
            lambda: self._memmap(x),
            lambda: self._field(x),
            lambda: Liar(x.copy()),
            lambda: memoryview(x.copy()),
            lambda: array.array("d", x.ravel().tolist()[:n]) if x.size else x,
            lambda: [int(k) for k in range(n)],
            lambda: range(n),
            lambda: [0.5 if k % 2 else 1 for k in range(n)],
            lambda: [np.array(0.5)] * n,
            lambda: np.zeros((1,) * 20 + (n,)),
        ]
        return ways[int(self.rng.integers(len(ways)))]()

    def _read_only(self, x: Any) -> Any:
        def make() -> Any:
            y = x.copy()
            y.flags.writeable = False
            return y

        return make

    def _misaligned(self, x: Any) -> Any:
        def make() -> Any:
            y = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
            y[...] = x
            return y

        return make

    def _memmap(self, x: Any) -> Any:
        if not x.size:
            return x
        with tempfile.TemporaryFile() as file:
            file.write(x.tobytes())
            file.flush()
            return np.memmap(file, x.dtype, "r+", shape=x.shape)

    def _field(self, x: Any) -> Any:
        record = np.zeros(x.shape, [("a", "i2"), ("x", "f8")])
        record["x"] = x
        return record["x"]

    def bad(self, n: int) -> Any:
        """Return something that is no vector of n numbers, as far as one can see."""
        x = self.numbers(*self.batch(), n)
        loop: list[Any] = []
        loop.append(loop)
        ways = [
            lambda: self.numbers(*self.batch(), n + self.one_of(-1, 1, 2, 100) if n > 1 else n + 1),
            self.numbers,
            lambda: 0.5,
            lambda: np.float64(0.5),
            lambda: np.float32(0.5),
            lambda: [],
            lambda: np.zeros((n, 0)),
            lambda: [[0.0] * n, [0.0]],
            lambda: [0.0, [0.0] * n],
            lambda: None,
            lambda: [None] * n,
            lambda: {"x": 1.0},
            lambda: {0.0, 1.0},
            lambda: (k for k in range(n)),
            lambda: map(float, range(n)),
            lambda: "0.5 0.5",
            lambda: ["0.5"] * n,
            lambda: b"ab",
            lambda: bytearray(8 * n),
            lambda: np.zeros(
                n, self.one_of("i8", "i4", "u1", "?", "c16", "M8[s]", "m8[s]", "S4", "U4", "O", "V8")
            ),
            lambda: np.zeros(n, [("a", "f8"), ("b", "i4")]),
            lambda: [True] * n,
            lambda: [1j] * n,
            lambda: [10**400] * n,
            lambda: [10**400, 0.5],
            lambda: [2**63] * n,
            lambda: [np.datetime64("2020-01-01")] * n,
            lambda: [Number()] * n,
            Number,
            object,
            lambda: [object()] * n,
            lambda: Robot,
            lambda: Liar(self.one_of(RuntimeError("no"), ValueError("no"), TypeError("no"), KeyError("no"))),
            lambda: Liar(self.one_of("text", None, [0.0] * n, np.zeros(n + 1), np.zeros(n, complex))),
            lambda: Sequence(
                n, self.one_of(RuntimeError("no"), KeyError("no"), IndexError("no"), TypeError("no"))
            ),
            lambda: SimpleNamespace(__array_interface__={"shape": (n,)}),
            lambda: loop,
            lambda: [x] * n,
            lambda: np.zeros((1,) * (DIMENSIONS - 2) + (n,)),
            lambda: [float("nan")] * (n + 1),
            lambda: slice(None),
            lambda: ...,
            lambda: NotImplemented,
            lambda: [[0.0] * n] * 2 + [np.zeros(n - 1)],
        ]
        return ways[int(self.rng.integers(len(ways)))]()

    # Other arguments.

    def a_robot(self) -> Any:
        if self.chance(0.97):
            return self.robot
        robot = self.robot
        return self.one_of(None, "panda", 3, Robot, {}, [robot], np.zeros(2), object(), robot.bodies[0])

    def external(self) -> Any:
        tip, push = self.tip, np.zeros(6)
        if self.chance(0.8):
            names = self.one_of([tip], [tip], [self.base, tip], [])
            return {n: self.vector(6) for n in names}
        return self.one_of(
            [], [push], push, tip, {"nowhere": push}, {3: push}, {None: push}, {tip: None}, {(tip,): push},
            {np.str_(tip): push}, {"": push}, 3.5, True, False,
        )  # fmt: skip

    def frame(self, several: bool) -> Any:
        tip, base = self.tip, self.base
        if self.chance(0.8):
            return self.one_of(tip, base, *((None, [tip, base], (tip,)) if several else ()))
        return self.one_of(
            "nowhere", "", 3, b"tip", [tip, 3], np.str_(tip), np.array([tip]), {tip}, [], (), None, True,
            [tip], {tip: 1}, [[tip]], np.array(tip), object(), ["nowhere"], iter([tip]), tip + " ",
        )  # fmt: skip

    def axes(self) -> Any:
        if self.chance(0.85):
            return self.one_of(*AXES)
        return self.one_of(
            "local", "", None, 3, [], ["body"], {}, np.str_("world"), b"body", np.array("body"), object()
        )

    def out(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return something for the results, which have this shape and precision."""
        size = int(np.prod(shape))
        ways = [
            *[lambda: np.empty(shape, dtype)] * 4,
            lambda: np.asfortranarray(np.empty(shape, dtype)),
            lambda: np.empty((*shape, 2), dtype)[..., 0],
            lambda: np.flip(np.empty(shape, dtype)),
            lambda: np.empty(size * np.dtype(dtype).itemsize + 1, np.uint8)[1:].view(dtype).reshape(shape),
            lambda: np.ma.masked_array(np.zeros(shape, dtype)),
            lambda: np.empty(shape, dtype).view(Vector),
            lambda: np.asmatrix(np.zeros(shape, dtype)) if len(shape) == 2 else np.zeros(shape, dtype),
            lambda: np.empty((*shape, 1), dtype),
            lambda: np.empty((2, *shape), dtype),
            lambda: np.empty(shape, np.float32 if dtype == np.float64 else np.float64),
            lambda: np.empty(shape, self.one_of("i8", "O", "c16", ">f8", "g")),
            lambda: np.broadcast_to(np.zeros((), dtype), shape),
            lambda: np.empty(shape, dtype).tolist(),
            lambda: self.one_of(0.5, "out", [], {}, object(), np.float64(1), True, False, np.zeros(0)),
        ]
        return ways[int(self.rng.integers(len(ways)))]()


# Calls.


@dataclass
class Call:
    """A verb with its arguments."""

    verb: str
    args: list[Any]
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        options = [f"{k}={_shown(v)}" for k, v in self.options.items()]
        return f"{self.verb}({', '.join([*map(_shown, self.args), *options])})"


def _shown(x: Any) -> str:
    if isinstance(x, np.ndarray) and x.ndim > 8:
        return f"<{type(x).__name__} {x.dtype} of {x.ndim} dimensions>"
    if isinstance(x, np.ndarray):
        return f"<{type(x).__name__} {x.dtype}{x.shape} strides {x.strides}>"
    return f"<{x.name}>" if isinstance(x, Robot) else repr(x)[:100]


def call_of(seed: int, robot: Robot) -> Call:
    """Return a random call for a robot, the same for the same seed."""
    fuzz = Fuzz(seed, robot)
    verb = fuzz.one_of(*CASES)
    takes = CASES[verb][0].takes
    same = fuzz.batch() if fuzz.chance(0.3) else None
    sizes = {"q": robot.nq, "qd": robot.nv, "qdd": robot.nv, "tau": robot.nv}
    vectors = [fuzz.numbers(*same, sizes[t]) if same is not None else fuzz.vector(sizes[t]) for t in takes]
    if same is not None and fuzz.chance(0.3):
        vectors = [x.astype(np.float32) for x in vectors]
    call = Call(verb, [fuzz.a_robot(), *vectors])
    if verb in ONE_FRAME:
        call.args.append(fuzz.frame(several=False))
    elif (verb in FRAMED or verb == "forward_kinematics") and fuzz.chance(0.8):
        call.options["frame"] = fuzz.frame(several=True)
    if verb in (*FRAMED, *ONE_FRAME) and fuzz.chance(0.7):
        call.options["expressed"] = fuzz.axes()
    if verb in LOADED and fuzz.chance(0.4):
        call.options["external"] = fuzz.external()
    if verb in WITH_GRAVITY and fuzz.chance(0.3):
        call.options["gravity"] = fuzz.vector(3)
    if verb in WITH_OUT and fuzz.chance(0.3):
        call.options["out"] = fuzz
    if fuzz.chance(0.01):
        call.options[fuzz.one_of("foo", "Q", "tauu")] = 1.0
    if fuzz.chance(0.01):
        call.args = call.args[: int(fuzz.rng.integers(len(call.args)))]
    return call


@dataclass
class Outcome:
    """What came of a call: values, or an error; `rounding` is how far right values may be apart."""

    values: list[Any] | None
    error: BaseException | None
    complaint: str = ""
    rounding: float = 1e-9

    @property
    def kind(self) -> str:
        """Name the outcome."""
        return "result" if self.error is None else type(self.error).__name__


def run(seed: int, robot: Robot) -> Outcome:
    """Return what a random call does, and what is wrong with that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = call_of(seed, robot)
        kept = _copies(call)
        if isinstance(call.options.get("out"), Fuzz):
            call.options["out"] = _room(call)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = getattr(hinge, call.verb)(*call.args, **call.options)
    except Exception as error:
        return Outcome(None, error, _complaint(call, error))
    said = ""
    out = call.options.get("out")
    if out is not None and found is not out:
        said = "the result is not what came as out"
    if not all(np.array_equal(x, y) for x, y in zip(kept, _copies(call), strict=True)):
        said = "an argument was changed"
    return Outcome(_arrays(found), None, said, _rounding(call))


def _room(call: Call) -> Any:
    """Return something for the results of a call, of the right shape if it has results."""
    fuzz: Fuzz = call.options.pop("out")
    try:
        found = getattr(hinge, call.verb)(*call.args, **call.options)
    except Exception:
        return np.zeros(2)
    return fuzz.out(found.shape, found.dtype)


def _complaint(call: Call, error: BaseException) -> str:
    """Say what is wrong with an error, if anything."""
    if isinstance(error, HingeError):
        return "" if str(error).strip() else "the message is empty"
    if isinstance(error, TypeError) and not _fits(call):
        return ""
    return f"{type(error).__name__} is no HingeError: {error}"


def _fits(call: Call) -> bool:
    """Tell whether a call has the arguments that the verb's signature names."""
    try:
        signature(getattr(hinge, call.verb)).bind(*call.args, **call.options)
    except TypeError:
        return False
    return True


def _copies(call: Call) -> list[Any]:
    """Return the bytes of plain arrays among the arguments."""
    external = call.options.get("external")
    more = list(external.values()) if isinstance(external, Mapping) else []
    things = [*call.args, *more, call.options.get("gravity")]
    return [
        np.frombuffer(x.tobytes(), np.uint8)
        for x in things
        if isinstance(x, np.ndarray) and x.dtype.kind == "f"
    ]


def _rounding(call: Call) -> float:
    """Return a bound on what rounding does: none where numbers are large, more in single precision."""
    external = call.options.get("external") or {}
    given = [np.asarray(x) for x in (*call.args[1:], *external.values(), call.options.get("gravity", 0.0))]
    numbers = [x for x in given if x.dtype.kind == "f"]
    if any(np.abs(x, where=np.isfinite(x), out=np.zeros(x.shape)).max(initial=0.0) > 100 for x in numbers):
        return np.inf
    return 1e-3 if any(x.dtype == np.float32 for x in numbers) else 1e-9


def _arrays(found: Any) -> list[Any]:
    if isinstance(found, Transform):
        return [found.rotation, found.position]
    if isinstance(found, list):
        return [x for part in found for x in _arrays(part)]
    return [found]


def disagreement(ours: Outcome, theirs: Outcome) -> str:
    """Say how the outcomes of two targets differ, or nothing."""
    if ours.kind != theirs.kind:
        return f"{ours.kind} from llvm, {theirs.kind} from numpy: {ours.error!r}, {theirs.error!r}"
    for x, y in zip(ours.values or [], theirs.values or [], strict=True):
        if np.shape(x) != np.shape(y) or x.dtype != y.dtype:
            return f"{x.dtype}{np.shape(x)} from llvm, {y.dtype}{np.shape(y)} from numpy"
        both = np.isfinite(x) & np.isfinite(y)
        size = np.abs(y, where=both, out=np.zeros(np.shape(y))).max(initial=1.0)
        off = np.abs(np.subtract(x, y, where=both, out=np.zeros(np.shape(y)))).max(initial=0.0)
        if off > ours.rounding * size:
            return f"off by {off:.1e} of {size:.1e}"
    return ""


def verdict(seed: int) -> tuple[str, str]:
    """Return the kind of outcome of a random call, and what is wrong with it."""
    native, plain = robots_of(seed)
    with target("llvm"):
        ours = run(seed, native)
    with target("numpy"):
        theirs = run(seed, plain)
    return ours.kind, ours.complaint or theirs.complaint or disagreement(ours, theirs)


def described(seed: int) -> str:
    """Return a call as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(call_of(seed, robots_of(seed)[0]))


# Memory.


def memory() -> int:
    """Return the most memory that this process has had, in bytes."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def growth(calls: int) -> int:
    """Return how much more memory is in use after so many calls, most of them for one state."""
    robot = twins()[0]
    state = np.array([0.3, -0.2]), np.array([0.1, 0.5]), np.array([1.0, 2.0])
    batch, many = ([np.tile(x, (n, 1)) for x in state] for n in (9, 3000))

    def some(count: int) -> None:
        for k in range(count):
            hinge.forward_dynamics(robot, *state)
            if k % 10 == 0:
                hinge.jacobian(robot, state[0], "tip", expressed="world")
                hinge.forward_dynamics(robot, *many)
            if k % 100 == 0:
                hinge.forward_dynamics(robot, *batch)
                hinge.forward_dynamics(robot, *(x.tolist() for x in state))
                hinge.forward_dynamics(robot, *batch, external={"tip": np.zeros(6)}, out=np.empty((9, 2)))
                with suppress(HingeError):
                    hinge.forward_dynamics(robot, "text", *state[1:])

    some(2000)
    before = memory()
    some(calls)
    return memory() - before


def main() -> int:
    """Print how calls end, what is wrong with any, and whether memory grows."""
    faulthandler.enable()
    start, count = time.perf_counter(), int(sys.argv[1]) if len(sys.argv) > 1 else CALLS
    kinds: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for seed in range(count):
        if seed % 100 == 0:
            print(f"call {seed}, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        kind, said = verdict(seed)
        kinds[kind] += 1
        if said:
            about = re.sub("[0-9.e+-]+|'.*'", "", said)[:60]
            wrong[about] += 1
            if wrong[about] <= 3:
                print(f"{seed}: {described(seed)}\n    {said}")
    for kind, n in kinds.most_common():
        print(f"{kind:24} {n:6}")
    more = growth(STATES)
    print(f"memory grew by {more / 2**20:.1f} MB in {STATES} calls for one state")
    bad = sum(wrong.values())
    print(f"{count} calls, {bad} that end as they should not, {time.perf_counter() - start:.0f} s")
    return 1 if bad or more >= GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
