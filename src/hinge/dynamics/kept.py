"""Compiled verbs, kept for the robots that they were called with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from hinge.binding import Expressed, bind
from hinge.dynamics.callable import Compiled
from hinge.dynamics.compiler import checked_parameters, compile
from hinge.dynamics.expressions import CATALOGUE, VERBS, parts_of
from hinge.dynamics.needs import needs_of
from hinge.errors import ArgumentError
from hinge.model import Robot, checked_robot
from hinge.spatial import ArrayLike
from hinge.targets import Dispatcher, Executable, best_target, dispatcher

F = TypeVar("F", bound=Callable[..., Any])
#: The name of a frame or body, several of them, or None for all bodies.
Frames = str | Sequence[str] | None

#: What `help` says of a verb for one robot.
CATALOGUE_DOC = "The verb {verb} for robot {robot.name!r}, a function of arrays in the verb's order."
#: How many compiled verbs are kept, each for one robot, one set of frames and one choice of axes.
KEPT = 256


def compiled(
    robot: Robot,
    verb: str,
    nodes: Sequence[str] = (),
    expressed: Expressed = "body",
    prescribed: Iterable[str] | None = (),
    parameters: Iterable[str] = (),
) -> Compiled:
    """Return the compiled expressions of a verb for a robot; the last ones used are kept.

    `prescribed` is for verbs that split the coordinates: names of joints, or None for the form that takes
    `held`. `parameters` as in `compile`.
    """
    if isinstance(nodes, str):
        raise ArgumentError(f"nodes: the text {nodes!r} came; wanted a tuple of names, such as ({nodes!r},)")
    checked_axes(expressed)
    parts = parts_of(verb)
    if isinstance(prescribed, str):
        raise ArgumentError(
            f"prescribed: the text {prescribed!r} came; wanted a list of joints, such as [{prescribed!r}]"
        )
    active = None if prescribed is None else frozenset(prescribed)
    if active != frozenset() and not parts.splits:
        those = ", ".join(name for name, p in VERBS.items() if p.splits)
        raise ArgumentError(f"prescribed: came for {verb}, which does not split coordinates; {those} do")
    given = tuple(checked_parameters(parameters, parts.letters))
    return _kept(checked_robot(robot), verb, tuple(nodes), expressed, active, given, best_target())


@lru_cache(maxsize=KEPT)
def _kept(
    robot: Robot,
    verb: str,
    nodes: tuple[str, ...],
    expressed: Expressed,
    prescribed: frozenset[str] | None,
    parameters: tuple[str, ...],
    target: str,
) -> Compiled:
    parts = parts_of(verb)
    if parameters or verb not in CATALOGUE:
        found = compile(
            verb,
            robot,
            nodes=nodes,
            expressed=expressed,
            prescribed=prescribed,
            target=target,
            parameters=parameters,
        )
        if parts.splits and not parameters:
            _note_set(robot, verb, nodes, prescribed)
        return found
    binding = bind(robot, needs_of(parts.expressions.values()), nodes=nodes, expressed=expressed)
    return Compiled(parts.expressions, binding, target=target)


#: For each robot, verb and nodes the sets of prescribed joints that have code of their own; None among them
#: says that the form for all sets is there.
_SETS: dict[tuple[Robot, str, tuple[str, ...]], set[frozenset[str] | None]] = {}
#: Functions for robots and lists of names of joints that are known to be right; emptied with every new code,
#: which may be a better way.
QUICK_SETS: dict[tuple[Robot, tuple[str, ...]], Callable[..., Any]] = {}
#: Programs of formulas at joints, by their code, or what is known to lead to it, and for which target.
JOINT_PROGRAMS: dict[tuple[Hashable, str], Executable] = {}


def _note_set(robot: Robot, verb: str, nodes: tuple[str, ...], prescribed: frozenset[str] | None) -> None:
    """Note that a set of prescribed joints has code of its own."""
    key = robot, verb, nodes
    while key not in _SETS and len(_SETS) >= KEPT:
        _SETS.pop(next(iter(_SETS)))
    _SETS.setdefault(key, set()).add(prescribed)
    QUICK_SETS.clear()


def has_own_code(robot: Robot, verb: str, nodes: tuple[str, ...], prescribed: frozenset[str]) -> bool:
    """Tell whether a set of prescribed joints has code of its own, or is to get it.

    The set that comes first does, and those that were compiled ahead by `compiled`. Sets that come later
    share one program that takes them as an input: changing the set at run time compiles nothing.
    """
    known = _SETS.get((robot, verb, nodes))
    return known is None or prescribed in known


#: Every table of verbs there is.
_ALL: list[Quick] = []


class Quick(dict[Any, Callable[..., Any]]):
    """A verb for each robot (and frame) that it was called with: a function of arrays, quick for plain ones.

    A dict, since a look-up must cost less than the dynamics; the oldest goes when there are too many. The
    keys are robots, or for a verb with frames (robot, frame, expressed), the frame None for all bodies or a
    tuple of names for several.
    """

    def __init__(self, verb: str, choices: Sequence[str] = ()) -> None:
        super().__init__()
        self.verb, self.choices = verb, choices
        self.dispatcher: Dispatcher | None = None
        _ALL.append(self)

    def natively(self, f: F) -> F:
        """Return a verb as a function that, on a native target, goes straight into the code of robots."""
        self.dispatcher = dispatcher(f, self.choices)
        return cast("F", self.dispatcher.function)

    def forget(self) -> None:
        """Drop everything that was compiled."""
        self.clear()
        if self.dispatcher is not None:
            self.dispatcher.forget()

    def __missing__(self, key: Any) -> Callable[..., Any]:
        robot, *chosen = key if isinstance(key, tuple) else (key,)
        frame, expressed = chosen or ((), "body")
        f = compiled(robot, self.verb, names_of(robot, frame), expressed)
        doc = CATALOGUE_DOC.format(verb=self.verb, robot=robot)
        found = f.quick(doc, one_node=isinstance(frame, str))
        make_room(self)
        self[key] = found
        if self.dispatcher is not None:
            self.dispatcher.introduce(robot, found, *chosen)
        return found

    def at(self, robot: Robot, frame: Frames, expressed: Expressed, *arrays: ArrayLike) -> Any:
        """Return the value of a verb with frames, that of the only one if `frame` is a name."""
        if frame is not None and not isinstance(frame, str):
            frame = names_of(robot, frame)
        return self[checked_robot(robot), frame, checked_axes(expressed)](*arrays)


def make_room(table: dict[Any, Any]) -> None:
    """Drop the oldest entries of a table until there are fewer than KEPT."""
    while len(table) >= KEPT:
        table.pop(next(iter(table), None), None)


def forget() -> None:
    """Drop all compiled verbs: they are compiled again, or read from the cache, when they are next called."""
    _kept.cache_clear()
    _SETS.clear()
    QUICK_SETS.clear()
    JOINT_PROGRAMS.clear()
    for verb in _ALL:
        verb.forget()


def checked_axes(expressed: Expressed) -> Expressed:
    """Return which axes are asked for, or raise an ArgumentError if that is no text."""
    if not isinstance(expressed, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        wanted = "'body', 'world' or 'world-aligned'"
        raise ArgumentError(f"expressed: {type(expressed).__name__} came; wanted {wanted}")
    return expressed


def one_name(frame: str) -> str:
    """Return the name of a frame, or raise an ArgumentError that says what came instead."""
    if not isinstance(frame, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"frame: {type(frame).__name__} came; wanted the name of one frame or body")
    return frame


def names_of(robot: Robot, frame: Frames) -> tuple[str, ...]:
    """Return the names of frames, those of all bodies for None, or raise an ArgumentError."""
    if frame is None:
        return tuple(b.name for b in checked_robot(robot).bodies)
    if isinstance(frame, str):
        return (frame,)
    if not isinstance(frame, Sequence) or not all(isinstance(n, str) for n in frame):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"frame: {type(frame).__name__} came; wanted the name of a frame or body, or a list of names"
        )
    return tuple(frame)
