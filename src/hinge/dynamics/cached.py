"""Caches of compiled verbs, by robot.

From a call to machine code there are these caches, each asked after a miss in the one before:

1. The rows of a verb's native function (`signatures.Verb`), 32 robots, frames and axes: with plain arrays a
   second call runs no Python at all.
2. `CALLS`: functions of arrays by the form of a call, robot and choices as they came, so that these are
   checked once.
3. `PROGRAMS`: compiled expressions by robot, expressions, frames, axes, prescribed joints, parameters and
   target, so that nothing is bound twice. A `Compiled` has its program with the robot's gravity, that with
   gravity as an argument, and the machine code of both for each number of lanes: these go with it.
4. `JOINT_PROGRAMS`: programs of joint-wise formulas, which are no expressions. Beside them, for the last
   robots with closures, the rows that they keep and the map that finds these (`hinge.dynamics.rows`).
5. The cache on disk (`hinge.targets.llvm.cache`), so that another process need not compile.
6. Derivations: the last ones (`hinge.pipeline`), and a table of them that ships, since a search takes
   seconds.

1 and 2 do not ask which target the environment names: reading it takes longer than the dynamics. `forget`
empties 1 to 4, all that is of robots in this process; the last two are functions of their keys.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from hinge.binding import Expressed
from hinge.dynamics.bound import checked_parameters
from hinge.dynamics.compiler import compile
from hinge.dynamics.expressions import OPEN_ONLY, VERBS, Parts, expression
from hinge.dynamics.function import Compiled
from hinge.dynamics.rows import forget_rows
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot, refuse_text
from hinge.targets import Executable, best_target

__all__ = ["CALLS", "compiled", "forget", "refuse_closures"]

K = TypeVar("K")
V = TypeVar("V")

#: The name of a frame or body, several of them, or None for all bodies.
Frames = str | Sequence[str] | None
#: The size of each cache: the programs of a few robots with all verbs, or of many robots with a few.
CAPACITY = 256

_MEMORIES: list[Memory[Any, Any]] = []
#: Functions that clear the rows of each native function.
ROWS: list[Callable[[], None]] = []


class Memory(Generic[K, V]):
    """A least-recently-used cache; `forget` clears all of them."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()
        _MEMORIES.append(self)

    def get(self, key: K) -> V | None:
        """Return the value of a key and mark it as used, or None; an unhashable key has no value."""
        try:
            self._values.move_to_end(key)
            return self._values[key]
        except (KeyError, TypeError):  # also where another thread has just dropped it
            return None

    def look(self, key: K) -> V | None:
        """Return what `get` returns, in less time, and as if it had not been used."""
        try:
            return self._values[key]
        except (KeyError, TypeError):
            return None

    def put(self, key: K, value: V) -> V:
        """Return the value of a key, this one if there is none yet; evict the least recently used."""
        found = self._values.setdefault(key, value)
        while len(self._values) > CAPACITY:
            self._values.popitem(last=False)
        return found

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._values))

    def forget(self) -> None:
        """Drop all values."""
        self._values.clear()

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        return key in self._values


class Key(NamedTuple):
    """The key of compiled expressions."""

    target: str
    robot: Robot
    parts: Parts
    nodes: tuple[str, ...] = ()
    expressed: Expressed = "body"
    prescribed: frozenset[str] | None = frozenset()
    parameters: tuple[str, ...] = ()


PROGRAMS: Memory[Key, Compiled] = Memory()
#: Functions of arrays, by a verb or the form of its call, a robot, and what else was chosen in the call.
CALLS: Memory[tuple[Hashable, ...], Callable[..., Any]] = Memory()
#: Programs of joint-wise formulas, by their code, or by what determines it, and target.
JOINT_PROGRAMS: Memory[tuple[Hashable, str], Executable] = Memory()


def forget(*, programs: bool = True) -> None:
    """Drop all compiled verbs: they are compiled again, or read from the cache, when they are next called.

    With `programs=False` only the ways of calls to them go, so that the next calls ask again which target the
    environment names; programs are cached for each target.
    """
    for drop in ROWS:
        drop()
    CALLS.forget()
    if programs:
        for memory in _MEMORIES:
            memory.forget()
        forget_rows()


def compiled(
    robot: Robot,
    verb: str | Parts,
    nodes: Sequence[str] = (),
    expressed: Expressed = "body",
    prescribed: Iterable[str] | None = (),
    parameters: Iterable[str] = (),
) -> Compiled:
    """Return the compiled expressions of a verb for a robot; the last ones used are cached.

    `verb` is a name, or with options what `expression(name, passive=True, …)` gives. `prescribed` is for
    verbs that split the coordinates: names of joints, or None for the form that takes `held`. `parameters`
    as in `compile`.
    """
    refuse_text("nodes", nodes, "frame names")
    refuse_text("prescribed", prescribed, "joint names")
    parts = verb if isinstance(verb, Parts) else expression(verb)
    active = None if prescribed is None else frozenset(prescribed)
    if active != frozenset() and not parts.splits:
        those = ", ".join(name for name, p in VERBS.items() if p.splits)
        shown = ", ".join(parts.expressions)
        raise ArgumentError(f"prescribed: {shown} does not split coordinates; expected one of {those}")
    given = tuple(checked_parameters(parameters, parts.letters)) if parameters else ()
    return program(
        Key(best_target(), checked_robot(robot), parts, tuple(nodes), checked_axes(expressed), active, given)
    )


def program(key: Key) -> Compiled:
    """Return the compiled expressions of a key, from the cache or compiled now."""
    found = PROGRAMS.get(key)
    if found is not None:
        return found
    if key.parts.verb in OPEN_ONLY:
        refuse_closures(key.robot, key.parts.verb, OPEN_ONLY[key.parts.verb])
    made = compile(
        key.parts,
        key.robot,
        nodes=key.nodes,
        expressed=key.expressed,
        prescribed=key.prescribed,
        parameters=key.parameters,
        target=key.target,
    )
    if key.parts.splits:
        CALLS.forget()  # the new code may be a better way
    return PROGRAMS.put(key, made)


def refuse_closures(robot: Robot, what: str, instead: str) -> None:
    """Refuse what shows the tree of a robot as if its closures were open."""
    if robot.closures:
        raise ArgumentError(
            f"robot: {what} has no meaning for a robot with closures, such as {robot.name!r}; use {instead}, "
            "or opened(robot) for its tree"
        )


def has_own_code(robot: Robot, parts: Parts, nodes: tuple[str, ...], prescribed: frozenset[str]) -> bool:
    """Tell whether a set of prescribed joints has, or should get, code of its own.

    The set that comes first does, and those that were compiled ahead by `compiled`. Sets that come later
    share one program that takes them as an input: changing the set at run time compiles nothing.
    """
    own = Key(best_target(), robot, parts, nodes, prescribed=prescribed)
    if own in PROGRAMS:
        return True
    return not any(key._replace(prescribed=prescribed) == own for key in PROGRAMS)


def checked_axes(expressed: Expressed) -> Expressed:
    """Return the requested axes, or raise an ArgumentError if they are no string."""
    if not isinstance(expressed, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        wanted = "'body', 'world' or 'world-aligned'"
        raise ArgumentError(f"expressed: expected {wanted}, got {type(expressed).__name__}")
    return expressed


def one_name(frame: str) -> str:
    """Return the name of a frame, or raise an ArgumentError."""
    if not isinstance(frame, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"frame: expected the name of one frame or body, got {type(frame).__name__}")
    return frame


def names_of(robot: Robot, frame: Frames) -> tuple[str, ...]:
    """Return the names of frames, those of all bodies for None, or raise an ArgumentError."""
    if frame is None:
        return tuple(b.name for b in checked_robot(robot).bodies)
    if isinstance(frame, str):
        return (frame,)
    if not isinstance(frame, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"frame: expected the name of a frame or body, or a list of names, got {type(frame).__name__}"
        )
    for n in frame:
        if not isinstance(n, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"frame: expected the name of a frame or body, or a list of names, got {n!r} in a list"
            )
    if not frame:
        raise ArgumentError("frame: expected at least one name, got none; None stands for all bodies")
    return tuple(frame)
