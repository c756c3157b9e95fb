"""Objects of results that cost next to nothing until they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Generic, SupportsIndex, TypeVar, cast, overload

from hinge.spatial import Array

T = TypeVar("T")


class Filling(Generic[T]):
    """Makes an object of a dict of all its attributes, which becomes its namespace.

    For classes whose objects only hold these, such as plain dataclasses; attributes are not set one by one.
    Entries of native code do the same for the class `fills` without a call of Python. With `reused` an object
    of the class may be given as `out`.
    """

    def __init__(self, kind: type[T], *, reused: bool = False) -> None:
        self.fills = kind
        self.reused = kind if reused else None

    def __call__(self, attributes: dict[str, Any]) -> T:
        """Return the object."""
        found = _new(self.fills)
        _put(found, "__dict__", attributes)
        return found


_new: Any = object.__new__
_put = object.__setattr__


def filling(kind: type[T], *, reused: bool = False) -> Filling[T]:
    """Return what makes an object of a dict of all its attributes, see `Filling`."""
    return Filling(kind, reused=reused)


class Apart:
    """Makes a tuple of a dict of results: the first so many, then a dict of the others if there are any.

    Entries of native code do the same for the number `apart` without a call of Python.
    """

    def __init__(self, count: int) -> None:
        self.apart = count

    def __call__(self, found: dict[str, Any]) -> tuple[Any, ...]:
        """Return the tuple."""
        names = list(found)
        first = [found[n] for n in names[: self.apart]]
        rest = {n: found[n] for n in names[self.apart :]}
        return (*first, rest) if rest else tuple(first)


class OnDemand(list[T]):
    """A list of objects of `kind`, one for each row of some arrays, made when they are first asked for.

    Item k is kind(x[k], y[k], …), made once. It is a list like any other: what reads or changes more than one
    item makes all of them first, and it is copied and pickled as a plain list.
    """

    __slots__ = ("_columns", "_kind")

    def __init__(self, kind: Callable[..., T], *columns: Array) -> None:
        super().__init__([cast("T", None)] * len(columns[0]))
        self._kind, self._columns = kind, columns

    @overload
    def __getitem__(self, at: SupportsIndex, /) -> T: ...
    @overload
    def __getitem__(self, at: slice, /) -> list[T]: ...
    def __getitem__(self, at: Any, /) -> Any:
        """Return an item, or a plain list of those of a slice."""
        columns = self._columns
        if columns and isinstance(at, slice):
            return list(self)[at]
        found = super().__getitem__(at)
        if found is None and columns:
            k = int(at)  # for an array True is no index
            found = self._kind(*[x[k] for x in columns])
            super().__setitem__(k, found)
        return found

    def __iter__(self) -> Iterator[T]:
        """Return an iterator over all items."""
        self._make_all()
        return super().__iter__()

    def __radd__(self, other: list[T]) -> list[T]:
        """Return a plain list of the items of both."""
        return other + list(self)

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> Any:
        """Pickle and copy as a plain list."""
        return list, (list(self),)

    def _make_all(self) -> None:
        columns = self._columns
        if columns:
            every = zip(super().__iter__(), map(self._kind, *columns), strict=True)
            super().__setitem__(slice(None), [new if old is None else old for old, new in every])
            self._columns = ()


def _of_all(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of lists that makes all items first."""

    @wraps(method)
    def call(self: OnDemand[Any], *args: Any, **kwargs: Any) -> Any:
        self._make_all()  # pyright: ignore[reportPrivateUsage]
        return method(self, *args, **kwargs)

    return call


_READING = "reversed contains eq ne lt le gt ge repr add mul rmul"
_WRITING = "setitem delitem iadd imul"
_NAMED = "copy index count append extend insert pop remove clear reverse sort"
for _name in (*(f"__{n}__" for n in (*_READING.split(), *_WRITING.split())), *_NAMED.split()):
    setattr(OnDemand, _name, _of_all(getattr(list, _name)))
